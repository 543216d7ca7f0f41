/**
 * Implements the push stream: delivers orders, quotes, ticks, broker queues and books as they arrive, and reconnects
 * after a break. The gateway sends pushes over one TCP port; the direct transport provides its own source.
 *
 * @see API document 6.1, 6.2
 * @module
 */
import {
  BrokerError,
  BusyError,
  LoginRefusedError,
  messageOf,
  RejectedError,
  TransportError,
} from "../../errors.ts";
import { orAborted, systemMachine, waitUnlessAborted } from "../../time.ts";
import { type Envelopes, loadEnvelopes, type Notify } from "../../wire/messages.ts";
import { type ConnectionEvent, type GapEvent, offTimeText, type TransportEvent } from "./events.ts";
import { PushQueue, type PushQueueOptions, type PushQueueStats } from "./queue.ts";
import { createPushReader, hashOf, OTHER_ACCOUNT, PushGuard, type PushReader } from "./reader.ts";
import { backoffMs, HourlyLimit, longestPause, type ReconnectOptions } from "./reconnect.ts";
import {
  gatewaySource,
  type GatewaySourceOptions,
  type PushHandlers,
  type PushLine,
  type PushSource,
} from "./connection.ts";

/** Options of a push stream from any source. */
export interface PushHooks extends PushQueueOptions {
  /** Returns the current time, Unix milliseconds. */
  now: () => number;
  /** Returns a random number for jitter, at least 0 and below 1. */
  random: () => number;
  /**
   * Restores the subscriptions over HTTP after a break. The stream becomes `connected` when this resolves. If it
   * rejects, the stream calls it again after a pause, and already delivers pushes in the meantime.
   */
  resubscribe?: (signal: AbortSignal) => Promise<void>;
  /** Called with each gap, before the readers get it. */
  onGap?: (gap: GapEvent) => void;
  /** Closes the stream. */
  signal?: AbortSignal;
  /**
   * Numbers of the user's accounts. Order pushes that name another account, or no account, arrive as `unknown` events.
   *
   * @default any account. After a push names a second account, that push and all later pushes of its type have
   * `unsureAccount`.
   */
  fundAccounts?: readonly string[];
  /**
   * Returns the milliseconds by which the broker's clock is ahead of `now`; `undefined` until an answer contains the
   * broker's time.
   *
   * @default the broker's clock is assumed to equal `now`
   */
  aheadOf?: () => number | undefined;
  /** Options for reconnecting after a loss; `false` for never. @default the defaults of these options */
  reconnect?: ReconnectOptions | false;
}

/** Options of {@linkcode openPushStream}. */
export interface PushStreamOptions extends PushHooks, GatewaySourceOptions {}

/** A stream of pushes. Close it with `await using`, or with `close()`. */
export interface PushStream extends AsyncDisposable {
  /** State of the connection; `connecting` until the first connection works. */
  readonly state: ConnectionEvent["state"] | "connecting";
  /** Counters of the stream and of its readers. */
  readonly stats: PushStreamStats;
  /**
   * Starts a reader with its own queue. The queue gets every event from this call on. Leave the loop to stop the
   * reader. Readers share the event objects and must not change them.
   *
   * @throws {BrokerError} From the iterator's `next()`, if the stream has stopped reconnecting: after too many failed
   * attempts, or because the connection was rejected.
   */
  events(): AsyncIterableIterator<TransportEvent>;
  /**
   * Resolves when the connection works and the subscriptions are restored.
   *
   * @throws {TransportError} If the stream is closed before that.
   */
  connected(): Promise<void>;
  /** Closes the stream. Ends the readers after their queued events. */
  close(): Promise<void>;
}

/** Counters of a stream. */
export interface PushStreamStats {
  /** Number of push frames read. */
  frames: number;
  /** Number of order events that were read. */
  orders: number;
  /** Number of repeated pushes, with the same id, time, type and payload. Readers got each push only once. */
  repeated: number;
  /** Number of pushes with `offMs`, whose time is more than five minutes from the broker's clock. */
  offTime: number;
  /** Number of order pushes that named another account, or no account. Readers got an `unknown` event for each. */
  ofOthers: number;
  /** Number of connections that worked. */
  connections: number;
  /** Counters of each reader's queue. */
  readers: PushQueueStats[];
}

