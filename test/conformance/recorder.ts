/**
 * A gateway in front of a gateway: hands everything on and remembers what was sent and what came back, word for word.
 *
 * @module
 */

/** One call as it went over the wire. */
export interface Exchange {
  method: string;
  path: string;
  contentType: string | null;
  body: { timeout_sec?: unknown; params?: unknown };
  answer: { ok: boolean; err: string; data: unknown };
}

/** A recorder that listens. */
export interface Recorder extends AsyncDisposable {
  readonly url: string;
  /** Takes out what was recorded since the last time. */
  take(): Exchange[];
}

/** Starts a recorder in front of a gateway. */
export function record(gatewayUrl: string): Recorder {
  let exchanges: Exchange[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const text = await request.text();
    const headers = { "content-type": request.headers.get("content-type") ?? "" };
    const response = await fetch(`${gatewayUrl}${pathname}`, { method: request.method, headers, body: text });
    const answer = await response.text();
    exchanges.push({
      method: request.method,
      path: pathname,
      contentType: request.headers.get("content-type"),
      body: JSON.parse(text),
      answer: JSON.parse(answer),
    });
    return new Response(answer, { status: response.status, headers: { "content-type": "application/json" } });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    take() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
