/**
 * Whether the data of a market that somebody hands in can be right: its form, and days that make sense.
 *
 * @module
 */
import type { Issue } from "../errors.ts";
import type { Faults } from "./json_lines.ts";
import type { CalendarData } from "./records.ts";

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

/** Fewest and most weekdays that an exchange is closed in a whole year; the held years have 9 to 20. */
const [FEWEST_CLOSED, MOST_CLOSED] = [6, 30];

/** Tells whether a text is a day that exists, `"2025-08-15"`. */
export function isDate(text: unknown): text is string {
  return typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) &&
    !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) &&
    new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

/** Tells whether a day that exists is a weekday. */
export const isWeekday = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek <= 5;

/** Tells whether a text is hours, `"09:30-12:00 13:00-16:00"`, each stretch after the one before. */
export function areHours(text: unknown): text is string {
  if (typeof text !== "string" || !/^\d{2}:\d{2}-\d{2}:\d{2}( \d{2}:\d{2}-\d{2}:\d{2})*$/.test(text)) {
    return false;
  }
  const times = text.split(/[- ]/);
  return times.every((time, index) =>
    /^([01]\d|2[0-3]):[0-5]\d$/.test(time) && (index === 0 || time > times[index - 1]!)
  );
}

/** Tells whether a text is a version, `"2026.11.2"`. */
export const isVersion = (text: unknown): text is string =>
  typeof text === "string" && /^20\d{2}\.\d{1,2}\.\d{1,4}$/.test(text);

/** Checks data of a market and returns it when nothing is wrong. */
export function checkData(
  value: unknown,
  faults: Faults,
  path: Issue["path"] = [],
): CalendarData | undefined {
  const start = faults.issues.length;
  const data = faults.members(value, path, KEYS);
  if (data === undefined) return undefined;
  const before = faults.issues.length; // an unknown member keeps nobody from looking at the others
  const need = (key: string, fits: (given: unknown) => boolean, expected: string) => {
    if (!fits(data[key])) faults.add([...path, key], data[key], expected);
  };
  need("mic", (mic) => typeof mic === "string" && mic !== "", 'the name of the market, such as "XHKG"');
  need("version", isVersion, 'year.month.number, such as "2026.12.1"');
  need("zone", (zone) => typeof zone === "string" && zone !== "", 'a time zone, such as "Asia/Hong_Kong"');
  need("from", isDate, "a day that exists");
  need("through", isDate, "a day that exists");
  need("projectedFrom", (day) => day === undefined || isDate(day), "a day that exists, or nothing");
  need("regular", areHours, 'hours, such as "09:30-12:00 13:00-16:00"');
  need("halfDay", (hours) => hours === null || areHours(hours), 'hours, such as "09:30-12:00", or null');
  const isSource = (text: unknown) => typeof text === "string" && text.trim() !== "";
  need(
    "sources",
    (list) => Array.isArray(list) && list.length > 0 && list.every(isSource),
    "a list of where the days come from",
  );
  if (faults.issues.length > before) return undefined;
  // Each of these has just been checked.
  const { from, through, projectedFrom } = data as unknown as CalendarData;
  if (from > through) faults.add([...path, "through"], through, `a day after ${from}`);
  if (projectedFrom !== undefined && (projectedFrom <= from || projectedFrom > through)) {
    faults.add([...path, "projectedFrom"], projectedFrom, `a day between ${from} and ${through}`);
  }
  const span = { from, through };
  const closed = daysOf(data.closed, faults, [...path, "closed"], span);
  const halfDays = daysOf(data.halfDays, faults, [...path, "halfDays"], span);
  if (data.halfDay === null && halfDays.size > 0) {
    faults.add([...path, "halfDay"], null, "the hours of half-days, as there are some");
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

/** Reads days by year, and notes those that are no weekdays, stand there twice, or lie outside. */
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
      if (!isDate(date)) faults.add(at, day, "a day that exists, month and day");
      else if (!isWeekday(date)) {
        faults.add(at, date, "a weekday: no exchange here trades on weekends anyway");
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

/** A year of which the list was forgotten, or stands under another, has no or too many days. */
function checkYears(
  closed: ReadonlySet<string>,
  faults: Faults,
  path: Issue["path"],
  { from, through }: Span,
): void {
  for (let year = Number(from.slice(0, 4)); year <= Number(through.slice(0, 4)); year++) {
    // The first trading day stands for the first of January, which is a holiday everywhere.
    if (from > `${year}-01-02` || through < `${year}-12-31`) continue;
    const count = [...closed].filter((date) => date.startsWith(String(year))).length;
    if (count < FEWEST_CLOSED || count > MOST_CLOSED) {
      const expected = `${FEWEST_CLOSED} to ${MOST_CLOSED} closed weekdays in ${year}`;
      faults.add([...path, String(year)], `${count} of them`, expected);
    }
  }
}
