import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { RecipeError } from "../../lib/recipes/mod.ts";
import { planOutages } from "../../lib/rehearsal/outages.ts";
import { cli, folder, spawned } from "./runner_support.ts";

const RECIPE = `
name: funds
schedule: { calendar: XHKG, at: close+45m }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`;
const OTHER = { at: "2025-12-23T16:40+08:00", what: "pause", recipe: "other" } as const;
const WEEK = ["--from", "2025-12-22", "--to", "2025-12-26"];
const REPORT = [
  "rehearsed 2025-12-22 to 2025-12-26, seed 1",
  "",
  "recipe  slots  ok  failed  skipped  why",
  "funds       5   3       0        2  holiday 2",
  "",
  "half-days and clock changes:",
  "  2025-12-24 Wed  XHKG half-day, closes 12:00",
  "",
  "not a plain success:",
  "  2025-12-25 Thu  skipped, holiday: funds",
  "  2025-12-26 Fri  skipped, holiday: funds",
  "",
  "5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages",
  "",
].join("\n");

Deno.test("hsgate test prints the report, and its progress on stderr", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const { code, out, err } = await cli(["test", recipes.path, ...WEEK]);
  assertEquals({ code, out, err }, { code: 0, out: REPORT, err: "hsgate: 2025-12, 0 slots so far\n" });
});

Deno.test("hsgate test --json prints only the result as JSON", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const { code, out, err } = await cli(["test", `${recipes.path}/funds.yaml`, ...WEEK, "--json"]);
  assertEquals([code, err], [0, ""]);
  const { recipes: tallies, exceptions, specialDays, from, seed } = JSON.parse(out);
  assertEquals([from, seed], ["2025-12-22", 1]);
  assertEquals(tallies, [
    { recipe: "funds", slots: 5, ok: 3, failed: 0, skipped: 2, reasons: { holiday: 2 }, open: 0 },
  ]);
  assertEquals(exceptions[0], {
    runKey: "funds/main/2025-12-25",
    recipe: "funds",
    schedule: "main",
    day: "2025-12-25",
    state: "skipped",
    reason: "holiday",
  });
  assertEquals(specialDays, [
    { day: "2025-12-24", what: "half-day", exchange: "XHKG", closes: "12:00" },
  ]);
});

Deno.test("hsgate test --golden stores the report, compares it, and ends with 7 if it differs", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const golden = `${recipes.path}/year.txt`;
  const words = ["test", recipes.path, ...WEEK, "--golden", golden];
  const missing = await cli(words);
  assertEquals(missing.code, 2);
  assertStringIncludes(
    missing.err,
    `hsgate: Cannot compare: there is no "${golden}"; --update-golden creates it\n`,
  );
  const kept = await cli([...words, "--update-golden"]);
  assertEquals([kept.code, kept.out], [0, "5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages\n"]);
  assertStringIncludes(kept.err, `hsgate: wrote "${golden}"`);
  assertEquals(await Deno.readTextFile(golden), REPORT);
  const same = await cli(words);
  assertEquals([same.code, same.out], [0, "5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages\n"]);
  await Deno.writeTextFile(
    `${recipes.path}/funds.yaml`,
    RECIPE.replace("close+45m", "close+45m, halfDays: skip"),
  );
  const other = await cli(words);
  assertEquals([other.code, other.out.split("\n").filter((line) => /^[-+]/.test(line))], [7, [
    "- funds       5   3       0        2  holiday 2",
    "+ funds       5   2       0        3  half day 1, holiday 2",
    "+   2025-12-24 Wed  skipped, half day: funds",
    "- 5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages",
    "+ 5 slots, 2 succeeded, 0 failed, 3 skipped, 0 messages",
  ]]);
  assertStringIncludes(other.err, "if that is right, --update-golden accepts it");
  const forPrograms = await cli([...words, "--json"]);
  assertEquals([forPrograms.code, JSON.parse(forPrograms.out).golden.differences.length > 0], [7, true]);
});

