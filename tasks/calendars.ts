// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Builds `lib/calendars/data/*.json` from the two sources and the rulings. Fails if the sources differ without a
 * ruling, if a ruling is unused or contains impossible values, or if a published list of Stock Connect days differs
 * from the rule. With `--check` it writes nothing, and fails if the files differ from what it would write.
 *
 * Run: `deno run --allow-read=lib/calendars --allow-write=lib/calendars/data tasks/calendars.ts [--check]`
 *
 * @module
 */
import { readBook } from "../lib/calendars/book.ts";
import { checkData, Faults } from "../lib/calendars/check_data.ts";
import { type ConnectFile, makeConnect } from "./calendars/connect_rule.ts";
import { mergeCalendars, type RulingFile } from "./calendars/merge.ts";
import type { SourceFile } from "../lib/calendars/records.ts";

const CALENDARS_FOLDER = new URL("../lib/calendars/", import.meta.url);
const SOURCES = ["exchange_calendars", "pandas_market_calendars"];

const readText = (path: string): string => Deno.readTextFileSync(new URL(path, CALENDARS_FOLDER));

/** Returns the text of a file. Returns an empty text for a missing file, which then counts as not up to date. */
function readOrEmpty(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

function main(check: boolean): number {
  const sources = SOURCES.map((name): [string, SourceFile] => [
    name,
    JSON.parse(readText(`sources/${name}.json`)),
  ]);
  const rulings: RulingFile = JSON.parse(readText("rulings.json"));
  const { data, problems } = mergeCalendars(Object.fromEntries(sources), rulings);
  const faults = new Faults();
  for (const [mic, calendar] of Object.entries(data)) checkData(calendar, faults, [mic]);
  problems.push(
    ...faults.issues.map(({ path, value, expected }) =>
      `${path.join(".")}: expected ${expected}, got "${value}"`
    ),
  );
  const files: Record<string, unknown> = { ...data };
  const { XHKG, XSHG } = data;
  // The Stock Connect rule needs correct days of both markets.
  if (problems.length === 0 && XHKG !== undefined && XSHG !== undefined) {
    const connectFile: ConnectFile = JSON.parse(readText("connect.json"));
    const connect = makeConnect(connectFile, {
      hongKong: readBook(XHKG),
      mainland: readBook(XSHG),
      version: rulings.version,
    });
    files.CONNECT = connect.data;
    problems.push(...connect.problems);
  }
  if (problems.length > 0) {
    console.error(`Cannot build the calendars:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    return 1;
  }
  let stale = 0;
  for (const [mic, calendar] of Object.entries(files)) {
    const path = `data/${mic}.json`;
    const text = `${JSON.stringify(calendar, null, 2)}\n`;
    if (readOrEmpty(path) === text) continue;
    stale += 1;
    console.error(check ? `Not up to date: lib/calendars/${path}` : `Wrote lib/calendars/${path}`);
    if (!check) Deno.writeTextFileSync(new URL(path, CALENDARS_FOLDER), text);
  }
  return check && stale > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(main(Deno.args.includes("--check")));
