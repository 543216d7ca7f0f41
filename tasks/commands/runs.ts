/** Description of `hsgate runs`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { columns, ledger } from "./flags.ts";

const flags = {
  ledger,
  limit: { type: "string", value: "N", text: "most runs, 1 to 10000 (20)" },
  state: { type: "string", value: "STATE", text: "only these: ok, failed, skipped, due, running, …" },
  columns,
} as const satisfies Flags;
/** What it is given. */
export type RunsInput = Input<typeof flags>;

/** List the runs that the ledger knows, newest first. */
export const runs = command({
  name: "runs",
  summary: "list the runs that the ledger knows, newest first",
  usage: "[RECIPE]",
  args: [0, 1],
  details: `Times are UTC. Slots that were skipped stand there with the reason. A terminal that is too
narrow leaves columns out, and says which; keys are never cut. --columns also takes
recipe, schedule, day, class, due, finished, attempt and trace.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["runs", "runs end-of-day --limit 5 --json", "runs --state failed"],
  body: async () => (await import("./bodies/runs.ts")).run,
});
