/**
 * Records what a person has found out about an intent that the broker's lists could not resolve.
 *
 * @module
 */
import type { Store } from "../store/store.ts";
import type { Intent, IntentChange } from "./intent.ts";
import { changesOf, findIntent, moveIntent, ownedOrders, type Owner, removeOrders } from "./queries.ts";
import { LONGEST_ORDER_MS, noteAmended } from "./records.ts";
import { isFinal, mayChange, unresolvedStates } from "./states.ts";
import { isConditional, targetsOf } from "./terms.ts";

/** What a person has found out about an unresolved intent, and why the person is sure. */
export type Decision =
  & (
    | { wasSent: true; orderIds: readonly string[] }
    | { wasSent: false }
    /** The broker had accepted the write, and its orders have ended, although the lists do not show their end. */
    | { hasEnded: true }
    /**
     * The write placed a conditional order. It has triggered and placed these orders, which the lists do not connect
     * with it.
     */
    | { hasPlaced: readonly string[] }
  )
  & { because?: string };

const DAY_MS = 24 * 3_600_000;

/** Returns whether an intent was sent (or planned, if it was not sent) at least a day ago, by this machine's clock. */
const isDayOld = ({ sentAt, createdAt }: Intent, now: number): boolean =>
  now - (sentAt ?? createdAt) >= DAY_MS;

/**
 * Records a person's decision about an unresolved intent. Needs no connection. Also corrects an earlier decision of a
 * person: the intent first becomes unknown again, without orders and without a count of the readings that did not show
 * it.
 *
 * Two decisions are about an intent that the broker has accepted. `hasPlaced` names the orders that the conditional
 * order of the intent has placed. `hasEnded` closes the intent, in one of three cases:
 * - The intent is acknowledged, and the lists never showed its orders.
 * - It was sent at least 24 hours ago, and its order has disappeared from the lists.
 * - Its conditional order has triggered, and nothing shows which order it placed.
 *
 * For `hasEnded`, this function checks only the state of the intent, its orders in the store, and its age. It does not
 * read the lists.
 *
 * @throws {TypeError} If the decision is not possible in the intent's state, or if an order belongs to another intent.
 */
