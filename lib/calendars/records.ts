/**
 * How trading days are written down in this room's JSON files, and how to read them.
 *
 * Days are grouped by year as `"MM-DD MM-DD"`, and hours are written `"09:30-12:00 13:00-16:00"`, so that
 * a year's notice is one line in a review.
 *
 * @module
 */

/** Days by year: `{ "2025": "01-01 01-29" }`. */
export type DaysByYear = Record<string, string>;

/** What one source says of one exchange. */
export interface CalendarRecord {
  /** Market identifier code (ISO 10383). */
  mic: string;
  /** IANA time zone of the hours. */
  zone: string;
  /** First day that the record speaks of, weekends included. */
  from: string;
  /** Last day that the record speaks of. */
  through: string;
  /** Hours of an ordinary day. */
  regular: string;
  /** Weekdays without trading. Weekends are never trading days, make-up working days included. */
  closed: DaysByYear;
  /** Hours of a day that was announced as short; `null` when the exchange has none. */
  halfDay: string | null;
  /** Days with those hours. */
  halfDays: DaysByYear;
}

/** One source as it is held in `sources/`. */
export interface SourceFile {
  /** Name, snapshot and licence. */
  source: string;
  calendars: CalendarRecord[];
}

/** What is settled for one exchange, as it is held in `data/`. */
export interface CalendarData extends CalendarRecord {
  /** Version of the data, `year.month.number`. */
  version: string;
  /** First day that rests on a projection instead of the exchange's notice. */
  projectedFrom?: string;
  /** Days cut short by weather, with the hours that were traded. */
  unplanned: Record<string, string>;
  /** Where the record comes from, sources first, then the pages that settled a dispute. */
  sources: string[];
}

/** Days on which both markets of Stock Connect traded and the link did not, as held in `data/CONNECT.json`. */
export interface ConnectData {
  mic: "CONNECT";
  /** Version of the data, `year.month.number`. */
  version: string;
  /** First day that it speaks of. */
  from: string;
  /** First day from which the links are open whenever both markets are. */
  commonDaysFrom: string;
  /** Days without northbound trading, from Hong Kong to the mainland. */
  northbound: DaysByYear;
  /** Days without southbound trading, from the mainland to Hong Kong. */
  southbound: DaysByYear;
  /** Pages that give the rule, and those that its days were compared with. */
  sources: string[];
}

/** One traded stretch of a day, local `"HH:MM"`. */
export interface Stretch {
  from: string;
  to: string;
}

/** Spells days out: `{ "2025": "01-01 01-29" }` becomes `["2025-01-01", "2025-01-29"]`. */
export function spellDays(days: DaysByYear): string[] {
  return Object.entries(days).flatMap(([year, list]) => list.split(" ").map((day) => `${year}-${day}`));
}

/** Groups days by year, in order; the way back from {@link spellDays}. */
export function groupDays(days: Iterable<string>): DaysByYear {
  const byYear: DaysByYear = {};
  for (const day of [...days].sort()) {
    const year = day.slice(0, 4);
    byYear[year] = byYear[year] === undefined ? day.slice(5) : `${byYear[year]} ${day.slice(5)}`;
  }
  return byYear;
}

/** Reads hours: `"09:30-12:00 13:00-16:00"` is two stretches. */
export function readHours(hours: string): Stretch[] {
  return hours.split(" ").map((stretch) => ({ from: stretch.slice(0, 5), to: stretch.slice(6) }));
}

/** Compares versions, `year.month.number`, by their numbers; negative when the first is the older one. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (const [place, number] of left!.entries()) { // two entries
    const other = right![place] ?? 0;
    if (number !== other) return number - other;
  }
  return 0;
}
