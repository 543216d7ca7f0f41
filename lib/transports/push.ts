/**
 * The push stream: orders, quotes, ticks, broker queues and books as they come, over a connection that is opened
 * again when it breaks. Over the gateway that is one TCP port; the direct way brings its own source.
 *
 * @see API document 6.1, 6.2
 * @module
 */
import { BrokerError, BusyError, LoginRefusedError, RejectedError, TransportError } from "../errors.ts";
import { loadEnvelopes } from "../wire/envelope.ts";
import {
  backoffMs,
  HourlyLimit,
  longestPause,
  orAborted,
  pause,
  type ReconnectOptions,
} from "./push_waits.ts";
import { PushGuard } from "./push_guard.ts";
import type { ConnectionEvent, GapEvent, TransportEvent } from "./push_events.ts";
import { PushQueue, type PushQueueOptions, type PushQueueStats } from "./push_queue.ts";
import { createPushReader, OTHER_ACCOUNT, type PushReader } from "./push_reader.ts";
import {
  gatewaySource,
  type GatewaySourceOptions,
  type PushHandlers,
  type PushLine,
  type PushSource,
} from "./push_source.ts";

/** What a stream needs, whatever its source. */
export interface PushHooks extends PushQueueOptions {
  /** The time, Unix milliseconds. */
  now: () => number;
  /** Source of jitter, from 0 up to 1. */
  random: () => number;
  /**
   * Makes the subscriptions again, over HTTP, after a break. The stream counts as connected when it has resolved;
   * when it rejects, it is called again after a pause, while pushes are already read.
   */
  resubscribe?: (signal: AbortSignal) => Promise<void>;
  /** Told of each gap, before the readers are. */
  onGap?: (gap: GapEvent) => void;
  /** Closes the stream. */
  signal?: AbortSignal;
  /**
   * Numbers of the accounts whose orders are ours. Pushes of any other are refused and counted.
   *
   * @default the first account that comes, for each kind of order push
   */
  fundAccounts?: readonly string[];
  /** How far the broker's clock is ahead of `now`, milliseconds, where an answer has told. */
  aheadOf?: () => number | undefined;
  /** When a lost connection is tried again; `false` for never. */
  reconnect?: ReconnectOptions | false;
}

/** Options of {@linkcode openPushStream}. */
export interface PushStreamOptions extends PushHooks, GatewaySourceOptions {}

/** A stream of pushes. Close it with `await using`, or with `close()`. */
export interface PushStream extends AsyncDisposable {
  /** What became of the connection; `connecting` until it worked for the first time. */
  readonly state: ConnectionEvent["state"] | "connecting";
  /** What came, and what waits for the readers. */
  readonly stats: PushStreamStats;
  /**
   * Starts a reader, which gets every event from this call on, in a queue of its own; leave the loop to stop it.
   * Readers share the event objects and must not change them.
   *
   * @throws {TransportError} From the iterator's `next()`, when the stream has given up.
   */
  events(): AsyncIterableIterator<TransportEvent>;
  /**
   * Resolves when the connection works, subscriptions included.
   *
   * @throws {TransportError} When the stream is closed before.
   */
  connected(): Promise<void>;
  /** Ends the connection and, after what they have queued, the readers. */
  close(): Promise<void>;
}

/** Counters of a stream. */
export interface PushStreamStats {
  /** Push frames read. */
  frames: number;
  /** Order events among them. */
  orders: number;
  /** Pushes that came again with the very same bytes; readers got them once. */
  repeated: number;
  /** Pushes whose time is more than five minutes from the broker's clock; readers got them with `offMs`. */
  offTime: number;
  /** Pushes of another account; readers got an `unknown` event in the place of each. */
  ofOthers: number;
  /** Connections that worked. */
  connections: number;
  /** What waits for each reader. */
  readers: PushQueueStats[];
}

/**
 * Opens the gateway's push stream. Order events come by themselves; the others are subscribed to over HTTP.
 * Call `events()` before anything is awaited to miss nothing.
 *
 * @example Print fills
 * ```ts ignore
 * await using stream = openPushStream({ hostname: "127.0.0.1", port: 11112, now: Date.now, random: Math.random });
 * for await (const event of stream.events()) if (event.type === "order") console.log(event.data);
 * ```
 */
export function openPushStream(options: PushStreamOptions): PushStream {
  return pushStreamOf(gatewaySource(options), options);
}

/** Hands out the pushes of any source. */
export function pushStreamOf(source: PushSource, hooks: PushHooks): PushStream {
  return new SourcePushStream(source, hooks);
}

