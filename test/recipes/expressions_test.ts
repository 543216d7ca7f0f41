import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { StepScope } from "../../lib/recipes/compiled.ts";
import {
  readAt,
  readDuration,
  readSessionTime,
  readSpan,
  showDuration,
} from "../../lib/recipes/compile/written_times.ts";
import { sessionTimeOf } from "../../lib/calendars/mod.ts";
import { Environment } from "@marcbachmann/cel-js";
import { Budget, costs } from "../../lib/recipes/expressions/budget.ts";
import { compileText } from "../../lib/recipes/compile/compile_recipe.ts";
import { compileExpression } from "../../lib/recipes/expressions/expressions.ts";
import { ExpressionError } from "../../lib/recipes/recipe_error.ts";
import { linearPattern } from "../../lib/recipes/expressions/linear_pattern.ts";
import { readTemplate } from "../../lib/recipes/expressions/templates.ts";
import { stepContext } from "./support.ts";

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

Deno.test("expressions cannot access anything outside their scope, and have a maximum depth and length", () => {
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

Deno.test("an expression with more than 60 signs before a value is a mistake, even with 100,000 signs", () => {
  for (const [sign, value] of [["!", "true"], ["-", "1"], ["- ", "params.sessions"]] as const) {
    for (const count of [61, 1900, 100_000]) {
      const compiled = compileExpression(`${sign.repeat(count)}${value}`);
      assertEquals(
        "problem" in compiled && compiled.problem,
        'there are more than 60 "!" or "-" before a value',
      );
    }
  }
  assertEquals(valueOf(`${"!".repeat(60)}true`), true);
  assertEquals(valueOf(`"${"-".repeat(1000)}"`), "-".repeat(1000));
});

/** A scope with lists and a text that are large enough to keep a process busy for hours. */
const large: StepScope = {
  ...scope,
  params: { ids: Array.from({ length: 1000 }, (_, at) => at), text: "x".repeat(900_000) },
  outputs: {
    digits: "1".repeat(900_000),
    wide: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])),
    fills: {
      rows: Array.from({ length: 90_000 }, (_, at) => ({ market: at % 2 ? "hk" : "us", price: "12.5" })),
    },
  },
};

function refusalOf(source: string): string {
  const compiled = compileExpression(source);
  if ("problem" in compiled) return compiled.problem;
  return assertThrows(() => compiled.evaluate(large, new Budget('step "a"')), ExpressionError).message;
}

Deno.test("an expression ends when its budget is used up, even if it nests loops, hides an error or multiplies lists", () => {
  const all = (inner: string) => `params.ids.all(a, params.ids.all(b, params.ids.all(c, ${inner})))`;
  const tens = (name: string) => `[${Array(10).fill(name).join(", ")}]`;
  const bound = (inner: string) =>
    ["a", "b", "c", "d", "e", "f", "g", "h"].reduceRight(
      (rest, name, at, names) => `cel.bind(${name}, ${tens(names[at - 1] ?? "0")}, ${rest})`,
      inner,
    );
  const spent = [
    all("a + b + c >= 0"),
    `${all("a + b + c >= 0")} || true`, // `||` ignores an error on one side
    `params.ids.exists(d, !${all("a + b + c >= 0")})`,
    "params.ids.map(a, params.ids.map(b, params.ids.filter(c, c == a)))",
    "outputs.fills.rows.filter(a, a in outputs.fills.rows)",
    "params.ids.exists(a, params.text.matches('y'))",
    "params.ids.map(a, params.text.split(''))",
    "params.ids.map(a, params.ids.map(b, timestamp(slot).getHours('Asia/Tokyo')))",
    bound("h"), // small in memory, but a hundred million values when written out
    bound("[h] == [h]"),
  ];
  for (const source of spent) {
    assertEquals(
      refusalOf(source),
      `Cannot evaluate "${source}" of step "a": it takes more than 5000000 steps of evaluation: use a smaller ` +
        "list or a custom step",
    );
  }
  assertStringIncludes(
    refusalOf("params.text + params.text"),
    "it makes a text of more than 1000000 characters",
  );
  assertStringIncludes(refusalOf("decimalDivide('1', '3', 1000000000)"), "expected 0 to 100 places");
  assertStringIncludes(refusalOf("decimalRound('1', -1)"), "expected 0 to 100 places");
  assertStringIncludes(refusalOf(`decimalMultiply('${"9".repeat(1001)}', '9')`), "expected at most 1000");
});

