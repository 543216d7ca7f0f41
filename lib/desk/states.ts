/**
 * Defines the states of an intent, and which evidence moves an intent from one state to another. The store's checks,
 * the diagram in the documentation and the tests are derived from this table.
 *
 * @module
 */

/** The evidence for a change of state. */
export type Evidence =
  /** The desk itself: it is about to send, it has given up waiting, or it knows that nothing was sent. */
  | "desk"
  /** The broker's answer to the call, even if it arrives after the call was given up. */
  | "answer"
  /** Rows of the broker's lists. */
  | "list"
  /** A person. */
  | "person";

/** State of an intent, in the usual order of the states. */
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

/** A change of state that is allowed. */
interface Change {
  readonly to: IntentState;
  readonly by: readonly Evidence[];
}

const change = (to: IntentState, ...by: Evidence[]): Change => ({ to, by });

/** States in which the broker has the order. The lists may show these states in any sequence. */
const atBroker = ["acknowledged", "working", "part-filled"] as const;
/** States in which an order ends, as the broker's lists show it. */
const brokerEnds = ["filled", "cancelled", "rejected", "expired"] as const;

const shownByLists = (except: IntentState): Change[] =>
  [...atBroker, ...brokerEnds].filter((to) => to !== except).map((to) => change(to, "list"));
/**
 * Changes that are allowed after a known outcome. A late answer that names another order, or that contradicts the
 * lists, makes the outcome ambiguous. A person may correct an earlier decision of a person.
 */
const corrections: readonly Change[] = [change("ambiguous", "answer"), change("unknown", "person")];
/**
 * Changes that are allowed while the broker has the order. If the broker splits an order, the lists may show more
 * orders with the same terms than the order's quantity needs. Then it is unclear which of them are the parts.
 */
const unclearParts: readonly Change[] = [change("ambiguous", "answer", "list"), change("unknown", "person")];

/** Every state of an intent, with the changes that are allowed from it. */
export const intentStates: Readonly<Record<IntentState, readonly Change[]>> = {
  /** Recorded; nothing was sent. */
  planned: [change("approved", "desk"), change("abandoned", "desk")],
  /** Allowed by every guard rail; nothing was sent. */
  approved: [change("sent", "desk"), change("abandoned", "desk")],
  /** Committed to the store just before the first byte is sent. Bytes may have been sent. */
  sent: [
    change("acknowledged", "answer"),
    change("rejected", "answer"),
    // Only for a batch cancellation that cancelled nothing: neither the request nor the answer names an order, so the
    // lists show no order to follow.
    change("cancelled", "answer"),
    // The process that was about to send it proves that the broker never received the request.
    change("abandoned", "desk"),
    change("unknown", "desk"),
  ],
  /** The broker has answered with the order's id. */
  acknowledged: [
    ...shownByLists("acknowledged"),
    // The lists never showed the order, and the person is sure that it has ended.
    change("expired", "person"),
    ...unclearParts,
  ],
  /** The order is in the market. */
  working: [
    ...shownByLists("working"),
    // The lists do not show the order any more, or do not show which order a triggered conditional order has placed.
    // The person is sure that the order has ended.
    change("expired", "person"),
    ...unclearParts,
  ],
  "part-filled": [...shownByLists("part-filled"), change("expired", "person"), ...unclearParts],
  filled: corrections,
  cancelled: corrections,
  rejected: corrections,
  expired: corrections,
  /** Bytes may have been sent, and no answer says whether the broker executed the request. */
  unknown: [
    // Even if the lists already show the order's end, they first prove that the broker got the request.
    change("acknowledged", "answer", "list", "person"),
    change("rejected", "answer"),
    change("cancelled", "answer"),
    // The process that was about to send it may have stood still until another process gave it up.
    change("abandoned", "desk", "list", "person"),
    change("ambiguous", "list"),
  ],
  /** It is unclear which orders belong to the intent. Only the broker's answer or a person can resolve it. */
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

/** Every state, in the usual order of the states. */
export const allStates = Object.keys(intentStates) as readonly IntentState[]; // the table has one key for each state

/** States in which the outcome of a sent request is unknown. They block an intent with the same fingerprint. */
export const unresolvedStates: readonly IntentState[] = ["sent", "unknown", "ambiguous"];

/** Returns whether a state is final. Only a correction can change an intent in such a state. */
export function isFinal(state: IntentState): boolean {
  return state === "abandoned" || brokerEnds.some((end) => end === state);
}

/** Returns whether evidence may move an intent from one state to another. */
export function mayChange(from: IntentState, to: IntentState, by: Evidence): boolean {
  return intentStates[from].some((each) => each.to === to && each.by.includes(by));
}
