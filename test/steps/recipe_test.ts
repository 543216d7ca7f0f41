import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { DayBookResult } from "../../lib/day_book/mod.ts";
import { lastSessions } from "../../lib/steps/day_book_step.ts";
import { compileRecipe, RecipeError, type RecipeEvent, runRecipe } from "../../lib/steps/mod.ts";
import { readTree } from "../day_book/scripted_gateway.ts";
import { SATURDAY, simulated, temporaryFolder } from "../day_book/simulated.ts";

const END_OF_DAY = new URL("../../recipes/end_of_day.yaml", import.meta.url);

/** What is wrong with a recipe, as `line: message`. */
async function problemsOf(text: string): Promise<string[]> {
  const error = await assertRejects(() => compileRecipe(text, "my.yaml"), RecipeError);
  for (const { line } of error.issues) assertStringIncludes(error.message, `my.yaml:${line}: `);
  return error.issues.map(({ line, message }) => `${line}: ${message}`);
}

Deno.test("recipes/end_of_day.yaml exports the last five trading days of three markets as a script does", async () => {
  const recipe = await compileRecipe(await Deno.readTextFile(END_OF_DAY), "recipes/end_of_day.yaml");
  assertEquals([recipe.name, recipe.schedule], [
    "end-of-day",
    { cron: "30 20 * * 1-5", timezone: "Asia/Hong_Kong" },
  ]);
  await using broker = await simulated({ days: 5 });
  using folder = temporaryFolder();
  const events: RecipeEvent["type"][] = [];
  const result = await runRecipe(recipe, {
    client: broker.client,
    now: () => SATURDAY,
    out: folder.path,
    onProgress: ({ type }) => events.at(-1) === type || events.push(type),
  });
  const book = result.steps[0]!.output as DayBookResult;
  assertEquals(book.days.map(({ day, status }) => [day, status]), [
    ["2025-08-11", "final"],
    ["2025-08-12", "final"],
    ["2025-08-13", "final"],
    ["2025-08-14", "final"],
    ["2025-08-15", "final"],
  ]);
  assertEquals([result.ok, events], [true, ["step-started", "day-book", "step-done"]]);
  using other = temporaryFolder();
  await broker.exportDays({
    markets: ["shanghai", "us", "hk"],
    from: "2025-08-11",
    to: "2025-08-15",
    out: other.path,
  });
  assertEquals(readTree(`${folder.path}/out/day-books`), readTree(other.path));
});

Deno.test("compileRecipe() finds everything that is wrong, each by its line", async () => {
  assertEquals(
    await problemsOf(`name: End of day
steps:
  - id: first
    uses: export-day-book
    with:
      markets: [hk, nyse]
      sessions: 5
      format: [csv]
  - id: second
    use: account.funds
schedule: { cron: "0 20 * * 1-5" }
`),
    [
      "1: name: expected a name of small letters, digits and hyphens",
      "11: schedule.timezone: expected text",
      "9: steps.1.uses: expected text",
      "10: steps.1.use: expected no such member",
    ],
  );
  assertEquals(
    await problemsOf(`name: export
schedule:
  cron: 0 25 * * *
  timezone: Asia/Hong_Kong
steps:
  - id: first
    uses: export-day-book
    with:
      markets: [hk, nyse]
      sessions: 5
      format: [csv]
  - id: first
    uses: account.fund
  - id: third
    uses: fills.history
    with:
      market: hk
      from: 2025-08-15
      to: 2025-08-14
`),
    [
      "3: schedule.cron: expected a cron pattern (CronPattern: Invalid value for hour: 25)",
      "11: steps.0.with.format: expected only markets, from, to, sessions, out, formats",
      '9: steps.0.with.markets: expected a list of "hk", "us", "shenzhen", "shanghai"',
      '12: steps.1.id: expected another id: "first" is taken by an earlier step',
      '13: steps.1.uses: expected export-day-book, or an operation such as "account.funds"',
      '19: steps.2.with.to: expected a day that is not before "2025-08-15"',
    ],
  );
});

Deno.test("compileRecipe() refuses codes without quotes, as they would lose their zeros", async () => {
  assertEquals(
    await problemsOf(`name: quotes
steps:
  - id: look
    uses: orders.history
    with:
      market: hk
      symbols:
        - "00005.HK"
        - 00700
`),
    ['9: steps.0.with.symbols.1: write "00700" in quotes: without them it is the number 700'],
  );
});

Deno.test("compileRecipe() says where the YAML itself is broken", async () => {
  const [problem = ""] = await problemsOf("name: x\nsteps:\n  - id: [a\n");
  assertStringIncludes(problem, "4: ");
});

Deno.test("compileRecipe() refuses steps that change something", async () => {
  assertEquals(
    await problemsOf("name: x\nsteps:\n  - id: buy\n    uses: orders.place\n"),
    ["4: steps.0.uses: expected an operation that only reads: orders.place changes something, which recipes may not yet"],
  );
});

Deno.test("runRecipe() walks lists to their end, in our names or the broker's", async () => {
  const recipe = await compileRecipe(
    `name: lists
steps:
  - { id: ours, uses: fills.history, with: { market: hk, from: 2025-08-13, to: 2025-08-15 } }
  - { id: theirs, uses: TradeQueryHistoryDeliverList, with: { exchangeType: K, startDate: "20250813", endDate: "20250815" } }
`,
    "lists.yaml",
  );
  await using broker = await simulated({ fillsPerDay: 60 });
  const { steps } = await runRecipe(recipe, { client: broker.client, now: () => SATURDAY });
  assertEquals(steps.map(({ uses, output }) => [uses, (output as unknown[]).length]), [
    ["fills.history", 180],
    ["fills.history", 180],
  ]);
});

Deno.test("lastSessions() counts days on which one of the markets has opened", () => {
  // 4 July 2025 is a Friday: Hong Kong trades, New York does not.
  const at = (time: string) => Date.parse(time);
  assertEquals(lastSessions(["hk", "us"], 2, at("2025-07-05T12:00:00+08:00")), {
    from: "2025-07-03",
    to: "2025-07-04",
  });
  assertEquals(lastSessions(["us"], 2, at("2025-07-05T12:00:00+08:00")), {
    from: "2025-07-02",
    to: "2025-07-03",
  });
  // Before the open of Monday, in Hong Kong and in New York.
  assertEquals(lastSessions(["hk"], 1, at("2025-07-07T09:29:00+08:00")), {
    from: "2025-07-04",
    to: "2025-07-04",
  });
  assertEquals(lastSessions(["hk"], 1, at("2025-07-07T09:30:00+08:00")), {
    from: "2025-07-07",
    to: "2025-07-07",
  });
});
