/**
 * A push stream of a rehearsal. It counts what arrived, so that virtual time passes only after every push has been handled,
 * however slow the machine is.
 *
 * @module
 */
import type { TransportEvent } from "../transports/push/events.ts";
import type { PushStream } from "../transports/push/stream.ts";
import type { Work } from "./turn.ts";

/** A step's reader of a stream. */
interface Reader {
  /** How often the step had begun to wait when the reader got its last event; `undefined` if it waits for the next one. */
  since: number | undefined;
}

/** A push stream that counts its pushes. */
export class CountedStream implements PushStream {
  readonly #stream: PushStream;
  readonly #work: Work;
  readonly #readers = new Set<Reader>();
  /** Pushes of earlier connections. */
  #earlier = 0;

  /** Wraps a stream of a step whose work is `work`. */
  constructor(stream: PushStream, work: Work) {
    this.#stream = stream;
    this.#work = work;
    const events = stream.events();
    // The step's own reader gets the error of a stream that gives up.
    this.#countConnections(events).catch(() => {});
  }

  /** Number of pushes that arrived over the present connection. */
  get received(): number {
    return this.#stream.stats.frames - this.#earlier;
  }

  /**
   * Whether the step handles an event. A step that has begun to wait for virtual time since it got the event counts as
   * waiting, because it might never ask for the next event otherwise.
   */
  get isHandling(): boolean {
    return this.#readers.values().some(({ since }) => since === this.#work.waits);
  }

  /** Does not wait for the events that are being handled now. */
  giveUp(): void {
    for (const reader of this.#readers) reader.since = undefined;
  }

  get state(): PushStream["state"] {
    return this.#stream.state;
  }

  get stats(): PushStream["stats"] {
    return this.#stream.stats;
  }

  events(): AsyncIterableIterator<TransportEvent> {
    const events = this.#stream.events();
    const reader: Reader = { since: undefined };
    this.#readers.add(reader);
    const leave = () => void this.#readers.delete(reader);
    const iterator: AsyncIterableIterator<TransportEvent> = {
      [Symbol.asyncIterator]: () => iterator,
      next: async () => {
        reader.since = undefined;
        const result = await events.next();
        if (result.done) leave();
        else reader.since = this.#work.waits;
        return result;
      },
      return: async () => {
        leave();
        return await events.return?.() ?? { value: undefined, done: true };
      },
    };
    return iterator;
  }

  connected(): Promise<void> {
    return this.#stream.connected();
  }

  close(): Promise<void> {
    return this.#stream.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #countConnections(events: AsyncIterable<TransportEvent>): Promise<void> {
    for await (const event of events) {
      if (event.type !== "connection") continue;
      if (event.state === "lost" || event.state === "closed") this.#earlier = this.#stream.stats.frames;
    }
  }
}
