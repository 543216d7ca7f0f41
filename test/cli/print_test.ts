import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Quote } from "../../lib/operations/quotes.ts";
import { priceText } from "../../lib/decimal.ts";
import { changePercent, shortCount } from "../../tasks/commands/quote/line.ts";
import { commands } from "../../tasks/commands/table.ts";
import { flagsOf } from "../../tasks/terminal/command.ts";
import { parse as parseCsv } from "@std/csv";
import type { ListView, Output } from "../../tasks/terminal/list_output.ts";
import { printList } from "../../tasks/terminal/list_output.ts";
import { ManualClock } from "../../lib/time.ts";
import { MORNING } from "./support.ts";
import { hasProgram } from "../support/programs.ts";
import { cli, envOf, folder, simulate } from "./runner_support.ts";
import { UsageError } from "../../tasks/terminal/exit_codes.ts";
import type { Host } from "../../tasks/terminal/host.ts";
import { fit, plain, table, tableLines, widthOf, wrapped } from "../../tasks/terminal/print.ts";

// A terminal that has only the members which printing uses.
const terminal = (columns: number) =>
  ({ color: false, isTerminal: true, size: () => ({ columns, rows: 24 }) }) as Host;

Deno.test("widthOf() counts two columns for a Chinese character and none for an accent", () => {
  assertEquals(widthOf("AAPL"), 4);
  assertEquals(widthOf("騰訊控股"), 8);
  assertEquals(widthOf("e\u0301"), 1);
});

Deno.test("widthOf() counts two columns for an emoji, so that a name of emojis does not wrap a line", () => {
  assertEquals(widthOf("😀🈂⚡⭐❌"), 10);
  assertEquals(widthOf("✓✗▸⠋─…"), 6);
  assertEquals(fit("😀😀😀😀", 5), "😀😀…");
});

Deno.test("fit() cuts to a width and never in the middle of a character", () => {
  assertEquals(fit("Tencent", 7), "Tencent");
  assertEquals(fit("Tencent", 5), "Tenc…");
  assertEquals(fit("騰訊控股", 6), "騰訊…");
});

Deno.test("plain() replaces each control character with a space", () => {
  assertEquals(plain("a\x1b[31mb\r\n\x9bc"), "a [31mb   c");
});

Deno.test("table() aligns columns by their width and omits those that do not fit", () => {
  const rows = [{ name: "騰訊", price: "590.00" }, { name: "HSBC", price: "100.3" }];
  const columns = [
    { title: "name", of: (row: typeof rows[0]) => row.name },
    { title: "price", of: (row: typeof rows[0]) => row.price, align: "right" as const },
  ];
  assertEquals(table(terminal(80), columns, rows), {
    lines: ["name   price", "騰訊  590.00", "HSBC   100.3"],
    omitted: [],
    cut: [],
  });
  assertEquals(table(terminal(10), columns, rows), {
    lines: ["name", "騰訊", "HSBC"],
    omitted: ["price"],
    cut: [],
  });
});

Deno.test("table() neither cuts nor omits identifiers, however narrow the terminal", () => {
  const key = `inner/m/outer/main/2025-08-15/${"a-step-with-a-long-name-".repeat(3)}1`;
  const row = { day: "2025-08-15", key, note: "n".repeat(60), symbol: "AAPL250919C2300000" };
  const columns = [
    { title: "day", of: () => row.day },
    { title: "key", id: true as const, of: () => row.key },
    { title: "note", of: () => row.note },
    { title: "symbol", id: true as const, of: () => row.symbol },
  ];
  for (const width of [1, 20, 80, 200]) {
    const { lines, omitted, cut } = table(terminal(width), columns, [row]);
    assertStringIncludes(lines[1]!, key);
    assertStringIncludes(lines[1]!, row.symbol);
    assertEquals([omitted, cut], width < 200 ? [["note"], []] : [[], ["note"]], String(width));
  }
});

