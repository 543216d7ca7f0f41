/** Description of `hsgate export day-book`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { listing, now, store } from "../terminal/flags.ts";

const flags = {
  markets: { type: "string", value: "LIST", text: "hk, us, shanghai, shenzhen (hk)" },
  accounts: {
    type: "string",
    value: "LIST",
    text: "securities, futures (both)",
  },
  from: { type: "string", value: "DAY", text: "first trading day, such as 2025-08-11 (the day of --to)" },
  to: { type: "string", value: "DAY", text: "last trading day (the last day whose session is over)" },
  out: { type: "string", value: "DIR", text: "folder for the files (out)" },
  join: {
    type: "string",
    value: "FILE",
    text:
      "also join the days: out/2025.csv writes out/2025.fills.csv and one file for each other list; .jsonl instead of .csv is possible",
  },
  formats: { type: "string", value: "LIST", text: "csv, jsonl (both)" },
  wire: {
    type: "boolean",
    text: "also write the rows as the broker sent them, such as fills.wire.jsonl",
  },
  "exact-csv": {
    type: "boolean",
    text:
      "write texts unchanged into CSV, for programs; such texts can run as formulas and control a terminal",
  },
  owner: {
    type: "string",
    value: "NAME",
    text: "your name for the account; the folder stores a digest of it",
  },
  store: {
    ...store,
    text: "the store of the orders, for the list of rebalancing trades (hsgate.db, if it exists)",
  },
  refresh: {
    type: "boolean",
    text:
      "also read final days again; the command replaces a day with changes, but keeps it if rows are missing",
  },
  now,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type ExportInput = Input<typeof flags>;

/** Exports the day book. */
export const exportDayBook = command({
  name: "export day-book",
  summary: "export fills, orders, fund journal and fees of trading days, with checks",
  usage: "",
  args: [0, 0],
  details:
    `The folder of a day appears complete or not at all. If its checks find differences, the command lists them
and ends with exit code 7. The next export keeps the files of final days, and reads provisional
days and days with differences again.

If a row of an earlier export is missing in the broker's answers, or an amount is smaller, the
command keeps the earlier files and lists each missing row. It writes the new files to another
folder, such as 2025-08-15.disputed-1. If the broker rejects the request for a futures list, the export
names the list, and the day stays provisional. If the account has no futures, use --accounts
securities.

--join also writes one file per list (fills, orders, fund journal) with the rows of all days of
the range, final or provisional. It writes each file completely or not at all, and replaces an
earlier file. It does not change the folders of the days.

With a store, the day also gets the list rebalance_trades: the executed trades of rebalancing
plans with slippage, estimated and booked fees, and the drift that was reached. If the store has a
fill that the broker's answers lack, the checks report a difference.

A folder belongs to one account; the export rejects another account. A day of a million
fills needs less than 200 MB of memory; each further row needs about 8 bytes.`,
  flags,
  exits: [3, 4, 6, [7, "done, and the checks found differences"]],
  examples: [
    "export day-book --markets hk,us --from 2025-08-11 --to 2025-08-15 --out out --formats csv,jsonl",
    "export day-book --from 2025-01-02 --to 2025-12-31 --join out/2025.csv",
  ],
});
