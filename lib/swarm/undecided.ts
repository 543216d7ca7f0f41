/**
 * Finds the intents whose outcome the broker's lists cannot prove. Such an intent may wait for a person, or may have an
 * order that the owner placed.
 *
 * @module
 */
import { compare, subtract, sumOf } from "../decimal.ts";
import { dayOfLists } from "../desk/broker_lists.ts";
import { type Intent, sinceOf } from "../desk/intent.ts";
import { unresolvedStates } from "../desk/states.ts";
import { targetsOf } from "../desk/terms.ts";
import type { Executed, TrueOrder, Truth } from "./truth.ts";

/** The intents of the account, and the truth about them. */
interface IntentsAndTruth {
  swarm: { truth: Pick<Truth, "orders"> };
  intents: readonly Intent[];
  /** The executed write of each intent, by the intent's id. */
  claims: ReadonlyMap<string, Executed>;
  /** Ids of intents that already had an order of somebody else when the broker executed their own write. */
  late: ReadonlySet<string>;
}

/**
 * Maximum number of orders that may belong to either of two intents. With more orders, no division between the intents
 * is computed. The desk has the same limit.
 */
const MOST_DIVIDED = 12;

/**
 * Returns whether only a person can decide which orders belong to an intent. An order at the broker may be one of its
 * orders, but may also belong to another intent with the same terms. Then a person is needed unless exactly one
 * division gives each intent its whole quantity. For example, an order for 100 may be one part of a lost order for 300.
 * See also {@linkcode isHiddenByOwner}.
 */
export function isForPerson(
  intent: Intent,
  { swarm, intents, claims }: Omit<IntentsAndTruth, "late">,
): boolean {
  // A cancellation names orders that may belong to no intent.
  const owned = new Set(intents.flatMap(({ kind, orderIds }) => kind === "place" ? orderIds : []));
  const { orders } = swarm.truth;
  const total = (some: readonly TrueOrder[]) => sumOf(some.map(({ quantity }) => quantity));
  /** Quantity of an intent, minus the quantity of the orders that are known as its own. */
  const missingOf = ({ params, orderIds }: Intent) => {
    const known = total(orderIds.flatMap((id) => orders.get(id) ?? []));
    return subtract(String(params.quantity ?? "0"), known);
  };
  const isUnclear = (each: Intent) =>
    each.kind === "place" && (unresolvedStates.includes(each.state) ||
      each.state === "acknowledged" && compare(missingOf(each), "0") > 0);
  if (isHiddenByOwner(intent, { swarm, claims })) return true;
  if (!isUnclear(intent)) return false;
  const candidatesOf = (each: Intent) =>
    [...orders.values()].filter((order) =>
      !owned.has(order.orderId) && !each.known.includes(order.orderId) && !isOfEarlierDay(order, each) &&
      isSame(each.params, order, "terms") &&
      compare(order.quantity, missingOf(each)) <= 0
    );
  const own = candidatesOf(intent);
  const rivals = intents.filter((each) =>
    each.id !== intent.id && isUnclear(each) && candidatesOf(each).some((order) => own.includes(order))
  );
  const [rival] = rivals;
  if (rival === undefined) return false;
  const its = candidatesOf(rival);
  const contested = own.filter((order) => its.includes(order));
  if (rivals.length > 1 || contested.length > MOST_DIVIDED) return true;
  let divisions = 0;
  for (let mask = 0; mask < 2 ** contested.length; mask++) {
    const share = own.filter((order) => {
      const index = contested.indexOf(order);
      return index < 0 || (mask & (1 << index)) !== 0;
    });
    const rest = its.filter((order) => !share.includes(order));
    const fits = compare(total(share), missingOf(intent)) === 0 &&
      compare(total(rest), missingOf(rival)) === 0;
    if (fits) divisions++;
  }
  return divisions !== 1;
}

/**
 * Returns whether an order was placed on a day before the day of an intent, so that it cannot be the intent's order.
 */
const isOfEarlierDay = ({ placedAt }: TrueOrder, intent: Intent): boolean =>
  dayOfLists("hk", placedAt) < dayOfLists("hk", sinceOf(intent));

/**
 * Returns whether the lists may never show the terms that an intent has requested, because the owner has amended its
 * order. This is possible only while the desk may not know all orders of the intent:
 * - The outcome of the placement or amendment is unknown.
 * - The placement is acknowledged.
 * - The placement is working or partly filled, and the desk does not know a part of its split order.
 */
function isHiddenByOwner(
  { id, kind, state, params, orderIds: known }: Intent,
  { swarm, claims }: Pick<IntentsAndTruth, "swarm" | "claims">,
): boolean {
  if (kind === "cancel") return false;
  const { orderIds = [] } = claims.get(id) ?? {};
  const mayLack = kind === "place" &&
    (state === "acknowledged" ||
      ["working", "part-filled"].includes(state) && orderIds.some((each) => !known.includes(each)));
  if (!unresolvedStates.includes(state) && !mayLack) return false;
  return [...orderIds, ...targetsOf({ params })].some((each) =>
    swarm.truth.orders.get(each)?.isAmendedByOwner
  );
}

/**
 * Returns whether the desk has recorded an order of the owner as an order of an intent, and could not avoid this
 * mistake. The owner's order has the intent's terms, and the lists showed it before the intent's own order. This
 * function does not check the terms and the times. It returns true in three cases:
 * - The intent's request never reached the broker.
 * - The request reached the broker only after the desk had recorded the owner's order as the intent's order.
 * - The owner amended the intent's own order. Then the owner's other order may have only the quantity that the intent
 *   still lacks.
 */
export function isMistakenFor(
  { id, orderIds }: Intent,
  { swarm: { truth: { orders } }, claims, late }: Omit<IntentsAndTruth, "intents">,
): boolean {
  return orderIds.some((each) => orders.get(each)?.by === "owner") &&
    (late.has(id) || !claims.has(id) ||
      (claims.get(id)?.orderIds ?? []).some((each) => orders.get(each)?.isAmendedByOwner));
}

/**
 * Returns whether two writes, or a write and an order, have the same terms.
 *
 * @param what `terms` compares everything except the quantity.
 */
export function isSame(
  one: Readonly<Record<string, unknown>>,
  other: object,
  what: "terms" | "whole" = "whole",
): boolean {
  const own: Readonly<Record<string, unknown>> = { ...other };
  return ["symbol", "side", "orderType", "price", ...what === "whole" ? ["quantity"] : []].every((name) => {
    const [first, second] = [one[name], own[name]];
    if (first === undefined || second === undefined) return true; // the endpoint may have added a default
    const isNumber = name === "price" || name === "quantity";
    return isNumber ? compare(String(first), String(second)) === 0 : first === second;
  });
}