Deno.test("table() shows the selected columns in that order, without cutting them", () => {
  const rows = [{ key: "a/main/2025-08-15", reason: "r".repeat(90), trace: "01" }];
  const columns = [
    { title: "key", id: true as const, of: (row: typeof rows[0]) => row.key },
    { title: "reason", of: (row: typeof rows[0]) => row.reason },
    { title: "trace id", name: "trace", extra: true as const, of: (row: typeof rows[0]) => row.trace },
  ];
  assertEquals(table(terminal(60), columns, rows), {
    lines: ["key                reason", `a/main/2025-08-15  ${"r".repeat(40)}…`],
    omitted: [],
    cut: ["reason"],
  });
  assertEquals(table(terminal(40), columns, rows, { columns: "trace, reason" }), {
    lines: ["trace id  reason", `01        ${"r".repeat(90)}`],
    omitted: [],
    cut: [],
  });
  const wrong = assertThrows(() => table(terminal(40), columns, rows, { columns: "key,resaon" }), UsageError);
  assertEquals(
    wrong.message,
    'Cannot show column "resaon": expected one of key, reason, trace; did you mean "reason"?',
  );
  assertEquals(
    tableLines(terminal(60), columns, rows).at(-1),
    "(cut: reason; --columns selects columns, --json prints all)",
  );
});

Deno.test("table() cuts an endless text of the broker, also in an identifier, so that no other line grows", () => {
  const rows = ["00700.HK", "A".repeat(1_000_000)];
  const columns = [{ title: "symbol", id: true as const, of: (row: string) => row }, {
    title: "n",
    of: () => "1",
  }];
  for (const host of [terminal(80), { ...terminal(80), isTerminal: false }]) {
    for (const chosen of [undefined, "symbol,n"]) {
      const { lines, cut } = table(host, columns, rows, { columns: chosen });
      assertEquals(cut, ["symbol"]);
      for (const line of lines) assert(line.length < 3_000, String(line.length));
      assertStringIncludes(lines[2]!, "AAA…");
    }
  }
});

Deno.test("table() has no limit on the number of rows", () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => index);
  const { lines } = table(terminal(80), [{ title: "n", of: String, align: "right" as const }], rows);
  assertEquals([lines.length, lines.at(-1)], [300_001, "299999"]);
});

Deno.test("wrapped() breaks lines at spaces on a terminal, never within an identifier; without a terminal it breaks no line", () => {
  const text = "order 1250815000001-1250815000002-1250815000003 of 00700.HK";
  assertEquals(wrapped(terminal(30), text, 4), [
    "    order",
    "    1250815000001-1250815000002-1250815000003",
    "    of 00700.HK",
  ]);
  assertEquals(wrapped({ ...terminal(30), isTerminal: false }, text, 4), [`    ${text}`]);
});

Deno.test("table() cuts nothing without a terminal; on a terminal the last column gets the remaining width", () => {
  const note = "set by hand because of a typhoon that nobody had expected, all day";
  const columns = [{ title: "day", of: () => "Tue" }, { title: "note", of: () => note }];
  const pipe = { ...terminal(1000), isTerminal: false } as Host; // only the members that printing uses
  assertEquals(table(pipe, columns, [{}]).lines[1], `Tue  ${note}`);
  assertEquals(table(terminal(80), columns, [{}]).lines[1], `Tue  ${note}`);
  assertEquals(table(terminal(60), columns, [{}]).lines[1], `Tue  ${note.slice(0, 54)}…`);
});

Deno.test("tableLines() keeps the required column, and says that others are omitted", () => {
  const columns = ["day", "fills", "checks", "status"].map((title) => ({
    title,
    of: () => title.toUpperCase(),
    ...title === "checks" && { keep: true as const },
  }));
  assertEquals(tableLines(terminal(80), columns, [{}]), [
    "day  fills  checks  status",
    "DAY  FILLS  CHECKS  STATUS",
  ]);
  for (
    const [width, head, left] of [
      [20, "day  fills  checks", "status"],
      [12, "day  checks", "fills, status"],
    ] as const
  ) {
    assertEquals(tableLines(terminal(width), columns, [{}]), [
      head,
      head.toUpperCase(),
      `(omitted: ${left}; --columns selects columns, --json prints all)`,
    ]);
  }
});

Deno.test("priceText() shows the digits of a price without floating-point noise", () => {
  assertEquals(priceText("590"), "590.00");
  assertEquals(priceText("117.475"), "117.475");
  assertEquals(priceText("0.30000000000000004"), "0.30");
  assertEquals(priceText("25836.5"), "25836.50");
});

