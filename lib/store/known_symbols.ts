/**
 * Reads the symbols of orders from the file of a store, for the completion of command lines. The file may be somebody
 * else's, so this opens it only for reading, changes and locks nothing, and bounds what it reads.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";

/** Newest order writes that are read. */
const MOST_INTENTS = 500;
/** Longest parameters of an order write, characters. */
const MOST_PARAMS = 10_000;

/**
 * Returns the symbols of the newest order writes, each once, newest first.
 *
 * @throws If the file is not a readable store, or another process locks it.
 */
export function symbolsOfStore(path: string): string[] {
  // Opening a pipe would wait for its other end.
  if (!Deno.lstatSync(path).isFile) return [];
  using db = new DatabaseSync(path, { readOnly: true, timeout: 0, allowExtension: false });
  // A view of this name could compute for ever.
  const kind = db.prepare("select type from sqlite_schema where name = 'intent'").get();
  if (kind?.type !== "table") return [];
  const rows = db.prepare(
    "select substr(params, 1, ?) as params from intent order by id desc limit ?",
  ).all(MOST_PARAMS, MOST_INTENTS);
  const symbols = rows.map(({ params }) => /"symbol":"([A-Z0-9.]{1,30})"/.exec(String(params))?.[1]);
  return [...new Set(symbols.filter((symbol) => symbol !== undefined))];
}
