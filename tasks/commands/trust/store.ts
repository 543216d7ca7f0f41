/**
 * Shows the unfinished runs, queued notices and unfinished order writes of a store that came with a folder, for
 * `hsgate trust`.
 *
 * @module
 */
import { namesOfOpenIntents } from "../../../lib/desk/queries.ts";
import { queuedNotices } from "../../../lib/runner/queries/events.ts";
import { unfinishedRuns } from "../../../lib/runner/queries/run_lookups.ts";
import { servedFiles } from "../../../lib/runner/queries/schedules.ts";
import { distrustOfStore } from "../../../lib/runner/trust/trusted_stores.ts";
import { isLinkOut } from "../../../lib/runner/trust/trusted_files.ts";
import { exists } from "../../../lib/private_files.ts";
import { ownTemporaryFolder } from "../../../lib/owned_files.ts";
import { sizeOf } from "../../../lib/store/mark.ts";
import { damageIn, foreignValueIn, storeIdIn } from "../../../lib/store/read_only.ts";
import { openSqlite } from "../../../lib/store/sqlite.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { paint, plain } from "../../terminal/print.ts";
import { withStoreErrors } from "../shared/store_file.ts";

/** Content of a store that came with a folder. */
export interface StoreOffer {
  path: string;
  id: string;
  /** Recipe files of its schedules. */
  recipes: string[];
  /** Runs that have not ended and may start. `steps` counts their finished steps, whose outputs would be reused. */
  runs: { run: string; state: string; steps: number }[];
  /** Queued notices, which a scheduler would send. */
  notices: { notice: string; channel: string }[];
  /** Order writes that have not ended. They block the same orders, and count in the limits of their account. */
  intents: { intent: string; account: string; operation: string; state: string }[];
}

/** Maximum size of a store to show. A store with the usual retention is much smaller. */
const MOST_BYTES = 1024 ** 3;
/** Maximum number of lines of each list. Further entries are only counted. */
const MOST_LINES = 50;
/** Maximum number of characters of a line. */
const MOST_SHOWN = 2_000;

/**
 * Reads the unfinished runs, queued notices and unfinished order writes of a store. Reads a private copy, because
 * opening a store would complete transactions of another program.
 *
 * @throws {UsageError} If there is no store at the path, or another user could have written it.
 */
export async function readStore(path: string): Promise<StoreOffer> {
  const refuse = (why: string) => new UsageError(`Cannot trust "${path}": ${why}`);
  const bytes = ["", "-wal"].reduce((sum, ending) => sum + (sizeOf(`${path}${ending}`) ?? 0), 0);
  if (!sizeOf(path)) throw refuse("there is no such file, or it is empty");
  const distrusted = await distrustOfStore(path);
  if (distrusted !== undefined) throw refuse(distrusted);
  if (await isLinkOut(path)) {
    throw refuse("it is a link to a file outside its folder; name that file with --store where it is used");
  }
  if (bytes > MOST_BYTES) throw refuse(`it has ${bytes} bytes, and at most ${MOST_BYTES} can be shown`);
  const folder = await ownTemporaryFolder({ prefix: "hsgate-store-" });
  try {
    const copy = `${folder}/store.db`;
    for (const ending of ["", "-wal", "-journal"]) {
      if (exists(`${path}${ending}`)) await Deno.copyFile(`${path}${ending}`, `${copy}${ending}`);
    }
    const id = await withStoreErrors(path, () => storeIdIn(copy));
    if (id === undefined) throw refuse("it is not a store as hsgate creates it");
    const damage = await withStoreErrors(path, () => damageIn(copy));
    if (damage !== undefined) throw refuse(`it is damaged, or in use: ${damage}`);
    const foreign = await withStoreErrors(path, () => foreignValueIn(copy));
    if (foreign !== undefined) throw refuse(foreign);
    await using store = await withStoreErrors(path, async () => await openSqlite(copy, { mark: "leave" }));
    return {
      path,
      id,
      recipes: await servedFiles(store),
      runs: await unfinishedRuns(store),
      notices: await queuedNotices(store),
      intents: await namesOfOpenIntents(store),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Prints the unfinished runs, queued notices and unfinished order writes of a store. */
export function showStore({ path, recipes, runs, notices, intents }: StoreOffer, host: Host): void {
  host.out(`${paint(host, "bold", "store")}  ${paint(host, "dim", plain(path))}`);
  const warn = (line: string) => host.out(paint(host, "yellow", `  ${plain(line)}`));
  const list = <T>(all: readonly T[], lineOf: (each: T) => string) => {
    for (const each of all.slice(0, MOST_LINES)) warn(`  ${lineOf(each).slice(0, MOST_SHOWN)}`);
    if (all.length > MOST_LINES) warn(`  and ${all.length - MOST_LINES} more`);
  };
  for (const file of recipes.slice(0, MOST_LINES)) {
    host.out(`  ${plain(`its schedules come from "${file.slice(0, MOST_SHOWN)}"`)}`);
  }
  if (recipes.length > MOST_LINES) host.out(`  and from ${recipes.length - MOST_LINES} more files`);
  warn(`has ${counted(runs.length, "unfinished run")} (they may start)`);
  list(
    runs,
    ({ run, state, steps }) => `${run}  ${state}${steps === 0 ? "" : `, ${counted(steps, "step")} done`}`,
  );
  warn(`has ${counted(notices.length, "queued notice")} (a scheduler sends them)`);
  list(notices, ({ notice, channel }) => `${notice}  by ${channel}`);
  if (intents.length === 0) return;
  const writes = counted(intents.length, "unfinished order write");
  warn(`has ${writes} (they block the same orders, and count in the limits of their account)`);
  list(
    intents,
    ({ intent, account, operation, state }) => `${intent}  ${operation}, ${state}, of ${account}`,
  );
}

/** Returns the content of a store for `--json`. */
export const storeData = ({ path, recipes, runs, notices, intents }: StoreOffer) => ({
  path,
  unfinished: runs.length,
  recipes,
  runs,
  notices,
  intents,
  trusted: true,
});

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
