/**
 * Defines the report of an execution: for each trade the quantities, prices and fees, and the drift after the trades.
 *
 * @module
 */
import type { Decimal } from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";

/** The result of one trade of a plan. Quantities are shares; money is in the currency of the listing. */
export interface TradeReport {
  market: Market;
  symbol: string;
  currency: string;
  side: "buy" | "sell";
  planned: Decimal;
  filled: Decimal;
  /** Quantity of orders that may still fill, because the broker's lists show them as open. */
  open: Decimal;
  /** Quantity of orders whose outcome is unknown. */
  unknown: Decimal;
  /** Planned quantity that is neither filled nor open nor unknown. */
  remaining: Decimal;
  /** Why something remains. */
  reason?: string;
  /** The broker's orders. */
  orderIds: string[];
  /** Average price of the fills; absent without fills, or if the broker's lists do not show all of them. */
  averagePrice?: Decimal;
  /** The market's price when the execution began. */
  arrivalPrice?: Decimal;
  /** What the fills cost compared with the arrival price. A positive number is a loss. */
  slippage?: Slippage;
  fees: {
    /** The plan's estimate of the fees of the whole trade. */
    estimated: Decimal;
    /** The fees that the broker charged; absent until the broker has booked the fees of every fill. */
    booked?: Decimal;
  };
}

/** The difference from the cost at the arrival price. */
export interface Slippage {
  /** In the currency of the listing. */
  money: Decimal;
  /** The same, as a fraction of the filled value at the arrival price. */
  part: Decimal;
}

/** What the execution of a plan did. */
export interface RebalanceReport {
  hash: string;
  state: "running" | "done" | "stopped";
  /** Why the execution stopped before everything was filled. */
  reason?: string;
  startedAt: number;
  endedAt?: number;
  trades: TradeReport[];
  /** Sum of the slippage of the trades for which it is known, by currency. */
  slippage: Record<string, Decimal>;
  /** Fees by currency; `booked` is absent while the booked fees of any trade are unknown. */
  fees: { estimated: Record<string, Decimal>; booked?: Record<string, Decimal> };
  /** Sum of the squared drifts at the plan's prices: before, as planned, and with what was filled. */
  drift: { before: Decimal; planned: Decimal; reached: Decimal };
}