Deno.test("changePercent() rounds to two decimals, and returns undefined without a price or a previous price", () => {
  const quote = (lastPrice: string, previousClose: string): Quote => ({ lastPrice, previousClose });
  assertEquals(changePercent(quote("588.5", "590")), "-0.25");
  assertEquals(changePercent(quote("595.5", "590")), "0.93");
  assertEquals(changePercent(quote("10", "0")), undefined);
  assertEquals(changePercent(quote("0", "10")), undefined);
});

Deno.test("shortCount() shortens large numbers", () => {
  assertEquals(["0", "950", "9900", "4640000", "51900000", "3967857334"].map(shortCount), [
    "0",
    "950",
    "9.90K",
    "4.64M",
    "51.9M",
    "3.97B",
  ]);
});

/** The arguments of each command that prints a list, two of its columns, and their header in a table. */
const lists: Record<string, [words: string[], columns: string, header: RegExp]> = {
  "runs": [["runs"], "trace,key", /^trace +key$/],
  "notices": [["notices"], "state,channel", /^state +channel$/],
  "next": [["next", "recipes"], "schedule,utc", /^schedule +utc$/],
  "call": [["call", "account.holdings", '{"market":"hk"}'], "quantity,symbol", /^quantity +symbol$/],
  "quote": [["quote", "00700.HK"], "time,symbol", /^time \(HKT\) +symbol$/],
  "portfolio": [["portfolio"], "profit,symbol", /^ *profit +symbol$/],
  "bars": [["bars", "00700.HK", "--interval", "5m"], "close,time", /^ *close +time \(HKT\)$/],
  "orders": [["orders"], "filled,symbol", /^filled +symbol$/],
  "fills": [["fills"], "price,time", /^ *price +time \(HKT\)$/],
  "trust": [["trust", "--list"], "file,state", /^file +state$/],
  "lease": [["lease"], "process,program", /^no process on this machine/],
  "operations": [["operations"], "operation,instead", /^operation +instead$/],
  "rebalance show": [["rebalance", "show"], "trades,plan", /^ *trades +plan$/],
  "calendar": [["calendar", "XHKG"], "close-utc,date", /^close \(UTC\) +date$/],
  "export day-book": [
    ["export", "day-book", "--from", "2025-08-14", "--to", "2025-08-14"],
    "checks,day",
    /^checks +day$/,
  ],
};

