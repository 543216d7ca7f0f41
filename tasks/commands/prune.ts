/** Description of `hsgate prune`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { store } from "../terminal/flags.ts";

const flags = {
  keep: { type: "string", value: "DAYS", text: "keep the runs of this many days, 30 or more (400)" },
  "dry-run": { type: "boolean", text: "count what would be removed and remove nothing" },
  store,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type PruneInput = Input<typeof flags>;

/** Removes old runs from the store. */
export const prune = command({
  name: "prune",
  summary: "remove old runs and logs from the store",
  usage: "",
  args: [0, 0],
  details: `The command removes runs that ended more than 400 days ago, with their steps, events,
notices and logs. It also removes log lines older than 90 days. The settings
keepRunsDays and keepLogDays change these limits. A running scheduler does the same,
some runs each minute.

The command always keeps runs that wait or are in progress, writes with an unknown
outcome, the last write of each account, and the newest ten runs of each recipe. It
does not touch files that steps wrote. "backfill" treats slots whose runs were removed
as missing. The file does not shrink: the store reuses its space.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["prune --dry-run", "prune --keep 1000"],
});
