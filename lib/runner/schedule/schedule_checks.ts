/**
 * Checks a schedule before it runs: finds slots at a clock change, and days on which no run can begin inside the
 * recipe's window before its deadline.
 *
 * @module
 */
import {
  addDays,
  type Calendars,
  calendarZone,
  dateAt,
  tradingDay,
  wallInstant,
} from "../../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { boundsOfSlot, type OpenWindow, windowOn } from "./plan_run.ts";
import { firstSlot, readPattern, type Slot } from "./slots.ts";

/** A wall-clock time of a schedule that a clock change skips or repeats. */
interface ClockChangeSlot {
  /** `gap` if the time does not exist on that day, `fold` if the time occurs twice. */
  kind: "gap" | "fold";
  /** Wall-clock time, `2027-03-14T02:30`. */
  wall: string;
  zone: string;
  /** The instants at which the schedule runs for this time, epoch milliseconds: none, one or two. */
  runsAt: number[];
}

/**
 * Returns the times of a schedule that clock changes skip or repeat in the next `months`, oldest first: at most ten of
 * each change.
 */
export function clockChangeSlots(
  calendars: Calendars,
  schedule: CompiledSchedule,
  { after, months }: { after: number; months: number },
): ClockChangeSlot[] {
  // Intervals follow elapsed time, and session times follow the exchange. So a clock change skips and repeats none of
  // them.
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
    found.push(...slotsAt(calendars, schedule, change, zone));
  }
  return found;
}

function slotsAt(
  calendars: Calendars,
  schedule: CompiledSchedule,
  change: Temporal.ZonedDateTime,
  zone: string,
): ClockChangeSlot[] {
  const after = change.toPlainDateTime();
  const before = change.subtract({ nanoseconds: 1 }).toPlainDateTime().add({ nanoseconds: 1 });
  const kind = Temporal.PlainDateTime.compare(before, after) < 0 ? "gap" : "fold";
  const [from, to] = kind === "gap" ? [before, after] : [after, before];
  const at = change.epochMilliseconds;
  const hasSlotAt = (time: number) => {
    const slot = firstSlot(calendars, schedule, time - 1, time);
    return slot !== undefined && slot.skipped === undefined;
  };
  const atGap = kind === "gap" && isFixed(schedule) && hasSlotAt(at) ? [at] : [];
  return namedTimes(schedule, from, to).flatMap((wall) => {
    const text = wall.toString({ smallestUnit: "minute" });
    const runsAt = kind === "gap" ? atGap : (["earlier", "later"] as const)
      .map((disambiguation) => wall.toZonedDateTime(zone, { disambiguation }).epochMilliseconds)
      .filter(hasSlotAt);
    // On a day without a session, a calendar schedule has no slot.
    if (schedule.form === "calendar" && runsAt.length === 0) return [];
    return [{ kind, wall: text, zone, runsAt }];
  });
}

/**
 * Returns whether the schedule has fixed times. If a clock change skips a fixed time, the slot moves to the instant of
 * the change. A pattern with a wildcard follows elapsed time.
 */
function isFixed(schedule: CompiledSchedule): boolean {
  if (schedule.form !== "cron") return true;
  const fields = schedule.cron.trim().split(/\s+/);
  return !/[*?/]/.test(fields.slice(0, fields.length - 3).join(" "));
}

/** Maximum number of times at one clock change, because a schedule may have one each minute. */
const MOST_AT_CHANGE = 10;

/** Returns the first times of the schedule within a span of wall-clock time, whether or not they exist. */
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
  // UTC has no clock change, so the pattern lists all its times.
  const pattern = readPattern(schedule.cron, "UTC");
  const times: Temporal.PlainDateTime[] = [];
  const [begin, end] = [from, to].map((each) => each.toZonedDateTime("UTC").epochMilliseconds) as [
    number,
    number, // the type of `map` does not say that two items stay two items
  ];
  for (
    let next = pattern.nextRun(new Date(begin - 1000));
    next !== null && next.getTime() < end && times.length < MOST_AT_CHANGE;
  ) {
    times.push(
      Temporal.Instant.fromEpochMilliseconds(next.getTime()).toZonedDateTimeISO("UTC").toPlainDateTime(),
    );
    next = pattern.nextRun(next);
  }
  return times;
}

