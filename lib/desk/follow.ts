/**
 * Follows the orders of an accepted intent until they end: its own orders, the parts of an order that the broker has
 * split, and the orders that its conditional or algorithmic order has placed.
 *
 * @module
 */
import { addDays, dateAt } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { add, compare, subtract, sumOf } from "../decimal.ts";
import {
  ALGO_LIST,
  childrenOfAlgo,
  dayOfLists,
  endedStates,
  type ListReading,
  type SeenOrder,
  zoneOfMarket,
} from "./broker_lists.ts";
import { type Intent, sinceOf } from "./intent.ts";
import {
  amendedElsewhere,
  childrenIn,
  couldBeChild,
  judge,
  type Others,
  type Verdict,
  withTermsNow,
} from "./prove.ts";
import { addOrders, amendmentsSince, changesOf, noteIntent, openIntents } from "./queries.ts";
import type { Owners, Records } from "./records.ts";
import { type IntentState, unresolvedStates } from "./states.ts";
import { placesOthers, targetsOf, termsOf } from "./terms.ts";

/** The records and the client that are used to follow orders. */
export interface FollowDeps {
  records: Records;
  /** The client that reads the lists. */
  client: Client;
}

const DAY_MS = 24 * 3_600_000;
/** The parts of a split order may appear in the lists up to this long after the request. */
const PARTS_MS = 2 * 60_000;
/**
 * An order for one day counts as expired this many days after its day if the lists still do not show its end. The
 * days are those of the broker's dates.
 */
const EXPIRED_DAYS = 2;
/** Lists of orders that can last for many days. */
const lastingLists = ["conditionalOrders.today", "conditionalOrders.history", "futures.ordersToday"];

/**
 * Returns the owners of the account's orders, and the sent intents that may have further orders, which are unknown yet.
 */
export async function othersOf(
  deps: FollowDeps,
  reading: ListReading,
): Promise<Pick<Others, "rivals"> & { owners: Owners }> {
  const { records } = deps;
  const before = await intentsForReading(records, reading);
  // The broker lists the orders that an algorithmic order has placed. Otherwise such an order could be taken for a lost
  // one with the same terms.
  for (const intent of before.open) {
    const mayHavePlaced = (order: SeenOrder) =>
      !before.owners.has(order.orderId) && couldBeChild(order, intent, before);
    if (isAlgo(intent) && reading.orders.values().some(mayHavePlaced)) {
      await recordAlgoChildren(deps, intent, reading);
    }
  }
  const { open, owners } = await intentsForReading(records, reading);
  const rivals = open.filter((intent) =>
    intent.kind === "place" && intent.state !== "planned" && intent.state !== "approved" &&
    mayHaveMore(intent, reading)
  ).map((intent) => withTermsNow(intent, reading));
  return { owners, rivals };
}

/** Returns whether an intent has an algorithmic order at the broker. */
const isAlgo = ({ operation, orderIds }: Intent): boolean =>
  operation === "algo.place" && orderIds.length > 0;

/** The open intents of the account, and the owners of its orders. */
interface OpenIntents {
  open: readonly Intent[];
  owners: Owners;
  /** Value of the store's write counter when this was read. */
  writes: number;
}

const openIntentsByReading = new WeakMap<ListReading, OpenIntents>();

/**
 * Returns the account's open intents and the owners of its orders, to compare a reading of the lists with them. Reads
 * the store once for each reading of the lists, and again after each write of this process. Another process can write
 * at any time. So the code that records an order checks, in the same transaction, that no other intent owns the order:
 * see {@linkcode ownerIn}.
 */
async function intentsForReading(records: Records, reading: ListReading): Promise<OpenIntents> {
  const { store, account } = records;
  const known = openIntentsByReading.get(reading);
  if (known?.writes === store.writes) return known;
  const { writes } = store;
  const found = { open: await openIntents(store, account), owners: await records.owned(), writes };
  openIntentsByReading.set(reading, found);
  return found;
}

