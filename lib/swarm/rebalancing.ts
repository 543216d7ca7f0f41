/**
 * Draws the rebalancing of a simulated world from its seed (portfolio, recipe, price moves, trading halts), and checks
 * the plans and their orders.
 *
 * @module
 */
import { add, compare, type Decimal, isZero, multiply, subtract, sumOf } from "../decimal.ts";
import { estimateFees } from "../desk/guards/order.ts";
import type { Intent } from "../desk/intent.ts";
import type { Plan } from "../rebalance/solver/plan.ts";
import type { PlanRecord } from "../rebalance/queries.ts";
import { compileRecipe } from "../recipes/mod.ts";
import { SimulatedMarket } from "../simulator/market/mod.ts";
import type { ScriptEntry } from "../simulator/mod.ts";
import { randomFrom } from "../time.ts";
import type { Rebalancing } from "./processes.ts";
import { hongKongDate } from "./programs.ts";
import { CASH_MS, type CashFigure, type Executed, liveStatuses, type TrueOrder } from "./truth.ts";
import { SYMBOLS } from "./pace.ts";

const MINUTE = 60_000;

/**
 * Probability that a world with a scheduler rebalances: in a world of full days, in a short world, and in a world whose
 * only program is a scheduler on the direct transport (`sole`).
 */
const SHARES = { full: 0.45, short: 0.12, sole: 0.5 };
/** Minutes from the open to each rebalancing of a day. Each has its own targets. */
const STARTS = [40, 95];
/** How long an execution may take, in minutes. */
const DEADLINES = [5, 10, 20];

/** Draws whether a world rebalances, and how. */
export async function drawRebalancing(
  seed: number,
  sessions: readonly { date: string; openAt: number }[],
  { isShort, isSole }: { isShort: boolean; isSole: boolean },
): Promise<Rebalancing[]> {
  const random = randomFrom(seed * 7 + 4);
  if (random() >= (isSole ? SHARES.sole : isShort ? SHARES.short : SHARES.full)) return [];
  const below = (most: number) => Math.floor(random() * most);
  const one = <T>(from: readonly T[]): T => from[below(from.length)]!; // the index is below the length
  const market = new SimulatedMarket({ seed });
  const drawn: Rebalancing[] = [];
  for (const [index, start] of STARTS.entries()) {
    const symbols = SYMBOLS.toSorted(() => random() - 0.5).slice(0, 2 + below(3));
    const deadline = one(DEADLINES);
    // Some windows end before the execution ends.
    const end = start + (random() < 0.3 ? Math.ceil(deadline * 0.6) : deadline + 15);
    const name = `rebalance-${index + 1}`;
    const portfolio = {
      market: "hk",
      // An account begins with about two million HKD, mostly cash.
      targets: Object.fromEntries(
        symbols.map((symbol) => [symbol, ((20 + below(60)) / 1_000).toFixed(3)]),
      ),
      cashBuffer: { HKD: 1_650_000 + below(270) * 1_000 },
      drift: { absolute: one([0.002, 0.005, 0.01]) },
      minTrade: 1_000,
      execution: {
        peg: one(["mid", "bid", "last", "ask"]),
        collar: one([0.02, 0.05]),
        repriceEvery: one(["20s", "1m", "2m"]),
        maxReprices: 5 + below(26),
        deadline: `${deadline}m`,
      },
    };
    const recipe = await compileRecipe(
      JSON.stringify({
        name,
        live: true,
        schedule: { id: "s1", calendar: "XHKG", at: `open+${start}m` },
        window: `XHKG.open+${start}m..XHKG.open+${end}m`,
        timeout: "3h",
        steps: [{ id: "rebalance", uses: "rebalance", with: { mode: "live", portfolio } }],
      }),
      `${name}.json`,
    );
    const windows = sessions.map(({ openAt }) => ({
      from: openAt + start * MINUTE,
      to: openAt + end * MINUTE,
    }));
    const script = sessions.flatMap(({ date, openAt }) =>
      symbols.flatMap((symbol): ScriptEntry[] => {
        const at = openAt + (start + below(deadline)) * MINUTE;
        const time = new Date(at + 8 * 60 * MINUTE).toISOString().slice(0, 16).replace("T", " ");
        const gap: ScriptEntry[] = index === 0 && random() < 0.2
          ? [{ what: "gap", symbol, on: date, by: `${(random() * 10 - 5).toFixed(2)}%` }]
          : [];
        const what = random();
        if (what < 0.15) return [...gap, { what: "halt", symbol, at: time, for: `${1 + below(20)}m` }];
        if (what >= 0.5) return gap;
        const to = (Number(market.lastPrice(symbol, at)) * (0.94 + random() * 0.12)).toFixed(1);
        const over = what < 0.3 ? { over: `${1 + below(4)}m` } : {};
        return [...gap, { what: "price", symbol, at: time, to, ...over }];
      })
    );
    drawn.push({ recipe, windows, script });
  }
  return drawn;
}

