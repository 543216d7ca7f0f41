/**
 * Rehearses a recipe over 2025 with `hsgate test`, and reads two things from the rehearsal's store. The first is what
 * only the simulated market knows (`seen`: the account before the first day, first prices and fills). The second are
 * the figures that `worked_out.py` works out without any code of hsgate.
 *
 * After a change of the simulated market, renew the files of what was seen, and then the golden files:
 *
 *     deno run -A test/rehearsal/year/figures.ts
 *     python3 test/rehearsal/year/worked_out.py
 *
 * @module
 */
import type { Funds, Holding } from "../../../lib/operations/account.ts";
import type { Fill } from "../../../lib/operations/fills.ts";
import type { JournalEntry } from "../../../lib/operations/fund_journal.ts";
import type { Quote } from "../../../lib/operations/quotes.ts";
import type { Plan } from "../../../lib/rebalance/solver/plan.ts";
import type { RebalanceReport } from "../../../lib/rebalance/results/report.ts";
import { add } from "../../../lib/decimal.ts";
import { openSqlite } from "../../../lib/store/sqlite.ts";
import { cli, spawned } from "../../cli/support.ts";

const HERE = new URL("./", import.meta.url);
/** A script of the broker, if the recipe has one. */
const scripts: Readonly<Record<string, string>> = { bands: "halt.yaml" };
export const RECIPES = ["monthly", "bands"] as const;

/** Listings with targets. */
const TARGETS = ["00005.HK", "00700.HK", "00941.HK", "01211.HK", "09988.HK"];

/** Returns a file of this folder. */
export const fileOf = (name: string): URL => new URL(name, HERE);

