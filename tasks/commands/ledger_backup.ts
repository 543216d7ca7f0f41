/** Description of `hsgate ledger backup`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger } from "./flags.ts";

const flags = { ledger } as const satisfies Flags;
/** What it is given. */
export type LedgerBackupInput = Input<typeof flags>;

/** Copy the ledger, which may be in use, and check the copy. */
export const ledgerBackup = command({
  name: "ledger backup",
  summary: "copy the ledger, which may be in use, and check the copy",
  usage: "FILE",
  args: [1, 1],
  details: `The copy is of one moment. A file that is there already is not written over.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["ledger backup backups/hsgate-2025-08-15.db"],
  body: async () => (await import("./bodies/ledger.ts")).backup,
});
