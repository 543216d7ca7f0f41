/**
 * Checks the rulings in `rulings.json`. Each ruling decides a difference between two records of trading days. Also
 * checks the half-days of a record against the exchange's rule.
 *
 * @module
 */
import { areHours, isWeekday } from "../../lib/calendars/check_data.ts";
import { isDate } from "../../lib/time.ts";
import { type CalendarRecord, type DaysByYear, listDays } from "../../lib/calendars/records.ts";

interface Cited {
  mic: string;
  because: string;
  /** Addresses of the pages that support the ruling. */
  sources: string[];
}

/**
 * Takes half-days from the named source, because the other source has no half-days. The half-days must follow the
 * exchange's rule.
 */
interface HalfDaysRuling extends Cited {
  kind: "half-days";
  takeFrom: string;
  /** Hours of a half-day. */
  hours: string;
  /** Half-days with the same date every year, such as `"12-24 12-31"`. */
  everyYear: string;
  /** Half-days with a different date each year, at least one per year. Dates on weekends have no effect. */
  eves: DaysByYear;
}

/** A ruling. */
export type Ruling =
  | HalfDaysRuling
  | (
    & Cited
    & (
      /** The day had no trading (`closed`), or an ordinary session (`open`). */
      | { kind: "closed" | "open"; date: string }
      /**
       * The records begin after a closure. Every weekday before the first day of the records, starting with `from`, was
       * closed.
       */
      | { kind: "closed-since"; from: string }
      /** The day had an unannounced early close or late open. */
      | { kind: "hours"; date: string; hours: string }
      /** The day was a half-day, although the exchange's rule does not include it. */
      | { kind: "half-day"; date: string }
      /** Takes these days from the named source, because the other source ends earlier. */
      | { kind: "single-source"; from: string; through: string; takeFrom: string; projected?: boolean }
    )
  );

/** The hand-written file. */
export interface RulingFile {
  version: string;
  rulings: Ruling[];
}

/** Returns the name of a ruling for messages. */
export const nameOf = (ruling: Ruling): string =>
  `the ruling "${ruling.kind}${"date" in ruling ? ` ${ruling.date}` : ""}"`;

/** Returns messages about rulings with impossible days or hours. */
export function rulingFaults(rulings: readonly Ruling[]): string[] {
  return rulings.flatMap((ruling) => {
    const say = (what: string) => `rulings.json: ${ruling.mic}: ${nameOf(ruling)} ${what}`;
    const faults: string[] = [];
    const given: Record<string, unknown> = { ...ruling };
    const days = ["date", "from", "through"].filter((key) => key in given).map((key) => given[key]);
    // 2024 is a leap year and so has every possible day.
    if (ruling.kind === "half-days") {
      days.push(...listDays(ruling.eves), ...listDays({ "2024": ruling.everyYear }));
    }
    for (const day of new Set(days)) if (!isDate(day)) faults.push(say(`has "${day}", which is not a day`));
    if ("hours" in ruling && !areHours(ruling.hours)) {
      faults.push(
        say(`has the hours "${ruling.hours}": expected hours in order, such as "13:00-16:00"`),
      );
    }
    return faults;
  });
}

/** Returns messages about rulings without a reason or without a source page. */
export function uncited(rulings: readonly Ruling[]): string[] {
  return rulings.flatMap((ruling) => {
    const what = `${ruling.mic}: ${nameOf(ruling)}`;
    if (ruling.because.trim() === "") return [`${what} gives no reason`];
    // A projection has no published page.
    const needsPage = !(ruling.kind === "single-source" && ruling.projected);
    return needsPage && !ruling.sources.some((page) => page.startsWith("https://"))
      ? [`${what} cites no page`]
      : [];
  });
}

/** Returns the days that are in only one of the two lists. */
export function difference(a: DaysByYear, b: DaysByYear): string[] {
  const [left, right] = [new Set(listDays(a)), new Set(listDays(b))];
  return [...left.symmetricDifference(right)].sort();
}

/** Returns how the half-days of two records differ; `undefined` if they do not. */
export function halfDayDispute(a: CalendarRecord, b: CalendarRecord): string | undefined {
  const days = difference(a.halfDays, b.halfDays);
  const hours = [a, b].map(({ halfDay }) => halfDay === null ? "none" : `"${halfDay}"`);
  const parts = [
    ...a.halfDay === b.halfDay ? [] : [`hours ${hours.join(" and ")}`],
    ...days.length === 0 ? [] : [`days ${days.join(", ")}`],
  ];
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** Returns the half-days by the exchange's rule. Leaves out weekends and days outside the record. */
export function eveDays(
  { everyYear, eves }: Pick<HalfDaysRuling, "everyYear" | "eves">,
  { from, through }: Pick<CalendarRecord, "from" | "through">,
): Set<string> {
  const days = listDays(eves);
  for (let year = Number(from.slice(0, 4)); year <= Number(through.slice(0, 4)); year++) {
    days.push(...listDays({ [year]: everyYear }));
  }
  return new Set(days.filter((day) => day >= from && day <= through && isWeekday(day)));
}

/**
 * Returns messages about differences between the chosen record and the exchange's rule: half-days that neither the rule
 * nor a ruling includes, missing half-days, years for which the ruling lists no half-day, and half-days with hours that
 * differ from the ruling's.
 */
export function halfDayFaults(
  record: CalendarRecord,
  ruling: HalfDaysRuling,
  { rulings, closed }: { rulings: readonly Ruling[]; closed: ReadonlySet<string> },
): string[] {
  const { mic, from, through } = record;
  const faults: string[] = [];
  if (record.halfDay !== ruling.hours) {
    faults.push(
      `${mic}: half-days of "${ruling.takeFrom}" have the hours "${record.halfDay}", not "${ruling.hours}"`,
    );
  }
  for (let year = Number(from.slice(0, 4)); year <= Number(through.slice(0, 4)); year++) {
    if (ruling.eves[year] === undefined) {
      faults.push(`${mic}: the ruling "half-days" lists no half-day in "eves" for ${year}`);
    }
  }
  const eves = eveDays(ruling, record);
  const days = new Set(listDays(record.halfDays));
  const own = new Set(rulings.flatMap((line) => line.kind === "half-day" ? [line.date] : []));
  for (const day of days) {
    if (eves.has(day) || own.has(day)) continue;
    faults.push(
      `${mic}: ${day} is a half-day in "${ruling.takeFrom}" but not by the rule, and no ruling decides it`,
    );
  }
  for (const day of eves) {
    if (!days.has(day) && !closed.has(day)) {
      faults.push(`${mic}: ${day} is a half-day by the rule but a full day in "${ruling.takeFrom}"`);
    }
  }
  return faults;
}
