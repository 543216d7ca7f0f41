/**
 * Decides what the broker's lists prove about a write whose outcome is unknown. A result depends only on the arguments:
 * the intent, the orders in the lists, and the owners of other orders.
 *
 * The broker's lists contain no id of hsgate. If they show new orders that have the terms of a request, and the sum of
 * these orders is the quantity of the request, they prove that the request arrived. Only several readings of the lists
 * can prove that a request did not arrive: see `absence.ts`.
 *
 * @module
 */
import { wallInstant } from "../calendars/mod.ts";
import { compare, isDecimal, isZero, sumOf } from "../decimal.ts";
import {
  dayOfLists,
  endedStates,
  isOnlyInFills,
  isSameSymbol,
  type ListReading,
  type SeenOrder,
  zoneOfMarket,
} from "./broker_lists.ts";
import type { Intent } from "./intent.ts";
import type { Owner } from "./queries.ts";
import { isConditional, isSameSide, placesOthers, priceOf, targetsOf, termsOf } from "./terms.ts";

/** What one reading proves about an unresolved intent. */
export type Verdict =
  /** These orders belong to the intent. For an amendment or a cancellation: it was executed on these orders. */
  | { is: "sent"; orderIds: readonly string[] }
  /** The lists show more than the intent asked for, so it is unclear which of the orders belong to the intent. */
  | { is: "ambiguous"; orderIds: readonly string[]; why: string }
  /**
   * The lists show only a part of the request, or orders that may belong to another intent (`isContested`). More orders
   * may still appear.
   */
  | { is: "partial"; orderIds: readonly string[]; missing: string; isContested?: boolean }
  /** The lists do not show that the request was executed. One such reading proves nothing. */
  | { is: "absent" }
  /** The lists prove that the request was not executed, and that it cannot be executed any more. */
  | { is: "impossible"; proof: string }
  /** The lists cannot prove that the request was executed, and cannot prove that it was not. */
  | { is: "unprovable"; missing: string };

/** Other intents whose orders the lists may show. */
export interface Others {
  /** The intents that own orders, by the ids of the orders. */
  owners: ReadonlyMap<string, Pick<Owner, "intent">>;
  /** Intents that were sent and may have orders that are not recorded yet, with the present terms of their orders. */
  rivals: readonly Intent[];
}

/** Returns what a reading proves. */
export function judge(intent: Intent, reading: ListReading, others: Others): Verdict {
  switch (intent.kind) {
    case "place":
      return judgePlaced(intent, reading, others);
    case "amend":
      return judgeAmended(intent, reading, others);
    case "cancel":
      return judgeCancelled(intent, reading);
  }
}

/**
 * Returns an intent with the price and quantity that the lists show for its conditional order. Somebody may have
 * amended the order, and the order that it places has the terms at its trigger.
 */
export function withTermsNow(intent: Intent, reading: ListReading): Intent {
  if (!isConditional(intent)) return intent;
  const rows = intent.orderIds.flatMap((id) => reading.orders.get(id) ?? []);
  const sizes = rows.flatMap(({ quantity }) => quantity ?? []);
  if (rows.length === 0 || sizes.length < intent.orderIds.length) return intent;
  const { price } = rows[0]!; // the parts of a split order have the same price
  const isPriced = price !== undefined && !isZero(price);
  return { ...intent, params: { ...intent.params, quantity: sumOf(sizes), ...isPriced && { price } } };
}

/**
 * Finds the orders of an intent that places an order. They are new since the reading before the request, they have the
 * terms of the request, and their sum is its quantity. An order that may also belong to a rival (another intent) proves
 * nothing, with one exception: if exactly one division of the orders gives both intents their whole quantities, the
 * division counts. An order that was clearly placed before the request proves nothing either: the reading before the
 * request may have missed it.
 */
