/**
 * Checks calendar data that a user provides: its format, and whether its days are plausible. Reports mistakes in
 * hand-written JSON with their line numbers.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";
import type { CalendarData } from "./records.ts";
import { lazily } from "../lazy.ts";
import { isDate } from "../time.ts";

const loadYaml = lazily(() => import("yaml"));

const KEYS = [
  "mic",
  "version",
  "zone",
  "from",
  "through",
  "projectedFrom",
  "regular",
  "closed",
  "halfDay",
  "halfDays",
  "unplanned",
  "sources",
];

/** Minimum and maximum number of closed weekdays in a whole year. The years in our data have 9 to 20. */
const [FEWEST_CLOSED, MOST_CLOSED] = [6, 30];

/** Maximum number of years that data covers. Two calendars are compared day by day, so each year takes time. */
const MOST_YEARS = 50;

/** Returns whether an existing date is a weekday. */
export const isWeekday = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek <= 5;

/** Returns whether a value is a list of hours in order, such as `"09:30-12:00 13:00-16:00"`. */
export function areHours(text: unknown): text is string {
  if (typeof text !== "string" || !/^\d{2}:\d{2}-\d{2}:\d{2}( \d{2}:\d{2}-\d{2}:\d{2})*$/.test(text)) {
    return false;
  }
  const times = text.split(/[- ]/);
  return times.every((time, index) =>
    /^([01]\d|2[0-3]):[0-5]\d$/.test(time) && (index === 0 || time > times[index - 1]!)
  );
}

/** Returns whether a value is a version such as `"2026.11.2"`. */
const isVersion = (text: unknown): text is string =>
  typeof text === "string" && /^20\d{2}\.\d{1,2}\.\d{1,4}$/.test(text);

/** Checks the data of a market, and adds each mistake to `faults`. Returns the data; `undefined` if it is invalid. */
export function checkData(
  value: unknown,
  faults: Faults,
  path: Issue["path"] = [],
): CalendarData | undefined {
  const start = faults.issues.length;
  const data = faults.members(value, path, KEYS);
  if (data === undefined) return undefined;
  const before = faults.issues.length; // unknown members, which do not stop the checks below
  const need = (key: string, fits: (given: unknown) => boolean, expected: string) => {
    if (!fits(data[key])) faults.add([...path, key], data[key], expected);
  };
  need("mic", (mic) => typeof mic === "string" && mic !== "", 'the name of the market, such as "XHKG"');
  need("version", isVersion, 'year.month.number, such as "2026.12.1"');
  need("zone", (zone) => typeof zone === "string" && zone !== "", 'a time zone, such as "Asia/Hong_Kong"');
  need("from", isDate, "a date that exists");
  need("through", isDate, "a date that exists");
  need("projectedFrom", (day) => day === undefined || isDate(day), "a date that exists, or no value");
  need("regular", areHours, 'hours, such as "09:30-12:00 13:00-16:00"');
  need("halfDay", (hours) => hours === null || areHours(hours), 'hours, such as "09:30-12:00", or null');
  const isSource = (text: unknown) => typeof text === "string" && text.trim() !== "";
  need(
    "sources",
    (list) => Array.isArray(list) && list.length > 0 && list.every(isSource),
    "a list of the sources of the days",
  );
  if (faults.issues.length > before) return undefined;
  // Each of these members has been checked above, so the cast is safe.
  const { from, through, projectedFrom } = data as unknown as CalendarData;
  if (from > through) faults.add([...path, "through"], through, `${from} or a later day`);
  const years = Number(through.slice(0, 4)) - Number(from.slice(0, 4));
  if (years > MOST_YEARS) {
    faults.add([...path, "through"], through, `a day at most ${MOST_YEARS} years after ${from}`);
  }
  if (projectedFrom !== undefined && (projectedFrom <= from || projectedFrom > through)) {
    faults.add([...path, "projectedFrom"], projectedFrom, `a day after ${from} and at the latest ${through}`);
  }
  const span = { from, through };
  const closed = daysOf(data.closed, faults, [...path, "closed"], span);
  const halfDays = daysOf(data.halfDays, faults, [...path, "halfDays"], span);
  if (data.halfDay === null && halfDays.size > 0) {
    faults.add([...path, "halfDay"], null, "the hours of half-days, because half-days are listed");
  }
  for (const date of halfDays) {
    if (closed.has(date)) {
      faults.add([...path, "halfDays", date.slice(0, 4)], date, "a day that is not closed");
    }
  }
  checkUnplanned(data.unplanned, faults, [...path, "unplanned"], { ...span, closed });
  checkYears(closed, faults, [...path, "closed"], span);
  return faults.issues.length > start ? undefined : data as unknown as CalendarData;
}

interface Span {
  from: string;
  through: string;
}

/**
 * Returns the dates in a map from years to days. Reports dates that do not exist, and days that are not weekdays, not
 * in order, or outside the range.
 */
