/**
 * Finds the code files of custom steps and TypeScript recipes without running them, and checks that they are unchanged.
 *
 * @module
 */
import { BrokerError, messageOf } from "../../errors.ts";
import { readRegular } from "../../regular_files.ts";
import { sha256 } from "../../sha256.ts";
import {
  type CodeCopies,
  configFlags,
  environment,
  importsText,
  isToolkit,
  ownFolder,
  placeOf,
} from "./code_folder.ts";
import { fileUrl } from "../files/recipe_files.ts";
import { writtenImports } from "./written_imports.ts";

/** Maximum number of characters of an import that an error shows, because a `data:` URL may contain a whole file. */
const MOST_SHOWN = 200;

/** Code cannot be started, is not valid, was changed after its check, has failed, or has exceeded a limit. */
export class OwnStepError extends BrokerError {
  override readonly name: string = "OwnStepError";
}

/** Limits for code outside the toolkit; docs/recipes.md lists them. */
export const codeLimits = {
  /** Maximum MiB of JavaScript values. */
  heapMiB: 512,
  /** Maximum MiB of all memory, if the system has `ulimit`. */
  memoryMiB: 2048,
  /** Maximum MiB that Deno may store for a process, if the system has a shell. */
  cacheMiB: 128,
  /** Maximum time for loading, milliseconds. */
  loadMs: 30_000,
  /** Maximum CPU time for loading, seconds over all cores, if the system has `ulimit`. */
  loadCpuSeconds: 120,
  /** Maximum number of characters of a line that code prints or logs. */
  line: 8_192,
  /** Maximum number of printed lines, and of calls of `log`. */
  lines: 10_000,
  /** Maximum number of characters of all printed lines. */
  printed: 4 * 1024 * 1024,
  /** Maximum number of characters of a message, such as the output of a step. */
  message: 16 * 1024 * 1024,
  /** Maximum number of files, and of bytes in each. */
  files: 200,
  fileBytes: 1024 * 1024,
  /** Maximum number of bytes of all files. */
  allBytes: 16 * 1024 * 1024,
} as const;

/**
 * Code: a file, and all files of its folder that it imports. A process runs these copies, never the files themselves.
 */
export interface CodeFiles {
  /** Paths of the files, as they are imported. The first path is the file that imports the others. */
  files: readonly string[];
  /** SHA-256 over the names and contents of the files, in hex. */
  sha256: string;
  /** Contents of the files by their URLs, in the same order. */
  copies: CodeCopies;
  /** The folder of the recipe. */
  folder: URL;
  /** Whether the copies are from a trust record; the files themselves may have changed since. */
  isKept: boolean;
}

/** Copies of code files, as a trust record contains them. The first file imports the others. */
export type KeptCode = readonly {
  /** URL of the file, relative to the folder of the recipe; begins with `./`. */
  name: string;
  /** Its content in Base64. */
  content: string;
}[];

/** Formats code for a trust record. @throws {OwnStepError} If a recorded name would later name a different file. */
export function keepCode(copies: CodeCopies, folder: URL): KeptCode {
  return Array.from(copies, ([href, bytes]) => {
    const name = `./${href.slice(folder.href.length)}`;
    if (new URL(name, folder).href !== href) throw refuseCode(new URL(href), outsideText(new URL(href)));
    return { name, content: bytes.toBase64() };
  });
}

/** Returns the code of a trust record. */
export async function codeOfCopies(kept: KeptCode, folder: URL): Promise<CodeFiles> {
  const copies = new Map(
    kept.map(({ name, content }) => [new URL(name, folder).href, Uint8Array.fromBase64(content)]),
  );
  return { ...await codeFiles(copies, folder), isKept: true };
}

async function codeFiles(copies: CodeCopies, folder: URL): Promise<CodeFiles> {
  const parts: string[] = [];
  for (const [href, bytes] of copies) parts.push(`${href.slice(folder.href.length)} ${await sha256(bytes)}`);
  return {
    files: [...copies.keys()].map((href) => pathOf(new URL(href))),
    sha256: await sha256(parts.sort().join("\n")),
    copies,
    folder,
    isKept: false,
  };
}

