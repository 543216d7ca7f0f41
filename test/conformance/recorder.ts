/**
 * Provides a proxy for a gateway that forwards all calls and records the parsed requests and answers.
 *
 * @module
 */

/** A call with its recorded request and answer. */
export interface Exchange {
  method: string;
  path: string;
  contentType: string | null;
  body: { timeout_sec?: unknown; params?: unknown };
  answer: { ok: boolean; err: string; data: unknown };
}

/** A running recorder. */
export interface Recorder extends AsyncDisposable {
  readonly url: string;
  /** Removes and returns the calls recorded since the last call of this function. */
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
    const date = response.headers.get("date"); // the broker's clock
    return new Response(answer, {
      status: response.status,
      headers: { "content-type": "application/json", ...date !== null && { date } },
    });
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
