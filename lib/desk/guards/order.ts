/**
 * Determines the order that a write asks for: its market, its currency, the value of one unit, and its estimated fees,
 * as the guard rails need them.
 *
 * @module
 */
import type { Mic } from "../../calendars/mod.ts";
import { securityOf } from "../../client/security.ts";
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  normalize,
  round,
  subtract,
} from "../../decimal.ts";
import { conditionalTypes, trailingTypes } from "../../dictionaries/order_type.ts";
import type { SecurityType } from "../../dictionaries/security_type.ts";
import { futureContract, optionMultiplier } from "../../facts/contracts.ts";
import { type FeeMarket, feesOf } from "../../facts/fees.ts";
import { listing, type Market } from "../../facts/listings.ts";
import type { Quote } from "../../operations/quotes.ts";
import { endedStates, type SeenOrder } from "../broker_lists.ts";
import type { PlannedWrite } from "../desk.ts";
import { isBuy, isUnpriced } from "../terms.ts";

/** An order as it would be at the broker after a write. */
export interface Order {
  /** Where it trades; all futures count as one market. */
  market: Market | "futures";
  symbol: string;
  side: string;
  quantity: Decimal;
  /** Absent if the order has no price of its own. */
  price: Decimal | undefined;
  orderType: string;
  /** The price that triggers a conditional order; absent if the trigger is not a price, as for a trailing order. */
  trigger: Decimal | undefined;
  /** How far the trigger of a trailing order is from the best price; absent for other orders. */
  trail: { by: string | undefined; value: Decimal } | undefined;
  isConditional: boolean;
  isExtended: boolean;
  /** The amended order, as the broker's lists show it; absent for a new order. */
  before: SeenOrder | undefined;
}

/** The parameters of order writes of all families that guard rails use. */
export interface OrderParams {
  market?: Market;
  symbol?: string;
  side?: string;
  quantity?: Decimal;
  price?: Decimal;
  orderType?: string;
  orderId?: string;
  triggerValue?: Decimal;
  trailBy?: string;
  tradingHours?: string;
  session?: string;
}

/** The exchange of each market, which determines trading days and hours. */
export const mics: Readonly<Record<Order["market"], Mic>> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
  futures: "XHKG",
};

export const auctionTypes = ["auction", "auction-limit"];
export const marketTypes = ["market", "iceberg-market", "hidden-market"];

/**
 * Returns the order that a write asks for; `undefined` if the broker's lists do not show the amended order. For an
 * amendment, missing terms come from the lists.
 */
export function orderOf({ operation, params: given, reading }: PlannedWrite): Order | undefined {
  const params = given as OrderParams; // the operation's schema has checked them
  const before = params.orderId === undefined ? undefined : reading?.orders.get(params.orderId);
  const side = params.side ?? before?.side;
  const symbol = params.symbol ?? before?.symbol;
  const quantity = params.quantity ?? before?.quantity;
  if (side === undefined || symbol === undefined || quantity === undefined) return undefined;
  const orderType = params.orderType ?? before?.orderType ?? "limit";
  const terms = {
    orderType,
    price: params.price ?? before?.price,
    triggerValue: params.triggerValue ?? before?.triggerValue,
    trailBy: params.trailBy ?? before?.trailBy,
  };
  return {
    market: marketOf(operation.name, { ...params, symbol }),
    symbol,
    side,
    quantity,
    price: ownPriceOf(terms),
    orderType,
    trigger: triggerOf(terms),
    trail: trailOf(terms),
    isConditional: isConditional(orderType),
    isExtended: isForExtendedHours(params),
    before,
  };
}

/** Returns whether an order may also trade outside the regular hours; `false` for every conditional order. */
export const isForExtendedHours = ({ tradingHours, session }: OrderParams): boolean =>
  tradingHours === "extended" || session === "after-hours";

/** Returns whether the broker keeps orders of a type until they are triggered. */
export const isConditional = (orderType: string | undefined): boolean =>
  conditionalTypes.some((each) => each === orderType);

/** Returns the limit price of an order; `undefined` if the market sets the price, even if the order names one. */
export const limitPriceOf = ({ price, orderType = "limit" }: OrderParams): Decimal | undefined =>
  isUnpriced(orderType) ? undefined : priceOf({ price });

/**
 * Returns the limit price of an order, or its trigger price if it has none. `undefined` if the market sets the price.
 */
export const ownPriceOf = (terms: OrderParams): Decimal | undefined =>
  limitPriceOf(terms) ?? triggerOf(terms);

/** Returns the price that triggers an order. The trigger value of a trailing order is a distance and not a price. */
const triggerOf = ({ triggerValue, orderType = "limit" }: OrderParams): Decimal | undefined =>
  isConditional(orderType) && !isTrailing(orderType) ? priceOf({ price: triggerValue }) : undefined;

const isTrailing = (orderType: string | undefined) => trailingTypes.some((each) => each === orderType);

const trailOf = ({ triggerValue, trailBy, orderType }: OrderParams): Order["trail"] =>
  isTrailing(orderType) && triggerValue !== undefined ? { by: trailBy, value: triggerValue } : undefined;

