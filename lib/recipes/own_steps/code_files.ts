/**
 * Finds the code files of custom steps and TypeScript recipes without running any, and checks that they are unchanged.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import { readRegular } from "../../regular_files.ts";
import { sha256 } from "../../sha256.ts";
import {
  configFlags,
  environment,
  importsText,
  isToolkit,
  type LoadableFiles,
  ownFolder,
} from "./code_folder.ts";
import { writtenImports } from "./written_imports.ts";

/** Characters of an import in an error: a `data:` URL may contain a whole file. */
const MOST_SHOWN = 200;

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

/** Code files: the first file and all files that it imports from its folder. */
export interface CodeFiles extends LoadableFiles {
  /** Paths. */
  files: readonly string[];
  /** SHA-256 over their names and contents, in hex. */
  sha256: string;
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
