import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { commands } from "../../tasks/commands/table.ts";
import { glossary, topics } from "../../tasks/terminal/topics.ts";
import { cli, spawned } from "./support.ts";

Deno.test("hsgate --help lists every command with its summary, and the exit codes, in lines of at most 80 characters", async () => {
  const { code, out, err } = await cli(["--help"]);
  assertEquals({ code, err }, { code: 0, err: "" });
  const [, section = ""] = /\nCommands\n([^]*?)\n\n/.exec(out) ?? [];
  const listed: [name: string, summary: string][] = [];
  for (const line of section.split("\n")) {
    const [, name, text = ""] = /^(?: {2}(\S.*?))? {2,}(\S.*)$/.exec(line) ?? [];
    // A line without a name continues the summary of the line before.
    if (name === undefined) listed.at(-1)![1] += ` ${text}`;
    else listed.push([name, text]);
  }
  assertEquals(listed, commands.map(({ name, summary }) => [name, summary]));
  for (const exit of ["0", "1", "2", "3", "4", "5", "6", "7", "130"]) {
    assert(new RegExp(`\\n  ${exit} +\\S`).test(out), `exit code ${exit} is explained`);
  }
  for (const line of out.split("\n")) assert(line.length <= 80, `"${line}" is too long`);
});

for (const { name } of commands) {
  Deno.test(`hsgate ${name} --help has an example and exit codes, and fits 80 columns`, async () => {
    const { code, out, err } = await cli([...name.split(" "), "--help"]);
    assertEquals({ code, err }, { code: 0, err: "" });
    assert(/\nExamples?\n {2}hsgate /.test(out));
    assertStringIncludes(out, "\nExit codes\n");
    assertStringIncludes(out, "--help");
    for (const line of out.split("\n")) {
      // Examples are for copying, so they stay whole.
      if (!line.startsWith("  hsgate ")) assert(line.length <= 80, `"${line}" is too long`);
    }
    assertEquals((await cli(["help", ...name.split(" ")])).out, out);
  });
}

Deno.test("no printed text says \"deno task hsgate\": in somebody else's folder, that runs the folder's own task", async () => {
  const root = new URL("../../", import.meta.url);
  const found: string[] = [];
  const read = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
      const path = `${folder}${name}`;
      // `init` writes these hints into a folder that has the task.
      if (isDirectory) await read(`${path}/`);
      else if (path.endsWith(".ts") && !path.startsWith("tasks/commands/init/")) {
        const text = (await Deno.readTextFile(new URL(path, root))).replaceAll(/^\s*(\/?\*|\/\/).*$/gm, "");
        if (text.includes("deno task hsgate")) found.push(path);
      }
    }
  };
  for (const folder of ["lib/", "tasks/"]) await read(folder);
  assertEquals(found, []);
});

Deno.test("hsgate shows the help of all commands with the same first word, and runs none of them", async () => {
  const { code, out } = await cli(["keys", "--help"]);
  assertEquals(code, 0);
  assertStringIncludes(out, "Usage: hsgate keys new ");
  assertStringIncludes(out, "Usage: hsgate keys check ");
  assertStringIncludes((await cli(["export", "--help"])).out, "Usage: hsgate export day-book ");
  assertStringIncludes((await cli(["keys"])).err, 'did you mean "keys new" or "keys check"?');
});

for (const name of ["run", "export day-book", "call", "quote", "watch", "login", "doctor", "operations"]) {
  Deno.test(`hsgate ${name} accepts --json and --transport`, async () => {
    const { out } = await cli([...name.split(" "), "--help"]);
    assertStringIncludes(out, "--json ");
    assertStringIncludes(out, "--transport NAME");
  });
}

Deno.test("hsgate without a command shows the overview and fails with the code for wrong usage", async () => {
  const { code, out } = await cli([]);
  assertEquals(code, 2);
  assertStringIncludes(out, "Usage: hsgate <command>");
});