/** An order that a plan has placed and the broker has accepted. The broker may have split it into several orders. */
export interface PlanOrder {
  intent: Intent;
  orders: readonly TrueOrder[];
}

/** Returns the orders that plans have placed and the broker has accepted. */
export function planOrdersOf(
  intents: ReadonlyMap<string, Intent>,
  executedByIntent: ReadonlyMap<string, Executed>,
  orders: ReadonlyMap<string, TrueOrder>,
): PlanOrder[] {
  const found: PlanOrder[] = [];
  for (const [id, { name, isRefused, orderIds }] of executedByIntent) {
    const intent = intents.get(id);
    if (intent?.why.plan === undefined || name !== "orders.place" || isRefused) continue;
    found.push({ intent, orders: orderIds.flatMap((orderId) => orders.get(orderId) ?? []) });
  }
  return found;
}

const isLive = ({ status }: TrueOrder) => liveStatuses.includes(status);
const filledOf = (some: readonly PlanOrder[]) =>
  add("0", ...some.flatMap(({ orders }) => orders.map(({ filled }) => filled)));

/** Returns the accepted orders of each trade of a plan. */
function ordersByTrade({ trades }: Plan, hash: string, orders: readonly PlanOrder[]): PlanOrder[][] {
  return trades.map((_, index) =>
    orders.filter(({ intent: { why } }) => why.plan === hash && why.trade === index)
  );
}

/** Returns what is wrong with the first trade that has more than its planned quantity, or two open orders. */
export function beyondPlan({ hash, plan }: PlanRecord, orders: readonly PlanOrder[]): string | undefined {
  for (const [index, own] of ordersByTrade(plan, hash, orders).entries()) {
    const { side, symbol, quantity } = plan.trades[index]!;
    const used = add(
      "0",
      ...own.flatMap((each) => each.orders.map((order) => isLive(order) ? order.quantity : order.filled)),
    );
    if (compare(used, quantity) > 0) {
      return `the plan says to ${side} ${quantity} of ${symbol}, and its orders have ${used}`;
    }
    const open = own.filter((each) => each.orders.some(isLive));
    if (open.length > 1) {
      return `two orders of one trade are open: the intents ${
        open.map(({ intent }) => intent.id).join(", ")
      }`;
    }
  }
  return undefined;
}

/**
 * An execution may still send an order this long after its deadline, because requests can be delayed and processes can
 * be stopped.
 */
const LATE_MS = 4 * MINUTE;

/**
 * Returns the problem if a purchase left less cash than the buffer. Takes each recent figure of the available cash, and
 * subtracts the plan's purchases since then, including this one. If any of the results is at or above the buffer, there
 * is no problem: other programs may have used cash after the execution read it.
 *
 * @param purchase When the broker executed it, and the plan's purchases up to this one, with the cash that each used.
 */
export function belowBuffer(
  buffer: Decimal,
  figures: readonly CashFigure[],
  { at, call, purchases }: {
    at: number;
    call: number;
    purchases: readonly { call: number; used: Decimal }[];
  },
): string | undefined {
  const left = figures.flatMap((figure, index) => {
    const until = figures[index + 1]?.at ?? at;
    if (until < at - CASH_MS || figure.call >= call) return [];
    const since = purchases.filter((each) => each.call > figure.call);
    return [subtract(figure.amount, add("0", ...since.map(({ used }) => used)))];
  });
  if (left.some((each) => compare(each, buffer) >= 0)) return undefined;
  return `the purchase leaves ${left.at(-1)} of the cash, and the buffer is ${buffer}`;
}

