/**
 * Finds the code files of custom steps and TypeScript recipes, and starts the process in which they run.
 *
 * The process uses a configuration of the toolkit: no `deno.json`, `package.json` or `.npmrc` of the folder has an
 * effect, and nothing is downloaded or installed. Its memory and output are limited. It ends with every process that it
 * has started, even if the program that started it was killed.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import type { StepPermissions } from "../compiled.ts";
import { linesOf } from "./lines.ts";
import { fileUrl } from "../recipe_files.ts";
import { stepEnvironment } from "./step_environment.ts";
import { readRegular } from "../../regular_files.ts";
import { sha256 } from "../../sha256.ts";
import { writtenImports } from "./written_imports.ts";
import { list, MAKE_CACHE, stepCache } from "./step_cache.ts";

/** Code could not be started, is not valid, or has exceeded a limit. */
export class OwnStepError extends BrokerError {
  override readonly name: string = "OwnStepError";
}

/** Limits for code outside the toolkit; docs/recipes.md lists them. */
export const codeLimits = {
  /** MiB of JavaScript values. */
  heapMiB: 512,
  /** MiB of all memory, if the system has `ulimit`. */
  memoryMiB: 2048,
  /** How long loading may take, and its CPU time in seconds over all cores, if the system has `ulimit`. */
  loadMs: 30_000,
  loadCpuSeconds: 120,
  /** Characters of a printed line. */
  line: 8_192,
  /** Most logged lines, and their total number of characters. */
  lines: 10_000,
  printed: 4 * 1024 * 1024,
  /** Characters of a message, such as the output of a step. */
  message: 16 * 1024 * 1024,
  /** Most files, and most bytes of each. */
  files: 200,
  fileBytes: 1024 * 1024,
} as const;

/** Lines that are kept to explain why a process ended. */
const KEPT_LINES = 200;
/** Characters of an import in an error: a `data:` URL may contain a whole file. */
const MOST_SHOWN = 200;
/** Environment variable that marks the process and everything that it starts. */
const MARKER = "HSGATE_STEP";
/** Prefix of the folders of processes; a folder that is older than this and not locked is removed. */
const FOLDER = "hsgate-step-";
const SWEPT_AFTER_MS = 60_000;
/** Folders of older versions have no lock. */
const SWEPT_UNLOCKED_AFTER_MS = 24 * 3_600_000;
/** How long the output of an ended process is still read if another process keeps it open. */
const DRAIN_MS = 1_000;