/**
 * Returns the id of an intent, other than the intent `id`, that owns one of the given orders according to the store.
 */
export async function ownerIn(
  records: Records,
  id: string,
  orderIds: readonly string[],
): Promise<string | undefined> {
  const owned = await records.owned();
  return orderIds.map((each) => owned.get(each)?.intent).find((owner) => owner !== undefined && owner !== id);
}

/** Returns whether an intent may have orders that are not recorded as its own yet. */
function mayHaveMore(intent: Intent, reading: ListReading): boolean {
  if (["sent", "unknown", "ambiguous"].includes(intent.state)) return true;
  if (intent.operation === "algo.place") return readAlgos.get(reading)?.get(intent.id)?.areAllKnown !== true;
  if (placesOthers(intent)) {
    const rows = intent.orderIds.map((id) => reading.orders.get(id));
    const isPending = rows.every((row) => row !== undefined && row.state !== "triggered");
    return intent.childIds.length === 0 && !isPending;
  }
  return mayFindParts(intent, reading);
}

/**
 * Returns whether a reading may show unknown parts of a split order. An acknowledged intent has no time limit
 * for that, because the first reading of the lists can happen long after the answer.
 */
function mayFindParts(intent: Intent, reading: ListReading): boolean {
  return lacksParts(intent, reading) || intent.state === "acknowledged" && isSmaller(intent, reading);
}

/**
 * Returns whether parts of a split order may still appear in the lists. An order that somebody has reduced looks the
 * same, so the result is true only for {@linkcode PARTS_MS}.
 */
function lacksParts(intent: Intent, reading: ListReading): boolean {
  const now = reading.beganAt + (reading.aheadMs ?? 0);
  return isSmaller(intent, reading) && now - sinceOf(intent) < PARTS_MS;
}

/** Returns whether the known orders of an intent have less than its quantity. */
function isSmaller(intent: Intent, reading: ListReading): boolean {
  const { quantity } = termsOf(intent);
  if (quantity === undefined || intent.kind === "cancel") return false;
  const sizes = intent.orderIds.map((id) => reading.orders.get(id)?.quantity);
  if (sizes.some((size) => size === undefined)) return false;
  return compare(sumOf(sizes.map((size) => size ?? "0")), quantity) < 0;
}

/** Records that only a person can decide which orders belong to an intent. Returns what is missing. */
export async function leaveToPerson(
  records: Records,
  intent: Intent,
  { verdict: { why, orderIds }, reading: { lists } }: {
    verdict: Extract<Verdict, { is: "ambiguous" }>;
    reading: ListReading;
  },
): Promise<string> {
  await records.moveFrom(intent, { to: "ambiguous", by: "list", data: { why, orderIds, lists } });
  return "a person's decision";
}

/**
 * Follows the orders of an acknowledged intent.
 *
 * @returns What is missing, such as an order of an earlier day in the lists, or a person's decision; `undefined` if
 * nothing is missing.
 */
export async function follow(
  deps: FollowDeps,
  intent: Intent,
  reading: ListReading,
): Promise<string | undefined> {
  const { records } = deps;
  const { orderIds, verdict } = await withParts(deps, intent, reading);
  if (verdict?.is === "ambiguous") return await leaveToPerson(records, intent, { verdict, reading });
  // Another intent may own the same orders. Until that intent is resolved, ending this intent could lose its fills.
  if (verdict?.is === "partial" && verdict.isContested) return verdict.missing;
  const own = orderIds.map((id) => reading.orders.get(id));
  const seen = own.filter((row) => row !== undefined);
  if (seen.length === 0 || seen.length < own.length) { // a list may lag behind, so nothing is concluded
    const lost = orderIds.filter((id) => !reading.orders.has(id));
    return lost.length > 0 && isOfEarlierDay(intent, reading.beganAt)
      ? `order ${lost.join(", ")} in the broker's lists`
      : undefined;
  }
  const childIds = await childIdsOf(deps, { ...intent, orderIds }, reading);
  // The two steps above have already recorded the orders that they found.
  const known = { ...intent, orderIds, childIds: placesOthers(intent) ? childIds : intent.childIds };
  const missing = await moveByRows(records, known, { seen, childIds, reading });
  if (missing !== undefined) return missing;
  const hidden = childIds.filter((id) => !reading.orders.has(id));
  if (hidden.length > 0 && seen.every(hasEnded)) {
    return `order ${hidden.join(", ")}, which it has placed, in the broker's lists`;
  }
  const isUnclear = intent.kind === "place" && childIds.length === 0 &&
    seen.some(({ state }) => state === "triggered");
  return isUnclear ? "the order that it placed when it triggered" : undefined;
}

