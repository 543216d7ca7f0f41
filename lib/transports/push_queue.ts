/**
 * Events that wait for a reader who may be slow.
 *
 * @module
 */
import { pushes, type PushEvent } from "../operations/pushes.ts";
import type { ConflatedEvent, DroppedEvent, TransportEvent } from "./push_events.ts";

/** How much a {@linkcode PushQueue} holds. */
export interface PushQueueOptions {
  /**
   * Events that may wait before older quotes, books and broker queues give way to newer ones. Below it, every
   * single one arrives.
   *
   * @default {4096}
   */
  conflateAbove?: number;
  /**
   * Ticks that may wait; further ones are thrown away and counted in a `dropped` event.
   *
   * @default {100_000}
   */
  maxTicks?: number;
}

/** What waits in a queue, and what became of the rest. */
export interface PushQueueStats {
  /** Events that wait. */
  queued: number;
  /** Order events among them; they are never thrown away, so this has no bound. */
  queuedOrders: number;
  /** Values that gave way to newer ones so far. */
  conflated: number;
  /** Ticks thrown away so far. */
  dropped: number;
}

/** What may happen to an event while it waits. */
type Care = "keep" | "bound" | "conflate";

/** Ticks, and pushes that nobody can read, are many and of no use when late; all others are kept or conflated. */
function careOf(event: TransportEvent): Care {
  switch (event.type) {
    case "tick":
      return "bound";
    case "unknown":
      return event.expected === "order" ? "keep" : "bound";
    case "order":
    case "quote":
    case "brokers":
    case "book":
      return pushes[event.type].conflate ? "conflate" : "keep";
    default:
      return "keep";
  }
}

/** Coded members of a push, which tell apart values of one security: the side of a book, its session. */
const codedMembers = new Map(
  Object.values(pushes).map(({ type, payload }) => [
    type as string,
    Object.entries(payload.fields ?? {}).filter(([, info]) => info.type.dictionary !== undefined).map((
      [name],
    ) => name),
  ]),
);

/** Names what a newer event replaces: type, security, and every coded member, so that bids never hide asks. */
function conflationKey(event: PushEvent): string {
  // Members are read by the names that the payload's own record declares.
  const data = event.data as unknown as Record<string, unknown>;
  const security = "security" in event.data ? event.data.security : undefined;
  let key = `${event.type} ${security?.type} ${security?.symbol}`;
  for (const name of codedMembers.get(event.type) ?? []) key += ` ${data[name]}`;
  return key;
}

/**
 * A queue for one reader. Memory stays bounded when the reader stops, except for order events, of which none is
 * ever thrown away.
 */
export class PushQueue implements AsyncIterableIterator<TransportEvent> {
  readonly #conflateAbove: number;
  readonly #maxTicks: number;
  readonly #onReturn: () => void;
  #items: (TransportEvent | undefined)[] = [];
  #head = 0;
  /** Position of the first item, counted over the queue's whole life. */
  #base = 0;
  #latest: Map<string, number> | undefined;
  #bounded = 0;
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

  /** What waits, and what became of the rest. */
  get stats(): PushQueueStats {
    return {
      queued: this.#items.length - this.#head,
      queuedOrders: this.#orders,
      conflated: this.#conflated,
      dropped: this.#dropped,
    };
  }

  /** Adds an event at the end, or in the place of the one that it replaces. */
  push(event: TransportEvent): void {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ value: event, done: false });
      return;
    }
    const care = careOf(event);
    if (care === "bound") {
      if (this.#bounded >= this.#maxTicks) {
        this.#countDropped(event);
        return;
      }
      this.#bounded++;
    } else if (care === "conflate") {
      // Once an index exists it is kept up to date, also below the bound: an older value must not follow a newer.
      if (this.#latest !== undefined || this.#items.length - this.#head >= this.#conflateAbove) {
        // Only pushes of the broker are conflated; `careOf` has just said so.
        this.#conflate(event as PushEvent);
        return;
      }
    } else if (event.type === "order") this.#orders++;
    this.#items.push(event);
  }

  /** Ends the queue once what waits has been read; with an error, the reader gets it last. */
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

  /** Called by `break` in a loop: forgets what waits and takes no more. */
  return(): Promise<IteratorResult<TransportEvent>> {
    this.#items = [];
    this.#head = 0;
    this.#bounded = this.#orders = 0;
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
    // The caller has seen that an item waits.
    const event = this.#items[this.#head]!;
    this.#items[this.#head++] = undefined;
    if (event.type === "order") this.#orders--;
    else if (this.#bounded > 0 && careOf(event) === "bound") this.#bounded--;
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

  /** Puts a value in the place of the older one of its kind that still waits. */
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

  /** Finds the newest value of each kind that waits; done once per episode, as keys cost more than quotes. */
  #indexed(): Map<string, number> {
    const latest = new Map<string, number>();
    for (let index = this.#head; index < this.#items.length; index++) {
      // No item from the head on has been taken.
      const event = this.#items[index]!;
      // As in `push`: what is conflated is a push of the broker.
      if (careOf(event) === "conflate") latest.set(conflationKey(event as PushEvent), this.#base + index);
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

  /** Returns the mark that still waits, or puts a new one at the end. */
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