function daysOf(value: unknown, faults: Faults, path: Issue["path"], { from, through }: Span): Set<string> {
  const days = new Set<string>();
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    faults.add(path, value, 'days by year, such as { "2026": "01-01 02-17" }');
    return days;
  }
  for (const [year, list] of Object.entries(value)) {
    const at = [...path, year];
    if (!/^\d{4}$/.test(year) || typeof list !== "string" || list === "") {
      faults.add(at, list, 'a year with its days, such as "01-01 02-17"');
      continue;
    }
    let last = "";
    for (const day of list.split(" ")) {
      const date = `${year}-${day}`;
      if (!isDate(date)) faults.add(at, day, "month and day of a date that exists");
      else if (!isWeekday(date)) {
        faults.add(at, date, "a weekday: these exchanges never trade on weekends");
      } else if (date < from || date > through) faults.add(at, date, `a day from ${from} to ${through}`);
      else if (date <= last) faults.add(at, day, "days in order, each once");
      else last = date;
      days.add(date);
    }
  }
  return days;
}

function checkUnplanned(
  value: unknown,
  faults: Faults,
  path: Issue["path"],
  { from, through, closed }: Span & { closed: ReadonlySet<string> },
): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    faults.add(path, value, 'days with their hours, such as { "2023-10-09": "14:00-16:00" }');
    return;
  }
  for (const [date, hours] of Object.entries(value)) {
    const at = [...path, date];
    if (!isDate(date) || !isWeekday(date) || date < from || date > through) {
      faults.add(at, date, `a weekday from ${from} to ${through}`);
    } else if (closed.has(date)) faults.add(at, date, "a day that is not closed");
    else if (!areHours(hours)) faults.add(at, hours, 'hours, such as "14:00-16:00"');
  }
}

/** Reports years with too few or too many closed days: somebody may have omitted a year, or merged two years. */
function checkYears(
  closed: ReadonlySet<string>,
  faults: Faults,
  path: Issue["path"],
  { from, through }: Span,
): void {
  const byYear = Map.groupBy(closed, (date) => date.slice(0, 4));
  for (let number = Number(from.slice(0, 4)); number <= Number(through.slice(0, 4)); number++) {
    const year = String(number).padStart(4, "0");
    // Data that begins on 2 January still covers the whole year, because 1 January is a holiday everywhere.
    if (from > `${year}-01-02` || through < `${year}-12-31`) continue;
    const count = byYear.get(year)?.length ?? 0;
    if (count < FEWEST_CLOSED || count > MOST_CLOSED) {
      const expected = `${FEWEST_CLOSED} to ${MOST_CLOSED} closed weekdays in ${year}`;
      faults.add([...path, year], `${count} closed weekdays`, expected);
    }
  }
}

/** Collects the mistakes in a value, by path. */
export class Faults {
  readonly issues: Issue[] = [];

  /** Adds a mistake. */
  add(path: Issue["path"], value: unknown, expected: string): void {
    this.issues.push({ path, value, expected });
  }

  /**
   * Returns a copy of an object, and adds a mistake for each unknown member. For a value that is not an object, adds a
   * mistake and returns `undefined`.
   */
  members(
    value: unknown,
    path: Issue["path"],
    known: readonly string[],
  ): Record<string, unknown> | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.add(path, value, `an object with ${known.join(", ")}`);
      return undefined;
    }
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) this.add([...path, key], key, `one of ${known.join(", ")}`);
    }
    return { ...value };
  }
}

/** Maximum length of a text whose mistakes get line numbers, in characters: parsing a longer text takes seconds. */
const MOST_WITH_LINES = 256 * 1024;
/** Maximum number of mistakes that get a line number. An error lists at most this many mistakes. */
const MOST_LINES = 200;

/** Throws an error with all mistakes, if there are any. The first {@linkcode MOST_LINES} have line numbers. */
export async function refuseFaults(
  faults: Faults,
  { text, file }: { text: string; file: string },
): Promise<void> {
  if (faults.issues.length === 0) return;
  const lineOf = text.length > MOST_WITH_LINES ? () => undefined : await linesIn(text);
  const issues = faults.issues.map(({ path, ...rest }, index) => {
    const line = index < MOST_LINES ? lineOf(path) : undefined;
    const place = line === undefined ? file : `${file}:${line}`;
    return { ...rest, path: [`${place}: ${path.length === 0 ? "the file" : path.join(".")}`] };
  });
  throw new InvalidParamsError(`use "${file}"`, issues, { code: "calendars" });
}

/**
 * Returns a function that returns the line of a member in a JSON text. For an absent member, it returns the line of the
 * nearest record or list that should contain the member.
 */
async function linesIn(text: string): Promise<(path: Issue["path"]) => number> {
  const { LineCounter, parseDocument } = await loadYaml(); // also parses JSON, and keeps the positions
  const lineCounter = new LineCounter();
  // Without `uniqueKeys`, because its check compares each name of a map with all others and is slow.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, prettyErrors: false });
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      const range = typeof node === "object" && node !== null && "range" in node ? node.range : undefined;
      if (Array.isArray(range)) return lineCounter.linePos(Number(range[0])).line;
    }
    return 1;
  };
}
