/**
 * Why a ledger's file cannot be opened or written, as the system says it: SQLite only says that it could not.
 *
 * @module
 */

/** Returns the cause and what to do about it; nothing when the file could be opened and written. */
export function whyNoAccess(path: string): string | undefined {
  if (path === "" || path === ":memory:") return undefined;
  const at = path.lastIndexOf("/");
  const folder = at < 0 ? "." : path.slice(0, at) || "/";
  const other = "or name another ledger with --ledger";
  const found = infoOf(folder);
  if (found === undefined) return `its folder "${folder}" does not exist; make the folder, ${other}`;
  if (found !== "hidden" && !found.isDirectory) {
    return `"${folder}" is no folder; name another ledger with --ledger`;
  }
  const file = infoOf(path);
  if (file !== undefined && file !== "hidden" && !file.isFile) {
    return `it is ${file.isDirectory ? "a folder" : "no regular file"}; name a file with --ledger`;
  }
  // SQLite writes files of its own beside the ledger, so the folder has to take them as well.
  const refused = file === undefined
    ? undefined
    : refusal(() => Deno.openSync(path, { write: true }).close());
  return toldOf(refused, `the file`, path) ?? toldOf(refusal(() => tryFolder(folder)), "the folder", folder);
}

function infoOf(path: string): Deno.FileInfo | "hidden" | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    return "hidden"; // it is there, and nobody here may look at it
  }
}

/** Makes a file in the folder and removes it. */
function tryFolder(folder: string): void {
  const path = `${folder}/.hsgate-${crypto.randomUUID()}`;
  Deno.openSync(path, { write: true, createNew: true }).close();
  Deno.removeSync(path);
}

function refusal(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The numbers of the errors of Linux, macOS and Windows that say so. */
const READ_ONLY = /\(os error (30|19)\)/;
const FULL = /\(os error (28|112|122)\)/;

function toldOf(error: Error | undefined, what: string, path: string): string | undefined {
  if (error === undefined) return undefined;
  if (READ_ONLY.test(error.message)) {
    return `the disk of "${path}" is read-only; mount it for writing, or name a ledger on another disk with --ledger ` +
      "(a copy there can be looked at)";
  }
  if (FULL.test(error.message)) return `the disk of "${path}" is full; make room on it`;
  if (error instanceof Deno.errors.PermissionDenied) {
    return `this user may not write to ${what} "${path}"; give it the right, or name another ledger with --ledger`;
  }
  return `${what} "${path}" cannot be written: ${error.message}`;
}
