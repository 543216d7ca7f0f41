/**
 * Reads HTTP/1.1 requests from a connection: heads, bodies of a known length, bodies in chunks.
 *
 * @module
 */
import { joinBytes } from "../bytes.ts";

/** One whole request. */
export interface HttpRequest {
  /** Method, such as `POST`. */
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Query without its question mark; empty when there is none. */
  readonly query: string;
  /** Address of the client, without its port. */
  readonly remote: string;
  /** Headers by their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Body, empty when there is none. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The connection stays open for a next request. */
  readonly keepAlive: boolean;
}

/** Returns the media type of a request's body, in lower case and without its parameters. */
export function mediaTypeOf({ headers }: HttpRequest): string {
  return (headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
}

/** A request that cannot be read; the connection is closed after the answer. */
export class HttpProblem extends Error {
  constructor(readonly status: number, readonly reason: string) {
    super(reason);
  }
}

const MAX_HEAD = 16 * 1024;
const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");
const [CR, LF] = [13, 10];

/** The bytes of a connection that were read and not yet used. */
export class HttpInput {
  readonly #conn: Deno.TcpConn;
  readonly #bodyLimit: number;
  #bytes = new Uint8Array(16 * 1024);
  #start = 0;
  #end = 0;

  constructor(conn: Deno.TcpConn, bodyLimit: number) {
    this.#conn = conn;
    this.#bodyLimit = bodyLimit;
  }

  /**
   * Reads the next request; returns nothing when the client has closed the connection between two requests.
   *
   * @throws {HttpProblem} When the bytes are not a request that this server understands.
   */
  async next(): Promise<HttpRequest | undefined> {
    const head = await this.#readHead();
    if (head === undefined) return undefined;
    const [requestLine = "", ...lines] = head.split("\r\n");
    const [, method, target, minor] = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/.exec(requestLine) ?? [];
    if (method === undefined || target === undefined) throw new HttpProblem(400, "not an HTTP/1.1 request");
    const headers = readHeaders(lines);
    const connection = headers.get("connection")?.toLowerCase() ?? "";
    const keepAlive = minor === "1" ? !connection.includes("close") : connection.includes("keep-alive");
    const [path = "", ...query] = target.split("?");
    return {
      method,
      path,
      query: query.join("?"),
      remote: this.#conn.remoteAddr.hostname,
      headers,
      keepAlive,
      body: await this.#readBody(headers),
    };
  }

  async #readHead(): Promise<string | undefined> {
    for (let from = this.#start;;) {
      const end = this.#findHeadEnd(from);
      if (end !== -1) {
        const head = new TextDecoder("latin1").decode(this.#bytes.subarray(this.#start, end));
        this.#start = end + 4;
        return head;
      }
      if (this.#end - this.#start > MAX_HEAD) throw new HttpProblem(431, "the head is too long");
      const seen = Math.max(0, this.#end - this.#start - 3);
      if (!await this.#fill()) {
        if (this.#start === this.#end) return undefined;
        throw new Deno.errors.UnexpectedEof("the connection ended in the middle of a request");
      }
      from = this.#start + seen;
    }
  }

  #findHeadEnd(from: number): number {
    for (let at = this.#bytes.indexOf(CR, from); at !== -1 && at + 3 < this.#end;) {
      const bytes = this.#bytes;
      if (bytes[at + 1] === LF && bytes[at + 2] === CR && bytes[at + 3] === LF) return at;
      at = bytes.indexOf(CR, at + 1);
    }
    return -1;
  }

  async #readBody(headers: ReadonlyMap<string, string>): Promise<Uint8Array<ArrayBuffer>> {
    const length = headers.get("content-length");
    const encoding = headers.get("transfer-encoding")?.toLowerCase();
    if (encoding !== undefined && encoding !== "chunked") {
      throw new HttpProblem(400, `transfer-encoding "${encoding}" is not supported; use chunked`);
    }
    // A proxy and this server could read different bodies, so reject the request.
    if (encoding !== undefined && length !== undefined) {
      throw new HttpProblem(400, "both content-length and transfer-encoding are given; send one");
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      throw new HttpProblem(400, "content-length is not a number");
    }
    if (Number(length ?? 0) > this.#bodyLimit) throw new HttpProblem(413, "the body is too long");
    if (headers.get("expect")?.toLowerCase() === "100-continue") await this.#conn.write(CONTINUE);
    return encoding === undefined ? await this.#take(Number(length ?? 0)) : await this.#readChunks();
  }

  async #readChunks(): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let total = 0;
    while (true) {
      const size = (await this.#readLine()).split(";")[0]!.trim();
      if (!/^[0-9a-fA-F]{1,8}$/.test(size)) {
        throw new HttpProblem(400, "a chunk does not start with its size in hex");
      }
      const length = parseInt(size, 16);
      total += length;
      if (total > this.#bodyLimit) throw new HttpProblem(413, "the body is too long");
      if (length === 0) break;
      chunks.push(await this.#take(length));
      if (await this.#readLine() !== "") throw new HttpProblem(400, "a chunk does not end after its size");
    }
    while (await this.#readLine() !== "") { /* trailers are not needed */ }
    return joinBytes(chunks);
  }

  async #readLine(): Promise<string> {
    while (true) {
      const end = this.#bytes.subarray(0, this.#end).indexOf(LF, this.#start);
      if (end !== -1) {
        const line = new TextDecoder("latin1").decode(this.#bytes.subarray(this.#start, end));
        this.#start = end + 1;
        return line.replace(/\r$/, "");
      }
      if (this.#end - this.#start > MAX_HEAD) throw new HttpProblem(400, "a line is too long");
      await this.#fillOrFail();
    }
  }

  /** Removes the next `length` bytes and returns a copy of them. */
  async #take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const body = new Uint8Array(length);
    let at = 0;
    while (true) {
      const part = this.#bytes.subarray(this.#start, Math.min(this.#end, this.#start + length - at));
      body.set(part, at);
      at += part.length;
      this.#start += part.length;
      if (at === length) return body;
      await this.#fillOrFail();
    }
  }

  async #fillOrFail(): Promise<void> {
    if (!await this.#fill()) {
      throw new Deno.errors.UnexpectedEof("the connection ended in the middle of a request");
    }
  }

  async #fill(): Promise<boolean> {
    if (this.#start === this.#end) this.#start = this.#end = 0;
    else if (this.#end === this.#bytes.length) {
      const rest = this.#bytes.subarray(this.#start, this.#end);
      const target = this.#start > 0 ? this.#bytes : new Uint8Array(this.#bytes.length * 2);
      target.set(rest);
      this.#bytes = target;
      this.#end -= this.#start;
      this.#start = 0;
    }
    const count = await this.#conn.read(this.#bytes.subarray(this.#end));
    if (count === null) return false;
    this.#end += count;
    return true;
  }
}

function readHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || /\s/.test(name)) throw new HttpProblem(400, 'a header line is not "name: value"');
    const value = line.slice(colon + 1).trim();
    if (name === "content-length" && headers.has(name) && headers.get(name) !== value) {
      throw new HttpProblem(400, "two different content-length headers");
    }
    // A proxy and this server could use different ones of two values, so reject the request.
    if ((name === "host" || name === "origin") && headers.has(name)) {
      throw new HttpProblem(400, `two ${name} headers`);
    }
    headers.set(name, value);
  }
  return headers;
}
