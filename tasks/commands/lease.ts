/** Description of `hsgate lease`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";

const flags = {} as const satisfies Flags;
/** What it is given. */
export type LeaseInput = Input<typeof flags>;

/** Tells who has the trade connection. */
export const lease = command({
  name: "lease",
  summary: "tell which process has an account's one trade connection",
  usage: "",
  args: [0, 0],
  details: `Over the direct transport an account has one trade connection. The program that has
it holds a lease on this machine, in HSGATE_LEASE_FOLDER or the user's own folder,
and any other is stopped before it can take the connection away. Looks at this
machine alone, and sends nothing.`,
  flags,
  without: unconnected,
  calendars: false,
  exits: [],
  examples: ["lease", "lease --json"],
  body: async () => (await import("./bodies/lease.ts")).run,
});
