/**
 * Sends one HTTP POST on a new connection, and never sends it again.
 *
 * An HTTP answer does not say which request it belongs to. If a server sends an answer twice on a connection that is
 * used again, the second copy would count as the answer of the next call. So no connection is used twice.
 *
 * The runtime's `fetch` sends a request a second time if the pooled connection breaks before an answer
 * (denoland/deno#32566). Some versions do so even on a new connection (denoland/deno#35610). For a write, that could
 * place an order twice. So this module sends each write itself. It uses `fetch` only for other requests:
 * those that may need a proxy, and those that tracing records. The class of an error shows the caller whether
 * anything was sent.
 *
 * @module
 */

import { messageOf } from "../../errors.ts";
import { isWithoutProxy, mayUseProxy } from "../../loopback.ts";
import { orAborted } from "../../time.ts";

/** Asks for an uncompressed answer, because a small compressed answer can unpack to gigabytes. */
const PLAIN_ANSWER = { "accept-encoding": "identity" };
const JSON_HEADERS = { "content-type": "application/json", accept: "application/json", ...PLAIN_ANSWER };

/** A server, read once from its URL. */
export interface Server {
  hostname: string;
  port: number;
  isTls: boolean;
  /** Whether the server is this machine. Requests to this machine never use a proxy. */
  isLocal: boolean;
  /** The start of the server's URLs: scheme, credentials, host and port. */
  base: string;
}

/** Returns the server of a URL. */
export function serverOf({ protocol, hostname, host, port, username, password }: URL): Server {
  const isTls = protocol === "https:";
  const credentials = username === "" && password === "" ? "" : `${username}:${password}@`;
  return {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (isTls ? 443 : 80)),
    isTls,
    isLocal: isWithoutProxy(hostname),
    base: `${protocol}//${credentials}${host}`,
  };
}

/** The request, and the limits for its answer. */
interface PostRequest {
  server: Server;
  /** Path and query. */
  path: string;
  body: string;
  /** With TLS: certificates of authorities to trust in addition, PEM. */
  caCerts?: string[];
  /** @default JSON for both request and answer */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Maximum size of the answer in bytes. */
  maxBytes: number;
  /** Do not read the body of the answer. @default false */
  onlyStatus?: boolean;
  /** Called right before the first byte. If it throws, nothing is sent. Only {@linkcode postOnce} calls it. */
  beforeFirstByte?: (() => void) | undefined;
}

/** The answer. */
export interface PostAnswer {
  status: number;
  text: string;
  /** The header `Date`. */
  date?: string;
}

/** Thrown if no connection was made, so nothing was sent. */
export class NotConnectedError extends Error {}

/** Thrown if `beforeFirstByte` threw, so nothing was sent. */
export class WithheldError extends Error {
  constructor(override readonly cause: unknown) {
    super(messageOf(cause));
  }
}

/** Thrown if an answer is larger than allowed. */
export class TooLargeError extends Error {
  constructor(most: number) {
    super(`more than ${most} bytes`);
  }
}

/**
 * Sends the request at most once.
 *
 * @throws {NotConnectedError} If nothing was sent.
 * @throws {WithheldError} If `beforeFirstByte` threw. Nothing was sent.
 * @throws {TooLargeError} If the answer is larger than `maxBytes`.
 * @throws {Error} For any other failure; the request may have arrived.
 */
