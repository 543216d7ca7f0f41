/** Tests that a proxy in the environment sees no request to this machine, with real sockets and processes. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { isWithoutProxy, mayMeanThisMachine } from "../../lib/loopback.ts";
import { directEnvOf, envOf, folder, simulate, simulatePlatform, spawned } from "./support.ts";

/** A proxy that answers everything itself, like a hostile one, and records its requests. */
function hostileProxy(): { url: string; asked: string[] } & AsyncDisposable {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(request.url);
    return Response.json({ ok: true, err: "", data: [] });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/**
 * Returns the variables of a proxy. Without the last variable, Deno would look for its newer version through the proxy.
 */
const proxies = (url: string) => ({
  HTTP_PROXY: url,
  HTTPS_PROXY: url,
  ALL_PROXY: url,
  DENO_NO_UPDATE_CHECK: "1",
});

Deno.test("calls to a gateway on this machine never go through a proxy", async () => {
  await using gateway = await simulate({ days: 2, fillsPerDay: 2 });
  await using proxy = hostileProxy();
  const port = new URL(gateway.info.gatewayUrl).port;
  for (const host of ["127.0.0.1", "localhost"]) {
    const env = { ...envOf(gateway), HSGATE_GATEWAY_URL: `http://${host}:${port}`, ...proxies(proxy.url) };
    const { code, out, err } = await spawned(["call", "account.funds", '{"market":"hk"}', "--json"], { env });
    assertEquals({ code, err }, { code: 0, err: "" });
    assertStringIncludes(out, "totalAssets");
    assertEquals((await spawned(["doctor"], { env })).code, 0);
  }
  assertEquals(proxy.asked, []);
});

Deno.test("no request to any address of this machine goes through a proxy", async () => {
  await using proxy = hostileProxy();
  const hosts = [
    "0.0.0.0",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:0.0.0.0]",
    "hsgate.localhost",
    "localhost.",
  ];
  for (const host of hosts) {
    const env = {
      HSGATE_GATEWAY_URL: `http://${host}:9`,
      HSGATE_PLAIN_HTTP: "allow",
      ...proxies(proxy.url),
    };
    const { code } = await spawned(["call", "quotes.search", '{"text":"x"}', "--json"], { env });
    assertEquals([host, code === 0, proxy.asked], [host, false, []]);
  }
  for (
    const host of [
      "127.1",
      "0x7f000001",
      "0",
      "[0:0:0:0:0:0:0:1]",
      "[::ffff:7f01:203]",
      "LOCALHOST",
      "a.LocalHost.",
      "localhost.localdomain",
      "ip6-localhost",
    ]
  ) {
    const { hostname } = new URL(`http://${host}:9`);
    assertEquals([hostname, isWithoutProxy(hostname)], [hostname, true]);
  }
  const others = [
    "gateway.example",
    "1.2.3.4",
    "128.0.0.1",
    "[::2]",
    "[::ffff:8000:1]",
    "[fe80::1]",
    "xlocalhost",
  ];
  for (const host of others) assertEquals([host, isWithoutProxy(host)], [host, false]);
});

Deno.test("mayMeanThisMachine() excludes only names with a dot that the local network does not use", () => {
  const here = [
    "localhost",
    "vm",
    "VM.",
    "203.0.113.7",
    "[2001:db8::1]",
    "host.docker.internal",
    "nas.local",
  ];
  for (const host of here) assertEquals([host, mayMeanThisMachine(host)], [host, true]);
  for (const host of ["vm.example.com", "data.example", "local.example.com"]) {
    assertEquals([host, mayMeanThisMachine(host)], [host, false]);
  }
});

Deno.test("calls to a platform on this machine never go through a proxy", async () => {
  await using platform = await simulatePlatform();
  await using leases = await folder();
  await using proxy = hostileProxy();
  const env = { ...directEnvOf(platform.info, leases.path), ...proxies(proxy.url) };
  const { code, out, err } = await spawned(["call", "account.exchangeRates", "--json"], { env });
  assertEquals({ code, err }, { code: 0, err: "" });
  assertStringIncludes(out, "USD");
  assertStringIncludes((await spawned(["doctor"], { env })).out, "a server answers there");
  assertEquals(proxy.asked, []);
});

Deno.test("calls to another machine go through the proxy of the environment", async () => {
  await using proxy = hostileProxy();
  const env = {
    HSGATE_GATEWAY_URL: "http://gateway.example:11111",
    HSGATE_PLAIN_HTTP: "allow",
    ...proxies(proxy.url),
  };
  await spawned(["call", "quotes.search", '{"text":"x"}'], { env });
  await spawned(["quote", "00700.HK"], { env });
  assertEquals(proxy.asked.every((url) => url.startsWith("http://gateway.example:11111/")), true);
  assertEquals(proxy.asked.length > 0, true);
});

Deno.test("a long answer to a read arrives complete if a proxy is set", async () => {
  // About 3 MB, more than the limit for answers to writes.
  const row = { stockCode: "00700.HK", stockName: "x".repeat(3_000_000), currentAmount: "5" };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ok: true, err: "", data: { holdsList: [row] } }),
  );
  await using proxy = hostileProxy();
  const env = { HSGATE_GATEWAY_URL: `http://127.0.0.1:${server.addr.port}`, ...proxies(proxy.url) };
  const { code, out } = await spawned(["call", "account.holdings", '{"market":"hk"}', "--json"], { env });
  assertEquals(code, 0);
  assertStringIncludes(out, row.stockName);
});
