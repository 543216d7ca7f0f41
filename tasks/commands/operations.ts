/** Description of `hsgate operations`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { columns } from "./flags.ts";

const flags = { columns } as const satisfies Flags;
/** What it is given. */
export type OperationsInput = Input<typeof flags>;

/** Lists the catalogue. */
export const operations = command({
  name: "operations",
  summary: "list every operation, or explain one",
  usage: "[NAME]",
  args: [0, 1],
  details: `A name is an operation (ours or the broker's) or a family such as "orders". "over"
says which transports carry it; with --transport, only what that one carries is
listed. --columns also takes answers (which reads answer as of now), instead (what
answers for a past day), needs and path. Nothing is sent.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "timeout"],
  exits: [],
  examples: [
    "operations",
    "operations orders.place",
    "operations --transport direct",
    "operations --columns operation,answers,instead",
    "operations TradeEntrust --json",
  ],
  body: async () => (await import("./bodies/operations.ts")).run,
});
