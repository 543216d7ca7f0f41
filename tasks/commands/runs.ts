/** Descriptions of `hsgate runs` and `hsgate runs show`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { keyText, listing, store } from "../terminal/flags.ts";

/** States of runs, as `--state` accepts them. */
export const runStates = [
  "due",
  "running",
  "waiting_approval",
  "waiting_recovery",
  "ok",
  "failed",
  "cancelled",
  "skipped",
  "unknown",
] as const;

const listFlags = {
  store,
  limit: { type: "string", value: "N", text: "how many runs, 1 to 10000 (20)" },
  state: {
    type: "string",
    value: "LIST",
    text: `only runs in these states, separated by commas: ${runStates.join(", ")}`,
  },
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of `hsgate runs`. */
export type RunsInput = Input<typeof listFlags>;

/** Lists the runs of the store. */
export const runs = command({
  name: "runs",
  summary: "list the runs of the store, newest first",
  usage: "[RECIPE]",
  args: [0, 1],
  details:
    `Times are UTC. Skipped slots are listed with the reason. In a narrow terminal the table omits some columns and names them. It never cuts keys. --columns also accepts recipe,
schedule, day, class, due, finished, attempt and trace.`,
  flags: listFlags,
  without: unconnected,
  exits: [],
  examples: ["runs", "runs end-of-day --limit 5 --json", "runs --state failed"],
});

const showFlags = { store } as const satisfies Flags;
/** Arguments and flags of `hsgate runs show`. */
export type RunsShowInput = Input<typeof showFlags>;

/** Shows one run. */
export const runsShow = command({
  name: "runs show",
  summary: "show one run: steps, times, outputs, files, events",
  usage: "KEY",
  args: [1, 1],
  details: keyText,
  flags: showFlags,
  without: unconnected,
  exits: [[2, "the store has no such run, or wrong usage or settings"]],
  examples: ["runs show end-of-day/final/2025-08-15"],
});
