/** Description of `hsgate run`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  out: {
    type: "string",
    value: "DIR",
    text: "folder that the recipe's folders start from (the current one)",
  },
  now: { type: "string", value: "TIME", text: "take this time for the present: 2025-08-16T12:00:00+08:00" },
  ledger: {
    type: "string",
    value: "FILE",
    text: "run the latest slot that has passed, once, and write it down here",
  },
  "if-new": {
    type: "boolean",
    text: "with --ledger: end with 0 when the slot was started before, whatever came of it",
  },
  "dry-run": { type: "boolean", text: "compile the recipe, show its steps, send nothing" },
} as const satisfies Flags;
/** What it is given. */
export type RunInput = Input<typeof flags>;

/** Runs a recipe. */
export const run = command({
  name: "run",
  summary: "run a recipe: a file of steps",
  usage: "RECIPE",
  args: [1, 1],
  details: `The whole recipe is checked before its first step runs. RECIPE is a file, or the name
of one under recipes/ without its ending. Exit code 7 says that everything ran
and that checks of a step found differences.

With --ledger the run has the key of the latest slot that its schedules name, so
that it is run once whoever starts it: this, the scheduler, a line of a crontab.
Exit code 0 says that the slot ended well or was skipped, 1 that it failed, 4 that
another run stands in the way, 5 that the outcome of a write is unknown. A run
that is due a little later, or finds the account taken, waits; not longer than the
recipe's grace. With --if-new a start that comes second is no failure: for crontabs
and timers, which would otherwise report each failure again at every look.`,
  flags,
  exits: [3, 4, 5, 6, 7],
  examples: ["run recipes/end_of_day.yaml", "run end_of_day --dry-run", "run end_of_day --ledger hsgate.db"],
  body: async () => (await import("./bodies/run.ts")).run,
});
