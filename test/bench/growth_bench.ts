/**
 * Measures the size of a store after ten years of a recipe that runs every minute. One run is real, and the others
 * are its copies. After each simulated week, the benchmark prunes the store like a scheduler. By default it simulates
 * every tenth run, with a tenth of the limits. `--every=1` simulates every run, which takes three minutes of processor
 * time for each year.
 *
 * The floor is the size of the store when it has reached the limits, and nothing was removed yet.
 *
 * @module
 */
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { defaultRetention, Pruner } from "../../lib/runner/queries/retention.ts";
import { History, sizeOfStore, vacuum } from "../runner/history.ts";
import { openStore, withStores } from "../runner/support.ts";
import { findPostgres, temporarySchema } from "../support/postgres.ts";
import { report, rounded } from "./harness.ts";

const option = (name: string, fallback: number) =>
  Number(Deno.args.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback);
const YEARS = option("years", 10);
/** Minutes between two runs. The limits are divided by the same number. */
const EVERY = option("every", 10);
const WEEK = Math.floor(7 * 24 * 60 / EVERY);
const keep = {
  ...defaultRetention,
  recipeRuns: defaultRetention.recipeRuns / EVERY,
  logLines: defaultRetention.logLines / EVERY,
};
/** The documentation states 3 kB for each run that is kept. */
const MOST_BYTES = keep.recipeRuns * 3_000;

async function measure(kind: string, store: Store, afterWeek = () => Promise.resolve()): Promise<void> {
  const history = await History.begin(store, EVERY * 60_000);
  const pruner = new Pruner(store, keep, { limit: 200 });
  let [full, largest, pruneMs, removed] = [0, 0, 0, 0];
  for (let week = 1; week <= YEARS * 52; week++) {
    await history.add(WEEK);
    const began = performance.now();
    for (let hasMore = true; hasMore;) {
      const part = await pruner.part(history.now);
      removed += part.runs;
      hasMore = part.hasMore;
    }
    pruneMs += performance.now() - began;
    await afterWeek();
    const bytes = await sizeOfStore(store);
    if (removed === 0) full = bytes;
    largest = Math.max(largest, bytes);
    // deno-lint-ignore no-console -- it takes minutes
    if (week % 52 === 0) console.error(`${kind}: year ${week / 52}, ${Math.round(bytes / 1e6)} MB`);
  }
  report({
    name: `growth/${kind}-${YEARS}-years-of-a-recipe-every-${EVERY}-minutes`,
    unit: "MB, largest",
    floor: rounded(full / 1e6),
    ours: rounded(largest / 1e6),
    ratio: rounded(largest / full),
    target: `at most ${MOST_BYTES / 1e6} MB`,
    ok: largest <= MOST_BYTES,
    runs: history.count,
    pruneMsPerRun: rounded(pruneMs / removed),
  });
}

const folder = Deno.makeTempDirSync();
try {
  await using store = await openSqlite(`${folder}/hsgate.db`);
  await measure("sqlite", store);
} finally {
  Deno.removeSync(folder, { recursive: true });
}
const url = await findPostgres();
if (url !== undefined) {
  await using schema = temporarySchema(url);
  // The store uses the simulated time, not the time of the database.
  await withStores(() => openPostgres(schema.url), async () => {
    await using store = await openStore();
    await measure("postgres", store, () => vacuum(store, url));
  });
}
