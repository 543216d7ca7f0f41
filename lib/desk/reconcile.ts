/**
 * Compares the open intents of an account with the broker's lists: follows orders to their ends, resolves unknown
 * outcomes, and finds orders that were made elsewhere.
 *
 * @module
 */
import { addDays, dateAt } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { add, compare } from "../decimal.ts";
import { findOperation } from "../operations/mod.ts";
import {
  childrenOfAlgo,
  dayOfLists,
  endedStates,
  type ListPlace,
  type Look,
  look,
  placeOf,
  type SeenOrder,
  withChildLists,
  zoneOfMarket,
} from "./broker_lists.ts";
import type { AbsentLooks, Intent } from "./intent.ts";
import { childrenIn, judge, type Others, placesOthers, provesAbsence, targetsOf, termsOf } from "./prove.ts";
import { addOrders, forgetLooks, noteIntent, openIntents } from "./queries.ts";
import type { Records } from "./records.ts";
import type { IntentState } from "./states.ts";

/** What a comparison needs. */
export interface ReconcileDeps {
  records: Records;
  /** The client that reads the lists. */
  client: Client;
  /** Intents that a call of this process is sending. */
  underWay: ReadonlySet<string>;
}

/** How to compare. */
export interface ReconcileOptions {
  signal?: AbortSignal;
  /** Markets whose foreign orders are wanted too, even if no intent is open there. */
  markets?: readonly string[];
}

/** What a comparison found. */
export interface Reconciled {
  /** Intents whose state changed, as they are now. */
  changed: readonly Intent[];
  /** Intents whose outcome is still unknown, each with what is missing for a proof. */
  unresolved: readonly { intent: Intent; missing: string }[];
  /** Orders in the lists that no intent of this store has placed: made in the broker's app, or by another program. */
  foreign: readonly SeenOrder[];
  /** Every order in the lists that were read, by its id. */
  seen: ReadonlyMap<string, SeenOrder>;
}

/** While intents are open, a process that stays compares them with the broker's lists this often. */
export const RECONCILE_MS = 3 * 60_000;
/** An intent that was planned this long ago and never sent belongs to a process that ended. */
const PLANNED_MS = 10 * 60_000;
/** If a sent intent has no answer this long after the time limit of its call, its process has ended. */
const SENT_MS = 30_000;
/** The parts of an order that the broker splits may appear in the lists this much later. */
const PARTS_MS = 2 * 60_000;
/** An order for one day has expired this many days after its day, by the broker's dates, if the lists still do not show its end. */
const EXPIRED_DAYS = 2;
/** Lists whose orders may last for many days. */
const lastingLists = ["conditionalOrders.today", "conditionalOrders.history", "futures.ordersToday"];

/**
 * Compares all open intents of the account with the broker's lists.
 *
 * @throws {BrokerError} If a list cannot be read to its end; that list then proves nothing.
 */
export async function reconcile(
  deps: ReconcileDeps,
  { signal, markets = [] }: ReconcileOptions = {},
): Promise<Reconciled> {
  const { records, underWay } = deps;
  const { store, account } = records;
  await giveUpOld(deps);
  const intents = (await openIntents(store, account)).filter(({ id, state }) =>
    !underWay.has(id) && state !== "planned" && state !== "approved"
  );
  const changed: Intent[] = [];
  const unresolved: { intent: Intent; missing: string }[] = [];
  const seen = new Map<string, SeenOrder>();
  for (const { place, members } of placesOf(intents, markets)) {
    const looks = new Looks(deps, place, signal);
    for (const intent of members) {
      const looked = await looks.for(intent, members);
      const missing = await applyLook(deps, intent, looked);
      const now = await records.find(intent.id);
      if (now.state !== intent.state) changed.push(now);
      if (missing !== undefined) unresolved.push({ intent: now, missing });
    }
    for (const looked of await looks.all(members)) {
      for (const order of looked.orders.values()) seen.set(order.orderId, order);
    }
  }
  const foreign = new Map(seen);
  for (const orderId of (await records.owned()).keys()) foreign.delete(orderId);
  return { changed, unresolved, foreign: [...foreign.values()], seen };
}

/** Compares one intent with the lists that show it. */
export async function reconcileOnly(deps: ReconcileDeps, id: string, signal?: AbortSignal): Promise<void> {
  const { store, account } = deps.records;
  const group = placesOf(await openIntents(store, account), []).find(({ members }) =>
    members.some((each) => each.id === id)
  );
  const intent = group?.members.find((each) => each.id === id);
  if (group === undefined || intent === undefined) return;
  const looks = new Looks(deps, group.place, signal);
  await applyLook(deps, intent, await looks.for(intent, [intent]));
}

