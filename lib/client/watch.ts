/**
 * Pushes for a client: one stream for all who watch, opened by the first and closed with the client.
 *
 * @module
 */
import type { PushTopic } from "../dictionaries/push.ts";
import { RejectedError, TransportError, UnmappedError } from "../errors.ts";
import type { AnyOperation, Params } from "../operations/operation.ts";
import { orders } from "../operations/orders.ts";
import { quotes } from "../operations/quotes.ts";
import type { PushStream } from "../transports/push.ts";
import type { TransportEvent } from "../transports/push_events.ts";
import type { BrokerTime, CallOptions, Transport } from "../transports/transport.ts";
import {
  type SendSubscription,
  Subscriptions,
  type Watch,
  type WatchedSecurity,
  watchFilter,
} from "./subscriptions.ts";

/** What to watch. */
export interface WatchOptions {
  /** Securities whose market data is wanted; at most 200 at once over all watches of a client. */
  securities?: readonly WatchedSecurity[];
  /**
   * Kinds of market data.
   *
   * @default ["quote"]
   */
  topics?: readonly PushTopic[];
  /**
   * Whether changes of orders come too.
   *
   * @default true
   */
  orders?: boolean;
  /** Ends the watch. */
  signal?: AbortSignal;
}

/** How the watches of a client reach the broker. */
export interface WatchContext {
  transport: Transport;
  call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown>;
  now: () => number;
  random: () => number;
  /** Numbers of our accounts, where they are known. */
  fundAccounts?: readonly string[];
}

/** The pushes of one client. */
export class Watches {
  readonly #context: WatchContext;
  readonly #subscriptions: Subscriptions;
  #stream: Promise<PushStream> | undefined;
  /** The request for order pushes, made once per stream. */
  #ordersOn: Promise<void> | undefined;
  /** How far the broker's clock was ahead of ours when it last told. */
  #aheadMs: number | undefined;

  constructor(context: WatchContext) {
    this.#context = context;
    this.#subscriptions = new Subscriptions({
      subscribe: this.#sender(quotes.subscribe),
      unsubscribe: this.#sender(quotes.unsubscribe),
    });
  }

  /** Yields events until the loop is left, the signal aborts, or the client is closed. */
  async *watch(options: WatchOptions): AsyncGenerator<TransportEvent, void, void> {
    const { securities = [], topics = ["quote"], signal } = options;
    const wanted = { topics, securities };
    const isWanted = watchFilter(wanted);
    const stream = await this.#open();
    const events = stream.events();
    // Whoever joins a stream that works already is told so as well.
    const joined: TransportEvent[] = stream.state === "connected"
      ? [{ type: "connection", state: "connected" }]
      : [];
    let failure: unknown;
    const stop = () => void events.return?.();
    let left = false;
    let subscribed: Promise<(() => Promise<void>) | undefined> = Promise.resolve(undefined);
    // Beside the loop, so that orders are not kept waiting by subscriptions.
    stream.connected().then(() => {
      if (left) return;
      subscribed = this.#subscribe(wanted, signal).catch((error) => {
        failure = error;
        stop();
        return undefined;
      });
    }).catch(stop); // closed before it worked: the events end as well, with the reason
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
      // Without a stream the gateway pushes nothing, and forgets by itself.
      if (stream.state !== "closed") await end?.().catch(ignoreRefusal);
    }
  }

  /** Subscribes without a watch: the securities count as the others do, and come back after a break. */
  async subscribe(
    { topic, securities }: Params<typeof quotes.subscribe>,
    options: CallOptions,
  ): Promise<void> {
    await this.#subscriptions.add({ topics: [topic], securities }, options.signal);
  }

  /** Ends what `subscribe` began. */
  async unsubscribe(
    { topic, securities }: Params<typeof quotes.unsubscribe>,
    options: CallOptions,
  ): Promise<void> {
    await this.#subscriptions.remove({ topics: [topic], securities }, options.signal);
  }

  /** Ends the stream and with it every watch. */
  async close(): Promise<void> {
    // Whoever watched was told that there is none.
    const stream = await this.#stream?.catch(() => undefined);
    this.#stream = undefined;
    this.#ordersOn = undefined;
    await stream?.close();
  }

  async #subscribe(wanted: Watch, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
    // A connection that breaks under the request asks again once it is back, and so does the next watch.
    await (this.#ordersOn ??= this.#switchOrdersOn({}).catch((error) => {
      this.#ordersOn = undefined;
      if (!(error instanceof TransportError)) throw error;
    }));
    return await this.#subscriptions.add(wanted, signal);
  }

  #open(): Promise<PushStream> {
    return this.#stream ??= this.#start();
  }

  async #start(): Promise<PushStream> {
    const { transport, now, random, fundAccounts } = this.#context;
    const { name } = transport;
    if (transport.openPushes === undefined) {
      throw new UnmappedError(`Cannot watch over "${name}": it has no pushes`, {
        code: "no-pushes",
        transport: name,
      });
    }
    return await transport.openPushes({
      now,
      random,
      aheadOf: () => this.#aheadMs,
      ...fundAccounts !== undefined && { fundAccounts },
      resubscribe: (signal) => this.#resubscribe(signal),
    });
  }

  async #resubscribe(signal: AbortSignal): Promise<void> {
    await this.#switchOrdersOn({ signal });
    await this.#subscriptions.resend(signal);
  }

  /** Order pushes are on by themselves; some gateways want to be asked all the same, and others refuse that. */
  async #switchOrdersOn(options: CallOptions): Promise<void> {
    const { call, now } = this.#context;
    // The answer tells the broker's time, by which old pushes are known.
    const onBrokerTime = ({ time }: BrokerTime) => void (this.#aheadMs = time - now());
    await call(orders.subscribe, {}, { ...options, onBrokerTime }).catch(ignoreRefusal);
  }

  #sender(operation: typeof quotes.subscribe): SendSubscription {
    return async (topic, securities, signal) => {
      await this.#context.call(operation, { topic, securities }, signal === undefined ? {} : { signal });
    };
  }
}

/** A first connection that fails is most likely a wrong address, and is not worth waiting for in silence. */
function throwIfNeverConnected(stream: PushStream, event: TransportEvent): void {
  const isFirstFailure = event.type === "connection" && event.error !== undefined &&
    stream.stats.connections === 0;
  if (isFirstFailure) throw event.error;
}

function ignoreRefusal(error: unknown): void {
  // A transport without the trade connection cannot ask at all.
  if (!(error instanceof RejectedError) && !(error instanceof UnmappedError)) throw error;
}
