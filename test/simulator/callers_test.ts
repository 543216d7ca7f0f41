/** Tests requests that a web page can send, through a browser, to the simulator's HTTP ports. Uses real sockets. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { demandOwnCaller } from "../../lib/endpoints/callers.ts";
import { HttpProblem } from "../../lib/endpoints/http_input.ts";
import type { SimulatorOptions } from "../../lib/simulator/mod.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { MORNING, PASSWORD } from "./gateway_client.ts";

const start = (ports: SimulatorOptions["gateway"] & SimulatorOptions["platform"] = {}) =>
  startSimulator({
    seed: 7,
    days: 2,
    fillsPerDay: 2,
    clock: new ManualClock(MORNING),
    gateway: { tradePassword: PASSWORD, pushIntervalMs: 0, ...ports },
    platform: { pushIntervalMs: 0, ...ports },
  });

/** Sends a request unchanged, because `fetch` sets `Host` itself. Resolves to the status of the answer. */
async function statusOf(
  port: number,
  headers: Record<string, string>,
  { path = "/hq/BasicQot", method = "POST", body = '{"timeout_sec":10,"params":{"security":[]}}' } = {},
): Promise<number> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": String(body.length),
    connection: "close",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  await conn.write(new TextEncoder().encode(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`));
  let answer = "";
  for await (const chunk of conn.readable.pipeThrough(new TextDecoderStream())) answer += chunk;
  assert(/^HTTP\/1\.1 \d{3} /.test(answer), answer);
  return Number(answer.slice(9, 12));
}

const portOf = (url: string) => Number(new URL(url).port);

Deno.test("HTTP ports answer requests under their own names only", async () => {
  await using simulator = await start({ names: ["broker-sim"] });
  for (const url of [simulator.info.gatewayUrl, simulator.info.authUrl]) {
    const port = portOf(url);
    const own = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "broker-sim", `127.0.0.1:1`];
    for (const host of [...own, `127.0.0.1:${port}`]) {
      const status = await statusOf(port, { host });
      assertEquals(
        status === 400 || status === 403,
        false,
        `the port rejected its own name ${host} with ${status}`,
      );
    }
    const foreign = [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1.evil.example",
      "localhost.",
      "10.0.0.1",
    ];
    for (const host of foreign) assertEquals(await statusOf(port, { host }), 403, host);
    for (const host of ["", "a b", "user@127.0.0.1", "127.0.0.1/evil"]) {
      assertEquals(await statusOf(port, { host }), 400, host);
    }
    assertEquals(await statusOf(port, {}), 400, "no Host header");
    assertEquals(await statusOf(port, { host: "evil.example", Host: "127.0.0.1" }), 400, "two Host headers");
  }
});

Deno.test("HTTP ports reject requests from a page of another origin, and execute no order from it", async () => {
  await using simulator = await start();
  const host = new URL(simulator.info.gatewayUrl).host;
  const port = portOf(simulator.info.gatewayUrl);
  const from = (headers: Record<string, string>) => statusOf(port, { host, ...headers });
  const before = simulator.gateway.state().callsTaken;
  for (const origin of ["http://evil.example", `https://${host}`, "null", "http://127.0.0.1:1"]) {
    assertEquals(await from({ origin }), 403, origin);
  }
  for (const site of ["cross-site", "same-site"]) {
    assertEquals(await from({ "sec-fetch-site": site }), 403, site);
  }
  assertEquals(simulator.gateway.state().callsTaken, before);
  assertEquals(await from({ origin: `http://${host}`, "sec-fetch-site": "same-origin" }), 200);
});

Deno.test("the path for notices reads the text of every format, and rejects web pages and other bodies", async () => {
  const texts: string[] = [];
  await using simulator = await start({ onNotice: (text) => texts.push(text) });
  const { host } = new URL(simulator.info.gatewayUrl);
  const port = portOf(simulator.info.gatewayUrl);
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    statusOf(port, { host, ...headers }, {
      path: "/notices",
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const formats = [
    { text: "webhook", recipe: "eod" },
    { content: "discord", allowed_mentions: { parse: [] } },
    { msg_type: "text", content: { text: "lark" } },
    { msgtype: "text", text: { content: "wecom" } },
  ];
  for (const body of formats) assertEquals(await send(body), 200);
  assertEquals(texts, ["webhook", "discord", "lark", "wecom"]);
  for (const body of ["{", "[]", "{}", "null", '{"text":7}']) assertEquals(await send(body), 400, body);
  assertEquals(await send({ text: "page" }, { "content-type": "text/plain" }), 400);
  assertEquals(await send({ text: "page" }, { origin: "http://evil.example" }), 403);
  assertEquals(texts.length, 4);
  // If the program does not read notices, their path is unknown, like any other.
  await using other = await start();
  assertEquals(
    await statusOf(portOf(other.info.gatewayUrl), { host: new URL(other.info.gatewayUrl).host }, {
      path: "/notices",
      method: "POST",
      body: '{"text":"x"}',
    }),
    404,
  );
});

Deno.test("control routes need the token of this start, whatever else a request contains", async () => {
  await using simulator = await start();
  await using other = await start();
  const { info } = simulator;
  for (const url of [info.gatewayUrl, info.authUrl]) {
    const host = new URL(url).host;
    const ask = (
      headers: Record<string, string>,
      route = { path: "/control/state", method: "GET", body: "" },
    ) => statusOf(portOf(url), { host, ...headers }, route);
    const arm = { path: "/control/faults", method: "POST", body: '{"kind":"busy"}' };
    for (const authorization of ["", "Bearer ", "Bearer x", `Basic ${info.controlToken}`]) {
      assertEquals(await ask({ authorization }), 403, authorization);
      assertEquals(await ask({ authorization }, arm), 403, authorization);
    }
    assertEquals(await ask({ authorization: `Bearer ${other.info.controlToken}` }), 403, "of another start");
    assertEquals(await ask({}, arm), 403);
    assertEquals(simulator.faults.armed, []);
    assertEquals(await ask({ authorization: `Bearer ${info.controlToken}` }), 200);
  }
});

Deno.test("an HTTP port that is open to other machines answers under any address, but not under unknown names", async () => {
  await using simulator = await start({ hostname: "0.0.0.0", names: ["broker-sim"] });
  const port = portOf(simulator.info.gatewayUrl);
  for (const host of ["127.0.0.1", "192.168.7.7", "[fe80::1]", "localhost", "broker-sim:80"]) {
    assertEquals(await statusOf(port, { host }), 200, host);
  }
  assertEquals(await statusOf(port, { host: "evil.example" }), 403);
});

Deno.test("demandOwnCaller() rejects a name of this machine on a port that listens on another address", () => {
  const asked = (host: string) => () =>
    demandOwnCaller({ headers: new Map([["host", host]]) }, { hostname: "192.168.7.7" });
  for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
    assertThrows(asked(host), HttpProblem, "Host header");
  }
  asked("192.168.7.7:80")();
});
