/**
 * Computes the times at which another system must start a recipe. At some of these times the recipe has no slot,
 * because a crontab or timer cannot express holidays, half-days or the first session of a month. The started recipe
 * checks its slots.
 *
 * @module
 */
import { type Calendars, calendarZone, type Mic, sessionTimeOf } from "../calendars/mod.ts";
import type { CalendarSchedule, CompiledSchedule, CronSchedule, EverySchedule } from "../recipes/compiled.ts";
import { slotsBetween } from "../runner/schedule/slots.ts";
import { range, readCronFields, sorted } from "./cron_fields.ts";

/** Times of day in a time zone, on some days. A firing starts the recipe at each listed minute of each listed hour. */
export interface Firing {
  zone: string;
  /** ISO weekdays, Monday 1 to Sunday 7. */
  days: number[];
  /** Absent for every day of the month. If present, `days` has all seven weekdays. */
  daysOfMonth?: number[];
  months?: number[];
  hours: number[];
  minutes: number[];
  second: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far back session times are read: more than a year, to include every kind of half-day. */
const LOOK_BACK_MS = 370 * DAY_MS;
/** How far ahead clock changes are included. */
const LOOK_AHEAD_MS = 2 * 366 * DAY_MS;
const everyDay = range(1, 7);

/**
 * Returns the times at which to start a recipe for a schedule.
 *
 * @param now Epoch milliseconds; session times come from about a year before `now` and from all known days after it.
 * @throws {TypeError} If the schedule has an interval that is not in whole minutes: hsgate deploys no other intervals.
 */
export function firingsOf(calendars: Calendars, schedule: CompiledSchedule, now: number): Firing[] {
  if (schedule.form === "calendar") return calendarFirings(calendars, schedule, now);
  return schedule.form === "cron"
    ? cronFirings(calendars, schedule, now)
    : everyFirings(calendars, schedule, now);
}

function calendarFirings(
  calendars: Calendars,
  schedule: CalendarSchedule & { id: string },
  now: number,
): Firing[] {
  const zone = calendarZone[schedule.mic];
  // Only the times of day matter here: the recipe itself checks whether a day is the first or last session of a period.
  const slots = slotsBetween(
    calendars,
    { ...schedule, days: "every-session" },
    now - LOOK_BACK_MS,
    endOf(calendars, schedule.mic, now),
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

/**
 * Returns the end of the days whose sessions are examined, epoch milliseconds: the last day of the calendar, or 370
 * days after `now` if that is later. Weekdays after the calendar's last day are assumed to be sessions.
 */
function endOf(calendars: Calendars, mic: Mic, now: number): number {
  return Math.max(Date.parse(calendars.coverage(mic).through), now + LOOK_BACK_MS);
}

function cronFirings(calendars: Calendars, schedule: CronSchedule & { id: string }, now: number): Firing[] {
  const { timezone: zone } = schedule;
  const { days, daysOfMonth, ...rest } = readCronFields(schedule.cron);
  const base = { zone, second: 0, ...rest };
  const usual: Firing[] = [];
  // Like in every cron: if both a day of the month and a weekday are given, a day that matches either of them counts.
  if (days?.length === 7 || daysOfMonth?.length === 31 || (days ?? daysOfMonth) === undefined) {
    usual.push({ ...base, days: everyDay });
  } else {
    if (daysOfMonth !== undefined) usual.push({ ...base, days: everyDay, daysOfMonth });
    if (days !== undefined) usual.push({ ...base, days });
  }
  return [
    ...usual,
    ...movedFirings(calendars, schedule, now).filter((moved) => !usual.some((each) => covers(each, moved))),
  ];
}

/**
 * If a clock change skips a fixed time, the slot moves to the first instant after the change. Returns these instants.
 */
function movedFirings(calendars: Calendars, schedule: CronSchedule & { id: string }, now: number): Firing[] {
  const { timezone: zone } = schedule;
  const moved: Firing[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
  for (;;) {
    const change = at.getTimeZoneTransition("next");
    if (change === null || change.epochMilliseconds > now + LOOK_AHEAD_MS) return moved;
    if (
      slotsBetween(calendars, schedule, change.epochMilliseconds - 1, change.epochMilliseconds).length > 0
    ) {
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

function everyFirings(
  calendars: Calendars,
  { everyMs, while: span }: EverySchedule & { id: string },
  now: number,
): Firing[] {
  if (everyMs % MINUTE_MS !== 0) {
    throw new TypeError(
      `Cannot start it every ${
        everyMs / 1000
      } s with another system: hsgate deploys only intervals of whole minutes; use "hsgate schedule"`,
    );
  }
  const minutes = everyMs / MINUTE_MS;
  const aligned = { minutes: range(0, 59, divisor(minutes, 60)), second: 0 };
  if (span !== undefined) return spanFirings(calendars, span, now).map((each) => ({ ...each, ...aligned }));
  const hours = minutes % 60 === 0 && 24 % (minutes / 60) === 0
    ? { hours: range(0, 23, minutes / 60), minutes: [0] }
    : { hours: range(0, 23) };
  // Slots count from the epoch, which is midnight UTC.
  return [{ zone: "UTC", days: everyDay, ...aligned, ...hours }];
}

/** Returns the hours in which the schedule's part of the session is active on at least one day. Half-days count too. */
function spanFirings(
  calendars: Calendars,
  { mic, from, to }: NonNullable<EverySchedule["while"]>,
  now: number,
) {
  const zone = calendarZone[mic];
  const hours = new Map<number, Set<number>>();
  const { from: first, through } = calendars.coverage(mic);
  const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const begin = dateOf(Math.min(now, Date.parse(through)) - LOOK_BACK_MS);
  for (const session of calendars.sessionsBetween(mic, begin < first ? first : begin, through)) {
    const end = sessionTimeOf(mic, session, to);
    for (let at = sessionTimeOf(mic, session, from); at <= end + 3_599_999; at += 3_600_000) {
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

/**
 * Returns a firing in whole minutes, for systems without seconds. A time between two minutes moves to the later minute.
 */
export function inWholeMinutes(firing: Firing): Firing {
  if (firing.second === 0) return firing;
  const [hour = 0] = firing.hours;
  const [minute = 0] = firing.minutes;
  const next = hour * 60 + minute + 1; // only session times have seconds, and such a firing has one hour and one minute
  const days = next < 24 * 60 ? firing.days : sorted(firing.days.map((day) => day % 7 + 1));
  return { ...firing, days, hours: [Math.floor(next / 60) % 24], minutes: [next % 60], second: 0 };
}
