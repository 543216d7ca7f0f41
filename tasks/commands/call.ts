/** Description of `hsgate call`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { columns } from "./flags.ts";

const flags = {
  all: { type: "boolean", text: "walk all pages of a list that comes in pages" },
  wire: {
    type: "boolean",
    text: "print the answer as the broker sent it, members that we do not know included",
  },
  "dry-run": { type: "boolean", text: "check the parameters, show what would be sent, send nothing" },
  yes: { type: "boolean", short: "y", text: "do not ask before something that changes the account" },
  columns,
} as const satisfies Flags;
/** What it is given. */
export type CallInput = Input<typeof flags>;

/** Calls any operation. */
export const call = command({
  name: "call",
  summary: "call any operation, by our name or the broker's",
  usage: "OPERATION [JSON | - | @FILE]",
  args: [1, 2],
  details: `Parameters are a JSON object, {} when left out; "-" reads it from stdin, "@FILE"
from a file. Members go by our names or by the broker's, mixed as you like:
  '{"market":"hk"}' and '{"exchangeType":"K"}' mean the same.
Passwords are refused on the command line, where the process list shows them;
"account.login" without parameters takes the one of the settings.
On a terminal rows are a table. One that is too narrow leaves members out, and says
which; order numbers and listing codes are never cut. --columns takes any member of the
answer, and those within others by their path: symbol,fees.total.
Before something that changes the account, a person at a terminal sees what would
be sent and is asked; a script is not asked. Nothing is ever sent twice.`,
  flags,
  calendars: false,
  exits: [3, 4, 5, 6],
  examples: [
    `call orders.today '{"market":"hk"}' --all`,
    `call TradeQueryMarginFundInfo '{"exchangeType":"K"}' --json`,
    `call fills.today '{"market":"hk"}' --columns orderId,filledQuantity,fees.total`,
    `call orders.place @order.json --dry-run`,
  ],
  body: async () => (await import("./bodies/call.ts")).run,
});
