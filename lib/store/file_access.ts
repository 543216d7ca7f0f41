/**
 * Explains why a store's file cannot be opened or written, because SQLite does not report the reason.
 *
 * @module
 */

/** Advice about what the user can do. The advice for a store differs from the advice for a backup. */
interface AccessWords {
  /** How to name another place. */
  other: string;
  /** How to name a file instead of a folder. */
  file: string;
  /** How to name another disk. */
  disk: string;
}

const storeWords: AccessWords = {
  other: "name another store with --store",
  file: "name a file with --store",
  disk: "name a store on another disk with --store, such as a copy of this store",
};

/** Advice about the copy that `hsgate store backup` writes. */
export const backupWords: AccessWords = {
  other: "name another file for the backup",
  file: "name a file for the backup",
  disk: "name a file on another disk for the backup",
};

/**
 * Returns why a file cannot be opened or written, and what to do; `undefined` if nothing prevents it. Tries this: opens
 * the file for writing if it exists, and writes a temporary file to its folder.
 */
export function whyNoAccess(path: string, words: AccessWords = storeWords): string | undefined {
  if (path === "" || path === ":memory:") return undefined;
  const at = path.lastIndexOf("/");
  const folder = at < 0 ? "." : path.slice(0, at) || "/";
  const found = infoOf(folder);
  if (found === undefined) {
    return `its folder "${folder}" does not exist; create the folder, or ${words.other}`;
  }
  if (found !== "hidden" && !found.isDirectory) {
    return `"${folder}" is not a folder; ${words.other}`;
  }
  const file = infoOf(path);
  if (file !== undefined && file !== "hidden" && !file.isFile) {
    return `it is ${file.isDirectory ? "a folder" : "not a regular file"}; ${words.file}`;
  }
  // SQLite writes its own files next to the store, so the folder must be writable too.
  const refused = file === undefined
    ? undefined
    : refusal(() => Deno.openSync(path, { write: true }).close());
  return whyNotWritten(refused, { what: "the file", path, words }) ??
    whyNotWritten(refusal(() => tryFolder(folder)), { what: "the folder", path: folder, words });
}

function infoOf(path: string): Deno.FileInfo | "hidden" | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    return "hidden"; // this user may not look into the folder, so the path may exist
  }
}

/** Number of bytes of a test write, about as many as SQLite needs at a time. Even a full disk accepts an empty file. */
const TRIED_BYTES = 256 * 1024;

/** Creates a file in the folder, writes to it, and removes it. */
function tryFolder(folder: string): void {
  const path = `${folder}/.hsgate-${crypto.randomUUID()}`;
  const file = Deno.openSync(path, { write: true, createNew: true });
  try {
    for (let left = TRIED_BYTES; left > 0;) left -= file.writeSync(new Uint8Array(left));
    file.syncDataSync();
  } finally {
    file.close();
    Deno.removeSync(path);
  }
}

function refusal(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Error numbers of Linux, macOS and Windows for a read-only disk, and for a full disk or an exceeded quota. */
const READ_ONLY = /\(os error (30|19)\)/;
const FULL = /\(os error (28|112|122)\)/;

function whyNotWritten(
  error: Error | undefined,
  { what, path, words }: { what: string; path: string; words: AccessWords },
): string | undefined {
  if (error === undefined) return undefined;
  if (READ_ONLY.test(error.message)) {
    return `the disk of "${path}" is read-only; mount it for writing, or ${words.disk}`;
  }
  if (FULL.test(error.message)) return `the disk of "${path}" is full; free some space`;
  if (error instanceof Deno.errors.PermissionDenied) {
    return `this user may not write to ${what} "${path}"; grant write permission, or ${words.other}`;
  }
  return `${what} "${path}" cannot be written: ${error.message}`;
}