/** Returns whether an intent is so old that the lists of its day do not change any more. */
export const isOfEarlierDay = (intent: Intent, now: number): boolean => now - sinceOf(intent) >= DAY_MS;

/**
 * Moves an intent to the state that the rows of its orders show, if they show a state. If it is unclear which other
 * orders belong to the intent, the intent becomes ambiguous, and the function returns what is missing.
 */
async function moveByRows(
  records: Records,
  intent: Intent,
  { seen, childIds, reading }: {
    seen: readonly SeenOrder[];
    childIds: readonly string[];
    reading: ListReading;
  },
): Promise<string | undefined> {
  const { open, owners } = await intentsForReading(records, reading);
  // An intent that has ended finds no further orders.
  const isFollowed = (orderId: string) => open.some(({ id }) => id === owners.get(orderId)?.intent);
  const counted = rowsThatCount(seen, childIds, { reading, isFollowed });
  if (counted === undefined) return undefined;
  const hasCancelled = counted.some(({ state }) => state === "cancelled");
  const amended = intent.kind === "place" && hasCancelled ? await amendedOrders(records, reading) : [];
  // The broker may execute an amendment as a cancellation and a new order. That new order is not known yet.
  const isReplaced = ({ orderId, state }: SeenOrder) => state === "cancelled" && amended.includes(orderId);
  const rows = counted.map((row): SeenOrder => isReplaced(row) ? { ...row, state: "working" } : row);
  const filled = sumOf(rows.map((row) => row.filled));
  if (compare(filled, intent.filled) < 0) return undefined; // an earlier reading showed more, so these lists are older
  const listed = stateOf(rows);
  if (listed === undefined) return undefined;
  const isPast = !counted.some(isReplaced) && isOver(rows, reading, termsOf(intent).market);
  const to = isPast ? "expired" : listed;
  const isEnd = endedStates.some((state) => state === to);
  if (isEnd && lacksParts(intent, reading)) return undefined; // other parts of the order may still be open
  const parts = isEnd ? await possibleParts(records, intent, reading) : [];
  if (parts.length > 0) {
    const why = `its orders together have less than its quantity, and ${
      parts.join(", ")
    }, made or amended elsewhere, may be a part of it`;
    const verdict = { is: "ambiguous", why, orderIds: [...intent.orderIds, ...parts] } as const;
    return await leaveToPerson(records, intent, { verdict, reading });
  }
  if (to === intent.state) {
    if (compare(filled, intent.filled) !== 0) await noteIntent(records.store, intent, { filled });
    return undefined;
  }
  const remark = seen.map((row) => row.remark).find((each) => each !== undefined && each !== "");
  await records.moveFrom(intent, {
    to,
    by: "list",
    filled,
    data: {
      lists: reading.lists,
      orders: counted.map(({ orderId, state, filled }) => ({ orderId, state, filled })),
      ...seen.some(({ state }) => state === "triggered") && { triggered: true },
      ...remark !== undefined && { remark },
    },
  });
  return undefined;
}

