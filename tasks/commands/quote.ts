/** Description of `hsgate quote`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing, securityType } from "../terminal/flags.ts";

const flags = {
  type: securityType,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type QuoteInput = Input<typeof flags>;

/** Shows quotes. */
export const quote = command({
  name: "quote",
  summary: "show the latest quotes of securities",
  usage: "SYMBOL…",
  args: [1, 200],
  details: `The code shows the kind of a security: 00700.HK, 600519.SH, 000333.SZ, AAPL,
HSI2508.HK (a future), AAPL250919C2300000 (an option).

The table shows the best bid and ask of the order book, and the time of the last trade in
Hong Kong time (HKT), for every market. --columns also accepts close (of the previous day),
bid-size, ask-size and suspended. CSV and JSON have every digit, and times in UTC.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["quote 00700.HK AAPL 600519.SH", "quote HSI2508.HK --json"],
});