/** Returns how far back the looks for an intent go. */
const sinceOf = ({ lookSince, sentAt, createdAt }: Intent): number => lookSince ?? sentAt ?? createdAt;

/** Returns whether an intent only waits for its conditional or algorithmic order, which may last for many days. */
const isWaiting = (intent: Intent): boolean => placesOthers(intent) && intent.state !== "unknown";

/** Returns whether an intent has an answer that names no order, so that no list shows anything of it. */
const isEmpty = ({ state, orderIds }: Intent): boolean => state === "acknowledged" && orderIds.length === 0;

/** Reads the lists of one place: as far back as most intents need, and further only for intents that need it. */
class Looks {
  readonly #deps: ReconcileDeps;
  readonly #place: ListPlace;
  readonly #signal: AbortSignal | undefined;
  #near: Promise<Look> | undefined;
  #far: Promise<Look> | undefined;

  constructor(deps: ReconcileDeps, place: ListPlace, signal: AbortSignal | undefined) {
    this.#deps = deps;
    this.#place = place;
    this.#signal = signal;
  }

  /** Returns the look to compare an intent with. */
  async for(intent: Intent, members: readonly Intent[]): Promise<Look> {
    const near = await this.#nearLook(members);
    if (!isWaiting(intent)) return near;
    const isShown = intent.orderIds.every((id) => {
      const row = near.orders.get(id);
      return row !== undefined && (row.state !== "triggered" || intent.childIds.length > 0);
    }) && intent.childIds.every((id) => near.orders.has(id));
    const isToday = dayOfLists(this.#place.market, sinceOf(intent)) >=
      dayOfLists(this.#place.market, near.beganAt);
    if (isShown || isToday) return near;
    const far = Math.min(...members.filter(isWaiting).map(sinceOf));
    return await (this.#far ??= this.#look(far));
  }

  /** Returns every look that was made, at least one. */
  async all(members: readonly Intent[]): Promise<Look[]> {
    const near = await this.#nearLook(members);
    return this.#far === undefined ? [near] : [near, await this.#far];
  }

  #nearLook(members: readonly Intent[]): Promise<Look> {
    const now = this.#deps.records.machine.now();
    return this.#near ??= this.#look(
      Math.min(now, ...members.filter((each) => !isWaiting(each) && !isEmpty(each)).map(sinceOf)),
      members.some(({ state }) => state === "unknown"),
    );
  }

  /** The broker may empty its lists of today before midnight, so a lost order is looked for in the history too. */
  async #look(since: number, withHistory = false): Promise<Look> {
    const { records, client } = this.#deps;
    const signal = this.#signal;
    return await look(client, this.#place, {
      now: () => records.machine.now(),
      since,
      withHistory,
      ...signal && { signal },
    });
  }
}

/** Abandons the unsent intents of processes that ended. Marks their sent intents without an answer as unknown. */
async function giveUpOld({ records, underWay }: ReconcileDeps): Promise<void> {
  const { store, account, machine } = records;
  const now = machine.now();
  for (const intent of await openIntents(store, account)) {
    const { id, state, createdAt, sentAt = createdAt, timeoutMs } = intent;
    if (underWay.has(id)) continue;
    // If the clock went back, nobody knows how long ago it was. A process that is alive sends nothing after this, and its
    // answer still counts.
    const isOld = (since: number, ms: number) => Math.abs(now - since) > ms;
    if ((state === "planned" || state === "approved") && isOld(createdAt, PLANNED_MS)) {
      const why = "the process that planned it ended before it sent anything";
      await records.moveFrom(intent, { to: "abandoned", by: "desk", data: { why } });
    }
    if (state === "sent" && isOld(sentAt, timeoutMs + SENT_MS)) {
      const why = "no process waits for its answer";
      await records.moveFrom(intent, { to: "unknown", by: "desk", data: { why } });
    }
  }
}

