/**
 * Runs `hsgate store prune`.
 *
 * @module
 */
import { countPrunable, nothingPruned, prunedKinds, Pruner } from "../../../lib/runner/queries/retention.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import type { StorePruneInput } from "../store.ts";
import { loadSettingsOf } from "../shared/session.ts";
import { openStore, retentionOf, storeTime } from "../shared/store_file.ts";
import { systemMachine, wait } from "../../../lib/time.ts";

/** Removes old and surplus rows from the store, batch by batch. */
export async function prune({ flags, host }: StorePruneInput): Promise<number> {
  const keep = retentionOf((await loadSettingsOf(flags, host)).settings);
  await using store = await openStore(flags, { host, mustExist: true });
  const now = storeTime(store, host);
  const dryRun = flags["dry-run"] === true;
  const pruned = nothingPruned();
  if (dryRun) Object.assign(pruned, await countPrunable(store, keep, now));
  else {
    const pruner = new Pruner(store, keep);
    for (let hasMore = true; hasMore;) {
      const part = await pruner.part(now);
      for (const each of prunedKinds) pruned[each] += part[each];
      hasMore = part.hasMore;
      // Between two batches, other processes can use the store, and Ctrl-C can stop the command.
      await wait(systemMachine, 0);
      host.signal.throwIfAborted();
    }
  }
  const before = showInstant(now - keep.runsDays * 86_400_000);
  if (flags.json) host.out(JSON.stringify({ dryRun, before, recipeRuns: keep.recipeRuns, ...pruned }));
  else {
    const { runs, logLines, notices, events, plans, intents } = pruned;
    host.out(
      `${dryRun ? "would remove" : "removed"} ${count(runs, "run")} that ended before ${before} or exceed ` +
        `${keep.recipeRuns} runs of a recipe; ${count(events, "event")}, ${count(notices, "notice")}, ` +
        `${count(plans, "rebalancing plan")}, ${count(intents, "order intent")} and ${
          count(logLines, "line")
        } of logs`,
    );
  }
  return 0;
}

const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
