/**
 * Lists the trades of plans that were executed on one day, for the day book: what their orders did according to the
 * store, and what they cost according to the fills of the day book.
 *
 * @module
 */
import { addDays, showInstant } from "../../calendars/mod.ts";
import type { OrderFills, RebalanceDay, RebalanceSource, RebalanceTrade } from "../../day_book/types.ts";
import { compare, divide, isZero, multiply, normalize, subtract } from "../../decimal.ts";
import { dayOfLists } from "../../desk/broker_lists.ts";
import { currencyOf } from "../../desk/guards/order.ts";
import { type Intent, sinceOf } from "../../desk/intent.ts";
import { intentsOfPlan } from "../../desk/queries.ts";
import { isFinal } from "../../desk/states.ts";
import type { Store } from "../../store/store.ts";
import type { PlannedTrade } from "../solver/plan.ts";
import { missingOf, type Progress, progressOf } from "../execution/progress.ts";
import { executedPlans, type PlanRecord } from "../queries.ts";
import type { TradeReport } from "./report.ts";
import { driftReached, filledIdsOf, filledOf, PRICE_PLACES, slippageOf, whyLeft } from "./results.ts";

/** The store, and the account in it. */
interface AccountStore {
  store: Store;
  account: string;
}

/** Returns the source of the day book's list of rebalancing trades. It only reads the store. */
export function rebalanceTradesOf({ store, account }: AccountStore): RebalanceSource {
  return async (given) => {
    const trades = await tradesOn({ store, account }, given);
    const fills = given.fillsOf(trades.flatMap(({ orders }) => orders.flatMap(({ orderIds }) => orderIds)));
    return trades.map((trade) => rowOf(trade, fills));
  };
}

/** One trade of a plan on one day. */
interface DayTrade {
  record: PlanRecord;
  index: number;
  trade: PlannedTrade;
  filled: string;
  /** The progress of the whole trade, on all days. */
  whole: Pick<TradeReport, "filled" | "open" | "unknown" | "remaining" | "reason">;
  driftReached: string;
  orders: RebalanceTrade["orders"];
}

/** Returns the trades of some markets on a day, market by market. */
async function tradesOn(
  { store, account }: AccountStore,
  { day, markets }: RebalanceDay,
): Promise<DayTrade[]> {
  // A market's day is in the market's time zone. In UTC, it is within three days: the day before, the day with the same
  // date, and the day after.
  const range = { from: Date.parse(addDays(day, -1)), to: Date.parse(addDays(day, 2)) };
  const found: DayTrade[] = [];
  for (const record of await executedPlans(store, account, range)) {
    const intents = await intentsOfPlan(store, account, record.hash);
    const progress = progressOf(record.plan, intents);
    const begunAt = Math.min(...intents.map(sinceOf), record.startedAt!); // only executed plans are returned
    record.plan.trades.forEach((trade, index) => {
      if (!markets.includes(trade.market)) return;
      const onDay = (at: number) => dayOfLists(trade.market, at) === day;
      const kept = keptReport(record, index, progress[index]!);
      const own = progress[index]!.intents;
      const ofDay = own.filter((intent) => onDay(sinceOf(intent)));
      // A trade belongs to the day on which the execution began if it has no order, or if the store no longer has all
      // of its orders.
      const isOfDay = own.length === 0 || kept !== undefined ? onDay(begunAt) : ofDay.length > 0;
      if (!isOfDay) return;
      const missing = missingOf(trade, progress[index]!);
      const { left, filled, open, unknown } = progress[index]!;
      const reason = whyLeft(record, index, { missing, left });
      found.push({
        record,
        index,
        trade,
        ...kept === undefined
          ? {
            filled: progressOf(record.plan, ofDay)[index]!.filled,
            whole: { filled, open, unknown, remaining: missing, ...reason !== undefined && { reason } },
            driftReached: driftReached(record.plan, progress),
            orders: ofDay.map(recorded),
          }
          : {
            filled: kept.filled,
            whole: kept,
            driftReached: record.report!.drift.reached,
            orders: [{ orderIds: kept.orderIds, filled: kept.filled, hasEnded: true }],
          },
      });
    });
  }
  return markets.flatMap((market) => found.filter(({ trade }) => trade.market === market));
}

/**
 * Returns the report of a trade from the end of the execution if the store no longer has all orders of the trade;
 * `undefined` if it has them. The store deletes old orders.
 */
function keptReport({ report }: PlanRecord, index: number, { filled }: Progress): TradeReport | undefined {
  const trade = report?.trades[index];
  return trade !== undefined && compare(trade.filled, filled) > 0 ? trade : undefined;
}

const recorded = (intent: Intent): RebalanceTrade["orders"][number] => ({
  orderIds: filledIdsOf(intent),
  filled: intent.filled,
  hasEnded: isFinal(intent.state),
});

function rowOf(
  { record, index, trade, filled, whole, driftReached, orders }: DayTrade,
  fills: ReadonlyMap<string, OrderFills>,
): RebalanceTrade {
  const { plan, state, startedAt, endedAt, arrival } = record;
  const { market, symbol, side, quantity, fees } = trade;
  const orderIds = orders.flatMap((order) => order.orderIds);
  const known = filledOf(fills, { orderIds, filled });
  const arrivalPrice = arrival[index]?.price;
  const slippage = known && arrivalPrice !== undefined ? slippageOf(side, known, arrivalPrice) : undefined;
  const perShare = (money: string) => normalize(divide(money, known!.quantity, PRICE_PLACES, "half-even"));
  const booked = known?.fees;
  const isFullyFilled = compare(filled, quantity) === 0;
  return {
    market,
    currency: currencyOf(market, symbol),
    plan: plan.hash,
    trade: index + 1,
    state: state === "done" || state === "stopped" ? state : "running",
    startedAt: showInstant(startedAt!), // its execution has begun
    ...endedAt !== undefined && { endedAt: showInstant(endedAt) },
    symbol,
    side,
    plannedQuantity: normalize(quantity),
    filledQuantity: normalize(filled),
    openQuantity: normalize(whole.open),
    unknownQuantity: normalize(whole.unknown),
    remainingQuantity: normalize(whole.remaining),
    ...whole.reason !== undefined && { reason: whole.reason },
    orderIds: orderIds.join(" "),
    ...arrivalPrice !== undefined && { arrivalPrice },
    ...known && { fillAmount: normalize(known.amount), averagePrice: perShare(known.amount) },
    ...slippage && {
      slippage: slippage.money,
      slippagePrice: perShare(slippage.money),
      slippageBps: normalize(multiply(slippage.part, "10000")),
    },
    feesEstimated: fees,
    ...booked !== undefined && { feesBooked: normalize(booked) },
    feesStatus: isZero(filled)
      ? "no fills"
      : known === undefined
      ? "unknown"
      : booked === undefined
      ? "not booked yet"
      : "booked",
    ...booked !== undefined && isFullyFilled && { feesDifference: normalize(subtract(booked, fees)) },
    driftBefore: plan.sumSquaredDriftBefore,
    driftPlanned: plan.sumSquaredDrift,
    driftReached,
    orders,
  };
}