Deno.test("a budget counts the work of a function before the function starts", () => {
  const doubled = (list: string, times: number) => `${list}${".map(x, x + x)".repeat(times)}[0]`;
  const ones = (count: number) => `'${"1".repeat(count)}'`;
  assertStringIncludes(
    refusalOf(`size(${doubled(`[bytes("${"a".repeat(1000)}")]`, 14)}) > 1`),
    "it makes more than 1000000 bytes",
  );
  assertStringIncludes(
    refusalOf(`duration(${ones(101)}) > duration('1s')`),
    "the text of duration() has 101 characters: expected at most 100",
  );
  // The package reads digits without a unit in quadratic time: a second for two hundred such texts.
  assertStringIncludes(
    refusalOf(`duration(${ones(100)}) > duration('1s')`),
    `cannot read "${"1".repeat(100)}" as a duration`,
  );
  for (const text of ["h", "-", "1h2", ".s", "1 h", "1e3s"]) {
    assertStringIncludes(refusalOf(`duration('${text}') > duration('1s')`), "as a duration", text);
  }
  assertEquals(valueOf("duration('1h') > duration('59m59s')"), true);
  assertEquals(valueOf("duration('-1.5h.5s') + duration('90m500ms') == duration('+0s')"), true);
  // A pattern that tries again at every digit would take half an hour here.
  assertStringIncludes(refusalOf("double(outputs.digits + 'x') > 0.0"), "as a number");
  assertStringIncludes(refusalOf("[params.text, params.text].join()"), "makes a text of more than");
  assertStringIncludes(refusalOf("params.ids.map(a, '').join(params.text)"), "makes a text of more than");
  const slow = [
    "params.ids.map(a, params.ids.map(b, bytes(params.text) == bytes(params.text)))",
    "params.text.contains('y' + params.text.substring(450000))",
    "params.text.indexOf('y' + params.text.substring(450000)) > 0",
    "params.text.lastIndexOf(params.text.substring(450000) + 'y') > 0",
    "size(params.text.split(params.text.substring(450000) + 'y')) > 0",
    "params.ids.map(a, size(outputs.wide))",
    "params.ids.map(a, outputs.wide.exists(k, true))",
    "params.ids.map(a, size([outputs.wide]))",
    "params.ids.exists(a, params.ids.exists(b, int('x') == b))", // makes an error each time
    "params.ids.exists(a, bytes('[' + params.text.substring(10) + ']').json() == {})",
  ];
  for (const source of slow) assertStringIncludes(refusalOf(source), "steps of evaluation", source);
  assertEquals(
    valueOf("'aab'.contains('ab') && 'aab'.indexOf('b') == 2 && 'aab'.lastIndexOf('a') == 1"),
    true,
  );
  assertEquals(valueOf("'a,b'.split(',').join('+')"), "a+b");
  assertEquals(valueOf(`string(bytes('a') + bytes('b')) == 'ab' && bytes('{"a": 1}').json().a == 1.0`), true);
});

Deno.test("a function that takes long costs more steps of evaluation", () => {
  const stepsOf = (source: string) => {
    const compiled = compileExpression(source);
    if ("problem" in compiled) throw new TypeError(compiled.problem);
    const work = { most: 1_000_000, left: 1_000_000 };
    compiled.evaluate(large, new Budget('step "a"', { run: work }));
    return work.most - work.left;
  };
  const cases: [source: string, least: number][] = [
    [`duration('${"1h".repeat(50)}') > duration('1s')`, 140],
    ["timestamp('2025-08-15T02:00:00Z') > timestamp('2025-08-14T02:00:00Z')", 60],
    ["timestamp('2025-08-15T02:00:00Z').getDayOfYear() > 0", 50],
    ["bytes('{}').json() == {}", 50],
    ["'abc'.matches('c')", 120],
    [`'${"a".repeat(1000)}'.matches('b')`, 600],
  ];
  for (const [source, least] of cases) assert(stepsOf(source) >= least, `${source}: ${stepsOf(source)}`);
});

Deno.test("json() rejects a text that it would change", () => {
  const cases: [json: string, text: string][] = [
    ['{"quantity": 12345678901234567890}', "the number 12345678901234567890 would lose digits"],
    ['{"a": [{"b": 1, "b": 2}]}', 'the JSON text has "b" twice'],
  ];
  for (const [json, text] of cases) {
    assertThrows(() => valueOf(`bytes('${json}').json().a == 1.0`), Error, text);
  }
  assertEquals(valueOf(`bytes('{"a": "12345678901234567890"}').json().a`), "12345678901234567890");
});

