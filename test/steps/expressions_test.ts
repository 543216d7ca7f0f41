import { assert, assertEquals, assertThrows } from "@std/assert";
import type { StepScope } from "../../lib/steps/compiled.ts";
import { readDuration, showDuration } from "../../lib/steps/durations.ts";
import { compileExpression, ExpressionError } from "../../lib/steps/expressions.ts";
import { momentIn, readAt, readMoment, readSpan } from "../../lib/steps/moments.ts";
import { readTemplate } from "../../lib/steps/templates.ts";

const scope: StepScope = {
  recipe: "test",
  runKey: "test/main/2025-08-15",
  slot: "2025-08-15T08:45:00Z",
  session: {
    date: "2025-08-15",
    open: "2025-08-15T09:30:00+08:00",
    close: "2025-08-15T16:00:00+08:00",
    halfDay: false,
  },
  params: { n: 5, share: 0.25, symbols: ["00700.HK", "AAPL"] },
  outputs: {
    "day-book": { rows: 3, days: [{ day: "2025-08-14" }, { day: "2025-08-15" }] },
    funds: { available: "0.30" },
  },
};

function valueOf(source: string): unknown {
  const compiled = compileExpression(source);
  if ("problem" in compiled) throw new TypeError(compiled.problem);
  return compiled.evaluate(scope);
}

Deno.test("expressions work with numbers, lists and texts of parameters and outputs", () => {
  assertEquals(valueOf("params.n + 1"), 6);
  assertEquals(valueOf("2 * params.n - params.share"), 9.75);
  assertEquals(valueOf('"AAPL" in params.symbols && size(params.symbols) == 2'), true);
  assertEquals(valueOf('outputs["day-book"].days.map(d, d.day)'), ["2025-08-14", "2025-08-15"]);
  assertEquals(valueOf("outputs['day-book'].rows > 2 ? session.date : slot"), "2025-08-15");
  assertEquals(valueOf("previousSession == null && scheduleId == null"), true);
  assertEquals(valueOf('has(params.none) || recipe == "test"'), true);
  assertEquals(valueOf("{'symbols': params.symbols, 'n': size(params.symbols)}"), {
    symbols: ["00700.HK", "AAPL"],
    n: 2,
  });
  assertEquals(valueOf("daysBefore(slot, 15)"), "2025-07-31");
});

Deno.test("expressions keep money exact as decimal text", () => {
  assertEquals(valueOf('decimalAdd(outputs.funds.available, "0.60")'), "0.90");
  assertEquals(valueOf('decimalCompare(outputs.funds.available, "0.3") == 0'), true);
  assertEquals(valueOf('decimalMultiply("0.1", "0.2")'), "0.02");
  assertEquals(valueOf('decimalDivide("1", "3", 4)'), "0.3333");
  assertEquals(valueOf('decimalSubtract("100000000000000000000.01", "0.01")'), "100000000000000000000.00");
});

Deno.test("expressions reach nothing outside their scope, and end", () => {
  for (
    const source of ["params.constructor", "params.__proto__", 'outputs.funds["toString"]', "session.none"]
  ) {
    assertThrows(() => valueOf(source), ExpressionError);
  }
  for (
    const source of ["Deno", "globalThis", "this", "fetch('x')", "Date()", "now()", "random()", "eval('1')"]
  ) {
    assertThrows(() => valueOf(source), TypeError);
  }
  const deep = `${"(".repeat(80)}1${")".repeat(80)}`;
  assert("problem" in compileExpression(deep));
  assert("problem" in compileExpression(`${"1 + ".repeat(5000)}1`));
});

Deno.test("compileExpression() names the outputs and parameters that are read", () => {
  const compiled = compileExpression('outputs["day-book"].rows > params.n && has(outputs.funds.available)');
  assert("evaluate" in compiled);
  assertEquals([[...compiled.outputs], [...compiled.params]], [["day-book", "funds"], ["n"]]);
});

Deno.test("readTemplate() keeps the type of a whole hole and writes the others into their text", async () => {
  const { template, found } = await readTemplate({
    whole: "${{ params.n }}",
    text: "n is ${{ params.n }}, of ${{ params.symbols }}",
    list: ["${{ params.symbols }}", "plain ${ not a hole"],
    secret: "Bearer ${secret:token}",
  }, []);
  assertEquals(found.map(({ path }) => path), [["list", 1]]);
  const filled = await template.fill(scope, (name) => Promise.resolve(`<${name}>`));
  assertEquals(filled, {
    whole: 5,
    text: 'n is 5, of ["00700.HK","AAPL"]',
    list: [["00700.HK", "AAPL"], "plain ${ not a hole"],
    secret: "Bearer <token>",
  });
});

Deno.test("readTemplate() does not look into values for further holes", async () => {
  const { template } = await readTemplate({ text: "${{ params.symbols[0] }} ${{ recipe }}" }, []);
  const params = { symbols: ["${secret:trade-password}"] };
  const filled = await template.fill(
    { ...scope, params },
    () => Promise.reject(new Error("asked for a secret")),
  );
  assertEquals(filled, { text: "${secret:trade-password} test" });
});

Deno.test("readDuration() reads spans with the largest unit first", () => {
  assertEquals(["45m", "1h30m", "90s", "2d", "1500ms", "0s"].map(readDuration), [
    2_700_000,
    5_400_000,
    90_000,
    172_800_000,
    1500,
    0,
  ]);
  assertEquals(["", "45", "m", "30m1h", "1.5h", "-5m", "5 m"].map(readDuration), Array(7).fill(undefined));
  assertEquals([5_400_000, 1500, -90_000, 0].map(showDuration), ["1h30m", "1s500ms", "-1m30s", "0s"]);
});

Deno.test("readMoment(), readAt() and readSpan() read moments of a session", () => {
  assertEquals(readMoment("close+45m"), { anchor: "close", offsetMs: 2_700_000 });
  assertEquals(readMoment("open-1h"), { anchor: "open", offsetMs: -3_600_000 });
  assertEquals([readMoment("closing"), readMoment("close+"), readMoment("close 5m")], [
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals([readAt("09:25"), readAt("24:00"), readAt("9:25")], [{ time: "09:25" }, undefined, undefined]);
  assertEquals(readSpan("XNYS.open+5m..XNYS.close-10m"), {
    mic: "XNYS",
    from: { anchor: "open", offsetMs: 300_000 },
    to: { anchor: "close", offsetMs: -600_000 },
  });
  assertEquals(readSpan("XHKG.close..XHKG.open"), { expected: "a span that ends after it starts" });
  const day = { openAt: 1_000_000_000, closeAt: 1_023_400_000 };
  assertEquals(momentIn("XHKG", day, { anchor: "auction-close", offsetMs: 60_000 }), 1_023_400_000 + 660_000);
  assertEquals(momentIn("XNYS", day, { anchor: "auction-close", offsetMs: 0 }), 1_023_400_000);
});
