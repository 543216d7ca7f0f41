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
  /** The header `Date`. */
  date?: string;
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
  const reader = new AnswerReader(maxBytes);
  const chunk = new Uint8Array(16_384);
  for (let count; (count = await connection.read(chunk)) !== null;) {
    // The buffer is used again; the reader keeps the bytes.
    reader.take(chunk.slice(0, count));
    if (reader.isWhole) return reader.answer();
  }
  reader.end();
  return reader.answer();
}

/** An answer's head is shorter than this. */
const MOST_HEAD_BYTES = 65_536;

/** Reads an answer piece by piece; each byte is looked at once, however many pieces there are. */
class AnswerReader {
  readonly #maxBytes: number;
  #bytes = 0;
  /** Bytes of a head, or of a line between chunks, that are not used yet. */
  #rest = new Uint8Array(0);
  #status: number | undefined;
  #date: string | undefined;
  /** How the body ends. */
  #end: "length" | "chunks" | "close" = "close";
  /** Bytes that are still to come: of the body, or of the chunk that is being read. */
  #left = 0;
  /** The line end behind a chunk is still to come. */
  #isBehindChunk = false;
  readonly #body: Uint8Array<ArrayBuffer>[] = [];
  /** The last byte was read. */
  isWhole = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the next piece. @throws {TooLargeError} @throws {Error} When it is not HTTP. */
  take(piece: Uint8Array<ArrayBuffer>): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw new TooLargeError(this.#maxBytes);
    let next: Uint8Array<ArrayBuffer> | undefined = piece;
    while (next !== undefined && !this.isWhole) {
      next = this.#status === undefined
        ? this.#takeHead(next)
        : this.#end === "chunks"
        ? this.#takeChunk(next)
        : this.#takeBody(next);
    }
  }

  /** The connection has ended. @throws {Error} When the answer is not whole. */
  end(): void {
    if (this.#status === undefined || this.#end !== "close") {
      throw new Error("connection closed before the answer was whole");
    }
    this.isWhole = true;
  }

  answer(): PostAnswer {
    // Only a whole answer is asked for, and it has a status.
    const text = new TextDecoder().decode(join(this.#body));
    return { status: this.#status!, text, ...this.#date !== undefined && { date: this.#date } };
  }

  /** Returns what is left of a piece; nothing when it is used up. */
  #takeHead(piece: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    // The blank line may lie across two pieces.
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
    if (status < 200) return rest; // an interim answer; the real one follows
    this.#status = status;
    this.#date = /^date: *(.+?) *$/im.exec(head)?.[1];
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    if (/^transfer-encoding:.*chunked/im.test(head)) this.#end = "chunks";
    else if (length !== undefined) {
      this.#end = "length";
      this.#left = Number(length);
      if (this.#left > this.#maxBytes) throw new TooLargeError(this.#maxBytes);
      this.isWhole = this.#left === 0;
    }
    return rest;
  }

  #takeBody(piece: Uint8Array<ArrayBuffer>): undefined {
    const own = this.#end === "length" ? piece.subarray(0, this.#left) : piece;
    this.#body.push(own);
    if (this.#end !== "length") return;
    this.#left -= own.length;
    this.isWhole = this.#left === 0;
  }

  #takeChunk(piece: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    if (this.#left > 0) {
      const own = piece.subarray(0, this.#left);
      this.#body.push(own);
      this.#left -= own.length;
      this.#isBehindChunk = this.#left === 0;
      return own.length < piece.length ? piece.subarray(own.length) : undefined;
    }
    const line = join([this.#rest, piece]);
    const end = line.indexOf(10);
    if (end < 0) {
      if (line.length > MOST_HEAD_BYTES) throw new Error("the answer's chunks cannot be read");
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
      throw new Error("the answer's chunks cannot be read");
    }
    this.#left = parseInt(text, 16);
    this.isWhole = this.#left === 0;
    return rest;
  }
}

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
