/**
 * Wall-clock times at which another system must look whether a recipe has a new slot: a superset of the slots, as no
 * crontab or timer can say holidays, half-days or the first session of a month. The recipe decides by its slots.
 *
 * @module
 */
import { calendarZone, coverage, type Mic, sessionsBetween } from "../../calendars/mod.ts";
import type {
  CalendarSchedule,
  CompiledSchedule,
  CronSchedule,
  EverySchedule,
} from "../../steps/compiled.ts";
import { momentIn } from "../../steps/moments.ts";
import { slotsBetween } from "../slots.ts";
import { range, readCronFields, sorted } from "./cron_fields.ts";

/** Times of day in a zone, on some days: every hour of the list with every minute of the list. */
export interface Firing {
  zone: string;
  /** ISO weekdays, Monday 1 to Sunday 7. */
  days: number[];
  /** Every day of the month when absent; never together with fewer than seven weekdays. */
  daysOfMonth?: number[];
  months?: number[];
  hours: number[];
  minutes: number[];
  second: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far back hours of sessions are looked at, so that a half-day of each kind is among them. */
const LOOK_BACK_MS = 370 * DAY_MS;
/** How far ahead clock changes are looked for. */
const LOOK_AHEAD_MS = 2 * 366 * DAY_MS;
const everyDay = range(1, 7);

/**
 * Returns when to look for slots of a schedule.
 *
 * @param now Epoch milliseconds; the hours of a market are those of about a year before and all that is known after.
 * @throws {TypeError} For a schedule of fractions of a minute, which none of these systems can follow.
 */
export function firingsOf(schedule: CompiledSchedule, now: number): Firing[] {
  if (schedule.form === "calendar") return calendarFirings(schedule, now);
  return schedule.form === "cron" ? cronFirings(schedule, now) : everyFirings(schedule, now);
}

function calendarFirings(schedule: CalendarSchedule & { id: string }, now: number): Firing[] {
  const zone = calendarZone[schedule.mic];
  // Which sessions a month or a week begins with is decided inside; here it is only about their hours.
  const slots = slotsBetween(
    { ...schedule, days: "every-session" },
    now - LOOK_BACK_MS,
    endOf(schedule.mic, now),
  );
  const times = new Map<string, Firing>();
  for (const { at, session, skipped } of slots) {
    if (skipped !== undefined || session === undefined) continue;
    const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
    const shift = Temporal.PlainDate.from(session).until(local.toPlainDate()).days;
    const key = `${shift} ${local.toPlainTime()}`;
    if (times.has(key)) continue;
    times.set(key, {
      zone,
      days: sorted(range(1, 5).map((day) => (day - 1 + shift + 70) % 7 + 1)),
      hours: [local.hour],
      minutes: [local.minute],
      second: local.second,
    });
  }
  return [...times.values()].sort((a, b) =>
    a.hours[0]! * 60 + a.minutes[0]! - b.hours[0]! * 60 - b.minutes[0]!
  );
}

/** The end of what is known of a market; where that has passed, a year from now with assumed days. */
function endOf(mic: Mic, now: number): number {
  return Math.max(Date.parse(coverage(mic).through), now + LOOK_BACK_MS);
}

function cronFirings(schedule: CronSchedule & { id: string }, now: number): Firing[] {
  const { timezone: zone } = schedule;
  const { days, daysOfMonth, ...rest } = readCronFields(schedule.cron);
  const base = { zone, second: 0, ...rest };
  const usual: Firing[] = [];
  // As in every cron, a day of the month and a weekday that are both named mean either of them.
  if (daysOfMonth !== undefined) usual.push({ ...base, days: everyDay, daysOfMonth });
  if (days !== undefined || daysOfMonth === undefined) usual.push({ ...base, days: days ?? everyDay });
  return [
    ...usual,
    ...movedFirings(schedule, now).filter((moved) => !usual.some((each) => covers(each, moved))),
  ];
}

/** A fixed time that a clock change leaves out is moved to the first instant after it, which must be looked at too. */
function movedFirings(schedule: CronSchedule & { id: string }, now: number): Firing[] {
  const { timezone: zone } = schedule;
  const moved: Firing[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
  for (;;) {
    const change = at.getTimeZoneTransition("next");
    if (change === null || change.epochMilliseconds > now + LOOK_AHEAD_MS) return moved;
    if (slotsBetween(schedule, change.epochMilliseconds - 1, change.epochMilliseconds).length > 0) {
      const { dayOfWeek, month, hour, minute } = change;
      moved.push({ zone, days: [dayOfWeek], months: [month], hours: [hour], minutes: [minute], second: 0 });
    }
    at = change;
  }
}

const covers = (wide: Firing, narrow: Firing): boolean =>
  (["days", "months", "hours", "minutes"] as const).every((field) =>
    wide[field] === undefined || narrow[field]?.every((each) => wide[field]!.includes(each))
  ) && wide.daysOfMonth === undefined;

function everyFirings({ everyMs, while: span }: EverySchedule & { id: string }, now: number): Firing[] {
  if (everyMs % MINUTE_MS !== 0) {
    throw new TypeError(
      `Cannot start it from outside every ${
        everyMs / 1000
      } s: those systems look once a minute; "hsgate schedule" can`,
    );
  }
  const minutes = everyMs / MINUTE_MS;
  const aligned = { minutes: range(0, 59, divisor(minutes, 60)), second: 0 };
  if (span !== undefined) return spanFirings(span, now).map((each) => ({ ...each, ...aligned }));
  const hours = minutes % 60 === 0 && 24 % (minutes / 60) === 0
    ? { hours: range(0, 23, minutes / 60), minutes: [0] }
    : { hours: range(0, 23) };
  // Slots are counted from the epoch, which is midnight in UTC.
  return [{ zone: "UTC", days: everyDay, ...aligned, ...hours }];
}

/** Hours that a part of the session touches on any day, half-days included. */
function spanFirings({ mic, from, to }: NonNullable<EverySchedule["while"]>, now: number) {
  const zone = calendarZone[mic];
  const hours = new Map<number, Set<number>>();
  const { from: first, through } = coverage(mic);
  const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const begin = dateOf(Math.min(now, Date.parse(through)) - LOOK_BACK_MS);
  for (const session of sessionsBetween(mic, begin < first ? first : begin, through)) {
    const end = momentIn(mic, session, to);
    for (let at = momentIn(mic, session, from); at <= end + 3_599_999; at += 3_600_000) {
      const local = Temporal.Instant.fromEpochMilliseconds(Math.min(at, end)).toZonedDateTimeISO(zone);
      const shift = Temporal.PlainDate.from(session.date).until(local.toPlainDate()).days;
      if (!hours.has(shift)) hours.set(shift, new Set());
      hours.get(shift)!.add(local.hour);
    }
  }
  return [...hours].map(([shift, set]) => ({
    zone,
    days: sorted(range(1, 5).map((day) => (day - 1 + shift + 70) % 7 + 1)),
    hours: sorted(set),
  }));
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/** Returns the same times for systems that know no seconds: those between two minutes come with the later one. */
export function inWholeMinutes(firing: Firing): Firing {
  if (firing.second === 0) return firing;
  const [hour = 0] = firing.hours;
  const [minute = 0] = firing.minutes;
  const next = hour * 60 + minute + 1; // only moments of a session have seconds, and those stand alone
  const days = next < 24 * 60 ? firing.days : sorted(firing.days.map((day) => day % 7 + 1));
  return { ...firing, days, hours: [Math.floor(next / 60) % 24], minutes: [next % 60], second: 0 };
}
