/** Description of `hsgate calendar`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { columns } from "./flags.ts";

const flags = {
  from: { type: "string", value: "DATE", text: "first day (today, where the exchange is)" },
  to: { type: "string", value: "DATE", text: "last day (the day of --from)" },
  columns,
} as const satisfies Flags;
/** What it is given. */
export type CalendarInput = Input<typeof flags>;

/** Lists sessions. */
export const calendar = command({
  name: "calendar",
  summary: "list the trading days of an exchange with their hours",
  usage: "[MIC]",
  args: [0, 1],
  details: `Without MIC it tells of every calendar what it covers. MIC is one of
  XHKG        Hong Kong
  XNYS        New York
  XSHG, XSHE  Shanghai, Shenzhen
  CONNECT_SH  Stock Connect northbound, from Hong Kong to Shanghai
  CONNECT_SZ  the same to Shenzhen
  CONNECT_HK  Stock Connect southbound, from the mainland to Hong Kong
Hours are those of the exchange, auctions left out, and UTC beside them. Days that are
not listed are not traded. Days that were set by hand and days that rest on a
projection, as the exchange has not announced them, are told apart. Exit code 2 says
that the calendar does not cover a day.`,
  flags,
  without: unconnected,
  exits: [],
  examples: [
    "calendar",
    "calendar XHKG --from 2025-12-22 --to 2026-01-02",
    "calendar XNYS --from 2025-11-28 --json",
  ],
  body: async () => (await import("./bodies/calendar.ts")).run,
});
