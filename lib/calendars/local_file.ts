/**
 * Parses and formats the local calendar file: calendar overrides, installed calendar updates, and the data that each
 * update replaced.
 *
 * @module
 */
import { InvalidParamsError } from "../errors.ts";
import { jsonFault, repeatedMember } from "../json_text.ts";
import { areHours, checkData, Faults, isWeekday, refuseFaults } from "./check_data.ts";
import { isDate, readInstant } from "../time.ts";
import { builtInData, calendarZone, type DataMic, type LocalCalendars, mics, type Override } from "./mod.ts";
import type { CalendarData } from "./records.ts";

/** The content of the file. */
export interface LocalFile extends LocalCalendars {
  overrides: Override[];
  calendars: Partial<Record<DataMic, CalendarData>>;
  /** The previously installed data, to undo an update. */
  previous: Partial<Record<DataMic, CalendarData>>;
}

/** Version of the file format. Other versions are rejected. */
const FORMAT = 1;

/** Returns an empty file. */
export const emptyLocalFile = (): LocalFile => ({ overrides: [], calendars: {}, previous: {} });

/** The markets that have their own data. */
// `builtInData` has each of them as a key, so the cast is safe.
export const dataMics = Object.keys(builtInData) as DataMic[];

/**
 * Parses the text of the file.
 *
 * @param file Name of the file, for messages.
 * @throws {InvalidParamsError} When the text is invalid. Lists the mistakes with their lines; for a text that is not
 * JSON, or that names a member twice, only the first mistake.
 */
export async function parseLocalFile(text: string, file: string): Promise<LocalFile> {
  const content = parseJson(text, file);
  const faults = new Faults();
  const local = emptyLocalFile();
  const members = faults.members(content, [], ["format", "overrides", "calendars", "previous"]);
  if (members !== undefined) {
    if (members.format !== FORMAT) faults.add(["format"], members.format, `${FORMAT}`);
    readOverrides(members.overrides ?? [], faults, local);
    for (const key of ["calendars", "previous"] as const) {
      const markets = faults.members(members[key] ?? {}, [key], dataMics);
      for (const [name, value] of Object.entries(markets ?? {})) {
        const mic = dataMics.find((each) => each === name);
        const data = checkData(value, faults, [key, name]);
        if (mic === undefined || data === undefined) continue;
        // The data is used for the market under whose name it is stored. `mic` and `zone` must agree with this name,
        // because they are what a person sees.
        if (data.mic !== mic) faults.add([key, name, "mic"], data.mic, `"${mic}"`);
        if (data.zone !== calendarZone[mic]) {
          faults.add([key, name, "zone"], data.zone, `"${calendarZone[mic]}"`);
        }
        local[key][mic] = data;
      }
    }
  }
  await refuseFaults(faults, { text, file });
  return local;
}

/**
 * Parses JSON.
 *
 * @throws {InvalidParamsError} If the text is not JSON, or names a member twice. For text that is not JSON, the error
 * names the line.
 */
export function parseJson(text: string, file: string): unknown {
  const fail = (path: string, value: unknown, expected: string) =>
    new InvalidParamsError(`read "${file}"`, [{ path: [path], value, expected }], { code: "calendars" });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const line = text.slice(0, jsonFault(text)?.offset).split("\n").length;
    throw fail(`${file}:${line}`, text.split("\n")[line - 1]?.trim(), "JSON");
  }
  const twice = repeatedMember(text);
  if (twice !== undefined) throw fail(file, twice, "each member once");
  return value;
}

function readOverrides(list: unknown, faults: Faults, local: LocalFile): void {
  if (!Array.isArray(list)) return faults.add(["overrides"], list, "a list");
  const seen = new Set<string>();
  for (const [index, each] of list.entries()) {
    const path = ["overrides", index];
    const line = faults.members(each, path, ["mic", "date", "hours", "halfDay", "because", "setAt"]);
    if (line === undefined) continue;
    const before = faults.issues.length;
    const need = (key: string, fits: (given: unknown) => boolean, expected: string) => {
      if (!fits(line[key])) faults.add([...path, key], line[key], expected);
    };
    need("mic", (mic) => mics.some((name) => name === mic), `one of ${mics.join(", ")}`);
    need("date", (date) => isDate(date) && isWeekday(date), "a weekday that exists");
    need(
      "hours",
      (hours) => hours === "closed" || hours === "open" || areHours(hours),
      '"closed", "open" or hours, such as "09:30-12:00 13:00-15:00"',
    );
    need("halfDay", (short) => short === undefined || typeof short === "boolean", "true, or no value");
    need("because", (why) => typeof why === "string" && why.trim() !== "", "the reason");
    need("setAt", (at) => typeof at === "string" && readInstant(at) !== undefined, "a time with its offset");
    const name = `${line.mic} ${line.date}`;
    if (seen.has(name)) faults.add([...path, "date"], line.date, `only one entry for ${name}`);
    seen.add(name);
    // Every member has been checked above, so the cast is safe.
    if (faults.issues.length === before) local.overrides.push(line as unknown as Override);
  }
}

/** Returns the text of the file, with the overrides in order of date and market. */
export function formatLocalFile({ overrides, calendars, previous }: LocalFile): string {
  const sorted = overrides.toSorted((a, b) => `${a.date} ${a.mic}` < `${b.date} ${b.mic}` ? -1 : 1);
  return `${JSON.stringify({ format: FORMAT, overrides: sorted, calendars, previous }, null, 2)}\n`;
}
