/** Description of `hsgate backfill`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { newLedger, out, recipes } from "./flags.ts";

const flags = {
  from: { type: "string", value: "DAY", text: "first day, 2025-08-01" },
  to: { type: "string", value: "DAY", text: "last day (the first)" },
  mode: { type: "string", value: "MODE", text: '"missing" (the default), "failed" or "all"' },
  "dry-run": { type: "boolean", text: "list what would run, and change nothing" },
  queue: { type: "boolean", text: "only make the runs due, for a scheduler that is running" },
  ledger: newLedger,
  recipes,
  out,
} as const satisfies Flags;
/** What it is given. */
export type BackfillInput = Input<typeof flags>;

/** Run a recipe for past days. */
export const backfill = command({
  name: "backfill",
  summary: "run a recipe for past days, under the keys of those days; reads alone",
  usage: "RECIPE --from DAY [--to DAY]",
  args: [1, 1],
  details: `Days are those of the recipe's exchange, or of its schedule's zone; both ends belong
to them. With "missing" slots are run that have no run or whose run was skipped, with
"failed" those that failed, with "all" also those that ended well, done anew. Runs
have the keys that they had or would have had, and see their own slot and session.

They run here and now, oldest first; a day that fails does not keep the others. After
Ctrl-C days that have not begun are left as they were, and the one that had is due:
the same command goes on there. Exit code 1 says that a day failed, 4 that another
run stood in the way. A recipe that writes is refused, as the past cannot be traded.`,
  flags,
  exits: [4, 6],
  examples: [
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15 --dry-run",
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15",
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15 --mode failed --queue",
  ],
  body: async () => (await import("./bodies/backfill.ts")).run,
});