function judgePlaced(intent: Intent, reading: ListReading, others: Others): Verdict {
  const { quantity = "0" } = termsOf(intent);
  const found = candidatesOf(intent, reading, others);
  if (found.length === 0) {
    const early = [...reading.orders.values()].filter((order) => couldBeOwn(order, intent, others));
    if (early.length === 0) return { is: "absent" };
    const missing =
      `a person's decision: by the broker's time, each order with the terms of this intent was placed ` +
      `before the intent was sent: ${idsOf(early).join(", ")}`;
    return { is: "unprovable", missing };
  }
  const rivals = others.rivals.filter((each) =>
    each.id !== intent.id && found.some((order) => couldBelong(order, each, others))
  );
  const contested = found.filter((order) => rivals.some((each) => couldBelong(order, each, others)));
  const sole = found.filter((order) => !contested.includes(order));
  if (compare(totalOf(sole), quantity) > 0) {
    return {
      is: "ambiguous",
      orderIds: idsOf(sole),
      why: `the lists show orders for ${
        totalOf(sole)
      } with the same terms, and the intent is for ${quantity}`,
    };
  }
  if (compare(totalOf(sole), quantity) === 0) return { is: "sent", orderIds: idsOf(sole) };
  if (contested.length > 0) {
    const share = onlyShare({ intent, found, sole, rivals, reading }, others);
    if (share !== undefined) return { is: "sent", orderIds: idsOf(share) };
    const names = rivals.map(({ id }) => id).join(", ");
    const missing = `which of the orders ${
      idsOf(contested).join(", ")
    } belong to this intent, and which to intent ${names}`;
    return { is: "partial", orderIds: idsOf(found), missing, isContested: true };
  }
  // If only fills show an order, they show how much was filled, but not how much was ordered. So the sum may be too
  // small.
  return {
    is: "partial",
    orderIds: idsOf(found),
    missing: `the rest of the quantity: the lists show only ${idsOf(found).join(", ")}`,
  };
}

/** Maximum number of orders that are divided between an intent and its rival. */
const MOST_DIVIDED = 12;

/**
 * Divides orders that fit both an intent and one rival, which is another intent with the same terms. Returns the
 * intent's orders if exactly one division gives both intents their whole quantities.
 */
function onlyShare(
  { intent, found, sole, rivals, reading }: {
    intent: Intent;
    found: readonly SeenOrder[];
    sole: readonly SeenOrder[];
    rivals: readonly Intent[];
    reading: ListReading;
  },
  others: Others,
): SeenOrder[] | undefined {
  const [rival] = rivals;
  if (rival === undefined || rivals.length > 1 || rival.kind !== "place") return undefined;
  const { quantity = "0" } = termsOf(intent);
  const ofRival = candidatesOf(rival, reading, others);
  const contested = found.filter((order) => ofRival.includes(order));
  if (contested.length > MOST_DIVIDED) return undefined;
  const needed = termsOf(rival).quantity ?? "0";
  const shares: SeenOrder[][] = [];
  for (let mask = 0; mask < 2 ** contested.length; mask++) {
    const share = [...sole, ...contested.filter((_, index) => mask & (1 << index))];
    const rest = ofRival.filter((order) => !share.includes(order));
    if (compare(totalOf(share), quantity) === 0 && compare(totalOf(rest), needed) === 0) shares.push(share);
  }
  return shares.length === 1 ? shares[0] : undefined;
}

/** Quantity of an order. If only fills show the order, the sum of these fills, which may be less. */
const sizeOf = ({ quantity, filled }: SeenOrder): string => quantity ?? filled;
const totalOf = (orders: readonly SeenOrder[]): string => sumOf(orders.map(sizeOf));
const idsOf = (orders: readonly SeenOrder[]): string[] => orders.map(({ orderId }) => orderId);

/**
 * Returns the orders in a reading that the intent may have placed itself. Leaves out orders that its conditional or
 * algorithmic order has placed, and orders that were placed before the request.
 */
function candidatesOf(intent: Intent, reading: ListReading, others: Others): SeenOrder[] {
  return [...reading.orders.values()].filter((order) =>
    couldBeOwn(order, intent, others) && !isPlacedBefore(order, intent)
  );
}

/** Returns whether an order may belong to an intent: as its own order, or as an order that its own order has placed. */
const couldBelong = (order: SeenOrder, intent: Intent, others: Others): boolean =>
  couldBeOwn(order, intent, others) || couldBeChild(order, intent, others);

/** Returns the kind of an order; each kind has its own lists. */
function kindOfOrder({ lists }: SeenOrder): "algo" | "conditional" | "ordinary" {
  if (lists.some((list) => list.startsWith("algo."))) return "algo";
  return lists.some((list) => list.startsWith("conditionalOrders.")) ? "conditional" : "ordinary";
}

/** Returns whether an order may be one that an intent asked for directly. */
function couldBeOwn(order: SeenOrder, intent: Intent, { owners }: Others): boolean {
  const owner = owners.get(order.orderId);
  if (owner !== undefined && owner.intent !== intent.id) return false;
  if (intent.childIds.includes(order.orderId) || !isNewFor(order, intent)) return false;
  const kind = !placesOthers(intent)
    ? "ordinary"
    : intent.operation === "algo.place"
    ? "algo"
    : "conditional";
  const { orderType } = termsOf(intent);
  return kindOfOrder(order) === kind && hasPriceOf(order, intent) &&
    (order.orderType === undefined || orderType === undefined || order.orderType === orderType);
}