/**
 * Opens the gateway's push stream. Order events arrive without a subscription; other events need a subscription over
 * HTTP. Call `events()` before the first `await`, so that the reader misses no event.
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

/** Returns a push stream over any source. */
export function pushStreamOf(source: PushSource, hooks: PushHooks): PushStream {
  return new SourcePushStream(source, hooks);
}

/** Maximum length of a gap after a doubtful push: a day, because the lists of today's orders cover no more. */
const MOST_GAP_MS = 86_400_000;

/** Pushes that are rejected within this time cause one gap. */
const BURST_MS = 1000;

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
  readonly #startedAt: number;
  /** Type numbers of order pushes that have named two accounts. */
  readonly #unsure = new Set<number>();
  readonly #guard: PushGuard;
  readonly #limit: HourlyLimit;
  /** Number of consecutive failed attempts. */
  #failures = 0;
  #lastByteAt: number;
  /** Start and reason of the current gap, if there is one. */
  #gap: { from: number; reason: string; silent?: true } | undefined;
  /** Time of the first rejected push that no gap has reported yet, and the timer that reports it. */
  #refused: { from: number; timer: ReturnType<typeof setTimeout> } | undefined;
  /** The error that `onGap` threw in a timer. The stream ends with this error. */
  #thrown: unknown;

  constructor(source: PushSource, options: PushHooks) {
    this.#source = source;
    this.#options = options;
    this.#lastByteAt = this.#startedAt = options.now();
    this.#guard = new PushGuard(options.now, options.aheadOf);
    this.#limit = new HourlyLimit((options.reconnect || {}).perHour);
    // If no caller waits for the connection, a rejection must not count as unhandled.
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
      const envelopes = await loadEnvelopes();
      const handlers = this.#handlers(envelopes, createPushReader(envelopes, this.#options));
      const { reconnect } = this.#options;
      const { attempts = Infinity } = reconnect === false ? { attempts: 0 } : reconnect ?? {};
      while (!this.#closing.signal.aborted) {
        const { error, from } = await this.#once(handlers);
        if (this.#closing.signal.aborted) break;
        this.#gap ??= { from, reason: error.message, ...error.code === "idle" && { silent: true as const } };
        // A break after a silence is reported as a break, not as a silence.
        if (error.code !== "idle") delete this.#gap.silent;
        // Never reconnect after a rejection: two programs would keep taking the login from each other.
        const isTemporary = error instanceof BusyError ||
          error instanceof LoginRefusedError && error.reason === "temporary";
        const isRefused = error instanceof RejectedError && !isTemporary;
        if (this.#failures >= attempts || isRefused) throw error;
        this.#failures++;
        await this.#pause("reconnecting", error, this.#failures, this.#closing.signal);
      }
    } catch (error) {
      // If the caller closed the stream, the readers get no error.
      if (!this.#closing.signal.aborted) failure = error;
    } finally {
      this.#source.close?.();
      this.#reportRefused();
      this.#end(this.#thrown ?? failure);
    }
  }

  #handlers({ decodeNotify }: Envelopes, read: PushReader): PushHandlers {
    return {
      onLife: () => this.#lastByteAt = this.#options.now(),
      onFrame: () => this.#failures = 0,
      onPush: (body) => {
        this.#frames++;
        this.#take(decodeNotify(body), read);
      },
      onRefusedPush: () =>
        this.#refused ??= {
          from: this.#options.now(),
          timer: setTimeout(() => this.#reportRefused(), BURST_MS),
        },
    };
  }

  /** Reports the gap of the pushes that the source has rejected. */
  #reportRefused(): void {
    if (this.#refused === undefined) return;
    const { from, timer } = this.#refused;
    clearTimeout(timer);
    this.#refused = undefined;
    try {
      this.#reportDoubtfulGap(
        this.#options.now() - from,
        "the connection rejected unencrypted pushes, because earlier pushes were encrypted",
      );
    } catch (error) {
      this.#thrown = error;
      void this.close();
    }
  }

  /**
   * Connects and reads until the connection ends. Resolves to the reason, and to the time from which pushes may be
   * missing.
   */
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

  /** Reads from an open line, and restores the subscriptions at the same time. */
  async #serve(line: PushLine): Promise<BrokerError> {
    const { reconnect } = this.#options;
    const openedAt = systemMachine.monotonic();
    if (this.#gap === undefined) this.#lastByteAt = this.#options.now();
    const lost = new AbortController();
    let thrown: unknown;
    const restored = this.#restore(AbortSignal.any([this.#closing.signal, lost.signal])).catch((error) => {
      // `onGap` threw. The stream ends with that error.
      thrown = error;
      line.close();
    });
    // If the stream was closed while the line was opening, close the line now.
    if (this.#closing.signal.aborted) line.close();
    const error = await line.run();
    lost.abort();
    await restored;
    if (thrown !== undefined) throw thrown;
    // A connection that lasted does not count as a failed attempt, even if it received nothing.
    if (systemMachine.monotonic() - openedAt >= longestPause(reconnect)) this.#failures = 0;
    return error;
  }

  #take(notify: Notify, read: PushReader): void {
    const hash = hashOf(notify);
    if (this.#guard.isRepeated(notify, hash)) {
      this.#repeated++;
      return;
    }
    const event = read(notify);
    const isOther = event.type === "unknown" && event.error?.code === OTHER_ACCOUNT;
    if (event.type === "order") this.#orders++;
    if (isOther) this.#ofOthers++;
    this.#guard.remember(notify, hash, !isOther && (event.type === "order" || isUnreadOrder(event)));
    const offMs = this.#guard.offTime(event.sentAt);
    if (offMs !== undefined) this.#offTime++;
    this.#emit(offMs === undefined ? event : { ...event, offMs });
    if (event.type !== "order") return;
    if (event.unsureAccount && !this.#unsure.has(notify.type)) {
      this.#unsure.add(notify.type);
      this.#reportDoubtfulGap(
        this.#options.now() - this.#startedAt,
        "order pushes name two accounts: set fundAccounts (HSGATE_FUND_ACCOUNTS), and check the orders",
      );
    }
    if (offMs !== undefined) this.#reportWrongTime(offMs);
  }

  /**
   * Reports a gap for a push with a wrong time: an attacker may repeat old pushes and withhold newer ones.
   */
  #reportWrongTime(offMs: number): void {
    const clock = this.#guard.isTimeKnown
      ? "the broker's clock"
      : "this machine's clock, and no answer has contained the broker's time";
    this.#reportDoubtfulGap(Math.abs(offMs), `the time of a push is ${offTimeText(offMs, clock)}`);
  }

  /** Reports a gap that ends now, because of a doubtful push. */
  #reportDoubtfulGap(sinceMs: number, reason: string): void {
    const to = this.#options.now();
    // Limit the gap, because the sender chooses the time of a push, which may be any number.
    const gap: GapEvent = { type: "gap", from: to - Math.min(sinceMs, MOST_GAP_MS), to, reason };
    this.#options.onGap?.(gap);
    this.#emit(gap);
  }

  /** Restores the subscriptions after a break, then reports the connection as connected. */
  async #restore(signal: AbortSignal): Promise<void> {
    const { resubscribe } = this.#options;
    for (let attempt = 1; this.#gap !== undefined && resubscribe !== undefined; attempt++) {
      try {
        await orAborted(resubscribe(signal), signal);
        break;
      } catch (cause) {
        if (signal.aborted) return;
        const reason = messageOf(cause);
        const error = cause instanceof BrokerError
          ? cause
          : new TransportError(`Cannot subscribe again: ${reason}`, {
            code: "resubscribe",
            transport: "push",
            cause,
          });
        // Orders arrive without subscriptions, so keep the connection and try the subscriptions again.
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
      this.#emit(gap);
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
    const { random, reconnect } = this.#options;
    // Use the monotonic clock: if the wall clock were set back, the wait would become longer.
    const waitMs = this.#limit.wait(systemMachine.monotonic(), backoffMs(attempt, random(), reconnect || {}));
    this.#setState(state, { attempt, waitMs, error });
    await waitUnlessAborted(systemMachine, waitMs, signal);
  }

  #setState(state: ConnectionEvent["state"], details: Partial<ConnectionEvent> = {}): void {
    if (this.#state === "connected") {
      this.#connected = Promise.withResolvers();
      this.#connected.promise.catch(() => {});
    }
    this.#state = state;
    this.#emit({ type: "connection", state, ...details });
  }

  #emit(event: TransportEvent): void {
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
