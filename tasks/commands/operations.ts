/** Description of `hsgate operations`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const flags = { ...listing } as const satisfies Flags;
/** Arguments and flags of the command. */
export type OperationsInput = Input<typeof flags>;

/** Lists operations of the catalogue. */
export const operations = command({
  name: "operations",
  summary: "list every operation, or explain one",
  usage: "[OPERATION | FAMILY]",
  args: [0, 1],
  details: `OPERATION is the hsgate name or the broker's; FAMILY is a group such as "orders".
The column "over" shows which transports support an operation; with --transport, the
command lists only operations of that transport. --columns also accepts answers
("now" for a read of only the present state), instead (the operation for a past day),
needs and path. Nothing is sent.`,
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
});
