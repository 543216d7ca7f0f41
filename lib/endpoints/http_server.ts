/**
 * Implements a small HTTP/1.1 server on raw connections, so that the simulator can cut an answer at any byte.
 *
 * @module
 */
import { demandOwnCaller, type OwnNames } from "./callers.ts";
import { acceptAll, closeQuietly, isGone, Tasks, writeAll } from "./connections.ts";
import { HttpInput, HttpProblem, type HttpRequest } from "./http_input.ts";

/** An answer to a request. */
export interface HttpAnswer {
  /** HTTP status. */
  status: number;
  /** Body of the answer. */
  body: Uint8Array;
  /** Media type of the body. @default "application/json" */
  contentType?: string;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
  /** Whether to send the body in chunks, without its length in the head. */
  chunked?: boolean;
  /** Number of bytes of the whole answer, head included, after which the connection is closed. */
  cutAfter?: number;
}

/** Answers one request. */
type HttpHandler = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;

/** Options of {@linkcode HttpServer}. */
interface HttpServerOptions extends OwnNames {
  /** Port to listen on; 0 chooses a free port. */
  port: number;
  /** Returns the time for the header `Date`, Unix milliseconds. */
  now: () => number;
  /** Longest body of a request, in bytes. */
  bodyLimit: number;
  /** Builds the answer to a request that the server cannot read or rejects. */
  explain: (problem: HttpProblem) => HttpAnswer;
}

const CHUNK = 64 * 1024;
/** Maximum number of bytes that the server reads and drops after a rejection, so that the client gets the answer. */
const MAX_LINGER = 16 * 1024 * 1024;
const encoder = new TextEncoder();

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** An open HTTP port. */
export class HttpServer {
  readonly #listener: Deno.TcpListener;
  readonly #handler: HttpHandler;
  readonly #options: HttpServerOptions;
  readonly #connections = new Set<Deno.Conn>();
  readonly #tasks = new Tasks();

  /** Opens the port. @throws {Deno.errors.AddrInUse} When another program uses the port. */
  constructor(options: HttpServerOptions, handler: HttpHandler) {
    this.#options = options;
    this.#handler = handler;
    this.#listener = Deno.listen({ hostname: options.hostname, port: options.port });
    this.#tasks.add(this.#accept());
  }

  /** The port that the server listens on. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** Closes the port and every connection; resolves when all tasks have ended. */
  async close(): Promise<void> {
    this.#listener.close();
    for (const conn of this.#connections) closeQuietly(conn);
    await this.#tasks.ended();
  }

  async #accept(): Promise<void> {
    for await (const conn of acceptAll(this.#listener)) this.#tasks.add(this.#serve(conn));
  }

  async #serve(conn: Deno.TcpConn): Promise<void> {
    this.#connections.add(conn);
    try {
      const demand = (head: Pick<HttpRequest, "headers">) => demandOwnCaller(head, this.#options);
      await this.#serveRequests(conn, new HttpInput(conn, { bodyLimit: this.#options.bodyLimit, demand }));
    } catch (error) {
      if (error instanceof HttpProblem) await this.#refuse(conn, error);
      else if (!isGone(error)) throw error;
    } finally {
      this.#connections.delete(conn);
      closeQuietly(conn);
    }
  }

  async #serveRequests(conn: Deno.TcpConn, input: HttpInput): Promise<void> {
    for (let request; (request = await input.next()) !== undefined;) {
      const answer = await this.#handler(request);
      const keepAlive = request.keepAlive && answer.cutAfter === undefined;
      await this.#write(conn, answer, { keepAlive, withBody: request.method !== "HEAD" });
      if (!keepAlive) return;
    }
  }

  #write(conn: Deno.Conn, answer: HttpAnswer, how: { keepAlive: boolean; withBody: boolean }): Promise<void> {
    const date = new Date(this.#options.now()).toUTCString();
    return writeAnswer(conn, { ...answer, headers: { date, ...answer.headers } }, how);
  }

  /** Answers a rejected request. Reads more input before closing, because closing at once would lose the answer. */
  async #refuse(conn: Deno.TcpConn, problem: HttpProblem): Promise<void> {
    try {
      await this.#write(conn, this.#options.explain(problem), { keepAlive: false, withBody: true });
      await conn.closeWrite();
      const bin = new Uint8Array(CHUNK);
      for (let total = 0; total < MAX_LINGER;) {
        const count = await conn.read(bin);
        if (count === null) return;
        total += count;
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

async function writeAnswer(
  conn: Deno.Conn,
  answer: HttpAnswer,
  { keepAlive, withBody }: { keepAlive: boolean; withBody: boolean },
): Promise<void> {
  const { status, body, contentType = "application/json", chunked = false, cutAfter = Infinity } = answer;
  const head = [
    `HTTP/1.1 ${status} ${reasons[status] ?? "Answer"}`,
    `content-type: ${contentType}`,
    chunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`,
    ...Object.entries(answer.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...keepAlive ? [] : ["connection: close"],
  ].join("\r\n");
  let left = cutAfter;
  for (const piece of pieces(`${head}\r\n\r\n`, withBody ? body : new Uint8Array(0), chunked)) {
    await writeAll(conn, piece.subarray(0, Math.min(left, piece.length)));
    left -= piece.length;
    if (left <= 0) return;
  }
}

/** Yields head and body in one piece, or the head and then each chunk of the body. */
function* pieces(head: string, body: Uint8Array, chunked: boolean): Generator<Uint8Array> {
  const start = encoder.encode(head);
  if (!chunked) {
    const whole = new Uint8Array(start.length + body.length);
    whole.set(start);
    whole.set(body, start.length);
    yield whole;
    return;
  }
  yield start;
  for (let at = 0; at < body.length; at += CHUNK) {
    const part = body.subarray(at, at + CHUNK);
    yield encoder.encode(`${part.length.toString(16)}\r\n`);
    yield part;
    yield encoder.encode("\r\n");
  }
  yield encoder.encode("0\r\n\r\n");
}
