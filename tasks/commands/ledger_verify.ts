/** Description of `hsgate ledger verify`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger } from "./flags.ts";

const flags = { ledger } as const satisfies Flags;
/** What it is given. */
export type LedgerVerifyInput = Input<typeof flags>;

/** Check that the ledger holds together. */
export const ledgerVerify = command({
  name: "ledger verify",
  summary: "check that the ledger holds together",
  usage: "",
  args: [0, 0],
  details: `Exit code 7 says that it does not, and each fault is listed: a file that is damaged or
cut off, one that is no ledger at all, rows that contradict each other. A damaged
file is only read. "ledger backup" makes the copies that can take its place.`,
  flags,
  without: unconnected,
  exits: [7],
  examples: ["ledger verify", "ledger verify --ledger backups/hsgate-2025-08-15.db"],
  body: async () => (await import("./bodies/ledger.ts")).verify,
});
