/** Description of `hsgate export day-book`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { columns, now } from "./flags.ts";

const flags = {
  markets: { type: "string", value: "LIST", text: "hk, us, shanghai, shenzhen (hk)" },
  accounts: {
    type: "string",
    value: "LIST",
    text: "what is covered: securities, futures (both)",
  },
  from: { type: "string", value: "DAY", text: "first trading day, such as 2025-08-11 (the day of --to)" },
  to: { type: "string", value: "DAY", text: "last trading day (the last one that is over)" },
  out: { type: "string", value: "DIR", text: "where the files go (out)" },
  formats: { type: "string", value: "LIST", text: "csv, jsonl (both)" },
  wire: {
    type: "boolean",
    text: "write the rows as the broker sent them too, as fills.wire.jsonl and so on",
  },
  "exact-csv": {
    type: "boolean",
    text: "write texts in CSV as they are, for programs; a spreadsheet would run some of them",
  },
  owner: {
    type: "string",
    value: "NAME",
    text: "your name for the account; the folder keeps a digest of it",
  },
  refresh: { type: "boolean", text: "read final days again too, and replace what has changed" },
  now,
  columns,
} as const satisfies Flags;
/** What it is given. */
export type ExportInput = Input<typeof flags>;

/** Exports the day book. */
export const exportDayBook = command({
  name: "export day-book",
  summary: "write fills, orders, journal and fees of trading days to files, checked",
  usage: "",
  args: [0, 0],
  details: `Files appear whole or not at all. Differences that the checks find are listed, and
the exit code is 7 then. Final days are kept as they are; days with differences
and days that are not final are read again by the next run. A reading that lacks
rows or amounts of a day does not replace it: it goes beside the day, as
2025-08-15.disputed-1, and each missing row is named. A list that the broker
refuses is named and keeps the day provisional: leave futures out with
--accounts securities. A folder belongs to one account; another one is refused.
Memory grows by some 8 bytes for each row of a day: a day of a million fills
stays under 200 MB.`,
  flags,
  exits: [3, 4, 6, 7],
  examples: [
    "export day-book --markets hk,us --from 2025-08-11 --to 2025-08-15 --out out --formats csv,jsonl",
  ],
  body: async () => (await import("./bodies/export_day_book.ts")).run,
});
