/**
 * Creates files that only their owner can read. Replaces files atomically, and never writes through a link.
 *
 * @module
 */
import { shellHint } from "./shell_words.ts";

/**
 * Mode of a new file: only its owner has access. {@linkcode makePrivate} removes the access of others to an existing
 * file.
 */
export const PRIVATE_FILE = 0o600;
/** Mode of a new folder. */
export const PRIVATE_FOLDER = 0o700;

/**
 * Creates a file and opens it for writing. First removes an existing file or link of that name. A crash may have left
 * the file, and a write through a link would change another file.
 */
function openNew(path: string): Deno.FsFile {
  const options = { write: true, createNew: true, mode: PRIVATE_FILE };
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  Deno.removeSync(path);
  return Deno.openSync(path, options);
}

/**
 * Removes all permissions of an existing file except its owner's, before new data is written to the file. Does
 * nothing if there is no such file, and nothing to a folder or a device: everybody uses `/tmp` and `/dev/null`.
 *
 * @throws {TypeError} When others have access, and this user may not change that.
 */
export function makePrivate(path: string): void {
  const OTHERS = 0o077;
  try {
    const { mode, isFile } = Deno.statSync(path); // the mode is null on Windows
    if (isFile && mode !== null && (mode & OTHERS) !== 0) Deno.chmodSync(path, mode & ~OTHERS & 0o777);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
    throw new TypeError(
      `Cannot write "${path}": other users have access to it, and this user may not change that; let its owner ` +
        `run: chmod go-rwx ${shellHint(path)}`,
      { cause: error },
    );
  }
}

/**
 * Opens a lock file, and creates it if it does not exist.
 *
 * @throws {TypeError} When the path is a link or not a regular file.
 */
export function openLock(path: string): Deno.FsFile {
  const options = { read: true, write: true };
  try {
    return Deno.openSync(path, { ...options, createNew: true, mode: PRIVATE_FILE });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  needLockFile(path, Deno.lstatSync(path));
  return Deno.openSync(path, options);
}

/**
 * Opens an existing lock file for reading, which needs no permission to write.
 *
 * @throws {TypeError} When the path is a link or not a regular file.
 */
export async function openExistingLock(path: string): Promise<Deno.FsFile> {
  needLockFile(path, await Deno.lstat(path));
  return await Deno.open(path);
}

/**
 * Rejects links, because they lead to another file, and everything that is not a regular file: opening a named pipe,
 * for example, waits for another process.
 */
function needLockFile(path: string, { isFile, isSymlink }: Deno.FileInfo): void {
  if (isSymlink) throw new TypeError(`Cannot lock "${path}": it is a symbolic link; remove the link`);
  if (!isFile) throw new TypeError(`Cannot lock "${path}": it is not a regular file; remove it`);
}

/**
 * Replaces or creates a file durably: after a crash, either the old file or the new one is complete. If the path is a
 * link, replaces the link and leaves its target unchanged. If the new file cannot be written, the old file stays.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.part`;
  try {
    using out = openNew(unfinished);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let done = 0; done < bytes.length;) done += out.writeSync(bytes.subarray(done));
    out.syncSync();
    Deno.renameSync(unfinished, path);
  } catch (error) {
    if (exists(unfinished)) Deno.removeSync(unfinished);
    throw error;
  }
  syncFolder(path.slice(0, path.lastIndexOf("/") + 1) || ".");
}

/** The text at the start of every page that hsgate writes. */
const PAGE_START = "<!doctype html>";

/**
 * Replaces or creates a page, as {@linkcode replaceFile} does. Rejects other files, so that a mistyped path does not
 * destroy the source of the page, a store or a device.
 *
 * @throws {TypeError} When the path exists and is not a page, an empty file or a link.
 */
export function replacePage(path: string, page: string): void {
  const info = infoOf(path);
  const isOther = info !== undefined && !info.isSymlink && (!info.isFile || !startsWith(path, PAGE_START));
  if (isOther) {
    throw new TypeError(`Cannot write the page "${path}": it exists and is not a page; name another file`);
  }
  replaceFile(path, page);
}

/** Returns whether a file begins with this text; true for an empty file. */
function startsWith(path: string, text: string): boolean {
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(text.length);
  const count = file.readSync(bytes) ?? 0;
  return count === 0 || new TextDecoder().decode(bytes.subarray(0, count)) === text;
}

/** Writes a folder's list of names to the disk. Does nothing on Windows, which does not need it. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  using folder = Deno.openSync(path);
  folder.syncSync();
}

/** Returns whether a path exists; a broken link counts as existing. */
export function exists(path: string): boolean {
  return infoOf(path) !== undefined;
}

/** Returns whether a path is a symbolic link; false if it does not exist. */
export function isLink(path: string): boolean {
  return infoOf(path)?.isSymlink ?? false;
}

function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
