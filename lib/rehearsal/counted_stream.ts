/**
 * Counts the pushes of a rehearsal, so that virtual time passes only after every push was handled, even on a
 * slow machine.
 *
 * @module
 */
import type { TransportEvent } from "../transports/push/events.ts";
import type { PushStream } from "../transports/push/stream.ts";
import type { Work } from "./turn.ts";

/** A reader that a step uses for a stream. */
interface Reader {
  /**
   * The number of the step's waits (`Work.waits`) when the reader got its last event; `undefined` while the
   * reader waits for an event.
   */
  waitsAtEvent: number | undefined;
}

/** A push stream that counts its pushes. */
export class CountedStream implements PushStream {
  readonly #stream: PushStream;
  readonly #work: Work;
  readonly #readers = new Set<Reader>();
  /** Number of pushes over earlier connections. */
  #earlier = 0;

  /** Wraps a stream for a step; `work` is the step's work. */
  constructor(stream: PushStream, work: Work) {
    this.#stream = stream;
    this.#work = work;
    const events = stream.events();
    // If the stream gives up, the step's own reader gets the error.
    this.#countConnections(events).catch(() => {});
  }

  /** Number of pushes over the current connection. */
  get received(): number {
    return this.#stream.stats.frames - this.#earlier;
  }

  /**
   * Whether the step is handling an event. A step that has begun to wait for virtual time since it got the event does
   * not count: it may ask for the next event only after that wait.
   */
  get isHandling(): boolean {
    return this.#readers.values().some(({ waitsAtEvent }) => waitsAtEvent === this.#work.waits);
  }

  /** Treats the events that are being handled now as handled. */
  giveUp(): void {
    for (const reader of this.#readers) reader.waitsAtEvent = undefined;
  }

  get state(): PushStream["state"] {
    return this.#stream.state;
  }

  get stats(): PushStream["stats"] {
    return this.#stream.stats;
  }

  events(): AsyncIterableIterator<TransportEvent> {
    const events = this.#stream.events();
    const reader: Reader = { waitsAtEvent: undefined };
    this.#readers.add(reader);
    const leave = () => void this.#readers.delete(reader);
    const iterator: AsyncIterableIterator<TransportEvent> = {
      [Symbol.asyncIterator]: () => iterator,
      next: async () => {
        reader.waitsAtEvent = undefined;
        const result = await events.next();
        if (result.done) leave();
        else reader.waitsAtEvent = this.#work.waits;
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
