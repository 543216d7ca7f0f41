/**
 * Checks the files beside a SQLite database before SQLite opens the database. SQLite trusts them: it writes through
 * a link named `-wal`, and deletes any file that a rollback journal names as its super-journal.
 *
 * @module
 */
import { realPathOf } from "./mark.ts";
import { StoreError } from "./store_error.ts";

/**
 * Limits of a database. A file from somebody else may contain a text of more than 512 MiB. The runtime would end the
 * whole process when it reads such a text. With this limit, SQLite reports an error instead.
 */
export const LIMITED = { limits: { length: 500_000_000 } }; // the types of the runtime do not list this option yet

/** Endings of the files that SQLite keeps beside a database. */
export const DATABASE_SIDE_FILES = ["-wal", "-shm", "-journal"] as const;

/** The last eight bytes of a journal that names a super-journal. */
const SUPER_JOURNAL = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/**
 * Returns why SQLite must not open a database because of a file beside it; `undefined` if SQLite may open it. Opens
 * only the rollback journal.
 *
 * @param path Path of the database, which need not exist.
 */
export function distrustBeside(path: string): string | undefined {
  const real = realPathOf(path);
  for (const ending of DATABASE_SIDE_FILES) {
    const file = `${real}${ending}`;
    const why = whyNotPlain(file);
    if (why !== undefined) return `"${file}" beside it: ${why}; remove that file if you did not create it`;
  }
  return namesSuperJournal(`${real}-journal`)
    ? `"${real}-journal" beside it names another file, which SQLite would delete; hsgate creates no such journal; ` +
      "remove that journal if you did not create it"
    : undefined;
}

/**
 * Checks the files beside a database.
 *
 * @throws {StoreError} If SQLite must not open the database because of one of these files.
 */
export function checkBeside(path: string): void {
  const why = distrustBeside(path);
  if (why !== undefined) throw new StoreError(`Cannot use the store "${path}": ${why}`, { code: "link" });
}

/** Returns why a file is not a separate regular file; `undefined` if it is one, or does not exist. */
function whyNotPlain(path: string): string | undefined {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
  if (info.isSymlink) return "it is a symbolic link, and SQLite would write to its target";
  if (!info.isFile) return "it is not a regular file";
  return (info.nlink ?? 1) > 1
    ? "it is a hard link to another file, and SQLite would write to it"
    : undefined;
}

function namesSuperJournal(path: string): boolean {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
  using _file = file;
  const { size } = file.statSync();
  if (size < SUPER_JOURNAL.length) return false;
  const end = new Uint8Array(SUPER_JOURNAL.length);
  file.seekSync(size - end.length, Deno.SeekMode.Start);
  for (let done = 0, count; done < end.length; done += count) {
    count = file.readSync(end.subarray(done)) ?? 0;
    if (count === 0) return false; // another process has just shortened the file, so it names no super-journal
  }
  return SUPER_JOURNAL.every((byte, index) => end[index] === byte);
}
