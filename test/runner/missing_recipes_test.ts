/** Tests of recipes whose files are missing, moved or back. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals } from "@std/assert";
import type { Store } from "../../lib/store/store.ts";
import type { Served } from "../../lib/runner/schedule/recipe_set.ts";
import { subjectOf, why } from "../../lib/runner/explain/why.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import { bench, DAY, HOUR, MINUTE, openStore, recipe, runsOf } from "./support.ts";

const eod = recipe({ file: "/x/eod.yaml" });
const other = recipe({ name: "other", file: "/x/other.yaml", schedules: [] });
const from = (...paths: string[]): Served => ({ paths, fileOf: ({ file }) => file });

const pausesOf = async (store: Store) =>
  (await store.all<{ line: string }>(
    "select recipe || ' ' || coalesce(paused_reason, 'not paused') as line from schedule order by recipe",
  )).map(({ line }) => line);

/** Serves recipes for a time, in a process that then stops. */
async function serve(store: Store, start: string, ms: number, recipes: CompiledRecipe[], served?: Served) {
  const b = await bench({ store, start, recipes, ...served !== undefined && { served } });
  await b.scheduler.start();
  await b.machine.pass(ms);
  await b.scheduler.stop();
}

testBoth(
  "a recipe whose file is missing when the scheduler restarts is paused, and catches up nothing",
  async () => {
    await using store = await openStore();
    const folder = from("/x");
    await serve(store, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], folder); // Monday
    await serve(store, "2025-08-11T12:00:05Z", 3 * DAY, [other], folder);
    assertEquals(await pausesOf(store), ["eod the recipe's file is missing"]);
    await serve(store, "2025-08-14T13:00Z", DAY, [eod, other], folder); // Thursday night
    assertEquals(await pausesOf(store), ["eod not paused"]);
    assertEquals(await runsOf(store), ["eod/s1/2025-08-11 ok live", "eod/s1/2025-08-15 ok live"]);
  },
);

testBoth("a missing recipe is reported once, and why() explains the time without it", async () => {
  await using store = await openStore();
  await serve(store, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], from("/x"));
  const b = await bench({
    store,
    start: "2025-08-11T12:00:05Z",
    recipes: [other],
    served: from("/x"),
    tickMs: 3 * MINUTE,
  });
  await b.scheduler.start();
  await b.machine.pass(3 * DAY);
  await b.scheduler.stop();
  assertEquals(b.told.flatMap((event) => event.type === "recipe-missing" ? [event.recipe] : []), ["eod"]);
  const subject = (await subjectOf(store, "eod"))!; // a scheduler has recorded this recipe
  assertEquals(
    await why(store, subject, { calendars: builtInCalendars, date: "2025-08-12", now: b.machine.now() }),
    "nothing ran at 2025-08-12 16:45 Asia/Hong_Kong: the recipe's file is missing (noticed at " +
      "2025-08-11 20:03 Asia/Hong_Kong); once the file is back, the scheduler runs its slots from then on",
  );
});

testBoth("a scheduler that was down catches up missed slots of recipes that are still there", async () => {
  await using store = await openStore();
  await serve(store, "2025-08-11T00:00Z", 12 * HOUR, [eod, other], from("/x"));
  await serve(store, "2025-08-13T13:00Z", HOUR, [eod, other], from("/x"));
  assertEquals(await runsOf(store), [
    "eod/s1/2025-08-11 ok live",
    "eod/s1/2025-08-12 ok catchup",
    "eod/s1/2025-08-13 ok catchup",
  ]);
});

testBoth(
  "a scheduler does not pause a recipe from another folder or file, even when no other scheduler is running",
  async () => {
    await using store = await openStore();
    await serve(store, "2025-08-11T00:00Z", 12 * HOUR, [eod], from("/x"));
    for (const served of [from("/y"), from("/x/other.yaml"), from("/x/eod.yaml.bak"), from("/"), undefined]) {
      await serve(store, "2025-08-11T12:00:05Z", HOUR, [other], served);
      assertEquals(await pausesOf(store), ["eod not paused"]);
    }
    await serve(store, "2025-08-11T12:00:05Z", HOUR, [other], from("/y", "/x/eod.yaml"));
    assertEquals(await pausesOf(store), ["eod the recipe's file is missing"]);
  },
);

testBoth("a recipe that moved to another scheduler's folder continues there", async () => {
  await using b = await bench({ start: "2025-08-11T00:00Z", recipes: [eod, other], served: from("/x") });
  const second = b.another("p2", { recipes: [], served: from("/y") });
  await b.scheduler.start();
  await second.start();
  await b.machine.pass(HOUR);
  // The second scheduler loads the recipe before the first scheduler notices that it is missing.
  await second.reload([{ ...eod, file: "/y/eod.yaml" }]);
  await b.scheduler.reload([other]);
  assertEquals(await pausesOf(b.store), ["eod not paused"]);
  await b.machine.pass(HOUR);
  await b.scheduler.reload([eod, other]);
  await b.machine.pass(MINUTE);
  await second.reload([]);
  await b.scheduler.reload([other]);
  await b.machine.pass(10 * MINUTE);
  assertEquals(await pausesOf(b.store), ["eod the recipe's file is missing"]);
  await second.reload([{ ...eod, file: "/y/eod.yaml" }]);
  await b.machine.pass(DAY);
  assertEquals([await pausesOf(b.store), await runsOf(b.store)], [["eod not paused"], [
    "eod/s1/2025-08-11 ok live",
  ]]);
  await Promise.all([b.scheduler.stop(), second.stop()]);
});
