/**
 * Defines the events of a push stream: pushes, and changes of the connection that delivers them.
 *
 * @module
 */
import type { BrokerError, ProtocolError } from "../../errors.ts";
import type { PushEvent } from "../../operations/public_types.ts";

/**
 * Reports that pushes may be missing. The broker does not number pushes, so a client cannot know which are missing. A
 * program that tracks orders must query the orders again over HTTP.
 */
export interface GapEvent {
  /** Name of the event. */
  type: "gap";
  /**
   * Start of the time in which pushes may be missing, Unix milliseconds.
   *
   * - After a break: the time of the last byte.
   * - After a push with a wrong time: `to` minus the difference between the push's time and the broker's clock.
   * - After a rejected push: when it arrived.
   * - If pushes name two accounts: when the stream began.
   *
   * Without a break, it is at most a day before `to`.
   */
  from: number;
  /**
   * Unix milliseconds. After a break, when the connection and the subscriptions worked again; otherwise when the gap
   * was reported.
   */
  to: number;
  /** Why pushes may be missing. */
  reason: string;
  /** Set if the connection was replaced because it was silent for too long: it was dead, or the market was quiet. */
  silent?: true;
}

/** A change of the connection. */
export interface ConnectionEvent {
  /** Name of the event. */
  type: "connection";
  /** `connected`: the connection works and the subscriptions are restored. `closed`: the last event of a stream. */
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
  /** Name of the event. */
  type: "unknown";
  /** Type number of the push. */
  notifyType: number;
  /** Name of the payload's message. */
  payloadType: string;
  /** When the broker sent it, Unix milliseconds. */
  sentAt: number;
  /** The event type of this push, if its type number is known. If it is `order`, query the orders. */
  expected?: PushEvent["type"];
  /**
   * Why the push is unreadable. Code `other-account`: the push names an account that is not in `fundAccounts`, or no
   * account.
   */
  error?: ProtocolError;
  /**
   * Difference between `sentAt` and the broker's clock in milliseconds; only set if it exceeds five minutes.
   * Until an answer contains the broker's time, this machine's clock is used.
   */
  offMs?: number;
}

/** Reports a slow reader: newer quotes, books or broker queues have replaced older ones of the same security. */
export interface ConflatedEvent {
  /** Name of the event. */
  type: "conflated";
  /** Number of events that were replaced. */
  count: number;
}

/** Reports a slow reader: ticks, or `unknown` events that are not orders, were dropped. Orders are never dropped. */
export interface DroppedEvent {
  /** Name of the event. */
  type: "dropped";
  /** Number of dropped events. */
  count: number;
  /** When the broker sent the first dropped event, Unix milliseconds. */
  from: number;
  /** When the broker sent the last dropped event, Unix milliseconds. */
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

/** Returns `offMs` in words: "180 minutes behind the broker's clock". */
export function offTimeText(offMs: number, clock = "the broker's clock"): string {
  const minutes = Math.round(Math.abs(offMs) / 60_000);
  const span = minutes > 1440 ? "more than a day" : `${minutes} minutes`;
  return `${span} ${offMs < 0 ? "behind" : "ahead of"} ${clock}`;
}
