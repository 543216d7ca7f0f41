/**
 * Defines the step `export-day-book`, which exports fills with fees, orders and the fund journal of trading days.
 *
 * @module
 */
import * as z from "zod";
import type { Calendars, Session } from "../../calendars/mod.ts";
import { calendarOfMarket, dateIn } from "../../day_book/market_days.ts";
import {
  type DayBookEvent,
  type DayBookList,
  type DayBookMarket,
  type DayBookResult,
  type DayResult,
  type Difference,
  exportDayBook,
  type PlanQuality,
} from "../../day_book/mod.ts";
import type { Summary } from "../../day_book/folder/summary.ts";
import { rebalanceTradesOf } from "../../rebalance/mod.ts";
import type { StepContext } from "../compiled.ts";
import { day, exactCsv, folder, markets, writesInto } from "./fields.ts";
import { sha256 } from "../../sha256.ts";
import { pathIn } from "./files.ts";
import { stepKind } from "./kind.ts";

const MOST_SESSIONS = 250;

const params = z.strictObject({
  markets: markets.optional().meta({
    description: "Markets of the securities accounts; not needed for futures only",
  }),
  accounts: z.array(z.enum(["securities", "futures"])).min(1).default(["securities", "futures"])
    .meta({ description: "Accounts to export; without a futures account: [securities]" }),
  sessions: z.int().min(1).max(MOST_SESSIONS, `a whole number from 1 to ${MOST_SESSIONS}`).optional()
    .meta({
      description: "Number of the latest trading days, with a day that has only begun; or use from and to",
    }),
  from: day.optional().meta({ description: "First trading day" }),
  to: day.optional().meta({ description: "Last trading day" }),
  out: folder.default("out/day-books"),
  formats: z.array(z.enum(["csv", "jsonl"])).min(1).default(["csv", "jsonl"])
    .meta({ description: "Formats of the files" }),
  wire: z.boolean().default(false).meta({
    description: "Also write the rows as the broker sent them",
  }),
  exactCsv,
  owner: z.string().min(1).optional()
    .meta({ description: "Your name for the account of the folder; only a digest of it is stored" }),
});

const namesOf = <Name extends string>(names: Readonly<Record<Name, true>>) =>
  z.enum(Object.keys(names) as [Name, ...Name[]]); // the keys are exactly these names, and there is at least one

const status = namesOf<DayResult["status"]>({ final: true, provisional: true });
const lists = z.partialRecord(
  namesOf<DayBookList>({
    fills: true,
    orders: true,
    fund_journal: true,
    futures_fills: true,
    futures_orders: true,
    rebalance_trades: true,
  }),
  z.number(),
);
const dayBookMarket = namesOf<DayBookMarket>({
  hk: true,
  us: true,
  shanghai: true,
  shenzhen: true,
  futures: true,
});

const amounts = z.record(z.string(), z.string());
const planQuality: z.ZodType<PlanQuality> = z.strictObject({
  plan: z.string(),
  state: namesOf<PlanQuality["state"]>({ running: true, done: true, stopped: true }),
  trades: z.number(),
  filled: z.number(),
  slippage: amounts,
  fees: z.strictObject({ estimated: amounts, booked: amounts.optional() }),
  drift: z.strictObject({ before: z.string(), planned: z.string(), reached: z.string() }),
});

const output: z.ZodType<DayBookResult> = z.strictObject({
  out: z.string(),
  days: z.array(z.strictObject({
    day: z.string(),
    status,
    action: namesOf<DayResult["action"]>({
      "written": true,
      "replaced": true,
      "unchanged": true,
      "kept": true,
      "kept-final": true,
      "disputed": true,
      "restored": true,
    }),
    path: z.string(),
    beside: z.array(z.string()),
    rows: lists,
    markets: z.partialRecord(
      dayBookMarket,
      z.strictObject({ status, rows: lists, differences: z.number(), notCheckable: z.number() }),
    ),
    differences: z.number(),
    provisionalBecause: z.array(z.string()),
    incomplete: z.array(z.string()),
    rebalance: z.array(planQuality).optional(),
  })),
  rows: z.number(),
  differences: z.array(z.strictObject({
    day: z.string(),
    market: dayBookMarket.optional(),
    list: lists.keyType.optional(),
    check: z.custom<Difference["check"]>((value) => typeof value === "string"),
    rowKey: z.string().optional(),
    expected: z.string(),
    actual: z.string(),
    message: z.string(),
  })),
  differenceCount: z.number(),
  notBegun: z.array(z.string()),
  withoutRebalanceTrades: z.string().optional(),
  ok: z.boolean(),
});