Deno.test("every function of expressions has a cost", () => {
  const offered = new Environment().getDefinitions().functions.map(({ name }) => name);
  assertEquals(offered.filter((name) => costs[name] === undefined), []);
});

Deno.test("expressions over a whole day of fills stay within their budget", () => {
  const valueIn = (source: string) => {
    const compiled = compileExpression(source);
    if ("problem" in compiled) throw new TypeError(compiled.problem);
    return compiled.evaluate(large);
  };
  const filter = 'outputs.fills.rows.filter(f, f.market == "hk" && decimalCompare(f.price, "0") > 0)';
  assertEquals(valueIn(`size(${filter})`), 45_000);
  assertEquals((valueIn('outputs.fills.rows.map(f, {"m": f.market})') as unknown[]).length, 90_000);
  assertEquals(valueIn("params.text.matches('^(x+)+y')"), false);
  assertEquals(valueIn("decimalDivide('1', '3', 100)"), `0.${"3".repeat(100)}`);
});

Deno.test("a budget is shared by the expressions of a step", async () => {
  const { template } = await readTemplate({
    list: Array.from({ length: 40 }, () => "${{ outputs.fills.rows.all(f, f.market != 'x') }}"),
  }, []);
  const fill = (budget?: Budget) =>
    template.fill(large, () => Promise.reject(new TypeError("none")), { budget });
  const error = await assertRejects(() => fill(new Budget('step "a"')), ExpressionError);
  assertStringIncludes(error.message, 'of step "a": it takes more than 5000000 steps');
  await fill();
});

Deno.test("the expressions of a run share a budget, in conditions and in parameters", async () => {
  const text = JSON.stringify({
    name: "r",
    params: { ids: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    steps: [{
      id: "a",
      uses: "fills.today",
      if: "params.ids.all(a, params.ids.all(b, params.ids.all(c, a + b + c > 0)))",
      with: { market: "${{ params.ids.all(a, a > 0) ? 'hk' : 'us' }}" },
    }],
  });
  const [step] = (await compileText({ text, fileName: "r.json" }, {})).steps;
  const work = { most: 20_000, left: 20_000 };
  const params = { ids: Array.from({ length: 9 }, (_, at) => at + 1) };
  const decide = () => step!.condition!({ ...scope, params, work });
  assertEquals(decide(), true);
  assert(work.left > 0 && work.left < 18_000, `${work.left}`);
  const expected = "the expressions of this run take more than 20000 steps";
  assertThrows(
    () => {
      for (let count = 0; count < 100; count++) decide();
    },
    ExpressionError,
    expected,
  );
  assertThrows(decide, ExpressionError, expected);
  const run = () => step!.run(stepContext(undefined, { params, work }));
  await assertRejects(run, ExpressionError, expected);
});

Deno.test("matches() takes time only in proportion to its text, and matches like RE2", () => {
  const doesFit = (text: string, pattern: string) =>
    valueOf(`${JSON.stringify(text)}.matches(${JSON.stringify(pattern)})`);
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a*)*b?$", "(a?){30}a{30}b", "(.*)(.*)(.*)(.*)c$"]) {
    assertEquals(doesFit(`${"a".repeat(5_000)}!`, pattern), false, pattern);
  }
  const yes = [
    ["00700.HK", "^\\d{5}\\.HK$"],
    ["AAPL", "^[A-Z]+$"],
    ["a-b_c", "^[\\w-]+$"],
    ["Straße", "(?i)STRASSE|straße"],
    ["one two", "\\btwo\\b"],
    ["x\ny", "(?m)^y$"],
    ["aaa", "^a{2,3}$"],
    ["ab", "^(?:a|b){2}$"],
    ["香港", "^\\p{Han}+$"],
    ["𝄞", "^.$"],
    ["", "^$"],
    ["a]b", "[]]"],
    ["7", "[[:digit:]]"],
  ];
  for (const [text, pattern] of yes) assertEquals(doesFit(text!, pattern!), true, `${text} ${pattern}`);
  const no = [["AAPL.US", "^[A-Z]+$"], ["one twos", "\\btwo\\b"], ["aaaa", "^a{2,3}$"], ["x\ny", "^y$"], [
    "b",
    "^a|c$",
  ]];
  for (const [text, pattern] of no) assertEquals(doesFit(text!, pattern!), false, `${text} ${pattern}`);
  const wrong = [
    ["(?=a)", 'look-arounds such as "(?=" are not supported'],
    ["(a)\\1", 'back-references such as "\\1" are not supported'],
    ["(a", 'a group has no ")"'],
    ["[a", 'the class "[a" has no "]"'],
    ["a{3,2}", "the count {3,2} has the larger number first, or is larger than 1000"],
    ["(a{1000}){1000}", "its counts make it too large"],
    ["*a", "a repetition has nothing to repeat"],
  ];
  for (const [pattern, reason] of wrong) {
    const compiled = compileExpression(`slot.matches(${JSON.stringify(pattern)})`);
    assertEquals(compiled, {
      problem: `cannot read the pattern ${JSON.stringify(pattern)}: ${reason}`,
      offset: 13,
    });
  }
});

