import { assertEquals, assertThrows } from "@std/assert";
import { planOutages, readOutages } from "../../lib/rehearsal/outages.ts";
import { RecipeError } from "../../lib/recipes/mod.ts";

const days = { from: Date.parse("2025-01-01T00:00:00Z"), to: Date.parse("2025-12-31T23:59:59Z") };
const options = { recipes: ["eod", "watch"], ...days };

/** Returns the mistakes of a script, each as `line:column: message`. */
function problemsOf(text: string): string[] {
  const error = assertThrows(() => readOutages(text, "outages.yaml", options), RecipeError);
  return error.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

Deno.test("readOutages() reads outages with their times and defaults, earliest first", () => {
  const script = `
# A comment.
- { at: 2025-03-05T09:00+08:00, for: 3h, what: scheduler-down }
- { at: 2025-02-05T09:00:30Z, what: kill }
- { at: 2025-03-07T09:00+08:00, what: clock-jump, by: -1h30m }
- { at: 2025-03-08T09:00+08:00, what: gateway-slow, for: 10m }
- { at: 2025-03-09T09:00+08:00, what: resume, recipe: eod, catchUp: true }
`;
  const read = readOutages(script, "outages.yaml", options).map((
    { at, what, forMs, byMs, recipe, catchUp },
  ) => [new Date(at).toISOString(), what, forMs, byMs, recipe, catchUp] as const);
  assertEquals(read, [
    ["2025-02-05T09:00:30.000Z", "kill", 60_000, undefined, undefined, false],
    ["2025-03-05T01:00:00.000Z", "scheduler-down", 10_800_000, undefined, undefined, false],
    ["2025-03-07T01:00:00.000Z", "clock-jump", undefined, -5_400_000, undefined, false],
    ["2025-03-08T01:00:00.000Z", "gateway-slow", 600_000, 30_000, undefined, false],
    ["2025-03-09T01:00:00.000Z", "resume", undefined, undefined, "eod", true],
  ]);
  assertEquals(readOutages("# nothing goes wrong\n", "outages.yaml", options), []);
});

Deno.test("readOutages() reports every mistake with its place and what was expected", () => {
  assertEquals(
    problemsOf(`
- { at: 2025-03-05T09:00, for: 3h, what: scheduler-down }
- { at: 2025-03-05T09:00+08:00, for: 3 hours, what: gatway-down }
- { at: 2025-03-05T09:00+08:00, what: kill, four: 3h }
`),
    [
      '2:9: 0.at: expected a time with a UTC offset, such as "2025-03-05T09:00+08:00"',
      '3:38: 1.for: expected a span of time such as "45m", "1h30m" or "90s"',
      '3:53: 1.what: expected one of "scheduler-down", "kill", "machine-asleep", "gateway-down", ' +
      '"gateway-slow", "busy", "login-expired", "displaced", "clock-jump", "pause", "resume"; did you mean "gateway-down"?',
      '4:45: 2.four: no such member; did you mean "for"?',
    ],
  );
  assertEquals(
    problemsOf(`
- { at: 2026-03-05T09:00+08:00, for: 3h, what: busy }
- { at: 2025-03-05T09:00+08:00, what: gateway-down }
- { at: 2025-03-05T09:00+08:00, what: clock-jump }
- { at: 2025-03-05T09:00+08:00, what: pause, recipe: end-of-day }
- { at: 2025-03-05T09:00+08:00, what: kill, recipe: eod, by: 2h, catchUp: true }
- { at: 2025-03-05T09:00+08:00, what: resume, for: 2h }
- { at: 2025-03-05T09:00+08:00, what: gateway-slow, for: 2h, by: -2s }
`),
    [
      "2:9: 0.at: it is outside the days of the rehearsal",
      '3:39: 1.what: "gateway-down" needs "for", such as for: 3h',
      '4:39: 2.what: "clock-jump" needs "by", such as by: -2h',
      '5:54: 3.recipe: there is no recipe "end-of-day"; there are eod, watch',
      '6:53: 4.recipe: "kill" has no "recipe"',
      '6:62: 4.by: "kill" has no "by"',
      '6:75: 4.catchUp: "kill" has no "catchUp"',
      '7:39: 5.what: "resume" needs "recipe"',
      '7:52: 5.for: "resume" has no "for"',
      "8:66: 6.by: the delay of an answer cannot be negative",
    ],
  );
});

Deno.test("readOutages() rejects overlapping outages of one part of the system, and broken YAML", () => {
  assertEquals(
    problemsOf(`
- { at: 2025-03-05T09:00+08:00, for: 3h, what: scheduler-down }
- { at: 2025-03-05T11:00+08:00, what: kill }
- { at: 2025-03-05T12:00+08:00, what: kill }
`),
    ['3:9: 1.at: it begins before the end of the previous outage, "scheduler-down", which affects the same part'],
  );
  // The process starts again a minute after a kill.
  assertEquals(
    problemsOf(`
- { at: 2025-03-05T09:00:00+08:00, what: kill }
- { at: 2025-03-05T09:00:30+08:00, for: 3h, what: scheduler-down }
`).map((each) => each.slice(0, 4)),
    ["3:9:"],
  );
  assertEquals(problemsOf("- { at: 1")[0]?.slice(0, 2), "1:");
  assertEquals(problemsOf("at: 2025"), ["1:1: expected a list"]);
});

Deno.test("planOutages() rejects the same mistakes in a list of outages", () => {
  const error = assertThrows(
    () => planOutages([{ at: "2025-03-05T09:00+08:00", what: "busy" }], options),
    RecipeError,
  );
  assertEquals(error.issues.map(({ message }) => message), ['0.what: "busy" needs "for", such as for: 3h']);
});
