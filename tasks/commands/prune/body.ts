/**
 * Runs `hsgate prune`.
 *
 * @module
 */
import {
  countPrunable,
  type Pruned,
  type PruneOptions,
  pruneStore,
} from "../../../lib/runner/queries/retention.ts";
import { showInstant } from "../../../lib/runner/schedule/session_times.ts";
import type { PruneInput } from "../prune.ts";
import { loadSettingsOf } from "../shared/session.ts";
import { openStore } from "../shared/store_file.ts";
import { systemMachine, wait } from "../../../lib/time.ts";

/** Removes what is too old, part by part. */
export async function run({ flags, host }: PruneInput): Promise<number> {
  const { settings } = await loadSettingsOf(flags, host);
  const options: PruneOptions = {
    now: host.now(),
    runsDays: settings.keepRunsDays,
    logDays: settings.keepLogDays,
  };
  await using store = await openStore(flags, { host, mustExist: true });
  const dryRun = flags["dry-run"] === true;
  let pruned: Pruned;
  if (dryRun) pruned = await countPrunable(store, options);
  else {
    pruned = { runs: 0, logLines: 0, notices: 0, events: 0 };
    for (let part = await pruneStore(store, options);; part = await pruneStore(store, options)) {
      pruned = {
        runs: pruned.runs + part.runs,
        logLines: pruned.logLines + part.logLines,
        notices: pruned.notices + part.notices,
        events: pruned.events + part.events,
      };
      if (part.runs + part.logLines + part.events === 0) break;
      // Between two parts other processes get the store, and Ctrl-C is heard.
      await wait(systemMachine, 0);
      host.signal.throwIfAborted();
    }
  }
  const before = showInstant(options.now - options.runsDays * 86_400_000);
  if (flags.json) host.out(JSON.stringify({ dryRun, before, ...pruned }));
  else {
    const { runs, logLines, notices, events } = pruned;
    host.out(
      `${dryRun ? "would remove" : "removed"} ${count(runs, "run")} that ended before ${before}, with ${
        count(events, "event")
      } and ${count(notices, "notice")}; ${count(logLines, "line")} of logs`,
    );
  }
  return 0;
}

const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
