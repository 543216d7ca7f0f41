/** Description of `hsgate portfolio`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const flags = {
  markets: {
    type: "string",
    value: "LIST",
    text: "hk, us, shanghai, shenzhen, futures (all that the account may trade in)",
  },
  currency: { type: "string", value: "CODE", text: 'currency of the total: "hkd", "usd" or "cny" (hkd)' },
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type PortfolioInput = Input<typeof flags>;

/** Shows the portfolio. */
export const portfolio = command({
  name: "portfolio",
  summary: "show holdings, cash, value and profit, by market and in one currency",
  usage: "",
  args: [0, 0],
  details: `The value of a holding is its last price times its quantity. The profit of
the day is the change since the previous close in the broker's quotes; today's fills count at
their prices, without fees. Until the listing trades today, this profit is zero. Dividends do not count. On the day
of a dividend or a split, the profit is right only if the broker's previous close is
already adjusted. The total profit is the last price minus the broker's cost price,
times the quantity.

The futures account counts as a market with its own cash. The value of a future is its total
profit, because its price was not paid.

Cash of a market is the available amount plus the frozen amount. Shanghai and Shenzhen share one amount
of cash, which counts once. The total uses the broker's spot rates. If a quote, a cost price
or a rate is missing, the command reports it, and leaves the affected amounts out of the sums.

CSV and JSON contain exact amounts; tables round them to cents. With --output csv, jsonl or
md, the command prints only the holdings, one row each; --json also prints the markets, the
sums and the rates.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["portfolio", "portfolio --currency usd --json", "portfolio --markets hk --output csv"],
});
