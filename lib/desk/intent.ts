/**
 * Defines an intent: the record of one order write, from its plan to its outcome.
 *
 * @module
 */
import { type Decimal, isDecimal } from "../decimal.ts";
import { isMap, isMaybeText, isTexts } from "../foreign_values.ts";
import type { Evidence, IntentState } from "./states.ts";

/** What a write does with orders. */
export type IntentKind = "place" | "amend" | "cancel";

/** Who wants a write, and why. */
export interface Why {
  /** The name of the recipe that writes; absent for a person or a script. */
  recipe?: string;
  /** Key of the run that writes. */
  runKey?: string;
  /** Id of the step that writes. */
  step?: string;
  /** Name of the person or program. */
  by?: string;
  /** Hash of the rebalancing plan that the order is part of. */
  plan?: string;
  /** Index of the trade in the plan, from 0. */
  trade?: number;
}

const isMaybeNumber = (value: unknown) => value === undefined || Number.isFinite(value);

/** Returns whether a value of a store is a {@linkcode Why}. */
export const isWhy = (value: unknown): boolean =>
  isMap(value) && [value.recipe, value.runKey, value.step, value.by, value.plan].every(isMaybeText) &&
  isMaybeNumber(value.trade);

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

/** Returns whether a value of a store is an {@linkcode AbsentReadings}. */
export const isAbsent = (value: unknown): boolean =>
  isMap(value) && [value.count, value.firstAt, value.lastAt].every(Number.isFinite) &&
  isMaybeNumber(value.firstBrokerAt) && isMaybeNumber(value.lastBrokerAt);

/** Returns whether a value of a store can be the {@linkcode Intent.earlier} terms of an order. */
export const isEarlier = (value: unknown): boolean => isMap(value) && isTexts(Object.values(value));

/** The record of one order write, from its plan to its outcome. */
export interface Intent {
  /** Id of the intent, unique in the store. */
  id: string;
  /** Name of the account. */
  account: string;
  /** What the write does with orders. */
  kind: IntentKind;
  /** Name of the operation in this library. */
  operation: string;
  /** Parameters of the call, with the names of this library. */
  params: Readonly<Record<string, unknown>>;
  /** Equal for two intents with the same request; see `fingerprintOf`. */
  fingerprint: string;
  /** Who wants the write, and why. */
  why: Why;
  /** State of the write. */
  state: IntentState;
  /** Orders of the broker that belong to it. More than one if the broker split the order. */
  orderIds: readonly string[];
  /** Orders that the intent's conditional or algorithmic order has placed. */
  childIds: readonly string[];
  /**
   * Orders that were in the broker's lists just before the write was sent. For a cancellation of all orders: the orders
   * that were open then.
   */
  known: readonly string[];
  /** Terms of the amended order just before the amendment was sent; absent if the lists did not show the order. */
  earlier: Readonly<Record<string, string>> | undefined;
  /**
   * The lists are read from this instant on, Unix milliseconds. It is the time at which the intent was sent, by this
   * machine's clock or by the broker's, whichever is earlier. Orders of earlier days cannot be orders of the intent.
   */
  readSince: number | undefined;
  /** The broker's time when the intent was approved, Unix milliseconds; absent if it was unknown. */
  brokerAt: number | undefined;
  /** Quantity filled so far, according to the lists. */
  filled: string;
  /** Readings that did not show the order; absent if there were none. */
  absent: AbsentReadings | undefined;
  /** When it was planned, Unix milliseconds. */
  createdAt: number;
  /** When it was recorded as sent, just before the first byte; Unix milliseconds. Absent if it was never sent. */
  sentAt: number | undefined;
  /**
   * Its position in the sequence of the account's writes. Absent until it is sent, and in records of older versions.
   */
  sentNumber: number | undefined;
  /** How long the call waits for its answer, in milliseconds. */
  timeoutMs: number;
  /** When its final state was recorded, Unix milliseconds; absent before. */
  endedAt: number | undefined;
}

/** Returns the instant from which the lists are read for an intent, Unix milliseconds. */
export const sinceOf = (
  { readSince, sentAt, createdAt }: Pick<Intent, "readSince" | "sentAt" | "createdAt">,
): number => readSince ?? sentAt ?? createdAt;

/** One change of state. */
export interface IntentChange {
  /** Number of the change within its intent, from 1. */
  seq: number;
  at: number;
  /** The state before; absent for the first change. */
  from: IntentState | undefined;
  to: IntentState;
  by: Evidence;
  /** What proved the change, in words and ids. */
  data: Readonly<Record<string, unknown>>;
}

/** Terms that an order write does not contain itself, recorded when it is approved. The value limits use them. */
export interface ApprovedTerms {
  /** Price at which the limits valued the order, if it is not the order's own price. */
  reference?: Decimal;
  /** Listing and quantity of an amended order. */
  symbol?: string;
  quantity?: Decimal;
}

/** Returns whether a value of a store can be the {@linkcode IntentChange.data} of a change. */
export const isProof = (value: unknown): value is ApprovedTerms & Record<string, unknown> =>
  isMap(value) && isMaybeText(value.why) && isMaybeText(value.symbol) &&
  [value.reference, value.quantity].every((each) => each === undefined || isDecimal(each)) &&
  (value.orders === undefined || Array.isArray(value.orders) && value.orders.every(isMap));
