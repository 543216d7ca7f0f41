import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { Cron } from "croner";
import { narrowedLimits, readLimits } from "../../lib/client/limits.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { lastSessions } from "../../lib/recipes/kinds/export_day_book.ts";
import {
  bindParams,
  checkRecipes,
  compileRecipe,
  defineRecipe,
  loadRecipe,
  RecipeError,
  recipeJsonSchema,
  runRecipe,
} from "../../lib/recipes/mod.ts";
import { SATURDAY, simulated, temporaryFolder } from "../day_book/simulated.ts";

const now = () => Date.parse("2025-08-15T12:00:00Z");

/** Returns the mistakes of a recipe, as `line:column: message`. */
async function problemsOf(text: string, name = "my.yaml"): Promise<string[]> {
  const error = await assertRejects(() => compileRecipe(text, name, { now }), RecipeError);
  for (const { line, column } of error.issues) {
    assertStringIncludes(error.message, `${name}:${line}:${column}: `);
  }
  return error.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

const read = "steps: [{ id: a, uses: account.funds, with: { market: hk } }]\n";
const write =
  'steps: [{ id: a, uses: orders.cancel, with: { market: hk, symbol: "00700.HK", orderId: "1" } }]\n';

Deno.test("compileRecipe() reports every mistake at once, each by line and column and with the nearest name", async () => {
  assertEquals(
    await problemsOf(`name: End of day
steps:
  - id: first
    uses: export-day-book
    with:
      markets: [hk, nyse]
      sessions: \${{ params.session }}
      format: [csv]
  - id: first
    uses: account.fund
  - id: third
    use: fills.history
  - id: fourth
    uses: fills.history
    if: outputs.firs.ok
    with:
      market: hk
      from: 2025-08-15
      to: 2025-08-14
params: { sessions: 5 }
schedule:
  - { id: cron, cron: 0 25 * * *, timezone: Asia/Hong_Kong }
  - { id: cron, cron: 0 20 * * *, timezone: Asia/HongKong }
  - { calendar: XHKX, at: close+45m }
overlap: paralel
`),
    [
      "1:7: name: expected a name of small letters, digits and hyphens",
      '6:21: steps.0.with.markets.1: expected one of "hk", "us", "shenzhen", "shanghai"',
      '7:17: steps.0.with.sessions: there is no parameter "session"; did you mean "sessions"?',
      '8:7: steps.0.with.format: no such member; did you mean "formats"?',
      '9:9: steps.1.id: expected another id: "first" is taken by an earlier step',
      '10:11: steps.1.uses: there is no step "account.fund"; did you mean "account.funds"?',
      "11:5: steps.2.uses: expected text",
      '12:5: steps.2.use: no such member; did you mean "uses"?',
      '15:9: steps.3.if: there is no step "firs"; did you mean "first"?',
      '19:11: steps.3.with.to: expected a day that is not before "2025-08-15"',
      "22:23: schedule.0.cron: expected a cron pattern (Invalid value for hour: 25)",
      '23:11: schedule.1.id: expected another id: "cron" is taken by an earlier schedule',
      '23:45: schedule.1.timezone: expected a time zone; did you mean "Asia/Hong_Kong"?',
      "24:5: schedule.2: expected an id: with several schedules each needs its own, because run keys contain it",
      '24:17: schedule.2.calendar: expected one of "XHKG", "XNYS", "XSHG", "XSHE", "CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"; did you mean "XHKG"?',
      '25:10: overlap: expected one of "skip", "queue", "cancel", "parallel"; did you mean "parallel"?',
    ],
  );
});

Deno.test("compileRecipe() checks cron patterns, zones, and that several schedules have an id each", async () => {
  const schedules = `schedule:
  - { id: a, cron: 0 25 * * *, timezone: Asia/Hong_Kong }
  - { id: b, cron: 0 20 * * *, timezone: Asia/HongKong }
  - { id: b, calendar: XHKG, at: close+45m }
  - { calendar: XHKG, at: close+1h }
  - { id: c, every: 20m, while: XHKG.open-30m..XNYS.close, jitter: 20m }
`;
  assertEquals(await problemsOf(`name: x\n${schedules}${read}`), [
    "3:20: schedule.0.cron: expected a cron pattern (Invalid value for hour: 25)",
    '4:42: schedule.1.timezone: expected a time zone; did you mean "Asia/Hong_Kong"?',
    '5:11: schedule.2.id: expected another id: "b" is taken by an earlier schedule',
    "6:5: schedule.3: expected an id: with several schedules each needs its own, because run keys contain it",
    "7:33: schedule.4.while: expected one and the same calendar at both ends",
    "7:68: schedule.4.jitter: expected less than the time between two slots",
  ]);
});

Deno.test("compileRecipe() reports the mistakes of each schedule, even next to a schedule of an invalid form", async () => {
  const text = `name: x
schedule:
  - { id: a, cron: "61 25 * * *", timezone: Asia/HongKong }
  - { id: b, cron: 0 20 * * 1-5 }
  - { id: b, calendar: XHKG, at: clsoe+45m }
  - { id: c, cron: 0 24 * * * }
  - { id: d, every: 1h, while: XHKG.opne-30m..XHKG.close+2h }
`;
  assertEquals(await problemsOf(`${text}${read.replace("funds", "fund")}`), [
    "3:20: schedule.0.cron: expected a cron pattern (Invalid value for minute: 61; Invalid value for hour: 25)",
    '3:45: schedule.0.timezone: expected a time zone; did you mean "Asia/Hong_Kong"?',
    '4:5: schedule.1.timezone: expected a time zone such as "Asia/Hong_Kong"',
    '5:11: schedule.2.id: expected another id: "b" is taken by an earlier schedule',
    '5:34: schedule.2.at: expected a session time such as "close+45m" or "open-10m", or a time of day ' +
    'such as "09:25"; did you mean "close+45m"?',
    '6:5: schedule.3.timezone: expected a time zone such as "Asia/Hong_Kong"',
    "6:20: schedule.3.cron: expected a cron pattern (Invalid value for hour: 24)",
    '7:32: schedule.4.while: expected a part of the session such as "XHKG.open-30m..XHKG.close+2h"; ' +
    'did you mean "open-30m"?',
    '8:24: steps.0.uses: there is no step "account.fund"; did you mean "account.funds"?',
  ]);
});

Deno.test("compileRecipe() rejects aliases that expand to too much, to nothing or to themselves", async () => {
  const list = (name: string) => `[${Array(10).fill(`*${name}`).join(", ")}]`;
  const bomb = `name: x\na: &a [1, 2, 3]\nb: &b ${list("a")}\nc: &c ${list("b")}\nd: &d ${list("c")}\n`;
  assertEquals(await problemsOf(bomb), [
    '5:12: aliases such as "*c" expand to more than 1000 values: write them out',
  ]);
  assertEquals(await problemsOf("name: *x\n"), ['1:7: there is no "&x" before this "*x"']);
  assertEquals(await problemsOf("name: x\na: &a [*a]\n"), [
    '2:8: "*a" is inside the value that it refers to',
  ]);
  const shared = "params: { a: &m hk, b: *m }\n";
  assertEquals((await compileRecipe(`name: x\n${shared}${read}`, "x.yaml", { now })).params, {
    a: "hk",
    b: "hk",
  });
});

Deno.test("compileRecipe() reports the place of a JSON syntax error", async () => {
  const of = (text: string) => problemsOf(text, "my.json");
  assertEquals(await of('{\n  "name": "x",\n  "steps": [1,\n  ]\n}\n'), [
    '4:3: this is not JSON: unexpected "]"',
  ]);
  assertEquals(await of('{\n  "name" "x"\n}\n'), [
    "2:10: this is not JSON: expected ':' after property name",
  ]);
  assertEquals(await of('{\n  "name": tru }'), ['2:14: this is not JSON: unexpected " "']);
  assertEquals(await of("{} {}"), ["1:4: this is not JSON: more text follows after the end of the value"]);
  assertEquals(await of('["x"'), ["1:5: this is not JSON: expected ',' or ']' after array element"]);
  assertEquals(await of(""), ["1:1: this is not JSON: unexpected end of the text"]);
});

Deno.test("compileRecipe() reports the place of a mistake inside an expression, with an explanation", async () => {
  const of = async (expression: string) =>
    (await problemsOf(`name: x
steps:
  - id: a
    uses: account.funds
    with: { market: "\${{ ${expression} }}" }
`))[0];
  const at = (column: number, reason: string) =>
    `5:${column}: steps.0.with.market: cannot read the expression ${reason}`;
  assertEquals(await of("1 +"), at(29, '"1 +": it ends where a value should follow'));
  assertEquals(await of("1 + + *"), at(30, '"1 + + *": "+" cannot be used there'));
  assertEquals(await of("(1"), at(28, '"(1": expected ")", and it ends there'));
  assertEquals(await of("slot slot"), at(31, '"slot slot": "slot" cannot be used there'));
  assertEquals(await of("'abc"), at(26, `"'abc": a text has no closing quote`));
  assertEquals((await of(""))?.split(": ").slice(-1), ["it is empty"]);
});

Deno.test("compileRecipe() finds the place of a mistake among many quotes and backslashes in linear time", async () => {
  const steps = (condition: string) =>
    `name: x\nsteps: [{ id: a, uses: account.funds, with: { market: hk }, if: ${condition} }]\n`;
  const column = async (condition: string) => Number((await problemsOf(steps(condition)))[0]?.split(":")[1]);
  for (const sign of ["\\\\", "'", " "]) {
    // "\\x31" is "1", so the expression is written nowhere in the file: the place is the start of the value.
    assertEquals(await column(`"\\"${sign.repeat(12_000)}\\" == \\x31 1"`), 65, sign);
    const near = await column(`"\\"${sign.repeat(12_000)}\\" == 1 1"`);
    assertEquals(near, 65 + `"\\"${sign.repeat(12_000)}\\" == 1 `.length, sign);
  }
  assertEquals(await problemsOf(`name: x\nsteps: [${"{".repeat(100_000)}`).then(({ length }) => length), 1);
});

Deno.test("loadRecipe() rejects files that are not UTF-8, with the place of the byte, and broken links", async () => {
  await using dir = await temporaryFolder();
  const issueOf = async (name: string) => {
    const error = await assertRejects(() => loadRecipe(`${dir.path}/${name}`, { now }), RecipeError);
    return error.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  };
  const latin = Uint8Array.from(
    [...`name: x # \uFFFD ü\ndescription: caf`].flatMap((char) => [...new TextEncoder().encode(char)]),
  );
  await Deno.writeFile(`${dir.path}/latin.yaml`, Uint8Array.from([...latin, 0xe9, 0x0a]));
  assertEquals(await issueOf("latin.yaml"), [
    "2:17: it is not UTF-8: byte 0xE9 at offset 33 belongs to no character; save it as UTF-8",
  ]);
  await Deno.writeFile(`${dir.path}/wide.yaml`, Uint8Array.from([0xff, 0xfe, 0x6e, 0x00]));
  assertEquals(await issueOf("wide.yaml"), [
    "1:1: it is not UTF-8 but UTF-16: byte 0xFF at offset 0 belongs to no character; save it as UTF-8",
  ]);
  await Deno.symlink("gone.yaml", `${dir.path}/link.yaml`);
  assertEquals(await issueOf("link.yaml"), [
    "1:1: it cannot be read: it is a link to a file that is not there",
  ]);
  // A byte order mark, which some editors write, is not part of the text.
  await Deno.writeTextFile(
    `${dir.path}/marked.json`,
    `\uFEFF{"name":"x","steps":[{"id":"a","uses":"account.funds","with":{"market":"hk"}}]}`,
  );
  assertEquals((await loadRecipe(`${dir.path}/marked.json`, { now })).name, "x");
});

Deno.test("loadRecipe() reads only regular files of limited size, and does not wait for a pipe", async () => {
  await using dir = await temporaryFolder();
  const issueOf = async (path: string) => {
    const error = await assertRejects(() => loadRecipe(path, { now }), RecipeError);
    return error.issues.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  };
  const pipe = await new Deno.Command("mkfifo", { args: [`${dir.path}/pipe.yaml`] }).output();
  assertEquals(pipe.code, 0);
  assertEquals(await issueOf(`${dir.path}/pipe.yaml`), [
    "1:1: it is a named pipe: expected a regular file",
  ]);
  await Deno.symlink("/dev/zero", `${dir.path}/zero.yaml`);
  assertEquals(await issueOf(`${dir.path}/zero.yaml`), ["1:1: it is a device: expected a regular file"]);
  await Deno.symlink("pipe.yaml", `${dir.path}/pipe.ts`);
  assertEquals(await issueOf(`${dir.path}/pipe.ts`), ["1:1: it is a named pipe: expected a regular file"]);
  const text = `name: x\n${read}`;
  await Deno.writeTextFile(`${dir.path}/large.yaml`, `${text}#${"x".repeat(256 * 1024)}`);
  assertEquals(await issueOf(`${dir.path}/large.yaml`), [
    "1:1: the file is larger than the limit of 256 KiB",
  ]);
  await Deno.writeTextFile(`${dir.path}/fine.yaml`, text.padEnd(256 * 1024, "#"));
  // A step that runs another recipe searches every file next to it for the name, including the pipe.
  await Deno.writeTextFile(
    `${dir.path}/outer.yaml`,
    "name: outer\nsteps: [{ id: a, uses: run, with: { recipe: x } }]\n",
  );
  assertEquals((await loadRecipe(`${dir.path}/outer.yaml`, { now })).name, "outer");
});

Deno.test("compileRecipe() rejects too many steps, values, aliases and levels, and texts that are too long", async () => {
  const steps = (count: number) =>
    Array.from(
      { length: count },
      (_, at) => `  - { id: s${at}, uses: account.funds, with: { market: hk } }\n`,
    );
  assertEquals(await problemsOf(`name: x\nsteps:\n${steps(501).join("")}`), [
    "2:1: steps: expected at most 500 in the list, and there are 501",
  ]);
  assertEquals(
    (await compileRecipe(`name: x\nsteps:\n${steps(500).join("")}`, "x.yaml", { now })).steps.length,
    500,
  );
  const list = (count: number) => `params: { a: [${Array(count).fill("1").join(",")}] }\n`;
  assertEquals(await problemsOf(`name: x\n${list(20_000)}${read}`), [
    "2:11: params.a: expected at most 10000 values in a recipe",
  ]);
  await compileRecipe(`name: x\n${list(9_000)}${read}`, "x.yaml", { now });
  const aliases = (count: number) => `params: { a: &m hk, b: [${Array(count).fill("*m").join(",")}] }\n`;
  assertEquals(await problemsOf(`name: x\n${aliases(40_000)}${read}`), [
    "2:325: there are more than 100 aliases: write values out",
  ]);
  await compileRecipe(`name: x\n${aliases(100)}${read}`, "x.yaml", { now });
  const nested = (levels: number) => `params: { a: ${"[".repeat(levels)}${"]".repeat(levels)} }\n`;
  const tooDeep = "maps and lists are nested deeper than the maximum of 50 levels";
  for (const levels of [49, 5_000, 50_000]) {
    assertEquals(await problemsOf(`name: x\n${nested(levels)}${read}`), [`2:62: ${tooDeep}`], `${levels}`);
  }
  await compileRecipe(`name: x\n${nested(48)}${read}`, "x.yaml", { now });
  assertEquals(await problemsOf(`name: x\n${read}window: "${"A..".repeat(300)}"\n`), [
    "3:9: window: expected at most 500 characters, and there are 900",
  ]);
  // A text under "with" may be longer, even in the fallback of a notice.
  const hook = 'webhook: "http://127.0.0.1:1/", text:';
  const fallback = `fallback: { with: { ${hook} ${"b".repeat(600)} } }`;
  const notify = `notify: [{ on: failure, with: { ${hook} short }, ${fallback} }]\n`;
  await compileRecipe(`name: x\n${read}${notify}`, "x.yaml", { now });
});

Deno.test("compileRecipe() reports at most about 100 mistakes of a file, and rejects a name that is given twice", async () => {
  const keys = Array.from({ length: 25_000 }, (_, at) => `k${at}: 1`);
  assertEquals((await problemsOf(keys.join("\n"))).length, 1, "too many values");
  const found = await problemsOf(keys.slice(0, 5_000).join("\n"));
  assertEquals(found.length, 100);
  assertEquals(await problemsOf(`name: x\nname: y\n${read}`), [
    '2:1: the map has "name" twice: names must be unique',
  ]);
  // Other ways to write one name twice. Without this check, the last value would silently replace the first.
  for (
    const [params, why] of [
      ["{ &k tt: 1, *k : 2 }", '"*k" cannot be a name: write the name out'],
      ['{ 1: a, "1": b }', 'the map has "1" twice: names must be unique'],
      ['{ ~: a, "": b }', 'the map has "" twice: names must be unique'],
      ['{ true: a, "true": b }', 'the map has "true" twice: names must be unique'],
      ['{ "t\\x74": a, !!str tt: b }', 'the map has "tt" twice: names must be unique'],
    ] as const
  ) {
    const [problem = ""] = await problemsOf(`name: x\nparams: ${params}\n${read}`);
    assertStringIncludes(problem, why, params);
  }
  const digits = Array.from({ length: 25_000 }, () => "007").join(",");
  assertEquals((await problemsOf(`name: x\nparams: { a: [${digits}] }\n${read}`)).length, 101);
  const funds = (params: string) => `name: x\nsteps: [{ id: a, uses: account.funds, with: { ${params} } }]\n`;
  const unknown = Array.from({ length: 9_000 }, (_, at) => `m${at}: 1`).join(", ");
  assertEquals((await problemsOf(funds(unknown))).length, 100);
  // Each unknown output would be compared with the names of all earlier steps.
  const long = "x".repeat(99);
  const steps = Array.from(
    { length: 450 },
    (_, at) => `  - { id: ${long}${at}, uses: times, with: { market: hk } }\n`,
  );
  const later = Array.from({ length: 1_000 }, (_, at) => `"\${{ outputs.${"y".repeat(80)}${at} }}"`).join(
    ", ",
  );
  const many = `name: x\nsteps:\n${
    steps.join("").replaceAll("times", "account.funds")
  }  - { id: b, uses: account.funds, with: { market: [${later}] } }\n`;
  assertEquals((await problemsOf(many)).length, 100);
  const open = `name: x\nsteps: [{ id: a, uses: notify, with: { text: "${"${{".repeat(10_000)}" } }]\n`;
  assertEquals(await problemsOf(open), [
    "2:32: steps.0.with: expected one or more of webhook, chat, mail",
    '2:46: steps.0.with.text: expected "${{ … }}" or "${secret:name}" with its closing braces',
  ]);
});

Deno.test("compileRecipe() evaluates the known values of a recipe with one budget, and measures each schedule once", async () => {
  const step = (id: string, from: string) =>
    `  - { id: ${id}, uses: orders.history, with: { market: hk, from: "\${{ ${from} }}", to: "2025-01-02" } }\n`;
  const heavy = "size(params.l.map(a, params.l.map(b, params.l.map(c, a + b + c)))) > 0 ? '2025-01-01' : ''";
  const recipe = (count: number) =>
    `name: x\nparams: { l: { type: list, default: [${
      Array(30).fill(1).join(",")
    }] }, d: { type: text, default: x } }\nsteps:\n` +
    Array.from({ length: count }, (_, at) => step(`s${at}`, heavy)).join("") +
    step("last", "daysBefore(params.d, 1)");
  const [found] = await problemsOf(recipe(1));
  assertStringIncludes(found ?? "", 'steps.1.with.from: Cannot evaluate "daysBefore(params.d, 1)"');
  // Each of the first 30 steps uses about a tenth of the budget. It is used up before the last step, so the mistake in
  // that step is not found before the run.
  assertEquals((await compileRecipe(recipe(30), "x.yaml", { now })).steps.length, 31);
  const logins = Array.from(
    { length: 100 },
    (_, at) => `  - { id: s${at}, uses: keep-login, with: { market: hk, life: 30m } }\n`,
  ).join("");
  const crons = Array.from(
    { length: 50 },
    (_, at) => `  - { id: c${at}, cron: "${at} * * * *", timezone: UTC }\n`,
  ).join("");
  // The compiler computes three run times of each schedule: one for its own check, and two for all 100 steps.
  const { nextRun } = Cron.prototype;
  let computed = 0;
  Cron.prototype.nextRun = function (...args) {
    computed++;
    return nextRun.apply(this, args);
  };
  try {
    assertEquals((await problemsOf(`name: x\nschedule:\n${crons}steps:\n${logins}`)).length, 100);
  } finally {
    Cron.prototype.nextRun = nextRun;
  }
  assertEquals(computed, 150);
});

Deno.test("compileRecipe() rejects addresses that are secrets themselves, anywhere in a recipe", async () => {
  const of = (address: string, way: "webhook" | "ping" | "chat") =>
    problemsOf(
      way === "ping"
        ? `name: x\nping: "${address}"\n${read}`
        : `name: x\nsteps:\n  - id: a\n    uses: notify\n    with: ${
          way === "chat" ? `{ chat: { url: "${address}" } }` : `{ webhook: "${address}" }`
        }\n`,
    );
  const instead = (name: string) =>
    `expected "\${secret:${name}}", because anybody who knows the address can use it; declare it as ` +
    `secrets: { ${name}: { env: NAME } }`;
  const slack = "https://hooks.slack.com/services/T000/B000/XXXX";
  assertEquals(await of(slack, "chat"), [`5:26: steps.0.with.chat.url: ${instead("chat")}`]);
  assertEquals(await of("https://chat.example/in", "chat"), [
    `5:26: steps.0.with.chat.url: ${instead("chat")}`,
  ]);
  const secret = [
    slack,
    "https://user:word@x.example/in",
    "https://x.example/in?key=1",
    "https://eu.webhook.office.com/webhookb2/a",
    "https://x.example/in/5f0c3a52-90bb-4f0e-8a3f-7d1c2b9a0e11",
  ];
  for (const address of secret) {
    assertEquals(
      await of(address, "webhook"),
      [`5:22: steps.0.with.webhook: ${instead("webhook")}`],
      address,
    );
    assertEquals(await of(address, "ping"), [`2:7: ping: ${instead("ping")}`], address);
  }
  const notices = `notify: [{ on: failure, with: { chat: { url: "${slack}" } } }]\n`;
  assertEquals(
    (await problemsOf(`name: x\n${notices}${read}`))[0],
    `2:46: notify.0.with.chat.url: ${instead("chat")}`,
  );
  for (
    const address of ["https://x.example/orders/filled", "http://127.0.0.1:8000/in?key=1", "\${secret:hook}"]
  ) {
    const steps =
      `secrets: { hook: { env: HOOK } }\nsteps: [{ id: a, uses: notify, with: { webhook: "${address}" } }]\n`;
    await compileRecipe(`name: x\nping: "${address}"\n${steps}`, "x.yaml", { now });
  }
  const chat = (url: string) =>
    `name: x\nsecrets: { chat: { env: CHAT } }\nsteps: [{ id: a, uses: notify, with: { chat: { url: "${url}" } } }]\n`;
  for (const url of ["http://localhost:8000/chat", "\${secret:chat}"]) {
    await compileRecipe(chat(url), "x.yaml", { now });
  }
});

Deno.test("compileRecipe() rejects codes without quotes, because they would lose zeros or digits", async () => {
  assertEquals(
    await problemsOf(`name: x
steps:
  - id: look
    uses: quotes.latest
    with:
      securities:
        - { type: hk-stock, symbol: 00700 }
  - { id: order, uses: orders.today, with: { market: hk, orderIds: [12345678901234567890] } }
`),
    [
      '7:37: steps.0.with.securities.0.symbol: write "00700" in quotes: without them it is the number 700',
      '7:37: steps.0.with.securities.0.symbol: expected a listing code such as "00700.HK" or "AAPL"',
      '8:69: steps.1.with.orderIds.0: write "12345678901234567890" in quotes: without them it is the number 12345678901234567000',
      "8:69: steps.1.with.orderIds.0: expected an order number as text",
    ],
  );
});

Deno.test("compileRecipe() reports the place of a YAML syntax error, and how to quote expressions", async () => {
  const [broken = ""] = await problemsOf("name: x\nsteps:\n  - id: [a\n");
  assertStringIncludes(broken, "4:1: ");
  const [bare = ""] = await problemsOf(
    "name: x\nsteps:\n  - { id: a, uses: account.funds, with: { market: ${{ params.market }} } }\n",
  );
  assertStringIncludes(bare, 'an expression needs quotes: "${{ … }}"');
  const [json = ""] = await problemsOf('{ name: "x" }', "my.json");
  assertStringIncludes(json, "1:3: this is not JSON: expected property name");
});

Deno.test("compileRecipe() rejects recipes that could send an order late, twice or without a check", async () => {
  const schedule = "schedule: { calendar: XHKG, at: close-15m }\n";
  const window = "window: XHKG.close-20m..XHKG.close-10m\n";
  assertEquals(await problemsOf(`name: x\n${schedule}${write}`), [
    '1:1: window: expected a window, such as "XHKG.open+5m..XHKG.close-10m": this recipe writes',
  ]);
  assertEquals(
    await problemsOf(
      `name: x\n${schedule}window: XHKG.open-5m..XHKG.close-5m\nmisfire: all\noverlap: parallel\n` + `steps:
  - id: a
    uses: orders.cancelAll
    retry: { attempts: 3 }
    fresh: true
    with: { market: hk }
`,
    ),
    [
      "3:9: window: expected a window within the session that ends at least 10m before its close",
      "4:10: misfire: expected skip, latest or ask: this recipe writes, and missed orders are never caught up one by one",
      "5:10: overlap: expected skip or queue: this recipe writes, and hsgate never interrupts a write or runs two at once",
      "9:5: steps.0.retry: expected no retry: this step writes, and a write is never repeated",
      "10:12: steps.0.fresh: expected not fresh: this step writes, and a resumed run never repeats it",
    ],
  );
  const late = () => Date.parse("2027-11-15T12:00:00Z");
  const error = await assertRejects(
    () => compileRecipe(`name: x\n${schedule}${window}${write}`, "my.yaml", { now: late }),
    RecipeError,
  );
  assertEquals(error.issues.map(({ message }) => message), [
    "schedule: expected a calendar that covers the next 60 days, because this recipe writes: XHKG ends 2027-12-31",
  ]);
  const { class: itsClass, misfire, overlap, timeoutMs, needsAccount } = await compileRecipe(
    `name: x\n${schedule}${window}${write}`,
    "my.yaml",
    { now },
  );
  assertEquals([itsClass, misfire, overlap, timeoutMs, needsAccount], [
    "write",
    { graceMs: 300_000, action: "skip", max: 1 },
    "skip",
    600_000,
    true,
  ]);
});

Deno.test("compileRecipe() fills in the defaults of a recipe that reads, and of one that keeps a login", async () => {
  const reads = await compileRecipe(
    `name: x\nschedule: { calendar: XNYS, at: "09:25", halfDays: skip }\n${read}`,
    "my.yaml",
  );
  assertEquals([reads.class, reads.misfire, reads.overlap, reads.schedules], [
    "read",
    { graceMs: 900_000, action: "all", max: 10 },
    "queue",
    [{
      id: "main",
      form: "calendar",
      mic: "XNYS",
      days: "every-session",
      at: { time: "09:25" },
      halfDays: "skip",
    }],
  ]);
  const keeps = await compileRecipe(
    "name: x\nschedule: { every: 50m, while: XHKG.open-30m..XHKG.close+2h, jitter: 2m }\nsteps: [{ id: a, uses: keep-login }]\n",
    "my.yaml",
  );
  assertEquals([keeps.class, keeps.misfire, keeps.overlap, keeps.schedules], [
    "keep-alive",
    { graceMs: 3_000_000, action: "skip", max: 1 },
    "skip",
    [{
      id: "main",
      form: "every",
      everyMs: 3_000_000,
      jitterMs: 120_000,
      while: {
        mic: "XHKG",
        from: { anchor: "open", offsetMs: -1_800_000 },
        to: { anchor: "close", offsetMs: 7_200_000 },
      },
    }],
  ]);
});

Deno.test("compileRecipe() accepts a secret only as a reference to a secret that the recipe lists", async () => {
  const login = (password: string, more = "") =>
    `name: x\n${more}steps:\n  - { id: a, uses: account.login, with: { password: "${password}" } }\n`;
  const expected = 'expected a reference such as "${secret:name}": a recipe must not contain secrets';
  assertEquals(await problemsOf(login("hunter2")), [`3:53: steps.0.with.password: ${expected}`]);
  const secrets = "secrets: { trade-password: { env: HSGATE_TRADE_PASSWORD } }\n";
  assertEquals(await problemsOf(login("${secret:trade-pasword}", secrets)), [
    '4:53: steps.0.with.password: there is no secret "trade-pasword"; did you mean "trade-password"?',
  ]);
  const { secretNames, secrets: origins } = await compileRecipe(
    login("${secret:trade-password}", secrets),
    "my.yaml",
  );
  assertEquals([secretNames, origins], [["trade-password"], {
    "trade-password": { env: "HSGATE_TRADE_PASSWORD" },
  }]);
});

Deno.test("compileRecipe() rejects a NUL in the file or the command of a secret, which no file name can have", async () => {
  for (const origin of ['{ file: "a\\0b" }', '{ command: ["a\\0b"] }', '{ command: [cat, "a\\0b"] }']) {
    const [problem] = await problemsOf(`name: x\nsecrets: { s: ${origin} }\n${read}`);
    assertStringIncludes(problem!, "expected a text without the character NUL", origin);
  }
});

Deno.test("compileRecipe() rejects the clock, unknown names and later steps in expressions", async () => {
  const problem = async (condition: string) => {
    const text = `name: x\nsteps:\n  - { id: day-book, uses: account.funds, with: { market: hk } }\n` +
      `  - id: b\n    uses: account.funds\n    if: '${condition}'\n    with: { market: hk }\n` +
      "  - { id: c, uses: account.funds, with: { market: hk } }\n";
    return (await problemsOf(text))[0]!.replace("6:9: steps.1.if: ", "");
  };
  assertStringIncludes(await problem("now() > timestamp(slot)"), 'recipes do not see the clock ("now")');
  assertStringIncludes(await problem("sloot == slot"), 'there is no "sloot"; did you mean "slot"?');
  assertEquals(await problem("outputs.c.ok"), 'step "c" comes later: move it before this one');
  assertEquals(await problem("outputs.b.ok"), 'step "b" cannot depend on itself');
  assertEquals(
    await problem("outputs.day-book.ok"),
    'write outputs["day-book"]: a hyphen outside quotes subtracts',
  );
  assertEquals(
    await problem("size(outputs) > 0"),
    'name one member of "outputs", such as outputs["name"]',
  );
  assertStringIncludes(await problem("slot > 5"), "no such overload: string > int");
});

Deno.test("loadRecipe() reads TypeScript like YAML, and reports mistakes with their line", async () => {
  using folder = temporaryFolder();
  const source = (at: string, market: string) =>
    `import { defineRecipe } from ${JSON.stringify(import.meta.resolve("../../lib/recipes/mod.ts"))};\n` +
    `export default defineRecipe({\n  name: "ours",\n  schedule: { calendar: "XHKG", at: "${at}" },\n` +
    `  steps: [\n    { id: "one", uses: "account.funds", with: { market: "hk" } },\n` +
    `    { id: "two", uses: "account.funds", with: { market: "${market}" } },\n  ],\n});\n`;
  await Deno.writeTextFile(`${folder.path}/ours.ts`, source("open-10m", "us"));
  const recipe = await loadRecipe(`${folder.path}/ours.ts`);
  assertEquals([recipe.name, recipe.steps.map(({ id, effect }) => [id, effect])], ["ours", [["one", "read"], [
    "two",
    "read",
  ]]]);
  await Deno.writeTextFile(`${folder.path}/ours.ts`, source("opening", "usa"));
  const error = await assertRejects(() => loadRecipe(`${folder.path}/ours.ts`), RecipeError);
  assertEquals(error.issues.map(({ line, message }) => [line, message.split(":")[0]]), [
    [4, "schedule.at"],
    [7, "steps.1.with.market"],
  ]);
  // @ts-expect-error -- a schedule by cron names its time zone
  defineRecipe({ name: "x", schedule: { cron: "0 20 * * *" }, steps: [] });
});

Deno.test("checkRecipes() checks a folder of recipes together: no rings, no inner recipes that write, no equal names", async () => {
  using folder = temporaryFolder();
  const files: Record<string, string> = {
    "a.yaml": "name: a\nsteps: [{ id: b, uses: run, with: { recipe: b } }]\n",
    "b.yaml": "name: b\nsteps: [{ id: a, uses: run, with: { recipe: a } }]\n",
    "c.yaml": "name: c\nsteps: [{ id: r, uses: run, with: { recipe: reads } }]\n",
    "d.yaml":
      "name: d\nsteps: [{ id: w, uses: run, with: { recipe: writes } }, { id: n, uses: run, with: { recipe: none } }]\n",
    "reads.yaml": `name: reads\n${read}`,
    "reads2.yaml": `name: reads\n${read}`,
    "writes.yaml": `name: writes\nwindow: XHKG.open..XHKG.close-10m\n${write}`,
  };
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder.path}/${name}`, text);
  const { ok, files: reports } = await checkRecipes(
    Object.keys(files).map((name) => ({ path: `${folder.path}/${name}` })),
    {
      now,
    },
  );
  assertEquals(ok, false);
  const found = reports.map((
    { path, issues },
  ) => [path.slice(folder.path.length + 1), issues.map(({ message }) => message.replace(folder.path, ""))]);
  assertEquals(found, [
    ["a.yaml", [
      'steps.0.with.recipe: recipes run each other in a ring: a.yaml -> b.yaml -> a.yaml; remove one of these "run" steps',
    ]],
    ["b.yaml", [
      'steps.0.with.recipe: recipes run each other in a ring: b.yaml -> a.yaml -> b.yaml; remove one of these "run" steps',
    ]],
    ["c.yaml", []],
    ["d.yaml", [
      "steps.0.with.recipe: expected a recipe that does not write: a recipe that writes needs its own slot",
      "steps.1.with.recipe: expected the name of a recipe in the same folder",
    ]],
    ["reads.yaml", []],
    ["reads2.yaml", ['name: expected another name: "reads" is taken by "/reads.yaml"']],
    ["writes.yaml", []],
  ]);
});

Deno.test("checkRecipes() compiles at most two files for each file it is given, and limits how often recipes run each other", async () => {
  using folder = temporaryFolder();
  const chain = async (count: number, runs: number) => {
    for (let at = 0; at < count; at++) {
      const steps = Array.from(
        { length: runs },
        (_, step) => `  - { id: s${step}, uses: run, with: { recipe: r${at + 1} } }\n`,
      );
      await Deno.writeTextFile(
        `${folder.path}/r${at}.yaml`,
        `name: r${at}\nsteps:\n${at === count - 1 ? "  - { id: a, uses: calls }\n" : steps.join("")}`
          .replace("calls", "account.funds, with: { market: hk }"),
      );
    }
    let asked = 0;
    const paths = Array.from({ length: count }, (_, at) => ({ path: `${folder.path}/r${at}.yaml` }));
    // Called once for each file that is compiled.
    const mayRunCode = () => ++asked > 0;
    const { files } = await checkRecipes(paths, { now, mayRunCode });
    return { asked, issues: files.map(({ issues }) => issues[0]?.message.replace(folder.path, "")) };
  };
  const tooMany = "expected at most 2000 steps in all recipes that this one runs, repetitions included";
  const mistakes = (name: string) =>
    `steps.0.with.recipe: recipe "${name}" itself has mistakes: check "/${name}.yaml"`;
  const twice = await chain(10, 2);
  assertEquals(twice.issues, Array(10).fill(undefined));
  assert(twice.asked <= 2 * 10, `${twice.asked} compilations`);
  const wide = await chain(4, 60);
  assertEquals(wide.issues, [mistakes("r1"), `steps.16.with.recipe: ${tooMany}`, undefined, undefined]);
  assert(wide.asked <= 2 * 4, `${wide.asked} compilations`);
  const long = await chain(12, 1);
  const tooLong = "steps.0.with.recipe: expected at most 10 recipes that run each other in a row";
  assertEquals(long.issues, [mistakes("r1"), tooLong, ...Array(10).fill(undefined)]);
});

Deno.test("checkRecipes() lists the next ten slots over all schedules, and slots at a clock change", async () => {
  const text = "name: x\nschedule:\n  - { id: a, every: 2h }\n  - { id: b, every: 3h }\n" + read;
  const hour = 3_600_000;
  const { files: [report] } = await checkRecipes([{ path: "x.yaml", text }], {
    now: () => 0,
    nextSlots: ({ id }, after, count) =>
      Array.from({ length: count }, (_, index) => ({
        at: after + (index + 1) * (id === "a" ? 2 : 3) * hour,
        ...id === "b" && index === 0 && { skipped: "holiday" },
      })),
    clockChangeSlots: (
      { id },
      { after, months },
    ) => [{ kind: "gap", wall: `${after} ${months}`, zone: id, runsAt: [] }],
  });
  // The slot of b at 3 h is skipped: it is listed but not counted.
  const shown = report!.next.map(({ scheduleId, at, skipped }) =>
    `${scheduleId}${at / hour}${skipped ?? ""}`
  );
  assertEquals(shown, ["a2", "b3holiday", "a4", "a6", "b6", "a8", "b9", "a10", "a12", "b12", "a14"]);
  assertEquals(report!.clockChanges.map(({ scheduleId, wall }) => [scheduleId, wall]), [["a", "0 24"], [
    "b",
    "0 24",
  ]]);
});

Deno.test("bindParams() checks given values against the recipe's parameters", async () => {
  const recipe = await compileRecipe(
    `name: x\nparams: { day: { type: date }, count: 5 }\n${read}`,
    "my.yaml",
  );
  assertEquals(bindParams(recipe, { day: "2025-08-15" }), { count: 5, day: "2025-08-15" });
  const error = assertThrows(() => bindParams(recipe, { count: "5", dya: 1 }), InvalidParamsError);
  assertEquals(error.issues.map(({ path, expected }) => [path[0], expected]), [
    ["count", "a whole number"],
    ["dya", 'the parameter "day"'],
    ["day", 'a date such as "2025-08-15"'],
  ]);
  assertStringIncludes(error.message, '\ndya: expected the parameter "day", got "dya"\n');
  const other = { day: "2025-08-15", quantity: 1 };
  assertEquals(
    assertThrows(() => bindParams(recipe, other), InvalidParamsError).message,
    'Cannot run recipe "x": quantity: expected a parameter of the recipe; known: "count", "day", got "quantity"',
  );
  assertEquals(
    await problemsOf(
      `name: x\nschedule: { calendar: XHKG, at: open }\nparams: { day: { type: date } }\n${read}`,
    ),
    [
      "3:11: params.day: expected a default: a recipe with a schedule runs without given parameters",
    ],
  );
});

Deno.test("names that every JavaScript object has, such as toString, are treated like other names, and __proto__ is rejected", async () => {
  const findRecipe = async (name: string) => await compileRecipe(`name: ${name}\n${read}`, "o.yaml");
  const problems = async (text: string) => {
    const error = await assertRejects(() => compileRecipe(text, "x.yaml", { now, findRecipe }), RecipeError);
    return error.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
  };
  for (const name of ["constructor", "toString", "hasOwnProperty"]) {
    for (
      const step of [`account.funds, with: { market: hk, ${name}: 1 }`, `keep-login, with: { ${name}: 1 }`]
    ) {
      const [problem, ...others] = await problems(`name: x\nsteps: [{ id: a, uses: ${step} }]\n`);
      assertStringIncludes(problem!, `steps.0.with.${name}: no such member`);
      assertEquals(others, []);
    }
    const given = `{ recipe: other, params: { ${name}: "\${{ 1 }}" } }`;
    const [problem] = await problems(`name: x\nsteps: [{ id: a, uses: run, with: ${given} }]\n`);
    assertStringIncludes(problem!, "no such parameter");
    const recipe = await compileRecipe(`name: x\nparams: { ${name}: { type: text } }\n${read}`, "x.yaml");
    const missing = assertThrows(() => bindParams(recipe, {}), InvalidParamsError);
    assertEquals(missing.issues.map(({ path }) => path), [[name]]);
    assertEquals(bindParams(recipe, { [name]: "a" }), { [name]: "a" });
    const unknown = await compileRecipe(`name: x\n${read}`, "x.yaml");
    assertThrows(
      () => bindParams(unknown, { [name]: 1 }),
      InvalidParamsError,
      "expected a parameter of the recipe; there are none",
    );
  }
  for (
    const line of [
      "secrets: { __proto__: { command: [id] } }",
      "params: { __proto__: { type: text } }",
      "limits: { __proto__: { a: 1 } }",
      "__proto__: { live: true }",
    ]
  ) {
    const [problem, ...others] = await problems(`name: x\n${line}\n${read}`);
    assertStringIncludes(problem!, 'no member can have the name "__proto__"', line);
    assertEquals(others, []);
  }
});

Deno.test("recipeJsonSchema() describes each step's own parameters, including expressions in their place", async () => {
  const schema = await recipeJsonSchema();
  // The part of the schema that this test checks.
  const steps = (schema as {
    properties: {
      steps: {
        items: {
          allOf: {
            if: { properties: { uses: { const: string } } };
            then: { required?: string[]; properties: { with: { properties: Record<string, unknown> } } };
          }[];
        };
      };
    };
  })
    .properties.steps.items.allOf;
  const parametersOf = (uses: string) =>
    steps.find((each) => each.if.properties.uses.const === uses)!.then.properties.with.properties;
  const needsParameters = (uses: string) =>
    steps.find((each) => each.if.properties.uses.const === uses)!.then.required;
  assertEquals(["account.funds", "futures.funds", "keep-login", "watch", "wait-for"].map(needsParameters), [
    ["with"],
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const hole = { type: "string", pattern: "\\$\\{(\\{|secret:)" };
  assertEquals(parametersOf("account.funds").market, {
    anyOf: [{ enum: ["hk", "us", "shenzhen", "shanghai"] }, hole],
    description: 'one of "hk", "us", "shenzhen", "shanghai"',
  });
  assertEquals(Object.keys(parametersOf("keep-login")), ["market", "life"]);
  assertEquals(parametersOf("export-day-book").sessions, {
    anyOf: [{ type: "integer", minimum: 1, maximum: 250 }, hole],
    description: "Number of the latest trading days, with a day that has only begun; or use from and to",
  });
});

Deno.test("runRecipe() reads lists to their end, passes outputs on, and skips steps whose condition is false", async () => {
  const recipe = await compileRecipe(
    `name: lists
params: { from: "2025-08-13" }
steps:
  - { id: ours, uses: fills.history, with: { market: hk, from: "\${{ params.from }}", to: 2025-08-15 } }
  - { id: theirs, uses: TradeQueryHistoryDeliverList, with: { exchangeType: K, startDate: "20250813", endDate: "20250815" } }
  - { id: none, uses: account.funds, if: size(outputs.ours) > 180, with: { market: hk } }
  - { id: after, uses: account.funds, needs: none, with: { market: hk } }
  - { id: some, uses: account.funds, if: size(outputs.ours) == 180, with: { market: "\${{ outputs.ours[0].market }}" } }
`,
    "lists.yaml",
  );
  await using broker = await simulated({ fillsPerDay: 60 });
  const { steps } = await runRecipe(recipe, { client: broker.client, now: () => SATURDAY });
  assertEquals(
    steps.map((
      { id, uses, skipped, output },
    ) => [id, uses, skipped, Array.isArray(output) ? output.length : typeof output]),
    [
      ["ours", "fills.history", undefined, 180],
      ["theirs", "fills.history", undefined, 180],
      ["none", "account.funds", true, "undefined"],
      ["after", "account.funds", true, "undefined"],
      ["some", "account.funds", undefined, "object"],
    ],
  );
});

Deno.test("runRecipe() compares the prices of a quote, an order book and ticks as decimals", async () => {
  const security = '{ type: hk-stock, symbol: "00700.HK" }';
  const recipe = await compileRecipe(
    `name: prices
steps:
  - { id: quotes, uses: quotes.latest, with: { securities: [${security}] } }
  - { id: book, uses: quotes.orderBook, with: { security: ${security} } }
  - { id: low, uses: quotes.ticks, if: 'decimalCompare(outputs.quotes[0].lastPrice, "1.5") < 0', with: { security: ${security} } }
  - id: high
    uses: quotes.ticks
    if: decimalCompare(outputs.quotes[0].lastPrice, "1.5") > 0 && decimalCompare(outputs.book.priceStep, "0") > 0
    with: { security: ${security} }
  - id: sum
    uses: quotes.ticks
    if: decimalCompare(outputs.high.ticks[0].turnover, outputs.high.ticks[0].price) > 0
    with: { security: ${security} }
`,
    "prices.yaml",
  );
  await using broker = await simulated({ at: Date.parse("2025-08-15T10:30:00+08:00") });
  const now = () => broker.clock.now();
  const { steps } = await runRecipe(recipe, { client: broker.client, now });
  assertEquals(steps.map(({ id, skipped }) => [id, skipped === true]), [
    ["quotes", false],
    ["book", false],
    ["low", true],
    ["high", false],
    ["sum", false],
  ]);
});

Deno.test("lastSessions() counts days on which one of the markets has opened", () => {
  // 4 July 2025 is a Friday: Hong Kong trades, New York does not.
  const at = (time: string) => Date.parse(time);
  assertEquals(lastSessions(builtInCalendars, ["hk", "us"], 2, at("2025-07-05T12:00:00+08:00")), {
    from: "2025-07-03",
    to: "2025-07-04",
  });
  assertEquals(lastSessions(builtInCalendars, ["us"], 2, at("2025-07-05T12:00:00+08:00")), {
    from: "2025-07-02",
    to: "2025-07-03",
  });
  // Before Monday's open in Hong Kong, and at the open.
  assertEquals(lastSessions(builtInCalendars, ["hk"], 1, at("2025-07-07T09:29:00+08:00")), {
    from: "2025-07-04",
    to: "2025-07-04",
  });
  assertEquals(lastSessions(builtInCalendars, ["hk"], 1, at("2025-07-07T09:30:00+08:00")), {
    from: "2025-07-07",
    to: "2025-07-07",
  });
});

Deno.test("limits of a recipe narrow those of the account; check reports a wider limit as a mistake, with its line", async () => {
  const text = (limits: string) =>
    `name: buy\nlimits: ${limits}\nsteps: [{ id: a, uses: orders.today, with: { market: hk } }]\n`;
  const account = readLimits({
    maxOrderValue: "50000 HKD, 9000 USD",
    priceCollar: "5%",
    maxOrdersPerMinute: "10",
  });
  const check = async (limits: string) =>
    (await checkRecipes([{ path: "buy.yaml", text: text(limits) }], { now, limits: account })).files[0]!;
  const narrow = await check(
    "{ maxOrderValue: 20000 HKD, priceCollar: 1%, maxOrdersPerMinute: 2, allowedSymbols: 00700.HK }",
  );
  assertEquals(narrow.issues, []);
  const effective = narrowedLimits(account, narrow.recipe!.limits!);
  assertEquals([
    effective.maxOrderValue,
    effective.priceCollar,
    effective.maxOrdersPerMinute,
    effective.allowedSymbols,
  ], [
    { HKD: "20000" },
    "0.010000",
    2,
    ["00700.HK"],
  ]);
  const wide = "{ maxOrderValue: 20000 HKD, priceCollar: 6%, maxOrdersPerMinute: off, allowShort: allow }";
  assertEquals((await check(wide)).issues.map(({ line, path }) => `${line} ${path.join(".")}`).sort(), [
    "2 limits.allowShort",
    "2 limits.maxOrdersPerMinute",
    "2 limits.priceCollar",
  ]);
  // Even without a check, a run uses the narrower limit of the two.
  const run = narrowedLimits(account, {
    priceCollar: "6%",
    maxOrdersPerMinute: "off",
    maxOrderValue: "1 CNY",
  });
  assertEquals([run.priceCollar, run.maxOrdersPerMinute, run.maxOrderValue], ["0.050000", 10, {}]);
  const wrong = await check("{ priceColar: 5%, maxOrderValue: 100 }");
  assertEquals(wrong.issues.length, 2, wrong.issues.map(({ message }) => message).join("\n"));
});
