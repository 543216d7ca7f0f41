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
    /** The records begin later, as all weekdays from here to their first day were closed. */
    | { kind: "closed-since"; from: string }
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

const isWeekday = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek <= 5;

const dayAfter = (date: string): string => Temporal.PlainDate.from(date).add({ days: 1 }).toString();

/** Days that only one of the two has. */
function difference(a: DaysByYear, b: DaysByYear): string[] {
  const [left, right] = [new Set(spellDays(a)), new Set(spellDays(b))];
  return [...left.symmetricDifference(right)].sort();
}

/** Says what is wrong with a record by itself. */
function faultsOf(record: CalendarRecord, name: string): string[] {
  const { from, through, mic } = record;
  const closed = new Set(spellDays(record.closed));
  const days = [...closed, ...spellDays(record.halfDays)];
  return [
    ...days.filter((day) => !isWeekday(day)).map((day) => `${mic}: ${day} of "${name}" is no weekday`),
    ...days.filter((day) => day < from || day > through)
      .map((day) => `${mic}: ${day} of "${name}" lies outside ${from} to ${through}`),
    ...spellDays(record.halfDays).filter((day) => closed.has(day))
      .map((day) => `${mic}: ${day} of "${name}" is closed and a half-day`),
  ];
}

/** Says which rulings settle nothing: the sources have come to agree, or a day was mistyped. */
function idleRulings(
  rulings: readonly Ruling[],
  { disputed, closed, a, b, names, alone }: {
    disputed: ReadonlySet<string>;
    closed: ReadonlySet<string>;
    a: CalendarRecord;
    b: CalendarRecord;
    names: readonly string[];
    alone: boolean;
  },
): string[] {
  const seen = new Set<string>();
  const shared = a.through < b.through ? a.through : b.through;
  const reasonOf = (ruling: Ruling): string | undefined => {
    const key = "date" in ruling ? ruling.date : ruling.kind;
    if (seen.has(key)) return "it stands there twice";
    seen.add(key);
    if ("takeFrom" in ruling && !names.includes(ruling.takeFrom)) {
      return `no source has the name "${ruling.takeFrom}"`;
    }
    switch (ruling.kind) {
      case "closed":
      case "open":
        return disputed.has(ruling.date) ? undefined : "the sources agree on the day";
      case "hours":
        if (closed.has(ruling.date)) return undefined; // told by itself
        if (!isWeekday(ruling.date) || ruling.date < a.from || ruling.date > shared) {
          return "no source has the day";
        }
        return ruling.hours === a.regular ? "these are the usual hours" : undefined;
      case "half-days":
        return a.halfDay !== b.halfDay || difference(a.halfDays, b.halfDays).length > 0
          ? undefined
          : "the sources agree on half-days";
      case "closed-since":
        return ruling.from < a.from ? undefined : "the sources begin on this day";
      case "single-source":
        if (!alone) return "both sources end on the same day";
        return ruling.from > shared ? undefined : `both sources speak of ${ruling.from}`;
      default:
        return "there is no such kind";
    }
  };
  return rulings.flatMap((ruling) => {
    const why = reasonOf(ruling);
    const what = "date" in ruling ? `${ruling.kind} ${ruling.date}` : ruling.kind;
    return why === undefined ? [] : [`${a.mic}: the ruling "${what}" settles nothing: ${why}`];
  });
}

function mergeOne(a: CalendarRecord, b: CalendarRecord, names: [string, string], file: RulingFile): {
  data: CalendarData;
  problems: string[];
} {
  const rulings = file.rulings.filter(({ mic }) => mic === a.mic);
  const problems: string[] = [...faultsOf(a, names[0]), ...faultsOf(b, names[1])];
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
  const disputed = new Set<string>();
  for (const day of difference(a.closed, b.closed)) {
    if (alone?.kind === "single-source" && day >= alone.from && day <= alone.through) {
      if (!spellDays(recordOf(alone.takeFrom).closed).includes(day)) closed.delete(day);
      continue;
    }
    disputed.add(day);
    const ruling = rulings.find((line) =>
      (line.kind === "closed" || line.kind === "open") && line.date === day
    );
    if (ruling === undefined) complain(`${day} is closed in one source only`);
    else if (ruling.kind === "open") closed.delete(day);
  }

  const since = rulings.find((ruling) => ruling.kind === "closed-since");
  const from = since?.kind === "closed-since" && since.from < a.from ? since.from : a.from;
  for (let day = from; day < a.from; day = dayAfter(day)) if (isWeekday(day)) closed.add(day);

  const halfDays = rulings.find((ruling) => ruling.kind === "half-days");
  const short = halfDays?.kind === "half-days" ? recordOf(halfDays.takeFrom) : a;
  if (halfDays === undefined && (a.halfDay !== b.halfDay || difference(a.halfDays, b.halfDays).length > 0)) {
    complain(`half-days differ (${difference(a.halfDays, b.halfDays).join(", ")})`);
  }

  const hours = rulings.flatMap((line) => line.kind === "hours" ? [[line.date, line.hours] as const] : []);
  for (const [day] of hours) {
    if (closed.has(day)) problems.push(`${a.mic}: ${day} has hours by ruling, yet it is closed`);
  }
  problems.push(...idleRulings(rulings, { disputed, closed, a, b, names, alone: oneSided }));
  return {
    problems,
    data: {
      mic: a.mic,
      version: file.version,
      zone: a.zone,
      from,
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

/** Says which rulings lack their reason, or the page that says so. */
function uncited(rulings: readonly Ruling[]): string[] {
  return rulings.flatMap((ruling) => {
    const what = `${ruling.mic}: the ruling "${ruling.kind}${"date" in ruling ? ` ${ruling.date}` : ""}"`;
    if (ruling.because.trim() === "") return [`${what} gives no reason`];
    // Nobody has published what is projected.
    const needsPage = !(ruling.kind === "single-source" && ruling.projected);
    return needsPage && !ruling.sources.some((page) => page.startsWith("https://"))
      ? [`${what} cites no page`]
      : [];
  });
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
  const merged: Merged = { data: {}, problems: uncited(file.rulings) };
  const known = [first, second].flatMap(([, { calendars }]) => calendars.map(({ mic }) => mic));
  for (const mic of new Set(file.rulings.map((ruling) => ruling.mic))) {
    if (!known.includes(mic)) merged.problems.push(`${mic}: a ruling speaks of it, and no source has it`);
  }
  for (const { mic } of second[1].calendars) {
    if (!first[1].calendars.some((each) => each.mic === mic)) {
      merged.problems.push(`${mic}: only "${second[0]}" has it`);
    }
  }
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
