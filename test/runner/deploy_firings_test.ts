import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { range, readCronFields } from "../../lib/deploy/cron_fields.ts";
import { type Firing, firingsOf, inWholeMinutes } from "../../lib/deploy/firings.ts";
import { slotsBetween } from "../../lib/runner/schedule/slots.ts";
import type { CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { at, close45, DAY, HOUR, iso, MINUTE } from "./support.ts";

const NOW = at("2025-08-15T02:30:00Z");
const weekdays = [1, 2, 3, 4, 5];

/** Formats firings briefly: `Asia/Hong_Kong 1,2,3,4,5 12 45`. */
const shown = (firings: readonly Firing[]) =>
  firings.map(({ zone, days, hours, minutes, months, daysOfMonth }) =>
    [zone, days, hours, minutes, ...months === undefined ? [] : ["months", months], ...daysOfMonth ?? []]
      .join(" ")
  );

Deno.test("firingsOf() returns the times of full days and of half-days", () => {
  assertEquals(firingsOf(builtInCalendars, close45, NOW), [
    { zone: "Asia/Hong_Kong", days: weekdays, hours: [12], minutes: [45], second: 0 },
    { zone: "Asia/Hong_Kong", days: weekdays, hours: [16], minutes: [45], second: 0 },
  ]);
  assertEquals(shown(firingsOf(builtInCalendars, { ...close45, halfDays: "skip" }, NOW)), [
    "Asia/Hong_Kong 1,2,3,4,5 16 45",
  ]);
  assertEquals(shown(firingsOf(builtInCalendars, { ...close45, halfDays: "only" }, NOW)), [
    "Asia/Hong_Kong 1,2,3,4,5 12 45",
  ]);
});

Deno.test("firingsOf() shifts the weekdays of a time past midnight", () => {
  const schedule: CompiledSchedule = {
    ...close45,
    mic: "XNYS",
    at: { anchor: "close", offsetMs: 10 * HOUR },
  };
  assertEquals(shown(firingsOf(builtInCalendars, schedule, NOW)), [
    "America/New_York 2,3,4,5,6 2 0",
    "America/New_York 1,2,3,4,5 23 0",
  ]);
});

Deno.test("firingsOf() returns every weekday for the first session of a month", () => {
  const schedule: CompiledSchedule = { ...close45, days: "first-session-of-month", at: { time: "09:25" } };
  assertEquals(shown(firingsOf(builtInCalendars, schedule, NOW)), ["Asia/Hong_Kong 1,2,3,4,5 9 25"]);
});

Deno.test("firingsOf() returns each time of day at which an interval can have a slot, and rejects 30 s", () => {
  const period = (everyMs: number, more = {}): CompiledSchedule => ({
    id: "s1",
    form: "every",
    everyMs,
    jitterMs: 0,
    ...more,
  });
  const whole = [...Array(24).keys()].join(",");
  assertEquals(shown(firingsOf(builtInCalendars, period(20 * MINUTE), NOW)), [
    `UTC 1,2,3,4,5,6,7 ${whole} 0,20,40`,
  ]);
  assertEquals(shown(firingsOf(builtInCalendars, period(6 * HOUR), NOW)), ["UTC 1,2,3,4,5,6,7 0,6,12,18 0"]);
  const span = {
    mic: "XHKG",
    from: { anchor: "open", offsetMs: -30 * MINUTE },
    to: { anchor: "close", offsetMs: 2 * HOUR },
  };
  assertEquals(shown(firingsOf(builtInCalendars, period(50 * MINUTE, { while: span }), NOW)), [
    "Asia/Hong_Kong 1,2,3,4,5 9,10,11,12,13,14,15,16,17,18 0,10,20,30,40,50",
  ]);
  assertThrows(() => firingsOf(builtInCalendars, period(30_000), NOW), TypeError, "every 30 s");
});

Deno.test("firingsOf() adds the time to which a clock change moves a fixed time", () => {
  const cron = (text: string): CompiledSchedule => ({
    id: "s1",
    form: "cron",
    cron: text,
    timezone: "America/New_York",
  });
  // On Sunday 2026-03-08, 02:30 does not exist: the slot is at 03:00.
  assertEquals(shown(firingsOf(builtInCalendars, cron("30 2 * * *"), NOW)).slice(0, 2), [
    "America/New_York 1,2,3,4,5,6,7 2 30",
    "America/New_York 7 3 0 months 3",
  ]);
  assertEquals(shown(firingsOf(builtInCalendars, cron("30 9 * * 1-5"), NOW)), [
    "America/New_York 1,2,3,4,5 9 30",
  ]);
  // Cron fires if either the day of the month or the weekday matches.
  assertEquals(shown(firingsOf(builtInCalendars, cron("0 20 1 * 5"), NOW)), [
    "America/New_York 1,2,3,4,5,6,7 20 0 1",
    "America/New_York 5 20 0",
  ]);
});

Deno.test("readCronFields() reads names, steps and lists, and widens patterns that only croner supports", () => {
  assertEquals(readCronFields("*/20 9-16 * jan,DEC sun,1-2"), {
    minutes: [0, 20, 40],
    hours: [9, 10, 11, 12, 13, 14, 15, 16],
    daysOfMonth: undefined,
    months: [1, 12],
    days: [1, 2, 7],
  });
  assertEquals(readCronFields("5/15 8 L * 5#2"), {
    minutes: [5, 20, 35, 50],
    hours: [8],
    daysOfMonth: range(1, 31),
    months: undefined,
    days: range(1, 7),
  });
});

Deno.test("inWholeMinutes() rounds up to the next minute, also past midnight", () => {
  const firing = { zone: "UTC", days: [5, 7], hours: [23], minutes: [59], second: 30 };
  assertEquals(inWholeMinutes(firing), { zone: "UTC", days: [1, 6], hours: [0], minutes: [0], second: 0 });
  assertEquals(inWholeMinutes({ ...firing, second: 0 }).minutes, [59]);
});

/** Returns whether one of the firings is at this instant. */
function fires(firings: readonly Firing[], instant: number): boolean {
  return firings.some(({ zone, days, daysOfMonth, months, hours, minutes, second }) => {
    const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
    return days.includes(local.dayOfWeek) && (daysOfMonth?.includes(local.day) ?? true) &&
      (months?.includes(local.month) ?? true) && hours.includes(local.hour) &&
      minutes.includes(local.minute) &&
      second === local.second;
  });
}

const span = (mic: "XHKG" | "XNYS") => ({
  mic,
  from: { anchor: "open" as const, offsetMs: -30 * MINUTE },
  to: { anchor: "close" as const, offsetMs: 2 * HOUR },
});
const schedules: CompiledSchedule[] = [
  close45,
  { ...close45, mic: "XNYS", at: { anchor: "close", offsetMs: 9 * HOUR } },
  { ...close45, mic: "XNYS", days: "last-session-of-quarter", at: { anchor: "open", offsetMs: -10 * HOUR } },
  { ...close45, at: { anchor: "auction-close", offsetMs: 90_000 } },
  { ...close45, mic: "XNYS", at: { time: "02:30" } },
  { id: "s", form: "every", everyMs: 50 * MINUTE, jitterMs: 0, while: span("XHKG") },
  { id: "s", form: "every", everyMs: 7 * MINUTE, jitterMs: 0, while: span("XNYS") },
  { id: "s", form: "every", everyMs: 90 * MINUTE, jitterMs: 0 },
  { id: "s", form: "every", everyMs: 5 * HOUR, jitterMs: 0 },
  { id: "s", form: "cron", cron: "30 2 * * *", timezone: "America/New_York" },
  { id: "s", form: "cron", cron: "15,45 1-3 * * 7", timezone: "Australia/Lord_Howe" },
  { id: "s", form: "cron", cron: "0 9 L * *", timezone: "Asia/Hong_Kong", onlyIn: "XHKG" },
  { id: "s", form: "cron", cron: "0 9 L * 5", timezone: "Asia/Hong_Kong" },
  { id: "s", form: "cron", cron: "0 9 13 * 5#2", timezone: "Asia/Hong_Kong" },
];

Deno.test("firingsOf() covers every slot of two years, for each form of schedule and each clock change", () => {
  let count = 0;
  for (const schedule of schedules) {
    const firings = firingsOf(builtInCalendars, schedule, NOW);
    const rounded = firings.map(inWholeMinutes);
    for (const slot of slotsBetween(builtInCalendars, schedule, NOW, NOW + 2 * 365 * DAY)) {
      if (slot.skipped !== undefined) continue;
      count++;
      assert(fires(firings, slot.at), `${JSON.stringify(schedule)} at ${iso(slot.at)}`);
      const minute = Math.ceil(slot.at / MINUTE) * MINUTE;
      assert(fires(rounded, minute), `${JSON.stringify(schedule)} at ${iso(minute)}, in whole minutes`);
    }
  }
  assert(count > 50_000, `${count} slots`);
});