const refusals: [string[], string][] = [
  [["dotcor"], 'Cannot run "dotcor": no such command; did you mean "doctor"?'],
  [["export"], 'Cannot run "export": no such command; did you mean "export day-book"?'],
  [["--jsno", "quote", "AAPL"], 'Cannot run "--jsno": no such command'],
  [["quote", "AAPL", "--jsn"], '"quote" has no flag --jsn; did you mean "json"?'],
  [["quote", "AAPL", "--gatway=http://127.0.0.1:1"], '"quote" has no flag --gatway; did you mean "gateway"?'],
  [["quote", "AAPL", "--timeout"], "--timeout needs a value (SECONDS)"],
  [["quote", "AAPL", "--timeout", "soon"], 'Cannot read --timeout "soon": write seconds'],
  [["quote", "AAPL", "--json=yes"], "--json accepts no value"],
  [["quote", "AAPL", "--type", "us-stock", "--type", "us-etf"], "--type is given twice"],
  [["quote"], 'Cannot run "quote": an argument is missing; usage: quote SYMBOL…'],
  [["quote", "7.L"], 'Cannot recognize "7.L": codes look like "00700.HK"'],
  [["quote", "AAPL", "--type", "us-stocks"], 'no such kind of security; did you mean "us-stock"?'],
  [["doctor", "now"], 'Cannot run "doctor": it accepts only flags, and got 1 argument'],
  [["call", "orders.plase"], 'Cannot find operation "orders.plase"; did you mean "orders.place"?'],
  [["call", "TradeEntrst"], 'Cannot find operation "TradeEntrst"; did you mean "TradeEntrust"?'],
  [
    ["call", "orders"],
    'Cannot call "orders": it is a family of operations; use one of orders.place, orders.amend',
  ],
  [["call", "account.funds", "{market:hk}"], "Cannot read the parameters: "],
  [["call", "account.funds", '{"market":"hk","market":"us"}'], 'they have the member "market" twice'],
  [["call", "orders.place", '{"price":600.12345678901234567}'], "600.12345678901234567 would lose digits"],
  [["call", "account.funds", "@no.json"], 'Cannot read the parameters: there is no file "no.json"'],
  [
    ["call", "account.funds", '{"market":"hk"}', "--all"],
    "Cannot use --all: account.funds has no pages; remove --all",
  ],
  [["call", "account.funds", '{"markt":"hk"}'], "markt: expected only market, got"],
  [["quote", "AAPL", "--transport", "direct"], "mobile: expected a value in HSGATE_MOBILE (or ..._FILE)"],
  [["quote", "AAPL", "--transport", "drect"], 'expected "gateway" or "direct", got "drect"'],
  [["quote", "AAPL", "--auth-url", "http://example.com"], "plain http only on a loopback address"],
  [["quote", "AAPL", "--config", "no.yaml"], "the settings file: expected a file that exists"],
  [
    ["export", "day-book", "--markets", "hk,uk"],
    'Cannot use --markets "uk": expected one of hk, us, shenzhen, shanghai',
  ],
  [["export", "day-book", "--from", "2025-02-30"], 'Cannot use --from "2025-02-30": write a day that exists'],
  [["export", "day-book", "--from", "2025-08-15", "--to", "2025-08-14"], "the first day is after the last"],
  [["export", "day-book", "--formats", "xlsx"], 'Cannot use --formats "xlsx": expected one of csv, jsonl'],
  [["bars", "AAPL", "--interval", "day,week"], 'Cannot use --interval "day,week": expected one of '],
  [["bars", "AAPL", "--adjust", "none,forward"], 'Cannot use --adjust "none,forward": expected one of '],
  [["portfolio", "--currency", "hkd,usd"], 'Cannot use --currency "hkd,usd": expected one of hkd, usd, cny'],
  [["watch", "AAPL", "--topics", "qoute"], 'Cannot watch "qoute": no such topic; did you mean "quote"?'],
  [["run", "nope.yaml"], 'Cannot run "nope.yaml": there is no such recipe'],
  [["doctor", "--config-xml", "no.xml"], 'there is no file "no.xml"'],
];
for (const [words, message] of refusals) {
  Deno.test(`hsgate ${words.join(" ")} is rejected with exit code 2 before anything is sent`, async () => {
    const { code, out, err } = await cli(words);
    assertEquals({ code, out }, { code: 2, out: "" });
    assertStringIncludes(err, message);
  });
}

