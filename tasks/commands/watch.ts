/** Description of `hsgate watch`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing, pushIdle, securityType } from "../terminal/flags.ts";

const flags = {
  type: securityType,
  topics: {
    type: "string",
    value: "LIST",
    text: "quote, tick, order-book, broker-queue (quote,order-book; with JSON output only quote)",
  },
  "push-idle": pushIdle,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type WatchInput = Input<typeof flags>;

/** Shows pushes as they arrive. */
export const watch = command({
  name: "watch",
  summary: "show live quotes and order changes in a table",
  usage: "SYMBOL…",
  args: [1, 200],
  details: `The table shows the latest quote of each symbol, with the best bid and ask. Times are Hong
Kong time (HKT). Below the table are the changes of orders,
which arrive without a subscription. Without a terminal each change is one line; changes of the
order book are lines only if --topics includes order-book. Ctrl-C ends the command and its
subscriptions.

With --json, --output json or --output jsonl, each push is one line of JSON. With --output csv or
--output md, each row is a quote: first the latest quote of each symbol, and then a new row for each
change in one of the columns. Changes of orders, ticks, broker queues and breaks of the connection
are lines on stderr.

If nothing arrives for the time of --push-idle, watch reports this, opens a new connection and
reports which changes may be missing. The setting pushIdleMs and HSGATE_PUSH_IDLE_MS set the
same time in milliseconds.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: [
    "watch 00700.HK 09988.HK AAPL",
    "watch 00700.HK --topics quote,tick --json",
    "watch 00700.HK --output csv --columns symbol,last,bid,ask,time",
  ],
});
