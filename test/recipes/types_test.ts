/**
 * Tests how a check of recipes determines the types of expressions.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { allStepKinds, stepNames } from "../../lib/recipes/kinds/mod.ts";
import { checkRecipes, compileRecipe, RecipeError } from "../../lib/recipes/mod.ts";
import { temporaryFolder } from "../day_book/simulated.ts";
import { type Noted, stepContext } from "./support.ts";

const now = () => Date.parse("2025-08-15T08:00:00Z");

/** Steps whose outputs the expressions below use. */
const STEPS = `name: types
schedule: { calendar: XHKG, at: close+45m }
params:
  days: 7
  floor: { type: decimal, default: "5000.00" }
  label: { type: text, default: week }
  columns: [date, symbol, fees.total]
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
  - { id: fills, uses: fills.history, with: { market: hk, from: "2025-08-14", to: "2025-08-15" } }
  - { id: orders, uses: orders.today, with: { market: hk } }
  - { id: futures, uses: futures.funds }
  - { id: rates, uses: account.exchangeRates }
  - { id: book, uses: export-day-book, with: { markets: [hk], sessions: 1 } }
`;

/** Returns all mistakes of a text, each as `line:column: message`. */
async function problemsOf(text: string): Promise<string[]> {
  try {
    await compileRecipe(text, "types.yaml", { now });
    return [];
  } catch (error) {
    if (!(error instanceof RecipeError)) throw error;
    return error.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  }
}

/** Returns the mistakes of an expression; places are counted from its start. */
async function wrongIn(expression: string): Promise<string[]> {
  const prefix =
    '  - { id: tell, uses: notify, with: { webhook: "http://127.0.0.1:1/", text: x, data: \'${{ ';
  const line = STEPS.split("\n").length;
  const text = `${STEPS}${prefix}${expression.replaceAll("'", "''")} }}' } }\n`;
  return (await problemsOf(text)).map((problem) => {
    const [, column, message] = /^(\d+):(\d+): steps\.6\.with\.data: ([\s\S]*)$/.exec(problem)?.slice(1) ??
      [];
    assert(problem.startsWith(`${line}:`), problem);
    return `${Number(column) - prefix.length - 1}: ${message}`;
  });
}

