/** Description of `hsgate bars`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing, securityType } from "../terminal/flags.ts";

const flags = {
  interval: {
    type: "string",
    value: "INTERVAL",
    text:
      'length of a bar: "day", "week", "month", "quarter", "year", 5-day, 1m, 3m, 5m, 15m, 30m, 60m, 120m (day)',
  },
  from: { type: "string", value: "DAY", text: "first day (without it: the last --count bars up to --to)" },
  to: { type: "string", value: "DAY", text: "last day (today at the exchange)" },
  count: { type: "string", value: "N", text: "without --from: number of bars, 1 to 1500 (20)" },
  adjust: {
    type: "string",
    value: "HOW",
    text: 'prices adjusted for splits and dividends: "none", "forward" or "backward" (none)',
  },
  type: securityType,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type BarsInput = Input<typeof flags>;

/** Lists bars. */
export const bars = command({
  name: "bars",
  summary: "list the daily bars of a security, or bars of another length",
  usage: "SYMBOL",
  args: [1, 1],
  details: `The oldest bar comes first. A day is a day at the exchange. A bar of minutes shows the time at
which it begins, in Hong Kong time (HKT); --columns time,date,close also shows the day at the
exchange. The last bar may not be complete yet. --columns also accepts turnover and
close-before (the close of the previous bar).

The broker sends bars only for subscribed securities. If the security is not subscribed, the
command subscribes to its quotes while it reads.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: [
    "bars 00700.HK",
    "bars AAPL --interval week --from 2025-01-01 --output csv",
    "bars 00700.HK --interval 5m --count 12",
  ],
});
