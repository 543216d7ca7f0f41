/**
 * Reads and writes the mark of a store: the file `<store>.mark`, which contains the store's id and the last write of
 * each account. hsgate rejects a store that is empty, cut off or older than its mark, because such a store has lost
 * writes.
 *
 * @module
 */
import { messageOf } from "../errors.ts";
import { isMap } from "../foreign_values.ts";
import { replaceFile } from "../private_files.ts";
import { readRegularTextSync } from "../regular_files.ts";
import { StoreError } from "./store_error.ts";
import { shellHint } from "../shell_words.ts";

/** The last write of an account. */
export interface LastWrite {
  /** Number of the write on its account, counted from 1. */
  number: number;
  /** Key of its run; for a write without a run, the id of its intent. */
  run: string;
  step: string;
  /** When the step began or its write was recorded as sent, ISO 8601. */
  at: string;
}

/** Content of a mark file. */
export interface Mark {
  /** Id of the store. */
  store: string;
  /** Last writes by account. */
  lastWrites: Record<string, LastWrite>;
}

/** Size of the smallest SQLite page; no valid database is smaller. */
const LEAST_BYTES = 512;

/** Returns the path of a store's mark. Follows links, like SQLite does for its own files. */
export const markPath = (path: string): string => `${realPathOf(path)}.mark`;

/** Returns the path of a store with its links resolved, even if the linked file does not exist. */
export function realPathOf(path: string): string {
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
      return at; // not a link: the file itself does not exist
    }
    at = /^([/\\]|[A-Za-z]:)/.test(target) ? target : `${at.slice(0, at.lastIndexOf("/") + 1)}${target}`;
  }
  return at;
}

/** Maximum number of links that are followed; the limit of Linux. */
const MOST_LINKS = 40;

/**
 * Reads the mark of a store; returns `undefined` if it has none.
 *
 * @throws {StoreError} `unreadable-mark` if the file is not a valid mark.
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
    `Cannot use the store "${path}": its mark "${file}" is damaged, so hsgate cannot tell whether the store is complete; ${
      adviceFor(path)
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
  if (!isMap(value) || typeof value.store !== "string" || !isMap(value.lastWrites)) return undefined;
  const lastWrites: Record<string, LastWrite> = {};
  for (const [account, last] of Object.entries(value.lastWrites)) {
    if (!isMap(last)) return undefined;
    const { number, run, step, at } = last;
    if (!Number.isSafeInteger(number)) return undefined;
    lastWrites[account] = { number: Number(number), run: String(run), step: String(step), at: String(at) };
  }
  return { store: value.store, lastWrites };
}

/**
 * Writes the mark durably: syncs the file and its folder before it returns. Readers never see an incomplete mark.
 *
 * @throws {StoreError} `mark` if it cannot be written.
 */
export function writeMark(path: string, mark: Mark): void {
  const file = markPath(path);
  try {
    replaceFile(file, `${JSON.stringify(mark, undefined, 2)}\n`);
  } catch (error) {
    const reason = messageOf(error);
    throw new StoreError(`Cannot write the mark "${file}" of the store: ${reason}`, {
      code: "mark",
      cause: error,
    });
  }
}

/**
 * Returns why the files of a store have lost data; `undefined` if they may be complete. Call it before SQLite opens the
 * files.
 */
export function whyCutOff(path: string, mark: Mark | undefined): string | undefined {
  const size = sizeOf(path);
  const real = realPathOf(path);
  const wal = sizeOf(`${real}-wal`) ?? 0;
  if (size !== undefined && size >= LEAST_BYTES) return undefined;
  // If the file is missing or has at most 1 byte, SQLite would treat it as a new database and delete the data in the
  // "-wal" file.
  const file = size === undefined
    ? "the file is missing"
    : size === 0
    ? "the file is empty"
    : "the file is cut off";
  if (mark !== undefined) return `${file}, although ${describeMark(mark)}`;
  if (wal > 0) return `${file}, although "${real}-wal" still contains data of the store`;
  // SQLite creates these files only after the store has its first page.
  const beside = size === 0
    ? ["-wal", "-shm"].find((end) => sizeOf(`${real}${end}`) !== undefined)
    : undefined;
  if (beside !== undefined) return `${file}, although "${real}${beside}" shows that it was in use`;
  // SQLite treats files of 0 and 1 byte as new databases. For 2 to 511 bytes, it reports that the file is not a
  // database.
  return size === 1 ? `${file}: it has 1 byte` : undefined;
}

/**
 * Returns what a store lacks that its mark records; `undefined` if it lacks nothing.
 *
 * @param found The mark that would fit the store's current content.
 */
export function whyOlder(mark: Mark, found: Mark | undefined): string | undefined {
  if (found === undefined) return `it is older than its mark: ${describeMark(mark)}`;
  if (found.store !== mark.store) {
    return `it is not the store that its mark belongs to: ${describeMark(mark)}`;
  }
  for (const [account, last] of Object.entries(mark.lastWrites)) {
    const known = found.lastWrites[account]?.number ?? 0;
    if (known < last.number) {
      return `it is older than its mark: it contains ${known} of ${last.number} writes on account "${account}"; it ` +
        `lacks ${describeWrite(last)}`;
    }
  }
  return undefined;
}

function describeMark({ lastWrites }: Mark): string {
  const writes = Object.entries(lastWrites).map(([account, last]) =>
    `account "${account}" had ${last.number} ${last.number === 1 ? "write" : "writes"}, the last ${
      describeWrite(last)
    }`
  );
  return writes.length === 0
    ? "its mark records a store without writes"
    : `its mark records: ${writes.join("; ")}`;
}

const describeWrite = ({ run, step, at }: LastWrite) => `step "${step}" of ${run}, begun at ${at}`;

/** Returns the error for a store that lost data; `why` says how that was found. */
export function lostStore(path: string, why: string, hasMark: boolean): StoreError {
  const advice = hasMark
    ? adviceFor(path)
    : "replace the store with its newest copy, or move the remaining files elsewhere to start a new store";
  return new StoreError(`Cannot use the store "${path}": ${why}; ${advice}`, { code: "lost-store" });
}

const adviceFor = (path: string) =>
  "replace the store with its newest copy, or check the account's orders and continue without the lost data: " +
  `hsgate store accept --store ${shellHint(path)} --because "what you checked"`;

/**
 * Returns a warning about a store without a mark; `undefined` if the store has a mark or does not exist. A copy has no
 * mark, and neither does a store whose first start was interrupted.
 */
export function whyUnmarked(path: string): string | undefined {
  const size = sizeOf(path);
  if (size === undefined || sizeOf(markPath(path)) !== undefined) return undefined;
  const mark = `its mark "${markPath(path)}" is missing`;
  return size === 0
    ? `it is not a store: it is empty, and ${mark}. hsgate cannot tell whether it ever contained data; the next run starts a new store`
    : `${mark}: unless the store is a copy, hsgate cannot tell whether its latest writes are missing`;
}

/** Returns the size of a file in bytes; `undefined` if it does not exist. */
export function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