Deno.test("a check finds each part of an expression that can never work, with its place", async () => {
  for (
    const [expression, ...wrong] of [
      ["outputs.funds.availble", '14: outputs.funds has no "availble"; did you mean "available"?'],
      ['outputs["funds"].availble', '17: outputs["funds"] has no "availble"; did you mean "available"?'],
      [
        "outputs.fills[0].fees.total + 1",
        '0: outputs.fills[0].fees.total is a number kept as text: write decimalAdd(outputs.fills[0].fees.total, "1")',
      ],
      [
        "outputs.fills.fees.total",
        "14: outputs.fills is a list: take one item of it, outputs.fills[0].fees, or each, outputs.fills.map(x, x.fees)",
      ],
      [
        "outputs.funds.available < 5000",
        '0: outputs.funds.available is a number kept as text: write decimalCompare(outputs.funds.available, "5000") < 0',
      ],
      [
        "outputs.funds.available < params.floor",
        "0: outputs.funds.available is a number kept as text: write " +
        "decimalCompare(outputs.funds.available, params.floor) < 0",
      ],
      [
        'outputs.funds.available == "0"',
        '0: outputs.funds.available is a number kept as text: write decimalCompare(outputs.funds.available, "0") == 0',
      ],
      [
        "daysBefore(slot, params.days)",
        '17: "daysBefore" takes a whole number there, and params.days is a number: write int(params.days)',
      ],
      ["outputs.fills.filter(f, f.feess.total != null)", '26: f has no "feess"; did you mean "fees"?'],
      ["outputs.fills.map(f, f.fees.totl)", '28: f.fees has no "totl"; did you mean "total"?'],
      [
        'outputs.orders.exists(o, o.status == "fliled")',
        '37: o.status is never "fliled"; did you mean "filled"?',
      ],
      ['outputs.orders.filter(o, o.status in ["filled", "done"])', null],
      ["has(outputs.funds.availble)", '18: outputs.funds has no "availble"; did you mean "available"?'],
      ["outputs.futures.netAssets", '16: outputs.futures has no "netAssets"; there are funds'],
      [
        'decimalCompare(outputs.fills, "1")',
        '15: "decimalCompare" takes text there, and outputs.fills is a list',
      ],
      [
        'decimalAdd(params.days, "1")',
        '11: "decimalAdd" takes text there, and params.days is a number: write string(params.days)',
      ],
      ["outputs.book.day", '13: outputs.book has no "day"; did you mean "days"?'],
      [
        "outputs.book.days[0].rows.fils",
        '26: outputs.book.days[0].rows has no "fils"; did you mean "fills"?',
      ],
      ["outputs.book.ok ? 1 : outputs.book.okk", '35: outputs.book has no "okk"; did you mean "ok"?'],
      [
        "outputs.book.rows ? 1 : 2",
        '0: expected true or false before "?", and outputs.book.rows is a number',
      ],
      [
        'outputs.book.ok == "true"',
        '0: outputs.book.ok is true or false and "true" is text, so the result of "==" is always the same',
      ],
      ["session.day", '8: session has no "day"; did you mean "date"?'],
      ["outcome.state", "0: outcome exists only under notify:, at the end of a run"],
      [
        "outputs.funds.available.total",
        '24: outputs.funds.available is a number kept as text, and has no "total"',
      ],
      ["slot + params.days", '0: "+" does not accept text and a number'],
      ["size(params.days)", '0: "size" does not take a number'],
      ["params.days.substring(1)", '0: ".substring" does not accept a number'],
      [
        "decimalDivide(params.floor, params.days, 2)",
        '28: "decimalDivide" takes text there, and params.days is a number: write string(params.days)',
      ],
      // Controls: similar to the ones above, and valid.
      ["outputs.funds.available"],
      ['decimalAdd(outputs.fills[0].fees.total, "1")'],
      ["outputs.fills.map(f, f.fees.total)"],
      ["decimalCompare(outputs.funds.available, params.floor) < 0"],
      ['"Only " + outputs.funds.available + " HKD"'],
      ["daysBefore(slot, int(params.days))"],
      ["outputs.fills.filter(f, has(f.fees.total) && f.fees.total != null)"],
      ['outputs.orders.exists(o, o.status == "filled" || o.status == "unlisted:99")'],
      ["has(outputs.funds.available) ? outputs.funds.available : null"],
      ['has(outputs.funds.available) ? outputs.funds.available : "0"'],
      ["outputs.futures.funds.netAssets"],
      ['outputs.rates["HKD"]["USD"]'],
      ["outputs.book.days.filter(d, d.rows.fills > 3).map(d, d.day)"],
      ["outputs.book.days.exists(d, d.status == 'final') ? session.date : slot.substring(0, 10)"],
      ["previousSession == null || scheduleId == null"],
      ["size(outputs.fills) + params.days * 2 - 1"],
      ['{"n": size(outputs.fills), "x": [1, "a"]}.n + 1'],
      ["cel.bind(f, outputs.fills, size(f))"],
      ["dyn(outputs.funds).anything"],
      ["outputs.fills.map(f, decimalMultiply(f.fillPrice, f.filledQuantity))"],
      ['params.label + " " + string(params.days)'],
    ] as const
  ) {
    const found = await wrongIn(expression);
    if (wrong[0] === null) assert(found.length === 1, `${expression}: ${found}`);
    else assertEquals(found, wrong as readonly unknown[] as string[], expression);
  }
});

/** A recipe of one step after the steps with outputs. */
const withStep = (step: string, more = "") => `${STEPS}  - { id: last, ${step} }\n${more}`;

