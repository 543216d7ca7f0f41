/**
 * Defines the events of the direct transport: the states of its connections, and their faults.
 *
 * @module
 */
import type { BrokerError } from "../../errors.ts";
import type { LateAnswer } from "../transport.ts";

/** One of the two connections. */
export type ChannelName = "trade" | "quote";

/**
 * State of a connection. `idle` lasts until the first use. Then follow `platform-login` (getting a token),
 * `connecting`, `initializing` (the first request), `trade-login` and `ready`. After a break come `lost` and
 * `waiting` (for the next attempt). `stopped`: an error, such as a login takeover, prevents further attempts.
 * `closed`: the program closed it.
 */
export type DirectPhase =
  | "idle"
  | "platform-login"
  | "connecting"
  | "initializing"
  | "trade-login"
  | "ready"
  | "lost"
  | "waiting"
  | "stopped"
  | "closed";

/**
 * State of the trade login. `made`: logged in. `none`: no login so far, or logged out. `refused`: the platform rejected
 * the login. `gone`: the login has expired and will be renewed.
 */
export type TradeLoginState = "made" | "none" | "refused" | "gone";

/** A state of one connection. */
export interface DirectState {
  /** Name of the event. */
  type: "state";
  /** The connection. */
  channel: ChannelName;
  /** Its new state. */
  phase: DirectPhase;
  /** When it was reached, Unix milliseconds. */
  at: number;
  /** State of the trade login; with `ready` on the trade connection. */
  tradeLogin?: TradeLoginState;
  /** Time between heartbeats; with `ready`. */
  heartbeatMs?: number;
  /** Number of the next attempt, from 1; with `waiting`. */
  attempt?: number;
  /** Wait before the next attempt; with `waiting`. */
  waitMs?: number;
  /** The error; with `lost`, `waiting` and `stopped`. */
  error?: BrokerError;
}

/** An error that no call reports. */
export interface DirectFault {
  /** Name of the event. */
  type: "fault";
  /** The connection with the error. */
  channel: ChannelName;
  /** When the error occurred, Unix milliseconds. */
  at: number;
  /** The error. */
  error: BrokerError;
}

/** An answer that arrived after its call had timed out or was aborted. */
export interface LateAnswerEvent extends LateAnswer {
  /** Name of the event. */
  type: "late-answer";
  /** The connection that received the answer. */
  channel: ChannelName;
  /** When the answer arrived, Unix milliseconds. */
  at: number;
}

/** Any event of the direct transport, distinguished by `type`. */
export type DirectEvent = DirectState | DirectFault | LateAnswerEvent;

const phases: Readonly<Record<DirectPhase, string>> = {
  "idle": "not connected",
  "platform-login": "logging in to the platform",
  "connecting": "connecting",
  "initializing": "agreeing on a key",
  "trade-login": "logging in for trading",
  "ready": "ready",
  "lost": "lost",
  "waiting": "waiting",
  "stopped": "stopped",
  "closed": "closed",
};

/** Formats an event as one line, such as `trade: ready, heartbeat every 30 s, trade login made`. */
export function describeDirectEvent(event: DirectEvent): string {
  if (event.type === "fault") return `${event.channel}: fault: ${event.error.message}`;
  if (event.type === "late-answer") {
    const outcome = event.error === undefined ? "it succeeded" : "it was rejected";
    return `${event.channel}: ${event.operation} was answered after it was given up: ${outcome}`;
  }
  const parts = [phases[event.phase]];
  if (event.heartbeatMs !== undefined) parts.push(`heartbeat every ${event.heartbeatMs / 1000} s`);
  if (event.tradeLogin !== undefined) parts.push(`trade login ${event.tradeLogin}`);
  if (event.waitMs !== undefined) parts.push(`attempt ${event.attempt} in ${event.waitMs} ms`);
  const error = event.error === undefined ? "" : `: ${event.error.message}`;
  return `${event.channel}: ${parts.join(", ")}${error}`;
}

/** Maximum number of events to keep for a reader that does not read. The oldest events are dropped first. */
const MOST_WAITING = 1000;

/** Passes events to any number of readers. Each reader starts with the latest states. */
export class EventFeed {
  readonly #readers = new Set<EventQueue>();
  readonly #latest = new Map<ChannelName, DirectState>();
  #ended = false;

  /** Returns the latest state of a connection; `undefined` if no state was reported yet. */
  latest(channel: ChannelName): DirectState | undefined {
    return this.#latest.get(channel);
  }

  emit(event: DirectEvent): void {
    if (event.type === "state") this.#latest.set(event.channel, event);
    for (const reader of this.#readers) reader.push(event);
  }

  events(): AsyncIterableIterator<DirectEvent> {
    const queue = new EventQueue(() => this.#readers.delete(queue));
    for (const state of this.#latest.values()) queue.push(state);
    if (this.#ended) queue.end();
    else this.#readers.add(queue);
    return queue;
  }

  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }
}

class EventQueue implements AsyncIterableIterator<DirectEvent> {
  readonly #onReturn: () => void;
  readonly #items: DirectEvent[] = [];
  readonly #waiting: ((result: IteratorResult<DirectEvent>) => void)[] = [];
  #ended = false;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  push(event: DirectEvent): void {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting({ value: event, done: false });
    this.#items.push(event);
    if (this.#items.length > MOST_WAITING) this.#items.shift();
  }

  end(): void {
    this.#ended = true;
    for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<DirectEvent>> {
    const event = this.#items.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<DirectEvent>> {
    this.#items.length = 0;
    this.end();
    this.#onReturn();
    return Promise.resolve({ value: undefined, done: true });
  }
}