/** Returns whether an order may have been placed by an intent's conditional or algorithmic order. */
export function couldBeChild(order: SeenOrder, intent: Intent, { owners }: Pick<Others, "owners">): boolean {
  const owner = owners.get(order.orderId);
  if (owner !== undefined && owner.intent !== intent.id) return false;
  if (!placesOthers(intent) || intent.orderIds.includes(order.orderId)) return false;
  // An algorithmic order chooses the prices of its child orders, so the price is not compared.
  return isNewFor(order, intent) && kindOfOrder(order) === "ordinary" &&
    (intent.operation === "algo.place" || hasPriceOf(order, intent));
}

/**
 * Returns the orders that may be an intent's order with other terms: somebody may have amended it in the broker's app.
 * Such an order belongs to no intent, has the intent's listing and side, and was not in the lists before the request.
 */
export function amendedElsewhere(
  intent: Intent,
  reading: ListReading,
  owners: Others["owners"],
): readonly string[] {
  const { symbol, side, market } = termsOf(intent);
  if (intent.kind !== "place") return [];
  return idsOf(
    [...reading.orders.values()].filter((order) =>
      !owners.has(order.orderId) && !intent.known.includes(order.orderId) &&
      !isEarlier(order, market, intent.readSince) && isSameSymbol(order.symbol, symbol) &&
      (order.side === undefined || side === undefined || isSameSide(order.side, side))
    ),
  );
}

/**
 * Returns whether an order has the listing and side of an intent, has at most its quantity, and is new. A new order was
 * not in the lists before the request, and by the broker's own date it is not from an earlier day. The time of day is
 * not compared, because clocks differ and jump: an order that is excluded by mistake would be sent twice.
 */
function isNewFor(order: SeenOrder, intent: Intent): boolean {
  const { symbol, side, quantity = "0", market } = termsOf(intent);
  if (intent.kind !== "place" || intent.known.includes(order.orderId)) return false;
  if (isEarlier(order, market, intent.readSince)) return false;
  if (!isSameSymbol(order.symbol, symbol) || compare(sizeOf(order), quantity) > 0) return false;
  return order.side === undefined || side === undefined || isSameSide(order.side, side);
}

/**
 * Returns whether an order was clearly placed before an intent was sent: in the lists, the order's time is more than
 * {@linkcode PLACED_BEFORE_MS} before {@linkcode Intent.readSince}. Such an order does not prove that the request
 * arrived. The intent does not count as absent either, because clocks can be wrong.
 */
function isPlacedBefore({ placedAt = "" }: SeenOrder, intent: Intent): boolean {
  const [, date, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})/.exec(placedAt) ?? [];
  if (date === undefined || time === undefined || intent.readSince === undefined) return false;
  try {
    const at = wallInstant(date, time, zoneOfMarket(termsOf(intent).market));
    return at < intent.readSince - PLACED_BEFORE_MS;
  } catch (error) {
    if (error instanceof RangeError) return false; // there is no such day or time
    throw error;
  }
}

/**
 * The time of an order in a list may differ by this much from the time in the broker's answers. A gateway
 * answers with the time of its own machine, which may be wrong. With a lower limit, an order whose answer was
 * lost would often need a person's decision if it was sent over such a gateway.
 */
export const PLACED_BEFORE_MS = 60_000;

/** Returns whether an order's day, by the broker's date, is before the day of a request. */
function isEarlier({ day }: SeenOrder, market: string | undefined, since: number | undefined): boolean {
  return day !== undefined && since !== undefined && day < dayOfLists(market, since);
}

/**
 * Returns whether an order may have the price of an intent. A request without a price, or whose price the market
 * ignores, fits any price, because the lists may then show the broker's own price.
 */
function hasPriceOf(order: SeenOrder, intent: Intent): boolean {
  const price = priceOf(intent);
  return price === undefined || order.price === undefined || compare(order.price, price) === 0;
}

/**
 * Returns the orders that the conditional order of an intent has placed: new orders that have its present terms, that
 * together have its quantity, and that cannot belong to another intent. `undefined` if the lists do not show exactly
 * these orders, or if only the lists of fills show one of them: the lists of orders have then lost rows.
 *
 * @param asked The reading with the terms of each order before hsgate amended it. The terms of the conditional order
 * come from `reading`, because it may have been amended before it triggered.
 */
