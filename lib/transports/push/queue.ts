/**
 * Queues events for a reader that may be slow.
 *
 * @module
 */
import type { PushEvent } from "../../operations/public_types.ts";
import { pushes } from "../../operations/pushes.ts";
import type { ConflatedEvent, DroppedEvent, TransportEvent } from "./events.ts";

/** Limits of a {@linkcode PushQueue}. */
export interface PushQueueOptions {
  /**
   * If this many events wait, newer quotes, books and broker queues replace older ones. Otherwise the reader gets every
   * event.
   *
   * @default {4096}
   */
  conflateAbove?: number;
  /**
   * Maximum number of waiting ticks and of waiting `unknown` events that are not orders, together. Further ones are
   * dropped and counted in a `dropped` event.
   *
   * @default {100_000}
   */
  maxTicks?: number;
}

/** Counters of a queue. */
export interface PushQueueStats {
  /** Number of waiting events. */
  queued: number;
  /** Number of waiting order events. Orders are never dropped, so the number has no limit. */
  queuedOrders: number;
  /** Number of values replaced by newer ones so far. */
  conflated: number;
  /** Number of events dropped so far. */
  dropped: number;
}

/** What the queue does with an event at a limit: keeps it, drops it, or replaces an older event with it. */
type OverflowPolicy = "keep" | "drop" | "conflate";

/**
 * Returns the overflow policy of an event. Ticks may be dropped, because they are numerous and useless when late. So
 * may unreadable pushes that are not order pushes. All other events are kept or conflated.
 */
function overflowPolicyOf(event: TransportEvent): OverflowPolicy {
  switch (event.type) {
    case "tick":
      return "drop";
    case "unknown":
      return event.expected === "order" ? "keep" : "drop";
    case "order":
    case "quote":
    case "brokers":
    case "book":
      return pushes[event.type].conflate ? "conflate" : "keep";
    default:
      return "keep";
  }
}

/**
 * Members of each push that have a code table. They distinguish values of one security, such as the sides of a book.
 */
const codedMembers = new Map(
  Object.values(pushes).map(({ type, payload }) => [
    type as string,
    Object.entries(payload.fields ?? {}).filter(([, info]) => info.type.dictionary !== undefined).map((
      [name],
    ) => name),
  ]),
);

/**
 * Returns the key of an event: type, security and coded members. An event replaces only events with the same key, so
 * bids never replace asks.
 */
function conflationKey(event: PushEvent): string {
  // The record of the payload declares the member names read here.
  const data = event.data as unknown as Record<string, unknown>;
  const security = "security" in event.data ? event.data.security : undefined;
  let key = `${event.type} ${security?.type} ${security?.symbol}`;
  for (const name of codedMembers.get(event.type) ?? []) key += ` ${data[name]}`;
  return key;
}

/**
 * A queue for one reader. If the reader stops, the limits of the queue and the number of securities bound the memory
 * use. Order events have no limit, because they are never dropped.
 */
export class PushQueue implements AsyncIterableIterator<TransportEvent> {
  readonly #conflateAbove: number;
  readonly #maxTicks: number;
  readonly #onReturn: () => void;
  #items: (TransportEvent | undefined)[] = [];
  #head = 0;
  /** Position of the first item, counted since the queue was created. */
  #base = 0;
  #latest: Map<string, number> | undefined;
  #droppable = 0;
  #orders = 0;
  #conflated = 0;
  #dropped = 0;
  #conflatedMark: { event: ConflatedEvent; position: number } | undefined;
  #droppedMark: { event: DroppedEvent; position: number } | undefined;
  #waiting: PromiseWithResolvers<IteratorResult<TransportEvent>>[] = [];
  #ended = false;
  #error: unknown;

  constructor(options: PushQueueOptions = {}, onReturn: () => void = () => {}) {
    this.#conflateAbove = options.conflateAbove ?? 4096;
    this.#maxTicks = options.maxTicks ?? 100_000;
    this.#onReturn = onReturn;
  }

  /** The current counters. */
  get stats(): PushQueueStats {
    return {
      queued: this.#items.length - this.#head,
      queuedOrders: this.#orders,
      conflated: this.#conflated,
      dropped: this.#dropped,
    };
  }

