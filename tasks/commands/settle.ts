/** Description of `hsgate settle`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { by, keyText, ledger } from "./flags.ts";

const flags = {
  because: { type: "string", value: "TEXT", text: "what you saw; it is kept in the ledger" },
  by,
  ledger,
} as const satisfies Flags;
/** What it is given. */
export type SettleInput = Input<typeof flags>;

/** Say what came of a write that was cut off. */
export const settle = command({
  name: "settle",
  summary: "say what came of a write that was cut off",
  usage: "KEY ok|failed|unknown --because TEXT",
  args: [2, 2],
  details: `${keyText}

A run that was broken off while it wrote, or whose write went unanswered, waits for a
person: nothing here can know whether its order reached the broker. "runs show KEY"
says what to look at. Until it is settled no other recipe that writes begins on the
account.

"ok" says that what was to be written is so, "failed" that it is not. "unknown" keeps
the account closed and notes that somebody looked. The run itself is never repeated.`,
  flags,
  without: unconnected,
  exits: [],
  examples: [
    'settle cancel-at-close/main/2025-08-15 ok --because "no order is open in the app"',
    "runs --state waiting_recovery,unknown",
  ],
  body: async () => (await import("./bodies/settle.ts")).run,
});
