/**
 * Defines the events of a push stream: pushes, and changes of the connection that delivers them.
 *
 * @module
 */
import type { BrokerError, ProtocolError } from "../../errors.ts";
import type { PushEvent } from "../../operations/pushes.ts";

/**
 * Pushes may be missing. The broker does not number them, so a client cannot know which. A program that tracks
 * orders must query them again over HTTP.
 */
export interface GapEvent {
  type: "gap";
  /**
   * Time of the last byte before the break, Unix milliseconds. If a push had a wrong time, its distance from the
   * broker's clock before `to`, and at most a day.
   */
  from: number;
  /** When the connection worked again, including subscriptions, Unix milliseconds. */
  to: number;
  /** Why pushes may be missing. */
  reason: string;
  /** Set if the connection did not end but was silent for too long: it is dead, or the market is quiet. */
  silent?: true;
}

/** A change of the connection. */
export interface ConnectionEvent {
  type: "connection";
  /** `connected` once the subscriptions are restored too; `closed` is the last event of a stream. */
  state: "connected" | "lost" | "reconnecting" | "closed";
  /** Number of the next attempt, from 1; with `reconnecting`. */
  attempt?: number;
  /** Wait before the next attempt, milliseconds; with `reconnecting`. */
  waitMs?: number;
  /**
   * The error; with `lost` and `reconnecting`. The code `idle` means that the connection was silent for too
   * long.
   */
  error?: BrokerError;
  /**
   * Time of the last byte before the loss, Unix milliseconds; with `lost`. Pushes may be missing from then
   * on.
   */
  lastByteAt?: number;
}

/** A push that is undocumented or unreadable. */
export interface UnknownEvent {
  type: "unknown";
  /** Type number of the push. */
  notifyType: number;
  /** Name of the payload's message. */
  payloadType: string;
  /** When the broker sent it, Unix milliseconds. */
  sentAt: number;
  /** The event with this number, if it is known. If it is `order`, query the orders. */
  expected?: PushEvent["type"];
  /** Why it is unreadable; the code `other-account` means that it names an account that is not ours, or none. */
  error?: ProtocolError;
  /**
   * Difference between `sentAt` and the broker's clock in milliseconds; only set if it exceeds five minutes.
   * Until an answer contains the broker's time, this machine's clock is used.
   */
  offMs?: number;
}

/** The reader was slow: newer quotes, books or broker queues replaced older ones of the same security. */
export interface ConflatedEvent {
  type: "conflated";
  /** Number of events that were replaced. */
  count: number;
}

/** The reader was too slow: ticks were dropped. Orders are never dropped. */
export interface DroppedEvent {
  type: "dropped";
  /** Number of dropped ticks. */
  count: number;
  /** When the broker sent the first dropped tick, Unix milliseconds. */
  from: number;
  /** When the broker sent the last dropped tick, Unix milliseconds. */
  to: number;
}

/** Any event of a push stream, distinguished by `type`. */
export type TransportEvent =
  | PushEvent
  | GapEvent
  | ConnectionEvent
  | UnknownEvent
  | ConflatedEvent
  | DroppedEvent;

/** Returns the mark `offMs` in words: "180 minutes behind the broker's clock". */
export function offTimeText(offMs: number, clock = "the broker's clock"): string {
  const minutes = Math.round(Math.abs(offMs) / 60_000);
  const span = minutes > 1440 ? "more than a day" : `${minutes} minutes`;
  return `${span} ${offMs < 0 ? "behind" : "ahead of"} ${clock}`;
}
