/**
 * The local gateway over HTTP: JSON envelopes, one POST per call, writes sent exactly once.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";
import { isLoopback, isOpenToOthers, mayBeProxied, PLAIN_HTTP_HINT } from "../loopback.ts";
import { type Address, addressOf } from "./address.ts";
import { httpRefusal, openEnvelope, rawContext, rawPath, readAnswer, writeCall } from "./envelope.ts";
import { NotConnectedError, type PostAnswer, postOnce, TooLargeError } from "./post_once.ts";
import { type CallContext, lost, unreadable } from "./outcome.ts";
import type { PushHooks, PushStream } from "./push.ts";
import { checkedIdleMs, DEFAULT_PUSH_IDLE_MS } from "./push_waits.ts";
import { type CallOptions, tellBrokerTime, type Transport } from "./transport.ts";

/** Options of {@linkcode gateway}. */
export interface GatewayOptions {
  /**
   * Address of the gateway's HTTP door.
   *
   * @default "http://127.0.0.1:11111"
   */
  url?: string;
  /**
   * Address of the gateway's push door, `host:port`.
   *
   * @default the host of `url`, port 11112
   */
  push?: string;
  /**
   * Longest silence of the push door before its connection is replaced, milliseconds; 0 for no limit.
   *
   * @default 300000
   */
  pushIdleMs?: number;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; needed for a login alone. */
  tradePasswordKey?: string;
  /**
   * Allows a gateway on another machine. Its doors are plain HTTP and TCP: whoever is on the way can read the account
   * and change orders.
   *
   * @default false
   */
  plainHttp?: boolean;
  /**
   * How long a call waits for its answer unless it says otherwise.
   *
   * @default 10000
   */
  timeoutMs?: number;
  /**
   * Largest answer that is read, in bytes; of a write at most 1 MiB is read. A write with a larger answer is an
   * `OutcomeUnknownError` with the code `too-large`, a read a `ProtocolError`.
   *
   * @default 33554432
   */
  maxAnswerBytes?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** A write is answered with an id or a few rows; what is longer is no such answer. */
const MOST_WRITE_ANSWER_BYTES = 1024 * 1024;

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== "http:") {
    throw new TypeError(
      `Cannot read "${text}" as the gateway's address: write it like "http://127.0.0.1:11111"`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/**
 * Makes a transport to a local gateway. Nothing is sent before the first call.
 *
 * @throws {TypeError} When an address cannot be read, or leads to another machine without `plainHttp`.
 */
export function gateway(options: GatewayOptions = {}): Transport {
  return new GatewayTransport(options);
}

const open = (what: string, address: string) =>
  new TypeError(`Cannot use the ${what} "${address}": it is on another machine, and ${PLAIN_HTTP_HINT}`);

class GatewayTransport implements Transport {
  readonly name = "gateway";
  readonly push: Address;
  readonly #base: string;
  readonly #address: Address;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #maxAnswerBytes: number;
  readonly #passwordKey: string | undefined;
  /** Whether `fetch` may send reads for this machine through a proxy. */
  readonly #mayBeProxied: boolean;
  readonly #pushIdleMs: number;

  constructor(options: GatewayOptions) {
    this.#base = baseUrl(options.url ?? "http://127.0.0.1:11111");
    const { hostname, port, pathname } = new URL(this.#base);
    this.#address = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) };
    this.#mayBeProxied = mayBeProxied(hostname);
    this.#prefix = pathname === "/" ? "" : pathname;
    this.push = addressOf(options.push ?? `${hostname}:11112`);
    if (!options.plainHttp) {
      if (isOpenToOthers(new URL(this.#base))) throw open("gateway", this.#base);
      if (!isLoopback(this.push.hostname)) throw open("gateway's push port", options.push!);
    }
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#maxAnswerBytes = options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
    this.#passwordKey = options.tradePasswordKey;
    this.#pushIdleMs = checkedIdleMs(options.pushIdleMs ?? DEFAULT_PUSH_IDLE_MS);
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const context = { operation, transport: this.name, params };
    const { path, params: encoded } = await writeCall(context, params, this.#passwordKey);
    return readAnswer(context, await this.#post(context, path, encoded, options), options);
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const path = rawPath(group, name);
    const context = rawContext(path, this.name);
    // Nobody knows how long the answer to an unknown operation may be.
    const most = this.#maxAnswerBytes;
    return openEnvelope(context, await this.#post(context, path, params, options, most));
  }

  async openPushes(hooks: PushHooks): Promise<PushStream> {
    const { openPushStream } = await import("./push.ts");
    return openPushStream({ ...this.push, pushIdleMs: this.#pushIdleMs, ...hooks });
  }

  /** Keep-alive connections belong to the runtime, which closes them by itself. */
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
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    // The gateway is told to give up no later than we do, so that its own answer can still arrive.
    const body = JSON.stringify({ timeout_sec: Math.max(1, Math.floor(timeoutMs / 1000)), params });
    let answer: PostAnswer;
    try {
      answer = context.operation.effect === "read" && !this.#mayBeProxied
        ? await fetchText(this.#base + path, body, signal, maxBytes)
        : await postOnce({
          ...this.#address,
          path: this.#prefix + path,
          body,
          signal,
          maxBytes,
        });
    } catch (error) {
      throw this.#lost(context, error, options, timeout, timeoutMs);
    }
    tellBrokerTime(options, Date.parse(answer.date ?? ""), "Date header");
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
    const { signal } = options;
    const isSent = !(error instanceof NotConnectedError || isConnectError(error));
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

/** Tells whether `fetch` failed before it had a connection. */
function isConnectError(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message.includes("client error (Connect)");
}

/** A read, over the runtime's own pool of connections. */
async function fetchText(
  url: string,
  body: string,
  signal: AbortSignal,
  maxBytes: number,
): Promise<PostAnswer> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  const date = response.headers.get("date");
  return { status: response.status, text: await readText(response, maxBytes), ...date !== null && { date } };
}

function lastPart(reason: string): string {
  return reason.slice(reason.lastIndexOf(": ") + 1).trim();
}

async function readText(response: Response, most: number): Promise<string> {
  const length = response.headers.get("content-length");
  if (length !== null) {
    if (Number(length) <= most) return await response.text();
    await response.body?.cancel();
    throw new TooLargeError(most);
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > most) throw new TooLargeError(most);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
