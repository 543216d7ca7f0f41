/** Description of `hsgate resolve`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, keyText, store } from "../terminal/flags.ts";

const flags = {
  because: { type: "string", value: "TEXT", text: "what you checked; the store records it" },
  by,
  store,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type ResolveInput = Input<typeof flags>;

/** Records the outcome of an interrupted write. */
export const resolve = command({
  name: "resolve",
  summary: "record the outcome of an interrupted write",
  usage: "KEY ok|failed|unknown --because TEXT",
  args: [2, 2],
  details: `${keyText}

If a run was interrupted while it wrote, or its write got no answer, the outcome of the write
is unknown. A running scheduler searches the broker's lists for the outcome. If they do not
prove it, record the outcome with this command; "runs show KEY" lists what to check. Until
the outcome is known, no other recipe may write on the account.

"ok": the write took effect. "failed": the write did not take effect. "unknown": the store
records your check, and writes on the account stay blocked. hsgate never repeats the run.

This command records the outcome of the run, and not of its orders. If the outcome of an
order is still unknown, its intent blocks the same request, also in the next run of the
recipe. The command names each such intent: record its outcome with "orders resolve".`,
  flags,
  without: unconnected,
  exits: [],
  examples: [
    'resolve cancel-at-close/main/2025-08-15 ok --because "no order is open in the app"',
    "runs --state waiting_recovery,unknown",
  ],
});
