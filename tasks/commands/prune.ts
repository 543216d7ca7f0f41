/** Description of `hsgate prune`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger } from "./flags.ts";

const flags = {
  keep: { type: "string", value: "DAYS", text: "keep runs of so many days, 30 or more (400)" },
  "dry-run": { type: "boolean", text: "count what would be removed, and remove nothing" },
  ledger,
} as const satisfies Flags;
/** What it is given. */
export type PruneInput = Input<typeof flags>;

/** Remove old runs from the ledger. */
export const prune = command({
  name: "prune",
  summary: "remove old runs and logs from the ledger",
  usage: "",
  args: [0, 0],
  details: `Removes runs that ended before the last 400 days, with their steps, events, notices and
logs, and lines of logs that are older than 90 days. The settings keepRunsDays and
keepLogDays say otherwise. A scheduler does the same by itself, some runs each minute.

These stay, however old they are: runs that wait or go on, writes with an unknown
outcome, the last write of each account, and the newest ten runs of each recipe.
Files that steps wrote are not touched. "backfill" takes slots whose runs were
removed for missing ones. The file does not shrink: the ledger uses its space again.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["prune --dry-run", "prune --keep 1000"],
  body: async () => (await import("./bodies/prune.ts")).run,
});
