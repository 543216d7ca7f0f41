/**
 * Defines the step `snapshot`, which writes the present state of the account and the market to files.
 *
 * @module
 */
import * as z from "zod";
import { BarInterval } from "../../dictionaries/bar.ts";
import { quotes } from "../../operations/quotes.ts";
import type { AsOfNow, StepContext } from "../compiled.ts";
import { exchangesOf, refusePast } from "../engine/call_operation.ts";
import { archiveBars } from "./bar_archive.ts";
import {
  day,
  endsMarketData,
  exactCsv,
  folder,
  markets,
  security,
  securityFrom,
  writesInto,
} from "./fields.ts";
import { csvText, jsonLines, pathIn, writeAtomically, type WrittenFile } from "./files.ts";
import { stepKind } from "./kind.ts";

const securities = z.array(security).min(1).max(200);

const params = z.strictObject({
  account: markets.optional().meta({ description: "Write the funds of these markets" }),
  holdings: markets.optional().meta({ description: "Write the holdings of these markets" }),
  futures: z.boolean().optional().meta({
    description: "Write the funds and positions of the futures account",
  }),
  quotes: securities.optional().meta({ description: "Write the quotes of these securities" }),
  optionChain: z.strictObject({
    underlying: z.string().min(1).meta({ description: "Code of the US stock" }),
    expiries: z.int().min(1).max(60).default(4).meta({
      description: "Number of expiries, the nearest first",
    }),
  }).optional().meta({ description: "Write the codes of the options on a US stock" }),
  bars: z.strictObject({
    securities: securities.meta({ description: "Securities whose bars to archive" }),
    // A code table is never empty.
    intervals: z.array(z.enum(BarInterval.names as [BarInterval, ...BarInterval[]])).min(1).default(["day"])
      .meta({ description: "Lengths of the bars" }),
    from: day.meta({ description: "First day of a new archive" }),
    to: day.optional().meta({ description: "Last day; the day of the run by default" }),
  }).optional().meta({ description: "Archive bars; each run adds the bars since the last stored day" }),
  out: folder.default("out/snapshots"),
  format: z.enum(["jsonl", "csv"]).default("jsonl").meta({ description: "Format of the files" }),
  exactCsv,
});
type Params = z.infer<typeof params>;
type Row = Readonly<Record<string, unknown>>;

const output = z.strictObject({
  ok: z.boolean(),
  day: z.string(),
  /** Number of rows of each part. */
  rows: z.record(z.string(), z.number()),
  files: z.array(z.string()),
  /** Result of the archive for each security. */
  bars: z.array(z.strictObject({
    symbol: z.string(),
    interval: z.string(),
    resumedAt: z.string(),
    requests: z.number(),
    added: z.number(),
    lastDay: z.string().optional(),
  })).optional(),
});
/** Files and rows that were written. */
export type SnapshotTaken = z.infer<typeof output>;

const parts = ["account", "holdings", "futures", "quotes", "optionChain", "bars"] as const;

/** Returns the parts for which the step reads present data: all parts except the bars, which have their own days. */
function asOfNow(given: Params): AsOfNow | undefined {
  const { account, holdings, futures, quotes, optionChain } = given;
  const ofNow = { account, holdings, futures: futures || undefined, quotes, optionChain };
  const names = Object.entries(ofNow).flatMap(([name, value]) => value === undefined ? [] : [name]);
  if (names.length === 0) return undefined;
  const kinds = Array.isArray(quotes) ? quotes.map(kindOf) : [];
  const exchanges = exchangesOf([
    account,
    holdings,
    futures ? "futures" : [],
    kinds,
    optionChain ? "us" : [],
  ]);
  return { reads: names.join(", "), exchanges };
}

/** Returns the kind of a security; `undefined` if an expression gives it later. */
function kindOf(named: unknown): string | undefined {
  const found = security.safeParse(named);
  return found.success ? securityFrom(found.data).type : undefined;
}

