/**
 * Checks files that a recipe names: programs, files of secrets, and folders that a custom step may use.
 *
 * The author of a recipe controls its folder, and often also the working folder. So a program in these folders must
 * have the content that the user has trusted, and no link in them may lead out of its folder.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import { isInside, realPlace, resolved } from "../../confined_paths.ts";
import { distrustOfChecked } from "../../owned_files.ts";
import { readRegular } from "../../regular_files.ts";
import { sha256 } from "../../sha256.ts";
import { fileUrl } from "./recipe_files.ts";

/** Largest size of a program in a recipe's folder, bytes. */
const MOST_PROGRAM_BYTES = 64 * 1024 * 1024;
/** Maximum number of entries of a folder in which links are searched, and of files that fit a pattern. */
const MOST_ENTRIES = 100_000;
/** Limits for a command whose trust covers whole folders: number of entries, and size of all files in bytes. */
const MOST_COVERED = { entries: 5000, bytes: MOST_PROGRAM_BYTES };

/** A file in the recipe's folder or in the working folder that the recipe names. */
export interface NamedFile {
  /** The name in the recipe. */
  name: string;
  /** The path without links. The file need not exist. */
  path: string;
  /** SHA-256 of a program, in hex; the content of other files may change. */
  sha256?: string;
}

/** A file or folder that a recipe names cannot be trusted. */
export class NamedFileError extends BrokerError {
  override readonly name: string = "NamedFileError";
  /** The path and the reason: the message without "Cannot trust". */
  readonly what: string;

  constructor(path: string, why: string) {
    super(`Cannot trust "${path}": ${why}`, { code: "trust" });
    this.what = `"${path}": ${why}`;
  }
}

/** Base folder of relative names, and the folders that the recipe's author may control. */
export interface Place {
  /** Base folder of relative names. */
  from: string;
  /** Folders that the author of the recipe may control. */
  folders: readonly string[];
}

/** Returns the place for names in the secrets of a recipe, which are relative to the working folder. */
export function placeOfSecrets(recipe: string): Place {
  return { from: resolved("."), folders: foldersOf(new URL(".", fileUrl(recipe))) };
}

/** Returns the place for names in the permissions of a custom step, which are relative to the folder of its file. */
export function placeOfStep(file: URL, recipeFolder: URL): Place {
  return { from: pathOf(new URL(".", file)), folders: foldersOf(recipeFolder) };
}

function foldersOf(recipeFolder: URL): string[] {
  // "/" does not count, because a service often runs there, and every file is inside it.
  const folders = [pathOf(recipeFolder), resolved(".")].filter((each) => each !== "/");
  return [...new Set(folders.flatMap((each) => [each, realOf(each)]))];
}

/**
 * Returns the programs of a secret's command that are in the folders of `place`: the program itself, and each file that
 * an argument or a part of an argument names. If the command can run any file, returns every file of these folders. The
 * contents are hashed.
 *
 * @throws {NamedFileError} If other users could write to one of these files, a link leads out of its folder, or there
 * are too many files.
 */
export async function filesOfCommand(command: readonly string[], place: Place): Promise<NamedFile[]> {
  const [program = "", ...args] = command;
  const names = new Set(args.flatMap(namesIn).flatMap((name) => [name, ...matching(name, place)]));
  const named = await programsIn(
    [...foundBy(program, place), ...[...names].map((name) => [name, name] as const)],
    place,
  );
  return canRunAnyFile(command, place)
    ? [...named, ...await filesIn(place.folders, command.join(" "))]
    : named;
}

/** Shells and interpreters. With an option, they can run a text as code. `env` can change the folder. */
const INTERPRETERS =
  /^((ba|z|da|fi|k|mk|c|tc|a|ya|r|pw|nu)?sh|env|python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|osascript|Rscript)[\d.]*$/i;
/**
 * Programs that run what a file of the working folder says, such as `Makefile` or `package.json`, although no argument
 * names the file.
 */
