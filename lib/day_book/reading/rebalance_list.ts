/**
 * Writes the list of rebalancing trades of a day, and compares it with the fills of the day.
 *
 * @module
 */
import { csvRecord } from "../../csv_text.ts";
import { add, compare, isDecimal, multiply, normalize, sumOf } from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";
import type { ListCheck, ListFinding } from "../checks/day_checks.ts";
import type { ListReading } from "../checks/losses.ts";
import { type AnyRow, dayBookColumns } from "../rows/columns.ts";
import { rowEncoder, TextFile } from "../rows/files.ts";
import {
  type DayBookFormat,
  type OrderFills,
  type PlanQuality,
  type RebalanceSource,
  type RebalanceTrade,
  type RecordedOrder,
} from "../types.ts";
import type { Part } from "./part.ts";

const LIST = "rebalance_trades";

/** Input for the list of a day. */
interface RebalanceOptions {
  source: RebalanceSource;
  day: string;
  markets: readonly Market[];
  /** The chosen lists of the day. */
  parts: readonly Part[];
}

/** The rebalancing trades of one day. */
export class RebalanceList {
  readonly #day: string;
  readonly #trades: readonly RebalanceTrade[];
  readonly #fills: ReadonlyMap<string, OrderFills>;
  readonly #markets: readonly Market[];

  private constructor(
    { day, markets }: RebalanceOptions,
    trades: readonly RebalanceTrade[],
    fills: ReadonlyMap<string, OrderFills>,
  ) {
    this.#day = day;
    this.#markets = markets;
    this.#trades = trades;
    this.#fills = fills;
  }

  /** Asks the source for the trades of a day, and reads their fills back from the files of the day. */
  static async read(options: RebalanceOptions): Promise<RebalanceList> {
    const { source, day, markets, parts } = options;
    const fills = new Map<string, OrderFills>();
    const fillsOf = (orderIds: readonly string[]) => {
      for (const [orderId, each] of fillsIn(parts, new Set(orderIds))) fills.set(orderId, each);
      return fills;
    };
    const trades = await source({ day, markets, fillsOf });
    return new RebalanceList(options, trades, fills);
  }

  get rows(): number {
    return this.#trades.length;
  }

