/** Descriptions of `hsgate approve` and `hsgate refuse`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, keyText, recipes, store } from "../terminal/flags.ts";

const approveFlags = {
  for: {
    type: "string",
    value: "TIME",
    text: "for a plan: how long the approval is valid, such as 30m; at most until the plan's day ends (1h)",
  },
  by,
  store,
  recipes,
} as const satisfies Flags;
const refuseFlags = {
  by,
  store,
  because: { type: "string", value: "TEXT", text: "the reason; the store records it" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate approve`. */
export type ApproveInput = Input<typeof approveFlags>;
/** Arguments and flags of `hsgate refuse`. */
export type RefuseInput = Input<typeof refuseFlags>;

/** Approves a missed run or a rebalancing plan. */
export const approve = command({
  name: "approve",
  summary: "approve a missed run, which then still starts, or a rebalancing plan",
  usage: "KEY|HASH",
  args: [1, 1],
  details: `${keyText}
HASH is the hash of a plan from "rebalance show"; its first 8 characters are enough.

A missed run waits for approval if its recipe says "misfire: ask". Approval makes the
run due, and a running scheduler starts it. If the deadline or the window of the run
has passed, approve skips it instead.

You can approve a plan only on the day on which it was made, and exactly as it was recorded.
If its file or its recipe has changed since, the command fails. If a run of a recipe waits for
the approval, that run then executes the plan. Otherwise start "rebalance run" before the
approval expires.`,
  flags: approveFlags,
  without: unconnected,
  exits: [[1, "the run was skipped: its deadline or window has passed; or the command failed"]],
  examples: [
    "approve end-of-day/final/2025-08-15",
    "runs --state waiting_approval",
    "approve 1f0c6b2a94d7 --for 30m",
  ],
});

/** Skips a missed run, or stops a rebalancing plan. */
export const refuse = command({
  name: "refuse",
  summary: "skip a missed run that waits for approval, or stop a rebalancing plan",
  usage: "KEY|HASH",
  args: [1, 1],
  details: `${keyText}
HASH is the hash of a plan from "rebalance show"; its first 8 characters are enough. While
a process executes a plan, you cannot refuse it: stop that process, or use "halt".

refuse cancels no order. If an interrupted plan has left orders at the broker, the command
prints how to cancel them. A refused plan cannot be approved: make a new plan.`,
  flags: refuseFlags,
  without: unconnected,
  exits: [],
  examples: ['refuse end-of-day/final/2025-08-15 --because "done by hand"'],
});
