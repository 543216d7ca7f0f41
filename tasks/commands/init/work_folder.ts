/**
 * The folder that is written: new or empty, and written as a whole or not at all.
 *
 * @module
 */
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../../lib/private_files.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/** A folder that may be written. */
export interface WorkFolder {
  /** As it was named, without a slash at its end. */
  path: string;
  /** As an absolute address, with a slash at its end. */
  url: URL;
}

/** A file, by its path inside the folder. */
export interface PlannedFile {
  path: string;
  text: string;
}

/** What does not count: a repository that was just made, and what a file manager leaves behind. */
const ignored = [".git", ".DS_Store", "Thumbs.db", "desktop.ini"];

const NEW_FOLDER = "trading";

/**
 * Names the folder that is proposed: the current one where it is empty, else a new one; beside the toolkit rather than
 * inside it, where a clean-up of the checkout would take the store along.
 */
export async function usualFolder(toolkit: URL): Promise<string> {
  if ((await namesIn("."))?.length === 0) return ".";
  const { pathToFileURL } = await import("node:url");
  const isToolkit = `${pathToFileURL(await Deno.realPath(".")).href}/` === toolkit.href;
  return isToolkit ? `../${NEW_FOLDER}` : NEW_FOLDER;
}

/**
 * Resolves to a folder that may be written.
 *
 * @throws {UsageError} When it is no folder, or something lies in it.
 */
export async function findFolder(name: string): Promise<WorkFolder> {
  const path = name.trim().replace(/(.)[/\\]+$/, "$1");
  if (path === "") {
    throw new UsageError('Cannot write into "": name a folder that is new, or "." for this one');
  }
  const names = await namesIn(path);
  if (names !== undefined && names.length > 0) {
    const shown = names.slice(0, 5).map((each) => `"${each}"`).join(", ");
    const rest = names.length > 5 ? ` and ${names.length - 5} more` : "";
    throw new UsageError(`Cannot write into "${path}": it has ${shown}${rest}; name a folder that is new`);
  }
  const { pathToFileURL } = await import("node:url");
  return { path, url: new URL(`${pathToFileURL(await realPath(path)).href}/`) };
}

/** The path without links, of which the last parts may not be there yet: ways lead from the real place. */
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

/** Names of what lies in a folder, in order; nothing where there is no folder. */
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

/** Writes files that are not there yet. When one cannot be written, those before it are taken away again. */
export async function writeAll({ path }: WorkFolder, files: readonly PlannedFile[]): Promise<void> {
  const made: string[] = [];
  try {
    for (const folder of foldersOf(path, files)) if (await makeFolder(folder)) made.push(folder);
    for (const file of files) {
      const target = `${path}/${file.path}`;
      (await Deno.open(target, { write: true, createNew: true, mode: PRIVATE_FILE })).close();
      made.push(target); // it is ours from here on, also when the disk is full
      await Deno.writeTextFile(target, file.text);
    }
  } catch (error) {
    for (const each of made.reverse()) await Deno.remove(each);
    throw error;
  }
}

/** Every folder that is needed, the outer ones first. */
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
