/**
 * Merges two independent records of trading days. If they differ, a ruling with a source decides. A
 * difference without a ruling is a problem, and the task then writes no calendar.
 *
 * @module
 */
import { areHours, isWeekday } from "../../lib/calendars/check_data.ts";
import { isDate } from "../../lib/time.ts";
import {
  type CalendarData,
  type CalendarRecord,
  groupDays,
  listDays,
  type SourceFile,
} from "../../lib/calendars/records.ts";
import {
  difference,
  eveDays,
  halfDayDispute,
  halfDayFaults,
  nameOf,
  type Ruling,
  rulingFaults,
  type RulingFile,
  uncited,
} from "./rulings.ts";

export type { Ruling, RulingFile } from "./rulings.ts";

/** The data by MIC, and all problems, such as differences without a ruling. */
interface Merged {
  data: Record<string, CalendarData>;
  problems: string[];
}

const dayAfter = (date: string): string => Temporal.PlainDate.from(date).add({ days: 1 }).toString();

/**
 * Returns messages about unused rulings. A ruling is unused if, for example, the sources now agree, or the ruling has a
 * typing mistake.
 */
function unusedRulings(
  rulings: readonly Ruling[],
  { disputed, closed, a, b, names, oneSided }: {
    disputed: ReadonlySet<string>;
    closed: ReadonlySet<string>;
    a: CalendarRecord;
    b: CalendarRecord;
    names: readonly string[];
    oneSided: boolean;
  },
): string[] {
  const seen = new Set<string>();
  const shared = a.through < b.through ? a.through : b.through;
  const reasonOf = (ruling: Ruling): string | undefined => {
    const key = "date" in ruling ? ruling.date : ruling.kind;
    if (seen.has(key)) return "it is given twice";
    seen.add(key);
    if ("takeFrom" in ruling && !names.includes(ruling.takeFrom)) {
      return `no source is called "${ruling.takeFrom}"`;
    }
    switch (ruling.kind) {
      case "closed":
      case "open":
        return disputed.has(ruling.date) ? undefined : "the sources agree on the day";
      case "hours":
        if (closed.has(ruling.date)) return undefined; // reported separately
        if (!isWeekday(ruling.date) || ruling.date < a.from || ruling.date > shared) {
          return "it is not a weekday that both sources cover";
        }
        return ruling.hours === a.regular ? "these are the regular hours" : undefined;
      case "half-days":
        return halfDayDispute(a, b) === undefined ? "the sources agree on half-days" : undefined;
      case "half-day": {
        const rule = rulings.find((line) => line.kind === "half-days");
        if (rule === undefined) return "there is no half-days ruling";
        if (eveDays(rule, a).has(ruling.date)) return "the half-days ruling already includes the day";
        return difference(a.halfDays, b.halfDays).includes(ruling.date)
          ? undefined
          : "the sources agree on the day";
      }
      case "closed-since":
        return ruling.from < a.from ? undefined : `the sources begin on ${a.from}`;
      case "single-source":
        if (!oneSided) return "both sources end on the same day";
        return ruling.from > shared ? undefined : `both sources cover ${ruling.from}`;
      default:
        return "unknown kind of ruling";
    }
  };
  return rulings.flatMap((ruling) => {
    const why = reasonOf(ruling);
    return why === undefined ? [] : [`${a.mic}: ${nameOf(ruling)} is unused: ${why}`];
  });
}

