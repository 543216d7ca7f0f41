/** Description of `hsgate ledger accept`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { by, ledger } from "./flags.ts";

const flags = {
  because: { type: "string", value: "TEXT", text: "what you saw; it is kept in the ledger" },
  by,
  ledger,
} as const satisfies Flags;
/** What it is given. */
export type LedgerAcceptInput = Input<typeof flags>;

/** Go on with a ledger that has lost writes. */
export const ledgerAccept = command({
  name: "ledger accept",
  summary: "go on with a ledger that has lost writes",
  usage: "--because TEXT",
  args: [0, 0],
  details: `Beside each ledger lies its mark, "FILE.mark", which names the last write of each
account. A ledger that is gone, empty, cut off or older than its mark is refused: it
does not know what was sent, and would send it again. Put the newest copy in its
place. When there is none, or the copy is older than the last write, look at the
account's orders and fills since then, stop every scheduler, and run this command.

It makes the mark anew from the ledger, or a new ledger where there is none. All
schedules begin now. Writes that wait are skipped. Writes that the copy shows as
running become unknown: "settle" says what came of them. Pauses since the copy are
lost: pause again what is to stay paused. "backfill" makes up for reads.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ['ledger accept --because "no order since the backup; the app shows none open"'],
  body: async () => (await import("./bodies/ledger.ts")).accept,
});