/**
 * Returns the orders that belong to no intent and may be parts of an intent's order. The broker may have split the
 * order, and somebody may have amended a part in the broker's app before a reading showed that part. Returns none if
 * the known parts have the ordered quantity, if an amendment by hsgate explains why they have less, or if a person has
 * named the orders.
 */
async function possibleParts(
  records: Records,
  intent: Intent,
  reading: ListReading,
): Promise<readonly string[]> {
  if (intent.kind !== "place" || placesOthers(intent) || !isSmaller(intent, reading)) return [];
  if (!isSmaller(intent, await beforeAmendments(records, intent, reading))) return [];
  if (await hasNamedOrders(records, intent)) return [];
  const { owners } = await intentsForReading(records, reading);
  return amendedElsewhere(intent, reading, owners).filter((id) => !intent.orderIds.includes(id));
}

/** Returns whether a person has named the orders of an intent. */
async function hasNamedOrders({ store }: Records, { id }: Intent): Promise<boolean> {
  return (await changesOf(store, id)).findLast(({ to }) => to === "acknowledged")?.by === "person";
}

/** Returns the orders whose amendment has an unknown outcome. */
async function amendedOrders(records: Records, reading: ListReading): Promise<string[]> {
  const { open } = await intentsForReading(records, reading);
  return open.filter(({ kind, state }) => kind === "amend" && unresolvedStates.includes(state))
    .flatMap(targetsOf);
}

/**
 * Returns the rows that show the results of orders; `undefined` if a row is missing.
 * - For a triggered conditional order, these are the rows of the orders that it has placed. While these are unknown,
 *   the conditional order counts as working, because a trigger is not a fill. If no open intent has placed the
 *   conditional order, its orders are never known, and it counts as ended without a fill.
 * - An algorithmic order that has ended counts as open until the orders that it has placed have ended too: they can
 *   still be filled.
 */
function rowsThatCount(
  seen: readonly SeenOrder[],
  childIds: readonly string[],
  { reading, isFollowed }: { reading: ListReading; isFollowed(orderId: string): boolean },
): SeenOrder[] | undefined {
  const isTriggered = ({ state }: SeenOrder) => state === "triggered";
  const algos = seen.filter(({ lists }) => lists.includes(ALGO_LIST));
  const haveAlgosEnded = algos.length > 0 && algos.every(hasEnded);
  if (!haveAlgosEnded && !seen.some(isTriggered)) return [...seen];
  const children = childIds.flatMap((id) => reading.orders.get(id) ?? []);
  if (children.length < childIds.length) return undefined;
  if (haveAlgosEnded) {
    return [...seen.filter((row) => !algos.includes(row)), ...endOfAlgos(algos, children)];
  }
  const placed = children.length > 0 ? children : seen.filter(isTriggered).map((row): SeenOrder => ({
    ...row,
    state: isFollowed(row.orderId) ? "working" : "expired",
    filled: "0",
  }));
  return [...seen.filter((row) => !isTriggered(row)), ...placed];
}

/** Returns the rows of algorithmic orders that have ended, with what the orders that they have placed have become. */
function endOfAlgos(algos: readonly SeenOrder[], children: readonly SeenOrder[]): SeenOrder[] {
  const filledOf = (rows: readonly SeenOrder[]) => sumOf(rows.map(({ filled }) => filled));
  const isOpen = !children.every(hasEnded);
  // The rows can lag behind those of the orders that they have placed. It is not known which of several algorithmic
  // orders has placed an order, so the first one gets the difference, and only a single one counts as filled by it.
  const lag = subtract(filledOf(children), filledOf(algos));
  return algos.map((row, index): SeenOrder => {
    const filled = index === 0 && compare(lag, "0") > 0 ? add(row.filled, lag) : row.filled;
    const own = algos.length === 1 ? filled : row.filled;
    const isFilled = row.quantity !== undefined && compare(own, row.quantity) >= 0;
    return { ...row, filled, ...(isOpen ? { state: "working" } : isFilled && { state: "filled" }) };
  });
}

