/** Descriptions of `hsgate approve` and `hsgate refuse`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { by, keyText, ledger, recipes } from "./flags.ts";

const approveFlags = { by, ledger, recipes } as const satisfies Flags;
const refuseFlags = {
  by,
  ledger,
  because: { type: "string", value: "TEXT", text: "why not; it is kept in the ledger" },
} as const satisfies Flags;
/** What it is given. */
export type ApproveInput = Input<typeof approveFlags>;
/** What it is given. */
export type RefuseInput = Input<typeof refuseFlags>;

/** Let a run that was missed run all the same. */
export const approve = command({
  name: "approve",
  summary: "let a run that was missed and waits for you run all the same",
  usage: "KEY",
  args: [1, 1],
  details: `${keyText}

Runs wait for a person where their recipe says "misfire: ask". Once approved a run is
due, and a scheduler that is running takes it up. One whose deadline or window has
passed is skipped instead, whoever approves it: exit code 1 says so.`,
  flags: approveFlags,
  without: unconnected,
  exits: [],
  examples: ["approve end-of-day/final/2025-08-15", "runs --state waiting_approval"],
  body: async () => (await import("./bodies/approve.ts")).approve,
});

/** Skip a run that waits for a person. */
export const refuse = command({
  name: "refuse",
  summary: "skip a run that was missed and waits for you",
  usage: "KEY",
  args: [1, 1],
  details: keyText,
  flags: refuseFlags,
  without: unconnected,
  exits: [],
  examples: ['refuse end-of-day/final/2025-08-15 --because "done by hand"'],
  body: async () => (await import("./bodies/approve.ts")).refuse,
});
