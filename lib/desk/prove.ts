/**
 * Decides what the broker's lists prove about a write whose outcome is unknown. Each result depends only on the arguments:
 * the intent, the orders in the lists, and what is known about other orders.
 *
 * The broker's lists contain no id of ours. So they prove that a request arrived if they show new orders with its terms
 * whose quantities add up to its quantity. Only several looks at the lists can prove that a request did not arrive: see
 * {@linkcode provesAbsence}.
 *
 * @module
 */
import { add, compare, normalize } from "../decimal.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { Look, SeenOrder } from "./broker_lists.ts";
import type { AbsentLooks, Intent } from "./intent.ts";

/** What one look proves about an unresolved intent. */
export type Verdict =
  /** These orders belong to the intent. For an amendment or a cancellation: it was executed on these orders. */
  | { is: "sent"; orderIds: readonly string[] }
  /** The lists show more than the intent asked for, so it is unclear which orders belong to it. */
  | { is: "ambiguous"; orderIds: readonly string[]; why: string }
  /** The lists show orders for a part of the quantity; the rest may still appear. */
  | { is: "partial"; orderIds: readonly string[] }
  /** The lists do not show that the request was executed. One such look proves nothing. */
  | { is: "absent" };

/** The parameters of an order write that its rows in the lists repeat. */
interface Terms {
  market?: string;
  symbol?: string;
  side?: string;
  orderType?: string;
  price?: string;
  quantity?: string;
  orderId?: string;
  childOrderId?: string;
  orderIds?: readonly string[];
}

/** Returns the terms of an intent. The parameters were checked against the operation when it was planned. */
export function termsOf({ params }: Pick<Intent, "params">): Terms {
  return params as Terms;
}

/** Returns the orders that an amendment or a cancellation is for; empty if it is for all of a market. */
export function targetsOf({ params }: Pick<Intent, "params">): readonly string[] {
  const { orderId, childOrderId, orderIds } = termsOf({ params });
  return orderIds ?? [childOrderId ?? orderId].filter((id) => id !== undefined);
}

/**
 * Returns a text that is equal for two writes that ask for the same. Numbers are compared by value: `"600"` equals
 * `"600.00"`.
 */
export function fingerprintOf(operation: string, params: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(params).filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => one < other ? -1 : 1)
    .map(([name, value]) => [name, isNumeric(name, value) ? normalize(value) : value]);
  return JSON.stringify([operation, ...parts]);
}

/** Names of parameters that are decimals; other texts with digits, such as order ids, are not. */
const decimals = ["price", "quantity", "displayQuantity", "triggerValue"];
const isNumeric = (name: string, value: unknown): value is string =>
  decimals.includes(name) && typeof value === "string";

/**
 * Returns what a look proves.
 *
 * @param owned Orders of other intents of the account, which cannot belong to this intent.
 */
export function judge(intent: Intent, looked: Look, owned: ReadonlySet<string>): Verdict {
  switch (intent.kind) {
    case "place":
      return judgePlaced(intent, looked, owned);
    case "amend":
      return judgeAmended(intent, looked, owned);
    case "cancel":
      return judgeCancelled(intent, looked);
  }
}

function judgePlaced(intent: Intent, looked: Look, owned: ReadonlySet<string>): Verdict {
  const { quantity = "0" } = termsOf(intent);
  const found = candidatesOf(intent, looked, owned);
  if (found.length === 0) return { is: "absent" };
  const ids = found.map(({ orderId }) => orderId);
  const sizes = found.map(sizeOf);
  const total = add(...sizes);
  const whole = found.filter((_, index) => compare(sizes[index]!, quantity) === 0);
  if (whole.length === 1 && found.length === 1) return { is: "sent", orderIds: ids };
  if (compare(total, quantity) === 0) return { is: "sent", orderIds: ids }; // the broker split it
  // A fill without its order says how much was filled, and not how much was ordered.
  if (compare(total, quantity) < 0) return { is: "partial", orderIds: ids };
  return {
    is: "ambiguous",
    orderIds: ids,
    why: `the lists show orders for ${total} with the same terms, and ${quantity} were asked for`,
  };
}

/** Quantity of an order; if only fills show it, at least the quantity that they show. */
const sizeOf = ({ quantity, filled }: SeenOrder): string => quantity ?? filled;

/**
 * Returns the orders that are new since the look before the request and have its terms. The times of the orders exclude
 * none: clocks differ and jump, and an order that is excluded wrongly would be sent twice.
 */
function candidatesOf(intent: Intent, looked: Look, owned: ReadonlySet<string>): SeenOrder[] {
  const { symbol, side, price, orderType, quantity = "0" } = termsOf(intent);
  const known = new Set(intent.known);
  return [...looked.orders.values()].filter((order) => {
    if (known.has(order.orderId) || owned.has(order.orderId)) return false;
    if (order.symbol !== symbol) return false;
    if (order.side !== undefined && side !== undefined && !sameSide(order.side, side)) return false;
    if (order.orderType !== undefined && orderType !== undefined && order.orderType !== orderType) {
      return false;
    }
    // A request without a price, or with the price zero, has no limit. The lists may then show the broker's own price.
    const isPriced = price !== undefined && compare(price, "0") !== 0;
    if (isPriced && order.price !== undefined && compare(order.price, price) !== 0) return false;
    return compare(sizeOf(order), quantity) <= 0;
  });
}

