/** Description of `hsgate call`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { by, listing, newStore } from "../terminal/flags.ts";

const flags = {
  all: { type: "boolean", text: "read all pages of a list" },
  wire: {
    type: "boolean",
    text: "print the answer as the broker sent it, including members that hsgate does not know",
  },
  "dry-run": { type: "boolean", text: "check the parameters, print the request, send nothing" },
  yes: { type: "boolean", short: "y", text: "do not ask before a call that changes the account" },
  ...listing,
  store: { ...newStore, text: `${newStore.text}; only for order writes` },
  by,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type CallInput = Input<typeof flags>;

/** Calls any operation. */
export const call = command({
  name: "call",
  summary: "call any operation, by its hsgate name or the broker's",
  usage: "OPERATION [JSON | - | @FILE]",
  args: [1, 2],
  details: `Parameters are a JSON object; without one they are {}. "-" reads the object from stdin,
"@FILE" from a file. Members may have hsgate's names or the broker's, in any mixture:
  '{"market":"hk"}' and '{"exchangeType":"K"}' mean the same.
call rejects passwords on the command line, because the process list shows them;
"account.login" without parameters uses the password of the settings.

On a terminal, rows are printed as a table. In a narrow terminal the table omits
some columns and names them. It never cuts order numbers and listing codes. --columns
accepts any member of the answer, and inner members by their path: symbol,fees.total.

Before a call that changes the account, the command shows the request and asks you, but
only on a terminal. Without a terminal it sends the call and does not ask. It never sends a
write twice. A call that places, amends or cancels orders goes through the order desk like
"buy": the store records the order before it is sent. The question describes the order in
words.`,
  flags,
  calendars: false,
  exits: [3, 4, 5, 6],
  examples: [
    `call orders.today '{"market":"hk"}' --all`,
    `call TradeQueryMarginFundInfo '{"exchangeType":"K"}' --json`,
    `call fills.today '{"market":"hk"}' --columns orderId,filledQuantity,fees.total`,
    `call orders.place @order.json --dry-run`,
  ],
});