Deno.test("a check finds columns that no row can have, also from a parameter", async () => {
  const table = (columns: string) =>
    withStep(`uses: convert-report, with: { rows: "\${{ outputs.fills }}", to: a.md, columns: ${columns} }`);
  const line = STEPS.split("\n").length;
  assertEquals(await problemsOf(table("[date, fees.totl]")), [
    `${line}:103: steps.6.with.columns.1: expected a column that the rows have; did you mean "fees.total"?`,
  ]);
  const wrong = table('"${{ params.columns }}"').replace("[date, symbol, fees.total]", "[date, symbl]");
  assertEquals(await problemsOf(wrong), [
    `${line}:96: steps.6.with.columns: expected a column that the rows have; did you mean "symbol"?, and ` +
    'params.columns.1 is "symbl"',
  ]);
  // Controls: columns that rows have, rows of unknown type, and rows that an expression creates.
  for (
    const sound of [
      table("[date, symbol, fees.total, fees]"),
      table('"${{ params.columns }}"'),
      withStep("uses: convert-report, with: { from: a.csv, to: b.md, columns: [anything] }"),
      withStep(
        "uses: convert-report, with: { rows: \"${{ outputs.fills.map(f, {'day': f.date, 'n': f.fees.total}) }}\", " +
          "to: b.md, columns: [day, n] }",
      ),
    ]
  ) assertEquals(await problemsOf(sound), []);
  const made = withStep(
    "uses: convert-report, with: { rows: \"${{ outputs.fills.map(f, {'day': f.date}) }}\", to: b.md, columns: [dy] }",
  );
  assert((await problemsOf(made))[0]?.endsWith('expected a column that the rows have; did you mean "day"?'));
});

Deno.test("a check finds expressions of the wrong type for their place, and values of if that are not true or false", async () => {
  for (
    const [step, wrong] of [
      ["uses: funds-x", "there is no step"],
      [`if: "'yes'", uses: futures.funds`, "if: expected true or false, and 'yes' is text"],
      [
        "if: outputs.book.rows, uses: futures.funds",
        "if: expected true or false, and outputs.book.rows is a number",
      ],
      [
        'uses: account.funds, with: { market: "${{ outputs.fills }}" }',
        "with.market: expected text, and the expression is a list",
      ],
      [
        'uses: export-day-book, with: { markets: [hk], sessions: "${{ params.label }}" }',
        'with.sessions: expected a number, and params.label is "week"',
      ],
      [
        'uses: export-day-book, with: { markets: [hk], sessions: "${{ outputs.book.out }}" }',
        "with.sessions: expected a number, and the expression is text",
      ],
      [
        'uses: convert-report, with: { rows: "${{ outputs.funds }}", to: a.md }',
        "with.rows: expected a list, and the expression is a map of members",
      ],
      [
        'uses: wait-for, with: { price: { security: "00700.HK", atLeast: "${{ params.days }}" } }',
        "with.price.atLeast: expected text, and params.days is 7",
      ],
      [
        "uses: export-day-book, with: { markets: [hk], sessions: \"${{ decimalDivide('1', '0', 2) }}\" }",
        "with.sessions: Cannot evaluate",
      ],
      // Controls.
      ['if: "params.days > 3 && outputs.book.ok", uses: futures.funds', undefined],
      ['if: "true", uses: futures.funds', undefined],
      ['uses: export-day-book, with: { markets: [hk], sessions: "${{ params.days }}" }', undefined],
      ['uses: export-day-book, with: { markets: [hk], sessions: "${{ outputs.book.rows }}" }', undefined],
      [
        'uses: orders.today, with: { market: hk, orderIds: "${{ outputs.orders.map(o, o.orderId) }}" }',
        undefined,
      ],
    ] as const
  ) {
    const problems = await problemsOf(withStep(step));
    if (wrong === undefined) assertEquals(problems, [], step);
    else {assert(
        problems.length > 0 && problems.every((each) => each.includes(wrong)),
        `${step}: ${problems}`,
      );}
  }
});

Deno.test("a check finds wrong names in the texts of notices, which are sent after the run", async () => {
  const notice = (text: string) =>
    withStep(
      "uses: futures.funds",
      `notify:\n  - { on: always, with: { webhook: "http://127.0.0.1:1/", text: "\${{ ${text} }}" } }\n`,
    );
  const line = STEPS.split("\n").length + 2;
  assertEquals(await problemsOf(notice("outcome.stat")), [
    `${line}:78: notify.0.with.text: outcome has no "stat"; did you mean "state"?`,
  ]);
  assertEquals((await problemsOf(notice("outputs.funds.availble"))).length, 1);
  for (const name of ["state", "reason", "failedStep", "error"]) {
    assertEquals(await problemsOf(notice(`outcome.${name}`)), []);
  }
  assertEquals(await problemsOf(notice("outputs.funds.available")), []);
});

