/**
 * The mark beside a store, `<store>.mark`: which store it is, and the last write of each account. A store that is
 * empty, cut off or older than its mark has lost writes, and is refused.
 *
 * @module
 */
import { replaceFile } from "../private_files.ts";
import { readRegularTextSync } from "../regular_files.ts";
import { StoreError } from "./store_error.ts";
import { shellHint } from "../shell_words.ts";

/** The last write of an account. */
export interface LastWrite {
  /** Counts the writes of the account, from 1. */
  number: number;
  /** Key of its run. */
  run: string;
  step: string;
  /** When the step began, in ISO 8601. */
  at: string;
}

/** What a mark says. */
export interface Mark {
  /** Id of the store. */
  store: string;
  /** By account. */
  lastWrites: Record<string, LastWrite>;
}

/** No SQLite database is smaller than its smallest page. */
const LEAST_BYTES = 512;

/** The file of a store's mark. Links are followed, as SQLite follows them for its own files. */
export const markPath = (path: string): string => `${realPathOf(path)}.mark`;

/** The path of a store without links, also where the file that they lead to is gone. */
function realPathOf(path: string): string {
  let at = path;
  for (let links = MOST_LINKS; links > 0; links--) {
    try {
      return Deno.realPathSync(at);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    let target: string;
    try {
      target = Deno.readLinkSync(at);
    } catch {
      return at; // no link: the file itself is not there
    }
    at = /^([/\\]|[A-Za-z]:)/.test(target) ? target : `${at.slice(0, at.lastIndexOf("/") + 1)}${target}`;
  }
  return at;
}

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/**
 * Reads the mark of a store; nothing when it has none.
 *
 * @throws {StoreError} `unreadable-mark` when the file is no mark.
 */
export function readMark(path: string): Mark | undefined {
  const file = markPath(path);
  let text: string;
  try {
    text = readRegularTextSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const mark = parseMark(text);
  if (mark !== undefined) return mark;
  throw new StoreError(
    `Cannot use the store "${path}": its mark "${file}" is damaged, so nothing shows whether the store is whole; ${
      wayOn(path)
    }`,
    { code: "unreadable-mark" },
  );
}

function parseMark(text: string): Mark | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || typeof value.store !== "string" || !isRecord(value.lastWrites)) return undefined;
  const lastWrites: Record<string, LastWrite> = {};
  for (const [account, last] of Object.entries(value.lastWrites)) {
    if (!isRecord(last)) return undefined;
    const { number, run, step, at } = last;
    if (!Number.isSafeInteger(number)) return undefined;
    lastWrites[account] = { number: Number(number), run: String(run), step: String(step), at: String(at) };
  }
  return { store: value.store, lastWrites };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Writes the mark durably: file and folder are synced before this returns, and no reader sees half of it.
 *
 * @throws {StoreError} `mark` when it cannot be written.
 */
export function writeMark(path: string, mark: Mark): void {
  const file = markPath(path);
  try {
    replaceFile(file, `${JSON.stringify(mark, undefined, 2)}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new StoreError(`Cannot write the mark "${file}" of the store: ${reason}`, {
      code: "mark",
      cause: error,
    });
  }
}

/** Says why the files of a store cannot be what they were, before SQLite opens them; nothing when they may be. */
export function whyCutOff(path: string, mark: Mark | undefined): string | undefined {
  const size = sizeOf(path);
  const real = realPathOf(path);
  const wal = sizeOf(`${real}-wal`) ?? 0;
  if (size !== undefined && size >= LEAST_BYTES) return undefined;
  // SQLite itself would take such a file for a new database, and delete what waits in the "-wal".
  const file = size === undefined
    ? "the file is gone"
    : size === 0
    ? "the file is empty"
    : "the file is cut off";
  if (mark !== undefined) return `${file}, though ${tellMark(mark)}`;
  if (wal > 0) return `${file}, though "${real}-wal" holds data of it`;
  // SQLite makes these files when the store itself has its first page already.
  const beside = size === 0
    ? ["-wal", "-shm"].find((end) => sizeOf(`${real}${end}`) !== undefined)
    : undefined;
  if (beside !== undefined) return `${file}, though "${real}${beside}" shows that it was in use`;
  // Of any other size SQLite says itself that it is no database.
  return size === 1 ? `${file}: it has 1 byte` : undefined;
}

/** Says what a store lacks that its mark names; nothing when it has everything. */
export function whyOlder(mark: Mark, found: Mark | undefined): string | undefined {
  if (found === undefined) return `it is older than its mark: ${tellMark(mark)}`;
  if (found.store !== mark.store) return `it is not the store that its mark belongs to: ${tellMark(mark)}`;
  for (const [account, last] of Object.entries(mark.lastWrites)) {
    const known = found.lastWrites[account]?.number ?? 0;
    if (known < last.number) {
      return `it is older than its mark: it knows ${known} of ${last.number} writes on account "${account}", and ` +
        `lacks ${tellWrite(last)}`;
    }
  }
  return undefined;
}

function tellMark({ lastWrites }: Mark): string {
  const writes = Object.entries(lastWrites).map(([account, last]) =>
    `account "${account}" had ${last.number} ${last.number === 1 ? "write" : "writes"}, the last ${
      tellWrite(last)
    }`
  );
  return writes.length === 0
    ? "its mark says that there was a store, without a write so far"
    : `by its mark ${writes.join("; ")}`;
}

const tellWrite = ({ run, step, at }: LastWrite) => `step "${step}" of ${run}, begun at ${at}`;

/** The error for a store that lost what its mark names, or that its files show to be cut off. */
export function lostStore(path: string, why: string, hasMark: boolean): StoreError {
  const way = hasMark
    ? wayOn(path)
    : "put the newest copy in its place, or move what is left of it elsewhere to begin a new one";
  return new StoreError(`Cannot use the store "${path}": ${why}; ${way}`, { code: "lost-store" });
}

const wayOn = (path: string) =>
  "put the newest copy in its place, or look at the account's orders and go on without what is lost: " +
  `hsgate store accept --store ${shellHint(path)} --because "what you saw"`;

/**
 * Says what nobody can know of a store that has no mark; nothing when it has one, or is not there. Copies have none, and
 * neither has a store whose first start was broken off.
 */
export function whyUnmarked(path: string): string | undefined {
  const size = sizeOf(path);
  if (size === undefined || sizeOf(markPath(path)) !== undefined) return undefined;
  const mark = `its mark "${markPath(path)}" is missing`;
  return size === 0
    ? `it is no store: it is empty, and ${mark}: nothing shows whether anything was in it, and the next run begins a new one`
    : `${mark}: nothing shows whether it lacks its latest writes, unless it is a copy`;
}

/** Size of a file in bytes; nothing when it is not there. */
export function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
