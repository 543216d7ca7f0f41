/**
 * Brings two independent records of trading days together. Where they differ, a cited ruling decides;
 * without one the difference is a problem, and no data is made from it.
 *
 * @module
 */
import {
  type CalendarData,
  type CalendarRecord,
  type DaysByYear,
  groupDays,
  type SourceFile,
  spellDays,
} from "./records.ts";

interface Cited {
  mic: string;
  because: string;
  /** Addresses of the pages that say so. */
  sources: string[];
}

/** A hand-written line of `rulings.json`. */
export type Ruling =
  & Cited
  & (
    /** The day had no trading, or (`open`) an ordinary one. */
    | { kind: "closed" | "open"; date: string }
    /** The day was cut short without notice. */
    | { kind: "hours"; date: string; hours: string }
    /** One source knows no half-days; the named one is believed. */
    | { kind: "half-days"; takeFrom: string }
    /** One source ends early; the named one is believed for these days. */
    | { kind: "single-source"; from: string; through: string; takeFrom: string; projected?: boolean }
  );

/** The hand-written file. */
export interface RulingFile {
  version: string;
  rulings: Ruling[];
}

/** The data by MIC, and every difference that no ruling settles. */
export interface Merged {
  data: Record<string, CalendarData>;
  problems: string[];
}

/** Days that only one of the two has. */
function difference(a: DaysByYear, b: DaysByYear): string[] {
  const [left, right] = [new Set(spellDays(a)), new Set(spellDays(b))];
  return [...left.symmetricDifference(right)].sort();
}

function mergeOne(a: CalendarRecord, b: CalendarRecord, names: [string, string], file: RulingFile): {
  data: CalendarData;
  problems: string[];
} {
  const rulings = file.rulings.filter(({ mic }) => mic === a.mic);
  const problems: string[] = [];
  const complain = (what: string) => problems.push(`${a.mic}: ${what}, and no ruling settles it`);
  const recordOf = (name: string) => name === names[0] ? a : b;

  for (const key of ["zone", "regular", "from"] as const) {
    if (a[key] !== b[key]) complain(`"${key}" is "${a[key]}" and "${b[key]}"`);
  }

  const shared = a.through < b.through ? a.through : b.through;
  const through = a.through < b.through ? b.through : a.through;
  const alone = rulings.find((ruling) => ruling.kind === "single-source" && ruling.through === through);
  const oneSided = through !== shared;
  if (oneSided && alone === undefined) complain(`after ${shared} one source is alone`);

  const closed = new Set([...spellDays(a.closed), ...spellDays(b.closed)]);
  for (const day of difference(a.closed, b.closed)) {
    if (alone?.kind === "single-source" && day >= alone.from && day <= alone.through) {
      if (!spellDays(recordOf(alone.takeFrom).closed).includes(day)) closed.delete(day);
      continue;
    }
    const ruling = rulings.find((line) =>
      (line.kind === "closed" || line.kind === "open") && line.date === day
    );
    if (ruling === undefined) complain(`${day} is closed in one source only`);
    else if (ruling.kind === "open") closed.delete(day);
  }

  const halfDays = rulings.find((ruling) => ruling.kind === "half-days");
  const short = halfDays?.kind === "half-days" ? recordOf(halfDays.takeFrom) : a;
  if (halfDays === undefined && (a.halfDay !== b.halfDay || difference(a.halfDays, b.halfDays).length > 0)) {
    complain(`half-days differ (${difference(a.halfDays, b.halfDays).join(", ")})`);
  }

  const hours = rulings.flatMap((line) => line.kind === "hours" ? [[line.date, line.hours] as const] : []);
  for (const [day] of hours) {
    if (closed.has(day)) problems.push(`${a.mic}: ${day} has hours by ruling, yet it is closed`);
  }
  return {
    problems,
    data: {
      mic: a.mic,
      version: file.version,
      zone: a.zone,
      from: a.from,
      through,
      ...(oneSided && alone?.kind === "single-source" && alone.projected
        ? { projectedFrom: alone.from }
        : {}),
      regular: a.regular,
      closed: groupDays(closed),
      halfDay: short.halfDay,
      halfDays: short.halfDays,
      unplanned: Object.fromEntries(hours),
      sources: [],
    },
  };
}

/**
 * Returns the settled calendar of each exchange that the sources know.
 *
 * @param sources The two records, by the short name that rulings use.
 */
export function mergeCalendars(sources: Record<string, SourceFile>, file: RulingFile): Merged {
  const [first, second] = Object.entries(sources);
  if (first === undefined || second === undefined) {
    throw new TypeError("Cannot merge calendars: two sources are needed");
  }
  const merged: Merged = { data: {}, problems: [] };
  for (const a of first[1].calendars) {
    const b = second[1].calendars.find(({ mic }) => mic === a.mic);
    if (b === undefined) {
      merged.problems.push(`${a.mic}: only "${first[0]}" has it`);
      continue;
    }
    const { data, problems } = mergeOne(a, b, [first[0], second[0]], file);
    const cited = file.rulings.filter(({ mic }) => mic === a.mic).flatMap((ruling) => ruling.sources);
    data.sources = [...new Set([first[1].source, second[1].source, ...cited])];
    merged.data[a.mic] = data;
    merged.problems.push(...problems);
  }
  return merged;
}