/** Rehearses a recipe over 2025. */
export async function rehearsedYear(
  recipe: string,
): Promise<{ report: string; seen: string; figures: string }> {
  const folder = await Deno.makeTempDir({ prefix: "hsgate-year-" });
  try {
    const env = { HSGATE_CALENDARS: `${folder}/calendars.json` };
    // A typhoon closes the exchange on what would be the last trading day of September.
    const set = ["calendar", "set", "XHKG", "2025-09-30", "closed", "--because", "a typhoon"];
    const closed = await cli(set, { env, fromDisk: true });
    if (closed.code !== 0) throw new Error(closed.err);
    const path = (name: string) => decodeURIComponent(fileOf(name).pathname);
    const script = scripts[recipe];
    const { code, out, err } = await spawned([
      "test",
      ...[recipe, "mornings", "evenings"].map((name) => path(`${name}.yaml`)),
      ...["--from", "2025-01-01", "--to", "2025-12-31", "--store", `${folder}/year.db`],
      ...script === undefined ? [] : ["--script", path(script)],
    ], { env });
    if (code !== 0) throw new Error(err);
    return { report: out, ...await readStore(`${folder}/year.db`) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Outputs of `mornings.yaml`. */
interface Morning {
  funds: Funds;
  holdings: Holding[];
  booked: Fill[];
}

/** Outputs of `evenings.yaml`. */
interface Evening {
  fills: Fill[];
  journal: JournalEntry[];
  quotes: Quote[];
}

async function readStore(path: string): Promise<{ seen: string; figures: string }> {
  await using store = await openSqlite(path);
  const outputs = new Map<string, Record<string, unknown>>();
  const rows = await store.all<{ run_key: string; step_id: string; output: string }>(
    "select run_key, step_id, output from step_run where state = 'ok' order by run_key",
  );
  for (const { run_key: key, step_id: step, output } of rows) {
    outputs.set(key, { ...outputs.get(key), [step]: JSON.parse(output) });
  }
  const days = [...outputs.keys()].flatMap((key) => key.match(/^mornings\/main\/(.*)$/)?.[1] ?? []);
  // The recipes have these outputs.
  const morningOf = (day: string) => outputs.get(`mornings/main/${day}`) as unknown as Morning;
  const eveningOf = (day: string) => outputs.get(`evenings/main/${day}`) as unknown as Evening;
  const plans = new Map(
    (await store.all<{ plan: string; report: string }>("select plan, report from rebalance"))
      .map(({ plan, report }) => {
        const read: Plan = JSON.parse(plan);
        return [read.date, { plan: read, report: JSON.parse(report) as RebalanceReport }];
      }),
  );
  const first = morningOf(days[0]!);
  const seen = [`cash ${cashOf(first.funds)}`, `holds ${shown(holdingsOf(first.holdings))}`];
  const lines: string[] = [];
  let [cash, held] = ["", ""];
  /** Numbers of the previous session's orders, by order id. */
  let numbers = new Map<string, number>();
  for (const day of days) {
    const [before, after] = [morningOf(day), eveningOf(day)];
    const tell = (text: string) => void lines.push(`${day} ${text}`);
    const booked = before.booked.flatMap((row) => {
      const { orderId = "", symbol, filledQuantity, fees = {} } = row;
      const items = Object.entries(fees).map(([item, amount]) => `${item} ${amount}`).sort().join(", ");
      return [{ number: numbers.get(orderId) ?? 0, text: `${symbol} ${filledQuantity}: ${items}` }];
    });
    booked.sort((a, b) => a.number - b.number);
    for (const { number, text } of booked) if (number > 0) tell(`fees of order ${number}: ${text}`);
    const dividends = after.journal.filter(({ type }) => type === "settlement-funds").map(({ amount }) =>
      amount
    );
    for (const amount of dividends.sort()) tell(`dividend ${amount}`);
    const [cashNow, heldNow] = [cashOf(before.funds), shown(holdingsOf(before.holdings))];
    if (cashNow !== cash) tell(`cash ${cash = cashNow}`);
    if (heldNow !== held) tell(`holds ${held = heldNow}`);
    const made = plans.get(day);
    if (made !== undefined) lines.push(...planLines(day, made.plan, made.report));
    const own = new Set(made?.report.trades.flatMap(({ orderIds }) => orderIds));
    numbers = new Map();
    const opens = after.quotes.flatMap(({ security, openPrice }) => {
      const symbol = security?.symbol ?? "";
      const isHeld = before.holdings.some((each) => each.symbol === symbol);
      return isHeld || TARGETS.includes(symbol) ? [`${symbol} ${openPrice}`] : [];
    });
    seen.push(`${day} opens ${opens.sort().join(", ")}`);
    for (const fill of after.fills.toSorted((a, b) => sortKey(a) < sortKey(b) ? -1 : 1)) {
      const { orderId = "", side, symbol, filledQuantity, fillPrice, fillTime } = fill;
      if (!numbers.has(orderId)) numbers.set(orderId, numbers.size + 1);
      const order = `order ${numbers.get(orderId)} of ${own.has(orderId) ? "the plan" : "the owner"}`;
      seen.push(`${day} fill ${fillTime} ${order}: ${side} ${filledQuantity} ${symbol} at ${fillPrice}`);
    }
  }
  return { seen: `${seen.join("\n")}\n`, figures: `${lines.join("\n")}\n` };
}

const sortKey = ({ fillTime, orderId, fillPrice, filledQuantity }: Fill) =>
  [fillTime, orderId, fillPrice?.padStart(12), filledQuantity?.padStart(12)].join();

const cashOf = ({ available = "", frozen = "" }: Funds) => add(available, frozen);

const holdingsOf = (rows: readonly Holding[]) =>
  Object.fromEntries(rows.map(({ symbol, quantity = "" }) => [symbol, quantity]).sort());

const shown = (holdings: Record<string, string>) =>
  Object.entries(holdings).map((each) => each.join(" ")).join(", ");

function planLines(day: string, plan: Plan, report: RebalanceReport): string[] {
  const feesOf = (symbol: string) => plan.trades.find((trade) => trade.symbol === symbol)?.fees ?? "0";
  return [
    `value ${plan.value}, cash ${plan.cash.HKD}`,
    ...plan.positions.toSorted((a, b) => a.symbol < b.symbol ? -1 : 1).map((each) => {
      const { symbol, quantity, price, target, weight, trade, weightAfter } = each;
      return `${symbol} ${quantity} at ${price}, weight ${weight} of ${target}, trades ${trade} for ${
        feesOf(symbol)
      }, weight after ${weightAfter}`;
    }),
    `leaves cash ${plan.cashAfter.HKD}, squared drift ${plan.sumSquaredDriftBefore} to ${plan.sumSquaredDrift}`,
    ...report.trades.map(({ symbol, side, planned, filled, remaining }) =>
      `did ${side} ${filled} of ${planned} ${symbol}, ${remaining} remain`
    ).sort(),
    `reached squared drift ${report.drift.reached}`,
  ].map((text) => `${day} plan ${text}`);
}

if (import.meta.main) {
  for (const recipe of RECIPES) {
    await Deno.writeTextFile(fileOf(`${recipe}_seen.txt`), (await rehearsedYear(recipe)).seen);
  }
}
