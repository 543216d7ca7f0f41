/**
 * Proves that a request was never executed. A single reading of the lists that does not show the request proves
 * nothing. So the desk counts such readings until {@linkcode provesAbsence} has its proof.
 *
 * @module
 */
import { findOperation } from "../operations/mod.ts";
import { laterLists } from "../operations/proof.ts";
import {
  dayInHistory,
  dayOfLists,
  isOnlyInFills,
  type ListReading,
  mayBeEmptied,
  placeOf,
} from "./broker_lists.ts";
import { type AbsentReadings, type Intent, sinceOf } from "./intent.ts";
import { amendedElsewhere } from "./prove.ts";
import { forgetAbsence, noteIntent } from "./queries.ts";
import type { Owners, Records } from "./records.ts";
import { termsOf } from "./terms.ts";

/**
 * Counts a reading of the lists that did not show an intent with an unknown outcome. If the proof is complete, abandons
 * the intent.
 *
 * @returns What is still missing for the proof that the intent was not executed; `undefined` if its outcome is known.
 */
export async function countAbsence(
  records: Records,
  intent: Intent,
  { reading, owners }: { reading: ListReading; owners: Owners },
): Promise<string | undefined> {
  const like = amendedElsewhere(intent, reading, owners);
  if (like.length > 0) {
    // A later reading may miss these orders if a page of a list is missing, so the count of readings starts again.
    if (intent.absent !== undefined) await forgetAbsence(records.store, intent.id);
    return `a person's decision: order ${
      like.join(", ")
    }, made elsewhere, may be this order with other terms`;
  }
  const orphans = [...reading.orders.values()].filter(isOnlyInFills);
  if (orphans.length > 0) {
    // The lists of orders have lost rows, so this reading does not count.
    return `the orders ${
      orphans.map(({ orderId }) => orderId).join(", ")
    } in the lists of orders: only the lists of fills show them`;
  }
  const before = intent.absent;
  const brokerAt = reading.aheadMs === undefined ? undefined : reading.beganAt + reading.aheadMs;
  // Another process may have read the lists at the same time. Its reading counts, and this one does not.
  const overlaps = before !== undefined && reading.beganAt < before.lastAt &&
    before.lastAt <= reading.endedAt;
  // If a clock went back, the time between the readings is unknown, so the count starts again.
  const isBack = before !== undefined && (reading.beganAt < before.lastAt ||
    (brokerAt ?? Infinity) < (before.lastBrokerAt ?? -Infinity) - WHOLE_SECONDS_MS);
  const earlier = isBack && !overlaps ? undefined : before;
  const firstBrokerAt = earlier === undefined ? brokerAt : earlier.firstBrokerAt;
  const absent: AbsentReadings = overlaps ? before : {
    count: (earlier?.count ?? 0) + 1,
    firstAt: earlier?.firstAt ?? reading.beganAt,
    lastAt: reading.beganAt,
    ...firstBrokerAt !== undefined && { firstBrokerAt },
    ...brokerAt !== undefined && { lastBrokerAt: brokerAt },
  };
  if (!await noteIntent(records.store, intent, { absent })) {
    // Another reading has ended in the meantime, and it may have shown the intent.
    return (await records.find(intent.id)).state === "unknown" ? "another reading of the lists" : undefined;
  }
  const { sentNumber } = intent;
  const later = new Set(
    [...owners].filter(([, owner]) =>
      !owner.isChild && owner.intent !== intent.id && sentNumber !== undefined &&
      owner.sentNumber !== undefined && owner.sentNumber > sentNumber
    ).map(([orderId]) => orderId),
  );
  const proven = provesAbsence(intent, { absent, reading, later, lists: listsOf(intent) });
  if ("missing" in proven) return proven.missing;
  await records.moveFrom(intent, { to: "abandoned", by: "list", data: { proof: proven.proof } });
  return undefined;
}

/** Returns the lists that show an intent's orders. */
function listsOf({ operation: name, params }: Intent): readonly string[] {
  const operation = findOperation(name);
  return operation === undefined ? [] : placeOf(operation, params).lists;
}

/**
 * A proof of absence needs at least this number of readings without the order, and at least this time from the first of
 * these readings to the last.
 */
