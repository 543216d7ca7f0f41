/**
 * Slots: the instants that a schedule names, computed from the schedule and the calendars alone.
 *
 * @module
 */
import { calendarZone } from "../calendars/mod.ts";
import type {
  CalendarSchedule,
  CompiledSchedule,
  CronSchedule,
  EverySchedule,
  SessionMoment,
} from "../steps/compiled.ts";
import { cronTimes } from "./cron_times.ts";
import {
  addDays,
  dateAt,
  momentOf,
  neighbourDay,
  showInstant,
  type TradingDay,
  tradingDay,
  usualDay,
  wallInstant,
} from "./moments.ts";

export { showInstant } from "./moments.ts";

/** One instant that a schedule names. */
export interface Slot {
  /** Epoch milliseconds. */
  at: number;
  /** Last part of the run key: the session's date, or the instant in UTC. */
  key: string;
  /** Date of the session that it belongs to, local to the exchange. */
  session?: string;
  /** Why there is nothing to do. */
  skipped?: "holiday" | "half_day";
  /** The calendar does not cover the day: it is taken for a session because it is a weekday. */
  assumed?: true;
}

const DAY_MS = 86_400_000;
/** How far ahead the next slots are looked for; what does not come within it is said not to come. */
const HORIZON_MS = 3 * 366 * DAY_MS;

/** Returns the slots after one instant up to another, that one included, oldest first. */
export function slotsBetween(schedule: CompiledSchedule, after: number, until: number): Slot[] {
  return [...eachSlot(schedule, after, until)];
}

/** Returns the next slots at which there is something to do, and the skipped ones among them. */
export function nextSlots(schedule: CompiledSchedule, after: number, count: number): Slot[] {
  const slots: Slot[] = [];
  let found = 0;
  for (const slot of eachSlot(schedule, after, after + HORIZON_MS)) {
    slots.push(slot);
    if (slot.skipped === undefined && ++found >= count) break;
  }
  return slots;
}

/** Yields the slots after one instant up to another, that one included, oldest first. */
export function* eachSlot(schedule: CompiledSchedule, after: number, until: number): Generator<Slot> {
  if (schedule.form === "calendar") yield* calendarSlots(schedule, after, until);
  else if (schedule.form === "cron") yield* cronSlots(schedule, after, until);
  else if (schedule.while === undefined) yield* everySlots(schedule, after, until);
  else yield* gatedSlots(schedule, schedule.while, after, until);
}

function* calendarSlots(schedule: CalendarSchedule, after: number, until: number): Generator<Slot> {
  const { mic, days, at, halfDays } = schedule;
  const timeOf = (day: TradingDay) =>
    "time" in at ? wallInstant(day.date, at.time, calendarZone[mic]) : momentOf(mic, day, at);
  const everyDay = days === "every-session" && halfDays !== "only";
  for (const date of datesAround(schedule.mic, "time" in at ? 0 : at.offsetMs, after, until)) {
    const day = tradingDay(mic, date);
    if (day === "weekend" || (day === "holiday" && !everyDay)) continue;
    const time = timeOf(day === "holiday" ? usualDay(mic, date) : day);
    if (time <= after || time > until) continue;
    if (day === "holiday") {
      yield { at: time, key: date, session: date, skipped: "holiday" };
    } else if (isNamed(schedule, day) && (halfDays !== "only" || day.halfDay)) {
      yield {
        at: time,
        key: date,
        session: date,
        ...(halfDays === "skip" && day.halfDay ? { skipped: "half_day" as const } : {}),
        ...(day.assumed ? { assumed: true as const } : {}),
      };
    }
  }
}

/** Tells whether the schedule means this session: every one, or the first or last of a period. */
function isNamed({ mic, days }: CalendarSchedule, { date }: TradingDay): boolean {
  if (days === "every-session") return true;
  const period = days.slice(days.lastIndexOf("-") + 1);
  const neighbour = neighbourDay(mic, date, days.startsWith("first") ? -1 : 1);
  return periodOf(date, period) !== periodOf(neighbour.date, period);
}

function periodOf(date: string, period: string): string {
  const day = Temporal.PlainDate.from(date);
  if (period === "week") return day.subtract({ days: day.dayOfWeek - 1 }).toString();
  return period === "month" ? date.slice(0, 7) : `${day.year} Q${Math.ceil(day.month / 3)}`;
}

/** Dates whose moments may lie in a span, when moments lie some time away from the session. */
function* datesAround(mic: CalendarSchedule["mic"], offsetMs: number, after: number, until: number) {
  const zone = calendarZone[mic];
  const last = dateAt(until - offsetMs + DAY_MS, zone);
  for (let date = dateAt(after - offsetMs - DAY_MS, zone); date <= last; date = addDays(date, 1)) yield date;
}

function* cronSlots(schedule: CronSchedule, after: number, until: number): Generator<Slot> {
  const { onlyIn } = schedule;
  for (const at of cronTimes(schedule, after)) {
    if (at > until) return;
    const key = showInstant(at);
    if (onlyIn === undefined) {
      yield { at, key };
      continue;
    }
    const session = dateAt(at, calendarZone[onlyIn]);
    const day = tradingDay(onlyIn, session);
    // Nobody wonders at a weekend; a holiday on a weekday leaves a trace.
    if (day === "weekend") continue;
    if (day === "holiday") yield { at, key, session, skipped: "holiday" };
    else yield { at, key, session, ...(day.assumed ? { assumed: true as const } : {}) };
  }
}

/** First multiple of a period after an instant, counted from the epoch. */
const firstAfter = (everyMs: number, after: number) => (Math.floor(after / everyMs) + 1) * everyMs;

function* everySlots({ everyMs }: EverySchedule, after: number, until: number): Generator<Slot> {
  for (let at = firstAfter(everyMs, after); at <= until; at += everyMs) yield { at, key: showInstant(at) };
}

function* gatedSlots(
  { everyMs }: EverySchedule,
  { mic, from, to }: { mic: CalendarSchedule["mic"]; from: SessionMoment; to: SessionMoment },
  after: number,
  until: number,
): Generator<Slot> {
  // Windows of neighbouring sessions may touch; a slot belongs to the first that has it.
  let last = after;
  const reach = Math.abs(from.offsetMs) > Math.abs(to.offsetMs) ? from.offsetMs : to.offsetMs;
  for (const date of datesAround(mic, reach, after, until + Math.abs(reach))) {
    const day = tradingDay(mic, date);
    if (typeof day === "string") continue;
    const begin = Math.max(last, momentOf(mic, day, from) - 1);
    const end = Math.min(until, momentOf(mic, day, to));
    for (let at = firstAfter(everyMs, begin); at <= end; at += everyMs) {
      yield { at, key: showInstant(at), session: date, ...(day.assumed ? { assumed: true as const } : {}) };
      last = at;
    }
  }
}
