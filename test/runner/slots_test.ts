import { Cron } from "croner";
import { builtInCalendars, Calendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { clockChangeSlots, runnableDaysOf } from "../../lib/runner/schedule/schedule_checks.ts";
import { latestSlot, nextSlots, slotsBetween } from "../../lib/runner/schedule/slots.ts";
import type { CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { randomFrom } from "../../lib/time.ts";
import { at, close45, DAY, every, HOUR, iso, MINUTE, recipe } from "./support.ts";

const cron = (pattern: string, timezone: string, onlyIn?: "XHKG" | "XNYS"): CompiledSchedule => ({
  id: "c",
  form: "cron",
  cron: pattern,
  timezone,
  onlyIn,
});
const session = {
  mic: "XHKG",
  from: { anchor: "open", offsetMs: 0 },
  to: { anchor: "close", offsetMs: 0 },
} as const;
const times = (schedule: CompiledSchedule, from: string, to: string) =>
  slotsBetween(builtInCalendars, schedule, at(from), at(to)).map((slot) =>
    [iso(slot.at), slot.skipped, slot.assumed && "assumed"].filter(Boolean).join(" ")
  );

Deno.test("slotsBetween() follows sessions: half-days close early and holidays are skipped with their reason", () => {
  // Christmas 2025 in Hong Kong: Wednesday 24 closes at noon; Thursday and Friday are closed.
  assertEquals(slotsBetween(builtInCalendars, close45, at("2025-12-22T16:00Z"), at("2025-12-29T16:00Z")), [
    { at: at("2025-12-23T08:45Z"), key: "2025-12-23", session: "2025-12-23" },
    { at: at("2025-12-24T04:45Z"), key: "2025-12-24", session: "2025-12-24" },
    { at: at("2025-12-25T08:45Z"), key: "2025-12-25", session: "2025-12-25", skipped: "holiday" },
    { at: at("2025-12-26T08:45Z"), key: "2025-12-26", session: "2025-12-26", skipped: "holiday" },
    { at: at("2025-12-29T08:45Z"), key: "2025-12-29", session: "2025-12-29" },
  ]);
  const week = ["2025-12-22T16:00Z", "2025-12-24T16:00Z"] as const;
  assertEquals(times({ ...close45, halfDays: "skip" }, ...week), [
    "2025-12-23T08:45:00Z",
    "2025-12-24T04:45:00Z half_day",
  ]);
  assertEquals(times({ ...close45, halfDays: "only" }, ...week), ["2025-12-24T04:45:00Z"]);
  assertEquals(times({ ...close45, at: { anchor: "auction-close", offsetMs: 0 } }, ...week), [
    "2025-12-23T08:10:00Z",
    "2025-12-24T04:10:00Z",
  ]);
  assertEquals(times({ ...close45, at: { anchor: "open", offsetMs: -10 * MINUTE } }, ...week), [
    "2025-12-23T01:20:00Z",
    "2025-12-24T01:20:00Z",
  ]);
});

Deno.test("slotsBetween() finds the first and last session of weeks, months and quarters", () => {
  const of = (days: "first-session-of-month" | "last-session-of-quarter" | "first-session-of-week") =>
    slotsBetween(builtInCalendars, { ...close45, days }, at("2025-01-01T00:00Z"), at("2025-04-30T16:00Z"))
      .map(({ key }) => key);
  assertEquals(of("first-session-of-month"), ["2025-01-02", "2025-02-03", "2025-03-03", "2025-04-01"]);
  assertEquals(of("last-session-of-quarter"), ["2025-03-31"]);
  // Lunar new year closes Wednesday to Friday; Good Friday and Easter Monday close 18 and 21 April.
  assertEquals(of("first-session-of-week").slice(2, 5), ["2025-01-20", "2025-01-27", "2025-02-03"]);
  assertEquals(of("first-session-of-week").at(-2), "2025-04-22");
});

Deno.test("slotsBetween() treats weekdays outside the calendar as sessions and marks them as assumed", () => {
  assertEquals(times(close45, "2027-12-31T00:00Z", "2028-01-04T16:00Z"), [
    "2027-12-31T04:45:00Z",
    "2028-01-03T08:45:00Z assumed",
    "2028-01-04T08:45:00Z assumed",
  ]);
});

Deno.test("slotsBetween() moves a fixed time out of a gap and runs it once in a fold", () => {
  assertEquals(times(cron("30 2 * * *", "America/New_York"), "2027-03-13T12:00Z", "2027-03-15T12:00Z"), [
    "2027-03-14T07:00:00Z", // 03:00, the first instant after the gap
    "2027-03-15T06:30:00Z",
  ]);
  assertEquals(times(cron("30 2,14 * * *", "America/New_York"), "2027-03-13T20:00Z", "2027-03-14T20:00Z"), [
    "2027-03-14T07:00:00Z",
    "2027-03-14T18:30:00Z",
  ]);
  assertEquals(times(cron("30 1,14 * * *", "America/New_York"), "2026-11-01T00:00Z", "2026-11-02T00:00Z"), [
    "2026-11-01T05:30:00Z",
    "2026-11-01T19:30:00Z",
  ]);
  assertEquals(times(cron("*/30 * * * *", "America/New_York"), "2026-11-01T04:59Z", "2026-11-01T07:00Z"), [
    "2026-11-01T05:00:00Z",
    "2026-11-01T05:30:00Z",
    "2026-11-01T06:00:00Z",
    "2026-11-01T06:30:00Z",
    "2026-11-01T07:00:00Z",
  ]);
  // At Lord Howe, the clock skips half an hour.
  assertEquals(times(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00Z", "2026-10-04T12:00Z"), [
    "2026-10-03T15:30:00Z",
  ]);
});

Deno.test("slotsBetween() limits cron slots to sessions: weekends leave no slot, holidays leave a skipped one", () => {
  assertEquals(
    times(cron("0 10 * * *", "Asia/Hong_Kong", "XHKG"), "2025-12-24T00:00Z", "2025-12-29T12:00Z"),
    [
      "2025-12-24T02:00:00Z",
      "2025-12-25T02:00:00Z holiday",
      "2025-12-26T02:00:00Z holiday",
      "2025-12-29T02:00:00Z",
    ],
  );
});

/** The built-in calendars, with a count of the calls of `sessionOn()`. */
class CountingCalendars extends Calendars {
  reads = 0;

  override sessionOn(...given: Parameters<Calendars["sessionOn"]>): ReturnType<Calendars["sessionOn"]> {
    this.reads++;
    return super.sessionOn(...given);
  }
}

Deno.test("nextSlots() skips a weekend in one step, and finds the sessions of a period once for all schedules", () => {
  const calendars = new CountingCalendars();
  const after = at("2025-08-16T00:00+08:00");
  const readsOf = (schedule: CompiledSchedule, count: number) => {
    calendars.reads = 0;
    const slots = nextSlots(calendars, schedule, after, count);
    return { first: iso(slots[0]!.at), reads: calendars.reads };
  };
  const weekend = readsOf(cron("* * * * *", "Asia/Hong_Kong", "XHKG"), 1);
  assertEquals(weekend.first, "2025-08-17T16:00:00Z");
  assert(weekend.reads < 20, `${weekend.reads} reads for the minutes of a weekend`);
  const quarterly = (minutes: number, halfDays: "run" | "only" = "run"): CompiledSchedule => ({
    form: "calendar",
    id: "a",
    mic: "XHKG",
    days: "last-session-of-quarter",
    halfDays,
    at: { anchor: "open", offsetMs: minutes * MINUTE },
  });
  const [first, second] = [readsOf(quarterly(0), 8), readsOf(quarterly(1), 8)];
  assert(second.reads < 0.7 * first.reads, `${first.reads} reads, then ${second.reads}`);
  const halfDays = readsOf(quarterly(2, "only"), 1);
  assertEquals(halfDays.first, "2025-12-31T01:32:00Z");
  assert(halfDays.reads < 200, `${halfDays.reads} reads for the sessions of half a year`);
});

Deno.test("slotsBetween() aligns intervals to the epoch and keeps them within sessions", () => {
  assertEquals(times(every(20 * MINUTE), "2025-01-01T00:01Z", "2025-01-01T01:00Z"), [
    "2025-01-01T00:20:00Z",
    "2025-01-01T00:40:00Z",
    "2025-01-01T01:00:00Z",
  ]);
  const gated: CompiledSchedule = {
    id: "k",
    form: "every",
    everyMs: 2 * HOUR,
    jitterMs: 0,
    while: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: -30 * MINUTE },
      to: { anchor: "close", offsetMs: 2 * HOUR },
    },
  };
  assertEquals(times(gated, "2025-12-23T12:00Z", "2025-12-29T05:00Z"), [
    "2025-12-24T02:00:00Z",
    "2025-12-24T04:00:00Z",
    "2025-12-24T06:00:00Z", // the end of the span, noon + 2 h in Hong Kong, is included
    "2025-12-29T02:00:00Z",
    "2025-12-29T04:00:00Z",
  ]);
});