/** Applies a look to an intent. Returns what is missing for a proof if its outcome stays unknown. */
async function applyLook(deps: ReconcileDeps, intent: Intent, looked: Look): Promise<string | undefined> {
  const { records } = deps;
  if (intent.state === "sent") return "its answer";
  if (intent.state === "ambiguous") return "a person's decision";
  if (intent.state !== "unknown") {
    await follow(deps, intent, looked);
    return undefined;
  }
  const others = await othersOf(records, looked);
  const verdict = judge(intent, looked, others);
  switch (verdict.is) {
    case "sent": {
      const now = await records.store.transaction(async () => {
        const moved = await records.moveFrom(intent, {
          to: "acknowledged",
          by: "list",
          orderIds: verdict.orderIds,
          data: { lists: looked.lists, orderIds: verdict.orderIds },
        });
        if (intent.kind === "amend" && moved.state === "acknowledged") await records.noteAmended(moved);
        return moved;
      });
      if (now.state !== "acknowledged") return undefined; // another process or a late answer was first
      await follow(deps, now, looked);
      return undefined;
    }
    case "ambiguous":
      await records.moveFrom(intent, {
        to: "ambiguous",
        by: "list",
        data: { why: verdict.why, orderIds: verdict.orderIds, lists: looked.lists },
      });
      return "a person's decision";
    case "partial":
    case "unprovable":
      // A look that shows something contradicts the earlier ones that showed nothing: begin to count again.
      if (intent.absent !== undefined) await forgetLooks(records.store, intent.id);
      return verdict.missing;
    case "absent":
      return await countAbsence(records, intent, { looked, owners: others.owners });
  }
}

/** Returns the owners of the orders of the account, and the intents whose orders may not all be known. */
async function othersOf(
  records: Records,
  looked: Look,
): Promise<Pick<Others, "rivals"> & { owners: Owners }> {
  const { store, account } = records;
  const open = await openIntents(store, account);
  const rivals = open.filter((intent) =>
    intent.kind === "place" && intent.state !== "planned" && intent.state !== "approved" &&
    mayHaveMore(intent, looked)
  );
  return { owners: await records.owned(), rivals };
}

type Owners = Awaited<ReturnType<Records["owned"]>>;

/** Returns whether an intent may have orders that are not known to be its own. */
function mayHaveMore(intent: Intent, looked: Look): boolean {
  if (["sent", "unknown", "ambiguous"].includes(intent.state)) return true;
  if (intent.operation === "algo.place") return intent.childIds.length === 0;
  if (placesOthers(intent)) {
    const rows = intent.orderIds.map((id) => looked.orders.get(id));
    const isPending = rows.every((row) => row !== undefined && row.state !== "triggered");
    return intent.childIds.length === 0 && !isPending;
  }
  return mayFindParts(intent, looked);
}

/** Returns whether a look may show parts that are not known yet: the first look after the answer may come late. */
function mayFindParts(intent: Intent, looked: Look): boolean {
  return lacksParts(intent, looked) || intent.state === "acknowledged" && isSmaller(intent, looked);
}

/**
 * Returns whether parts of an order that the broker has split may still appear in the lists. An order that somebody has
 * amended to a smaller quantity looks the same, so this is not so for long.
 */
function lacksParts(intent: Intent, looked: Look): boolean {
  const now = looked.beganAt + (looked.aheadMs ?? 0);
  return isSmaller(intent, looked) && now - sinceOf(intent) < PARTS_MS;
}

/** Returns whether the known orders of an intent have less than its quantity. */
function isSmaller(intent: Intent, looked: Look): boolean {
  const { quantity } = termsOf(intent);
  if (quantity === undefined || intent.kind === "cancel") return false;
  const sizes = intent.orderIds.map((id) => looked.orders.get(id)?.quantity);
  if (sizes.some((size) => size === undefined)) return false;
  return compare(add("0", ...sizes.map((size) => size ?? "0")), quantity) < 0;
}

async function countAbsence(
  records: Records,
  intent: Intent,
  { looked, owners }: { looked: Look; owners: Owners },
): Promise<string | undefined> {
  const before = intent.absent;
  const brokerAt = looked.aheadMs === undefined ? undefined : looked.beganAt + looked.aheadMs;
  // If a clock went back, the time between the looks is unknown: begin again.
  const isBack = before !== undefined && (looked.beganAt < before.lastAt ||
    (brokerAt ?? Infinity) < (before.lastBrokerAt ?? -Infinity));
  const earlier = isBack ? undefined : before;
  const firstBrokerAt = earlier === undefined ? brokerAt : earlier.firstBrokerAt;
  const absent: AbsentLooks = {
    count: (earlier?.count ?? 0) + 1,
    firstAt: earlier?.firstAt ?? looked.beganAt,
    lastAt: looked.beganAt,
    ...firstBrokerAt !== undefined && { firstBrokerAt },
    ...brokerAt !== undefined && { lastBrokerAt: brokerAt },
  };
  await noteIntent(records.store, intent.id, { absent });
  const { sentNumber } = intent;
  const later = new Set(
    [...owners].filter(([, owner]) =>
      !owner.isChild && owner.intent !== intent.id && sentNumber !== undefined &&
      owner.sentNumber !== undefined && owner.sentNumber > sentNumber
    ).map(([orderId]) => orderId),
  );
  const proven = provesAbsence(intent, { absent, looked, later, lists: listsOf(intent) });
  if ("missing" in proven) return proven.missing;
  await records.moveFrom(intent, { to: "abandoned", by: "list", data: { proof: proven.proof } });
  return undefined;
}