export function childrenIn(
  intent: Intent,
  { reading, asked = reading }: { reading: ListReading; asked?: ListReading },
  others: Others,
): readonly string[] | undefined {
  const now = withTermsNow(intent, reading);
  const { quantity = "0" } = termsOf(now);
  const found = [...asked.orders.values()].filter((order) => couldBeChild(order, now, others));
  if (found.some(isOnlyInFills)) return undefined;
  const rivals = others.rivals.filter(({ id }) => id !== intent.id);
  if (found.some((order) => rivals.some((each) => couldBelong(order, each, others)))) return undefined;
  return compare(totalOf(found), quantity) === 0 ? idsOf(found) : undefined;
}

/** The parameters of an amendment that the lists show. */
const amendable = ["quantity", "price", "triggerValue", "trailBy"] as const;

/** Returns the terms of an order that an amendment may change, for {@linkcode Intent.earlier}. */
export function amendableTerms(order: SeenOrder): Record<string, string> {
  return Object.fromEntries(
    amendable.flatMap((name) => order[name] === undefined ? [] : [[name, order[name]]]),
  );
}

/** Returns whether two terms are the same. Numbers are compared by value. */
const isSame = (one: string, other: string): boolean =>
  isDecimal(one) && isDecimal(other) ? compare(one, other) === 0 : one === other;

/** Terms of an order that an amendment may change, as a row of a list or an intent shows them. */
type Amendable = Partial<Record<typeof amendable[number], string>>;

/**
 * Returns what is known about an amendment: `has` returns whether given terms have all requested values; `hasBut` does
 * the same, except for the quantity. `changes` are the requested values of the terms that had another value before.
 */
function amendmentOf(intent: Intent) {
  const { earlier } = intent;
  const terms = termsOf(intent);
  const wanted = amendable.flatMap((name) => terms[name] === undefined ? [] : [[name, terms[name]] as const]);
  const fits = (shown: Amendable, values: typeof wanted) =>
    values.every(([name, value]) => shown[name] !== undefined && isSame(shown[name], value));
  return {
    has: (shown: Amendable) => fits(shown, wanted),
    hasBut: (shown: Amendable) => fits(shown, wanted.filter(([name]) => name !== "quantity")),
    changes: wanted.filter(([name, value]) => earlier?.[name] !== undefined && !isSame(earlier[name], value)),
  };
}

/**
 * Returns whether later amendments of the same order explain every term that an amendment changes. Then the order's
 * terms do not show which of the amendments was executed.
 */
export function isExplainedBy(amendment: Intent, others: readonly Intent[]): boolean {
  const { changes } = amendmentOf(amendment);
  const [target] = targetsOf(amendment);
  const { sentNumber: number = 0 } = amendment;
  const later = others.filter(({ kind, params, state, sentNumber = 0 }) =>
    kind === "amend" && sentNumber > number && state !== "rejected" && state !== "abandoned" &&
    targetsOf({ params })[0] === target
  ).map(termsOf);
  return changes.every(([name, value]) =>
    later.some((terms) => terms[name] !== undefined && isSame(terms[name], value))
  );
}

/**
 * Finds a later amendment of the same order that proves that an amendment was executed: the lists that were read before
 * the later amendment showed the terms that the earlier amendment requested. The order may have different terms now.
 * The shown terms prove nothing if amendments between the two requested the same changes.
 */
export function laterProofOf(amendment: Intent, later: readonly Intent[]): Intent | undefined {
  const { has, changes } = amendmentOf(amendment);
  const [target] = targetsOf(amendment);
  const { sentAt } = amendment;
  if (changes.length === 0 || sentAt === undefined) return undefined;
  return later.find(({ id, kind, params, createdAt, earlier, sentNumber = Infinity }) =>
    id !== amendment.id && kind === "amend" && createdAt > sentAt && earlier !== undefined &&
    targetsOf({ params })[0] === target && has(earlier) &&
    !isExplainedBy(amendment, later.filter((each) => (each.sentNumber ?? 0) < sentNumber))
  );
}

/**
 * An amendment that changes a term was executed in three cases. The order now has the requested terms; a new order with
 * these terms has replaced the order; or the broker has split the amended order. An order with its earlier terms proves
 * nothing: another program may have set them again.
 */