Deno.test("nextSlots() counts slots that run and lists skipped slots between them", () => {
  const next = nextSlots(builtInCalendars, close45, at("2025-12-24T05:00Z"), 2);
  assertEquals(next.map(({ key, skipped }) => [key, skipped]), [
    ["2025-12-25", "holiday"],
    ["2025-12-26", "holiday"],
    ["2025-12-29", undefined],
    ["2025-12-30", undefined],
  ]);
  assertEquals(nextSlots(builtInCalendars, cron("0 0 30 2 *", "UTC"), at("2025-01-01T00:00Z"), 3), []);
});

Deno.test("nextSlots() lists ten skipped slots of a holiday, and continues on the next day", () => {
  // 25 and 26 December are holidays in Hong Kong, and the pattern has 2880 slots on them.
  const next = nextSlots(
    builtInCalendars,
    cron("* * 25,26,29 12 *", "Asia/Hong_Kong", "XHKG"),
    at("2025-12-01T00:00Z"),
    2,
  );
  assertEquals(
    Map.groupBy(next, ({ session, skipped }) => `${session} ${skipped}`).entries().map(([day, slots]) =>
      `${day} ${slots.length} ${iso(slots[0]!.at)}`
    ).toArray(),
    [
      "2025-12-25 holiday 10 2025-12-24T16:00:00Z",
      "2025-12-26 holiday 10 2025-12-25T16:00:00Z",
      "2025-12-29 undefined 2 2025-12-28T16:00:00Z",
    ],
  );
});

