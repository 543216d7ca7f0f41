/**
 * Reads the symbols of orders from the file of a store, to complete command lines. The file may come from somebody
 * else. So it is opened only for reading, and only a limited part of it is read.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { distrustBeside } from "./distrust.ts";
import { tablesIn } from "./read_only.ts";

/** Maximum number of order writes that are read, newest first. */
const MOST_INTENTS = 500;
/** Number of characters that are read from the start of an order write's parameters. */
const MOST_PARAMS = 10_000;
/** Longest text that SQLite reads, bytes. With a longer one, the file is not a store as hsgate writes it. */
const MOST_TEXT = 10_000_000;

/**
 * Returns the symbols of order writes, each once, newest first. Empty if the path is not a regular file, if SQLite must
 * not open it because of a file beside it, or if its tables are not exactly those of this program. Other tables could
 * contain a computed column, which could run forever.
 *
 * @throws If the path does not exist, if the file is not a readable database, or if another process has locked it.
 */
export function symbolsOfStore(path: string): string[] {
  // The store and the files beside it must be regular files: opening a pipe would wait for its other end.
  if (!Deno.lstatSync(path).isFile || distrustBeside(path) !== undefined) return [];
  const options = { limits: { length: MOST_TEXT }, readOnly: true, timeout: 0, allowExtension: false };
  using db = new DatabaseSync(path, options); // the types of the runtime do not list `limits` yet
  if (tablesIn(db) !== "own") return [];
  // The order of the rows, because sorting would read the whole table.
  const rows = db.prepare("select substr(params, 1, ?) as params from intent order by rowid desc limit ?")
    .all(MOST_PARAMS, MOST_INTENTS);
  const symbols = rows.map(({ params }) => /"symbol":"([A-Z0-9.]{1,30})"/.exec(String(params))?.[1]);
  return [...new Set(symbols.filter((symbol) => symbol !== undefined))];
}