/**
 * Returns the cash that a purchase used, but at most the cost of one order with the published fees. The broker reserves
 * more if it splits the order, because each part has its own fees, and it reserves some dollars for rounding. It
 * publishes neither the quantity above which it splits nor this reserve, so a plan cannot know them.
 */
export function usedAsOne(
  { orderIds, at, used = "0" }: Pick<Executed, "orderIds" | "at" | "used">,
  orders: ReadonlyMap<string, Pick<TrueOrder, "symbol" | "price" | "quantity">>,
): Decimal {
  const parts = orderIds.flatMap((orderId) => orders.get(orderId) ?? []);
  const [first] = parts;
  if (first === undefined) return used;
  const { symbol, price } = first;
  const terms = {
    market: "hk",
    symbol,
    price,
    quantity: sumOf(parts.map(({ quantity }) => quantity)),
  } as const;
  const fees = estimateFees({ ...terms, isBuy: true, date: hongKongDate(at) }) ?? "0";
  const cost = add(multiply(price, terms.quantity), fees);
  return compare(used, cost) < 0 ? used : cost;
}

/** Returns whether a plan's order was sent long after the deadline of its execution. */
export function isAfterDeadline({ deadlineAt }: PlanRecord, { sentAt }: Intent): boolean {
  return deadlineAt !== undefined && sentAt !== undefined && sentAt > deadlineAt + LATE_MS;
}

/** Weights that differ by less than this are equal. */
const TINY = 1e-9;

/**
 * Returns what is wrong with a plan at the end of a day. The plan must have ended, either near its targets or with a
 * reason. Exception: it may still be running if the outcome of one of its orders is unknown. A later comparison with
 * the lists, or a person, can still find this outcome.
 *
 * @param unresolved Plans with orders whose outcomes are unknown, by their hashes.
 */
export function badEnding(
  { hash, plan, state, reason, report, source }: PlanRecord,
  orders: readonly PlanOrder[],
  unresolved: ReadonlySet<string>,
): string | undefined {
  const name = `the plan ${hash.slice(0, 12)} is "${state}"`;
  if (state === "running") return unresolved.has(hash) ? undefined : `${name} after its deadline`;
  if (state !== "done" && state !== "stopped") return undefined; // the run's row has the reason why nothing was sent
  if (report === undefined) return reason === undefined ? `${name} without a reason` : undefined;
  if (state === "stopped" && reason === undefined) return `${name} without a reason`;
  const byTrade = ordersByTrade(plan, hash, orders);
  for (const [index, trade] of report.trades.entries()) {
    const { side, symbol, planned, filled, open, unknown, remaining } = trade;
    if (!isZero(add(open, unknown))) continue;
    const truly = filledOf(byTrade[index]!);
    const each = `${name}, and for ${side} ${planned} of ${symbol} `;
    if (compare(truly, filled) !== 0) {
      return `${each}its report has ${filled} filled, and the broker ${truly}`;
    }
    if (state === "done" && compare(filled, planned) !== 0) return `${each}only ${filled} are filled`;
    if (!isZero(remaining) && trade.reason === undefined) return `${each}no reason says why some remain`;
  }
  if (report.trades.some(({ open, unknown }) => !isZero(add(open, unknown)))) return undefined;
  let sum = 0;
  const band = Number(source?.settings.drift.absolute ?? "0");
  for (const { symbol, quantity, price, target, trade } of plan.positions) {
    const moved = byTrade.flatMap((own, index) => {
      const { side, symbol: of } = plan.trades[index]!;
      return of === symbol ? [(side === "buy" ? 1 : -1) * Number(filledOf(own))] : [];
    }).reduce((all, each) => all + each, 0);
    const drift = (Number(quantity) + moved) * Number(price) / Number(plan.value) - Number(target);
    sum += drift * drift;
    const isExplained = state === "stopped" || plan.leftOut.some((left) => left.symbol === symbol) ||
      !isZero(trade) && moved === Number(trade); // whole lots and the cash may prevent a smaller drift
    if (Math.abs(drift) > band + TINY && !isExplained) {
      return `${name}, ${symbol} is ${drift.toFixed(6)} from its target, and no reason says why`;
    }
  }
  if (Math.abs(sum - Number(report.drift.reached)) > TINY) {
    return `${name}, its report says that the drift is ${report.drift.reached}, and it is ${sum}`;
  }
  return undefined;
}
