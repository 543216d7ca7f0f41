/**
 * Reads HTTP/1.0 and HTTP/1.1 requests from a connection, with bodies of a known length or in chunks.
 *
 * @module
 */

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
  /** Whether the connection stays open for another request. */
  readonly keepAlive: boolean;
}

/** Returns the media type of a request's body, in lower case and without its parameters. */
export function mediaTypeOf({ headers }: HttpRequest): string {
  return (headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
}

/** A request that the server cannot read, or that it rejects. The connection is closed after the answer. */
export class HttpProblem extends Error {
  constructor(readonly status: number, readonly reason: string) {
    super(reason);
  }
}

const MAX_HEAD = 16 * 1024;
const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");
const [CR, LF] = [13, 10];
const latin1 = new TextDecoder("latin1");

/** Options of {@linkcode HttpInput}. */
interface HttpInputOptions {
  /** Longest body of a request, in bytes. */
  bodyLimit: number;
  /** Throws if the server must reject a request with these headers. The body is then not read. */
  demand: (head: Pick<HttpRequest, "headers">) => void;
}

/** Reads requests from one connection; keeps bytes of the next request that have already arrived. */
export class HttpInput {
  readonly #conn: Deno.TcpConn;
  readonly #bodyLimit: number;
  readonly #demand: HttpInputOptions["demand"];
  #bytes = new Uint8Array(16 * 1024);
  #start = 0;
  #end = 0;

  constructor(conn: Deno.TcpConn, { bodyLimit, demand }: HttpInputOptions) {
    this.#conn = conn;
    this.#bodyLimit = bodyLimit;
    this.#demand = demand;
  }

  /**
   * Reads the next request. Returns `undefined` if the client has closed the connection after the previous request.
   *
   * @throws {HttpProblem} When the bytes are not a request that this server understands, or when `demand` throws it.
   */
  async next(): Promise<HttpRequest | undefined> {
    const head = await this.#readHead();
    if (head === undefined) return undefined;
    const [requestLine = "", ...lines] = head.split("\r\n");
    const [, method, target, minor] = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/.exec(requestLine) ?? [];
    if (method === undefined || target === undefined) throw new HttpProblem(400, "not an HTTP/1.1 request");
    const headers = readHeaders(lines);
    this.#demand({ headers });
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
        const head = latin1.decode(this.#bytes.subarray(this.#start, end));
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
    // Rejects the request, because a proxy and this server could read different bodies.
    if (encoding !== undefined && length !== undefined) {
      throw new HttpProblem(400, "both content-length and transfer-encoding are given; send one");
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      throw new HttpProblem(400, "content-length is not a number");
    }
    if (Number(length ?? 0) > this.#bodyLimit) throw new HttpProblem(413, "the body is too long");
    if (headers.get("expect")?.toLowerCase() === "100-continue") await this.#conn.write(CONTINUE);
    if (encoding !== undefined) return await this.#readChunks();
    const body = new Uint8Array(Number(length ?? 0));
    await this.#moveInto(body);
    return body;
  }

  /**
   * Copies all chunks into one buffer that grows: a separate array for each chunk would need far more memory than its
   * bytes.
   */
  async #readChunks(): Promise<Uint8Array<ArrayBuffer>> {
    let body = new Uint8Array(0);
    let total = 0;
    let extra = 0;
    const countExtra = (bytes: number) => {
      extra += bytes;
      if (extra > MAX_HEAD) throw new HttpProblem(431, "the chunk extensions and trailers are too long");
    };
    while (true) {
      const line = await this.#readLine();
      const size = line.split(";")[0]!.trim();
      if (!/^[0-9a-fA-F]{1,8}$/.test(size)) {
        throw new HttpProblem(400, "a chunk does not start with its size in hex");
      }
      countExtra(line.length - size.length);
      const length = parseInt(size, 16);
      const start = total;
      total += length;
      if (total > this.#bodyLimit) throw new HttpProblem(413, "the body is too long");
      if (length === 0) break;
      if (total > body.length) {
        const larger = new Uint8Array(Math.min(this.#bodyLimit, Math.max(total, body.length * 2)));
        larger.set(body);
        body = larger;
      }
      await this.#moveInto(body.subarray(start, total));
      if (await this.#readLine() !== "") throw new HttpProblem(400, "a chunk does not end after its size");
    }
    // Trailers are not needed.
    for (let line; (line = await this.#readLine()) !== "";) countExtra(line.length + 2);
    return body.subarray(0, total);
  }

  async #readLine(): Promise<string> {
    while (true) {
      const end = this.#bytes.subarray(0, this.#end).indexOf(LF, this.#start);
      if (end !== -1) {
        const line = latin1.decode(this.#bytes.subarray(this.#start, end));
        this.#start = end + 1;
        return line.replace(/\r$/, "");
      }
      if (this.#end - this.#start > MAX_HEAD) throw new HttpProblem(400, "a line is too long");
      await this.#fillOrFail();
    }
  }

  /** Moves the next bytes into `target` until it is full. */
  async #moveInto(target: Uint8Array): Promise<void> {
    for (let at = 0;;) {
      const part = this.#bytes.subarray(this.#start, Math.min(this.#end, this.#start + target.length - at));
      target.set(part, at);
      at += part.length;
      this.#start += part.length;
      if (at === target.length) return;
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

/** A request may contain each of these headers at most once. */
const SINGLE = ["host", "origin", "transfer-encoding", "authorization", "content-type"];

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
    // Rejects the request, because a proxy and this server could use different values.
    if (SINGLE.includes(name) && headers.has(name)) {
      throw new HttpProblem(400, `two ${name} headers`);
    }
    headers.set(name, value);
  }
  return headers;
}
