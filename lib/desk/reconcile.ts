/**
 * Compares the open intents of an account with the broker's lists: follows orders to their ends, resolves unknown
 * outcomes, and finds orders that were made elsewhere.
 *
 * @module
 */
import { countAbsence } from "./absence.ts";
import { findOperation } from "../operations/mod.ts";
import {
  dayOfLists,
  isOnlyInFills,
  type ListPlace,
  type ListReading,
  neededLists,
  parentLists,
  placeOf,
  readLists,
  type SeenOrder,
  withChildLists,
} from "./broker_lists.ts";
import { beforeAmendments, follow, type FollowDeps, leaveToPerson, othersOf, ownerIn } from "./follow.ts";
import { type Intent, sinceOf } from "./intent.ts";
import { isExplainedBy, judge, laterProofOf, type Verdict } from "./prove.ts";
import { amendmentsSince, forgetAbsence, openIntents } from "./queries.ts";
import type { Records } from "./records.ts";
import { placesOthers, targetsOf, termsOf } from "./terms.ts";

/** What the comparison of intents with the broker's lists needs. */
export interface ReconcileDeps extends FollowDeps {
  /** Ids of intents that calls of this process are sending. */
  underWay: ReadonlySet<string>;
}

/** How to compare. */
export interface ReconcileOptions {
  /** Aborts the comparison. */
  signal?: AbortSignal;
  /** Markets whose foreign orders (orders made elsewhere) are returned even if no intent is open there. */
  markets?: readonly string[];
  /**
   * Returns whether to leave out an open intent. Lists that only such intents need are not read. @default leaves out
   * none
   */
  leavesOut?(intent: Intent): boolean;
}

/** What a comparison found. */
export interface Reconciled {
  /** Intents whose state has changed, in their new state. */
  changed: readonly Intent[];
  /**
   * Intents whose outcome is still unknown, or whose orders are missing in the lists, each with what is missing for a
   * proof.
   */
  unresolved: readonly { intent: Intent; missing: string }[];
  /**
   * Orders in the lists that no intent of this store has placed. They were placed in the broker's app or by another
   * program.
   */
  foreign: readonly SeenOrder[];
  /** Every order in the lists that were read, by its id. */
  seen: ReadonlyMap<string, SeenOrder>;
  /**
   * The broker's clock minus this machine's, milliseconds; absent if no list was read or no answer contained a time.
   */
  aheadMs?: number;
}

/** While intents are open, a process that keeps running compares them with the broker's lists at this interval. */
export const RECONCILE_MS = 3 * 60_000;
/**
 * The lists of an earlier day hardly change, so a process searches for an unknown order of such a day only at this
 * interval.
 */
export const OLD_ORDERS_MS = 3_600_000;

/** The cause of a reading in the background. */
export interface ReadingReason {
  now: number;
  /**
   * Whether a push or an interruption of the pushes caused the reading. Only orders of today, and orders that place
   * other orders, can then have changed.
   */
  isPush?: boolean;
  /** Whether the reading includes unknown intents of earlier days. */
  withOld?: boolean;
}

/**
 * Returns whether a reading in the background can change an open intent. An ambiguous intent needs a person. An intent
 * that was just sent changes only by its answer or by the end of its time limit.
 */
export function needsReading(
  intent: Intent,
  { now, isPush = false, withOld = false }: ReadingReason,
): boolean {
  if (intent.state === "ambiguous" || intent.state === "sent") return false;
  const { market } = termsOf(intent);
  if (placesOthers(intent) || dayOfLists(market, sinceOf(intent)) === dayOfLists(market, now)) return true;
  return !isPush && (withOld || intent.state !== "unknown");
}

/** If an intent was planned this long ago and never sent, the process that planned it counts as ended. */
const PLANNED_MS = 10 * 60_000;
/**
 * The call of a sent intent has a time limit. If the answer is still missing this long after the limit, the process
 * that sent the intent counts as ended.
 */
const SENT_MS = 30_000;

/**
 * Compares all open intents of the account with the broker's lists.
 *
 * @throws {BrokerError} If a list cannot be read to its end: an incomplete list proves nothing.
 */