  /** Returns the results of the plans of the day, in the order of their first trades. */
  get plans(): PlanQuality[] {
    return plansOf(this.#trades);
  }

  /** Writes the list into a new file. */
  write(path: string, form: DayBookFormat, exactCsv: boolean): void {
    const columns = dayBookColumns[LIST];
    const encode = rowEncoder(columns, { exact: exactCsv });
    const file = new TextFile(path);
    try {
      if (form === "csv") file.write(csvRecord(columns.map(({ name }) => name)));
      for (const trade of this.#trades) {
        const { market, currency } = trade;
        // The members of a trade are the columns.
        const row = trade as unknown as AnyRow;
        file.write(encode(row, { rowKey: this.#keyOf(trade), market, currency })[form]);
      }
      file.seal();
    } finally {
      file.close();
    }
  }

  /** Returns the rows of each market, to compare them with another reading of the day. */
  readings(name: string): ListReading[] {
    return this.#markets.map((market) => ({
      name,
      market,
      list: LIST,
      origin: "history",
      isCleared: true,
      rows: () =>
        this.#of(market).map((trade) => ({ ...trade as unknown as AnyRow, rowKey: this.#keyOf(trade) })),
    }));
  }

  /** Returns why the list of a market may still change. */
  pending(market: string): string[] {
    const plans = Map.groupBy(
      this.#of(market).filter(({ state }) => state === "running"),
      ({ plan }) => plan,
    );
    return [...plans.keys()].map((plan) => `the rebalancing plan ${plan.slice(0, 12)} has not ended`);
  }

  /**
   * Compares, for each order, the filled quantity in the store with the exported fills. Returns `undefined` if the
   * market has no trades.
   */
  check(market: Market): ListCheck | undefined {
    const trades = this.#of(market);
    if (trades.length === 0) return undefined;
    const counts = { passed: 0, notCheckable: 0 };
    const findings: ListFinding[] = [];
    for (const trade of trades) {
      for (const order of trade.orders) {
        const exported = sumOf(order.orderIds.map((id) => this.#fills.get(id)?.quantity ?? "0"));
        const more = compare(exported, order.filled);
        // An order that has not ended may have filled after the store was read.
        if (more === 0 || (more > 0 && !order.hasEnded)) counts[more === 0 ? "passed" : "notCheckable"]++;
        else findings.push({ ...differing(trade, order, exported), rowKey: this.#keyOf(trade) });
      }
    }
    const { passed, notCheckable } = counts;
    return {
      result: findings.length > 0 ? "differs" : notCheckable > 0 ? "not-checkable" : "passed",
      detail: "the exported fills of each rebalancing order are those that the store has: " +
        `${passed} passed, ${findings.length} differ, ${notCheckable} not checkable`,
      findings,
    };
  }

  #of(market: string): readonly RebalanceTrade[] {
    return this.#trades.filter((trade) => trade.market === market);
  }

  #keyOf({ market, plan, trade }: RebalanceTrade): string {
    return `${market}/${this.#day}/${LIST}/${plan.slice(0, 16)}/${trade}`;
  }
}

function differing(
  { plan, side, symbol }: RebalanceTrade,
  { orderIds, filled }: RecordedOrder,
  exported: string,
): ListFinding {
  const [expected, actual] = [normalize(filled), normalize(exported)];
  const order = orderIds.length === 0 ? "an order without a number" : `order ${orderIds.join(", ")}`;
  return {
    check: "rebalance",
    list: LIST,
    expected,
    actual,
    message:
      `${order} of the rebalancing plan ${
        plan.slice(0, 12)
      } (${side} ${symbol}): the store has ${expected} ` +
      `filled, but the exported fills total ${actual}`,
  };
}

/** Returns the sums of the fills of some orders. */
function fillsIn(parts: readonly Part[], orderIds: ReadonlySet<string>): Map<string, OrderFills> {
  const found = new Map<string, OrderFills>();
  if (orderIds.size === 0) return found;
  for (const part of parts) {
    if (part.spec.list !== "fills" || part.tally.rows === 0) continue;
    for (const row of part.reading("the fills", false).rows()) {
      const { orderId, filledQuantity, fillPrice, fillAmount, total } = row as Record<
        string,
        string | undefined
      >; // text
      if (orderId === undefined || !orderIds.has(orderId) || !isDecimal(filledQuantity)) continue;
      const amount = fillAmount ?? (isDecimal(fillPrice) ? multiply(fillPrice, filledQuantity) : undefined);
      if (!isDecimal(amount)) continue; // the check "values" reports it
      const before = found.get(orderId);
      const fees = !isDecimal(total)
        ? undefined
        : before === undefined
        ? total
        : before.fees && add(before.fees, total);
      found.set(orderId, {
        quantity: add(before?.quantity ?? "0", filledQuantity),
        amount: add(before?.amount ?? "0", amount),
        ...fees !== undefined && { fees },
      });
    }
  }
  return found;
}

function plansOf(trades: readonly RebalanceTrade[]): PlanQuality[] {
  return [...Map.groupBy(trades, ({ plan }) => plan)].map(([plan, own]) => {
    const [{ state, driftBefore, driftPlanned, driftReached }] = own as [RebalanceTrade]; // a group has a member
    const isBooked = own.every(({ feesStatus }) => feesStatus === "booked" || feesStatus === "no fills");
    return {
      plan,
      state,
      trades: own.length,
      filled: own.filter((each) => compare(each.filledQuantity, each.plannedQuantity) === 0).length,
      slippage: sums(own, ({ slippage }) => slippage),
      fees: {
        estimated: sums(own, ({ feesEstimated }) => feesEstimated),
        ...isBooked && { booked: sums(own, ({ feesBooked = "0" }) => feesBooked) },
      },
      drift: { before: driftBefore, planned: driftPlanned, reached: driftReached },
    };
  });
}

/** Returns sums by currency, without the trades that have no value. */
function sums(
  trades: readonly RebalanceTrade[],
  of: (trade: RebalanceTrade) => string | undefined,
): Record<string, string> {
  const all: Record<string, string> = {};
  for (const trade of trades) {
    const value = of(trade);
    if (value !== undefined) all[trade.currency] = normalize(add(all[trade.currency] ?? "0", value));
  }
  return all;
}