Deno.test("a check finds the place of a mistake over several lines and among escaped quotes", async () => {
  const line = STEPS.split("\n").length;
  const folded = `${STEPS}  - id: last
    uses: futures.funds
    if: >-
      decimalCompare(outputs.funds.available,
      outputs.funds.totalAsets) < 0
`;
  assertEquals(await problemsOf(folded), [
    `${line + 4}:21: steps.6.if: outputs.funds has no "totalAsets"; did you mean "totalAssets"?`,
  ]);
  const quoted = `${STEPS}  - { id: last, uses: futures.funds, if: "outputs[\\"book\\"].okk" }\n`;
  assertEquals(await problemsOf(quoted), [
    `${line}:61: steps.6.if: outputs["book"] has no "okk"; did you mean "ok"?`,
  ]);
});

Deno.test("a check rejects session.date if no schedule of the recipe follows an exchange", async () => {
  const recipe = (schedule: string, text: string) =>
    problemsOf(
      `name: x\n${schedule}\nsteps:\n  - { id: a, uses: notify, with: { webhook: "http://127.0.0.1:1/", text: "\${{ ${text} }}" } }\n`,
    );
  const cron = 'schedule: { cron: "0 8 * * *", timezone: Asia/Hong_Kong }';
  assertEquals(await recipe(cron, "session.date"), [
    "4:79: steps.0.with.text: session is null here: no schedule of this recipe follows an exchange",
  ]);
  assertEquals(await recipe(cron, "session == null ? slot : session.date"), []);
  assertEquals(await recipe(cron, "has(session.date) ? session.date : slot"), []);
  assertEquals(await recipe(cron.replace(" }", ", onlyIn: XHKG }"), "previousSession.date"), []);
  // Without a schedule, another recipe or a person decides for which session it runs.
  assertEquals(await recipe("", "session.date"), []);
});

Deno.test("a check rejects a keep-login that runs less than three times within the login's lifetime", async () => {
  const recipe = (every: string, life = "") =>
    problemsOf(
      `name: x\nschedule: { every: ${every} }\nsteps: [{ id: a, uses: keep-login, with: { market: hk${life} } }]\n`,
    );
  assertEquals(await recipe("61m"), [
    '2:20: schedule.every: expected at most 1h: step "a" (keep-login) must run at least three times in the login\'s lifetime',
  ]);
  assertEquals(await recipe("60m"), []);
  assertEquals(await recipe("50m", ", life: 2h"), [
    '2:20: schedule.every: expected at most 40m: step "a" (keep-login) must run at least three times in the login\'s lifetime',
  ]);
  assertEquals(await recipe("40m", ", life: 2h"), []);
});

Deno.test("a check rejects a keep-login by cron or calendar whose slots are too far apart", async () => {
  const recipe = (schedule: string, life = "30m", more = "") =>
    problemsOf(
      `name: x\n${more}schedule: ${schedule}\nsteps: [{ id: a, uses: keep-login, with: { market: hk, life: "${life}" } }]\n`,
    );
  const cron = (pattern: string) => `{ cron: "${pattern}", timezone: Asia/Hong_Kong }`;
  for (
    const [schedule, passed] of [
      [cron("0 */2 * * *"), "2h"],
      [cron("*/20 9-16 * * 1-5"), "20m"],
      [cron("*/10 9-11,13-16 * * *"), "1h10m"],
      [cron("0 9 * * *"), "1d"],
      ["{ calendar: XHKG, at: open+1m }", "1d"],
    ]
  ) {
    const [problem = "none", ...others] = await recipe(schedule!);
    assertEquals([schedule, others], [schedule, []]);
    assert(
      problem.includes("at most 10m between two slots") && problem.includes(`not ${passed};`) &&
        problem.includes("three times in the login's lifetime"),
      problem,
    );
  }
  const byParam = "params: { life: 30m }\n";
  assertEquals((await recipe(cron("0 * * * *"), "${{ params.life }}", byParam)).length, 1);
  assertEquals((await recipe("{ every: 40m }", "${{ params.life }}", byParam)).length, 1);
  // Controls: patterns that run often enough, also around a lunch break and midnight, and a longer lifetime.
  for (const pattern of ["*/10 9-16 * * 1-5", "*/5 21-23,0-4 * * *", "* * * * *"]) {
    assertEquals([pattern, await recipe(cron(pattern))], [pattern, []]);
  }
  assertEquals(await recipe(cron("0 9-16 * * 1-5"), "3h"), []);
  assertEquals(await recipe("{ every: 10m }", "${{ params.life }}", byParam), []);
});