/** Returns the path of a file; a path with an escape that is not UTF-8 stays as it is. */
function pathOf({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

const nameOf = (file: URL) => pathOf(file).replace(/^.*\//, "");

/** Reason if a file was not loaded because the program is ending. */
export const STOPPED = "it was stopped while it was loaded";

/** Returns the error for a file that cannot be used as code. */
export function refuseCode(file: URL, reason: string): OwnStepError {
  if (reason.includes("Blocked by null entry")) {
    reason = "it loads a file that was not checked; hsgate checks, and trusts with the step, only files " +
      `that an import names with a fixed text (${reason})`;
  }
  // The code imports a package that the lock file does not list. Deno reports one of these errors, depending on whether
  // it finds a version of the package in its cache.
  if (reason.startsWith("The lockfile is out of date") || reason.includes("--cached-only is specified")) {
    reason = "it loads a package that is not one of hsgate's own";
  }
  return new OwnStepError(`Cannot use step "${nameOf(file)}": ${reason}`, { code: "own-step" });
}

/**
 * Finds and reads all code files without running any of them. Code may import files of its folder, the toolkit, and
 * modules of `node:` except `node:module`. Each file is read only once, and everything later uses the content
 * from this reading.
 *
 * @throws {OwnStepError} If the code imports anything else, or if its files exceed a limit.
 */
export async function findCode(file: URL, folder: URL, signal?: AbortSignal): Promise<CodeFiles> {
  const read = await readerOf(file, folder);
  await walk(file, read, await moduleOfText());
  for (;;) {
    // Deno reads copies of the files found so far. It also reports unusual imports that the search of the text has
    // missed.
    const known = new Map(read.copies);
    const modules = await graphOf(file, known, signal);
    const found = await walk(
      file,
      read,
      (specifier) => known.has(specifier) ? modules.get(specifier) : undefined,
    );
    if (!found.every((href) => known.has(href))) continue;
    return await codeFiles(new Map(found.map((href) => [href, known.get(href)!])), folder);
  }
}

/**
 * Checks the imports of code like `findCode`, but starts no process. It only searches the texts of the files in the
 * folder, so it can miss an unusual import. `findCode` misses no import.
 *
 * @throws {OwnStepError} If the code has a forbidden import, or if its files exceed a limit.
 */
export async function checkWrittenImports(file: URL, folder: URL): Promise<void> {
  await walk(file, await readerOf(file, folder), await moduleOfText());
}

type ModuleOf = (specifier: string, bytes: Uint8Array<ArrayBuffer>) => Module | undefined;

/** Returns a function that finds the imports of a file in its text. */
async function moduleOfText(): Promise<ModuleOf> {
  const names: Record<string, string> = JSON.parse(await importsText()).imports;
  return (specifier, bytes) => {
    if (!/\.[cm]?[jt]sx?$/.test(specifier)) return undefined;
    const dependencies = Array.from(writtenImports(new TextDecoder().decode(bytes)), (written) => {
      const target = names[written] ??
        (/^\.{0,2}\//.test(written) ? URL.parse(written, specifier)?.href : undefined) ??
        written;
      return { specifier: written, code: { specifier: target } };
    });
    return { specifier, dependencies };
  };
}

/** Reads code files of a folder, each once. */
interface CodeReader {
  /** @throws {OwnStepError} If the file is outside the folder, not a regular file, or too large. */
  (module: string): Promise<Uint8Array<ArrayBuffer>>;
  /** What was read, by URL. */
  copies: CodeCopies;
}

async function readerOf(file: URL, folder: URL): Promise<CodeReader> {
  const root = `${(await Deno.realPath(folder)).replace(/\/$/, "")}/`;
  const copies = new Map<string, Uint8Array<ArrayBuffer>>();
  let size = 0;
  const read = async (module: string) => {
    const known = copies.get(module);
    if (known !== undefined) return known;
    if (copies.size >= codeLimits.files) throw tooManyFiles(file);
    const url = new URL(module);
    if (!module.startsWith(folder.href)) throw refuseCode(file, outsideText(url));
    // A file must not have two names, and each name must lead to the same file in a copy of the folder.
    if (module.includes("//", folder.href.length - 1) || !isPlain(url)) {
      throw refuseCode(
        file,
        `it imports "${shortText(module.slice(folder.href.length))}": write the plain name of the file`,
      );
    }
    const bytes = await readRegular(await realFile(file, url, root), codeLimits.fileBytes);
    if (!(bytes instanceof Uint8Array)) throw refuseCode(file, `"${nameOf(url)}": ${bytes.refused}`);
    size += bytes.length;
    if (size > codeLimits.allBytes) {
      throw refuseCode(
        file,
        `its files are larger than the maximum of ${codeLimits.allBytes / 1024 / 1024} MiB`,
      );
    }
    copies.set(module, bytes);
    return bytes;
  };
  return Object.assign(read, { copies });
}

/** Returns whether a URL is the normal spelling for its file: without a query, and without unnecessary escapes. */
const isPlain = (url: URL) => fileUrl(pathOf(url)).href === url.href;

const shortText = (text: string) => text.slice(0, MOST_SHOWN);
const tooManyFiles = (file: URL) => refuseCode(file, `it imports more than ${codeLimits.files} files`);
const outsideText = (file: URL) => `it imports "${pathOf(file)}", which is outside the folder of the recipe`;

/** Visits and reads all code files, and checks each import. Returns the URLs of the files, the first file first. */
async function walk(file: URL, read: CodeReader, moduleOf: ModuleOf): Promise<string[]> {
  // Use the name in the import, not the name of the file: the relative imports of a linked file begin at the link.
  const files = new Set([file.href]);
  for (const specifier of files) { // also visits the files that are added below
    const bytes = await read(specifier);
    if (/\.c[jt]s$/.test(nameOf(new URL(specifier)))) {
      throw refuseCode(
        file,
        `"${
          nameOf(new URL(specifier))
        }" is CommonJS, whose "require" loads files that nobody has checked; write it as ` +
          "a module with import and export",
      );
    }
    const module = moduleOf(specifier, bytes);
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
          `"${nameOf(new URL(specifier))}" imports "${shortText(written)}": only files of its folder, ` +
            `"hsgate/recipes" and the toolkit's other modules can be imported`,
        );
      }
      files.add(found);
      if (files.size > codeLimits.files) throw tooManyFiles(file);
    }
  }
  return [...files];
}

/**
 * Checks that files have not changed since they were read. Does not check the files of code from a trust record.
 *
 * @throws {OwnStepError} If they have changed.
 */
export async function checkUnchanged(file: URL, code: CodeFiles): Promise<void> {
  if (code.isKept || await isSameCode(code, code.sha256)) return;
  throw refuseCode(file, changedText("it, or a file that it imports,"));
}

/** Returns the error text for something that was not run because it was changed after its check. */
export function changedText(what: string): string {
  return `${what} was changed after it was checked, so it was not run: run "hsgate check", and ` +
    "restart the program that runs it, unless that program reloads changed recipes by itself";
}

/** Returns whether the files of code now have this hash. */
export async function isSameCode({ copies, folder }: CodeFiles, expected: string): Promise<boolean> {
  const modules = [...copies.keys()];
  if (modules[0] === undefined) return false;
  try {
    const read = await readerOf(new URL(modules[0]), folder);
    for (const module of modules) await read(module);
    return (await codeFiles(read.copies, folder)).sha256 === expected;
  } catch {
    return false; // a file cannot be read any more
  }
}

/**
 * Returns the path of a file without links. @throws {OwnStepError} If it is outside a folder, or not a regular file.
 */
async function realFile(file: URL, module: URL, root: string): Promise<string> {
  const name = pathOf(module);
  let path: string;
  let isRegular: boolean;
  try {
    path = await Deno.realPath(module);
    isRegular = (await Deno.stat(path)).isFile;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      // The system rejects some names, such as a name that is too long, and links that lead to each other.
      throw refuseCode(
        file,
        `"${shortText(name)}" cannot be read: ${shortText(firstLine(messageOf(error)))}`,
      );
    }
    throw refuseCode(
      file,
      module.href === file.href ? "there is no such file" : `there is no file "${name}"`,
    );
  }
  if (!isRegular) throw refuseCode(file, `"${name}" is not a regular file`);
  if (path.startsWith(root)) return path;
  throw refuseCode(file, outsideText(module));
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

/** Returns the modules that a file imports, from `deno info`, which reads copies and runs none of them. */
async function graphOf(
  file: URL,
  copies: CodeCopies,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Module>> {
  await using folder = await ownFolder(copies, false);
  const limit = AbortSignal.any([
    AbortSignal.timeout(codeLimits.loadMs),
    ...signal === undefined ? [] : [signal],
  ]);
  const words = [
    Deno.execPath(),
    "info",
    "--json",
    "--quiet",
    ...offline,
    ...configFlags(folder.path),
    placeOf(file.href, folder.path),
  ];
  const bounds = [codeLimits.memoryMiB * 1024, codeLimits.loadCpuSeconds].map(String);
  const [command, ...args] = await hasShell() ? [SHELL, "-c", LIMITED, "hsgate", ...bounds, ...words] : words;
  const child = new Deno.Command(command!, {
    args,
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
  // Replaces the URLs of the copies by the URLs of the files.
  const places = JSON.stringify(placeOf("file:///", folder.path)).slice(1, -1);
  const text = new TextDecoder().decode(stdout).replaceAll(places, "file:///");
  try {
    const { modules }: { modules: Module[] } = JSON.parse(text); // Deno prints only JSON
    return new Map(modules.map((module) => [module.specifier, module]));
  } catch {
    const reason = new TextDecoder().decode(stderr).split("\n").find((line) => line.trim() !== "");
    throw refuseCode(file, `its imports cannot be read: ${reason ?? "Deno gave no reason"}`);
  }
}

/** Shell script that limits memory in KiB and CPU seconds of a program, if the system can. */
const LIMITED = 'ulimit -c 0; ulimit -d "$1" 2>/dev/null; ulimit -t "$2" 2>/dev/null; shift 2; exec "$@"';
export const SHELL = "/bin/sh";
export const hasShell = () => Deno.stat(SHELL).then(() => true, () => false);

const firstLine = (text: string) => text.split("\n")[0]!.trim();

/** Flags that keep Deno from using remote modules, packages and lock files. */
const offline = ["--no-remote", "--no-npm", "--no-lock"];
