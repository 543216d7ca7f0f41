/**
 * Slots that meet a clock change: what a person should see before the night itself.
 *
 * @module
 */
import { calendarZone } from "../calendars/mod.ts";
import type { CompiledSchedule } from "../steps/compiled.ts";
import { readPattern } from "./cron_times.ts";
import { slotsBetween } from "./slots.ts";

/** A wall-clock time that a schedule names and that a clock change leaves out or repeats. */
export interface ClockChangeSlot {
  /** `gap` when the time does not exist on that day, `fold` when it comes twice. */
  kind: "gap" | "fold";
  /** Wall-clock time, `2027-03-14T02:30`. */
  wall: string;
  zone: string;
  /** When it runs, epoch milliseconds: once, twice or not at all. */
  runsAt: number[];
}

/** Returns the slots of some months after an instant that meet a change of the schedule's clock, oldest first. */
export function clockChangeSlots(
  schedule: CompiledSchedule,
  { after, months }: { after: number; months: number },
): ClockChangeSlot[] {
  // Intervals follow elapsed time, and moments of a session follow the exchange.
  if (schedule.form === "every") return [];
  if (schedule.form === "calendar" && !("time" in schedule.at)) return [];
  const zone = schedule.form === "cron" ? schedule.timezone : calendarZone[schedule.mic];
  const found: ClockChangeSlot[] = [];
  const start = Temporal.Instant.fromEpochMilliseconds(after).toZonedDateTimeISO(zone);
  const end = start.add({ months });
  for (
    let change = start.getTimeZoneTransition("next");
    change !== null && Temporal.ZonedDateTime.compare(change, end) <= 0;
    change = change.getTimeZoneTransition("next")
  ) {
    found.push(...slotsAt(schedule, change, zone));
  }
  return found;
}

function slotsAt(
  schedule: CompiledSchedule,
  change: Temporal.ZonedDateTime,
  zone: string,
): ClockChangeSlot[] {
  const after = change.toPlainDateTime();
  const before = change.subtract({ nanoseconds: 1 }).toPlainDateTime().add({ nanoseconds: 1 });
  const kind = Temporal.PlainDateTime.compare(before, after) < 0 ? "gap" : "fold";
  const [from, to] = kind === "gap" ? [before, after] : [after, before];
  const span = to.since(from).total("milliseconds");
  const at = change.epochMilliseconds;
  const slots = slotsBetween(schedule, at - span - 1, at + span).filter(({ skipped }) =>
    skipped === undefined
  );
  return namedTimes(schedule, from, to).flatMap((wall) => {
    const text = wall.toString({ smallestUnit: "minute" });
    const runsAt = slots.map(({ at }) => at).filter((time) =>
      kind === "gap" ? time === at && isFixed(schedule) : wall.equals(
        Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone).toPlainDateTime(),
      )
    );
    // A calendar that is closed that day names no time at all.
    if (schedule.form === "calendar" && runsAt.length === 0) return [];
    return [{ kind, wall: text, zone, runsAt }];
  });
}

/** Fixed times are moved out of a gap; a pattern with a wildcard in its time follows elapsed time. */
function isFixed(schedule: CompiledSchedule): boolean {
  if (schedule.form !== "cron") return true;
  const fields = schedule.cron.trim().split(/\s+/);
  return !/[*?/]/.test(fields.slice(0, fields.length - 3).join(" "));
}

/** Times that the schedule names within a stretch of wall-clock time, whether or not they exist. */
function namedTimes(
  schedule: CompiledSchedule,
  from: Temporal.PlainDateTime,
  to: Temporal.PlainDateTime,
): Temporal.PlainDateTime[] {
  if (schedule.form === "calendar" && "time" in schedule.at) {
    const wall = Temporal.PlainDateTime.from(`${from.toPlainDate()}T${schedule.at.time}`);
    const within = Temporal.PlainDateTime.compare(wall, from) >= 0 &&
      Temporal.PlainDateTime.compare(wall, to) < 0;
    return within ? [wall] : [];
  }
  if (schedule.form !== "cron") return [];
  // Read as UTC the pattern meets no change, so what it names can be listed.
  const pattern = readPattern(schedule.cron, "UTC");
  const times: Temporal.PlainDateTime[] = [];
  const [begin, end] = [from, to].map((each) => each.toZonedDateTime("UTC").epochMilliseconds) as [
    number,
    number, // two came in
  ];
  for (let next = pattern.nextRun(new Date(begin - 1000)); next !== null && next.getTime() < end;) {
    times.push(
      Temporal.Instant.fromEpochMilliseconds(next.getTime()).toZonedDateTimeISO("UTC").toPlainDateTime(),
    );
    next = pattern.nextRun(next);
  }
  return times;
}
