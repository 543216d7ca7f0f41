/** Description of `hsgate calendar`. @module */
import { command, type Flags, type Input, offline } from "./command.ts";

const flags = {
  from: { type: "string", value: "DATE", text: "first day (today, where the exchange is)" },
  to: { type: "string", value: "DATE", text: "last day (the day of --from)" },
} as const satisfies Flags;
/** What it is given. */
export type CalendarInput = Input<typeof flags>;

/** Lists sessions. */
export const calendar = command({
  name: "calendar",
  summary: "list the trading days of an exchange with their hours",
  usage: "MIC",
  args: [1, 1],
  details: `MIC is XHKG, XNYS, XSHG, XSHE, CONNECT_SH or CONNECT_SZ. Hours are those of the
exchange, auctions left out, and UTC beside them. Days that are not listed are not
traded. Exit code 2 says that the calendar does not cover a day.`,
  flags,
  without: offline,
  exits: [],
  examples: ["calendar XHKG --from 2025-12-22 --to 2026-01-02", "calendar XNYS --from 2025-11-28 --json"],
  body: async () => (await import("./bodies/calendar.ts")).run,
});
