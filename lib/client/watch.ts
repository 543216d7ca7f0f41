/**
 * Provides the pushes of a client. All watches share one stream. The first watch opens it, and `close` ends it.
 *
 * @module
 */
import type { PushTopic } from "../operations/public_types.ts";
import { RejectedError, TransportError, UnmappedError } from "../errors.ts";
import type { AnyOperation, Params } from "../operations/operation.ts";
import { loadFamily } from "../operations/families.ts";
import type { quotes } from "../operations/quotes.ts";
import type { PushStream } from "../transports/push/stream.ts";
import type { TransportEvent } from "../transports/push/events.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";
import {
  END_MS,
  type SendSubscription,
  Subscriptions,
  type Watch,
  type WatchedSecurity,
  watchFilter,
} from "./subscriptions.ts";
import type { Machine } from "../time.ts";

/** Data to watch. */
export interface WatchOptions {
  /** Securities whose market data to receive; at most 200 in total over all watches of a client. */
  securities?: readonly WatchedSecurity[];
  /**
   * Kinds of market data.
   *
   * @default ["quote"]
   */
  topics?: readonly PushTopic[];
  /**
   * Whether to receive order changes too.
   *
   * @default true
   */
  orders?: boolean;
  /** Stops the watch. */
  signal?: AbortSignal;
}

/** Parts of a client that its watches need. */
interface WatchContext {
  transport: Transport;
  call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown>;
  machine: Pick<Machine, "now" | "random">;
  /**
   * Returns the milliseconds by which the broker's clock is ahead of this machine's; `undefined` until an answer
   * contains the broker's time.
   */
  aheadOf: () => number | undefined;
  /** Numbers of the user's accounts, if known. */
  fundAccounts?: readonly string[];
}

/** The pushes of one client. */
export class Watches {
  readonly #context: WatchContext;
  readonly #subscriptions: Subscriptions;
  #stream: Promise<PushStream> | undefined;
  /** The request for order pushes, sent once per stream. */
  #ordersOn: Promise<void> | undefined;

