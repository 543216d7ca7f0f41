/**
 * Calls the local gateway over HTTP: JSON envelopes, one POST per call, and no write is sent twice.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";
import { isLoopback, isOpenToOthers, PLAIN_HTTP_HINT } from "../loopback.ts";
import { type Address, addressOf, quotedAddress } from "./net/address.ts";
import { httpRefusal, openEnvelope, rawContext, rawPath, readAnswer, writeCall } from "./envelope.ts";
import {
  NotConnectedError,
  type PostAnswer,
  postOnce,
  postRouted,
  type Server,
  serverOf,
  TooLargeError,
  WithheldError,
} from "./net/post_once.ts";
import { type CallContext, lost, unreadable } from "./outcome.ts";
import type { PushHooks, PushStream } from "./push/stream.ts";
import { checkedIdleMs, DEFAULT_PUSH_IDLE_MS } from "./push/reconnect.ts";
import {
  type CallOptions,
  type ReadOnly,
  refuseReadOnly,
  reportBrokerTime,
  type Transport,
} from "./transport.ts";
import { lazily } from "../lazy.ts";

const loadPushStream = lazily(() => import("./push/stream.ts"));

/** Address of a gateway on this machine with its usual port. */
export const GATEWAY_URL = "http://127.0.0.1:11111";

/** Options of {@linkcode gateway}. */
export interface GatewayOptions {
  /**
   * Address of the gateway's HTTP endpoint.
   *
   * @default "http://127.0.0.1:11111"
   */
  url?: string;
  /**
   * Address of the gateway's push endpoint, `host:port`.
   *
   * @default the host of `url`, port 11112
   */
  push?: string;
  /**
   * Milliseconds of silence after which the connection to the push endpoint is replaced; 0 for no limit.
   *
   * @default 300000
   */
  pushIdleMs?: number;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; only needed for a login. */
  tradePasswordKey?: string;
  /**
   * Allows a gateway on another machine. Its endpoints are plain HTTP and TCP: anyone on the network path can
   * read the account and change orders.
   *
   * @default false
   */
  plainHttp?: boolean;
  /**
   * How long a call waits for its answer, unless the call sets its own limit.
   *
   * @default 10000
   */
  timeoutMs?: number;
  /**
   * Maximum size of an answer in bytes; for writes and session operations of the catalogue, at most 1 MiB. After a
   * larger answer, a write throws an `OutcomeUnknownError` with the code `too-large`, and any other operation throws a
   * `ProtocolError`.
   *
   * @default 33554432
   */
  maxAnswerBytes?: number;
  /** Refuses every write, and with `yes` also the trade login. @default refuses nothing */
  readOnly?: ReadOnly;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Maximum size of an answer to a write or a session operation. A valid answer is an id or a few rows. */
const MOST_WRITE_ANSWER_BYTES = 1024 * 1024;

function baseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== "http:") {
    throw new TypeError(
      `Cannot read ${quotedAddress(text)} as the gateway's address: write it like "http://127.0.0.1:11111"`,
    );
  }
  return new URL(url.origin + url.pathname); // without credentials and query
}

/**
 * Creates a transport to a local gateway. It sends nothing before the first call.
 *
 * @throws {TypeError} If an address is unreadable, or is on another machine without `plainHttp`.
 */
export function gateway(options: GatewayOptions = {}): Transport {
  return new GatewayTransport(options);
}

/** Returns the error for an endpoint on another machine, which would be used without encryption. */
const plainError = (what: string, address: string) =>
  new TypeError(`Cannot use the ${what} "${address}": it is on another machine, and ${PLAIN_HTTP_HINT}`);

class GatewayTransport implements Transport {
  readonly name = "gateway";
  readonly push: Address;
  readonly readOnly?: ReadOnly;
  readonly #base: string;
  readonly #server: Server;
  /** The path in the gateway's address. The path of each request is appended to it. */
  readonly #under: string;
  readonly #timeoutMs: number;
  readonly #maxAnswerBytes: number;
  readonly #passwordKey: string | undefined;
  readonly #pushIdleMs: number;