/** Writes each part to a file under the day of the run; `futures` to two files. Bars have their own archive. */
export const snapshot = stepKind<Params, SnapshotTaken>({
  name: "snapshot",
  summary: "Writes funds, holdings, quotes, option chains and bars to files",
  effect: "read",
  needsAccount: ({ account, holdings, futures }) => Boolean(account ?? holdings ?? futures),
  asOfNow,
  reaches: (given) => [...given.bars === undefined ? [] : endsMarketData(given.bars), ...writesInto(given)],
  params,
  output,
  check(given, wrong) {
    if (parts.every((part) => given[part] === undefined)) wrong([], `one or more of ${parts.join(", ")}`);
  },
  async run(given, context) {
    const { date } = context.day;
    const ofNow = asOfNow(given);
    if (ofNow !== undefined) refusePast(ofNow, context);
    const taken: SnapshotTaken = { ok: true, day: date, rows: {}, files: [] };
    for (const [part, read] of readersOf(given, context)) {
      context.progress({ text: part });
      const rows = await read();
      const text = given.format === "csv" ? csvText(rows, { exact: given.exactCsv }) : jsonLines(rows);
      const file = await writeAtomically(
        pathIn(context, given.out, date, `${stampOf(context)}_${part}.${given.format}`),
        text,
      );
      taken.rows[part] = rows.length;
      await note(taken, file, `snapshot/${part}`, context);
    }
    if (given.bars !== undefined) await archive(given.bars, { given, taken, context });
    return taken;
  },
});

/** Returns the time of the slot for file names, so that a rerun writes the same file again. */
const stampOf = ({ slot }: StepContext) => slot.slice(11, 16).replace(":", "") + "Z";

async function note(
  taken: SnapshotTaken,
  file: WrittenFile,
  dataset: string,
  context: StepContext,
): Promise<void> {
  taken.files.push(file.path);
  await context.artifact({ dataset, businessDay: taken.day, final: true, ...file });
}

function readersOf(given: Params, context: StepContext): [string, () => Promise<Row[]>][] {
  const { signal } = context;
  const readers: [string, () => Promise<Row[]>][] = [];
  if (given.account !== undefined) {
    const wanted = given.account;
    readers.push(["funds", async () => {
      const client = await context.client();
      const rows: Row[] = [];
      for (const market of wanted) {
        rows.push({ market, ...await client.account.funds({ market }, { signal }) });
      }
      return rows;
    }]);
  }
  if (given.holdings !== undefined) {
    const wanted = given.holdings;
    readers.push(["holdings", async () => {
      const client = await context.client();
      const lists = [];
      for (const market of wanted) lists.push(await client.account.holdings({ market }, { signal }));
      return lists.flat();
    }]);
  }
  if (given.futures) {
    readers.push([
      "futures_funds",
      async () => [(await (await context.client()).futures.funds({}, { signal })).funds ?? {}],
    ]);
    readers.push([
      "futures_holdings",
      async () => (await (await context.client()).futures.holdings({}, { signal })).holdings ?? [],
    ]);
  }
  if (given.quotes !== undefined) {
    const wanted = given.quotes.map(securityFrom);
    readers.push([
      "quotes",
      async () => await (await context.client()).quotes.latest({ securities: wanted }, { signal }),
    ]);
  }
  if (given.optionChain !== undefined) {
    const { underlying, expiries } = given.optionChain;
    readers.push(["option_chain", async () => {
      const client = await context.client();
      const dates = (await client.quotes.optionExpiries({ underlying }, { signal })).toSorted().slice(
        0,
        expiries,
      );
      const rows: Row[] = [];
      for (const expiry of dates) {
        const codes = await client.quotes.optionCodes({ underlying, expiry }, { signal });
        for (const code of codes) rows.push({ underlying, expiry, code });
      }
      return rows;
    }]);
  }
  return readers;
}

interface Archive {
  given: Params;
  taken: SnapshotTaken;
  context: StepContext;
}

async function archive(
  wanted: NonNullable<Params["bars"]>,
  { given, taken, context }: Archive,
): Promise<void> {
  const client = await context.client();
  const { signal } = context;
  const securities = wanted.securities.map(securityFrom);
  const to = wanted.to ?? context.day.date;
  taken.bars = [];
  // The broker returns bars only for securities that are subscribed.
  const subscription = { topic: "quote" as const, securities };
  await client.call(quotes.subscribe, subscription, { signal });
  try {
    const jobs = securities.flatMap((security) =>
      wanted.intervals.map((interval) => ({ security, interval }))
    );
    for (const [index, { security, interval }] of jobs.entries()) {
      context.progress({ text: `${security.symbol} ${interval}`, done: index, total: jobs.length });
      const { files, ...done } = await archiveBars({
        client,
        security,
        interval,
        from: wanted.from,
        to,
        pathOf: (...parts) => pathIn(context, given.out, "bars", ...parts),
        signal,
      });
      taken.bars.push(done);
      taken.rows.bars = (taken.rows.bars ?? 0) + done.added;
      for (const file of files) await note(taken, file, `bars/${security.symbol}/${interval}`, context);
    }
  } finally {
    // Do not pass the signal, so that the subscription also ends after a stop. On a closed connection this fails, but
    // then it is not needed.
    await client.call(quotes.unsubscribe, subscription).catch((error) =>
      context.log("warn", "could not end the subscription", { error: String(error) })
    );
  }
}