Deno.test("a check reports a member that cannot be combined with the others, a time zone with a reversed sign, and a parameter named pin with a secret", async () => {
  const recipe = (...lines: string[]) =>
    problemsOf(
      ["name: x", ...lines, "steps: [{ id: a, uses: orders.today, with: { market: hk } }]", ""].join("\n"),
    );
  const one = async (...lines: string[]) => (await recipe(...lines)).join("\n");
  assertStringIncludes(
    await one("schedule: { calendar: XHKG, at: open+10m, jitter: 20m }"),
    'schedule.jitter: cannot be used together with "calendar", "at"',
  );
  assertStringIncludes(
    await one("secrets: { t: { env: A, file: b } }"),
    'cannot be used together with "',
  );
  // Control: a name that no form has.
  assertStringIncludes(
    await one("schedule: { calendar: XHKG, at: open+10m, jiter: 20m }"),
    'no such member; did you mean "jitter"?',
  );
  assertStringIncludes(
    await one('schedule: { cron: "0 9 * * *", timezone: Etc/GMT+8 }'),
    'expected the IANA name of a place such as "Asia/Hong_Kong": "Etc/GMT+8" means UTC-8',
  );
  for (const zone of ["Asia/Hong_Kong", "UTC"]) {
    assertEquals(await one(`schedule: { cron: "0 9 * * *", timezone: ${zone} }`), "");
  }
  for (const param of ['pin: "123456"', "pin: 123456", "tradePwd: x", "api_token: x"]) {
    assertStringIncludes(await one(`params: { ${param} }`), "expected no secret");
  }
  for (const param of ["pin: true", "spin: 3", "tokens: 5", 'opinion: "x"']) {
    assertEquals(await one(`params: { ${param} }`), "");
  }
});

Deno.test("a check suggests a fix for a duration without a unit, a secret without a source, and an offset as a time zone", async () => {
  const recipe = (...lines: string[]) =>
    problemsOf(["name: x", ...lines, "steps:", "  - { id: a, uses: futures.funds }", ""].join("\n"));
  const cron = (zone: string) => `schedule: { cron: "0 8 * * *", timezone: ${zone} }`;
  for (
    const [line, ...wrong] of [
      ["timeout: 30", '2:10: timeout: expected a span of time with its unit: "30s" or "30m"'],
      [
        "secrets: { pw: x }",
        "2:16: secrets.pw: expected where the secret comes from: { env: NAME }, { file: path } or " +
        "{ command: [program, argument] }",
      ],
      [
        cron('"+08:00"'),
        '2:42: schedule.timezone: expected the IANA name of a place such as "Asia/Hong_Kong": an offset is not a time zone',
      ],
      [
        cron("UTC+8"),
        '2:42: schedule.timezone: expected the IANA name of a place such as "Asia/Hong_Kong": an offset is not a time zone',
      ],
      [
        cron("asia/hong_kong"),
        '2:42: schedule.timezone: expected the standard spelling "Asia/Hong_Kong"',
      ],
      [
        "params: { password: hunter2 }",
        "2:21: params.password: expected no secret: parameters are stored and shown; write " +
        'secrets: { password: { env: NAME } } and "${secret:password}"',
      ],
      [
        "params: { apiToken: { type: text } }",
        "2:11: params.apiToken: expected no secret: parameters are stored and shown; write " +
        'secrets: { api-token: { env: NAME } } and "${secret:api-token}"',
      ],
      [
        'ping: "${secret:nope}"',
        '2:7: ping: there is no secret "nope": declare it as secrets: { nope: { env: NAME } }',
      ],
      ["timeout: 0s", '2:10: timeout: expected a duration above zero, such as "1m"'],
      ["deadline: 0m", '2:11: deadline: expected a duration above zero, such as "1m"'],
      [
        "connect: { simulator: { at: tomorrow, seed: -1 } }",
        '2:29: connect.simulator.at: expected a time with its offset, such as "2025-08-15T10:00:00+08:00"',
        "2:45: connect.simulator.seed: expected a whole number from 0 to 4294967295",
      ],
      // Controls.
      ["timeout: 30s"],
      ["secrets: { pw: { env: PW } }"],
      ["connect: { simulator: { at: 2025-08-15T10:00:00+08:00, seed: 7 } }"],
      [cron("Asia/Hong_Kong")],
      [cron("UTC")],
      [cron("Etc/UTC")],
      ["params: { passwordless: yes, tokens: 5, keyword: x }"],
    ]
  ) assertEquals(await recipe(line!), wrong, line);
  const hook = (...lines: string[]) =>
    problemsOf(
      ["name: x", ...lines, "steps:", '  - { id: a, uses: notify, with: { webhook: "${secret:hook}" } }', ""]
        .join("\n"),
    );
  assertEquals(await hook(), [
    '3:45: steps.0.with.webhook: there is no secret "hook": declare it as secrets: { hook: { env: NAME } }',
  ]);
  assertEquals(await hook("secrets: { hook: { env: HOOK } }"), []);
});

