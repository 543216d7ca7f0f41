/** Description of `hsgate notices`. @module */
import { by, columns, keyText, ledger, servedRecipes } from "./flags.ts";
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  failed: { type: "boolean", text: "only those that were tried and not sent" },
  send: { type: "boolean", text: "send them now, also those that were given up" },
  dismiss: { type: "boolean", text: "take them off the list: nobody tries or warns any more" },
  by,
  ledger,
  recipes: servedRecipes,
  columns,
} as const satisfies Flags;
/** What it is given. */
export type NoticesInput = Input<typeof flags>;

/** Lists notices that were not sent, and sends them again. */
export const notices = command({
  name: "notices",
  summary: "list notices that were not sent, and send them again",
  usage: "[KEY]",
  args: [0, 1],
  details: `A recipe's notices go into the ledger and from there to their channels. A channel that
fails is tried up to 12 times, after 30 seconds at first and after an hour at last; then the
notice is given up. The command lists what is waiting, what failed and what was given up,
with the reason. KEY keeps to the notices of one run. ${keyText}

--send tries all of them now, here, whether given up or not. Exit code 1 says that
one of them was not sent. --dismiss is for those that nobody needs any more; the run keeps
a note of it.`,
  flags,
  exits: [],
  examples: ["notices", "notices --failed --json", "notices --send"],
  body: async () => (await import("./bodies/notices.ts")).run,
});