Deno.test("clockChangeSlots() lists slots at a clock change, and when they run", () => {
  const changes = (schedule: CompiledSchedule) =>
    clockChangeSlots(builtInCalendars, schedule, { after: at("2026-06-01T00:00Z"), months: 24 }).map((
      { kind, wall, runsAt },
    ) => [kind, wall, ...runsAt.map(iso)].join(" "));
  assertEquals(changes(cron("30 2 * * *", "America/New_York")), [
    "gap 2027-03-14T02:30 2027-03-14T07:00:00Z",
    "gap 2028-03-12T02:30 2028-03-12T07:00:00Z",
  ]);
  assertEquals(changes(cron("30 1 * * *", "America/New_York")), [
    "fold 2026-11-01T01:30 2026-11-01T05:30:00Z",
    "fold 2027-11-07T01:30 2027-11-07T05:30:00Z",
  ]);
  assertEquals(changes(cron("*/30 * * * *", "America/New_York")).slice(0, 4), [
    "fold 2026-11-01T01:00 2026-11-01T05:00:00Z 2026-11-01T06:00:00Z",
    "fold 2026-11-01T01:30 2026-11-01T05:30:00Z 2026-11-01T06:30:00Z",
    "gap 2027-03-14T02:00",
    "gap 2027-03-14T02:30",
  ]);
  const eachMinute = changes(cron("* * * * *", "America/New_York"));
  assertEquals([eachMinute.length, eachMinute[9], eachMinute[10]], [
    40, // ten for each of four changes
    "fold 2026-11-01T01:09 2026-11-01T05:09:00Z 2026-11-01T06:09:00Z",
    "gap 2027-03-14T02:00",
  ]);
  assertEquals(changes(cron("30 2 * * *", "Asia/Hong_Kong")), []);
  assertEquals(changes(close45), []);
});