/** A day on which no slot of a schedule can be run. */
export interface MissedDay {
  /** Local date of the window's exchange. */
  date: string;
  halfDay: boolean;
  /** The first slot of the day, epoch milliseconds. */
  slotAt: number;
  window: OpenWindow;
  /** `closed`: the window is over by then; `deadline`: the run would have to begin before the window opens. */
  why: "closed" | "deadline";
}

/** On how many future days a schedule can run, given the recipe's window and deadline. */
export interface RunnableDays {
  scheduleId: string;
  /** Number of days with a slot that can be run. */
  fine: number;
  /** Number of days that have a slot although the window's exchange has no session on them. */
  closed: number;
  missed: MissedDay[];
}

const DAY_MS = 86_400_000;
/** More than a year, so that every half-day of a year is included. */
const CHECKED_MS = 400 * DAY_MS;

/**
 * Counts the future days on which a schedule can run, by the rules of the runner. Days without a slot and days that the
 * calendar does not cover are not counted. Returns an empty list for a recipe without a window: all its slots can run.
 */
export function runnableDaysOf(calendars: Calendars, recipe: CompiledRecipe, now: number): RunnableDays[] {
  const { window } = recipe;
  if (window === undefined) return [];
  const zone = calendarZone[window.mic];
  /** The last millisecond of each date; the schedules share the dates. */
  const ends = new Map<string, number>();
  return recipe.schedules.map((schedule) => {
    const days: RunnableDays = { scheduleId: schedule.id, fine: 0, closed: 0, missed: [] };
    const until = now + CHECKED_MS;
    let after = now;
    for (
      let slot = firstSlot(calendars, schedule, after, until);
      slot;
      slot = firstSlot(calendars, schedule, after, until)
    ) {
      const date = dateAt(slot.at, zone);
      after = ends.get(date) ?? wallInstant(addDays(date, 1), "00:00", zone) - 1;
      ends.set(date, after);
      const open = windowOn(calendars, recipe, slot.at);
      if (open === "closed") days.closed++;
      if (typeof open !== "object" || boundsOfSlot(calendars, recipe, schedule, slot).skipped !== undefined) {
        continue;
      }
      if (
        canRun(calendars, recipe, schedule, slot) ||
        canRunLater(calendars, recipe, schedule, { slot, open, after })
      ) {
        days.fine++;
        continue;
      }
      const day = tradingDay(calendars, window.mic, date);
      const why = slot.at > open.until ? "closed" : "deadline";
      const halfDay = typeof day === "object" && day.halfDay;
      days.missed.push({ date, halfDay, slotAt: slot.at, window: open, why });
    }
    return days;
  });
}

function canRun(...of: Parameters<typeof boundsOfSlot>): boolean {
  const { dueAt, deadlineAt, skipped } = boundsOfSlot(...of);
  return skipped === undefined && (deadlineAt === undefined || dueAt <= deadlineAt);
}

/**
 * Returns whether a later slot of the day can run. A slot that is due before the window opens begins when the window
 * opens. So this searches only slots whose deadline is not before the opening.
 */
function canRunLater(
  calendars: Calendars,
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  { slot, open, after }: { slot: Slot; open: OpenWindow; after: number },
): boolean {
  const jitterMs = schedule.form === "every" ? schedule.jitterMs : 0;
  const last = Math.min(open.until - jitterMs, after);
  const from = Math.max(slot.at, open.from - (recipe.deadlineMs ?? 0) - 1);
  const later = last <= from ? undefined : firstSlot(calendars, schedule, from, last);
  return later !== undefined && canRun(calendars, recipe, schedule, later);
}
