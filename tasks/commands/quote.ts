/** Description of `hsgate quote`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { columns, securityType } from "./flags.ts";

const flags = {
  type: securityType,
  columns,
} as const satisfies Flags;
/** What it is given. */
export type QuoteInput = Input<typeof flags>;

/** Shows quotes. */
export const quote = command({
  name: "quote",
  summary: "show the latest quotes of securities",
  usage: "SYMBOL…",
  args: [1, 200],
  details: `The kind of a security follows from its code: 00700.HK, 600519.SH, 000333.SZ, AAPL,
HSI2508.HK (a future), AAPL250919C2300000 (an option).`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["quote 00700.HK AAPL 600519.SH", "quote HSI2508.HK --json"],
  body: async () => (await import("./bodies/quote.ts")).run,
});