const ABSENT_READINGS = 3;
const ABSENT_MS = 60_000;
/**
 * From one reading to the next, the broker's time may seem to go back by this much. An answer contains whole seconds,
 * and answers take different times to arrive.
 */
const WHOLE_SECONDS_MS = 2_000;
/** The readings must span the request's time limit plus this time, by this machine's clock and by the broker's. */
const PAST_MS = 30_000;

/** What is known about a request that the lists do not show. */
interface AbsenceFacts {
  absent: AbsentReadings;
  /** The last reading. */
  reading: ListReading;
  /**
   * Ids of the orders of later intents. The numbers of the account's writes show which intents were sent after this
   * intent.
   */
  later: ReadonlySet<string>;
  /** The lists of today that would contain the order. */
  lists: readonly string[];
}

/**
 * Returns the proof that a request was never executed, in words, or what is missing for the proof. The proof needs:
 * - at least three readings that read every list to its end and did not show the request;
 * - at least a minute from the first to the last reading, and at least the request's time limit plus
 * {@linkcode PAST_MS}. Both are measured by this machine's clock and by the broker's clock;
 * - in the last reading, an order of this store that was sent later on the same day. A list that covers the whole day
 * must show it. Without such an order, the list may be late or empty, or belong to another account.
 */
export function provesAbsence(
  intent: Pick<Intent, "timeoutMs" | "known" | "params" | "readSince" | "sentAt" | "createdAt">,
  { absent, reading, later, lists }: AbsenceFacts,
): { proof: string } | { missing: string } {
  const { market } = termsOf(intent);
  const day = dayOfLists(market, sinceOf(intent));
  const { endedAt, aheadMs = 0 } = reading;
  // The lists of today cover the whole day until the close, by this machine's clock and by the broker's. After the
  // close, only the history covers the day.
  const isCurrent = [endedAt, endedAt + aheadMs].every((at) =>
    dayOfLists(market, at) === day && !mayBeEmptied(market, at)
  );
  const covering = isCurrent ? lists : laterLists(lists);
  if (covering.length === 0) {
    return {
      missing: `a person's decision: after the close, ${
        lists.join(", ")
      } proves nothing, and no history list shows it`,
    };
  }
  const { count, firstAt, lastAt, firstBrokerAt, lastBrokerAt } = absent;
  // The first reading was after the request, so when this much time has passed, the request's time limit has passed,
  // too.
  const leastMs = Math.max(ABSENT_MS, intent.timeoutMs + PAST_MS);
  if (count < ABSENT_READINGS || lastAt - firstAt < leastMs) {
    return {
      missing: `${ABSENT_READINGS} readings of the lists over ${
        Math.ceil(leastMs / 1000)
      } s; so far ${count} over ${Math.floor((lastAt - firstAt) / 1000)} s`,
    };
  }
  if (firstBrokerAt === undefined || lastBrokerAt === undefined) {
    return { missing: "the broker's time in an answer" };
  }
  if (lastBrokerAt - firstBrokerAt < leastMs) {
    return { missing: `readings over ${Math.ceil(leastMs / 1000)} s by the broker's clock` };
  }
  const listedDay = dayInHistory(market, sinceOf(intent));
  if (!isCurrent && listedDay === undefined) {
    return {
      missing: "a person's decision: it was sent between two sessions, so its day in the history is unclear",
    };
  }
  // An order that was already there before the request was not sent later. An order in another list, or of another day
  // of the history, proves nothing about these lists and this day.
  const seen = [...later].find((id) => {
    const order = reading.orders.get(id);
    return order !== undefined && !intent.known.includes(id) && (isCurrent || order.day === listedDay) &&
      order.lists.some((list) => covering.includes(list));
  });
  if (seen === undefined) {
    const where = isCurrent ? "in the same lists" : `of ${listedDay} in the lists of the history`;
    return { missing: `an order of yours ${where} that was sent later` };
  }
  return {
    proof: `${count} readings over ${Math.round((lastAt - firstAt) / 1000)} s of ${
      covering.join(", ")
    } did not show it, and they show order ${seen}, which was sent later`,
  };
}
