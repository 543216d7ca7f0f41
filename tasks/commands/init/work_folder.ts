/**
 * Checks and writes the working folder. It must be new or empty, and it is written completely or not at all.
 *
 * @module
 */
import { distrustAround, distrustOfChecked } from "../../../lib/owned_files.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../../lib/private_files.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/** A folder that may be written to. */
export interface WorkFolder {
  /** Path as the user gave it, without a slash at its end. */
  path: string;
  /** Absolute URL, with a slash at its end. */
  url: URL;
}

/** A file, by its path inside the folder. */
export interface PlannedFile {
  path: string;
  text: string;
}

/** Names that may be in an "empty" folder: a new repository, and files of file managers. */
const ignored = [".git", ".DS_Store", "Thumbs.db", "desktop.ini"];

const NEW_FOLDER = "trading";

/**
 * Returns the default folder: the current folder if it is empty, otherwise a new folder in it. If the current folder is
 * the toolkit's own, the new folder is next to it, because cleaning the checkout would delete a store inside the
 * checkout.
 */
export async function usualFolder(toolkit: URL): Promise<string> {
  if ((await namesIn("."))?.length === 0) return ".";
  const { pathToFileURL } = await import("node:url");
  const isToolkit = `${pathToFileURL(await Deno.realPath(".")).href}/` === toolkit.href;
  return isToolkit ? `../${NEW_FOLDER}` : NEW_FOLDER;
}

/**
 * Returns a folder that may be written to.
 *
 * @throws {UsageError} If it is not a folder, is not empty, or another user could replace its files.
 */
export async function findFolder(name: string): Promise<WorkFolder> {
  const path = name.trim().replace(/(.)[/\\]+$/, "$1");
  if (path === "") {
    throw new UsageError('Cannot write into "": name a new folder, or "." for this one');
  }
  const names = await namesIn(path);
  if (names !== undefined && names.length > 0) {
    const shown = names.slice(0, 5).map((each) => `"${each}"`).join(", ");
    const rest = names.length > 5 ? ` and ${names.length - 5} more` : "";
    throw new UsageError(`Cannot write into "${path}": it contains ${shown}${rest}; name a new folder`);
  }
  // For a new folder, check the existing folder in which it will be created.
  const why = await distrustOfChecked(path) ?? await distrustAround(await realPath(path));
  if (why !== undefined) throw new UsageError(`Cannot write into "${path}": ${why}`);
  const { pathToFileURL } = await import("node:url");
  return { path, url: new URL(`${pathToFileURL(await realPath(path)).href}/`) };
}

/**
 * Returns the absolute path without links. Its last parts may not exist yet. The configuration contains relative paths,
 * which must start at the real folder.
 */
async function realPath(path: string): Promise<string> {
  const { basename, dirname, join, resolve } = await import("node:path");
  const whole = resolve(path);
  try {
    return await Deno.realPath(whole);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) || dirname(whole) === whole) throw error;
    return join(await realPath(dirname(whole)), basename(whole));
  }
}

/** Returns the names in a folder, sorted; `undefined` if there is no folder. */
async function namesIn(path: string): Promise<string[] | undefined> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(path));
    return entries.map(({ name }) => name).filter((name) => !ignored.includes(name)).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new UsageError(`Cannot write into "${path}": it is a file`);
  }
}

/** Writes new files. If a file cannot be written, removes every file and folder that this call has created. */
export async function writeAll({ path }: WorkFolder, files: readonly PlannedFile[]): Promise<void> {
  const made: string[] = [];
  try {
    for (const folder of foldersOf(path, files)) if (await makeFolder(folder)) made.push(folder);
    for (const file of files) {
      const target = `${path}/${file.path}`;
      (await Deno.open(target, { write: true, createNew: true, mode: PRIVATE_FILE })).close();
      made.push(target); // before writing, so that a partly written file is removed too
      await Deno.writeTextFile(target, file.text);
    }
  } catch (error) {
    for (const each of made.reverse()) await Deno.remove(each);
    throw error;
  }
}

/** Returns every folder that must exist, outer folders first. */
function foldersOf(path: string, files: readonly PlannedFile[]): string[] {
  const upTo = (parts: readonly string[]) =>
    parts.map((_, index) => parts.slice(0, index + 1).join("/")).filter((each) => each !== "");
  const inner = files.flatMap((file) => upTo(file.path.split("/").slice(0, -1)));
  return [...new Set([...upTo(path.split("/")), ...inner.map((each) => `${path}/${each}`)])];
}

async function makeFolder(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode: PRIVATE_FOLDER });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}
