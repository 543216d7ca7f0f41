/**
 * What a push stream tells: pushes, and what became of the connection that brings them.
 *
 * @module
 */
import type { BrokerError, ProtocolError } from "../errors.ts";
import type { PushEvent } from "../operations/pushes.ts";

/**
 * Pushes may be missing. The broker numbers none, so nobody can tell which: whoever keeps orders asks for them
 * again over HTTP.
 */
export interface GapEvent {
  type: "gap";
  /** Last byte before the break, Unix milliseconds. */
  from: number;
  /** When the connection worked again, subscriptions included, Unix milliseconds. */
  to: number;
  /** What broke. */
  reason: string;
  /** The connection had not ended: nothing came for too long, as on a dead connection and in a market without news. */
  silent?: true;
}

/** A change of the connection. */
export interface ConnectionEvent {
  type: "connection";
  /** `connected` once the subscriptions are back as well; `closed` is the last event of a stream. */
  state: "connected" | "lost" | "reconnecting" | "closed";
  /** Number of the coming attempt, counted from 1; with `reconnecting`. */
  attempt?: number;
  /** Wait before it, milliseconds; with `reconnecting`. */
  waitMs?: number;
  /** What went wrong; with `lost` and `reconnecting`. The code `idle` means that nothing came for too long. */
  error?: BrokerError;
  /** Last byte before the loss, Unix milliseconds; with `lost`. Pushes may be missing from then on. */
  lastByteAt?: number;
}

/** A push that nobody described, or one that could not be read. */
export interface UnknownEvent {
  type: "unknown";
  /** Number of the push. */
  notifyType: number;
  /** Name of the payload's message. */
  payloadType: string;
  /** When the broker sent it, Unix milliseconds. */
  sentAt: number;
  /** The event that the number stands for, where it is a known one. An `order` here means: look at the orders. */
  expected?: PushEvent["type"];
  /** Why it could not be read; the code `other-account` means that it is of an account that is not ours. */
  error?: ProtocolError;
  /** How far `sentAt` is from the broker's clock, milliseconds; only when that is more than five minutes. */
  offMs?: number;
}

/** The reader was slow: older quotes, books or broker queues gave way to newer ones of the same security. */
export interface ConflatedEvent {
  type: "conflated";
  /** How many older ones are gone. */
  count: number;
}

/** The reader was too slow: ticks were thrown away. Orders never are. */
export interface DroppedEvent {
  type: "dropped";
  /** How many. */
  count: number;
  /** When the broker sent the first of them, Unix milliseconds. */
  from: number;
  /** When the broker sent the last of them, Unix milliseconds. */
  to: number;
}

/** Everything that a push stream tells, told apart by `type`. */
export type TransportEvent =
  | PushEvent
  | GapEvent
  | ConnectionEvent
  | UnknownEvent
  | ConflatedEvent
  | DroppedEvent;