Deno.test("hsgate also accepts shared flags before the command", async () => {
  const { code, out } = await cli(["--json", "--transport", "gateway", "operations", "orders.cancel"]);
  assertEquals(code, 0);
  assertEquals(JSON.parse(out).wire, "TradeCancelEntrust");
});

Deno.test("hsgate operations lists every operation by both names", async () => {
  const { code, out } = await cli(["operations", "--json", "--transport", "gateway"]);
  assertEquals(code, 0);
  const list: { name: string; wire: string; path: string; effect: string; needs: string }[] = JSON.parse(out);
  const { name, wire, path, effect, needs } = list.find((each) => each.wire === "TradeEntrust")!;
  assertEquals({ name, wire, path, effect, needs }, {
    name: "orders.place",
    wire: "TradeEntrust",
    path: "/trade/TradeEntrust",
    effect: "write",
    needs: "trade-login",
  });
  // 53 paths, and orders.cancelAll as a special case of one of them.
  assertEquals(list.length, 54);
  assertEquals(new Set(list.map((each) => each.path)).size, 53);
});

Deno.test("hsgate operations explains one operation by the broker's name", async () => {
  const { code, out } = await cli(["operations", "TradeCancelEntrust"]);
  assertEquals(code, 0);
  assertStringIncludes(out, "orders.cancel\nCancels one order and resolves to its order id.");
  assertStringIncludes(out, "quantity  entrustAmount, decimal above zero, optional\n");
});

Deno.test("hsgate operations fits a terminal of 80 columns", async () => {
  for (const words of [["operations"], ["operations", "orders.place"], ["operations", "algo"]]) {
    const { out } = await cli(words, { columns: 80 });
    for (const line of out.split("\n")) assert(line.length <= 80, `"${line}" is too long`);
  }
});

Deno.test("hsgate loads no package for --help, so that help stays fast", async () => {
  const info = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "tasks/hsgate.ts"],
    cwd: new URL("../../", import.meta.url),
    stdout: "piped",
  }).output();
  const graph: {
    modules: {
      specifier: string;
      dependencies?: { code?: { specifier: string }; isDynamic?: boolean; specifier: string }[];
    }[];
  } = JSON.parse(new TextDecoder().decode(info.stdout));
  const byName = new Map(graph.modules.map((each) => [each.specifier, each]));
  const seen = new Set<string>();
  const walk = (specifier: string) => {
    if (seen.has(specifier)) return;
    seen.add(specifier);
    for (const { code, isDynamic } of byName.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && !isDynamic) walk(code.specifier);
    }
  };
  walk(new URL("../../tasks/hsgate.ts", import.meta.url).href);
  const foreign = [...seen].filter((each) => !each.includes("/tasks/"));
  assertEquals(foreign, []);
});

Deno.test("hsgate as a process ends with its exit codes", async () => {
  const [help, wrong] = await Promise.all([spawned(["call", "--help"]), spawned(["cal"])]);
  assertEquals({ code: help.code, err: help.err }, { code: 0, err: "" });
  assertEquals({ code: wrong.code, out: wrong.out }, { code: 2, out: "" });
});

for (const name of Object.keys(topics)) {
  Deno.test(`hsgate help ${name} explains the topic and fits 80 columns`, async () => {
    const { code, out, err } = await cli(["help", name]);
    assertEquals([code, err], [0, ""]);
    assert(out.split("\n").length > 4);
    for (const line of out.split("\n")) assert(line.length <= 80, line);
    assertEquals(JSON.parse((await cli(["help", name, "--json"])).out).topic, name);
    assertStringIncludes((await cli(["--help"])).out, name);
  });
}

Deno.test("the glossary is in alphabetical order", () => {
  assertEquals(Object.keys(glossary), Object.keys(glossary).toSorted());
});

Deno.test("the error for an unknown topic names the nearest topic, and for an unknown recipe the known recipes", async () => {
  const { code, err } = await cli(["help", "glosary"]);
  assertEquals(code, 2);
  assertStringIncludes(err, 'did you mean "glossary"?');
  assertStringIncludes(
    (await cli(["run", "nothing-like-it"])).err,
    'known: "bar_archive", "cancel_at_close"',
  );
});