/** Exports day books. Keeps final days, and reads provisional days again until their fees are known. */
export const exportDayBookStep = stepKind<z.infer<typeof params>, DayBookResult>({
  name: "export-day-book",
  summary: "Writes the fills with fees, orders and fund journal of trading days, and checks them",
  effect: "read",
  needsAccount: () => true,
  reaches: writesInto,
  params,
  output,
  check({ markets, accounts, sessions, from, to }, wrong) {
    // If a parameter is an expression, omitted parameters do not have their defaults yet.
    if (markets === undefined && (accounts ?? ["securities"]).includes("securities")) {
      wrong(["markets"], "some of hk, us, shanghai, shenzhen");
    }
    const named = from !== undefined || to !== undefined;
    if (sessions === undefined && (from === undefined || to === undefined)) {
      wrong(from === undefined ? ["from"] : ["to"], "a date, or sessions: 5 for the last five trading days");
    }
    if (sessions !== undefined && named) wrong(["from"], "either sessions, or from and to");
    if (from !== undefined && to !== undefined && to < from) wrong(["to"], "a date that is not before from");
  },
  async run({ markets = [], accounts, sessions, from, to, out, formats, wire, exactCsv, owner }, context) {
    const range = sessions === undefined
      // Without `sessions`, both days are given: `check` has made sure.
      ? { from: from!, to: to! }
      // A run of a past slot exports the days of that slot, even if it runs later.
      : lastSessions(
        context.calendars,
        [...markets, ...accounts.includes("futures") && markets.length === 0 ? ["futures" as const] : []],
        sessions,
        Date.parse(context.slot),
      );
    const days: DayResult[] = [];
    // Only a run with a store has a desk.
    const desk = await context.desk?.();
    const result = await exportDayBook(await context.client(), {
      markets,
      accounts,
      formats,
      wire,
      exactCsv,
      ...owner !== undefined && { owner },
      ...desk !== undefined && { rebalanceTrades: rebalanceTradesOf(desk) },
      ...range,
      out: pathIn(context, out),
      now: context.now,
      calendars: context.calendars,
      signal: context.signal,
      hasSecret: context.hasSecret,
      onProgress(event) {
        if (event.type === "day-done" && event.result !== undefined) days.push(event.result);
        report(event, context);
      },
    }).catch(async (error) => {
      // The days before the failed day are complete, so their files are recorded.
      if (!context.signal.aborted) await reportArtifacts(days, context);
      throw error;
    });
    await reportArtifacts(days, context);
    return result;
  },
});

function report(event: DayBookEvent, { progress, log }: StepContext): void {
  if (event.type === "clock-differs" || event.type === "clock-unknown") return log("warn", event.message);
  const place = event.type === "day-started"
    ? { text: event.day, done: event.index, total: event.days }
    : event.type === "day-done"
    ? { text: event.day, done: event.index + 1, total: event.days }
    : event.type === "rows"
    ? { text: `${event.day}, ${event.market} ${event.list.replaceAll("_", " ")}` }
    : event.type === "stage"
    ? { text: event.day }
    : { text: event.type === "started" ? `${event.days} days` : "all days are done" };
  progress({ ...place, detail: event });
}

/** Reports every file of the days, with the size and hash from when it was written. */
async function reportArtifacts(days: readonly DayResult[], context: StepContext): Promise<void> {
  const readings = days.flatMap(({ day: businessDay, path, beside, status }) => [
    { businessDay, dataset: "day-book", path, final: status === "final" },
    ...beside.map((each) => ({ businessDay, dataset: "day-book-disputed", path: each, final: false })),
  ]);
  for (const { businessDay, dataset, path, final } of readings) {
    const bytes = await Deno.readFile(`${path}/summary.json`);
    // The export has just written or checked this file.
    const { files } = JSON.parse(new TextDecoder().decode(bytes)) as Summary;
    const summary = { bytes: bytes.length, sha256: await sha256(bytes) };
    for (const [name, record] of Object.entries({ ...files, "summary.json": summary })) {
      await context.artifact({
        dataset: `${dataset}/${name}`,
        businessDay,
        path: `${path}/${name}`,
        ...record,
        final,
      });
      // `artifact` may read the whole file. Pause between two files, so that other work, such as renewing a lease, can
      // run.
      await Deno.stat(path);
    }
  }
}

/**
 * Returns the range of the newest `count` days on which at least one of these markets has opened.
 *
 * @throws {CalendarUnknownError} If a calendar does not cover the days.
 */
export function lastSessions(
  calendars: Calendars,
  markets: readonly DayBookMarket[],
  count: number,
  now: number,
): { from: string; to: string } {
  const days = new Set<string>();
  for (const market of markets) {
    const today = Temporal.PlainDate.from(dateIn(market, now));
    // Three days per session leave room for weekends and single holidays, and two more weeks for the longest holiday.
    const first = today.subtract({ days: 14 + count * 3 });
    const sessions = calendars.sessionsBetween(
      calendarOfMarket[market],
      first.toString(),
      today.toString(),
    );
    const begun = sessions.filter(({ openAt }: Session) => openAt <= now).slice(-count);
    for (const { date } of begun) days.add(date);
  }
  const last = [...days].sort().slice(-count);
  return { from: last[0]!, to: last.at(-1)! };
}
