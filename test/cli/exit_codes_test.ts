import { assertEquals } from "@std/assert";
import { CalendarUnknownError } from "../../lib/calendars/mod.ts";
import { DayBookError } from "../../lib/day_book/types.ts";
import * as errors from "../../lib/errors.ts";
import { RecipeError } from "../../lib/recipes/mod.ts";
import { exitCodeOf, exitCodes, InterruptedError, UsageError } from "../../tasks/terminal/exit_codes.ts";

const rows: [unknown, number][] = [
  [new UsageError("x"), 2],
  [new errors.InvalidParamsError("x", []), 2],
  [new errors.UnmappedError("x"), 2],
  [new RecipeError("r.yaml", []), 2],
  [new CalendarUnknownError("x"), 2],
  [new RangeError('Cannot read "x": it is no day'), 2],
  [new errors.RejectedError("x", "x"), 3],
  [new errors.MarketClosedError("x", "x"), 3],
  [new errors.TransportError("x"), 4],
  [new errors.BusyError("x", "x"), 4],
  [new errors.OutcomeUnknownError("x"), 5],
  [new errors.LoginExpiredError("x", "x"), 6],
  [new errors.DisplacedError("x", "x"), 6],
  [new errors.ProtocolError("x"), 1],
  [new TypeError("undefined is not a function"), 1],
  [new InterruptedError("x"), 130],
  [new Deno.errors.BrokenPipe("x"), 130],
  // An export ends with the exit code of the error that stopped it.
  [new DayBookError("x", { cause: new errors.TransportError("y") }), 4],
  [new DayBookError("x", { cause: new InterruptedError("y") }), 130],
  [new DayBookError("x"), 1],
  ["a text", 1],
];
for (const [error, code] of rows) {
  const name = error instanceof Error
    ? `${error.constructor.name}(${(error.cause as Error)?.name ?? ""})`
    : "text";
  Deno.test(`exitCodeOf() returns ${code} for ${name}`, () => {
    assertEquals(exitCodeOf(error), code);
    assertEquals(Object.keys(exitCodes).includes(String(code)), true);
  });
}

class OwnRejection extends errors.RejectedError {}

Deno.test("exitCodeOf() gives an unknown class the code of its parent class", () => {
  assertEquals(exitCodeOf(new OwnRejection("x", "x")), 3);
});
