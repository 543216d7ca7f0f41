/**
 * Defines the format of the calendar JSON files, and parses their days and hours.
 *
 * Days are grouped by year as `"MM-DD MM-DD"`, so that a year is one line in a review. Hours are written
 * `"09:30-12:00 13:00-16:00"`.
 *
 * @module
 */

/** Days by year: `{ "2025": "01-01 01-29" }`. */
export type DaysByYear = Record<string, string>;

/** One source's calendar of one exchange. */
export interface CalendarRecord {
  /** Market identifier code (ISO 10383). */
  mic: string;
  /** IANA time zone of the hours. */
  zone: string;
  /** First day that the record covers, weekends included. */
  from: string;
  /** Last day that the record covers. */
  through: string;
  /** Hours of an ordinary day. */
  regular: string;
  /** Weekdays without trading. Weekends never have trading, even if they are working days. */
  closed: DaysByYear;
  /** Hours of an announced half-day; `null` if the exchange has no half-days. */
  halfDay: string | null;
  /** Half-days. */
  halfDays: DaysByYear;
}

/** A file in `sources/`: the calendars of one source. */
export interface SourceFile {
  /** Name, snapshot and licence of the source. */
  source: string;
  calendars: CalendarRecord[];
}

/** A file in `data/`: the merged calendar of one exchange. */
export interface CalendarData extends CalendarRecord {
  /** Version of the data, `year.month.number`. */
  version: string;
  /** First day that is projected and not announced by the exchange. */
  projectedFrom?: string;
  /** Days shortened without notice, for example by weather, with their trading hours. */
  unplanned: Record<string, string>;
  /**
   * Where the days come from. In the built-in data: the two source files, then the pages that `rulings.json`
   * cites for its decisions about single days and rules.
   */
  sources: string[];
}

/** The file `data/CONNECT.json`: days on which both markets of Stock Connect traded and the link was closed. */
export interface ConnectData {
  mic: "CONNECT";
  /** Version of the data, `year.month.number`. */
  version: string;
  /** First day that the file covers. */
  from: string;
  /** First day from which the links are open whenever both markets are. */
  commonDaysFrom: string;
  /** Days without northbound trading, from Hong Kong to the mainland. */
  northbound: DaysByYear;
  /** Days without southbound trading, from the mainland to Hong Kong. */
  southbound: DaysByYear;
  /** Pages that contain the rule, and pages with lists for comparison. */
  sources: string[];
}

/** A period of continuous trading, local `"HH:MM"`. */
interface Stretch {
  from: string;
  to: string;
}

/** Returns a list of days: `{ "2025": "01-01 01-29" }` becomes `["2025-01-01", "2025-01-29"]`. */
export function listDays(days: DaysByYear): string[] {
  return Object.entries(days).flatMap(([year, list]) => list.split(" ").map((day) => `${year}-${day}`));
}

/** Returns days grouped by year, in order; the inverse of {@link listDays}. */
export function groupDays(days: Iterable<string>): DaysByYear {
  const byYear: DaysByYear = {};
  for (const day of [...days].sort()) {
    const year = day.slice(0, 4);
    byYear[year] = byYear[year] === undefined ? day.slice(5) : `${byYear[year]} ${day.slice(5)}`;
  }
  return byYear;
}

/** Returns the periods in a text of hours: `"09:30-12:00 13:00-16:00"` has two. */
export function readHours(hours: string): Stretch[] {
  return hours.split(" ").map((stretch) => ({ from: stretch.slice(0, 5), to: stretch.slice(6) }));
}

/** Compares versions, `year.month.number`, number by number. Returns a negative number if `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  // The array above has two versions, so `left` and `right` exist.
  for (const [place, number] of left!.entries()) {
    const other = right![place] ?? 0;
    if (number !== other) return number - other;
  }
  return 0;
}