function mergeOne(a: CalendarRecord, b: CalendarRecord, names: [string, string], file: RulingFile): {
  data: CalendarData;
  problems: string[];
} {
  const rulings = file.rulings.filter(({ mic }) => mic === a.mic);
  const problems: string[] = [...faultsOf(a, names[0]), ...faultsOf(b, names[1])];
  const complain = (what: string) => problems.push(`${a.mic}: ${what}, and no ruling decides it`);
  const recordOf = (name: string) => name === names[0] ? a : b;

  for (const key of ["zone", "regular", "from"] as const) {
    if (a[key] !== b[key]) complain(`"${key}" is "${a[key]}" and "${b[key]}"`);
  }

  const shared = a.through < b.through ? a.through : b.through;
  const through = a.through < b.through ? b.through : a.through;
  const single = rulings.find((ruling) => ruling.kind === "single-source" && ruling.through === through);
  const oneSided = through !== shared;
  if (oneSided && single === undefined) complain(`only one source covers days after ${shared}`);

  const closed = new Set([...listDays(a.closed), ...listDays(b.closed)]);
  const disputed = new Set<string>();
  for (const day of difference(a.closed, b.closed)) {
    if (single?.kind === "single-source" && day >= single.from && day <= single.through) {
      if (!listDays(recordOf(single.takeFrom).closed).includes(day)) closed.delete(day);
      continue;
    }
    disputed.add(day);
    const ruling = rulings.find((line) =>
      (line.kind === "closed" || line.kind === "open") && line.date === day
    );
    if (ruling === undefined) complain(`${day} is closed in only one source`);
    else if (ruling.kind === "open") closed.delete(day);
  }

  const since = rulings.find((ruling) => ruling.kind === "closed-since");
  const from = since?.kind === "closed-since" && since.from < a.from ? since.from : a.from;
  for (let day = from; day < a.from; day = dayAfter(day)) if (isWeekday(day)) closed.add(day);

  const halfDays = rulings.find((ruling) => ruling.kind === "half-days");
  const short = halfDays === undefined ? a : recordOf(halfDays.takeFrom);
  const dispute = halfDayDispute(a, b);
  if (dispute !== undefined) {
    if (halfDays === undefined) complain(`half-days differ (${dispute})`);
    else problems.push(...halfDayFaults(short, halfDays, { rulings, closed }));
  }

  const hours = rulings.flatMap((line) => line.kind === "hours" ? [[line.date, line.hours] as const] : []);
  for (const [day] of hours) {
    if (closed.has(day)) problems.push(`${a.mic}: ${day} has a ruling with hours, but it is closed`);
  }
  problems.push(...unusedRulings(rulings, { disputed, closed, a, b, names, oneSided }));
  return {
    problems,
    data: {
      mic: a.mic,
      version: file.version,
      zone: a.zone,
      from,
      through,
      ...(oneSided && single?.kind === "single-source" && single.projected
        ? { projectedFrom: single.from }
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
 * Returns the merged calendar of each exchange in the sources.
 *
 * @param sources The two sources, by the short name that rulings use.
 */
export function mergeCalendars(sources: Record<string, SourceFile>, file: RulingFile): Merged {
  const [first, second] = Object.entries(sources);
  if (first === undefined || second === undefined) {
    throw new TypeError("Cannot merge calendars: expected two sources");
  }
  const broken = [
    ...[first, second].flatMap(([name, { calendars }]) =>
      calendars.flatMap((each) => unreadable(each, name))
    ),
    ...rulingFaults(file.rulings),
  ];
  // Unreadable records cannot be compared.
  if (broken.length > 0) return { data: {}, problems: broken };
  const merged: Merged = { data: {}, problems: uncited(file.rulings) };
  const known = [first, second].flatMap(([, { calendars }]) => calendars.map(({ mic }) => mic));
  for (const mic of new Set(file.rulings.map((ruling) => ruling.mic))) {
    if (!known.includes(mic)) merged.problems.push(`${mic}: it has a ruling, but no source has its calendar`);
  }
  for (const { mic } of second[1].calendars) {
    if (!first[1].calendars.some((each) => each.mic === mic)) {
      merged.problems.push(`${mic}: only "${second[0]}" has its calendar`);
    }
  }
  for (const a of first[1].calendars) {
    const b = second[1].calendars.find(({ mic }) => mic === a.mic);
    if (b === undefined) {
      merged.problems.push(`${a.mic}: only "${first[0]}" has its calendar`);
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

/** Returns messages about unreadable values: dates that do not exist, and invalid hours. */
function unreadable(record: CalendarRecord, name: string): string[] {
  const faults: string[] = [];
  const need = (key: string, value: unknown, isFine: boolean, expected: string) => {
    if (!isFine) {
      faults.push(`sources/${name}.json: ${record.mic}: "${key}" has "${value}": expected ${expected}`);
    }
  };
  for (const key of ["from", "through"] as const) {
    need(key, record[key], isDate(record[key]), "a date that exists");
  }
  need("regular", record.regular, areHours(record.regular), "hours in order");
  const { halfDay } = record;
  need("halfDay", halfDay, halfDay === null || areHours(halfDay), "hours in order");
  for (const key of ["closed", "halfDays"] as const) {
    const seen = new Set<string>();
    for (const day of listDays(record[key])) {
      need(key, day, isDate(day), "a date that exists");
      need(key, day, !seen.has(day), "each day once");
      seen.add(day);
    }
  }
  need(
    "halfDay",
    halfDay,
    halfDay !== null || listDays(record.halfDays).length === 0,
    "the hours of half-days",
  );
  return faults;
}

/** Returns messages about implausible days of a readable record. */
function faultsOf(record: CalendarRecord, name: string): string[] {
  const { from, through, mic } = record;
  const closed = new Set(listDays(record.closed));
  const days = [...closed, ...listDays(record.halfDays)];
  return [
    ...days.filter((day) => !isWeekday(day)).map((day) => `${mic}: ${day} of "${name}" is not a weekday`),
    ...days.filter((day) => day < from || day > through)
      .map((day) => `${mic}: ${day} of "${name}" is outside ${from} to ${through}`),
    ...listDays(record.halfDays).filter((day) => closed.has(day))
      .map((day) => `${mic}: ${day} of "${name}" is both closed and a half-day`),
  ];
}
