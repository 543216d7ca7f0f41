/**
 * Provides a transport without sockets, for tests and notebooks: a function replaces the gateway.
 *
 * It encodes and decodes calls like the gateway transport, but sends nothing.
 *
 * @module
 */
import { BrokerError, messageOf, TransportError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { type Envelope, openEnvelope, rawContext, rawPath, readAnswer, writeCall } from "./envelope.ts";
import { type CallContext, lost } from "./outcome.ts";
import type { PushHooks, PushStream } from "./push/stream.ts";
import type { PushSource } from "./push/connection.ts";
import { orAborted } from "../time.ts";
import type { CallOptions, Transport } from "./transport.ts";
import { lazily } from "../lazy.ts";

export type { Envelope } from "./envelope.ts";

const loadPushStream = lazily(() => import("./push/stream.ts"));

/** Details of a call besides its path and parameters. */
export interface MemoryCall {
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** How long the caller waits. */
  readonly timeoutMs: number;
}

/**
 * Answers a call instead of the gateway. Returns an envelope, or the envelope's JSON text if the digits of a number
 * matter. A `TransportError` means that the call was not executed; any other error leaves the outcome unknown.
 */
export type MemoryEndpoint = (
  path: string,
  params: Record<string, unknown>,
  call: MemoryCall,
) => Envelope | string | Promise<Envelope | string>;

/** Receives the pushes of a {@linkcode MemoryPushes} function. */
export interface MemoryLine {
  /** Delivers the body of a push frame, an encoded `PBNotify`. */
  push(body: Uint8Array): void;
  /** Breaks the connection; the stream reconnects. */
  end(reason: string): void;
}

/**
 * Starts pushes and returns a function that stops them. Throws a `TransportError` if no pushes are available now.
 */
export type MemoryPushes = (line: MemoryLine) => () => void;

/** Options of {@linkcode memory}. */
export interface MemoryOptions {
  /** Source of the pushes; without it the client cannot watch. */
  pushes?: MemoryPushes;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; only needed for a login. */
  tradePasswordKey?: string;
  /**
   * How long a call waits for its answer, unless the call sets its own limit.
   *
   * @default 10000
   */
  timeoutMs?: number;
}

/**
 * Creates a transport that calls a function.
 *
 * @example A client in a test
 * ```ts ignore
 * import { createClient } from "hsgate";
 * import { memory } from "hsgate/memory";
 *
 * const endpoint = () => ({ ok: true, err: "", data: { data: "400" } });
 * await using client = createClient(memory(endpoint));
 * console.log(await client.account.maxSell({ market: "hk", symbol: "00700.HK" }));
 * ```
 */
export function memory(endpoint: MemoryEndpoint, options: MemoryOptions = {}): Transport {
  return new MemoryTransport(endpoint, options);
}

class MemoryTransport implements Transport {
  readonly name = "memory";
  readonly openPushes?: (hooks: PushHooks) => Promise<PushStream>;
  readonly #endpoint: MemoryEndpoint;
  readonly #passwordKey: string | undefined;
  readonly #timeoutMs: number;

  constructor(endpoint: MemoryEndpoint, { pushes, tradePasswordKey, timeoutMs = 10_000 }: MemoryOptions) {
    this.#endpoint = endpoint;
    this.#passwordKey = tradePasswordKey;
    this.#timeoutMs = timeoutMs;
    if (pushes === undefined) return;
    this.openPushes = async (hooks) => {
      const { pushStreamOf } = await loadPushStream();
      return pushStreamOf(memorySource(pushes), hooks);
    };
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const context = { operation, transport: this.name, params };
    const { path, params: encoded } = await writeCall(context, params, {
      tradePasswordKey: this.#passwordKey,
      ...options.onSecret !== undefined && { onSecret: options.onSecret },
    });
    return readAnswer(context, await this.#ask(context, path, encoded, options), options);
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const path = rawPath(group, name);
    const context = await rawContext(path, this.name);
    return openEnvelope(context, await this.#ask(context, path, params, options));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #ask(
    context: CallContext,
    path: string,
    params: Record<string, unknown>,
    { signal, timeoutMs = this.#timeoutMs, beforeFirstByte }: CallOptions,
  ): Promise<string> {
    signal?.throwIfAborted();
    beforeFirstByte?.();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    const either = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    try {
      const answer = await orAborted(this.#callEndpoint(path, params, { signal: either, timeoutMs }), either);
      // Converted to text, so tests see the values as JSON encodes them, and numbers keep their digits.
      return typeof answer === "string" ? answer : JSON.stringify(answer);
    } catch (error) {
      throw lost(context, {
        isSent: !(error instanceof TransportError),
        peer: "the endpoint in memory",
        reason: messageOf(error),
        cause: error,
        ...signal !== undefined && { signal },
        ...limit.signal.aborted && { timeoutMs },
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Calls the endpoint. Async, so that an error that the endpoint throws synchronously becomes a rejection.
   */
  async #callEndpoint(
    path: string,
    params: Record<string, unknown>,
    call: MemoryCall,
  ): Promise<Envelope | string> {
    // Copy through JSON: this removes absent members, and the endpoint cannot change the caller's object.
    return await this.#endpoint(path, JSON.parse(JSON.stringify(params)), call);
  }
}

/** Returns the pushes of a function as a source for the push stream that all transports share. */
function memorySource(pushes: MemoryPushes): PushSource {
  return {
    // Async, so that an error during opening becomes a rejection.
    // deno-lint-ignore require-await
    async open({ onLife, onFrame, onPush }) {
      const { promise, resolve } = Promise.withResolvers<BrokerError>();
      let stop = () => {};
      let isOpen = true;
      const end = (error: BrokerError) => {
        if (!isOpen) return;
        isOpen = false;
        stop();
        resolve(error);
      };
      const broken = (reason: string, code: string) =>
        new TransportError(`Cannot read pushes: ${reason}`, { code, transport: "memory" });
      stop = pushes({
        push(body) {
          if (!isOpen) return;
          onLife();
          onFrame();
          try {
            onPush(body);
          } catch (error) {
            if (!(error instanceof BrokerError)) throw error;
            end(error);
          }
        },
        end: (reason) => end(broken(reason, "closed")),
      });
      if (!isOpen) stop(); // the connection ended before `stop` existed
      return { run: () => promise, close: () => end(broken("the stream is closed", "closed")) };
    },
  };
}
