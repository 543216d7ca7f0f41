/** Tests of days that the calendar only projects or does not cover, and of days that a person overrode. */
import { assertEquals } from "@std/assert";
import { builtInCalendars, Calendars } from "../../lib/calendars/mod.ts";
import { planRun } from "../../lib/runner/schedule/plan_run.ts";
import { nextSlots } from "../../lib/runner/schedule/slots.ts";
import { why } from "../../lib/runner/explain/why.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { at, bench, close45, MINUTE, recipe } from "./support.ts";

const schedule: CompiledSchedule = {
  ...close45,
  id: "s1",
  mic: "XSHG",
  at: { anchor: "open", offsetMs: 30 * MINUTE },
};
const writes: Partial<CompiledRecipe> = {
  class: "write",
  schedules: [schedule],
  window: {
    mic: "XSHG",
    from: { anchor: "open", offsetMs: 0 },
    to: { anchor: "close", offsetMs: -10 * MINUTE },
  },
};

/** Returns the rows for the next slots after an instant. */
const planned = (
  given: Partial<CompiledRecipe>,
  after: string,
  count: number,
  calendars: Calendars = builtInCalendars,
) =>
  nextSlots(calendars, schedule, at(after), count).map((slot) => {
    const run = planRun(calendars, recipe({ schedules: [schedule], ...given }), schedule, slot, {
      kind: "live",
      traceId: "",
    });
    return `${run.businessDay} ${run.state}${
      run.reason === undefined ? "" : ` ${run.reason}`
    } ${run.calendarVersion}`;
  });

Deno.test("planRun() skips writes on projected days and outside the coverage, but not reads", () => {
  const version = builtInCalendars.version("XSHG");
  assertEquals(planned(writes, "2026-12-30T00:00Z", 3), [
    `2026-12-30 due ${version}`,
    `2026-12-31 due ${version}`,
    // New Year's Day is projected as a holiday
    `2027-01-01 skipped holiday ${version}`,
    `2027-01-04 skipped calendar_unknown ${version}`,
  ]);
  assertEquals(planned({}, "2027-01-03T00:00Z", 1), [`2027-01-04 due ${version}`]);
  assertEquals(planned(writes, "2028-01-02T00:00Z", 1), [`2028-01-03 skipped calendar_unknown ${version}`]);
  assertEquals(planned({}, "2028-01-02T00:00Z", 1), [`2028-01-03 due ${version}`]);
});

Deno.test("planRun() uses overridden days, and records a calendar version that shows the overrides", () => {
  const day = { mic: "XSHG", because: "the notice", setAt: "2026-11-21T05:00:00Z" };
  const calendars = new Calendars({
    overrides: [{ ...day, date: "2027-01-04", hours: "open" }, {
      ...day,
      date: "2027-01-05",
      hours: "closed",
    }],
  });
  const version = calendars.version("XSHG");
  assertEquals(version.includes("+2."), true);
  assertEquals(planned(writes, "2027-01-03T00:00Z", 2, calendars), [
    `2027-01-04 due ${version}`,
    `2027-01-05 skipped holiday ${version}`,
    `2027-01-06 skipped calendar_unknown ${version}`,
  ]);
});

Deno.test("why() reports an overridden day with its reason", async () => {
  const reads = recipe({ name: "look", schedules: [schedule] });
  await using b = await bench({ start: "2026-12-09T00:00Z", recipes: [reads] });
  const told = async (calendars: Calendars) =>
    await why(b.store, reads, {
      calendars,
      date: "2026-12-10",
      now: at("2026-12-11T00:00Z"),
    });
  const calendars = new Calendars({
    overrides: [{
      mic: "XSHG",
      date: "2026-12-10",
      hours: "closed",
      because: "a day of mourning",
      setAt: "2026-12-01T00:00:00Z",
    }],
  });
  assertEquals(
    await told(calendars),
    "nothing was to run: XSHG was closed on 2026-12-10; a person set the hours of XSHG for that day: closed, because a day of mourning",
  );
  assertEquals((await told(builtInCalendars)).includes("a person set"), false);
});
