/**
 * What is wrong with one record of trading days by itself, before it is compared with another.
 *
 * @module
 */
import { areHours, isDate, isWeekday } from "./check_data.ts";
import { type CalendarRecord, spellDays } from "./records.ts";

/** Says what cannot be read: days that do not exist, hours that are none. */
export function unreadable(record: CalendarRecord, name: string): string[] {
  const faults: string[] = [];
  const need = (key: string, value: unknown, isFine: boolean, expected: string) => {
    if (!isFine) {
      faults.push(`sources/${name}.json: ${record.mic}: "${key}" has "${value}": expected ${expected}`);
    }
  };
  for (const key of ["from", "through"] as const) {
    need(key, record[key], isDate(record[key]), "a day that exists");
  }
  need("regular", record.regular, areHours(record.regular), "hours, each stretch after the one before");
  const { halfDay } = record;
  need("halfDay", halfDay, halfDay === null || areHours(halfDay), "hours, each stretch after the one before");
  for (const key of ["closed", "halfDays"] as const) {
    const seen = new Set<string>();
    for (const day of spellDays(record[key])) {
      need(key, day, isDate(day), "a day that exists");
      need(key, day, !seen.has(day), "each day once");
      seen.add(day);
    }
  }
  need(
    "halfDay",
    halfDay,
    halfDay !== null || spellDays(record.halfDays).length === 0,
    "the hours of half-days",
  );
  return faults;
}

/** Says which days of a record that can be read make no sense. */
export function faultsOf(record: CalendarRecord, name: string): string[] {
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