Deno.test("hsgate test --outages simulates outages, and reports a mistake by file, line and column", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const script = `${recipes.path}.outages.yaml`;
  await Deno.writeTextFile(script, "- { at: 2025-12-23T16:40+08:00, for: 20m, what: gateway-down }\n");
  const words = ["test", recipes.path, ...WEEK, "--outages", script];
  const { code, out } = await cli(words);
  assertEquals(code, 0, "a run that fails is part of the report");
  assertStringIncludes(out, '2025-12-23 Tue  failed at "funds" (Cannot send account.funds: no connection');
  await Deno.writeTextFile(script, "- { at: 2025-12-23T16:40+08:00, what: gateway-dwon }\n");
  const wrong = await cli(words);
  assertEquals([wrong.code, wrong.out], [2, ""]);
  assertStringIncludes(wrong.err, `hsgate: ${script}:1:39: 0.what: expected one of "scheduler-down"`);
  assertStringIncludes(wrong.err, 'did you mean "gateway-down"?');
  const none = await cli([...WEEK.toSpliced(0, 0, "test", recipes.path), "--outages", "nowhere.yaml"]);
  assertEquals(none.code, 2);
  assertStringIncludes(none.err, 'hsgate: Cannot read the outages: there is no "nowhere.yaml"\n');
  await Deno.remove(script);
});

Deno.test("hsgate test prints the start of a long list of differences or of mistakes, and how many it leaves out", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const golden = `${recipes.path}.golden.txt`;
  await Deno.writeTextFile(golden, "x\n".repeat(900));
  const words = ["test", recipes.path, ...WEEK];
  const other = await cli([...words, "--golden", golden]);
  assertEquals(other.code, 7);
  const lines = other.out.trimEnd().split("\n");
  assertEquals(lines.length, 201);
  // Both texts end with an empty line. It is unchanged, and listed after the differences.
  const left = 900 + REPORT.split("\n").length - 200;
  assertEquals(lines.at(-1), `and ${left} more lines; --json lists all`);
  const all = JSON.parse((await cli([...words, "--golden", golden, "--json"])).out).golden.differences;
  assertEquals(all.length, 200 + left);
  const outages = `${recipes.path}.outages.yaml`;
  const entry = "- { at: 2025-12-23T16:40+08:00, what: pause, recipe: other }\n";
  await Deno.writeTextFile(outages, entry.repeat(300));
  const wrong = await cli([...words, "--outages", outages]);
  assertEquals(wrong.code, 2);
  const mistakes = wrong.err.trimEnd().split("\n");
  assertEquals([mistakes.length, mistakes.at(-1)], [101, "hsgate: and 200 more mistakes"]);
  assertThrows(
    () =>
      planOutages(Array.from({ length: 300 }, () => OTHER), { recipes: ["funds"], from: 0, to: Infinity }),
    RecipeError,
    "\nand 200 more",
  );
  for (const file of [golden, outages]) await Deno.remove(file);
});

Deno.test("hsgate test keeps the store at the given path, and why reads it", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const store = `${recipes.path}/test.db`;
  const words = ["test", recipes.path, ...WEEK, "--store", store];
  // This command runs as a process, with the permissions of the task.
  const first = await spawned(words);
  assertEquals([first.code, first.out], [0, REPORT]);
  const { code, out } = await cli(["why", "funds", "2025-12-25", "--store", store]);
  assertEquals(code, 0);
  assertStringIncludes(out, "the exchange was closed");
  const again = await cli(words);
  assertEquals(again.code, 2);
  assertStringIncludes(
    again.err,
    `hsgate: Cannot keep the store in "${store}": the file exists already\n`,
  );
});