  constructor(context: WatchContext) {
    this.#context = context;
    this.#subscriptions = new Subscriptions({
      subscribe: this.#sender("subscribe"),
      unsubscribe: this.#sender("unsubscribe"),
    });
  }

  /** Yields events until the caller leaves the loop, the signal aborts, or the client is closed. */
  async *watch(options: WatchOptions): AsyncGenerator<TransportEvent, void, void> {
    const { securities = [], topics = ["quote"], signal } = options;
    const wanted = { topics, securities };
    const isWanted = watchFilter(wanted);
    const stream = await this.#open();
    const events = stream.events();
    // A watch that joins a working stream gets a `connected` event too.
    const joined: TransportEvent[] = stream.state === "connected"
      ? [{ type: "connection", state: "connected" }]
      : [];
    let failure: unknown;
    const stop = () => void events.return?.();
    let left = false;
    let subscribed: Promise<(() => Promise<void>) | undefined> = Promise.resolve(undefined);
    // Subscribe concurrently with the loop, so that order pushes do not wait for subscriptions.
    stream.connected().then(() => {
      if (left) return;
      subscribed = this.#subscribe(wanted, signal).catch((error) => {
        failure = error;
        stop();
        return undefined;
      });
    }).catch(stop); // the stream closed before it connected: end the events with the reason
    signal?.addEventListener("abort", stop);
    try {
      if (signal?.aborted) return;
      yield* joined;
      for await (const event of events) {
        throwIfNeverConnected(stream, event);
        if (event.type === "order" ? options.orders ?? true : isWanted(event)) yield event;
      }
      if (failure !== undefined && !signal?.aborted) throw failure;
    } finally {
      signal?.removeEventListener("abort", stop);
      left = true;
      stop();
      const end = await subscribed;
      // After the stream is closed, the gateway has forgotten the subscriptions.
      if (stream.state !== "closed") await this.#end(end, signal);
    }
  }

  /**
   * Subscribes without a watch. These securities count towards the limit. When the stream of the watches reconnects,
   * they are subscribed again.
   */
  async subscribe(
    { topic, securities }: Params<typeof quotes.subscribe>,
    options: CallOptions,
  ): Promise<void> {
    await this.#subscriptions.keep({ topics: [topic], securities }, options.signal);
  }

  /**
   * Cancels subscriptions that `subscribe` added, and those that this client did not make. Running watches keep theirs.
   */
  async unsubscribe(
    { topic, securities }: Params<typeof quotes.unsubscribe>,
    options: CallOptions,
  ): Promise<void> {
    await this.#subscriptions.remove({ topics: [topic], securities }, options.signal);
  }

  /** Closes the stream and ends every watch. */
  async close(): Promise<void> {
    // If the stream could not be opened, the watches have already got that error.
    const stream = await this.#stream?.catch(() => undefined);
    this.#stream = undefined;
    this.#ordersOn = undefined;
    await stream?.close();
  }

  async #subscribe(wanted: Watch, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
    // If the connection breaks during the request, the request is sent again after the reconnect or by the next
    // watch.
    await (this.#ordersOn ??= this.#switchOrdersOn({}).catch((error) => {
      this.#ordersOn = undefined;
      if (!(error instanceof TransportError)) throw error;
    }));
    return await this.#subscriptions.add(wanted, signal);
  }

  /** Ends a watch's subscriptions. An aborted watch waits only briefly, and reports no failure. */
  async #end(
    end: ((signal?: AbortSignal) => Promise<void>) | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!signal?.aborted) return await end?.().catch(ignoreRefusal);
    await end?.(AbortSignal.timeout(END_MS)).catch(() => {});
  }

  /** Returns the stream that all watches share. Opens a new one if the last one has ended or could not be opened. */
  async #open(): Promise<PushStream> {
    const last = this.#stream;
    // If the last stream could not be opened, the watch that opened it has already got the error.
    const stream = await last?.catch(() => undefined);
    if (stream !== undefined && stream.state !== "closed") return stream;
    if (last !== undefined && this.#stream === last) {
      this.#stream = undefined;
      this.#ordersOn = undefined;
    }
    return await (this.#stream ??= this.#start());
  }

  async #start(): Promise<PushStream> {
    const { transport, machine: { now, random }, aheadOf, fundAccounts } = this.#context;
    const { name } = transport;
    if (transport.openPushes === undefined) {
      throw new UnmappedError(`Cannot watch: the transport "${name}" has no pushes`, {
        code: "no-pushes",
        transport: name,
      });
    }
    return await transport.openPushes({
      now,
      random,
      aheadOf,
      ...fundAccounts !== undefined && { fundAccounts },
      resubscribe: (signal) => this.#resubscribe(signal),
    });
  }

  async #resubscribe(signal: AbortSignal): Promise<void> {
    await this.#switchOrdersOn({ signal });
    await this.#subscriptions.resend(signal);
  }

  /**
   * Requests order pushes. They are on by default; some gateways still expect the request, others reject it.
   */
  async #switchOrdersOn(options: CallOptions): Promise<void> {
    const { subscribe } = await loadFamily("orders");
    await this.#context.call(subscribe, {}, options).catch(ignoreRefusal);
  }

  #sender(key: "subscribe" | "unsubscribe"): SendSubscription {
    return async (topic, securities, signal) => {
      const operation = (await loadFamily("quotes"))[key];
      await this.#context.call(operation, { topic, securities }, signal === undefined ? {} : { signal });
    };
  }
}

/** Throws if the first connection fails: the address is probably wrong. */
function throwIfNeverConnected(stream: PushStream, event: TransportEvent): void {
  const isFirstFailure = event.type === "connection" && event.error !== undefined &&
    stream.stats.connections === 0;
  if (isFirstFailure) throw event.error;
}

function ignoreRefusal(error: unknown): void {
  // A transport without the trade connection cannot send the request.
  if (!(error instanceof RejectedError) && !(error instanceof UnmappedError)) throw error;
}