const CONFIGURED = new RegExp(
  `^(${
    [
      "npm|npx|pnpm|pnpx|yarn|bun|bunx|deno|corepack|gulp|grunt|tsx|ts-node|jest|vitest",
      "b?make|gmake|just|task|rake|ant|mvnw?|gradlew?|sbt|lein|cmake|ninja|meson|scons|bazel|buck2?|mage|earthly",
      "cargo|go|git|hg|svn|composer|bundle|mix|rebar3|dotnet|stack|cabal|swift|zig|nimble|dart|flutter",
      "uvx?|poetry|pipenv|pipx|pdm|hatch|tox|nox|pytest|invoke|fab|conda|mamba",
      "docker|docker-compose|podman|podman-compose|nerdctl|skaffold|tilt|vagrant|packer",
      "terraform|tofu|terragrunt|pulumi|ansible|ansible-playbook|ansible-vault|sops|chamber",
      "direnv|dotenv|mise|asdf|nix|nix-shell|nix-build|devbox|devenv|foreman|overmind|honcho",
    ].join("|")
  })[\\d.]*$`,
  "i",
);
/**
 * Programs that read a file of the working folder only if an argument names the file, and that run no other file. This
 * includes a shell that is started with a script, because trust covers the script. It does not include programs whose
 * own language can start programs or load files, such as `sed`, `awk` and `jq`.
 */
const KNOWN = new RegExp(
  `^(${
    [
      "(ba|z|da|k|a)?sh",
      "\\[|test|true|false|echo|printf|expr|seq|sleep|date|id|whoami|groups|hostname|uname|touch|mkdir",
      "cat|tac|head|tail|cut|paste|tr|sort|uniq|wc|nl|rev|fold|fmt|tee|basename|dirname|realpath|readlink",
      "base(32|64|nc)|(md5|sha\\d+|b2)sum|shasum|od|xxd|hexdump|cmp|diff|comm|join",
      "pass|gopass|op|bw|rbw|lpass|keepassxc-cli|secret-tool|security|age|rage|oathtool|keyctl|systemd-creds",
    ].join("|")
  })$`,
);
/** Like {@linkcode KNOWN}, but a file that an argument names may be a configuration that names other files to run. */
const CONFIGURABLE = /^(vault|bao|aws|gcloud|kubectl|curl|wget|ssh|gpg2?|openssl)$/;
/**
 * Folders with programs that an administrator or a package manager has installed. A program elsewhere belongs to the
 * user.
 */
const INSTALLED = [
  ...[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/libexec",
    "/opt",
    "/snap",
    "/var",
    "/etc",
  ],
  ...["/nix", "/gnu", "/run", "/sys", "/boot", "/home/linuxbrew", "/System", "/Library", "/Applications"],
];
/** Folders of users below {@linkcode INSTALLED}: on some systems, `/home` is a link to such a folder. */
const HOMES = ["/var/home", "/usr/home"];
/** Folders whose entries mean other files in each process. So nobody can know which file a path there names. */
const OF_PROCESS = ["/proc", "/dev/fd"];

