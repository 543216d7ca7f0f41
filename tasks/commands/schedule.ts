/** Description of `hsgate schedule`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { logLevel, newLedger, out } from "./flags.ts";

const flags = {
  ledger: newLedger,
  out,
  once: { type: "boolean", text: "run what is due now, then end" },
  "log-level": logLevel,
  text: { type: "boolean", text: "write lines for people even where nobody watches" },
} as const satisfies Flags;
/** What it is given. */
export type ScheduleInput = Input<typeof flags>;

/** Runs recipes when they are due. */
export const schedule = command({
  name: "schedule",
  summary: "run the recipes of a folder when they are due, until it is stopped",
  usage: "[DIR | FILE …]",
  args: [0, 1000],
  details: `Every slot of every recipe in the folder (recipes), or of the files, gets its row in
the ledger: ran, or skipped with a reason. Several processes may share a ledger; each slot is run
once. A schedule that is seen for the first time starts now. Recipes that are edited
are taken up within seconds, and when one is wrong the old ones go on.

At Ctrl-C or SIGTERM nothing more begins, reads are given back, and a write is
waited for up to 25 seconds; exit code 75 says that it had not ended by then. With
--once, exit code 1 says that a run failed, and 5 that the outcome of one is
unknown.

Log lines go to stdout: for people on a terminal, one JSON object each elsewhere. With
OTEL_DENO=true traces and figures go where OTEL_EXPORTER_OTLP_ENDPOINT says. The
setting pingUrl names a dead-man service that hears every minute that the scheduler
is alive; the member ping of a recipe names one for its runs.`,
  flags,
  exits: [5, 75],
  examples: ["schedule", "schedule recipes --ledger hsgate.db --json", "schedule --once"],
  body: async () => (await import("./bodies/schedule.ts")).run,
});