Deno.test("a check finds why a run of another recipe would be rejected", async () => {
  using folder = temporaryFolder();
  const write = (name: string, text: string) =>
    Deno.writeTextFile(`${folder.path}/${name}.yaml`, `name: ${name}\n${text}`);
  await write(
    "inner",
    "params: { day: { type: date }, count: 3 }\nsteps: [{ id: funds, uses: account.funds, with: { market: hk } }]\n",
  );
  await write("simulated", "connect: simulator\nsteps: [{ id: funds, uses: futures.funds }]\n");
  const outer = async (step: string, rest = "") => {
    await write("outer", `steps:\n  - { id: run, uses: run, with: { ${step} } }\n${rest}`);
    const { files } = await checkRecipes([{ path: `${folder.path}/outer.yaml` }], { now });
    return files[0]!.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  };
  const last = (text: string) =>
    `  - { id: last, uses: notify, with: { webhook: "http://127.0.0.1:1/", text: "\${{ ${text} }}" } }\n`;
  const given = 'recipe: inner, params: { day: "2025-08-15" }';
  for (
    const [step, rest, ...wrong] of [
      ["recipe: inner", "", '3:27: steps.0.with.params: expected "day", a date such as "2025-08-15"'],
      [
        "recipe: inner, params: { day: friday }",
        "",
        '3:65: steps.0.with.params.day: expected a date such as "2025-08-15"',
      ],
      [
        'recipe: inner, params: { day: "2025-08-15", cuont: 1 }',
        "",
        '3:79: steps.0.with.params.cuont: no such parameter; did you mean "count"?',
      ],
      [
        'recipe: inner, params: { day: "2025-08-15", count: "${{ slot }}" }',
        "",
        "3:86: steps.0.with.params.count: expected a number, and the expression is text",
      ],
      [
        "recipe: simulated",
        "",
        '3:43: steps.0.with.recipe: "simulated" is meant for the simulator, and this recipe is not: give both the same connect',
      ],
      [
        given,
        last("outputs.run.funds.availble"),
        '4:100: steps.1.with.text: outputs.run.funds has no "availble"; did you mean "available"?',
      ],
      // Controls.
      [given, last("outputs.run.funds.available")],
      ['recipe: inner, params: { day: "${{ slot.substring(0, 10) }}", count: 4 }', ""],
    ] as const
  ) assertEquals(await outer(step, rest), wrong as readonly string[], step);
});

