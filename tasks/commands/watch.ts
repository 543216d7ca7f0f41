/** Description of `hsgate watch`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { columns, pushIdle, securityType } from "./flags.ts";

const flags = {
  type: securityType,
  topics: { type: "string", value: "LIST", text: "quote, tick, order-book, broker-queue (quote)" },
  "push-idle": pushIdle,
  columns,
} as const satisfies Flags;
/** What it is given. */
export type WatchInput = Input<typeof flags>;

/** Watches pushes. */
export const watch = command({
  name: "watch",
  summary: "follow live quotes and order changes in a table that redraws",
  usage: "SYMBOL…",
  args: [1, 200],
  details: `Changes of orders come without being asked for and stand below the quotes. Without
a terminal each change is one line, with --json one line of JSON. Ctrl-C stops it
and the subscriptions with it. When nothing comes for --push-idle, watch says since
when, opens a new connection and says what may be missing. The setting pushIdleMs and
HSGATE_PUSH_IDLE_MS say the same in milliseconds.`,
  flags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["watch 00700.HK 09988.HK AAPL", "watch 00700.HK --topics quote,tick --json"],
  body: async () => (await import("./bodies/watch.ts")).run,
});
