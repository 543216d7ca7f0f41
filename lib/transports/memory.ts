/**
 * A transport without sockets, for tests and notebooks: a function takes the place of the gateway.
 *
 * What is written and read is what the gateway transport writes and reads, byte for byte; only the way between the
 * two ends is missing.
 *
 * @module
 */
import { BrokerError, TransportError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { type Envelope, openEnvelope, rawContext, rawPath, readAnswer, writeCall } from "./envelope.ts";
import { type CallContext, lost } from "./outcome.ts";
import type { PushHooks, PushStream } from "./push.ts";
import type { PushSource } from "./push_source.ts";
import { orAborted } from "./push_waits.ts";
import type { CallOptions, Transport } from "./transport.ts";

export type { Envelope } from "./envelope.ts";

/** What a door is told about a call beside its path and parameters. */
export interface MemoryCall {
  /** Aborted once nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** How long somebody waits. */
  readonly timeoutMs: number;
}

/**
 * Answers in the place of the gateway: an envelope, or its text when the digits of a number matter. A door that
 * throws `TransportError` says that it has not taken the call; whatever else it throws leaves that open.
 */
export type MemoryDoor = (
  path: string,
  params: Record<string, unknown>,
  call: MemoryCall,
) => Envelope | string | Promise<Envelope | string>;

/** Where pushes are handed in. */
export interface MemoryLine {
  /** Hands in the body of a push frame, an encoded `PBNotify`. */
  push(body: Uint8Array): void;
  /** Breaks the line; the stream opens it again. */
  end(reason: string): void;
}

/** Starts pushes, and returns what stops them. Throws `TransportError` when there are none now. */
export type MemoryPushes = (line: MemoryLine) => () => void;

/** Options of {@linkcode memory}. */
export interface MemoryOptions {
  /** Where pushes come from; without it the client cannot watch. */
  pushes?: MemoryPushes;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; needed for a login alone. */
  tradePasswordKey?: string;
  /**
   * How long a call waits for its answer unless it says otherwise.
   *
   * @default 10000
   */
  timeoutMs?: number;
}

/**
 * Makes a transport to a function.
 *
 * @example A client in a test
 * ```ts ignore
 * import { createClient } from "hsgate";
 * import { memory } from "hsgate/memory";
 *
 * const door = () => ({ ok: true, err: "", data: { data: "400" } });
 * await using client = createClient(memory(door));
 * console.log(await client.account.maxSell({ market: "hk", symbol: "00700.HK" }));
 * ```
 */
export function memory(door: MemoryDoor, options: MemoryOptions = {}): Transport {
  return new MemoryTransport(door, options);
}

class MemoryTransport implements Transport {
  readonly name = "memory";
  readonly openPushes?: (hooks: PushHooks) => Promise<PushStream>;
  readonly #door: MemoryDoor;
  readonly #passwordKey: string | undefined;
  readonly #timeoutMs: number;

  constructor(door: MemoryDoor, { pushes, tradePasswordKey, timeoutMs = 10_000 }: MemoryOptions) {
    this.#door = door;
    this.#passwordKey = tradePasswordKey;
    this.#timeoutMs = timeoutMs;
    if (pushes === undefined) return;
    this.openPushes = async (hooks) => {
      const { pushStreamOf } = await import("./push.ts");
      return pushStreamOf(memorySource(pushes), hooks);
    };
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const context = { operation, transport: this.name, params };
    const { path, params: encoded } = await writeCall(context, params, this.#passwordKey);
    return readAnswer(context, await this.#ask(context, path, encoded, options), options);
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const path = rawPath(group, name);
    const context = rawContext(path, this.name);
    return openEnvelope(context, await this.#ask(context, path, params, options));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #ask(
    context: CallContext,
    path: string,
    params: Record<string, unknown>,
    { signal, timeoutMs = this.#timeoutMs }: CallOptions,
  ): Promise<string> {
    signal?.throwIfAborted();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    const either = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    try {
      const answer = await orAborted(this.#knock(path, params, { signal: either, timeoutMs }), either);
      // As text, so that a test meets what JSON makes of its values, and numbers keep their digits.
      return typeof answer === "string" ? answer : JSON.stringify(answer);
    } catch (error) {
      throw lost(context, {
        isSent: !(error instanceof TransportError),
        peer: "the door in memory",
        reason: error instanceof Error ? error.message : String(error),
        cause: error,
        ...signal !== undefined && { signal },
        ...limit.signal.aborted && { timeoutMs },
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** In a function of its own, so that a door that throws at once is heard like one that rejects. */
  async #knock(path: string, params: Record<string, unknown>, call: MemoryCall): Promise<Envelope | string> {
    // A copy by way of JSON: absent members are gone, and the door cannot change what the caller holds.
    return await this.#door(path, JSON.parse(JSON.stringify(params)), call);
  }
}

/** Pushes of a function as a source of the one stream that all transports share. */
function memorySource(pushes: MemoryPushes): PushSource {
  return {
    // Async, so that a refusal to open is a rejection.
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
      if (!isOpen) stop(); // ended before there was anything to stop
      return { run: () => promise, close: () => end(broken("the stream is closed", "closed")) };
    },
  };
}
