/**
 * One HTTP POST on a connection of its own, sent exactly once.
 *
 * The runtime's `fetch` sends a request a second time when the connection that it took from its pool breaks
 * before an answer (denoland/deno#32566), in some versions even on a fresh connection (denoland/deno#35610). For
 * a query that is a convenience; an order would be placed twice. So whatever is not a read goes out over a socket
 * that we hold in our own hands, and the caller learns whether a single byte has left.
 *
 * @module
 */

/** What is sent, and how much may come back. */
export interface PostRequest {
  hostname: string;
  port: number;
  path: string;
  body: string;
  /** @default "application/json" */
  contentType?: string;
  signal: AbortSignal;
  /** Largest answer that is read, in bytes. */
  maxBytes: number;
}

/** What came back. */
export interface PostAnswer {
  status: number;
  text: string;
}

/** No connection was made, so nothing has left. */
export class NotConnectedError extends Error {}

/** The answer is larger than allowed. */
export class TooLargeError extends Error {
  constructor(most: number) {
    super(`more than ${most} bytes`);
  }
}

/**
 * Sends the request once.
 *
 * @throws {NotConnectedError} Nothing was sent.
 * @throws {TooLargeError} The answer is larger than `maxBytes`.
 * @throws {Error} Anything else: the request may have arrived.
 */
export async function postOnce(request: PostRequest): Promise<PostAnswer> {
  const { hostname, port, path, body, contentType = "application/json", signal, maxBytes } = request;
  const connection = await connect(hostname, port, signal);
  // Closing the socket is what ends a read that waits; the error that follows is the caller's to name.
  const stop = () => connection.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    const bytes = new TextEncoder().encode(body);
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const head = `POST ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\ncontent-type: ${contentType}\r\n` +
      `content-length: ${bytes.length}\r\naccept: application/json\r\nconnection: close\r\n\r\n`;
    await writeAll(connection, new TextEncoder().encode(head));
    await writeAll(connection, bytes);
    return await readAnswer(connection, maxBytes);
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) connection.close();
  }
}

async function connect(hostname: string, port: number, signal: AbortSignal): Promise<Deno.TcpConn> {
  try {
    const connection = await Deno.connect({ hostname, port, signal });
    connection.setNoDelay(true);
    return connection;
  } catch (error) {
    throw new NotConnectedError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

/** Reads until the answer is whole, by its length, its chunks or the end of the connection. */
async function readAnswer(connection: Deno.Conn, maxBytes: number): Promise<PostAnswer> {
  const chunk = new Uint8Array(16_384);
  let bytes = new Uint8Array(0);
  for (;;) {
    const answer = parseAnswer(bytes, false);
    if (answer !== undefined) return answer;
    const count = await connection.read(chunk);
    if (count === null) break;
    const grown = new Uint8Array(bytes.length + count);
    grown.set(bytes);
    grown.set(chunk.subarray(0, count), bytes.length);
    bytes = grown;
    if (bytes.length > maxBytes) throw new TooLargeError(maxBytes);
  }
  const answer = parseAnswer(bytes, true);
  if (answer === undefined) throw new Error("connection closed before the answer was whole");
  return answer;
}

/** The answer, once it is whole; `ended` tells that no more bytes will come. */
function parseAnswer(bytes: Uint8Array, ended: boolean): PostAnswer | undefined {
  const headEnd = indexOfBlankLine(bytes);
  if (headEnd < 0) return undefined;
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, headEnd));
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? NaN);
  if (Number.isNaN(status)) throw new Error("the answer is not HTTP");
  const rest = bytes.subarray(headEnd + 4);
  if (status < 200) return parseAnswer(rest, ended); // an interim answer; the real one follows
  const body = /^transfer-encoding:.*chunked/im.test(head) ? joinChunks(rest) : wholeBody(head, rest, ended);
  return body === undefined ? undefined : { status, text: new TextDecoder().decode(body) };
}

function wholeBody(head: string, rest: Uint8Array, ended: boolean): Uint8Array | undefined {
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length === undefined) return ended ? rest : undefined;
  return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : undefined;
}

/** Joins chunks of a chunked body; `undefined` until the last one is there. */
function joinChunks(bytes: Uint8Array): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf(13, at);
    if (lineEnd < 0) return undefined;
    const size = parseInt(new TextDecoder("latin1").decode(bytes.subarray(at, lineEnd)), 16);
    if (Number.isNaN(size)) throw new Error("the answer's chunks cannot be read");
    const start = lineEnd + 2;
    if (bytes.length < start + size + 2) return undefined;
    if (size === 0) break;
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function indexOfBlankLine(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(13); at >= 0; at = bytes.indexOf(13, at + 1)) {
    if (bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}
