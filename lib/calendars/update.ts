/**
 * What a newer calendar of a market changes, and whether it may be installed.
 *
 * @module
 */
import { type Book, readBook } from "./book.ts";
import type { Faults } from "./json_lines.ts";
import { calendarZone, type DataMic } from "./mod.ts";
import { type CalendarData, compareVersions } from "./records.ts";

/** One day that changes. Hours are `"09:30-12:00 13:00-16:00"`, `"closed"` or `"unknown"`. */
export interface DayChange {
  date: string;
  before: string;
  after: string;
}

/** How far a new calendar may go. */
export interface UpdateLimits {
  /** Epoch milliseconds. */
  now: number;
  /** Days before today may change. */
  allowPast: boolean;
  /** Most days that may change within what was covered before. */
  maxChanges: number;
}

/** Lists the days that change, weekends left out; those that were not covered before only when they are not usual. */
export function changesBetween(before: CalendarData, after: CalendarData): DayChange[] {
  const [old, young] = [readBook(before), readBook(after)];
  const changes: DayChange[] = [];
  const last = [before.through, after.through].sort()[1]!; // two entries
  let day = Temporal.PlainDate.from([before.from, after.from].sort()[0]!); // two entries
  for (let date = day.toString(); date <= last; day = day.add({ days: 1 }), date = day.toString()) {
    if (day.dayOfWeek > 5) continue;
    const [was, is] = [saidOf(old, date), saidOf(young, date)];
    // What coverage takes away or adds is said by its dates.
    if (was === is || is === "unknown" || (was === "unknown" && is === young.regular)) continue;
    changes.push({ date, before: was, after: is });
  }
  return changes;
}

function saidOf(book: Book, date: string): string {
  if (date < book.from || date > book.through) return "unknown";
  return book.hoursOn(date) ?? "closed";
}

/** Notes why a calendar may not be installed in place of another. */
export function checkUpdate(
  before: CalendarData,
  after: CalendarData,
  { now, allowPast, maxChanges }: UpdateLimits,
  faults: Faults,
): void {
  // The two have the same market, which has data of its own.
  const zone = calendarZone[before.mic as DataMic];
  if (after.zone !== zone) faults.add(["zone"], after.zone, `"${zone}"`);
  if (compareVersions(after.version, before.version) <= 0) {
    faults.add(["version"], after.version, `a version after "${before.version}", which is in use`);
  }
  if (after.from > before.from) {
    faults.add(["from"], after.from, `"${before.from}" or earlier: coverage must not shrink`);
  }
  if (after.through < before.through) {
    faults.add(["through"], after.through, `"${before.through}" or later: coverage must not shrink`);
  }
  const changes = changesBetween(before, after).filter((each) => each.before !== "unknown");
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate().toString();
  const past = changes.filter(({ date }) => date < today);
  if (past.length > 0 && !allowPast) {
    for (const change of past.slice(0, 5)) {
      faults.add(
        placeOf(change, after),
        `${change.date} ${change.after}`,
        `"${change.before}": days before ${today} are settled`,
      );
    }
    const more = past.length - 5;
    if (more > 0) faults.add([], `${more} more days of the past`, "none; --allow-past lets them change");
    else faults.issues.at(-1)!.expected += "; --allow-past lets them change"; // one has just been added
  }
  if (changes.length > maxChanges) {
    faults.add([], `${changes.length} changed days`, `${maxChanges} at most; --max-changes lets more change`);
  }
}

/** Where in the file a change is to be found. */
function placeOf({ date, before, after }: DayChange, { halfDay }: CalendarData): string[] {
  const year = date.slice(0, 4);
  if (after === "closed" || before === "closed") return ["closed", year];
  return after === halfDay || before === halfDay ? ["halfDays", year] : ["unplanned", date];
}
