/**
 * The local gateway over HTTP: JSON envelopes, one POST per call, writes sent exactly once.
 *
 * @module
 */
import { type AnyOperation, encodeParams, gatewayPath } from "../operations/operation.ts";
import { Mismatch } from "../operations/types.ts";
import { UnmappedError } from "../errors.ts";
import { type Address, addressOf } from "./address.ts";
import { decodeExactly, describeMismatch, parseWithDigits } from "./json.ts";
import { NotConnectedError, type PostAnswer, postOnce, TooLargeError } from "./post_once.ts";
import { type CallContext, rejection, unanswered, undelivered, unreadable } from "./outcome.ts";
import type { PushHooks, PushStream } from "./push.ts";
import type { CallOptions, Transport } from "./transport.ts";

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
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; needed for a login alone. */
  tradePasswordKey?: string;
  /**
   * How long a call waits for its answer unless it says otherwise.
   *
   * @default 10000
   */
  timeoutMs?: number;
  /**
   * Largest answer that is read, in bytes.
   *
   * @default 33554432
   */
  maxAnswerBytes?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 32 * 1024 * 1024;

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== "http:") {
    throw new TypeError(
      `Cannot read "${text}" as the gateway's address: write it like "http://127.0.0.1:11111"`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Makes a transport to a local gateway. Nothing is sent before the first call. */
export function gateway(options: GatewayOptions = {}): Transport {
  return new GatewayTransport(options);
}

class GatewayTransport implements Transport {
  readonly name = "gateway";
  readonly push: Address;
  readonly #base: string;
  readonly #address: Address;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #maxAnswerBytes: number;
  readonly #passwordKey: string | undefined;

  constructor(options: GatewayOptions) {
    this.#base = baseUrl(options.url ?? "http://127.0.0.1:11111");
    const { hostname, port, pathname } = new URL(this.#base);
    this.#address = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) };
    this.#prefix = pathname === "/" ? "" : pathname;
    this.push = addressOf(options.push ?? `${hostname}:11112`);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#maxAnswerBytes = options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
    this.#passwordKey = options.tradePasswordKey;
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const context = { operation, transport: this.name };
    const path = gatewayPath(operation);
    if (path === undefined) {
      throw new UnmappedError(`Cannot call ${operation.name} over the gateway: it has no such operation`, {
        code: "not-on-gateway",
        operation: operation.name,
        transport: this.name,
      });
    }
    const encoded = encodeParams(operation, params);
    await this.#encryptPasswords(operation, encoded);
    const text = await this.#post(context, path, encoded, options);
    const data = openEnvelope(context, text);
    try {
      return decodeExactly(operation.response, data, () => dataOf(parseWithDigits(text)));
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw unreadable(context, describeMismatch(error), "unexpected-shape", error);
    }
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const path = `/${group}/${name}`;
    if (!/^\/[\w-]+\/[\w/-]+$/.test(path)) {
      throw new TypeError(`Cannot call "${path}": not a path of the gateway`);
    }
    const context = { operation: { name: path.slice(1), effect: "write" as const }, transport: this.name };
    return openEnvelope(context, await this.#post(context, path, params, options));
  }

  async openPushes(hooks: PushHooks): Promise<PushStream> {
    const { openPushStream } = await import("./push.ts");
    return openPushStream({ ...this.push, ...hooks });
  }

  /** Keep-alive connections belong to the runtime, which closes them by itself. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #encryptPasswords(operation: AnyOperation, encoded: Record<string, unknown>): Promise<void> {
    for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
      const plain = encoded[wire];
      if (type.encrypt === "trade-password" && typeof plain === "string") {
        const { encryptTradePassword } = await import("../wire/trade_password.ts");
        encoded[wire] = encryptTradePassword(plain, this.#passwordKey);
      }
    }
  }

  async #post(context: CallContext, path: string, params: unknown, options: CallOptions): Promise<string> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    options.signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    // The gateway is told to give up no later than we do, so that its own answer can still arrive.
    const body = JSON.stringify({ timeout_sec: Math.max(1, Math.floor(timeoutMs / 1000)), params });
    let answer: PostAnswer;
    try {
      answer = context.operation.effect === "read"
        ? await fetchText(this.#base + path, body, signal, this.#maxAnswerBytes)
        : await postOnce({
          ...this.#address,
          path: this.#prefix + path,
          body,
          signal,
          maxBytes: this.#maxAnswerBytes,
        });
    } catch (error) {
      throw this.#lost(context, error, options, timeout, timeoutMs);
    }
    if (answer.status === 200) return answer.text;
    throw httpError(context, answer.status, answer.text);
  }

  #lost(
    context: CallContext,
    error: unknown,
    options: CallOptions,
    timeout: AbortSignal,
    timeoutMs: number,
  ): unknown {
    const reason = error instanceof Error ? lastPart(error.message) : String(error);
    const isWrite = context.operation.effect === "write";
    const notConnected = error instanceof NotConnectedError || isConnectError(error);
    if (options.signal?.aborted) {
      // A read that its caller gave up is the caller's own business; a write may have happened all the same.
      return isWrite && !notConnected
        ? unanswered(context, "it was given up after it was sent", "aborted", options.signal.reason)
        : options.signal.reason;
    }
    if (notConnected) {
      return undelivered(context, `no connection to ${this.#base} (${reason})`, "not-connected", error);
    }
    if (timeout.aborted) return unanswered(context, `no answer within ${timeoutMs} ms`, "timeout", error);
    if (error instanceof TooLargeError) return unreadable(context, error.message, "too-large", error);
    return unanswered(context, `the connection to ${this.#base} broke (${reason})`, "connection-lost", error);
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
  return { status: response.status, text: await readText(response, maxBytes) };
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

function httpError(context: CallContext, status: number, text: string): unknown {
  const envelope = parse(text);
  const err = isEnvelope(envelope) && typeof envelope.err === "string" ? `: ${envelope.err}` : "";
  // A client error says that the request was not taken; after a server error nobody knows.
  return status >= 400 && status < 500
    ? rejection(context, `HTTP ${status}${err}`, `http-${status}`)
    : unanswered(context, `HTTP ${status}${err}`, `http-${status}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller decides what an answer that is not JSON means
  }
}

function isEnvelope(value: unknown): value is { ok?: unknown; err?: unknown; data?: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function dataOf(envelope: unknown): unknown {
  return isEnvelope(envelope) ? envelope.data : undefined;
}

/** Opens `{ok, err, data}` and returns what it holds. */
function openEnvelope(context: CallContext, text: string): unknown {
  const envelope = parse(text);
  if (envelope === undefined) throw unreadable(context, "it is not JSON", "not-json");
  if (!isEnvelope(envelope) || typeof envelope.ok !== "boolean") {
    throw unreadable(context, 'it has no "ok", so this is not the gateway', "not-an-envelope");
  }
  if (envelope.ok) return envelope.data;
  throw rejection(context, typeof envelope.err === "string" ? envelope.err : "");
}