/** Returns the lists that show the orders of an intent. */
function listsOf({ operation: name, params }: Intent): readonly string[] {
  const operation = findOperation(name);
  return operation === undefined ? [] : placeOf(operation, params).lists;
}

/** Follows the orders of an acknowledged intent. */
async function follow(deps: ReconcileDeps, intent: Intent, looked: Look): Promise<void> {
  const { records } = deps;
  const orderIds = await withParts(records, intent, looked);
  const own = orderIds.map((id) => looked.orders.get(id));
  const seen = own.filter((row) => row !== undefined);
  if (seen.length === 0 || seen.length < own.length) return; // a list may lag behind: conclude nothing
  const childIds = await childIdsOf(deps, { ...intent, orderIds }, looked);
  const rows = rowsThatCount(seen, childIds, looked);
  if (rows === undefined) return;
  const filled = add("0", ...rows.map((row) => row.filled));
  if (compare(filled, intent.filled) < 0) return; // an older state of the list than the one seen before
  const listed = stateOf(rows);
  if (listed === undefined) return;
  const to = isOver(rows, looked, termsOf(intent).market) ? "expired" : listed;
  const isEnd = endedStates.some((state) => state === to);
  if (isEnd && lacksParts({ ...intent, orderIds }, looked)) return; // the rest of it may still be open
  if (to === intent.state) {
    if (compare(filled, intent.filled) !== 0) await noteIntent(records.store, intent.id, { filled });
    return;
  }
  const remark = seen.map((row) => row.remark).find((each) => each !== undefined && each !== "");
  // Both steps above have recorded the orders that they found.
  const known = { ...intent, orderIds, childIds: placesOthers(intent) ? childIds : intent.childIds };
  await records.moveFrom(known, {
    to,
    by: "list",
    filled,
    data: {
      lists: looked.lists,
      orders: rows.map((row) => `${row.orderId} ${row.state ?? "?"}, ${row.filled} filled`),
      ...seen.some(({ state }) => state === "triggered") && { triggered: true },
      ...remark !== undefined && { remark },
    },
  });
}

/**
 * Returns the rows that show what became of orders: of a triggered conditional order, those of the orders that it has
 * placed. A trigger is no fill: until these orders are known, it counts as an order in the market. `undefined` if a row is
 * missing.
 */
function rowsThatCount(
  seen: readonly SeenOrder[],
  childIds: readonly string[],
  looked: Look,
): SeenOrder[] | undefined {
  if (!seen.some(({ state }) => state === "triggered")) return [...seen];
  const children = childIds.map((id) => looked.orders.get(id));
  if (children.includes(undefined)) return undefined;
  const placed = children.length > 0 ? children : seen.filter(({ state }) => state === "triggered")
    .map((row): SeenOrder => ({ ...row, state: "working", filled: "0" }));
  return [...seen.filter(({ state }) => state !== "triggered"), ...placed].filter((row) => row !== undefined);
}

/** Returns the orders that the orders of an intent have placed, as far as they are known. Records new ones. */
async function childIdsOf(
  { records, client }: ReconcileDeps,
  intent: Intent,
  looked: Look,
): Promise<readonly string[]> {
  const { store } = records;
  if (intent.kind !== "place") {
    const owners = await records.owned();
    const placed = intent.orderIds.flatMap((id) => owners.get(id)?.intent ?? []);
    return [...owners].filter(([, owner]) => owner.isChild && placed.includes(owner.intent)).map(([id]) =>
      id
    );
  }
  if (!placesOthers(intent)) return [];
  const found = intent.operation === "algo.place"
    ? await algoChildren(client, intent, looked)
    : intent.childIds.length === 0 && looked.orders.get(intent.orderIds[0] ?? "")?.state === "triggered"
    ? childrenIn(intent, looked, await othersOf(records, looked)) ?? []
    : [];
  const childIds = [...new Set([...intent.childIds, ...found])];
  if (childIds.length > intent.childIds.length) await addOrders(store, intent.id, { childIds });
  return childIds;
}