/**
 * Returns the price at which a conditional order would trigger if the market moved against it from now on. For a
 * trailing sale this is the last price minus the distance, and for a trailing purchase the last price plus the
 * distance.
 */
export function triggerNow({ trigger, trail, side }: Order, last: Decimal | undefined): Decimal | undefined {
  if (trail === undefined || last === undefined) return trigger;
  const distance = trail.by === "percentage"
    ? divide(multiply(last, trail.value), "100", 8, "down")
    : trail.value;
  return isBuy(side) ? add(last, distance) : subtract(last, distance);
}

/** Returns whether a conditional order with a trigger price waits for higher prices, and not for lower ones. */
export const waitsForRise = ({ orderType, side }: Order): boolean =>
  orderType.startsWith("take-profit") !== isBuy(side);

/**
 * Returns whether the market has reached the trigger price of an order. The broker would trigger such an order at once.
 */
export function hasReached(order: Order, last: Decimal): boolean {
  if (order.trigger === undefined) return false;
  const beyond = compare(last, order.trigger);
  return waitsForRise(order) ? beyond >= 0 : beyond <= 0;
}

/** Returns the currency of a listing's prices; for an empty symbol, the currency of the market. */
export function currencyOf(market: Order["market"], symbol: string): string {
  const known = listing(symbol)?.currency;
  if (known !== undefined) return known;
  if (market === "us") return "USD";
  if (market === "shanghai" || market === "shenzhen") return "CNY";
  // Hong Kong lists the renminbi counters of its stocks with codes that begin with 8.
  return /^8\d{4}\.HK$/.test(symbol) ? "CNY" : "HKD";
}

/** Returns the factor from the price to the value of one unit; `undefined` if the reference data do not have it. */
export function multiplierOf(market: Order["market"], symbol: string): Decimal | undefined {
  if (market === "futures") return futureContract(symbol)?.multiplier;
  return typeOf(symbol) === "us-option" ? optionMultiplier : "1";
}

/** Returns the type of security that a code names; `undefined` for a code of an unknown form. */
export function typeOf(symbol: string): SecurityType | undefined {
  try {
    return securityOf(symbol).type;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns where an order trades. */
export function marketOf(operation: string, { market, symbol = "" }: OrderParams): Order["market"] {
  if (operation.startsWith("futures.")) return "futures";
  if (market !== undefined) return market;
  if (symbol.endsWith(".HK")) return "hk";
  return symbol.endsWith(".SH") ? "shanghai" : symbol.endsWith(".SZ") ? "shenzhen" : "us";
}

/** Returns a price; `undefined` if there is none. The broker also writes zero for a missing price. */
export const priceOf = ({ price }: { price?: Decimal | undefined }): Decimal | undefined =>
  price === undefined || isZero(price) ? undefined : price;

/** Returns the last price of a quote, or else the previous close; `undefined` if the quote has neither. */
export const lastOf = (quote: Quote | undefined): Decimal | undefined =>
  priceOf({ price: quote?.lastPrice }) ?? priceOf({ price: quote?.previousClose });

export const isOpen = ({ state }: SeenOrder): boolean => state === undefined || !endedStates.includes(state);

/** Returns the unfilled quantity of an open order; zero if the order has ended, or if there is no order. */
export function remainingOf(order: SeenOrder | undefined): Decimal {
  if (order?.quantity === undefined || !isOpen(order)) return "0";
  return subtract(order.quantity, order.filled);
}

/** Returns the quantity that an amended order has already filled: its cash is paid, or its shares are sold. */
export const filledOf = ({ before }: Order): Decimal => before?.filled ?? "0";

/** States of intents whose orders the broker's cash and holdings may not reflect yet. */
export const pendingStates: readonly string[] = ["planned", "approved", "sent", "unknown", "ambiguous"];

export const least = (one: Decimal, other: Decimal): Decimal => compare(one, other) < 0 ? one : other;
export const most = (one: Decimal, other: Decimal): Decimal => compare(one, other) > 0 ? one : other;

export const percentText = (fraction: Decimal): string => `${normalize(multiply(fraction, "100"))} %`;
export const amountText = (amount: Decimal): string => normalize(round(amount, 2, "half-up"));

/** The members of an order on which its fees depend. */
export interface FeeTerms extends Pick<Order, "market" | "symbol"> {
  isBuy: boolean;
  price: Decimal;
  quantity: Decimal;
  /** Day of the trade in the market's time zone, `yyyy-MM-dd`. */
  date: string;
}

/**
 * Returns the fees of an order that fills completely and at once: the published rates of exchanges and regulators, and
 * the commission of an example broker. `undefined` if no rates are known for the day.
 */
export function estimateFees(
  { market, symbol, isBuy, price, quantity, date }: FeeTerms,
): Decimal | undefined {
  try {
    const { order } = feesOf({
      market: feeMarketOf(market, symbol),
      symbol,
      date,
      side: isBuy ? "buy" : "sell",
      instrument: listing(symbol)?.instrument ?? "stock",
      fills: [{ price, quantity }],
    });
    return order.total;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function feeMarketOf(market: Order["market"], symbol: string): FeeMarket {
  if (market === "futures") return "hk-future";
  return typeOf(symbol) === "us-option" ? "us-option" : market;
}