  constructor(options: GatewayOptions) {
    const url = baseUrl(options.url ?? GATEWAY_URL);
    this.#under = url.pathname.replace(/\/+$/, "");
    this.#base = url.origin + this.#under;
    this.#server = serverOf(url);
    this.push = addressOf(options.push ?? `${url.hostname}:11112`);
    if (!options.plainHttp) {
      if (isOpenToOthers(url)) throw plainError("gateway", this.#base);
      if (!isLoopback(this.push.hostname)) throw plainError("gateway's push port", options.push!);
    }
    if (options.readOnly !== undefined) this.readOnly = options.readOnly;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#maxAnswerBytes = options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
    this.#passwordKey = options.tradePasswordKey;
    this.#pushIdleMs = checkedIdleMs(options.pushIdleMs ?? DEFAULT_PUSH_IDLE_MS);
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    refuseReadOnly(this, operation);
    const context = { operation, transport: this.name, params };
    const { path, params: encoded } = await writeCall(context, params, {
      tradePasswordKey: this.#passwordKey,
      ...options.onSecret !== undefined && { onSecret: options.onSecret },
    });
    return readAnswer(context, await this.#post(context, path, encoded, options), options);
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const path = rawPath(group, name);
    refuseReadOnly(this, path);
    const context = await rawContext(path, this.name);
    // The operation may be a read with a long answer, so the lower limit for writes does not apply.
    const most = this.#maxAnswerBytes;
    return openEnvelope(context, await this.#post(context, path, params, options, most));
  }

  async openPushes(hooks: PushHooks): Promise<PushStream> {
    const { openPushStream } = await loadPushStream();
    return openPushStream({ ...this.push, pushIdleMs: this.#pushIdleMs, ...hooks });
  }

  /** Does nothing: each call closes its own connection. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #post(
    context: CallContext,
    path: string,
    params: unknown,
    options: CallOptions,
    maxBytes = context.operation.effect === "read"
      ? this.#maxAnswerBytes
      : Math.min(this.#maxAnswerBytes, MOST_WRITE_ANSWER_BYTES),
  ): Promise<string> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    options.signal?.throwIfAborted();
    const limit = new AbortController();
    const timeout = limit.signal;
    // Not `AbortSignal.timeout`: its timer stays after the call has ended.
    const timer = setTimeout(
      () => limit.abort(new DOMException("Signal timed out.", "TimeoutError")),
      timeoutMs,
    );
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    // The gateway accepts only whole seconds, at least one. Round down: then the gateway gives up before this call
    // does, and its error still arrives.
    const body = JSON.stringify({ timeout_sec: Math.max(1, Math.floor(timeoutMs / 1000)), params });
    const send = context.operation.effect === "read" ? postRouted : postOnce;
    let answer: PostAnswer;
    try {
      const { beforeFirstByte } = options;
      answer = await send({
        server: this.#server,
        path: this.#under + path,
        body,
        signal,
        maxBytes,
        beforeFirstByte,
      });
    } catch (error) {
      throw this.#lost(context, error, options, timeout, timeoutMs);
    } finally {
      clearTimeout(timer);
    }
    reportBrokerTime(options, Date.parse(answer.date ?? ""), "Date header");
    options.onWire?.({ over: "gateway", status: answer.status, text: answer.text });
    if (answer.status === 200) return answer.text;
    throw httpRefusal(context, answer.status, answer.text);
  }

  #lost(
    context: CallContext,
    error: unknown,
    options: CallOptions,
    timeout: AbortSignal,
    timeoutMs: number,
  ): unknown {
    if (error instanceof WithheldError) return error.cause;
    const { signal } = options;
    const isSent = !(error instanceof NotConnectedError);
    const isOurs = signal?.aborted || timeout.aborted;
    if (error instanceof TooLargeError && !isOurs) {
      return unreadable(context, error.message, "too-large", error);
    }
    const reason = error instanceof Error ? lastPart(error.message) : String(error);
    return lost(context, {
      isSent,
      peer: this.#base,
      reason,
      cause: error,
      ...signal !== undefined && { signal },
      ...timeout.aborted && { timeoutMs },
    });
  }
}

function lastPart(reason: string): string {
  return reason.slice(reason.lastIndexOf(": ") + 1).trim();
}