export async function reconcile(
  deps: ReconcileDeps,
  { signal, markets = [], leavesOut = () => false }: ReconcileOptions = {},
): Promise<Reconciled> {
  const { records, underWay } = deps;
  const { store, account } = records;
  const intents = (await giveUpOld(deps)).filter((intent) =>
    !underWay.has(intent.id) && intent.state !== "planned" && intent.state !== "approved" &&
    !leavesOut(intent)
  );
  const missing = new Map<string, string>();
  const seen = new Map<string, SeenOrder>();
  let aheadMs: number | undefined;
  for (const { place, members } of placesOf(intents, markets)) {
    const readings = new PlaceReadings(deps, place, signal);
    for (const intent of members) {
      const reading = await readings.for(intent, members);
      const what = await applyReading(deps, intent, { reading, readAgain: () => readings.again(members) });
      if (what !== undefined) missing.set(intent.id, what);
    }
    for (const reading of await readings.all(members)) {
      aheadMs = reading.aheadMs ?? aheadMs;
      for (const order of reading.orders.values()) seen.set(order.orderId, order);
    }
  }
  const changed: Intent[] = [];
  const unresolved: { intent: Intent; missing: string }[] = [];
  const open = new Map(
    (intents.length === 0 ? [] : await openIntents(store, account)).map((intent) => [intent.id, intent]),
  );
  for (const intent of intents) {
    const now = open.get(intent.id) ?? await records.find(intent.id);
    if (now.state !== intent.state) changed.push(now);
    const what = missing.get(intent.id);
    if (what !== undefined) unresolved.push({ intent: now, missing: what });
  }
  const foreign = await foreignIn(records, seen);
  return { changed, unresolved, foreign, seen, ...aheadMs !== undefined && { aheadMs } };
}

/** Returns those of the given orders that no intent of the account has placed. */
async function foreignIn(records: Records, seen: ReadonlyMap<string, SeenOrder>): Promise<SeenOrder[]> {
  const foreign = new Map(seen);
  if (seen.size > 0) { for (const orderId of (await records.owned()).keys()) foreign.delete(orderId); }
  return [...foreign.values()];
}

/** Compares one open intent with the lists that show its orders. */
export async function reconcileOnly(deps: ReconcileDeps, id: string, signal?: AbortSignal): Promise<void> {
  const { store, account } = deps.records;
  const group = placesOf(await openIntents(store, account), []).find(({ members }) =>
    members.some((each) => each.id === id)
  );
  const intent = group?.members.find((each) => each.id === id);
  if (group === undefined || intent === undefined) return;
  const readings = new PlaceReadings(deps, group.place, signal);
  const reading = await readings.for(intent, [intent]);
  await applyReading(deps, intent, { reading, readAgain: () => readings.again([intent]) });
}

/** Returns whether an intent only waits for its conditional or algorithmic order, which can last for many days. */
const isWaiting = (intent: Intent): boolean => placesOthers(intent) && intent.state !== "unknown";

/** Returns whether the answer to an intent names no order. No list then shows anything about the intent. */
const namesNoOrder = ({ state, orderIds }: Intent): boolean =>
  state === "acknowledged" && orderIds.length === 0;

/**
 * Reads the lists of one place: once for most intents, and once more, further back, for conditional and algorithmic
 * orders that the first reading does not show.
 */
class PlaceReadings {
  readonly #deps: ReconcileDeps;
  readonly #place: ListPlace;
  readonly #signal: AbortSignal | undefined;
  #first: Promise<ListReading> | undefined;
  #extended: Promise<ListReading> | undefined;
  #second: Promise<ListReading> | undefined;

  constructor(deps: ReconcileDeps, place: ListPlace, signal: AbortSignal | undefined) {
    this.#deps = deps;
    this.#place = place;
    this.#signal = signal;
  }