Deno.test("compileExpression() returns the outputs and parameters that are read", () => {
  const compiled = compileExpression('outputs["day-book"].rows > params.n && has(outputs.funds.available)');
  assert("evaluate" in compiled);
  assertEquals([[...compiled.outputs], [...compiled.params]], [["day-book", "funds"], ["n"]]);
});

Deno.test("readTemplate() keeps the type of a single expression, and inserts other expressions into the text", async () => {
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

Deno.test("readTemplate() does not insert secrets that a value refers to", async () => {
  const { template } = await readTemplate({ text: "${{ params.symbols[0] }} ${{ recipe }}" }, []);
  const params = { symbols: ["${secret:trade-password}"] };
  const filled = await template.fill(
    { ...scope, params },
    () => Promise.reject(new Error("asked for a secret")),
  );
  assertEquals(filled, { text: "${secret:trade-password} test" });
});

Deno.test("readDuration() reads spans with the largest unit first, and showDuration() writes them", () => {
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

Deno.test("readSessionTime(), readAt() and readSpan() read times of a session", () => {
  assertEquals(readSessionTime("close+45m"), { anchor: "close", offsetMs: 2_700_000 });
  assertEquals(readSessionTime("open-1h"), { anchor: "open", offsetMs: -3_600_000 });
  assertEquals([readSessionTime("closing"), readSessionTime("close+"), readSessionTime("close 5m")], [
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
  assertEquals(
    sessionTimeOf("XHKG", day, { anchor: "auction-close", offsetMs: 60_000 }),
    1_023_400_000 + 660_000,
  );
  assertEquals(sessionTimeOf("XNYS", day, { anchor: "auction-close", offsetMs: 0 }), 1_023_400_000);
});

Deno.test("matches() rejects nested repetitions before they take time, even repetitions of an empty group", () => {
  for (
    const pattern of ["(((){1000}){1000}){1000}", "((((){1000}){1000}){1000}){1000}", "((a{100}){100}){100}"]
  ) {
    assertThrows(() => linearPattern(pattern), SyntaxError, "too large");
  }
  assert(linearPattern("(a{10}){10}").test("a".repeat(100)), "the control");
});

Deno.test("an expression never turns a value silently into another one", () => {
  assertEquals(valueOf("[uint(5), 6u]"), [5, 6]);
  assertEquals(valueOf("uint('18446744073709551615')"), "18446744073709551615");
  assertEquals(valueOf("[int('-5'), int('007'), double('1e3'), double('.5'), double('-2.')]"), [
    -5,
    7,
    1000,
    0.5,
    -2,
  ]);
  assertEquals(valueOf("timestamp('2024-02-29T00:00:00Z')"), "2024-02-29T00:00:00.000Z");
  for (
    const [source, problem] of [
      ["1.0 / 0.0", "its value is Infinity"],
      ["{'a': [0.0 / 0.0]}", "its value is NaN"],
      ["duration('1h')", "its value is a duration"],
      ["bytes('ab')", "a list of bytes"],
      ["[type(1)]", "or a type"],
      ["int('')", 'cannot read "" as a number'],
      ["uint('')", 'cannot read "" as a number'],
      ["int('0b11')", 'cannot read "0b11" as a number'],
      ["double('0x10')", 'cannot read "0x10" as a number'],
      ["timestamp('2025-02-30T00:00:00Z')", "2025-02-30"],
    ] as const
  ) assertStringIncludes(assertThrows(() => valueOf(source), ExpressionError, problem).message, source);
});