Deno.test("every command that prints a list accepts --columns, and rejects unknown columns", async () => {
  const named = commands.filter(({ flags }) => "columns" in flags).map(({ name }) => name);
  assertEquals(named.toSorted(), [...Object.keys(lists), "watch"].toSorted());
  const clock = new ManualClock(MORNING);
  await using gateway = await simulate({ fillsPerDay: 3, clock });
  await using dir = await folder({});
  const store = `${dir.path}/l.db`;
  {
    await using made = await openSqlite(store);
    await made.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id)
        values ('a/m/1', 'a', '', 'manual', 'read', 0, 0, 'ok', '00', '1')`,
    );
    await made.run(
      `insert into outbox (dedupe_key, channel, body, next_try, run_key, created_at)
        values ('a/m/1/0', 'mail', '{"notice":0,"place":0}', 0, 'a/m/1', 0)`,
    );
  }
  const env = {
    ...envOf(gateway),
    HSGATE_STORE: store,
    HSGATE_LEASE_FOLDER: `${dir.path}/leases`,
    HSGATE_VOLATILE_STORE: "allow",
    HSGATE_LIVE_TRADING: "allow",
  };
  const order = ["buy", "100", "00700.HK", "--limit", "600", "--type", "enhanced-limit", "--yes"];
  const bought = await cli(order, { env });
  assertEquals(bought.code, 0, bought.err);
  clock.advance(60_000);
  gateway.round();
  assertEquals((await cli(["trust", store, "--yes"], { env, fromDisk: true })).code, 0);
  const plan = `${dir.path}/plan.yaml`;
  await Deno.writeTextFile(plan, "market: hk\ntargets: { 00700.HK: 0.1 }\n");
  const proposed = await cli(["rebalance", plan, "--propose"], { env, fromDisk: true });
  assertEquals(proposed.code, 0, proposed.err);
  for (const [name, [words, columns, header]] of Object.entries(lists)) {
    const more = name === "export day-book" ? ["--out", `${dir.path}/out`] : [];
    const run = (...flags: string[]) => cli([...words, ...more, ...flags], { env, columns: 30 });
    const shown = await run("--columns", columns);
    assertEquals(shown.code, 0, shown.err);
    assert(header.test(shown.out.split("\n")[0]!), `${name}: ${shown.out}`);
    const before = gateway.state().callsTaken;
    const wrong = await run("--columns", `${columns},nonsense`);
    assertEquals([wrong.code, wrong.out], [2, ""], name);
    assertStringIncludes(wrong.err, 'Cannot show column "nonsense": expected one of ');
    const both = await run("--columns", columns, "--json");
    assertEquals([both.code, JSON.parse(both.out).error.exitCode], [2, 2], name);
    assertStringIncludes(both.err, "Cannot use --columns with --json");
    const form = await run("--output", "xml");
    assertEquals([form.code, form.out], [2, ""], name);
    assertStringIncludes(form.err, 'Cannot use --output "xml": expected one of table, csv, jsonl, json, md');
    const two = await run("--json", "--output", "csv");
    assertEquals(two.code, 2, name);
    assertStringIncludes(two.err, "Cannot use --json with --output csv");
    assertEquals(gateway.state().callsTaken, before, `${name} asked nobody`);
  }
  for (const [name, [words, columns, header]] of Object.entries(lists)) {
    const more = name === "export day-book" ? ["--out", `${dir.path}/out`] : [];
    const run = (...flags: string[]) => cli([...words, ...more, ...flags], { env });
    const table = await run("--output", "table", "--columns", columns);
    assert(header.test(table.out.split("\n")[0]!), `${name}: ${table.out}`);
    const json = JSON.parse((await run("--output", "json")).out);
    assertEquals(json, JSON.parse((await run("--json")).out), name);
    const lines = (await run("--output", "jsonl")).out.split("\n").slice(0, -1);
    const data = lines.map((line) => JSON.parse(line));
    if (Array.isArray(json)) assertEquals(data, json, name);
    const { out: csv, code } = await run("--output", "csv");
    assertEquals(code, 0, name);
    const records = parseCsv(csv);
    assertEquals(records.length, data.length + 1, name);
    assertEquals(new Set(records.map(({ length }) => length)).size, 1, name);
    const chosen = parseCsv((await run("--output", "csv", "--columns", columns)).out);
    assertEquals(chosen[0], columns.split(","), name);
    const markdown = (await run("--output", "md")).out.trimEnd().split("\n");
    assertEquals(markdown.length, data.length + 2, name);
    for (const line of markdown) assert(/^\|.*\|$/.test(line), line);
    assert(name === "lease" || data.length > 0, `${name} has rows`);
  }
  const live = await cli(["watch", "00700.HK", "--columns", "nonsense"], { env, columns: 80 });
  assertEquals(live.code, 2);
  assertStringIncludes(live.err, 'Cannot show column "nonsense": expected one of symbol, last, ');
  const piped = await cli(["watch", "00700.HK", "--columns", "last"], { env });
  assertEquals([piped.code, piped.out], [2, ""]);
  assertStringIncludes(piped.err, "add --output csv or --output md");
});

Deno.test("a list as CSV keeps every digit, runs no formula, and is one line for each row", () => {
  const printed = (output: Output, columns?: string): string[] => {
    const lines: string[] = [];
    const host = { ...terminal(20), out: (line: string) => void lines.push(line) };
    const view: ListView = { output, isChosen: true, ...columns !== undefined && { columns } };
    printList(host, view, {
      columns: [
        { title: "name", of: ({ name }) => name },
        { title: "volume", of: () => "12.3M", exact: ({ volume }) => volume },
        { title: "more (UTC)", name: "more", extra: true, of: () => "x|y" },
      ],
      rows: [{ name: "=1+1", volume: "12345678901234567890" }, { name: 'a "b",\nc', volume: "-5" }],
      empty: "nothing",
    });
    return lines;
  };
  assertEquals(printed("csv"), [
    "name,volume,more",
    "'=1+1,12345678901234567890,x|y",
    '"a ""b"",\\u000ac",-5,x|y',
  ]);
  assertEquals(printed("csv", "more,name"), ["more,name", "x|y,'=1+1", 'x|y,"a ""b"",\\u000ac"']);
  assertEquals(printed("md")[0], "| name | volume |");
  assertEquals(printed("md", "more")[2], "| x\\|y |");
  assertEquals(printed("jsonl").map((line) => JSON.parse(line).volume), ["12345678901234567890", "-5"]);
});

Deno.test("printList() cuts an endless text in Markdown, and keeps it in JSON and CSV", () => {
  const text = "K".repeat(3_000_000);
  const lengths = (["md", "csv", "jsonl"] as const).map((output) => {
    let length = 0;
    const host = { out: (line: string) => void (length += line.length) } as Partial<Host> as Host;
    printList(host, { output, isChosen: true }, {
      columns: [{ title: "symbol", of: ({ symbol }: { symbol: string }) => symbol }],
      rows: [{ symbol: text }],
      empty: "nothing",
    });
    return length;
  });
  assertEquals(lengths.map((length) => length > text.length), [false, true, true]);
});

/** Commands that print tables as parts of one document, and why they have no `--output` and `--columns`. */
const documents: Readonly<Record<string, string>> = {
  "demo": "a demonstration for a person; its files are CSV and JSON Lines",
  "rebalance": "a plan: positions, trades and costs",
  "rebalance run": "the report of an execution",
  "runs show": "one run: steps, files and events",
  "orders show": "one intent: its parts have different columns",
  "orders resolve": "one intent, as for orders show",
};

Deno.test("every command that prints a table has --output and --columns, or prints one document", async () => {
  const root = new URL("../../tasks/", import.meta.url);
  const read = (path: string) => Deno.readTextFile(new URL(path, root));
  /** Returns whether a file, or a file of its folder that it imports, prints tables. */
  const printsTable = async (path: string, seen = new Set<string>()): Promise<boolean> => {
    if (seen.has(path)) return false;
    seen.add(path);
    const source = await read(path);
    if (/\b(tableLines|printList)\b/.test(source)) return true;
    for (const [, to] of source.matchAll(/from "(\.[^"]+\.ts)"/g)) {
      const target = new URL(to!, new URL(path, root)).pathname;
      if (!target.startsWith(new URL(".", new URL(path, root)).pathname)) continue;
      if (await printsTable(target.slice(root.pathname.length), seen)) return true;
    }
    return false;
  };
  const table = await read("commands/table.ts");
  const files = new Map(
    [...table.matchAll(/withBody\((\w+), async \(\) => \(await import\("\.\/([^"]+)"\)\)/g)]
      .map(([, name, path]) => [name!, `commands/${path}`]),
  );
  assertEquals(files.size, commands.length, "every command is in one line of tasks/commands/table.ts");
  const paths = [...files.values()];
  const without: string[] = [];
  for (const [index, command] of commands.entries()) {
    const flags = flagsOf(command);
    const isList = /\blists?\b/.test(command.summary) || await printsTable(paths[index]!);
    const has = "output" in flags && "columns" in flags;

    if (isList && !has && documents[command.name] === undefined) without.push(command.name);
    if (has) {
      assert(
        documents[command.name] === undefined,
        `${command.name} has --output, and is also in the list of commands without it`,
      );
    }
  }
  assertEquals(without, []);
});

const hasPython = await hasProgram("python3");
Deno.test({
  name: `a terminal that does not know its size counts as 80 by 24${
    hasPython ? "" : " (left out: no python3)"
  }`,
  ignore: !hasPython,
  async fn() {
    // Python gives the program a new terminal, whose size is 0 by 0.
    const source = `import { processHost } from "${import.meta.resolve("../../tasks/terminal/host.ts")}";
console.log(JSON.stringify(processHost().size()));`;
    const { stdout } = await new Deno.Command("python3", {
      args: ["-c", "import pty, sys; pty.spawn(sys.argv[1:])", Deno.execPath(), "eval", source],
      stdin: "null",
    }).output();
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { columns: 80, rows: 24 });
  },
});
