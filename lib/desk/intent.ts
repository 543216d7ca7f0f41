/**
 * Defines an intent: the record of one order write, from its plan to its outcome.
 *
 * @module
 */
import type { Evidence, IntentState } from "./states.ts";

/** What an intent does to orders. */
export type IntentKind = "place" | "amend" | "cancel";

/** Who wants a write, and why. */
export interface Why {
  /** The recipe, run and step that write; absent for a person or a script. */
  recipe?: string;
  /** Key of the run that writes. */
  runKey?: string;
  /** Id of the step that writes. */
  step?: string;
  /** Name of the person or program. */
  by?: string;
  /** Hash of the rebalancing plan that the order is part of. */
  plan?: string;
  /** Place of the trade in the plan, from 0. */
  trade?: number;
}

/** The readings of the broker's lists that did not show an order. */
export interface AbsentReadings {
  /** Number of such readings. */
  count: number;
  /** Time of the first such reading, Unix milliseconds. */
  firstAt: number;
  /** Time of the last such reading, Unix milliseconds. */
  lastAt: number;
  /** Time of the first such reading by the broker's clock; absent if the answers contained no time. */
  firstBrokerAt?: number;
  /** Time of the last such reading by the broker's clock; absent if the answers contained no time. */
  lastBrokerAt?: number;
}

/** The record of one order write, from its plan to its outcome. */
export interface Intent {
  /** Number of the intent, unique in the store. */
  id: string;
  /** Name of the account. */
  account: string;
  /** What it does to orders. */
  kind: IntentKind;
  /** Our name of the operation. */
  operation: string;
  /** Parameters of the call, with our names. */
  params: Readonly<Record<string, unknown>>;
  /** Equal for two intents with the same request; see `fingerprintOf`. */
  fingerprint: string;
  /** Who wants the write, and why. */
  why: Why;
  /** State of the write. */
  state: IntentState;
  /** Orders of the broker that belong to it. More than one if the broker split the order. */
  orderIds: readonly string[];
  /** Orders that its conditional or algorithmic order has placed. */
  childIds: readonly string[];
  /**
   * Orders that were in the broker's lists just before it was sent. For a cancellation of all orders: the orders that
   * were open then.
   */
  known: readonly string[];
  /** Terms of the amended order just before the amendment was sent; absent if the lists did not show the order. */
  earlier: Readonly<Record<string, string>> | undefined;
  /**
   * How far back the readings for it go, Unix milliseconds: when it was sent, by the earlier of this machine's and the
   * broker's clock. Orders of earlier days are not its orders.
   */
  readSince: number | undefined;
  /** Quantity filled so far, as the lists show it. */
  filled: string;
  /** The readings that did not show the order; absent if there were none. */
  absent: AbsentReadings | undefined;
  /** When it was planned, Unix milliseconds. */
  createdAt: number;
  /** When the first byte may have left, Unix milliseconds. */
  sentAt: number | undefined;
  /** Its place in the sequence of the account's writes; absent before it was sent. */
  sentNumber: number | undefined;
  /** How long the call waits for its answer. */
  timeoutMs: number;
  /** When its final state was recorded, Unix milliseconds; absent before. */
  endedAt: number | undefined;
}

/** Returns how far back the readings for an intent go. */
export const sinceOf = (
  { readSince, sentAt, createdAt }: Pick<Intent, "readSince" | "sentAt" | "createdAt">,
): number => readSince ?? sentAt ?? createdAt;

/** One change of state. */
export interface IntentChange {
  seq: number;
  at: number;
  from: IntentState | undefined;
  to: IntentState;
  by: Evidence;
  /** What was seen, in words and ids. */
  data: Readonly<Record<string, unknown>>;
}
