/** Description of `hsgate backfill`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { newStore, out, recipes } from "../terminal/flags.ts";

const flags = {
  from: { type: "string", value: "DAY", text: "first day, 2025-08-01" },
  to: { type: "string", value: "DAY", text: "last day (the day of --from)" },
  mode: { type: "string", value: "MODE", text: '"missing" (the default), "failed" or "all"' },
  "dry-run": { type: "boolean", text: "list the runs and change nothing" },
  queue: { type: "boolean", text: "only make the runs due; a running scheduler starts them" },
  store: newStore,
  recipes,
  out,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type BackfillInput = Input<typeof flags>;

/** Runs a recipe for past days. */
export const backfill = command({
  name: "backfill",
  summary: "run a read-only recipe for past days",
  usage: "RECIPE --from DAY [--to DAY]",
  args: [1, 1],
  details: `Days are those of the recipe's exchange, or of the time zone of its schedule. --from
and --to are included. --mode selects the slots: "missing" for those with no run or a
skipped run, "failed" for failed runs, "all" for all of these and for successful runs.
Successful runs restart from the first step. Each run has the key, the slot and the session
of its day.

The command runs the slots itself, oldest first. If one day fails, the other days still
run. After Ctrl-C the days that have not started stay as they were, and the day that
was running is due again; the same command continues there. backfill rejects a recipe
that writes, because an order cannot be placed on a past day.`,
  flags,
  exits: [
    [1, "the run of a day failed, or the command did"],
    [4, "a day was not run: another run was in progress, or something else blocked it"],
    6,
  ],
  examples: [
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15 --dry-run",
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15",
    "backfill end-of-day --from 2025-08-01 --to 2025-08-15 --mode failed --queue",
  ],
});
