/** Description of `hsgate lease`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const flags = { ...listing } as const satisfies Flags;
/** Arguments and flags of the command. */
export type LeaseInput = Input<typeof flags>;

/** Prints which process has the trade connection. */
export const lease = command({
  name: "lease",
  summary: "show which process has the account's only trade connection",
  usage: "",
  args: [0, 0],
  details: `Over the direct transport an account has only one trade connection. The program that
uses it has a lease on this machine, in HSGATE_LEASE_FOLDER or the user's own folder.
With this lease, no other program on this machine takes over the connection. The
command checks only this machine and sends nothing.`,
  flags,
  without: unconnected,
  calendars: false,
  exits: [],
  examples: ["lease", "lease --json"],
});