const isBelow = (folders: readonly string[], path: string) => folders.some((each) => isInside(each, path));
const lastName = (path: string) => path.replace(/^.*\//, "");

/**
 * Returns whether trust may cover only the files that a command names, judged by its program. True for a program in
 * `KNOWN` or `CONFIGURABLE`. Also true for a program that is named by a path in `folders` or outside of
 * `INSTALLED`, unless its name is in `INTERPRETERS` or `CONFIGURED`. False for every other program, and for a path
 * in `OF_PROCESS`. A link is judged by its own path and name, and by those of the program that it leads to.
 */
function isKnown(program: string, { from, folders }: Place): boolean {
  const isListed = (name: string) => KNOWN.test(name) || CONFIGURABLE.test(name);
  const mayLoad = (name: string) => !isListed(name) && (INTERPRETERS.test(name) || CONFIGURED.test(name));
  if (!program.includes("/")) return isListed(program);
  const [path, real] = [absolute(program, from), realOrNone(whole(program, from))];
  if (real === undefined || passesProcess(program, from)) return false;
  // The administrator decides which program has the name of a listed one, such as `ksh`.
  const isInstalled = isBelow(INSTALLED, path) && !isBelow(HOMES, path) && !isBelow(folders, path);
  if (isInstalled && isListed(lastName(path))) return true;
  if ([path, real].map(lastName).some(mayLoad)) return false;
  if (isListed(lastName(path)) || isBelow(folders, real)) return true;
  return [path, real].every((each) => !isBelow(INSTALLED, each) || isBelow(HOMES, each));
}

/** Returns whether a path is in `OF_PROCESS`, or passes one of these folders: `/dev/fd/../cwd` is a folder of `/proc`. */
function passesProcess(name: string, from: string): boolean {
  const parts: string[] = [];
  return whole(name, from).split("/").some((part) => {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
    return parts.length <= 2 && OF_PROCESS.includes(`/${parts.join("/")}`);
  });
}

/** Returns a path without links; `undefined` if a link is broken, or if this user may not follow it. */
function realOrNone(path: string): string | undefined {
  try {
    return realPlace(path);
  } catch {
    return undefined;
  }
}

/** Options of a program that name a command, a module or another folder. */
const REACHING =
  /^(-[A-Za-z]{0,3}[cCme]|-C.*|-exec(dir)?|--(chdir|cwd|directory|command|module|eval|exec|print|require|import|preload|rcfile|init-file|work-tree|git-dir)(=.*)?)$/s;

/**
 * Returns whether a command can run files that its text does not name. That is so in these cases:
 * - {@linkcode isKnown} is false for the program.
 * - An argument names a folder that the recipe's author may control, or a path in `OF_PROCESS`.
 * - The program is in `CONFIGURABLE`, and an argument names a file that the author may control, because the file may be
 * a configuration.
 * - An argument has shell syntax, or an option in `REACHING`. Any shell syntax counts, because a shell can write the
 * name of a file in too many ways to find them all.
 * - A word of the command is in `CONFIGURED`, or is an interpreter followed by an option.
 */
export function canRunAnyFile(command: readonly string[], place: Place): boolean {
  const [program = "", ...args] = command;
  if (!isKnown(program, place)) return true;
  if (args.some((arg) => namesFolder(arg, place))) return true;
  if (CONFIGURABLE.test(program.replace(/^.*\//, "")) && args.some((arg) => namesFile(arg, place))) {
    return true;
  }
  const words = command.flatMap((each) => each.split(/[\s=]+/)).filter((each) => each !== "");
  return command.slice(1).some((arg) => /[;&|`$(){}<>\\'"~\n]/.test(arg) || REACHING.test(arg)) ||
    words.some((word, index) =>
      REACHING.test(word) || CONFIGURED.test(word.replace(/^.*\//, "")) ||
      INTERPRETERS.test(word.replace(/^.*\//, "")) && /^[-+]./.test(words[index + 1] ?? "")
    );
}

/**
 * Returns whether an argument, or the value of its option, names a folder that the author of the recipe may control.
 */
function namesFolder(arg: string, place: Place): boolean {
  const values = [arg, arg.replace(/^-[A-Za-z]/, ""), ...arg.split(/[\s=:,@'"`<>|&;()]+/)];
  return values.some((value) => {
    if (passesProcess(value, place.from)) return true;
    if (value === "" || value.length > MOST_NAME) return false;
    // A folder that contains the author's folders, such as "..", can lead to them too.
    const isNear = pathsOf(value, place).some((path) =>
      place.folders.some((each) => isInside(each, path) || isInside(path, each))
    );
    // The folder "out" does not count: hsgate itself writes it, see `WRITTEN`.
    return isNear && !/^out$/.test(value) && typeAt(whole(value, place.from))?.isDirectory === true;
  });
}

/** Returns whether an argument, or a part of it, names a file that the author of the recipe may control. */
const namesFile = (arg: string, place: Place): boolean =>
  namesIn(arg).some((name) =>
    pathsOf(name, place).some((path) => isBelow(place.folders, path)) &&
    typeAt(whole(name, place.from))?.isFile === true
  );

/** Returns the path that a name means by its text, and the path that it really leads to. */
function pathsOf(name: string, { from }: Place): string[] {
  const real = realOrNone(whole(name, from));
  return [absolute(name, from), ...real === undefined ? [] : [real]];
}

/**
 * Returns whether a folder or file that a step may read can be, contain or be part of one that it may write. Links are
 * followed. For a path that means another file in each process, it is assumed. Case is ignored, because some file
 * systems ignore it.
 */
export function mayOverlap(read: string, write: string, { from }: Place): boolean {
  if ([read, write].some((name) => passesProcess(name, from))) return true;
  const [one, other] = [read, write].map((name) =>
    (realOrNone(whole(name, from)) ?? "/").normalize("NFC").toLowerCase()
  );
  return isInside(one!, other!) || isInside(other!, one!);
}

/** Returns information about a file; `undefined` if a program cannot use it either. If it is created later, trust ends. */
function typeAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Files and folders that hsgate itself writes. Trust does not cover them, unless the command's text matches `word`:
 * then the command may use them.
 */
const WRITTEN = [
  { name: /^out$/, word: /(^|[^A-Za-z])out([^A-Za-z]|$)/, isFolder: true },
  { name: /\.db(-wal|-shm|-journal|\.mark|\.lock)?$/, word: /\.db/, isFolder: false },
  { name: /^hsgate\.log$/, word: /\.log/, isFolder: false },
];

/** Returns every file and link of `folders`, except files that hsgate writes and that the command does not use. */
async function filesIn(folders: readonly string[], text: string): Promise<NamedFile[]> {
  const tops = new Set(folders.map(realOf));
  const written = WRITTEN.filter(({ word }) => !word.test(text));
  const files = new Map<string, NamedFile>();
  const left = { ...MOST_COVERED };
  for (const top of tops) {
    const queue = [top];
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      for await (const { name, isFile, isSymlink, isDirectory } of entriesOf(at)) {
        const path = `${at}/${name}`;
        if (files.has(path) || isDirectory && tops.has(path)) continue;
        const isWritten = (each: typeof WRITTEN[number]) =>
          each.name.test(name) && (each.isFolder ? isDirectory && tops.has(at) : isFile);
        if (written.some(isWritten)) continue;
        if (--left.entries < 0) throw tooMany(top);
        if (isDirectory) queue.push(path);
        if (!isFile && !isSymlink) continue;
        const found = await fileIn(path, isSymlink);
        left.bytes -= found.size;
        if (left.bytes < 0) throw tooMany(top);
        files.set(path, found.file);
      }
    }
  }
  return [...files.values()];
}

const tooMany = (folder: string) =>
  new NamedFileError(
    folder,
    `a command can run any file of this folder, and it has more than ${MOST_COVERED.entries} entries or ` +
      `${MOST_COVERED.bytes / 1024 / 1024} MiB; name the program by its path, without a shell`,
  );

/** Returns a file or a link as trust records it. For a link to a folder, or to nothing, only the target is recorded. */
async function fileIn(path: string, isLink: boolean): Promise<{ file: NamedFile; size: number }> {
  const info = await Deno.stat(path).catch(() => undefined);
  const real = isLink ? realPlace(path) ?? await Deno.readLink(path) : path;
  if (!info?.isFile) return { file: { name: path, path: real }, size: 0 };
  const why = await distrustOfChecked(path);
  if (why !== undefined) throw new NamedFileError(path, why);
  return { file: { name: path, path: real, sha256: await digestOf(path) }, size: info.size };
}

/** The longest file name that the system accepts. Longer parts of an argument are not searched for names. */
const MOST_NAME = 4096;

/**
 * Returns the parts of an argument that may name a file. A program may accept a name in `-f./s.awk` or
 * `@./body`, and a shell removes quotes and backslashes from a name.
 */
function namesIn(arg: string): string[] {
  const bare = arg.replace(/[\\'"]/g, "");
  const parts = [arg, bare, ...[arg, bare].flatMap((text) => text.split(/[\s=:;,&|<>(){}'"`$]+/))];
  // A shell's pattern may contain braces and variables.
  parts.push(...bare.split(/[\s=:;&|<>()`]+/));
  return [...new Set(parts)].flatMap((part) => {
    if (part.length > MOST_NAME) return [];
    const starts = part.matchAll(part.startsWith("-") ? /(?=[^])/g : /^|(?=[./])|(?<=[^\w./])/g);
    return Array.from(starts, ({ index }) => part.slice(index));
  });
}

/**
 * Returns the files that a shell may insert in place of a pattern, and perhaps more files. A variable counts as any
 * text. If a name has several special characters, only the text before the first of them is compared.
 */
function matching(pattern: string, { from }: Place): string[] {
  if (!/[*?[{$]/.test(pattern) || !/[\w/]/.test(pattern)) return [];
  let found = [pattern.startsWith("/") ? "/" : ""];
  for (const part of pattern.split("/").filter((each) => each !== "")) {
    const inFolder = (folder: string, name: string) => `${folder}${/(^|\/)$/.test(folder) ? "" : "/"}${name}`;
    const [start = "", ...rest] = part.split(/\*+|\?|\[[^\]]*\]|\{.*\}|\$\w*/);
    found = found.flatMap((folder) => {
      if (rest.length === 0) return inFolder(folder, part);
      const end = rest.length === 1 ? rest[0]! : "";
      const names = namesOf(whole(folder, from));
      return names.filter((name) => name.startsWith(start) && name.endsWith(end))
        .map((name) => inFolder(folder, name));
    });
    if (found.length > MOST_ENTRIES) {
      throw new NamedFileError(
        pattern,
        `a command names it, and it fits more than ${MOST_ENTRIES} files; name the files`,
      );
    }
  }
  return found;
}

/**
 * Returns the names of a folder's entries; an empty list if the folder cannot be read, because a shell cannot read it
 * either.
 */
function namesOf(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

/**
 * Returns the programs that a custom step may run and that are in the folders of `place`. The contents are hashed.
 *
 * @throws {NamedFileError} Like `filesOfCommand`.
 */
export async function filesOfPermission(
  { run = [] }: { run?: readonly string[] },
  place: Place,
): Promise<NamedFile[]> {
  return await programsIn(run.flatMap((program) => foundBy(program, place)), place);
}

/**
 * Returns the file of a secret, if the file is in the folders of `place`. Does not read the file.
 *
 * @throws {NamedFileError} Like `filesOfCommand`.
 */
export async function fileOfSecret(name: string, place: Place): Promise<NamedFile[]> {
  const path = await placeOf(name, place);
  return path === undefined ? [] : [{ name, path: withoutVersion(path, absolute(name, place.from)) }];
}

/**
 * Returns the path to record for a secret's file. Kubernetes writes each version of a mounted Secret into a new folder,
 * such as `..2025_08_15`, and changes a link. All versions get the same path: the path of the link.
 */
function withoutVersion(path: string, at: string): string {
  const folder = realOf(at.replace(/\/[^/]*$/, ""));
  const file = `${folder}${at.slice(at.lastIndexOf("/"))}`;
  const [version = "", ...names] = isInside(folder, path) ? path.slice(folder.length + 1).split("/") : [];
  return version.startsWith("..") && `${folder}/${names.join("/")}` === file ? file : path;
}

async function programsIn(
  names: readonly (readonly [name: string, path: string])[],
  place: Place,
): Promise<NamedFile[]> {
  const files = new Map<string, NamedFile>();
  for (const [name, written] of names) {
    if (name === "" || files.has(name) || !(await isFile(written, place))) continue;
    const path = await placeOf(written, place);
    if (path === undefined) continue;
    files.set(name, { name, path, sha256: await digestOf(path) });
  }
  return [...files.values()];
}

async function digestOf(path: string): Promise<string> {
  const bytes = await readRegular(path, MOST_PROGRAM_BYTES);
  if (!(bytes instanceof Uint8Array)) throw new NamedFileError(path, bytes.refused);
  return await sha256(bytes);
}

/** Returns whether a program still has the recorded content. */
export async function isSameProgram({ path, sha256 }: NamedFile): Promise<boolean> {
  return await digestOf(path).catch(() => undefined) === sha256;
}

/** Returns the file that the system would start for a program's name, as a list; an empty list if there is none. */
function foundBy(program: string, { from }: Place): (readonly [name: string, path: string])[] {
  if (program.includes("/")) return [[program, program]];
  const mayReadPath = Deno.permissions.querySync({ name: "env", variable: "PATH" }).state === "granted";
  const folders = mayReadPath ? (Deno.env.get("PATH") ?? "").split(":") : [];
  const path = folders.map((folder) => `${whole(folder, from)}/${program}`).find(isFileAt);
  return path === undefined ? [] : [[program, path]];
}

const isFile = (name: string, { from }: Place) => isFileAt(whole(name, from));

function isFileAt(path: string): boolean {
  try {
    return !Deno.statSync(path).isDirectory;
  } catch {
    return false; // a file without access cannot be started either
  }
}

/**
 * Returns the path of a file without links, if the name or that path is in `folders`; otherwise `undefined`.
 *
 * @throws {NamedFileError} If a link leads out of the folder, or other users could write to the file.
 */
async function placeOf(name: string, { from, folders }: Place): Promise<string | undefined> {
  const at = absolute(name, from);
  const own = innermost(folders, at);
  const real = realPlace(whole(name, from)); // like the system: follow a link before the ".." that comes after it
  if (own === undefined && (real === undefined || innermost(folders, real) === undefined)) return undefined;
  if (real === undefined) throw new NamedFileError(at, "it is a link to a file that does not exist");
  if (own !== undefined && !isInside(realOf(own), real)) {
    throw new NamedFileError(
      at,
      `a link leads from it to "${real}", which is outside its folder "${own}"; name that file itself`,
    );
  }
  const why = await distrustOfChecked(whole(name, from));
  if (why !== undefined) throw new NamedFileError(at, why);
  return real;
}

/**
 * Checks the files and folders that a custom step may read or write, before each start of the step. Deno itself follows
 * every link in a folder that it has granted.
 *
 * @throws {NamedFileError} If a link leads out of a granted folder, or would lead out if the step moved the link.
 */
export async function checkGranted(
  { read = [], write = [] }: { read?: readonly string[]; write?: readonly string[] },
  place: Place,
): Promise<void> {
  for (const [names, mayMove] of [[read, false], [write, true]] as const) {
    for (const name of names) await checkGrant(absolute(name, place.from), { ...place, mayMove });
  }
}

async function checkGrant(
  at: string,
  { folders, mayMove }: Pick<Place, "folders"> & { mayMove: boolean },
): Promise<void> {
  const own = innermost(folders, at);
  const real = realPlace(at);
  if (own !== undefined && (real === undefined || !isInside(realOf(own), real))) {
    throw new NamedFileError(
      at,
      real === undefined
        ? "a step may use it, and it is a broken link; remove it, or name another path in the permission"
        : `a step may use it, and a link leads from it to "${real}", which is outside its folder "${own}"; ` +
          "name that path itself in the permission",
    );
  }
  if (real === undefined) return;
  // If the granted folder contains folders of the recipe's author, search only those.
  const parts = innermost(folders, real) === undefined
    ? folders.filter((each) => isInside(real, each))
    : [real];
  for (const part of new Set(parts.map(realOf))) await searchLinks(part, { top: real, mayMove });
}

/** Checks each link in a folder and its subfolders; does not follow links to other folders. */
async function searchLinks(
  folder: string,
  { top, mayMove }: { top: string; mayMove: boolean },
): Promise<void> {
  if (isFileAt(folder)) return;
  let count = 0;
  const queue = [folder];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    for await (const { name, isSymlink, isDirectory } of entriesOf(at)) {
      if (++count > MOST_ENTRIES) {
        throw new NamedFileError(
          folder,
          `a step may use it, and it has more than ${MOST_ENTRIES} entries, so links in it cannot be searched; ` +
            "name a smaller folder in the permission",
        );
      }
      const path = `${at === "/" ? "" : at}/${name}`;
      if (isDirectory) queue.push(path);
      if (isSymlink) await checkLink(path, { top, mayMove });
    }
  }
}

async function* entriesOf(folder: string): AsyncGenerator<Deno.DirEntry> {
  try {
    yield* Deno.readDir(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
    // The folder was removed, or the step cannot list it either.
  }
}

async function checkLink(path: string, { top, mayMove }: { top: string; mayMove: boolean }): Promise<void> {
  const refuse = (why: string) =>
    new NamedFileError(path, `it is a link in a folder that a step may use, and ${why}`);
  const text = await Deno.readLink(path);
  const real = realPlace(path);
  if (real === undefined) throw refuse(`"${text}" does not exist; remove the link`);
  // The path that the link contains must also be inside the folder. Otherwise the link leads through a folder outside,
  // which others may replace.
  const isDirect = isInside(top, absolute(text, path.replace(/[^/]*$/, "")));
  if (!isInside(top, real) || !isDirect) {
    throw refuse(`it leads out of that folder, to "${real}"; remove the link`);
  }
  if (mayMove && /(^|\/)\.\.(\/|$)/.test(text)) {
    throw refuse(
      `a step that may write could move it so that "${text}" leads out; use a link without ".."`,
    );
  }
}

/** Returns the smallest of the folders that contain a path, judged by the path's text. */
function innermost(folders: readonly string[], path: string): string | undefined {
  return folders.filter((folder) => isInside(folder, path)).sort((a, b) => b.length - a.length)[0];
}

const whole = (name: string, from: string) => /^(\/|[A-Za-z]:[\\/])/.test(name) ? name : `${from}/${name}`;
/** Returns an absolute path without "..", as Deno reads it in a permission. */
const absolute = (name: string, from: string) => resolved(whole(name, from));
const realOf = (folder: string) => realPlace(folder) ?? folder;
const pathOf = (url: URL) => resolved(decodeURIComponent(url.pathname));

/** Returns the first file that was not trusted, or that now has a different content or place. */
export function firstChanged(
  now: readonly NamedFile[],
  trusted: readonly NamedFile[],
): NamedFile | undefined {
  const keyOf = ({ name, path, sha256 }: NamedFile) => JSON.stringify([name, path, sha256]);
  const known = new Set(trusted.map(keyOf));
  return now.find((each) => !known.has(keyOf(each)));
}