function judgeAmended(intent: Intent, reading: ListReading, others: Others): Verdict {
  const { market, symbol, side } = termsOf(intent);
  const { has, changes } = amendmentOf(intent);
  const [target = ""] = targetsOf(intent);
  const old = reading.orders.get(target);
  if (changes.length === 0) {
    return {
      is: "unprovable",
      missing: "a person's decision: the lists show no term that the request changes",
    };
  }
  const isMine = (order: SeenOrder) => {
    const owner = others.owners.get(order.orderId);
    return owner === undefined || owner.intent === others.owners.get(target)?.intent;
  };
  // An algorithmic order places orders that can have the requested terms, but do not replace it.
  const kind = old && kindOfOrder(old);
  const added = [...reading.orders.values()].filter((order) =>
    order.orderId !== target && (kind === undefined || kindOfOrder(order) === kind) &&
    !intent.known.includes(order.orderId) && isMine(order) &&
    isSameSymbol(order.symbol, symbol ?? old?.symbol) && !isEarlier(order, market, intent.readSince) &&
    (order.side === undefined || (side ?? old?.side) === undefined || order.side === (side ?? old?.side)) &&
    !others.rivals.some((each) => each.id !== intent.id && couldBelong(order, each, others))
  );
  // If an order is completely filled, nothing remained that a new order could replace.
  const fresh = old?.state === "filled" ? [] : added.filter(has);
  if (fresh.length === 0) {
    if (old !== undefined && has(old)) return { is: "sent", orderIds: [old.orderId] };
    const parts = old && partsOfAmended(intent, old, added);
    return parts !== undefined
      ? { is: "sent", orderIds: [target, ...idsOf(parts)] }
      : { is: "unprovable", missing: "a person's decision, or an order with the new terms in the lists" };
  }
  const isOldLive = old?.state === undefined || !endedStates.includes(old.state);
  if (fresh.length > 1 || isOldLive) {
    const orderIds = [...old === undefined ? [] : [old.orderId], ...idsOf(fresh)];
    const why = isOldLive
      ? "the old order and a new one may both be in the market"
      : "several new orders have the requested terms, and at most one of them replaced the old order";
    return { is: "ambiguous", orderIds, why };
  }
  return { is: "sent", orderIds: idsOf(fresh) };
}

/**
 * If an amendment asks for more than the broker's maximum, the broker gives the order a part of the quantity and places
 * new orders for the rest. Returns these new orders; `undefined` if the lists do not prove the split. They prove it if
 * all of these are true:
 * - the order has the requested terms, except for the quantity, and it is not smaller than before;
 * - the order itself has changed, because new orders alone may be somebody else's;
 * - the order and the new orders with the same terms have exactly the requested quantity.
 */
function partsOfAmended(
  intent: Intent,
  old: SeenOrder,
  added: readonly SeenOrder[],
): readonly SeenOrder[] | undefined {
  const { earlier } = intent;
  const { quantity } = termsOf(intent);
  const { hasBut } = amendmentOf(intent);
  if (quantity === undefined || old.quantity === undefined || earlier?.quantity === undefined) {
    return undefined;
  }
  const { price } = old;
  const isChanged = amendable.some((name) => {
    const [before, now] = [earlier[name], old[name]];
    return before !== undefined && now !== undefined && !isSame(before, now);
  });
  if (!isChanged || !hasBut(old) || compare(old.quantity, earlier.quantity) < 0) return undefined;
  const parts = added.filter((order) =>
    hasBut(order) && order.quantity !== undefined && order.orderType === old.orderType &&
    price !== undefined && order.price !== undefined && compare(order.price, price) === 0
  );
  return parts.length > 0 && compare(totalOf([old, ...parts]), quantity) === 0 ? parts : undefined;
}

/**
 * A cancellation was executed if all orders that it names have ended, or, if it names none, all orders that were open
 * when it was sent. The verdict is `absent` if the lists show all these orders as open, and none with a cancellation in
 * progress. It is `impossible` if all of them are conditional orders that have triggered: the orders that these have
 * placed may be open. Otherwise the verdict is `partial`.
 */
function judgeCancelled(intent: Intent, reading: ListReading): Verdict {
  const targets = targetsOf(intent);
  const ids = targets.length > 0 ? targets : intent.known;
  const orders = ids.map((id) => reading.orders.get(id));
  const ended = orders.filter((order) => order?.state !== undefined && endedStates.includes(order.state));
  if (ended.length === orders.length && ended.length > 0) {
    if (ended.some((order) => order?.state !== "triggered")) return { is: "sent", orderIds: ids };
    return { is: "impossible", proof: `${ids.join(", ")} triggered before the broker could cancel it` };
  }
  const open = orders.filter((order) =>
    order?.state !== undefined && !endedStates.includes(order.state) && !order.isCancelPending
  );
  if (open.length === orders.length) return { is: "absent" };
  const rest = ids.filter((_, index) => !ended.includes(orders[index]));
  return { is: "partial", orderIds: ids, missing: `the end of the orders ${rest.join(", ")}` };
}
