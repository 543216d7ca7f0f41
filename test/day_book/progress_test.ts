import { assert, assertEquals } from "@std/assert";
import { type DayBookEvent, type DayResult, ProgressText } from "../../lib/day_book/mod.ts";

const rows = (added: number): DayBookEvent => ({
  type: "rows",
  day: "2025-08-14",
  market: "hk",
  list: "fund_journal",
  origin: "history",
  added,
  rows: added,
});
const dayStarted = (index: number): DayBookEvent => ({
  type: "day-started",
  day: `2025-08-${13 + index}`,
  index,
  days: 3,
});
const result = (day: string, changes: Partial<DayResult> = {}): DayResult => ({
  day,
  status: "final",
  action: "written",
  path: `out/${day}`,
  beside: [],
  rows: { fills: 1200, orders: 40, fund_journal: 41, futures_fills: 0 },
  markets: {},
  differences: 0,
  provisionalBecause: [],
  incomplete: [],
  ...changes,
});
const dayDone = (index: number, changes: Partial<DayResult> = {}): DayBookEvent => ({
  type: "day-done",
  day: `2025-08-${13 + index}`,
  index,
  days: 3,
  result: result(`2025-08-${13 + index}`, changes),
});
const started: DayBookEvent = { type: "started", days: 3, markets: ["hk"], out: "out" };

/** Passes events to a ProgressText at given times, and returns its output. */
function shown(
  steps: [ms: number, event: DayBookEvent][],
  options: { inPlace: boolean; width?: number },
): string[] {
  let now = 0;
  const progress = new ProgressText({ monotonic: () => now, ...options });
  return steps.map(([ms, event]) => {
    now = ms;
    return progress.update(event);
  });
}

Deno.test("ProgressText redraws one line with day, market, rows, rate and time left", () => {
  const written = shown([
    [0, started],
    [0, dayStarted(0)],
    [500, rows(99)],
    [550, rows(99)],
    [2000, dayDone(0)],
    [2000, dayStarted(1)],
    [4000, rows(802)],
  ], { inPlace: true, width: 120 });
  assertEquals(written, [
    "",
    "",
    "\r\x1b[2K2025-08-13 (1/3), hk fund journal, 99 rows, 99 rows in all",
    "", // too soon after the previous one
    "\r\x1b[2K2025-08-13 final, written: 1,200 fills, 40 orders, 41 fund journal\n",
    "",
    "\r\x1b[2K2025-08-14 (2/3), hk fund journal, 802 rows, 250 rows/s, 2 s left",
  ]);
});

Deno.test("ProgressText cuts the line to the terminal's width, because a wrapped line cannot be redrawn", () => {
  const [, , line = ""] = shown([[0, started], [0, dayStarted(0)], [500, rows(99)]], {
    inPlace: true,
    width: 30,
  });
  assertEquals(line, "\r\x1b[2K2025-08-13 (1/3), hk fund jou");
  assertEquals(line.length - "\r\x1b[2K".length, 29);
});

Deno.test("ProgressText without a terminal writes plain lines, and few of them", () => {
  const written = shown([
    [0, started],
    [0, dayStarted(0)],
    [500, rows(99)],
    [11_000, rows(9_901)],
    [12_000, rows(99)],
    [20_000, dayDone(0, { status: "provisional", differences: 1234, incomplete: ["orders"] })],
  ], { inPlace: false });
  assertEquals(written, [
    "",
    "",
    "",
    "2025-08-13 (1/3), hk fund journal, 10,000 rows, 909 rows/s\n",
    "",
    "2025-08-13 provisional, written: 1,200 fills, 40 orders, 41 fund journal, 1,234 differences, may be incomplete\n",
  ]);
  assert(!written.join("").includes("\x1b"), "no escape sequences");
});

Deno.test("ProgressText ignores kept days when it estimates the time left", () => {
  const written = shown([
    [0, started],
    [0, dayStarted(0)],
    [1, dayDone(0, { action: "kept" })],
    [1, dayStarted(1)],
    [60_001, dayDone(1)],
    [60_001, dayStarted(2)],
    [61_001, rows(10)],
  ], { inPlace: true, width: 120 });
  assertEquals(written.at(-1), "\r\x1b[2K2025-08-15 (3/3), hk fund journal, 10 rows, 0 rows/s, 59 s left");
});

Deno.test("ProgressText ends with the number of days, of provisional days and of differences", () => {
  const days = [result("2025-08-13"), result("2025-08-14", { status: "provisional", differences: 2 })];
  const done: DayBookEvent = {
    type: "done",
    result: { out: "out", days, rows: 5000, differences: [], differenceCount: 2, notBegun: [], ok: false },
  };
  const ending = (read: number) =>
    shown([[0, started], [0, dayStarted(0)], [2000, rows(read)], [2500, done]], { inPlace: false }).at(-1);
  assertEquals(ending(5000), "2 days, 1 provisional, 2 differences, 2,000 rows/s\n");
  // A kept day is not read again, so the export read fewer rows than the result contains.
  assertEquals(
    ending(1200),
    "2 days, 1 provisional, 2 differences, 5,000 rows in all, 1,200 of them read now\n",
  );
});