  /** Returns the reading with which to compare an intent. */
  async for(intent: Intent, members: readonly Intent[]): Promise<ListReading> {
    const first = await this.#firstReading(members);
    if (!isWaiting(intent)) return first;
    const isShown = intent.orderIds.every((id) => {
      const row = first.orders.get(id);
      return row !== undefined && (row.state !== "triggered" || intent.childIds.length > 0);
    }) && intent.childIds.every((id) => first.orders.has(id));
    const isToday = dayOfLists(this.#place.market, sinceOf(intent)) >=
      dayOfLists(this.#place.market, first.beganAt);
    if (isShown || isToday) return first;
    const since = earliest(members.filter(isWaiting).map(sinceOf));
    return await (this.#extended ??= this.#read(since));
  }

  /** Returns all readings so far; there is at least one. */
  async all(members: readonly Intent[]): Promise<ListReading[]> {
    const first = await this.#firstReading(members);
    return this.#extended === undefined ? [first] : [first, await this.#extended];
  }

  #firstReading(members: readonly Intent[]): Promise<ListReading> {
    return this.#first ??= this.#readNew(members);
  }

  /** Returns a second reading, as far back as the first one. */
  again(members: readonly Intent[]): Promise<ListReading> {
    return this.#second ??= this.#readNew(members);
  }

  #readNew(members: readonly Intent[]): Promise<ListReading> {
    const now = this.#deps.records.machine.now();
    return this.#read(
      earliest([now, ...members.filter((each) => !isWaiting(each) && !namesNoOrder(each)).map(sinceOf)]),
      members.some(({ state }) => state === "unknown"),
    );
  }

  /**
   * Reads the lists. The broker may empty its lists of today before midnight, so the search for a lost order also needs
   * the history.
   */
  async #read(since: number, withHistory = false): Promise<ListReading> {
    const { records, client } = this.#deps;
    const signal = this.#signal;
    return await readLists(client, this.#place, {
      now: () => records.machine.now(),
      since,
      withHistory,
      ...signal && { signal },
    });
  }
}

/**
 * For processes that count as ended: abandons their unsent intents, and marks their sent intents without an answer as
 * unknown. Returns the intents that are then open.
 */
async function giveUpOld({ records, underWay }: ReconcileDeps): Promise<Intent[]> {
  const { store, account, machine } = records;
  const now = machine.now();
  const open = await openIntents(store, account);
  let isChanged = false;
  for (const intent of open) {
    const { id, state, createdAt, sentAt = createdAt, timeoutMs } = intent;
    if (underWay.has(id)) continue;
    // If the clock was set back, the real age is unknown, so a difference in either direction counts. If the process is
    // still alive after all, it can no longer send an abandoned intent. An answer to a sent intent is still recorded.
    const isOld = (since: number, ms: number) => Math.abs(now - since) > ms;
    if ((state === "planned" || state === "approved") && isOld(createdAt, PLANNED_MS)) {
      const why = "the process that planned it ended before it sent anything";
      await records.moveFrom(intent, { to: "abandoned", by: "desk", data: { why } });
      isChanged = true;
    }
    if (state === "sent" && isOld(sentAt, timeoutMs + SENT_MS)) {
      const why = "no process waits for its answer";
      await records.moveFrom(intent, { to: "unknown", by: "desk", data: { why } });
      isChanged = true;
    }
  }
  return isChanged ? await openIntents(store, account) : open;
}

/**
 * Applies a reading to an intent. If the outcome of the intent, or an order of it, is unknown, returns what is missing
 * for a proof.
 *
 * @param readAgain Reads the same lists once more.
 */
