/**
 * Compares a newer calendar with the current one, and checks whether the newer one may be installed.
 *
 * @module
 */
import { type Book, readBook } from "./book.ts";
import type { Faults } from "./check_data.ts";
import { calendarZone, type DataMic } from "./mod.ts";
import { type CalendarData, compareVersions } from "./records.ts";

/** A changed day. Hours are `"09:30-12:00 13:00-16:00"`, `"closed"` or `"unknown"`. */
export interface DayChange {
  date: string;
  before: string;
  after: string;
}

/** Limits for the changes of a new calendar. */
interface UpdateLimits {
  /** Current time, Unix milliseconds. */
  now: number;
  /** Whether days before today may change. */
  allowPast: boolean;
  /** Maximum number of changed days among those that the old calendar covers. */
  maxChanges: number;
}

/**
 * Returns the weekdays whose hours change. Leaves out the days that the new calendar does not cover, and the days with
 * regular hours that the old calendar does not cover.
 */
export function changesBetween(before: CalendarData, after: CalendarData): DayChange[] {
  const [old, young] = [readBook(before), readBook(after)];
  const changes: DayChange[] = [];
  const last = [before.through, after.through].sort()[1]!; // two entries
  let day = Temporal.PlainDate.from([before.from, after.from].sort()[0]!); // two entries
  for (let date = day.toString(); date <= last; day = day.add({ days: 1 }), date = day.toString()) {
    if (day.dayOfWeek > 5) continue;
    const [was, is] = [hoursText(old, date), hoursText(young, date)];
    // Skip days that the new calendar no longer covers, and added days with regular hours. The command prints the first
    // and the last day of the new calendar instead.
    if (was === is || is === "unknown" || (was === "unknown" && is === young.regular)) continue;
    changes.push({ date, before: was, after: is });
  }
  return changes;
}

function hoursText(book: Book, date: string): string {
  if (date < book.from || date > book.through) return "unknown";
  return book.hoursOn(date) ?? "closed";
}

/** Adds to `faults` each reason why a calendar must not replace the current one. */
export function checkUpdate(
  before: CalendarData,
  after: CalendarData,
  { now, allowPast, maxChanges }: UpdateLimits,
  faults: Faults,
): void {
  // The caller has checked that the new calendar is for the market of the old one, and that this market has its own
  // data. So the cast is safe.
  const zone = calendarZone[before.mic as DataMic];
  if (after.zone !== zone) faults.add(["zone"], after.zone, `"${zone}"`);
  if (compareVersions(after.version, before.version) <= 0) {
    faults.add(["version"], after.version, `a version newer than the current "${before.version}"`);
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
        `"${change.before}": days before ${today} must not change`,
      );
    }
    const more = past.length - 5;
    if (more > 0) faults.add([], `${more} more changed past days`, "none; --allow-past allows them");
    else faults.issues.at(-1)!.expected += "; --allow-past allows it"; // the loop above added an issue
  }
  if (changes.length > maxChanges) {
    faults.add([], `${changes.length} changed days`, `at most ${maxChanges}; --max-changes allows more`);
  }
}

/** Returns the path of a change in the file. */
function placeOf({ date, before, after }: DayChange, { halfDay }: CalendarData): string[] {
  const year = date.slice(0, 4);
  if (after === "closed" || before === "closed") return ["closed", year];
  return after === halfDay || before === halfDay ? ["halfDays", year] : ["unplanned", date];
}
