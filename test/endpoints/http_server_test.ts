import { assert, assertEquals } from "@std/assert";
import { okAnswer, problemAnswer, routes } from "../../lib/endpoints/gateway_http.ts";
import { HttpServer } from "../../lib/endpoints/http_server.ts";

function serve(): HttpServer & { asked: string[] } {
  const asked: string[] = [];
  const server = new HttpServer({
    hostname: "127.0.0.1",
    port: 0,
    now: () => Date.UTC(2025, 7, 15),
    bodyLimit: 1000,
    explain: ({ status, reason }) => problemAnswer(status, reason),
  }, ({ method, path, body }) => {
    asked.push(`${method} ${path} ${new TextDecoder().decode(body)}`);
    const operation = routes.get(path);
    if (operation === undefined) return problemAnswer(404, "no such operation");
    return { ...okAnswer(operation.name), chunked: path.endsWith("Request") };
  });
  return Object.assign(server, { asked });
}

Deno.test("HttpServer answers at the gateway's paths, whole and in chunks, and returns 404 for other paths", async () => {
  const server = serve();
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    return [answer.status, answer.headers.get("date"), await answer.json()];
  };
  const date = "Fri, 15 Aug 2025 00:00:00 GMT";
  const placed = { ok: true, err: "", data: "orders.place" };
  assertEquals(await ask("/trade/TradeEntrust", { method: "POST", body: "{}" }), [200, date, placed]);
  assertEquals(await ask("/trade/TradeEntrustRequest"), [200, date, placed]);
  assertEquals(await ask("/trade/Nothing"), [404, date, { ok: false, err: "no such operation", data: null }]);
  assertEquals(server.asked, [
    "POST /trade/TradeEntrust {}",
    "GET /trade/TradeEntrustRequest ",
    "GET /trade/Nothing ",
  ]);
  await server.close();
});

Deno.test("HttpServer refuses a body above its limit and a request from another origin, without calling its handler", async () => {
  const server = serve();
  const url = `http://127.0.0.1:${server.port}/trade/TradeEntrust`;
  const ask = async (init: RequestInit) => {
    const answer = await fetch(url, { method: "POST", ...init });
    return [answer.status, (await answer.json()).ok];
  };
  assertEquals(await ask({ body: "x".repeat(1001) }), [413, false]);
  assertEquals(await ask({ headers: { origin: "http://evil.example" } }), [403, false]);
  assertEquals(server.asked, []);
  await server.close();
});

/** Sends a request unchanged and ends the sending side. Resolves to the bytes of the answer. */
async function exchange(port: number, request: string | Uint8Array<ArrayBuffer>): Promise<string> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const send = async () => {
    const bytes = typeof request === "string" ? new TextEncoder().encode(request) : request;
    for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
    await conn.closeWrite();
  };
  const sent = send();
  let answer = "";
  const decoder = new TextDecoder();
  const part = new Uint8Array(4096);
  for (let count; (count = await conn.read(part)) !== null;) {
    answer += decoder.decode(part.subarray(0, count));
  }
  await sent;
  return answer;
}

const CHUNKED = "POST /trade/TradeEntrust HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n";

Deno.test("HttpServer refuses a foreign Host and a foreign Origin before it reads the body", async () => {
  const server = serve();
  for (const foreign of ["host: evil.example", "host: 127.0.0.1\r\norigin: http://evil.example"]) {
    for (const body of ["content-length: 9\r\nexpect: 100-continue", "transfer-encoding: chunked"]) {
      const answer = await exchange(server.port, `POST / HTTP/1.1\r\n${foreign}\r\n${body}\r\n\r\n`);
      assertEquals(answer.split("\r\n")[0], "HTTP/1.1 403 Forbidden", `${foreign} ${body}`);
    }
  }
  assertEquals(server.asked, []);
  await server.close();
});

Deno.test("HttpServer refuses a request that repeats a header with another value, because a proxy could use the other value", async () => {
  const server = serve();
  const host = `host: 127.0.0.1:${server.port}`;
  const twice = [
    [host, "host: evil.example"],
    ["transfer-encoding: identity", "transfer-encoding: chunked"],
    ["content-length: 2", "content-length: 3"],
    ["authorization: Bearer a", "authorization: Bearer b"],
    ["content-type: application/json", "content-type: text/plain"],
    ["origin: http://evil.example", `origin: http://127.0.0.1:${server.port}`],
  ];
  for (const [first = "", second = ""] of twice) {
    const head = [...first === host ? [] : [host], first, second].join("\r\n");
    const answer = await exchange(server.port, `POST / HTTP/1.1\r\n${head}\r\n\r\n0\r\n\r\n`);
    assertEquals(answer.split("\r\n")[0], "HTTP/1.1 400 Bad Request", head);
  }
  assertEquals(server.asked, []);
  await server.close();
});

Deno.test("HttpServer joins chunks, and refuses chunk extensions and trailers above the size limit of a request head", async () => {
  const server = serve();
  const ask = async (body: string) => (await exchange(server.port, `${CHUNKED}${body}`)).split("\r\n")[0];
  assertEquals(await ask('3;a=b\r\n{"a\r\n1\r\n"\r\n3\r\n:1}\r\n0\r\nx-last: 1\r\n\r\n'), "HTTP/1.1 200 OK");
  assertEquals(server.asked, ['POST /trade/TradeEntrust {"a":1}']);
  const tooLong = "HTTP/1.1 431 Request Header Fields Too Large";
  assertEquals(await ask(`0\r\n${"x: 1\r\n".repeat(5000)}\r\n`), tooLong);
  assertEquals(await ask(`${`1;${"x".repeat(40)}\r\na\r\n`.repeat(600)}0\r\n\r\n`), tooLong);
  assertEquals(
    await ask(`${"3e8\r\n" + "a".repeat(1000)}\r\n1\r\na\r\n0\r\n\r\n`),
    "HTTP/1.1 413 Content Too Large",
  );
  assertEquals(server.asked.length, 1);
  await server.close();
});

Deno.test("HttpServer needs little memory for a body in chunks of one byte", async () => {
  const count = 400_000;
  let used = 0;
  let body: Uint8Array = new Uint8Array(0);
  const server = new HttpServer({
    hostname: "127.0.0.1",
    port: 0,
    now: () => 0,
    bodyLimit: count,
    explain: ({ status, reason }) => problemAnswer(status, reason),
  }, (request) => {
    used = Deno.memoryUsage().rss;
    body = request.body;
    return okAnswer(null);
  });
  const request = new TextEncoder().encode(`${CHUNKED}${"1\r\na\r\n".repeat(count)}0\r\n\r\n`);
  const before = Deno.memoryUsage().rss;
  await exchange(server.port, request);
  await server.close();
  assertEquals([body.length, body.every((byte) => byte === 97)], [count, true]);
  assert(used - before < 64 * 2 ** 20, `${Math.round((used - before) / 2 ** 20)} MiB`);
});
