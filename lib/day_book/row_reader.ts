/**
 * Reads back the rows of a part, one after the other. Only needed when something does not add up.
 *
 * @module
 */
import { parse } from "@std/csv";
import { plainText } from "../csv_text.ts";
import type { AnyRow } from "./columns.ts";
import type { DayBookFormat } from "./types.ts";

const BLOCK_BYTES = 64 * 1024;

/** Yields the rows of a file that this room wrote; every value is text, and empty ones are left out. */
export function* readRows(path: string, form: DayBookFormat): Generator<AnyRow> {
  if (form === "jsonl") {
    for (const line of records(path, "\n", false)) yield JSON.parse(line) as AnyRow; // a row of ours
    return;
  }
  let names: string[] | undefined;
  for (const record of records(path, "\r\n", true)) {
    const [cells = []] = parse(record);
    if (names === undefined) names = cells;
    else yield rowOf(names, cells);
  }
}

function rowOf(names: readonly string[], cells: readonly string[]): AnyRow {
  const row: Record<string, string> = {};
  for (const [index, name] of names.entries()) if (cells[index]) row[name] = plainText(cells[index]);
  return row;
}

/** Splits a file at its line ends, except for those within quotes. */
function* records(path: string, end: string, quotes: boolean): Generator<string> {
  using file = Deno.openSync(path);
  const block = new Uint8Array(BLOCK_BYTES);
  const decoder = new TextDecoder();
  let [rest, open] = ["", ""];
  for (let count; (count = file.readSync(block)) !== null;) {
    const lines = (rest + decoder.decode(block.subarray(0, count), { stream: true })).split(end);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      open += line;
      if (quotes && open.split('"').length % 2 === 0) open += end; // a quote is still open
      else {
        yield open;
        open = "";
      }
    }
  }
}