export async function postOnce(request: PostRequest): Promise<PostAnswer> {
  const { server: { hostname, port, isTls }, path, body, headers = JSON_HEADERS, signal } = request;
  const connection = await connect(request);
  // An abort closes the socket, so a pending read throws. The caller replaces that error.
  const stop = () => connection.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    const encoder = new TextEncoder();
    const bytes = encoder.encode(body);
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const lines = [
      `POST ${path} HTTP/1.1`,
      `host: ${host}${port === (isTls ? 443 : 80) ? "" : `:${port}`}`,
      `content-length: ${bytes.length}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      "connection: close",
    ];
    // Write head and body in one piece, because the head and a small body then need only one packet.
    const whole = join([encoder.encode(`${lines.join("\r\n")}\r\n\r\n`), bytes]);
    try {
      request.beforeFirstByte?.();
    } catch (error) {
      throw new WithheldError(error);
    }
    await writeAll(connection, whole);
    return await readAnswer(connection, request);
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) connection.close();
  }
}

/**
 * Sends a request that causes no harm if the server executes or answers it twice. Never use this function for a write.
 * A request to another machine uses the proxy of the environment, if there is one; a request to this machine never
 * does. If tracing is on, a request to this machine goes through `fetch`, which records a span. Exception: if `fetch`
 * might use a proxy, the request goes directly and has no span.
 *
 * @throws {NotConnectedError} If nothing was sent.
 * @throws {TooLargeError} If the answer is larger than `maxBytes`.
 * @throws {Error} For any other failure; the request may have arrived.
 */
export function postRouted(request: PostRequest): Promise<PostAnswer> {
  const isDirect = request.server.isLocal && (!isTracing() || mayUseProxy());
  return isDirect ? postOnce(request) : postByFetch(request);
}

/** Returns whether the runtime has registered a tracer. */
export function isTracing(): boolean {
  const registered: unknown = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1"));
  return typeof registered === "object" && registered !== null && "trace" in registered;
}

/** Sends the request with `fetch`, on a connection that no other request uses. */
export async function postByFetch(request: PostRequest): Promise<PostAnswer> {
  const { server, path, body, caCerts, headers = JSON_HEADERS, signal, maxBytes, onlyStatus = false } =
    request;
  using client = Deno.createHttpClient({
    poolMaxIdlePerHost: 0,
    ...caCerts !== undefined && { caCerts },
  });
  const method = "POST";
  let response: Response;
  try {
    // Following a redirection would send secrets to the address in it.
    response = await fetch(server.base + path, { method, headers, body, redirect: "manual", signal, client });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (!(cause instanceof Error && cause.message.includes("client error (Connect)"))) throw error;
    throw new NotConnectedError(cause.message, { cause });
  }
  if (onlyStatus) {
    await response.body?.cancel();
    return { status: response.status, text: "" };
  }
  const date = response.headers.get("date");
  return { status: response.status, text: await readText(response, maxBytes), ...date !== null && { date } };
}

async function connect({ server, caCerts, signal }: PostRequest): Promise<Deno.Conn> {
  const { hostname, port, isTls } = server;
  try {
    if (isTls) return await connectTls({ hostname, port, ...caCerts !== undefined && { caCerts } }, signal);
    const connection = await Deno.connect({ hostname, port, signal });
    connection.setNoDelay(true);
    return connection;
  } catch (error) {
    throw new NotConnectedError(messageOf(error), { cause: error });
  }
}

/**
 * Connects with TLS. Resolves after the certificate was checked; nothing is sent before that. The runtime accepts no
 * signal here, so a connection that opens after an abort is closed.
 */
async function connectTls(
  target: { hostname: string; port: number; caCerts?: string[] },
  signal: AbortSignal,
): Promise<Deno.Conn> {
  const connecting = Deno.connectTls(target);
  try {
    const connection = await orAborted(connecting, signal);
    await orAborted(connection.handshake(), signal);
    return connection;
  } catch (error) {
    connecting.then((connection) => connection.close(), () => {});
    throw error;
  }
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

/** Reads until the answer is complete, according to its length, its chunks or the end of the connection. */
async function readAnswer(
  connection: Deno.Conn,
  { maxBytes, onlyStatus = false }: PostRequest,
): Promise<PostAnswer> {
  const reader = new AnswerReader(maxBytes, onlyStatus);
  const chunk = new Uint8Array(16_384);
  for (let count; (count = await connection.read(chunk)) !== null;) {
    // The buffer is reused, so the reader gets a copy.
    reader.take(chunk.slice(0, count));
    if (reader.isComplete) return reader.answer();
  }
  reader.end();
  return reader.answer();
}

/**
 * Reads the answer of a `fetch` as text.
 *
 * @throws {TooLargeError} If the answer has more than `most` bytes after unpacking.
 */
export async function readText(response: Response, most: number): Promise<string> {
  const length = response.headers.get("content-length");
  if (length !== null && !response.headers.has("content-encoding")) {
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

/** Maximum size of the head of an answer in bytes. */
const MOST_HEAD_BYTES = 65_536;

/** Parses an answer that arrives in pieces. */
class AnswerReader {
  readonly #maxBytes: number;
  readonly #onlyStatus: boolean;
  #bytes = 0;
  /** Bytes of the head, or of a line between chunks, that are not parsed yet. */
  #rest = new Uint8Array(0);
  #status: number | undefined;
  #date: string | undefined;
  /** How the end of the body is found. */
  #end: "length" | "chunks" | "close" = "close";
  /** Number of bytes still missing, of the body or of the current chunk. */
  #left = 0;
  /** Whether the line end after a chunk is still missing. */
  #isBehindChunk = false;
  /**
   * Its first `#bodyBytes` bytes are the body so far. A separate array for each chunk would need far more
   * memory than the bytes of the chunk.
   */
  #body = new Uint8Array(0);
  #bodyBytes = 0;
  /** Whether the answer is complete. */
  isComplete = false;

  constructor(maxBytes: number, onlyStatus: boolean) {
    this.#maxBytes = maxBytes;
    this.#onlyStatus = onlyStatus;
  }

  /** Parses the next piece. @throws {TooLargeError} @throws {Error} If it is not HTTP. */
  take(piece: Uint8Array<ArrayBuffer>): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw new TooLargeError(this.#maxBytes);
    let next: Uint8Array<ArrayBuffer> | undefined = piece;
    while (next !== undefined && !this.isComplete) {
      next = this.#status === undefined
        ? this.#takeHead(next)
        : this.#end === "chunks"
        ? this.#takeChunk(next)
        : this.#takeBody(next);
    }
  }

  /** Called at the end of the connection. @throws {Error} If the answer is incomplete. */
  end(): void {
    if (this.#status === undefined || this.#end !== "close") {
      throw new Error("connection closed before the answer was complete");
    }
    this.isComplete = true;
  }

  answer(): PostAnswer {
    // The caller only asks for a complete answer, which has a status.
    const text = new TextDecoder().decode(this.#body.subarray(0, this.#bodyBytes));
    return { status: this.#status!, text, ...this.#date !== undefined && { date: this.#date } };
  }

  /** Returns the rest of a piece after the head, or `undefined` if the head needs more bytes. */
  #takeHead(piece: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    // The blank line may be split across two pieces.
    const from = Math.max(0, this.#rest.length - 3);
    const bytes = join([this.#rest, piece]);
    const end = indexOfBlankLine(bytes, from);
    if (end < 0) {
      if (bytes.length > MOST_HEAD_BYTES) throw new Error("the answer is not HTTP");
      this.#rest = bytes;
      return undefined;
    }
    this.#rest = new Uint8Array(0);
    const head = new TextDecoder("latin1").decode(bytes.subarray(0, end));
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? NaN);
    if (Number.isNaN(status)) throw new Error("the answer is not HTTP");
    const rest = bytes.subarray(end + 4);
    if (status < 200) return rest; // an interim answer; the final one follows
    this.#status = status;
    this.isComplete = this.#onlyStatus;
    if (this.isComplete) return undefined;
    this.#date = /^date:(.*)$/im.exec(head)?.[1]?.trim();
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    if (/^transfer-encoding:.*chunked/im.test(head)) this.#end = "chunks";
    else if (length !== undefined) {
      this.#end = "length";
      this.#left = Number(length);
      if (this.#left > this.#maxBytes) throw new TooLargeError(this.#maxBytes);
      this.#body = new Uint8Array(this.#left);
      this.isComplete = this.#left === 0;
    }
    return rest;
  }

  #takeBody(piece: Uint8Array<ArrayBuffer>): undefined {
    const own = this.#end === "length" ? piece.subarray(0, this.#left) : piece;
    this.#keep(own);
    if (this.#end !== "length") return;
    this.#left -= own.length;
    this.isComplete = this.#left === 0;
  }

  #keep(part: Uint8Array): void {
    const bytes = this.#bodyBytes + part.length;
    if (bytes > this.#body.length) {
      const larger = new Uint8Array(Math.max(bytes, Math.min(this.#body.length * 2, this.#maxBytes)));
      larger.set(this.#body.subarray(0, this.#bodyBytes));
      this.#body = larger;
    }
    this.#body.set(part, this.#bodyBytes);
    this.#bodyBytes = bytes;
  }

  #takeChunk(piece: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    if (this.#left > 0) {
      const own = piece.subarray(0, this.#left);
      this.#keep(own);
      this.#left -= own.length;
      this.#isBehindChunk = this.#left === 0;
      return own.length < piece.length ? piece.subarray(own.length) : undefined;
    }
    const line = join([this.#rest, piece]);
    const end = line.indexOf(10);
    if (end < 0) {
      if (line.length > MOST_HEAD_BYTES) throw new Error("the answer's chunks are invalid");
      this.#rest = line;
      return undefined;
    }
    this.#rest = new Uint8Array(0);
    const rest = line.subarray(end + 1);
    const text = new TextDecoder("latin1").decode(line.subarray(0, end)).trim();
    if (this.#isBehindChunk && text === "") {
      this.#isBehindChunk = false;
      return rest;
    }
    if (this.#isBehindChunk || !/^[\da-f]{1,8}(?![\da-f])/i.test(text)) {
      throw new Error("the answer's chunks are invalid");
    }
    this.#left = parseInt(text, 16);
    this.isComplete = this.#left === 0;
    return rest;
  }
}

/** Joins byte arrays. A copy of `joinBytes` in lib/bytes.ts, so that a call loads one file less. */
function join(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first = new Uint8Array(0), ...others] = parts.filter(({ length }) => length > 0);
  if (others.length === 0) return first;
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function indexOfBlankLine(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(13, from); at >= 0; at = bytes.indexOf(13, at + 1)) {
    if (bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}