/** Code files: the first file and all files that it imports from its folder. */
export interface CodeFiles {
  /** Paths. */
  files: readonly string[];
  /** URLs of the same files, as they are imported. */
  modules: readonly string[];
  /** SHA-256 over their names and contents, in hex. */
  sha256: string;
  /** Copies of the files, by URL. The process loads the copies instead of the files. */
  copies?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** Copies of code files, as a trust record contains them. The first file imports the others. */
export type KeptCode = readonly {
  /** URL of the file, relative to the folder of the recipe. */
  name: string;
  /** Its content in Base64. */
  content: string;
}[];

/**
 * Copies code files, and compares the hash of the copies with the hash that was computed before.
 *
 * @throws {OwnStepError} If a file was changed in the meantime.
 */
export async function keepCode(file: URL, folder: URL, code: CodeFiles): Promise<KeptCode> {
  const kept = [];
  const hashes = new Map<string, string>();
  for (const module of code.modules) {
    const bytes = await readRegular(new URL(module), codeLimits.fileBytes);
    if (!(bytes instanceof Uint8Array)) throw refuseCode(file, bytes.refused);
    hashes.set(await Deno.realPath(new URL(module)), await sha256(bytes));
    const isBelow = module.startsWith(folder.href);
    kept.push({ name: isBelow ? module.slice(folder.href.length) : module, content: bytes.toBase64() });
  }
  const parts = code.files.map((path) => `${path} ${hashes.get(path)}`);
  if (await sha256(parts.join("\n")) !== code.sha256) throw refuseCode(file, CHANGED);
  return kept;
}

/** Returns code that consists of copies. */
export function codeOfCopies(kept: KeptCode, folder: URL, { files, sha256 }: CodeFiles): CodeFiles {
  const copies = new Map(
    kept.map(({ name, content }) => [new URL(name, folder).href, Uint8Array.fromBase64(content)]),
  );
  return { files, sha256, modules: [...copies.keys()], copies };
}

const nameOf = (file: URL) => decodeURIComponent(file.pathname).replace(/^.*\//, "");

/** Why a file is not loaded while the program is ending. */
export const STOPPED = "it was stopped while it was loaded";

/** Describes why a file cannot be used; recipe files have their own texts. */
export function refuseCode(file: URL, reason: string): OwnStepError {
  if (reason.includes("Blocked by null entry")) {
    reason =
      "it loads a file that was not checked: only files that an import names with a fixed text are checked, " +
      `and are trusted with the step (${reason})`;
  }
  if (reason.startsWith("The lockfile is out of date")) {
    reason = "it loads a package that is not one of hsgate's own";
  }
  return new OwnStepError(`Cannot use step "${nameOf(file)}": ${reason}`, { code: "own-step" });
}

/**
 * Finds all code files without running any. Code may import files of its folder, the toolkit, and modules of `node:`.
 *
 * @throws {OwnStepError} If it imports anything else, or too much.
 */
export async function findCode(file: URL, folder: URL, signal?: AbortSignal): Promise<CodeFiles> {
  await realFile(file, file, await rootOf(folder));
  const modules = await graphOf(file, signal);
  return await walk(file, folder, (specifier) => modules.get(specifier));
}

/**
 * Checks the imports of code like `findCode`, but starts no process and reads only files of the folder. It searches the
 * text of each file, so it can miss an unusual import; `findCode` misses none.
 *
 * @throws {OwnStepError} If it imports something that it may not.
 */
export async function checkWrittenImports(file: URL, folder: URL): Promise<void> {
  const names: Record<string, string> = JSON.parse(await importsText()).imports;
  await walk(file, folder, async (specifier) => {
    if (!/\.[cm]?[jt]sx?$/.test(specifier)) return undefined;
    const bytes = await readRegular(new URL(specifier), codeLimits.fileBytes);
    if (!(bytes instanceof Uint8Array)) return { specifier, error: bytes.refused };
    const dependencies = writtenImports(new TextDecoder().decode(bytes)).map((written) => {
      const target = names[written] ??
        (/^\.{0,2}\//.test(written) ? URL.parse(written, specifier)?.href : undefined) ??
        written;
      return { specifier: written, code: { specifier: target } };
    });
    return { specifier, dependencies };
  });
}

const rootOf = async (folder: URL) => `${(await Deno.realPath(folder)).replace(/\/$/, "")}/`;

/** Visits all code files and checks each import. */
async function walk(
  file: URL,
  folder: URL,
  moduleOf: (specifier: string) => Module | undefined | Promise<Module | undefined>,
): Promise<CodeFiles> {
  const root = await rootOf(folder);
  const files = new Set<string>();
  // Uses the name of the import, not of the file: relative imports of a link start at the link.
  const seen = new Set<string>();
  const queue = [file.href];
  for (let specifier = queue.shift(); specifier !== undefined; specifier = queue.shift()) {
    if (seen.has(specifier)) continue;
    seen.add(specifier);
    files.add(await realFile(file, new URL(specifier), root));
    if (/\.c[jt]s$/.test(nameOf(new URL(specifier)))) {
      throw refuseCode(
        file,
        `"${
          nameOf(new URL(specifier))
        }" is CommonJS, whose "require" loads files that nobody has checked; write it as ` +
          "a module with import and export",
      );
    }
    if (seen.size > codeLimits.files) {
      throw refuseCode(file, `it imports more than ${codeLimits.files} files`);
    }
    const module = await moduleOf(specifier);
    if (module?.error !== undefined) throw refuseCode(file, firstLine(module.error));
    for (const { specifier: written, code, type } of module?.dependencies ?? []) {
      const target = code ?? type;
      const found = target?.specifier;
      if (target?.error !== undefined) throw refuseCode(file, firstLine(target.error));
      if (found === "node:module") {
        throw refuseCode(
          file,
          `"${
            nameOf(new URL(specifier))
          }" imports "node:module", which loads files that nobody has checked; use import`,
        );
      }
      if (found === undefined || /^node:/.test(found) || isToolkit(found)) continue;
      if (!found.startsWith("file:")) {
        throw refuseCode(
          file,
          `"${nameOf(new URL(specifier))}" imports "${
            written.slice(0, MOST_SHOWN)
          }": only files of its folder, "hsgate/recipes" and ` +
            "the toolkit's other modules can be imported",
        );
      }
      queue.push(found);
    }
  }
  const sorted = [...files].sort();
  return { files: sorted, modules: [...seen], sha256: await digestOfCode(sorted, file) };
}

/** Rejects files that have changed since they were checked. @throws {OwnStepError} */
export async function checkUnchanged(file: URL, { files, copies, sha256: before }: CodeFiles): Promise<void> {
  if (copies !== undefined) return;
  const now = await digestOfCode(files, file).catch(() => undefined);
  if (now === before) return;
  throw refuseCode(file, CHANGED);
}

const CHANGED =
  `it, or a file that it imports, was changed after it was checked, so it was not run: run "hsgate check", and ` +
  "start what runs it again unless it reads changed recipes by itself";

/** Returns the SHA-256 over names and contents of code files, in hex. @throws {OwnStepError} If one cannot be read. */
export async function digestOfCode(files: readonly string[], file: URL): Promise<string> {
  const parts: string[] = [];
  for (const path of files) {
    const bytes = await readRegular(path, codeLimits.fileBytes);
    if (!(bytes instanceof Uint8Array)) {
      throw refuseCode(file, `"${path.replace(/^.*\//, "")}": ${bytes.refused}`);
    }
    parts.push(`${path} ${await sha256(bytes)}`);
  }
  return await sha256(parts.join("\n"));
}

/**
 * Returns the path of a file without links. @throws {OwnStepError} If it is outside a folder, or not a regular file.
 */
async function realFile(file: URL, module: URL, root: string): Promise<string> {
  const name = decodeURIComponent(module.pathname);
  let path: string;
  try {
    path = await Deno.realPath(module);
    if (!(await Deno.stat(path)).isFile) throw refuseCode(file, `"${name}" is not a regular file`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw refuseCode(
      file,
      module.href === file.href ? "there is no such file" : `there is no file "${name}"`,
    );
  }
  if (path.startsWith(root)) return path;
  throw refuseCode(file, `it imports "${name}", which is outside the folder of the recipe`);
}

const toolkit = new URL("../../../", import.meta.url);

/** Returns whether a module belongs to the toolkit, which may be imported from anywhere. */
function isToolkit(specifier: string): boolean {
  return specifier === new URL("mod.ts", toolkit).href ||
    (specifier.startsWith(new URL("lib/", toolkit).href) && specifier.endsWith(".ts"));
}

/** A module in the output of `deno info`. */
interface Module {
  specifier: string;
  error?: string;
  dependencies?: { specifier: string; code?: Resolved; type?: Resolved }[];
}

interface Resolved {
  specifier?: string;
  error?: string;
}

/** Returns the modules that a file imports, by `deno info`, which reads them but runs none. */
async function graphOf(file: URL, signal?: AbortSignal): Promise<ReadonlyMap<string, Module>> {
  await using folder = await ownFolder();
  const limit = AbortSignal.any([
    AbortSignal.timeout(codeLimits.loadMs),
    ...signal === undefined ? [] : [signal],
  ]);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--quiet", ...offline, ...configFlags(folder.path), file.href],
    cwd: folder.path,
    clearEnv: true,
    env: environment({}),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: limit,
  });
  const { stdout, stderr } = await child.output();
  if (signal?.aborted) throw refuseCode(file, STOPPED);
  const text = new TextDecoder().decode(stdout);
  try {
    const { modules }: { modules: Module[] } = JSON.parse(text); // Deno prints only JSON
    return new Map(modules.map((module) => [module.specifier, module]));
  } catch {
    const reason = new TextDecoder().decode(stderr).split("\n").find((line) => line.trim() !== "");
    throw refuseCode(file, `its imports cannot be read: ${reason ?? "Deno says nothing about them"}`);
  }
}

const firstLine = (text: string) => text.split("\n")[0]!.trim();

/** Flags that keep Deno from using remote modules, packages and lock files. */
const offline = ["--no-remote", "--no-npm", "--no-lock"];

function environment(permissions: StepPermissions): Record<string, string> {
  return {
    ...stepEnvironment(ownEnvironment(), permissions),
    // No file of the folder may change the meaning of imports or cause an installation.
    DENO_NO_PACKAGE_JSON: "1",
    // The runtime itself must not check for a newer version.
    DENO_NO_UPDATE_CHECK: "1",
  };
}

/** Environment variables that this process may read, to pass them on to other processes. */
function ownEnvironment(): Record<string, string> {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Deno.env.toObject() : {};
}

/**
 * Creates a folder for one process, with the configuration for its imports.
 *
 * @param code All files that the process may load in addition to the toolkit's; absent if no code runs.
 */
async function ownFolder(code?: CodeFiles): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir({ prefix: FOLDER });
  // Locked while this process lives, so that other processes see that the folder is in use.
  const lock = await Deno.open(`${path}/lock`, { write: true, create: true });
  const remove = async () => {
    lock.close();
    await Deno.remove(path, { recursive: true }).catch(unlessGone);
  };
  try {
    await lock.lock(true);
    await (swept ??= sweepFolders(path));
    const main = fileUrl(`${path}/main.ts`).href;
    await Deno.writeTextFile(`${path}/deno.json`, JSON.stringify({ nodeModulesDir: "none", lock: false }));
    await Deno.writeTextFile(`${path}/${LOCKED_PACKAGES}`, await lockText());
    // A separate file: for files that a configuration's imports name, Deno uses the configuration next to them.
    await Deno.writeTextFile(
      `${path}/imports.json`,
      await importsText(code && [...await placesOf(code, path), [main, main]]),
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

/**
 * Returns the location of each module for a process. Writes copies into its folder, with the same relative paths.
 */
async function placesOf({ modules, copies }: CodeFiles, folder: string): Promise<[string, string][]> {
  if (copies === undefined) return modules.map((each) => [each, each]);
  const common = commonFolder([...copies.keys()]);
  const places: [string, string][] = [];
  for (const [module, bytes] of copies) {
    const place = new URL(module.slice(common.length), fileUrl(`${folder}/copies/`));
    await Deno.mkdir(new URL(".", place), { recursive: true });
    await Deno.writeFile(place, bytes);
    places.push([module, place.href], [place.href, place.href]);
  }
  return places;
}

/** Returns the folder that contains all files. */
function commonFolder(modules: readonly string[]): string {
  let common = new URL(".", modules[0]).href;
  while (!modules.every((each) => each.startsWith(common))) common = new URL("..", common).href;
  return common;
}

const LOCKED_PACKAGES = "packages.lock";

let locked: Promise<string> | undefined;

/**
 * Returns the toolkit's lock file without its root dependencies: the packages that code may load, with their hashes.
 */
function lockText(): Promise<string> {
  return locked ??= (async () => {
    if (toolkit.protocol !== "file:") return "";
    const { workspace: _, ...packages } = JSON.parse(await Deno.readTextFile(new URL("deno.lock", toolkit)));
    return JSON.stringify(packages);
  })();
}

const configFlags = (folder: string) => [
  ...["--config", `${folder}/deno.json`],
  ...["--import-map", `${folder}/imports.json`],
];

function unlessGone(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

let swept: Promise<void> | undefined;

/**
 * Removes folders that killed programs of this user left, once per process. Another user may create such a folder next
 * to ours, with a lock whose opening would block.
 */
async function sweepFolders(own: string): Promise<void> {
  const parent = own.slice(0, own.lastIndexOf(FOLDER));
  try {
    const { uid } = await Deno.lstat(own);
    for await (const { name, isDirectory } of Deno.readDir(parent)) {
      if (isDirectory && name.startsWith(FOLDER)) await sweep(`${parent}${name}`, uid).catch(() => {});
    }
  } catch {
    // A folder that cannot be listed is left alone.
  }
}

async function sweep(path: string, own: number | null): Promise<void> {
  const { mtime, uid } = await Deno.lstat(path);
  const age = Date.now() - (mtime?.getTime() ?? Infinity);
  if (age < SWEPT_AFTER_MS || uid !== own) return;
  const isLock = await Deno.lstat(`${path}/lock`).then(({ isFile }) => isFile, () => true);
  if (!isLock) return;
  using lock = await Deno.open(`${path}/lock`, { write: true }).catch(unlessGone);
  const isUnused = lock === undefined ? age > SWEPT_UNLOCKED_AFTER_MS : await lock.tryLock(true);
  if (isUnused) await Deno.remove(path, { recursive: true });
}

/**
 * Returns an import map: the toolkit's modules for all files, and the toolkit's packages only for the toolkit.
 *
 * @param modules URLs of the only other files that can be loaded, also by workers and by names computed at run time;
 * each
 * with the URL of the file to load.
 */
async function importsText(modules?: readonly [string, string][]): Promise<string> {
  const names: Record<string, string> = toolkit.protocol === "file:"
    ? JSON.parse(await Deno.readTextFile(new URL("deno.json", toolkit))).imports
    : { "hsgate": "./mod.ts", "hsgate/recipes": "./lib/recipes/mod.ts" };
  const resolved = Object.entries(names).map(([name, target]) =>
    [name, target.startsWith("./") ? new URL(target, toolkit).href : target] as const
  );
  const isOwn = (name: string) => /^hsgate(\/|$)/.test(name);
  const ours = ["mod.ts", "lib/", "proto/"].map((name) => new URL(name, toolkit).href);
  return JSON.stringify({
    imports: {
      ...Object.fromEntries(resolved.filter(([name]) => isOwn(name))),
      // The longest matching name counts; null rejects every name that begins with it.
      ...modules !== undefined && { "file:///": null, "node:module": null },
      ...modules !== undefined && Object.fromEntries([...modules, ...ours.map((each) => [each, each])]),
    },
    scopes: { [toolkit.href]: Object.fromEntries(resolved.filter(([name]) => !isOwn(name))) },
  });
}

/** A process that runs code. */
interface CodeProcess extends AsyncDisposable {
  /** Lines with the message mark; all other lines count as printed output. */
  messages: AsyncIterable<string>;
  send(line: string): void;
  /** Returns why it ended, from its output. */
  reason(): Promise<string>;
}

/** Options of a process. */
interface CodeOptions {
  /** Code files; the process loads no other files. */
  code: CodeFiles;
  permissions: StepPermissions;
  /** The module to start. */
  main: string;
  /** Mark at the beginning of each message. */
  mark: string;
  /** Aborting it ends the process and everything that it has started. */
  signal?: AbortSignal;
  /** CPU seconds over all cores. @default unlimited */
  cpuSeconds?: number;
  /** Called with the printed output, up to ten thousand lines. @default ignored */
  onPrinted?: (line: string) => void;
}

/**
 * Starts a process for the code of a file. Disposal ends its whole process group.
 *
 * @throws {OwnStepError} If it does not start.
 */
export async function startCode(file: URL, options: CodeOptions): Promise<CodeProcess> {
  const { signal, mark, onPrinted = () => {} } = options;
  const folder = await ownFolder(options.code);
  const id = crypto.randomUUID();
  let child: Deno.ChildProcess;
  try {
    child = await spawn(file, { folder: folder.path, id }, options);
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw refuseCode(file, `its process does not start: ${error instanceof Error ? error.message : error}`);
  }
  const kill = () => endGroup(child);
  signal?.addEventListener("abort", kill);
  if (signal?.aborted) kill(); // aborted during the start
  const printer = new Printer(onPrinted);
  const drained = new AbortController();
  const printed = (async () => {
    for await (
      const { text, isCut } of linesOf(child.stderr, { most: () => codeLimits.line, signal: drained.signal })
    ) {
      printer.take(text, isCut);
    }
  })();
  // A process that left the group may keep the output open; the wait for it is short.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = child.status.then(async () => {
    kill();
    timer = setTimeout(() => drained.abort(), DRAIN_MS);
    await printed;
  });
  const messages = messagesOf(child.stdout, { file, mark, printer, signal: drained.signal });
  const writer = child.stdin.getWriter();
  return {
    messages,
    send: (line) => void writer.write(new TextEncoder().encode(`${line}\n`)).catch(() => {}),
    async reason() {
      await ended;
      // Earlier output is not a reason.
      return (await child.status).success
        ? "it ended its own process before it had returned, as Deno.exit() does"
        : printer.reason();
    },
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", kill);
      kill();
      await writer.close().catch(() => {});
      await ended;
      clearTimeout(timer);
      await messages.return();
      await child.stdout.cancel().catch(() => {}); // fails if a reader has begun to read it
      // A process without permission to run programs has started none.
      if ((options.permissions.run ?? []).length > 0) endMarked(id);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Ends a process and its group, which contains everything that it has started. */
function endGroup(child: Deno.ChildProcess): void {
  for (const end of [() => Deno.kill(-child.pid, "SIGKILL"), () => child.kill("SIGKILL")]) {
    try {
      end();
    } catch {
      // The process has ended, or the system has no groups; the process itself is ended next.
    }
  }
}

/** Ends processes that have left the group, by the mark in their environment; only Linux shows it. */
function endMarked(id: string): void {
  if (Deno.build.os !== "linux") return;
  const own = `\0${MARKER}=${id}\0`;
  const findMarked = () =>
    Array.from(Deno.readDirSync("/proc")).map(({ name }) => Number(name)).filter((pid) => {
      if (!Number.isInteger(pid)) return false;
      try {
        const bytes = Deno.readFileSync(`/proc/${pid}/environ`);
        return `\0${new TextDecoder().decode(bytes)}\0`.includes(own);
      } catch {
        return false; // it has ended, or belongs to another user
      }
    });
  try {
    // Repeats, because a process that is starting another one may end before the new one is visible.
    for (let rounds = 10; rounds > 0; rounds--) {
      const marked = findMarked();
      if (marked.length === 0) return;
      for (const pid of marked) endProcess(pid);
    }
  } catch {
    // Without permission to read this folder, these processes stay.
  }
}

function endProcess(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended in the meantime.
  }
}

/**
 * Starts the code's process with its limits, and next to it a shell that checks every second whether the program that
 * started it still runs. If the program was killed, the shell ends the code and everything that it has started, and
 * removes its folder. On Linux the shell checks the parent of the code's process, because a process id may be reused.
 */
const SHELL = `folder=$4 real=$6 analysis=$7 linked=$8
${MAKE_CACHE}
ulimit -c 0; ulimit -d "$1" 2>/dev/null; [ "$2" = 0 ] || ulimit -t "$2" 2>/dev/null
(
  exec </dev/null >/dev/null 2>&1
  while if read -r _ _ _ parent _ <"/proc/$$/stat"; then [ "$parent" = "$3" ]; else kill -0 "$3"; fi; do
    sleep 1 || exit
  done
  rm -rf "$4"
  read -r self _ </proc/self/stat
  for file in $(grep -ls "${MARKER}=$5" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    pid=\${pid%/environ}
    [ "$pid" = "$self" ] || kill -s KILL "$pid"
  done
  kill -s KILL -- "-$$"
) &
shift 8
exec "$@"`;

async function spawn(
  file: URL,
  { folder, id }: { folder: string; id: string },
  { permissions, main, cpuSeconds = 0 }: CodeOptions,
): Promise<Deno.ChildProcess> {
  await Deno.writeTextFile(`${folder}/main.ts`, main);
  const { heapMiB, memoryMiB } = codeLimits;
  const isLocal = toolkit.protocol === "file:";
  const words = [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-prompt",
    "--no-check",
    "--cached-only",
    // Packages other than the toolkit's do not load, even if they are in Deno's cache.
    ...isLocal ? ["--no-remote", `--lock=${folder}/${LOCKED_PACKAGES}`, "--frozen"] : ["--no-lock"],
    `--v8-flags=--max-old-space-size=${heapMiB}`,
    ...configFlags(folder),
    ...Object.entries(permissions).filter(([, names]) => names.length > 0)
      .map(([kind, names]) => `--allow-${kind}=${names.join(",")}`),
    `${folder}/main.ts`,
  ];
  // Buffers are not part of the JavaScript heap, so the system has to limit them.
  const shell = "/bin/sh";
  const hasShell = await Deno.stat(shell).then(() => true, () => false);
  const env = { ...environment(permissions), [MARKER]: id };
  const bounds = [memoryMiB * 1024, cpuSeconds, Deno.pid, folder, id].map(String);
  const cache = hasShell ? await stepCache({ toolkit, environment: environment({}) }) : undefined;
  const [command, ...args] = cache === undefined
    ? words
    : [shell, "-c", SHELL, "hsgate", ...bounds, cache.real, cache.analysis, list(cache.linked), ...words];
  return new Deno.Command(command!, {
    args,
    cwd: new URL(".", file),
    clearEnv: true,
    env: cache === undefined ? env : { ...env, DENO_DIR: `${folder}/cache` },
    detached: true, // its own process group
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Printed output of code: a limited part is passed on, and a little is kept to explain why it ended. */
class Printer {
  readonly #onPrinted: (line: string) => void;
  readonly #kept: string[] = [];
  #lines = 0;
  #size = 0;

  constructor(onPrinted: (line: string) => void) {
    this.#onPrinted = onPrinted;
  }

  take(line: string, isCut: boolean): void {
    const text = `${line.trimEnd()}${isCut ? " … (cut: the line is longer)" : ""}`;
    if (text === "") return;
    if (this.#kept.length < KEPT_LINES) this.#kept.push(text);
    if (this.#lines > codeLimits.lines) return;
    this.#size += text.length;
    this.#lines = this.#size > codeLimits.printed ? codeLimits.lines + 1 : this.#lines + 1;
    this.#onPrinted(
      this.#lines > codeLimits.lines ? "it prints more than is logged: the rest is left out" : text,
    );
  }

  reason(): string {
    if (this.#kept.some((line) => /JavaScript out of memory|Array buffer allocation failed/.test(line))) {
      const { heapMiB, memoryMiB } = codeLimits;
      return `it ran out of memory: it may have ${heapMiB} MiB of values, and ${memoryMiB} MiB in all`;
    }
    return (this.#kept.find((line) => /error/i.test(line)) ?? this.#kept[0] ?? "it ended without an answer")
      .trim()
      .replace(/^error: /, "");
  }
}

/** Reads messages; other output on stdout counts as printed. */
async function* messagesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  { file, mark, printer, signal }: { file: URL; mark: string; printer: Printer; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  // The first chunk of a line may end inside the mark.
  const most = (start: string) =>
    start.startsWith(mark) || mark.startsWith(start) ? codeLimits.message : codeLimits.line;
  for await (const { text, isCut } of linesOf(stream, { most, signal })) {
    if (!text.startsWith(mark)) printer.take(text, isCut);
    else if (isCut) {
      throw refuseCode(file, `it answers with more than ${codeLimits.message / 1024 / 1024} MiB`);
    } else yield text.slice(mark.length);
  }
}
