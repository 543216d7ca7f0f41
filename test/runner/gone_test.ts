import { assertEquals } from "@std/assert";
import { Ledger } from "../../lib/runner/ledger.ts";
import type { Served } from "../../lib/runner/gone.ts";
import { subjectOf, why } from "../../lib/runner/why.ts";
import type { CompiledRecipe } from "../../lib/steps/compiled.ts";
import { bench, DAY, HOUR, MINUTE, recipe, runsOf } from "./support.ts";

const eod = recipe({ file: "/x/eod.yaml" });
const other = recipe({ name: "other", file: "/x/other.yaml", schedules: [] });
const from = (...paths: string[]): Served => ({ paths, fileOf: ({ file }) => file });

const pausesOf = (ledger: Ledger) =>
  ledger.all<{ line: string }>(
    "select recipe || ' ' || coalesce(paused_reason, 'goes on') as line from schedule order by recipe",
  ).map(({ line }) => line);

/** Serves recipes for a time, in a process of its own that then stops. */
async function serve(ledger: Ledger, start: string, ms: number, recipes: CompiledRecipe[], served?: Served) {
  const b = bench({ ledger, start, recipes, ...served !== undefined && { served } });
  b.scheduler.start();
  await b.host.pass(ms);
  await b.scheduler.stop();
}

Deno.test("a recipe whose file is gone when the scheduler starts anew is paused, and makes up for nothing", async () => {
  using ledger = new Ledger(":memory:");
  const folder = from("/x");
  await serve(ledger, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], folder); // Monday
  await serve(ledger, "2025-08-11T12:00:05Z", 3 * DAY, [other], folder);
  assertEquals(pausesOf(ledger), ["eod the recipe is gone"]);
  await serve(ledger, "2025-08-14T13:00Z", DAY, [eod, other], folder); // Thursday night
  assertEquals(pausesOf(ledger), ["eod goes on"]);
  assertEquals(runsOf(ledger), ["eod/s1/2025-08-11 ok live", "eod/s1/2025-08-15 ok live"]);
});

Deno.test("a recipe that is gone is told once, and why() says so for the time that it is away", async () => {
  using ledger = new Ledger(":memory:");
  await serve(ledger, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], from("/x"));
  const b = bench({ ledger, start: "2025-08-11T12:00:05Z", recipes: [other], served: from("/x") });
  b.scheduler.start();
  await b.host.pass(3 * DAY);
  await b.scheduler.stop();
  assertEquals(b.told.flatMap((event) => event.type === "gone" ? [event.recipe] : []), ["eod"]);
  const subject = subjectOf(ledger, "eod")!; // the ledger has seen it
  assertEquals(
    why(ledger, subject, { date: "2025-08-12", now: b.host.now() }),
    "nothing ran at 2025-08-12 16:45 Asia/Hong_Kong: the recipe's file is gone, as a scheduler found at " +
      "2025-08-11 20:03 Asia/Hong_Kong; it goes on from when that is back",
  );
});

Deno.test("a scheduler that was down makes up for what it missed, its recipes being there", async () => {
  using ledger = new Ledger(":memory:");
  await serve(ledger, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], from("/x"));
  await serve(ledger, "2025-08-13T13:00Z", HOUR, [eod, other], from("/x"));
  assertEquals(runsOf(ledger), [
    "eod/s1/2025-08-11 ok live",
    "eod/s1/2025-08-12 ok catchup",
    "eod/s1/2025-08-13 ok catchup",
  ]);
});

Deno.test("no scheduler pauses what another folder or another file serves, though nobody is there to do so", async () => {
  using ledger = new Ledger(":memory:");
  await serve(ledger, "2025-08-11T00:00Z", 12 * HOUR, [eod], from("/x"));
  for (const served of [from("/y"), from("/x/other.yaml"), from("/x/eod.yaml.bak"), from("/"), undefined]) {
    await serve(ledger, "2025-08-11T12:00:05Z", HOUR, [other], served);
    assertEquals(pausesOf(ledger), ["eod goes on"]);
  }
  await serve(ledger, "2025-08-11T12:00:05Z", HOUR, [other], from("/y", "/x/eod.yaml"));
  assertEquals(pausesOf(ledger), ["eod the recipe is gone"]);
});

Deno.test("a recipe that moved to the folder of another scheduler goes on there", async () => {
  using b = bench({ start: "2025-08-11T00:00Z", recipes: [eod, other], served: from("/x") });
  const second = b.another("p2", { recipes: [], served: from("/y") });
  b.scheduler.start();
  second.start();
  await b.host.pass(HOUR);
  // Here the other one is the first to see it, and there it is the first to see it gone.
  second.reload([{ ...eod, file: "/y/eod.yaml" }]);
  b.scheduler.reload([other]);
  assertEquals(pausesOf(b.ledger), ["eod goes on"]);
  await b.host.pass(HOUR);
  b.scheduler.reload([eod, other]);
  await b.host.pass(MINUTE);
  second.reload([]);
  b.scheduler.reload([other]);
  await b.host.pass(10 * MINUTE);
  assertEquals(pausesOf(b.ledger), ["eod the recipe is gone"]);
  second.reload([{ ...eod, file: "/y/eod.yaml" }]);
  await b.host.pass(DAY);
  assertEquals([pausesOf(b.ledger), runsOf(b.ledger)], [["eod goes on"], ["eod/s1/2025-08-11 ok live"]]);
  await Promise.all([b.scheduler.stop(), second.stop()]);
});
