/**
 * Returns the terms of an order write, and a fingerprint that is equal for two writes with the same request.
 *
 * @module
 */
import { isDecimal, isZero, normalize } from "../decimal.ts";
import { Market } from "../dictionaries/market.ts";
import { conditionalTypes, unpricedTypes } from "../dictionaries/order_type.ts";
import { isMap, isMaybeText, isTexts } from "../foreign_values.ts";
import { bareCode } from "./broker_lists.ts";
import type { Intent } from "./intent.ts";

/** The parameters of an order write that the desk reads. */
interface Terms {
  market?: string;
  symbol?: string;
  side?: string;
  orderType?: string;
  price?: string;
  triggerValue?: string;
  trailBy?: string;
  quantity?: string;
  orderId?: string;
  childOrderId?: string;
  orderIds?: readonly string[];
}

const isMaybeDecimal = (value: unknown) => value === undefined || isDecimal(value);

/** For each term, a function that returns whether a value from a store is valid for the term. */
const isTerm: Readonly<Record<keyof Terms, (value: unknown) => boolean>> = {
  market: (value) => value === undefined || Market.names.some((name) => name === value),
  symbol: isMaybeText,
  side: isMaybeText,
  orderType: isMaybeText,
  price: isMaybeDecimal,
  triggerValue: isMaybeDecimal,
  trailBy: isMaybeText,
  quantity: isMaybeDecimal,
  orderId: isMaybeText,
  childOrderId: isMaybeText,
  orderIds: (value) => value === undefined || isTexts(value),
};

/** Returns whether a value of a store can be the parameters of an intent, as far as the desk reads them. */
export const areTerms = (value: unknown): boolean =>
  isMap(value) && Object.entries(isTerm).every(([name, isRight]) => isRight(value[name])) &&
  [value.tradingHours, value.session].every(isMaybeText);

/** Returns the terms of an intent. Its parameters were checked against the operation before it was recorded. */
export function termsOf({ params }: Pick<Intent, "params">): Terms {
  return params as Terms;
}

/** Returns whether a side buys. The broker itself decides whether a sale is a short sale. */
export const isBuy = (side: string): boolean => side === "buy" || side === "short-close";

/** Returns whether both sides buy or both sell. */
export const isSameSide = (one: string, other: string): boolean => isBuy(one) === isBuy(other);

/** Returns the orders that an amendment or a cancellation applies to; empty if it applies to all orders of a market. */
export function targetsOf({ params }: Pick<Intent, "params">): readonly string[] {
  const { orderId, childOrderId, orderIds } = termsOf({ params });
  return orderIds ?? [childOrderId ?? orderId].filter((id) => id !== undefined);
}

/** Returns whether an intent places a conditional order. */
export function isConditional({ operation, params }: Pick<Intent, "operation" | "params">): boolean {
  return operation === "orders.place" &&
    conditionalTypes.some((type) => type === termsOf({ params }).orderType);
}

/** Returns whether orders of a type trade at the market's price, even if they name a price. */
export const isUnpriced = (orderType: string | undefined): boolean =>
  unpricedTypes.some((type) => type === orderType);

/** Returns the price of an intent's order; `undefined` if it has none, or if the market ignores it. */
export function priceOf({ params }: Pick<Intent, "params">): string | undefined {
  const { price, orderType } = termsOf({ params });
  return price === undefined || isZero(price) || isUnpriced(orderType) ? undefined : price;
}

/** Returns whether the order of an intent places other orders: it is conditional or algorithmic. */
export function placesOthers(intent: Pick<Intent, "operation" | "params">): boolean {
  return intent.operation === "algo.place" || isConditional(intent);
}

/**
 * Returns a text that is equal for two writes with the same request. Numbers are compared by value: `"600"` equals
 * `"600.00"`. Codes are compared by listing: `"AAPL"` equals `"AAPL.US"`. The price zero counts as no price. A purchase
 * that closes a short position equals any other purchase, because the broker itself decides which it is. The parameters
 * in {@linkcode ignored} and the sequence of a list of orders make no difference. In an amendment, the parameters in
 * {@linkcode unchangeable} make no difference either, because they only describe the amended order.
 */
export function fingerprintOf(
  { kind, operation, params }: Pick<Intent, "kind" | "operation" | "params">,
): string {
  return JSON.stringify([operation, ...partsOf(params, kind === "amend" ? unchangeable : [])]);
}

function partsOf(params: object, alsoIgnored: readonly string[] = []): unknown[] {
  return Object.entries(params).filter(([name, value]) =>
    value !== undefined && !ignored.includes(name) && !alsoIgnored.includes(name) && value !== NO_TIME
  )
    .filter(([name, value]) => name !== "price" || !isDecimal(String(value)) || !isZero(String(value)))
    .sort(([one], [other]) => one < other ? -1 : 1)
    .map(([name, value]) => [name, sameValue(name, value)]);
}

/**
 * Parameters that say how an order trades, and not what is bought or sold. The broker has defaults for most
 * of them, so two requests can be the same although only one names a default. Two requests that differ only
 * in these parameters count as the same, because sending both would trade the quantity twice.
 */
const ignored = ["clientType", "venue", "tradingHours", "session", "validDays", "displayQuantity"];

/** Parameters that an amendment may contain but cannot change. */
const unchangeable = ["market", "symbol", "side", "orderType"];

/** The start or end time of an algorithmic order that has none. */
const NO_TIME = "00:00:00";

/** Names of parameters that are numbers. Other texts of digits, such as order ids, are not numbers. */
const numbers = [
  "price",
  "quantity",
  "triggerValue",
  "maxChildQuantity",
  "minChildAmount",
  "percent",
  "intervalSec",
];

/** Returns a normalized value of a parameter: equal for two values with the same meaning. */
function sameValue(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value)].sort();
  if (typeof value === "object" && value !== null) return partsOf(value);
  const text = String(value);
  if (name === "symbol") return bareCode(text);
  if (name === "side") return isBuy(text) ? "buy" : "sell";
  return numbers.includes(name) && isDecimal(text) ? normalize(text) : value;
}
