/**
 * Compares the open intents of an account with the broker's lists: follows orders to their ends, resolves unknown
 * outcomes, and finds orders that were made elsewhere.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { add, compare } from "../decimal.ts";
import { findOperation } from "../operations/mod.ts";
import { endedStates, type ListPlace, type Look, look, placeOf, type SeenOrder } from "./broker_lists.ts";
import type { AbsentLooks, Intent } from "./intent.ts";
import { judge, provesAbsence, termsOf } from "./prove.ts";
import { noteIntent, openIntents, type Owner } from "./queries.ts";
import type { Records } from "./records.ts";

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

/** An intent that was planned this long ago and never sent belongs to a process that ended. */
const PLANNED_MS = 10 * 60_000;
/** If a sent intent has no answer this long after the time limit of its call, its process has ended. */
const SENT_MS = 30_000;
/** An order for one day has expired when it is this old and the lists still do not show its end. */
const DAY_ORDER_MS = 36 * 3_600_000;
/** Lists whose orders may last for many days. */
const lastingLists = ["conditionalOrders.today", "futures.ordersToday"];

/**
 * Compares all open intents of the account with the broker's lists.
 *
 * @throws {BrokerError} If a list cannot be read to its end; that list then proves nothing.
 */
export async function reconcile(
  deps: ReconcileDeps,
  { signal, markets = [] }: ReconcileOptions = {},
): Promise<Reconciled> {
  const { records, client, underWay } = deps;
  const { store, account, machine } = records;
  await giveUpOld(deps);
  const intents = (await openIntents(store, account)).filter(({ id, state }) =>
    !underWay.has(id) && state !== "planned" && state !== "approved"
  );
  const changed: Intent[] = [];
  const unresolved: { intent: Intent; missing: string }[] = [];
  const seen = new Map<string, SeenOrder>();
  for (const { place, members, since } of placesOf(intents, markets, machine.now())) {
    const looked = await look(client, place, { now: () => machine.now(), since, ...signal && { signal } });
    for (const intent of members) {
      const missing = await applyLook(records, intent, looked);
      const now = await records.find(intent.id);
      if (now.state !== intent.state) changed.push(now);
      if (missing !== undefined) unresolved.push({ intent: now, missing });
    }
    for (const order of looked.orders.values()) seen.set(order.orderId, order);
  }
  const foreign = new Map(seen);
  for (const orderId of (await records.owned()).keys()) foreign.delete(orderId);
  return { changed, unresolved, foreign: [...foreign.values()], seen };
}

/** Compares one intent with the lists that show it. */
export async function reconcileOnly({ records, client }: ReconcileDeps, id: string): Promise<void> {
  const intent = await records.find(id);
  const operation = findOperation(intent.operation);
  if (operation === undefined) return;
  const looked = await look(client, placeOf(operation, intent.params), {
    now: () => records.machine.now(),
    since: intent.sentAt ?? intent.createdAt,
  });
  await applyLook(records, intent, looked);
}

/** Abandons the unsent intents of processes that ended. Marks their sent intents without an answer as unknown. */
async function giveUpOld({ records, underWay }: ReconcileDeps): Promise<void> {
  const { store, account, machine } = records;
  const now = machine.now();
  for (const { id, state, createdAt, sentAt, timeoutMs } of await openIntents(store, account)) {
    if (underWay.has(id)) continue;
    const isUnsent = state === "planned" || state === "approved";
    if (isUnsent && now - createdAt > PLANNED_MS) {
      const why = "the process that planned it ended before it sent anything";
      await records.move(id, { to: "abandoned", by: "desk", data: { why } });
    }
    if (state === "sent" && now - (sentAt ?? createdAt) > timeoutMs + SENT_MS) {
      await records.move(id, { to: "unknown", by: "desk", data: { why: "no process waits for its answer" } });
    }
  }
}

/** Applies a look to an intent. Returns what is missing for a proof if its outcome stays unknown. */
async function applyLook(records: Records, intent: Intent, looked: Look): Promise<string | undefined> {
  if (intent.state === "sent") return "its answer";
  if (intent.state === "ambiguous") return "a person's decision";
  if (intent.state !== "unknown") {
    await follow(records, intent, looked);
    return undefined;
  }
  const owned = await records.ownedByOthers(intent);
  const verdict = judge(intent, looked, new Set(owned.keys()));
  switch (verdict.is) {
    case "sent": {
      const move = { to: "acknowledged", by: "list", orderIds: verdict.orderIds } as const;
      const now = await records.store.transaction(async () => {
        const moved = await records.move(intent.id, { ...move, data: { lists: looked.lists } });
        if (intent.kind === "amend") await records.noteAmended(moved);
        return moved;
      });
      await follow(records, now, looked);
      return undefined;
    }
    case "ambiguous":
      await records.move(intent.id, {
        to: "ambiguous",
        by: "list",
        data: { why: verdict.why, orderIds: verdict.orderIds, lists: looked.lists },
      });
      return "a person's decision";
    case "partial":
      return `the rest of it: the lists show only ${verdict.orderIds.join(", ")}`;
    case "absent":
      return await countAbsence(records, intent, { looked, owned });
  }
}