Deno.test("hsgate test uses overridden days", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const env = { HSGATE_CALENDARS: `${recipes.path}/days.txt` };
  const set = await cli(["calendar", "set", "XHKG", "2025-12-23", "closed", "--because", "storm"], { env });
  assertEquals(set.code, 0, set.err);
  const { out } = await cli(["test", `${recipes.path}/funds.yaml`, ...WEEK], { env });
  assertStringIncludes(out, "\nfunds       5   2       0        3  holiday 3\n");
  assertStringIncludes(out, "\n  2025-12-23 Tue  skipped, holiday: funds\n");
  assertEquals((await cli(["test", `${recipes.path}/funds.yaml`, ...WEEK])).out, REPORT);
});

Deno.test("hsgate test rejects invalid requests, and says what to do", async () => {
  await using recipes = await folder({ "funds.yaml": RECIPE });
  const refusal = async (...words: string[]) => {
    const { code, err } = await cli(["test", recipes.path, ...words]);
    assertEquals(code, 2, err);
    return err;
  };
  assertStringIncludes(await refusal(), "give --from and --to, such as --from 2025-01-01 --to 2025-12-31");
  assertStringIncludes(await refusal("--from", "2025-1-1", "--to", "2025-12-31"), '--from "2025-1-1"');
  assertStringIncludes(
    await refusal("--from", "2025-02-30", "--to", "2025-03-05"),
    'Cannot use --from "2025-02-30": write a day that exists, such as 2025-08-15',
  );
  assertStringIncludes(
    await refusal("--from", "2025-02-01", "--to", "2025-01-01"),
    "the last day is before the first",
  );
  assertStringIncludes(await refusal(...WEEK, "--seed", "x"), 'Cannot use --seed "x": write a whole number');
  assertStringIncludes(await refusal(...WEEK, "--update-golden"), "name it with --golden FILE");
  assertStringIncludes(
    await refusal("--from", "2020-01-01", "--to", "2020-01-02"),
    "the simulator has prices since 2024-08-16",
  );
  await Deno.writeTextFile(`${recipes.path}/funds.yaml`, RECIPE.replace("XHKG", "XHKX"));
  assertStringIncludes(await refusal(...WEEK), "funds.yaml:3:23");
});

Deno.test("hsgate test runs a custom step that calls the broker", async () => {
  const step = `
export default {
  effect: "read",
  async run(_params, { call, slot }) {
    await call("account.funds", { market: "hk" });
    return { ok: true, slot };
  },
};
`;
  const text = RECIPE.replace("uses: account.funds, with: { market: hk }", "uses: ./count_step.ts");
  await using recipes = await folder({ "funds.yaml": text, "count_step.ts": step });
  const { code, out } = await spawned(["test", recipes.path, "--from", "2025-12-22", "--to", "2025-12-23"]);
  assertEquals(code, 0);
  assert(out.includes("\nfunds       2   2       0        0\n"), out);
});

Deno.test("hsgate test --script changes the broker, and a wrong script is a usage error", async () => {
  const recipe = `
name: lists
schedule: { calendar: XHKG, at: close+45m }
steps:
  - { id: orders, uses: orders.today, with: { market: hk } }
`;
  await using recipes = await folder({
    "lists.yaml": recipe,
    "_script.yaml": `
- { what: outage, of: lists, at: 2025-12-23 16:30, for: 4h }
- { what: halt, market: hk, at: 2025-12-23 09:00, for: 1d }
`,
    "_wrong.yaml": "- { what: outage, of: lists, at: 2025-12-23 16:30 }",
  });
  const words = ["test", recipes.path, "--from", "2025-12-22", "--to", "2025-12-24"];
  const { code, out } = await cli([...words, "--script", `${recipes.path}/_script.yaml`]);
  assertEquals(code, 0);
  assertStringIncludes(out, "3 slots, 2 succeeded, 1 failed, 0 skipped");
  assertStringIncludes((await cli(words)).out, "3 slots, 3 succeeded, 0 failed, 0 skipped");
  const wrong = await cli([...words, "--script", `${recipes.path}/_wrong.yaml`]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'entry 1, field "for" is missing: expected a span of time');
});