Deno.test("a check uses the outputs that a custom step declares, or none if it declares none", async () => {
  using folder = temporaryFolder();
  const from = JSON.stringify(import.meta.resolve("../../lib/recipes/define.ts"));
  const write = (name: string, outputs: string) =>
    Deno.writeTextFile(
      `${folder.path}/${name}_step.ts`,
      `import { defineStep } from ${from};
export default defineStep({
  effect: "local",
  params: { token: { type: "text", default: "" } },
  ${outputs}
  run: () => ({ ok: true, count: "three", day: "2025-08-15" }),
});
`,
    );
  await write("declared", 'outputs: { count: { type: "integer" }, day: { type: "date" } },');
  await write("free", "");
  await write("strange", 'outputs: { count: { type: "whole" } },');
  const recipe = (uses: string, text: string, given = "{}") =>
    `name: x
steps:
  - { id: mine, uses: ./${uses}_step.ts, with: ${given} }
  - { id: last, uses: notify, with: { webhook: "http://127.0.0.1:1/", text: "\${{ ${text} }}" } }
`;
  const path = `${folder.path}/x.yaml`;
  const problems = async (...given: Parameters<typeof recipe>) => {
    const { files } = await checkRecipes([{ path, text: recipe(...given) }], { now });
    return files[0]!.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  };
  assertEquals(await problems("declared", "outputs.mine.cuont"), [
    '4:95: steps.1.with.text: outputs.mine has no "cuont"; did you mean "count"?',
  ]);
  assertEquals(await problems("declared", "outputs.mine.count + outputs.mine.day"), [
    '4:82: steps.1.with.text: "+" does not accept a number and text',
  ]);
  assertEquals(await problems("declared", "outputs.mine.ok ? string(outputs.mine.count + 1) : slot"), []);
  assertEquals(await problems("free", "outputs.mine.anything + 1"), []);
  assertEquals(await problems("strange", "slot"), [
    '3:23: steps.0.uses: Cannot use step "strange_step.ts": the type of "count" in its outputs is not one of text, number, ' +
    "integer, boolean, decimal, date, list",
  ]);
  assertEquals(await problems("declared", "slot", "{ token: hunter2 }"), [
    '3:58: steps.0.with.token: expected a reference such as "${secret:name}": a recipe must not contain secrets',
  ]);
  // An output that differs from the declaration is reported; the step's work is done anyway.
  const noted: Noted = { artifacts: [], logs: [] };
  const compiled = await compileRecipe(recipe("declared", "slot"), path, { now });
  assertEquals(await compiled.steps[0]!.run(stepContext(undefined, {}, noted)), {
    ok: true,
    count: "three",
    day: "2025-08-15",
  });
  assertEquals(noted.logs, [
    'step "./declared_step.ts": its output "count" is declared as a whole number, and is something else',
  ]);
});

Deno.test("a check rejects a wait for the session's fees if no slot has a session, and a notice that runs a recipe", async () => {
  const cron = 'schedule: { cron: "0 8 * * *", timezone: Asia/Hong_Kong }';
  const wait = (schedule: string, more = "") =>
    problemsOf(
      `name: x\n${schedule}\nsteps:\n  - { id: a, uses: wait-for, with: { feesCleared: { markets: [hk]${more} } } }\n`,
    );
  assertEquals(await wait(cron), [
    "4:38: steps.0.with.feesCleared: expected day, such as a date: no schedule of this recipe follows an exchange",
  ]);
  assertEquals(await wait(cron, ', day: "2025-08-15"'), []);
  assertEquals(await wait("schedule: { calendar: XHKG, at: close+1h }"), []);
  assertEquals(
    await problemsOf(
      "name: x\nsteps: [{ id: a, uses: futures.funds }]\nnotify: [{ on: always, uses: run, with: { recipe: y } }]\n",
    ),
    ["3:30: notify.0.uses: expected a step that sends a message: a notice cannot run a recipe"],
  );
});

Deno.test("every built-in step is loaded by its own name", async () => {
  assertEquals((await allStepKinds()).map(({ name }) => name), stepNames);
});

Deno.test("every built-in step except run describes its output", async () => {
  for (const { name, output } of await allStepKinds()) {
    assertEquals(output === undefined, name === "run", name);
  }
});

Deno.test("a short expression cannot build a type whose size grows exponentially", async () => {
  // Each layer uses the one before twice, so thirty layers have 2^30 parts.
  const layers = (body: string) => `[1]${`.map(v, ${body})`.repeat(30)}`;
  const conditions = [
    `size(${layers("{'x': v, 'y': v}")}) > 0`,
    `size(${layers("[v, {'x': v}]")}) > 0`,
    `size(${layers("true ? {'x': v, 'y': v} : {'z': v}")}) > 0`,
    `size(${layers("cel.bind(w, {'x': v, 'y': v}, [w, w])")}) > 0`,
    `size(${"[".repeat(20)}1${"]".repeat(20)}) > 0`,
  ];
  for (const condition of conditions) {
    const text = `${STEPS}  - { id: last, uses: account.funds, with: { market: hk }, if: ${
      JSON.stringify(`\${{ ${condition} }}`)
    } }\n`;
    const { steps } = await compileRecipe(text, "types.yaml");
    assertEquals(steps.at(-1)?.id, "last", condition.slice(0, 40));
  }
});