const isUnreadOrder = (event: TransportEvent) => event.type === "unknown" && event.expected === "order";

class SourcePushStream implements PushStream {
  readonly #source: PushSource;
  readonly #options: PushHooks;
  readonly #closing = new AbortController();
  readonly #readers = new Set<PushQueue>();
  readonly #running: Promise<void>;
  readonly #abort = () => void this.close();
  #state: PushStream["state"] = "connecting";
  #connected = Promise.withResolvers<void>();
  #line: PushLine | undefined;
  #frames = 0;
  #orders = 0;
  #repeated = 0;
  #offTime = 0;
  #ofOthers = 0;
  #connections = 0;
  readonly #guard: PushGuard;
  readonly #limit: HourlyLimit;
  /** Failed attempts in a row. */
  #failures = 0;
  #lastByteAt: number;
  /** Start of a gap that is still open, and what broke. */
  #gap: { from: number; reason: string; silent?: true } | undefined;

  constructor(source: PushSource, options: PushHooks) {
    this.#source = source;
    this.#options = options;
    this.#lastByteAt = options.now();
    this.#guard = new PushGuard(options.now, options.aheadOf);
    this.#limit = new HourlyLimit((options.reconnect || {}).perHour);
    // Whoever does not wait for the connection must not be hit by its failure.
    this.#connected.promise.catch(() => {});
    options.signal?.addEventListener("abort", this.#abort);
    if (options.signal?.aborted) this.#closing.abort();
    this.#running = this.#run();
  }

  get state(): PushStream["state"] {
    return this.#state;
  }

  get stats(): PushStreamStats {
    return {
      frames: this.#frames,
      orders: this.#orders,
      repeated: this.#repeated,
      offTime: this.#offTime,
      ofOthers: this.#ofOthers,
      connections: this.#connections,
      readers: [...this.#readers].map(({ stats }) => stats),
    };
  }

  events(): AsyncIterableIterator<TransportEvent> {
    const queue = new PushQueue(this.#options, () => this.#readers.delete(queue));
    if (this.#state === "closed") queue.end();
    else this.#readers.add(queue);
    return queue;
  }

  connected(): Promise<void> {
    return this.#connected.promise;
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#line?.close();
    return this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(): Promise<void> {
    let failure: unknown;
    try {
      const handlers = this.#handlers(createPushReader(await loadEnvelopes(), this.#options));
      const { reconnect } = this.#options;
      const { attempts = Infinity } = reconnect === false ? { attempts: 0 } : reconnect ?? {};
      while (!this.#closing.signal.aborted) {
        const { error, from } = await this.#once(handlers);
        if (this.#closing.signal.aborted) break;
        this.#gap ??= { from, reason: error.message, ...error.code === "idle" && { silent: true as const } };
        // What breaks after a silence is a break.
        if (error.code !== "idle") delete this.#gap.silent;
        // A refusal stays one: whoever displaced this login would be displaced in turn, without end.
        const isPassing = error instanceof BusyError ||
          error instanceof LoginRefusedError && error.reason === "passing";
        const isRefused = error instanceof RejectedError && !isPassing;
        if (this.#failures >= attempts || isRefused) throw error;
        this.#failures++;
        await this.#pause("reconnecting", error, this.#failures, this.#closing.signal);
      }
    } catch (error) {
      // Whoever closes the stream knows why it ends.
      if (!this.#closing.signal.aborted) failure = error;
    } finally {
      this.#source.close?.();
      this.#end(failure);
    }
  }

  #handlers(read: PushReader): PushHandlers {
    return {
      onLife: () => this.#lastByteAt = this.#options.now(),
      onFrame: () => this.#failures = 0,
      onPush: (body) => this.#take(body, read),
    };
  }

  /** Connects and reads until that ends; returns what ended it, and since when pushes may be missing. */
  async #once(handlers: PushHandlers): Promise<{ error: BrokerError; from: number }> {
    let line: PushLine;
    try {
      line = await this.#source.open(handlers, this.#closing.signal);
    } catch (error) {
      if (error instanceof BrokerError) return { error, from: this.#lastByteAt };
      throw error;
    }
    this.#line = line;
    try {
      const error = await this.#serve(line);
      const from = line.brokenSince?.() ?? this.#lastByteAt;
      if (!this.#closing.signal.aborted) this.#setState("lost", { error, lastByteAt: from });
      return { error, from };
    } finally {
      line.close();
      this.#line = undefined;
    }
  }

  /** Reads from an open line, and makes the subscriptions again beside that. */
  async #serve(line: PushLine): Promise<BrokerError> {
    const { now, reconnect } = this.#options;
    const openedAt = now();
    if (this.#gap === undefined) this.#lastByteAt = openedAt;
    const lost = new AbortController();
    let thrown: unknown;
    const restored = this.#restore(AbortSignal.any([this.#closing.signal, lost.signal])).catch((error) => {
      // What `onGap` throws is the caller's own error: it ends the stream.
      thrown = error;
      line.close();
    });
    // Closed while it was being opened: the close that came before had nothing to close.
    if (this.#closing.signal.aborted) line.close();
    const error = await line.run();
    lost.abort();
    await restored;
    if (thrown !== undefined) throw thrown;
    // A connection that lasted is no failed attempt, even if the market was silent.
    if (now() - openedAt >= longestPause(reconnect)) this.#failures = 0;
    return error;
  }

  #take(body: Uint8Array, read: PushReader): void {
    this.#frames++;
    if (this.#guard.isRepeated(body)) {
      this.#repeated++;
      return;
    }
    const event = read(body);
    const isOther = event.type === "unknown" && event.error?.code === OTHER_ACCOUNT;
    if (event.type === "order") this.#orders++;
    if (isOther) this.#ofOthers++;
    this.#guard.remember(body, !isOther && (event.type === "order" || isUnreadOrder(event)));
    const offMs = this.#guard.offTime(event.sentAt);
    if (offMs === undefined) return this.#tell(event);
    this.#offTime++;
    this.#tell({ ...event, offMs });
    if (event.type === "order") this.#suspect(offMs);
  }

  /** An old push may be sent again by somebody in between, and newer ones may be held back: ask for the lists. */
  #suspect(offMs: number): void {
    const to = this.#options.now();
    const minutes = Math.round(Math.abs(offMs) / 60_000);
    const reason = `the time of a push is ${minutes} minutes ${
      offMs < 0 ? "behind" : "ahead of"
    } the broker's clock`;
    const gap: GapEvent = { type: "gap", from: to - Math.abs(offMs), to, reason };
    this.#options.onGap?.(gap);
    this.#tell(gap);
  }

  /** Makes the subscriptions again after a break, then says that all is well. */
  async #restore(signal: AbortSignal): Promise<void> {
    const { resubscribe } = this.#options;
    for (let attempt = 1; this.#gap !== undefined && resubscribe !== undefined; attempt++) {
      try {
        await orAborted(resubscribe(signal), signal);
        break;
      } catch (cause) {
        if (signal.aborted) return;
        const reason = cause instanceof Error ? cause.message : String(cause);
        const error = cause instanceof BrokerError
          ? cause
          : new TransportError(`Cannot subscribe again: ${reason}`, {
            code: "resubscribe",
            transport: "push",
            cause,
          });
        // Orders come all the same, so the connection stays while the subscriptions are tried again.
        await this.#pause("reconnecting", error, attempt, signal);
      }
      if (signal.aborted) return;
    }
    if (signal.aborted) return;
    if (this.#gap !== undefined) {
      const gap: GapEvent = {
        type: "gap",
        from: this.#gap.from,
        to: this.#options.now(),
        reason: this.#gap.reason,
        ...this.#gap.silent && { silent: true as const },
      };
      this.#gap = undefined;
      this.#options.onGap?.(gap);
      this.#tell(gap);
    }
    this.#connections++;
    this.#setState("connected");
    this.#connected.resolve();
  }

  async #pause(
    state: "reconnecting",
    error: BrokerError,
    attempt: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { random, reconnect, now } = this.#options;
    const waitMs = this.#limit.wait(now(), backoffMs(attempt, random(), reconnect || {}));
    this.#setState(state, { attempt, waitMs, error });
    await pause(waitMs, signal);
  }

  #setState(state: ConnectionEvent["state"], details: Partial<ConnectionEvent> = {}): void {
    if (this.#state === "connected") {
      this.#connected = Promise.withResolvers();
      this.#connected.promise.catch(() => {});
    }
    this.#state = state;
    this.#tell({ type: "connection", state, ...details });
  }

  #tell(event: TransportEvent): void {
    for (const reader of this.#readers) reader.push(event);
  }

  #end(failure: unknown): void {
    this.#options.signal?.removeEventListener("abort", this.#abort);
    this.#setState("closed");
    this.#connected.reject(
      new TransportError("Cannot wait for pushes: the stream is closed", { code: "closed" }),
    );
    for (const reader of this.#readers) reader.end(failure);
    this.#readers.clear();
  }
}
