/** Description of `hsgate rerun`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { keyText, out, recipes, store } from "../terminal/flags.ts";

const flags = {
  "from-start": { type: "boolean", text: "run every step again, including successful ones" },
  queue: { type: "boolean", text: "only make the run due; a running scheduler starts it" },
  store,
  recipes,
  out,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type RerunInput = Input<typeof flags>;

/** Runs an earlier run again. */
export const rerun = command({
  name: "rerun",
  summary: "repeat a read-only run under the same key",
  usage: "KEY",
  args: [1, 1],
  details: `${keyText} A failed run continues at the step that failed and
keeps the outputs of the other steps. A successful run restarts from the first step. The
run uses its own slot and session, and the recipe as it is now.

rerun rejects a run that writes, because a write is never repeated. rerun does not change a run in
progress. If the process of this run has died, rerun continues the run.

The command runs the steps itself, except with --queue, which leaves them to a scheduler. After Ctrl-C a
scheduled run becomes due again and the next scheduler continues it. A manual run stays
cancelled until you rerun it.`,
  flags,
  exits: [
    [1, "the run failed, or the command did"],
    [4, "the run did not start: another run was in progress, or something else blocked it"],
    6,
  ],
  examples: ["rerun end-of-day/final/2025-08-15", "rerun end-of-day/final/2025-08-15 --from-start"],
});
