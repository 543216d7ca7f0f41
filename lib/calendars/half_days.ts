/**
 * The half-days of two records: alike, or those of one of them as far as the exchange's own rule gives them.
 *
 * @module
 */
import { isWeekday } from "./check_data.ts";
import { type CalendarRecord, type DaysByYear, spellDays } from "./records.ts";
import type { HalfDaysRuling, Ruling } from "./rulings.ts";

/** Days that only one of the two has. */
export function difference(a: DaysByYear, b: DaysByYear): string[] {
  const [left, right] = [new Set(spellDays(a)), new Set(spellDays(b))];
  return [...left.symmetricDifference(right)].sort();
}

/** Says how two records differ in half-days, `undefined` when they do not. */
export function halfDayDispute(a: CalendarRecord, b: CalendarRecord): string | undefined {
  const days = difference(a.halfDays, b.halfDays);
  const hours = [a, b].map(({ halfDay }) => halfDay === null ? "none" : `"${halfDay}"`);
  const parts = [
    ...a.halfDay === b.halfDay ? [] : [`hours ${hours.join(" and ")}`],
    ...days.length === 0 ? [] : [`days ${days.join(", ")}`],
  ];
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** Days that the rule shortens, within what the record speaks of and weekends left out. */
export function eveDays(
  { everyYear, eves }: Pick<HalfDaysRuling, "everyYear" | "eves">,
  { from, through }: Pick<CalendarRecord, "from" | "through">,
): Set<string> {
  const days = spellDays(eves);
  for (let year = Number(from.slice(0, 4)); year <= Number(through.slice(0, 4)); year++) {
    days.push(...spellDays({ [year]: everyYear }));
  }
  return new Set(days.filter((day) => day >= from && day <= through && isWeekday(day)));
}

/**
 * Says where the record that is believed leaves the rule: a day that is none of its eves and has no ruling of its
 * own, an eve that it lacks, a year of which the ruling lists none, or other hours.
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
      faults.push(`${mic}: the ruling "half-days" lists no eve of ${year}`);
    }
  }
  const eves = eveDays(ruling, record);
  const days = new Set(spellDays(record.halfDays));
  const own = new Set(rulings.flatMap((line) => line.kind === "half-day" ? [line.date] : []));
  for (const day of days) {
    if (eves.has(day) || own.has(day)) continue;
    faults.push(
      `${mic}: ${day} is a half-day of "${ruling.takeFrom}" and none of the rule's eves, and no ruling settles it`,
    );
  }
  for (const day of eves) {
    if (!days.has(day) && !closed.has(day)) {
      faults.push(`${mic}: ${day} is an eve of the rule and open, and no half-day of "${ruling.takeFrom}"`);
    }
  }
  return faults;
}
