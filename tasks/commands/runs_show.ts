/** Description of `hsgate runs show`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { keyText, ledger } from "./flags.ts";

const flags = { ledger } as const satisfies Flags;
/** What it is given. */
export type RunsShowInput = Input<typeof flags>;

/** Show one run: steps, times, outputs, files, what happened. */
export const runsShow = command({
  name: "runs show",
  summary: "show one run: steps, times, outputs, files, what happened",
  usage: "KEY",
  args: [1, 1],
  details: `${keyText} Exit code 2 says that the ledger has no such run.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["runs show end-of-day/final/2025-08-15"],
  body: async () => (await import("./bodies/runs.ts")).show,
});
