/** Description of `hsgate schedule`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { logLevel, newStore, out } from "../terminal/flags.ts";

const flags = {
  store: newStore,
  out,
  once: { type: "boolean", text: "run the slots that are due now, then end" },
  "log-level": logLevel,
  text: { type: "boolean", text: "write readable log lines even without a terminal" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type ScheduleInput = Input<typeof flags>;

/** Runs recipes on their schedules. */
export const schedule = command({
  name: "schedule",
  summary: "run the recipes of a folder on their schedules, until you stop it",
  usage: "[DIR | FILE | NAME …]",
  args: [0, 1000],
  details: `A slot is one time of a recipe's schedule. For every slot of every recipe in the folder
(recipes), or of the files, the store gets a row: the slot ran, or was skipped with a
reason. Several schedulers may share a store;
each slot runs once. A new schedule gets no slots from before it was loaded. The scheduler
loads edited recipes within seconds. If an edited recipe has a mistake, the scheduler
keeps the old versions of all recipes.

At Ctrl-C or SIGTERM no new step starts. hsgate interrupts reads, and their runs
become due again.
Writes get up to 25 seconds to finish.

Log lines go to stdout: readable lines on a terminal, JSON objects elsewhere. With
OTEL_DENO=true, traces and metrics go to OTEL_EXPORTER_OTLP_ENDPOINT. The setting pingUrl names a service that the scheduler calls every minute; the service warns
you if the calls stop. The member "ping" of a recipe names such a service for its runs.`,
  flags,
  exits: [
    [1, "with --once: a run failed; or the command failed"],
    [2, "a recipe has a mistake or is not trusted, or wrong usage or settings"],
    [5, "with --once: the outcome of a write is unknown"],
    [75, "stopped before every run had ended; the store lists the unfinished runs"],
  ],
  examples: ["schedule", "schedule recipes --store hsgate.db --json", "schedule --once"],
});
