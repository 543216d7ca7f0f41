/** Description of `hsgate portfolio`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const flags = {
  markets: {
    type: "string",
    value: "LIST",
    text: "hk, us, shanghai, shenzhen (all that the account may trade in)",
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
  details: `The value of a holding is its last price times its quantity. The profit of the day counts
from the close of the day before, with today's fills at their prices and without fees. It is
zero until the listing trades today. The total profit is price minus the broker's cost
price, times quantity. Splits and dividends of the day are not considered. Futures are not
included.

Cash is the available amount and the frozen amount. Shanghai and Shenzhen have the same
cash, which counts once. The total uses the broker's spot rates. If a quote, a cost price
or a rate is missing, the command names it, and the sums are without it.

CSV and JSON have exact amounts; tables round them to cents. With --output csv, jsonl or md,
the list has a row for each holding; --json also has the markets, the sums and the rates.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["portfolio", "portfolio --currency usd --json", "portfolio --markets hk --output csv"],
});