/** Returns whether both sides buy or both sell: the broker itself decides whether a sale is a short sale. */
function sameSide(one: string, other: string): boolean {
  const buys = ["buy", "short-close"];
  return one === other || buys.includes(one) === buys.includes(other);
}

/** An amendment was executed if its order, or a new one, has the new terms. */
function judgeAmended(intent: Intent, looked: Look, owned: ReadonlySet<string>): Verdict {
  const { quantity, price, symbol } = termsOf(intent);
  const hasTerms = (order: SeenOrder) =>
    (quantity === undefined || (order.quantity !== undefined && compare(order.quantity, quantity) === 0)) &&
    (price === undefined || (order.price !== undefined && compare(order.price, price) === 0));
  const [target] = targetsOf(intent);
  const old = target === undefined ? undefined : looked.orders.get(target);
  const known = new Set(intent.known);
  const fresh = [...looked.orders.values()].filter((order) =>
    order.orderId !== target && !known.has(order.orderId) && !owned.has(order.orderId) &&
    order.symbol === (symbol ?? old?.symbol) && hasTerms(order)
  );
  if (fresh.length === 0) {
    return old !== undefined && (quantity ?? price) !== undefined && hasTerms(old)
      ? { is: "sent", orderIds: [old.orderId] }
      : { is: "absent" };
  }
  const isOldLive = old?.state === undefined ||
    ["acknowledged", "working", "part-filled"].includes(old.state);
  if (fresh.length > 1 || isOldLive) {
    const orderIds = [...old === undefined ? [] : [old.orderId], ...fresh.map(({ orderId }) => orderId)];
    return { is: "ambiguous", orderIds, why: "the old order and a new one may both be in the market" };
  }
  return { is: "sent", orderIds: fresh.map(({ orderId }) => orderId) };
}

/** A cancellation was executed if every order that it was for has ended. */
function judgeCancelled(intent: Intent, looked: Look): Verdict {
  const targets = targetsOf(intent);
  const orders = targets.length > 0
    ? targets.map((id) => looked.orders.get(id))
    : intent.known.map((id) => looked.orders.get(id));
  const ended = orders.filter((order) =>
    order?.state !== undefined && !["acknowledged", "working", "part-filled"].includes(order.state)
  );
  if (ended.length === 0 || ended.length < orders.length) return { is: "absent" };
  return { is: "sent", orderIds: ended.map((order) => order!.orderId) };
}

/** For a proof of absence: minimum number of looks without the order, and minimum time from the first to the last. */
const ABSENT_LOOKS = 3;
const ABSENT_MS = 60_000;
/** The broker's clock must be this far past the request's own time limit. */
const PAST_MS = 30_000;

/** What is known about a request that the lists do not show. */
interface AbsenceFacts {
  absent: AbsentLooks;
  /** The last look. */
  looked: Look;
  /** Orders of other intents that were sent later than this one. */
  later: ReadonlySet<string>;
}

/**
 * Returns the proof that a request was never executed, in words, or what is missing for the proof. All of these conditions
 * must hold: at least three looks did not show the request, over a minute and for longer than the request's time limit,
 * by this machine's clock and by the broker's; each look read every list to its end; and the last look shows an order of
 * ours that was sent later. Without the last condition, a list that lags or that belongs to another account would look
 * the same.
 */
export function provesAbsence(
  intent: Pick<Intent, "timeoutMs" | "known">,
  { absent, looked, later }: AbsenceFacts,
): { proof: string } | { missing: string } {
  const { count, firstAt, lastAt, firstBrokerAt, lastBrokerAt } = absent;
  // The first look came after the request. So once this much time has passed, the request's time limit is over.
  const leastMs = Math.max(ABSENT_MS, intent.timeoutMs + PAST_MS);
  if (count < ABSENT_LOOKS || lastAt - firstAt < leastMs) {
    return { missing: `${ABSENT_LOOKS} looks over ${Math.ceil(leastMs / 1000)} s; so far ${count}` };
  }
  if (firstBrokerAt === undefined || lastBrokerAt === undefined) {
    return { missing: "the broker's time in an answer" };
  }
  if (lastBrokerAt - firstBrokerAt < leastMs) {
    return { missing: "the broker's clock to be past the request's time limit" };
  }
  // An order that was there before the request was not sent later, whatever the clocks say.
  const known = new Set(intent.known);
  const seen = [...later].find((id) => looked.orders.has(id) && !known.has(id));
  if (seen === undefined) return { missing: "an order of yours in the same lists that was sent later" };
  return {
    proof: `${count} looks over ${Math.round((lastAt - firstAt) / 1000)} s at ${
      looked.lists.join(", ")
    } did not show it, and they show order ${seen}, which was sent later`,
  };
}

/** Returns the answer that the broker would have sent for an intent that the lists show. */
export function answerOf(operation: AnyOperation, intent: Intent): unknown {
  if (operation.undone !== undefined) return { cancelled: intent.orderIds, failed: [] };
  const [orderId] = intent.orderIds;
  return orderId === undefined ? undefined : { orderId };
}

/** Returns the orders that an answer names. */
export function idsIn(answer: unknown): string[] {
  const { orderId, cancelled } = Object(answer) as { orderId?: unknown; cancelled?: unknown };
  if (typeof orderId === "string") return [orderId];
  return Array.isArray(cancelled) ? cancelled.filter((each) => typeof each === "string") : [];
}