  /**
   * Passes an event to a waiting reader. If no reader waits, adds the event at the end. At a limit, replaces an older
   * event with the same key, or drops the event.
   */
  push(event: TransportEvent): void {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ value: event, done: false });
      return;
    }
    const policy = overflowPolicyOf(event);
    if (policy === "drop") {
      if (this.#droppable >= this.#maxTicks) {
        this.#countDropped(event);
        return;
      }
      this.#droppable++;
    } else if (policy === "conflate") {
      // Use an existing index even below the limit and keep it up to date. Otherwise an older value could follow a
      // newer one.
      if (this.#latest !== undefined || this.#items.length - this.#head >= this.#conflateAbove) {
        // Only the broker's pushes have the policy `conflate`.
        this.#conflate(event as PushEvent);
        return;
      }
    } else if (event.type === "order") this.#orders++;
    this.#items.push(event);
  }

  /**
   * Ends the queue after the waiting events have been read. If an error is given, the reader gets it last.
   */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const waiting of this.#waiting.splice(0)) this.#finish(waiting);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<TransportEvent>> {
    if (this.#head < this.#items.length) return Promise.resolve({ value: this.#take(), done: false });
    const waiting = Promise.withResolvers<IteratorResult<TransportEvent>>();
    if (this.#ended) this.#finish(waiting);
    else this.#waiting.push(waiting);
    return waiting.promise;
  }

  /** Discards the waiting events and accepts no more. A `break` in a loop calls this. */
  return(): Promise<IteratorResult<TransportEvent>> {
    this.#items = [];
    this.#head = 0;
    this.#droppable = this.#orders = 0;
    this.#latest = undefined;
    this.end();
    this.#onReturn();
    return Promise.resolve({ value: undefined, done: true });
  }

  #finish(waiting: PromiseWithResolvers<IteratorResult<TransportEvent>>): void {
    const error = this.#error;
    this.#error = undefined;
    if (error === undefined) waiting.resolve({ value: undefined, done: true });
    else waiting.reject(error);
  }

  #take(): TransportEvent {
    // The caller has checked that an item waits.
    const event = this.#items[this.#head]!;
    this.#items[this.#head++] = undefined;
    if (event.type === "order") this.#orders--;
    else if (this.#droppable > 0 && overflowPolicyOf(event) === "drop") this.#droppable--;
    if (this.#head === this.#items.length) {
      this.#latest = undefined;
      this.#shift();
    } else if (this.#head >= 4096 && this.#head * 2 >= this.#items.length) this.#shift();
    return event;
  }

  #shift(): void {
    this.#base += this.#head;
    this.#items.splice(0, this.#head);
    this.#head = 0;
  }

  /** Replaces the waiting event with the same key if the queue is crowded; otherwise adds the event at the end. */
  #conflate(event: PushEvent): void {
    const latest = this.#latest ??= this.#indexed();
    const key = conflationKey(event);
    const position = latest.get(key);
    const isCrowded = this.#items.length - this.#head >= this.#conflateAbove;
    if (!isCrowded || position === undefined || position < this.#base + this.#head) {
      latest.set(key, this.#base + this.#items.length);
      this.#items.push(event);
      return;
    }
    this.#items[position - this.#base] = event;
    this.#conflated++;
    this.#conflatedMark = this.#mark(this.#conflatedMark, () => ({ type: "conflated", count: 0 }));
    this.#conflatedMark.event.count++;
  }

  /**
   * Returns the position of the newest waiting event of each key. Called once per overflow, because keys are
   * expensive.
   */
  #indexed(): Map<string, number> {
    const latest = new Map<string, number>();
    for (let index = this.#head; index < this.#items.length; index++) {
      // The items from the head on have not been read.
      const event = this.#items[index]!;
      // Only the broker's pushes have the policy `conflate`.
      if (overflowPolicyOf(event) === "conflate") {
        latest.set(conflationKey(event as PushEvent), this.#base + index);
      }
    }
    return latest;
  }

  #countDropped(event: TransportEvent): void {
    const at = "sentAt" in event ? event.sentAt : 0;
    this.#dropped++;
    this.#droppedMark = this.#mark(
      this.#droppedMark,
      () => ({ type: "dropped", count: 0, from: at, to: at }),
    );
    const { event: dropped } = this.#droppedMark;
    dropped.count++;
    dropped.to = at;
  }

  /** Returns the `dropped` or `conflated` event that waits, or adds a new one at the end. */
  #mark<Event extends TransportEvent>(
    mark: { event: Event; position: number } | undefined,
    make: () => Event,
  ): { event: Event; position: number } {
    if (mark !== undefined && mark.position >= this.#base + this.#head) return mark;
    const event = make();
    this.#items.push(event);
    return { event, position: this.#base + this.#items.length - 1 };
  }
}