const hasEnded = ({ state }: SeenOrder): boolean => state !== undefined && endedStates.includes(state);

/** Returns the known orders that an intent's orders have placed. Records new ones. */
async function childIdsOf(
  deps: FollowDeps,
  intent: Intent,
  reading: ListReading,
): Promise<readonly string[]> {
  const { records } = deps;
  if (intent.kind !== "place") {
    const { owners } = await intentsForReading(records, reading);
    const placed = intent.orderIds.flatMap((id) => owners.get(id)?.intent ?? []);
    return [...owners].filter(([, owner]) => owner.isChild && placed.includes(owner.intent)).map(([id]) =>
      id
    );
  }
  if (!placesOthers(intent)) return [];
  if (isAlgo(intent)) return await recordAlgoChildren(deps, intent, reading);
  if (intent.childIds.length > 0 || reading.orders.get(intent.orderIds[0] ?? "")?.state !== "triggered") {
    return intent.childIds;
  }
  const asked = await beforeAmendments(records, intent, reading);
  const found = childrenIn(intent, { reading, asked }, await othersOf(deps, reading)) ?? [];
  return await recordChildren(records, intent, found);
}

/**
 * Adds orders that the order of an intent has placed to the intent, except those that another intent owns. Returns all
 * of them that the intent has now.
 */
async function recordChildren(
  records: Records,
  { id, childIds }: Intent,
  found: readonly string[],
): Promise<readonly string[]> {
  if (found.every((each) => childIds.includes(each))) return childIds;
  return await records.store.transaction(async () => {
    const owned = await records.owned();
    const added = found.filter((each) => (owned.get(each)?.intent ?? id) === id);
    await addOrders(records.store, id, { childIds: added });
    return [...new Set([...childIds, ...added])];
  });
}

/** The orders that an algorithmic order has placed. */
interface AlgoChildren {
  childIds: readonly string[];
  /** False if the broker refused the list of these orders, so that further ones may be unknown. */
  areAllKnown: boolean;
}

/** What was read about algorithmic orders after a reading of the lists, by the ids of their intents. */
const readAlgos = new WeakMap<ListReading, Map<string, AlgoChildren>>();

/**
 * Records the orders that an algorithmic order has placed on the day of its request and on the day of the reading.
 * Reads them once for each reading of the lists. Returns all known ones.
 */
async function recordAlgoChildren(
  { records, client }: FollowDeps,
  intent: Intent,
  reading: ListReading,
): Promise<readonly string[]> {
  const read = readAlgos.get(reading)?.get(intent.id);
  if (read !== undefined) return read.childIds;
  const { market = "" } = termsOf(intent);
  const days = new Set([dayOfLists(market, sinceOf(intent)), dayOfLists(market, reading.beganAt)]);
  const lists: (readonly string[] | undefined)[] = [];
  for (const orderId of intent.orderIds) {
    for (const date of days) lists.push(await childrenOfAlgo(client, { orderId, market, date }));
  }
  const childIds = await recordChildren(records, intent, lists.flatMap((list) => list ?? []));
  const algos = readAlgos.get(reading) ?? new Map<string, AlgoChildren>();
  readAlgos.set(reading, algos.set(intent.id, { childIds, areAllKnown: !lists.includes(undefined) }));
  return childIds;
}

/** Returns whether orders for one day must have expired by the broker's dates, although the lists do not show it. */
function isOver(rows: readonly SeenOrder[], reading: ListReading, market: string | undefined): boolean {
  if (reading.aheadMs === undefined) return false;
  const today = dateAt(reading.beganAt + reading.aheadMs, zoneOfMarket(market));
  const open = rows.filter((row) => !hasEnded(row));
  return open.length > 0 &&
    open.every(({ day, lists }) =>
      day !== undefined && !lists.some((list) => lastingLists.includes(list)) &&
      addDays(day, EXPIRED_DAYS) <= today
    );
}