const ZONES = [
  "UTC",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Hong_Kong",
  "Europe/London",
  "Asia/Kolkata",
];
const PATTERNS = ["*/7 * * * *", "30 1,2,14 * * *", "0 2 * * 1-5", "15 */3 * * *", "30 2 * * 0", "0 0 1 * *"];

Deno.test("slotsBetween() returns the same slots however the time is split, for random schedules and zones", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  let slots = 0;
  // Days with clock changes in some zone, so that splits fall into gaps and folds.
  const days = [
    "2026-10-31",
    "2027-03-13",
    "2026-10-03",
    "2026-04-04",
    "2026-03-28",
    "2026-12-23",
    "2027-12-30",
  ];
  for (let round = 0; round < 120; round++) {
    const schedule: CompiledSchedule = pick([
      () => cron(pick(PATTERNS), pick(ZONES), pick([undefined, "XNYS" as const])),
      () => ({ ...close45, mic: pick(["XHKG", "XNYS"] as const), halfDays: pick(["run", "skip"] as const) }),
      () => ({ ...close45, at: { time: pick(["01:30", "02:30", "09:25"]) }, mic: "XNYS" as const }),
      () => ({
        ...close45,
        at: { anchor: "close" as const, offsetMs: Math.floor((random() - 0.5) * 60) * HOUR },
      }),
      () => every(Math.ceil(random() * 90) * MINUTE),
      () => ({
        id: "w",
        form: "every" as const,
        everyMs: 17 * MINUTE,
        jitterMs: 0,
        while: {
          mic: "XNYS" as const,
          from: { anchor: "open" as const, offsetMs: -Math.floor(random() * 20) * HOUR },
          to: { anchor: "close" as const, offsetMs: Math.floor(random() * 10) * HOUR },
        },
      }),
    ])();
    const start = at(`${pick(days)}T00:00Z`) + Math.floor(random() * DAY);
    const end = start + Math.floor(random() * 4 * DAY);
    const whole = slotsBetween(builtInCalendars, schedule, start, end);
    const cuts = [
      start,
      ...Array.from({ length: 12 }, () => start + Math.floor(random() * (end - start))),
      end,
    ]
      .sort((a, b) => a - b);
    const parts = cuts.slice(1).flatMap((cut, i) => slotsBetween(builtInCalendars, schedule, cuts[i]!, cut));
    assertEquals(parts, whole, `seed ${seed}, round ${round}, ${JSON.stringify(schedule)}`);
    for (const [i, slot] of whole.entries()) {
      assert(slot.at > start && slot.at <= end && (i === 0 || slot.at > whole[i - 1]!.at), `seed ${seed}`);
    }
    assertEquals(new Set(whole.map(({ key }) => key)).size, whole.length, `keys, seed ${seed}`);
    slots += whole.length;
  }
  assert(slots > 1000, `${slots} slots are too few, seed ${seed}`);
});

Deno.test("latestSlot() finds the same slot as a complete listing, and frequent slots do not make it slower", () => {
  const gated: CompiledSchedule = { id: "g", form: "every", everyMs: MINUTE, jitterMs: 0, while: session };
  const quarter: CompiledSchedule = { ...close45, days: "last-session-of-quarter" };
  const schedules = [
    close45,
    quarter,
    gated,
    cron("30 2 * * *", "America/New_York"),
    cron("0 9 1 * *", "UTC"),
  ];
  // These instants are in a session, on a weekend, on a half-day at the time that is a slot on full days, and in the
  // night that loses an hour.
  const instants = ["2025-12-23T03:00:30Z", "2025-12-27T12:00Z", "2025-12-24T08:45Z", "2026-03-08T08:00Z"];
  for (const schedule of schedules) {
    for (const now of instants.map(at)) {
      assertEquals(
        latestSlot(builtInCalendars, schedule, now - 14 * DAY, now),
        slotsBetween(builtInCalendars, schedule, now - 14 * DAY, now).at(-1),
        `${JSON.stringify(schedule)} ${iso(now)}`,
      );
    }
  }
  // With a slot every 100 ms, two weeks have twelve million slots. In the last sixteen hours there is no session.
  const now = at("2025-12-24T00:00Z");
  const began = performance.now();
  const dense: CompiledSchedule = { ...gated, everyMs: 100 };
  assertEquals(latestSlot(builtInCalendars, dense, now - 14 * DAY, now)?.at, at("2025-12-23T08:00Z"));
  assertEquals(
    latestSlot(
      builtInCalendars,
      { id: "e", form: "every", everyMs: 100, jitterMs: 0 },
      now - 14 * DAY,
      now + 50,
    )?.at,
    now,
  );
  assert(performance.now() - began < 60_000, `${performance.now() - began} ms`);
});

