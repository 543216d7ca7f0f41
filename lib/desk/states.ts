/**
 * Defines the states of an intent, and which evidence moves it from one state to another. The checks of the store, the
 * diagram in the documentation and the tests derive from this table.
 *
 * @module
 */

/** What proves a change of state. */
export type Evidence =
  /** The desk itself: it is about to send, it gave up waiting, or it found that nothing was sent. */
  | "desk"
  /** The broker's answer to the call, even if it arrives after the call was given up. */
  | "answer"
  /** Rows of the broker's lists. */
  | "list"
  /** A person. */
  | "person";

/** State of an intent, in the order in which an intent passes through them. */
export type IntentState =
  | "planned"
  | "approved"
  | "sent"
  | "acknowledged"
  | "working"
  | "part-filled"
  | "filled"
  | "cancelled"
  | "rejected"
  | "expired"
  | "unknown"
  | "ambiguous"
  | "abandoned";

/** A change of state that may happen. */
interface Change {
  readonly to: IntentState;
  readonly by: readonly Evidence[];
}

const change = (to: IntentState, ...by: Evidence[]): Change => ({ to, by });

/** States in which the broker has the order. The lists may show them in any sequence. */
const atBroker = ["acknowledged", "working", "part-filled"] as const;
/** States in which an order ends, as the broker's lists show it. */
const brokerEnds = ["filled", "cancelled", "rejected", "expired"] as const;

const shownByLists = (except?: IntentState): Change[] =>
  [...atBroker, ...brokerEnds].filter((to) => to !== except).map((to) => change(to, "list"));
/**
 * What may follow a known outcome: a late answer that names another order, or that the lists contradict, makes it
 * ambiguous. A person may also correct an earlier decision of a person.
 */
const corrections: readonly Change[] = [change("ambiguous", "answer"), change("unknown", "person")];

/** Every state of an intent, and the changes that may follow it. */
export const intentStates: Readonly<Record<IntentState, readonly Change[]>> = {
  /** Recorded; nothing was sent. */
  planned: [change("approved", "desk", "person"), change("abandoned", "desk", "person")],
  /** Every guard rail and, if needed, a person allowed it; nothing was sent. */
  approved: [change("sent", "desk"), change("abandoned", "desk", "person")],
  /** Committed to the store just before the first byte leaves. Bytes may have left. */
  sent: [
    change("acknowledged", "answer"),
    change("rejected", "answer"),
    // The answer to a cancellation names no order, so the lists have nothing to show.
    change("cancelled", "answer"),
    // The answer, or the process that was about to send, proves that the broker never got the request.
    change("abandoned", "answer", "desk"),
    change("unknown", "desk", "answer"),
  ],
  /** The broker named the order. */
  acknowledged: [
    ...shownByLists("acknowledged"),
    // The lists never showed the order, and the person is sure that it has ended.
    change("expired", "person"),
    ...corrections,
  ],
  /** The order is in the market. */
  working: [
    ...shownByLists("working"),
    // The lists do not show the order any more, or do not show which order a triggered conditional order has placed.
    // The person is sure that it has ended.
    change("expired", "person"),
    ...corrections,
  ],
  "part-filled": [...shownByLists("part-filled"), change("expired", "person"), ...corrections],
  filled: corrections,
  cancelled: corrections,
  rejected: corrections,
  expired: corrections,
  /** Bytes may have left, and no answer says whether the broker executed the request. */
  unknown: [
    change("acknowledged", "answer", "list", "person"),
    ...shownByLists("acknowledged"),
    change("rejected", "answer"),
    change("cancelled", "answer"),
    change("abandoned", "answer", "list", "person"),
    change("ambiguous", "list"),
  ],
  /** It is unclear which orders belong to the intent. Only the broker's answer or a person can decide that. */
  ambiguous: [
    change("acknowledged", "answer", "person"),
    change("rejected", "answer"),
    change("cancelled", "answer"),
    change("abandoned", "person"),
    change("unknown", "person"),
  ],
  /** The broker has no order of this intent. */
  abandoned: corrections,
};

/** Every state, in the order in which an intent passes through them. */
export const allStates = Object.keys(intentStates) as readonly IntentState[]; // the table has one key for each state

/** States in which the outcome of a sent request is unknown. They block an intent with the same fingerprint. */
export const unresolvedStates: readonly IntentState[] = ["sent", "unknown", "ambiguous"];

/** Returns whether nothing more is expected of an intent. Only a correction changes it again. */
export function isFinal(state: IntentState): boolean {
  return state === "abandoned" || brokerEnds.some((end) => end === state);
}

/** Returns whether evidence may move an intent from one state to another. */
export function mayChange(from: IntentState, to: IntentState, by: Evidence): boolean {
  return intentStates[from].some((each) => each.to === to && each.by.includes(by));
}
