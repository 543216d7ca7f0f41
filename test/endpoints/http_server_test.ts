import { assertEquals } from "@std/assert";
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

Deno.test("HttpServer answers any client under the paths of the gateway, whole and in chunks", async () => {
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

Deno.test("HttpServer refuses a long body and the page of another origin before its handler is called", async () => {
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