/**
 * Returns all orders of an intent. If the broker has split the order, the broker's answer names only the first part.
 * For a new order, also returns the verdict if the lists do not prove which orders are the other parts.
 */
async function withParts(
  deps: FollowDeps,
  intent: Intent,
  reading: ListReading,
): Promise<{ orderIds: readonly string[]; verdict?: Verdict }> {
  const { records } = deps;
  const { orderIds } = intent;
  if (!mayFindParts(intent, reading) || await hasNamedOrders(records, intent)) return { orderIds };
  const own = intent.orderIds.map((id) => reading.orders.get(id)).filter((row) => row !== undefined);
  const { side, orderType } = { ...own[0], ...termsOf(intent) };
  const asked = intent.kind === "place" ? await beforeAmendments(records, intent, reading) : reading;
  // The known orders had the whole quantity, and somebody has reduced them since.
  if (!isSmaller(intent, asked)) return { orderIds };
  const others = await othersOf(deps, reading);
  // The parts of an amended order belong to the intent that placed the order.
  const owner = intent.kind === "amend" ? others.owners.get(targetsOf(intent)[0] ?? "")?.intent : intent.id;
  const whole = { ...intent, id: owner ?? intent.id, kind: "place" as const, operation: "orders.place" };
  const all = judge(
    {
      ...whole,
      operation: intent.operation === "algo.place" ? intent.operation : whole.operation,
      params: { ...intent.params, side, orderType },
    },
    asked,
    { ...others, rivals: others.rivals.filter(({ id }) => id !== whole.id) },
  );
  if (all.is !== "sent") return { orderIds, ...intent.kind === "place" && { verdict: all } };
  if (!orderIds.every((id) => all.orderIds.includes(id))) return { orderIds };
  return await records.store.transaction(async () => {
    if (await ownerIn(records, whole.id, all.orderIds) !== undefined) return { orderIds };
    await addOrders(records.store, intent.id, { orderIds: all.orderIds });
    if (intent.kind === "amend") await records.noteAmended({ ...intent, orderIds: all.orderIds });
    return { orderIds: all.orderIds };
  });
}

/**
 * Returns a reading in which orders have their terms from before any amendment. A part of a split order may be amended
 * before the first reading shows the other parts.
 */
export async function beforeAmendments(
  { store, account }: Records,
  intent: Intent,
  reading: ListReading,
): Promise<ListReading> {
  const { price } = termsOf(intent);
  const orders = new Map(reading.orders);
  for (const amendment of (await amendmentsSince(store, account, sinceOf(intent))).toReversed()) {
    const [id = ""] = targetsOf(amendment);
    const row = orders.get(id);
    // The loop begins with the newest amendment, so at the end the order has its terms from before the oldest
    // amendment.
    if (row !== undefined) orders.set(id, { ...row, ...amendment.earlier });
  }
  for (const id of intent.orderIds) {
    const row = orders.get(id);
    if (row !== undefined && price !== undefined) orders.set(id, { ...row, price });
  }
  return { ...reading, orders };
}

/** Returns the combined state of the rows of an intent's orders; `undefined` if the state of a row is unknown. */
function stateOf(rows: readonly SeenOrder[]): IntentState | undefined {
  // `rowsThatCount` has already replaced triggered orders with the orders that they placed.
  const states = rows.flatMap(({ state }) => state === undefined || state === "triggered" ? [] : [state]);
  if (states.length < rows.length) return undefined;
  const has = (state: IntentState) => states.some((each) => each === state);
  if (states.every((state) => endedStates.includes(state))) {
    if (states.every((state) => state === states[0])) return states[0];
    // The parts ended in different ways. The part that is not filled determines the state.
    return has("expired") ? "expired" : has("cancelled") ? "cancelled" : "rejected";
  }
  const hasFill = rows.some(({ filled }) => compare(filled, "0") > 0);
  return hasFill ? "part-filled" : has("working") ? "working" : "acknowledged";
}