export async function decideIntent(
  store: Store,
  id: string,
  { by, at, because, ...decision }: Decision & { by: string; at: number },
): Promise<Intent> {
  // A late answer or a reading can change the intent at the same time, so the check is inside the transaction.
  return await store.transaction(async () => {
    const intent = await findIntent(store, id);
    if (intent === undefined) throw new TypeError(`Cannot resolve "${id}": there is no such intent`);
    const data = { by, ...because !== undefined && { because } };
    const changes = await changesOf(store, id);
    const owned = await ownedOrders(store, intent.account, at - LONGEST_ORDER_MS);
    if ("hasEnded" in decision) {
      const mayEnd = mayChange(intent.state, "expired", "person") &&
        (intent.state === "acknowledged" || lacksPlaced(intent, changes) || isDayOld(intent, at));
      if (mayEnd) return await moveIntent(store, id, { to: "expired", by: "person", at, data });
      throw new TypeError(
        `Cannot end "${id}": it is "${intent.state}"; you can end only an "acknowledged" intent, an ` +
          "open order that was sent at least 24 hours ago, or a conditional order whose placed order is unknown",
      );
    }
    const bare = { childIds: [], forgetsAbsence: true, filled: "0" } as const;
    if ("hasPlaced" in decision) {
      if (!lacksPlaced(intent, changes)) {
        throw new TypeError(
          `Cannot name the order that "${id}" placed: it is "${intent.state}"; you can name an order only for a ` +
            'conditional order that is "working" and whose placed order is unknown',
        );
      }
      const placed = decision.hasPlaced;
      refuseOwned(id, placed.filter((each) => !intent.childIds.includes(each)), {
        owned,
        placedBy: undefined,
      });
      await moveIntent(store, id, { to: "unknown", by: "person", at, ...bare, data: { by } });
      const named = { ...bare, childIds: placed, data: { ...data, [PLACED]: placed } };
      return await moveIntent(store, id, { to: "acknowledged", by: "person", at, ...named });
    }
    const isOpen = unresolvedStates.includes(intent.state) && intent.state !== "sent";
    const isEndedByPerson = intent.state === "expired" && changes.at(-1)?.by === "person";
    const isOther = decision.wasSent
      ? intent.state === "abandoned" || isEndedByPerson || decision.orderIds.join() !== intent.orderIds.join()
      : intent.state !== "abandoned" && !isEndedByPerson;
    const isCorrection = !isOpen && isOther && mayChange(intent.state, "unknown", "person") &&
      (isEndedByPerson ||
        changes.some(({ by: evidence, from }) =>
          evidence === "person" && (from === "unknown" || from === "ambiguous")
        ));
    if (!isOpen && !isCorrection) {
      throw new TypeError(
        `Cannot resolve "${id}": it is "${intent.state}", so its outcome is known, or the write is still in progress`,
      );
    }
    const orderIds = decision.wasSent ? decision.orderIds : [];
    // An amendment's orders belong to the intent that placed the amended order.
    const placedBy = intent.kind === "amend" ? owned.get(targetsOf(intent)[0] ?? "")?.intent : id;
    if (intent.kind !== "cancel") refuseOwned(id, orderIds, { owned, placedBy });
    if (isCorrection) {
      const corrects = `the decision that it is "${intent.state}"${
        intent.orderIds.length === 0 ? "" : ` with order ${intent.orderIds.join(", ")}`
      }`;
      await moveIntent(store, id, {
        to: "unknown",
        by: "person",
        at,
        orderIds: [],
        ...bare,
        data: { by, corrects },
      });
      if (intent.kind === "amend" && placedBy !== undefined) {
        const wrong = intent.orderIds.filter((each) => !targetsOf(intent).includes(each));
        await removeOrders(store, placedBy, wrong);
      }
    }
    const moved = await moveIntent(store, id, {
      to: decision.wasSent ? "acknowledged" : "abandoned",
      by: "person",
      at,
      ...bare,
      orderIds,
      data,
    });
    if (moved.kind === "amend") {
      await noteAmended(store, moved, owned);
      if (placedBy !== undefined) await followAgain(store, placedBy, { moved, by, at });
    }
    return moved;
  });
}

/** Member in the data of a change: the orders that a conditional order has placed, named by a person. */
const PLACED = "placed";

/**
 * Returns whether a person may name the order that an intent's conditional order has placed. This is allowed if the
 * lists do not show that order. A person who has named a wrong order may correct it.
 */
function lacksPlaced(intent: Intent, changes: readonly IntentChange[]): boolean {
  if (!isConditional(intent) || unresolvedStates.includes(intent.state)) return false;
  if (changes.some(({ data }) => data[PLACED] !== undefined)) {
    return mayChange(intent.state, "unknown", "person");
  }
  return intent.state === "working" && intent.childIds.length === 0;
}

/**
 * Opens an ended intent again, so that the desk follows a new order of it: the order that replaced its amended order, and
 * that a person has named. Does nothing if the intent has not ended.
 *
 * @param id The intent that placed the amended order.
 */
async function followAgain(
  store: Store,
  id: string,
  { moved, by, at }: { moved: Intent; by: string; at: number },
): Promise<void> {
  const placed = await findIntent(store, id);
  const isReplaced = moved.orderIds.some((each) => !targetsOf(moved).includes(each));
  if (placed === undefined || !isReplaced || !isFinal(placed.state)) return;
  const data = { by, amendment: moved.id };
  await moveIntent(store, id, { to: "unknown", by: "person", at, data });
  await moveIntent(store, id, { to: "acknowledged", by: "person", at, data });
}

/** Throws if an order belongs to another intent. */
function refuseOwned(
  id: string,
  orderIds: readonly string[],
  { owned, placedBy }: { owned: ReadonlyMap<string, Owner>; placedBy: string | undefined },
): void {
  for (const orderId of orderIds) {
    const owner = owned.get(orderId)?.intent;
    if (owner === undefined || owner === placedBy) continue;
    throw new TypeError(`Cannot resolve "${id}": order ${orderId} belongs to intent ${owner}`);
  }
}
