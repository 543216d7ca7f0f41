/** Description of `hsgate rerun`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { keyText, ledger, out, recipes } from "./flags.ts";

const flags = {
  "from-start": { type: "boolean", text: "do every step anew, also those that ended well" },
  queue: { type: "boolean", text: "only make it due, for a scheduler that is running" },
  ledger,
  recipes,
  out,
} as const satisfies Flags;
/** What it is given. */
export type RerunInput = Input<typeof flags>;

/** Run one run again. */
export const rerun = command({
  name: "rerun",
  summary: "run one run again, under its own key; reads alone",
  usage: "KEY",
  args: [1, 1],
  details: `${keyText} A run that failed goes on where it failed: what its other
steps came to is kept. One that ended well is done anew from the start. It sees its
own slot and session, and the recipe as it is now. A run that writes is refused: a
write is never repeated. One that runs is left alone, unless its process has died: then
it goes on where that one was.

It runs here and now, unless --queue leaves it to a scheduler. After Ctrl-C a slot
is due, and whoever looks next goes on with it; a run by hand is over until it is asked
for again. Exit code 1 says that it failed, 4 that
another run stood in its way all the time.`,
  flags,
  exits: [4, 6],
  examples: ["rerun end-of-day/final/2025-08-15", "rerun end-of-day/final/2025-08-15 --from-start"],
  body: async () => (await import("./bodies/rerun.ts")).run,
});
