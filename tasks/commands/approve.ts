/** Descriptions of `hsgate approve` and `hsgate refuse`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, keyText, recipes, store } from "../terminal/flags.ts";

const approveFlags = { by, store, recipes } as const satisfies Flags;
const refuseFlags = {
  by,
  store,
  because: { type: "string", value: "TEXT", text: "the reason; the store records it" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate approve`. */
export type ApproveInput = Input<typeof approveFlags>;
/** Arguments and flags of `hsgate refuse`. */
export type RefuseInput = Input<typeof refuseFlags>;

/** Approves a missed run. */
export const approve = command({
  name: "approve",
  summary: "approve a missed run, so that it still runs",
  usage: "KEY",
  args: [1, 1],
  details: `${keyText}

A missed run waits for approval if its recipe says "misfire: ask". Approval makes the
run due, and a running scheduler starts it. If the deadline or the window of the run
has passed, approve skips it instead.`,
  flags: approveFlags,
  without: unconnected,
  exits: [[1, "the run was skipped: its deadline or window has passed; or the command failed"]],
  examples: ["approve end-of-day/final/2025-08-15", "runs --state waiting_approval"],
});

/** Skips a missed run. */
export const refuse = command({
  name: "refuse",
  summary: "skip a missed run that waits for approval",
  usage: "KEY",
  args: [1, 1],
  details: keyText,
  flags: refuseFlags,
  without: unconnected,
  exits: [],
  examples: ['refuse end-of-day/final/2025-08-15 --because "done by hand"'],
});