/** Returns the orders that an algorithmic order has placed on its day and, after midnight, on the next one. */
async function algoChildren(client: Client, intent: Intent, looked: Look): Promise<string[]> {
  const { market = "" } = termsOf(intent);
  const days = new Set([dayOfLists(market, sinceOf(intent)), dayOfLists(market, looked.beganAt)]);
  const children: string[] = [];
  for (const orderId of intent.orderIds) {
    for (const date of days) children.push(...await childrenOfAlgo(client, { orderId, market, date }) ?? []);
  }
  return children;
}

/** Returns whether orders for one day have expired by the broker's dates, although the lists do not show it. */
function isOver(rows: readonly SeenOrder[], looked: Look, market: string | undefined): boolean {
  if (looked.aheadMs === undefined) return false;
  const today = dateAt(looked.beganAt + looked.aheadMs, zoneOfMarket(market));
  return rows.every(({ state, day, lists }) => {
    if (state !== undefined && endedStates.includes(state)) return true;
    if (day === undefined || lists.some((list) => lastingLists.includes(list))) return false;
    return addDays(day, EXPIRED_DAYS) <= today;
  }) && rows.some(({ state }) => state === undefined || !endedStates.includes(state));
}

/** Returns all orders of an intent. If the broker split its order, the answer names only the first part. */
async function withParts(records: Records, intent: Intent, looked: Look): Promise<readonly string[]> {
  if (!mayFindParts(intent, looked)) return intent.orderIds;
  const own = intent.orderIds.map((id) => looked.orders.get(id)).filter((row) => row !== undefined);
  const { side, orderType } = { ...own[0], ...termsOf(intent) };
  const others = await othersOf(records, looked);
  // The parts of an amended order belong to the intent that placed it.
  const owner = intent.kind === "amend" ? others.owners.get(targetsOf(intent)[0] ?? "")?.intent : intent.id;
  const whole = { ...intent, id: owner ?? intent.id, kind: "place" as const, operation: "orders.place" };
  const all = judge(
    {
      ...whole,
      operation: intent.operation === "algo.place" ? intent.operation : whole.operation,
      params: { ...intent.params, side, orderType },
    },
    looked,
    { ...others, rivals: others.rivals.filter(({ id }) => id !== whole.id) },
  );
  if (all.is !== "sent" || !intent.orderIds.every((id) => all.orderIds.includes(id))) {
    return intent.orderIds;
  }
  await addOrders(records.store, intent.id, { orderIds: all.orderIds });
  if (intent.kind === "amend") await records.noteAmended({ ...intent, orderIds: all.orderIds });
  return all.orderIds;
}

/** Returns the state that the rows of an intent's orders show together; `undefined` if one of them is unknown. */
function stateOf(rows: readonly SeenOrder[]): IntentState | undefined {
  // A triggered order does not count itself: see `rowsThatCount`.
  const states = rows.flatMap(({ state }) => state === undefined || state === "triggered" ? [] : [state]);
  if (states.length < rows.length) return undefined;
  const has = (state: IntentState) => states.some((each) => each === state);
  if (states.every((state) => endedStates.includes(state))) {
    if (states.every((state) => state === states[0])) return states[0];
    // Parts that ended differently: what is not filled is cancelled, rejected or expired.
    return has("expired") ? "expired" : has("cancelled") ? "cancelled" : "rejected";
  }
  const hasFill = rows.some(({ filled }) => compare(filled, "0") > 0);
  return hasFill ? "part-filled" : has("working") ? "working" : "acknowledged";
}

/** Intents whose lists are read together. */
interface PlacedIntents {
  place: ListPlace;
  members: Intent[];
}

/** Groups intents by the market whose lists show them. */
function placesOf(intents: readonly Intent[], markets: readonly string[]): PlacedIntents[] {
  const places = new Map<string | undefined, PlacedIntents>();
  const placed = ({ market, lists }: ListPlace) => {
    const found = places.get(market);
    const all = [...new Set([...found?.place.lists ?? [], ...lists])];
    const group = { place: { market, lists: all }, members: found?.members ?? [] };
    places.set(market, group);
    return group;
  };
  for (const intent of intents) {
    const operation = findOperation(intent.operation);
    if (operation === undefined) continue; // written by a newer version; it stays as it is
    placed(withChildLists(placeOf(operation, intent.params))).members.push(intent);
  }
  const place = findOperation("orders.place");
  for (const market of markets) if (place !== undefined) placed(placeOf(place, { market }));
  return [...places.values()];
}