async function applyReading(
  deps: ReconcileDeps,
  intent: Intent,
  { reading, readAgain }: { reading: ListReading; readAgain?: () => Promise<ListReading> },
): Promise<string | undefined> {
  const { records } = deps;
  if (intent.state === "sent") return "its answer";
  if (intent.state === "ambiguous") return "a person's decision";
  if (intent.state !== "unknown") {
    return await follow(deps, intent, reading);
  }
  const others = await othersOf(deps, reading);
  // Another program may have amended the order before a reading showed it.
  const asked = intent.kind === "place" ? await beforeAmendments(records, intent, reading) : reading;
  const verdict = await judgeWithOthers(records, intent, judge(intent, asked, others));
  const shown = verdict.is === "sent" ? verdict.orderIds.map((id) => reading.orders.get(id)) : [];
  if (readAgain !== undefined && shown.some((order) => order !== undefined && isOnlyInFills(order))) {
    // The lists of orders lack an order that has fills, so they may also lack another order that fits. A second reading
    // decides.
    return await applyReading(deps, intent, { reading: await readAgain() });
  }
  switch (verdict.is) {
    case "sent": {
      const now = await records.store.transaction(async () => {
        const owner = intent.kind === "place"
          ? await ownerIn(records, intent.id, verdict.orderIds)
          : undefined;
        if (owner !== undefined) return owner; // another process has already given an order to another intent
        const moved = await records.moveFrom(intent, {
          to: "acknowledged",
          by: "list",
          orderIds: verdict.orderIds,
          data: { lists: reading.lists, orderIds: verdict.orderIds },
        });
        if (intent.kind === "amend" && moved.state === "acknowledged") await records.noteAmended(moved);
        return moved;
      });
      if (typeof now === "string") {
        return `which of the orders ${
          verdict.orderIds.join(", ")
        } belong to this intent, and which to intent ${now}`;
      }
      if (now.state !== "acknowledged") return undefined; // another process or a late answer has already changed it
      return await follow(deps, now, reading);
    }
    case "ambiguous":
      return await leaveToPerson(records, intent, { verdict, reading });
    case "partial":
    case "unprovable":
      // A reading that shows something contradicts the earlier readings that showed nothing, so the count starts again.
      if (intent.absent !== undefined) await forgetAbsence(records.store, intent.id);
      return verdict.missing;
    case "impossible": {
      const { is: _, ...data } = verdict;
      await records.moveFrom(intent, { to: "abandoned", by: "list", data });
      return undefined;
    }
    case "absent":
      return await countAbsence(records, intent, { reading, owners: others.owners });
  }
}

/**
 * Returns the final verdict on an intent. For an amendment, later amendments of the same order count too. If this
 * reading does not prove an amendment, a later amendment may prove it: the lists that were read before the later
 * amendment may have shown the terms of the earlier amendment. If the order has the requested terms, another amendment
 * with the same terms may have set them, and then this reading proves nothing.
 */
async function judgeWithOthers(
  { store, account }: Records,
  intent: Intent,
  verdict: Verdict,
): Promise<Verdict> {
  if (intent.kind !== "amend" || verdict.is !== "unprovable" && verdict.is !== "sent") return verdict;
  const since = Math.min(sinceOf(intent), intent.createdAt);
  const others = await amendmentsSince(store, account, since);
  if (laterProofOf(intent, others) !== undefined) return { is: "sent", orderIds: targetsOf(intent) };
  if (verdict.is === "unprovable" || !isExplainedBy(intent, others)) return verdict;
  return {
    is: "unprovable",
    missing: "a person's decision: later amendments of the order request the same changes",
  };
}

/** Intents whose lists are read together. */
interface PlacedIntents {
  place: ListPlace;
  members: Intent[];
}

/**
 * Groups intents by the market whose lists show their orders.
 *
 * @param markets Markets to read even if no intent needs them, to find orders made elsewhere.
 */
function placesOf(intents: readonly Intent[], markets: readonly string[]): PlacedIntents[] {
  const places = new Map<string | undefined, PlacedIntents>();
  const placed = ({ market, lists, optional = [] }: ListPlace) => {
    const { place = { market, lists: [] }, members = [] } = places.get(market) ?? {};
    const all = [...new Set([...place.lists, ...lists])];
    // A list that one intent needs is not optional.
    const needed = [...neededLists(place), ...neededLists({ lists, optional })];
    const group = {
      place: { market, lists: all, optional: all.filter((list) => !needed.includes(list)) },
      members,
    };
    places.set(market, group);
    return group;
  };
  for (const intent of intents) {
    const operation = findOperation(intent.operation);
    if (operation === undefined) continue; // a newer version wrote this intent; leave it unchanged
    placed(withChildLists(placeOf(operation, intent.params))).members.push(intent);
  }
  const place = findOperation("orders.place");
  for (const market of markets) {
    if (place === undefined) break;
    const { lists } = placeOf(place, { market });
    placed({ market, lists: [...parentLists, ...lists], optional: parentLists });
  }
  return [...places.values()];
}

/** Returns the earliest of some times. `Math.min(...times)` would fail for more than about 100,000 times. */
const earliest = (times: readonly number[]) => times.reduce((a, b) => Math.min(a, b), Infinity);