async function countAbsence(
  records: Records,
  intent: Intent,
  { looked, owned }: { looked: Look; owned: ReadonlyMap<string, Owner> },
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
  const sentAt = intent.sentAt ?? intent.createdAt;
  const later = new Set(
    [...owned].filter(([, owner]) => owner.sentAt > sentAt).map(([orderId]) => orderId),
  );
  const proven = provesAbsence(intent, { absent, looked, later });
  if ("missing" in proven) return proven.missing;
  await records.move(intent.id, { to: "abandoned", by: "list", data: { proof: proven.proof } });
  return undefined;
}

/** Follows the orders of an acknowledged intent. */
async function follow(records: Records, intent: Intent, looked: Look): Promise<void> {
  const orderIds = intent.kind === "place" ? await withParts(records, intent, looked) : intent.orderIds;
  const rows = orderIds.map((id) => looked.orders.get(id));
  const seen = rows.filter((row) => row !== undefined);
  if (seen.length === 0 || seen.length < rows.length) return; // a list may lag behind: conclude nothing
  const filled = add("0", ...seen.map((row) => row.filled));
  if (compare(filled, intent.filled) < 0) return; // an older state of the list than the one seen before
  const listed = stateOf(seen);
  if (listed === undefined) return;
  const isOver = records.machine.now() - (intent.sentAt ?? intent.createdAt) > DAY_ORDER_MS &&
    !looked.lists.some((list) => lastingLists.includes(list)) && !endedStates.includes(listed);
  const to = isOver ? "expired" : listed;
  if (to === intent.state) {
    if (compare(filled, intent.filled) !== 0) await noteIntent(records.store, intent.id, { filled });
    return;
  }
  const remark = seen.map((row) => row.remark).find((each) => each !== undefined && each !== "");
  await records.move(intent.id, {
    to,
    by: "list",
    orderIds,
    filled,
    data: { lists: looked.lists, ...remark !== undefined && { remark } },
  });
}

/** Returns all orders of an intent. If the broker split its order, the answer names only the first part. */
async function withParts(records: Records, intent: Intent, looked: Look): Promise<readonly string[]> {
  const { quantity } = termsOf(intent);
  const own = intent.orderIds.map((id) => looked.orders.get(id)?.quantity);
  if (quantity === undefined || own.length !== 1 || own[0] === undefined) return intent.orderIds;
  if (compare(own[0], quantity) >= 0) return intent.orderIds;
  const others = new Set((await records.ownedByOthers(intent)).keys());
  const all = judge({ ...intent, kind: "place" }, looked, others);
  if (all.is !== "sent" || !intent.orderIds.every((id) => all.orderIds.includes(id))) {
    return intent.orderIds;
  }
  await noteIntent(records.store, intent.id, { orderIds: all.orderIds });
  return all.orderIds;
}

/** Returns the state that the rows of an intent's orders show together; `undefined` if one of them is unknown. */
function stateOf(rows: readonly SeenOrder[]): Exclude<SeenOrder["state"], undefined> | undefined {
  const states = rows.map(({ state }) => state);
  if (states.includes(undefined)) return undefined;
  const has = (state: SeenOrder["state"]) => states.includes(state);
  if (states.every((state) => endedStates.includes(state!))) {
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
  since: number;
}

/** Groups intents by the lists that show them. */
function placesOf(intents: readonly Intent[], markets: readonly string[], now: number): PlacedIntents[] {
  const places = new Map<string, PlacedIntents>();
  const placed = (place: ListPlace) => {
    const key = JSON.stringify([place.market, place.lists]);
    const found = places.get(key) ?? { place, members: [], since: now };
    places.set(key, found);
    return found;
  };
  for (const intent of intents) {
    const operation = findOperation(intent.operation);
    if (operation === undefined) continue; // written by a newer version; it stays as it is
    const group = placed(placeOf(operation, intent.params));
    group.members.push(intent);
    group.since = Math.min(group.since, intent.sentAt ?? intent.createdAt);
  }
  const place = findOperation("orders.place");
  for (const market of markets) if (place !== undefined) placed(placeOf(place, { market }));
  return [...places.values()];
}