Deno.test("runnableDaysOf() computes only a few times of a pattern for each day, however many slots the day has", () => {
  const given = recipe({
    schedules: [cron("1-59/2 0-15 * * *", "Asia/Hong_Kong", "XHKG")],
    window: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: 5 * MINUTE },
      to: { anchor: "close", offsetMs: -10 * MINUTE },
    },
    deadlineMs: 1000,
  });
  const original = Cron.prototype.nextRun;
  let reads = 0;
  Cron.prototype.nextRun = function (...of) {
    reads++;
    return original.apply(this, of);
  };
  try {
    const [days] = runnableDaysOf(builtInCalendars, given, at("2026-01-01T00:00Z"));
    assertEquals(days!.missed, []);
    assert(days!.fine > 200, `${days!.fine} days`);
    // The first slot of a day is long before the window; the second search finds one in the window.
    assert(reads <= 3 * 400, `${reads} times read`);
  } finally {
    Cron.prototype.nextRun = original;
  }
});

Deno.test("slotsBetween() rejects an interval below 100 ms, which a damaged store may contain", () => {
  for (const everyMs of [0, 0.0001, -1000, 99, Number.NaN]) {
    for (const form of [{}, { while: session }]) {
      assertThrows(
        () =>
          times(
            { id: "e", form: "every", everyMs, jitterMs: 0, ...form },
            "2026-01-05T00:00Z",
            "2026-01-07T00:00Z",
          ),
        RangeError,
        "100 ms",
      );
    }
  }
});

Deno.test("slotsBetween() of a cron schedule agrees with croner in the time zone, on any day and around clock changes", () => {
  const random = randomFrom(20_261_124);
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const pick = <T>(...all: T[]) => all[whole(0, all.length - 1)]!;
  const zones = [
    "Asia/Hong_Kong",
    "America/New_York",
    "Europe/Dublin",
    "Australia/Lord_Howe", // its clock changes by half an hour
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "America/Santiago",
    "UTC",
  ];
  for (let round = 0; round < 250; round++) {
    const timezone = pick(...zones);
    const text = [
      pick("*", "0", "30", "*/17", "5,59", "0-3", `${whole(0, 59)}`),
      pick("*", "0", "1,2,3", "*/5", "23", "9-16", `${whole(0, 23)}`),
      pick("*", "*", "*", "1", "L", "29-31", `${whole(1, 31)}`),
      pick("*", "*", "*", "3", "10,11", "2"),
      pick("*", "*", "1-5", "0", "6#2", "MON"),
    ].join(" ");
    const begin = Temporal.Instant.fromEpochMilliseconds(
      Date.UTC(2023, 0, 1) + whole(0, 3 * 365 * 86_400) * 1000,
    )
      .toZonedDateTimeISO(timezone);
    const change = begin.getTimeZoneTransition("next");
    const from = pick(true, false) || change === null
      ? begin.epochMilliseconds
      : change.epochMilliseconds + pick(-1, 0, 1, -86_400_000, 86_400_000, whole(-9e7, 9e7));
    const until = from + pick(whole(1, 20), 300) * DAY; // a rare pattern has its next time after several clock changes
    const pattern = new Cron(text, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
    const expected: number[] = [];
    for (let last = from; expected.length < 60;) {
      const next = pattern.nextRun(new Date(last))?.getTime() ?? Infinity;
      if (next > until) break;
      if (next > last) expected.push(next);
      last = Math.max(next, last + 1000);
    }
    const seen = slotsBetween(builtInCalendars, cron(text, timezone), from, until).slice(0, 60);
    assertEquals(
      seen.map(({ at }) => iso(at)),
      expected.map(iso),
      `${text} in ${timezone} from ${iso(from)}`,
    );
  }
});
