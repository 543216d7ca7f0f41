/**
 * Provides a server for answers that the simulated gateway never sends. It accepts and counts a request, and answers
 * with bytes from the test or closes the connection.
 *
 * @module
 */

/** One request as it arrived. */
export interface Arrived {
  /** First line and headers. */
  head: string;
  /** Path of the request. */
  path: string;
  /** Body, parsed. */
  body: { timeout_sec: number; params: Record<string, unknown> };
}

/**
 * How the server reacts to a request. It sends bytes, closes the connection (`"hang-up"`), or does not answer
 * (`"silence"`). With `close`, it closes the connection after the bytes. With `twice`, it sends the bytes again after
 * a pause in which a client may return the connection to a pool.
 */
export type Reaction = { send: string; close?: boolean; twice?: boolean } | "hang-up" | "silence";

/** A running server, with its address and the requests that arrived. */
export interface FarEnd extends AsyncDisposable {
  url: string;
  port: number;
  arrived: Arrived[];
}

/** Returns a successful answer of the gateway. */
export function ok(data: unknown): { send: string } {
  return json(JSON.stringify({ ok: true, err: "", data }));
}

/** Returns a rejection of the gateway. */
export function refused(err: string): Reaction {
  return json(JSON.stringify({ ok: false, err, data: null }));
}

/** Returns an HTTP answer with the given body. */
export function json(body: string, status = "200 OK"): { send: string } {
  const length = new TextEncoder().encode(body).length;
  return {
    send: `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
  };
}

/** Starts the server on a free port. */
export function farEnd(react: (request: Arrived, index: number) => Reaction | Promise<Reaction>): FarEnd {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const arrived: Arrived[] = [];
  const connections = new Set<Deno.Conn>();
  const serving: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      connections.add(connection);
      serving.push(serve(connection).finally(() => connections.delete(connection)));
    }
  })();

  async function serve(connection: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    let text = "";
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const request = parseRequest(text);
        if (request === undefined) {
          const count = await connection.read(buffer);
          if (count === null) break;
          text += decoder.decode(buffer.subarray(0, count), { stream: true });
          continue;
        }
        text = request.rest;
        arrived.push(request.arrived);
        const reaction = await react(request.arrived, arrived.length - 1);
        if (reaction === "hang-up") break;
        if (reaction === "silence") continue;
        await writeAll(connection, new TextEncoder().encode(reaction.send));
        if (reaction.twice) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          await writeAll(connection, new TextEncoder().encode(reaction.send));
        }
        if (reaction.close) break;
      }
    } catch (error) {
      // The client may hang up first, and the test may close the server during a read.
      const expected = [
        Deno.errors.BrokenPipe,
        Deno.errors.ConnectionReset,
        Deno.errors.BadResource,
        Deno.errors.Interrupted,
      ];
      if (!expected.some((each) => error instanceof each)) throw error;
    }
    try {
      connection.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // already closed with the server
    }
  }

  const { port } = listener.addr as Deno.NetAddr; // a TCP listener has this type of address
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    arrived,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) connection.close();
      await accepting;
      await Promise.all(serving);
    },
  };
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

function parseRequest(text: string): { arrived: Arrived; rest: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  const path = head.split(" ")[1] ?? "";
  return { arrived: { head, path, body: JSON.parse(body) }, rest: text.slice(end + 4 + length) };
}
