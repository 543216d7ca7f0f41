import { assertEquals, assertStringIncludes } from "@std/assert";
import { proxyFindings } from "../../tasks/commands/doctor/findings.ts";
import { cli, envOf, KEY, MORNING, simulate } from "./support.ts";

/** Returns the states of the findings, by check. */
function statesOf(out: string): Record<string, string> {
  const { findings }: { findings: { check: string; state: string }[] } = JSON.parse(out);
  return Object.fromEntries(findings.map(({ check, state }) => [check, state]));
}

function textOf(out: string, check: string): string {
  const { findings }: { findings: { check: string; text: string; advice?: string }[] } = JSON.parse(out);
  const { text, advice } = findings.findLast((each) => each.check === check)!;
  return `${text} -> ${advice}`;
}

/** A port on which no program listens. */
function closedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** The push port of the settings, for tests of only the HTTP side. */
const pushOf = (port: number) => ({ HSGATE_PUSH_ADDRESS: `127.0.0.1:${port}` });

Deno.test("doctor finds nothing wrong with a gateway that works", async () => {
  await using gateway = await simulate();
  const { code, out, err } = await cli(["doctor", "--json"], { env: envOf(gateway) });
  assertEquals({ code, err }, { code: 0, err: "" });
  assertEquals(JSON.parse(out).ok, true);
  assertEquals(statesOf(out), {
    "settings": "ok",
    "HTTP port": "ok",
    "gateway": "ok",
    "clock": "ok",
    "trade login": "ok",
    "push port": "ok",
    "order pushes": "warning",
  });
  assertStringIncludes(textOf(out, "order pushes"), "Set HSGATE_FUND_ACCOUNTS");
  const named = await cli(["doctor", "--json"], {
    env: { ...envOf(gateway), HSGATE_FUND_ACCOUNTS: "88001" },
  });
  assertEquals(statesOf(named.out)["order pushes"], undefined);
});

Deno.test("doctor says that a port is closed and what to do, and ends with 4", async () => {
  const port = closedPort();
  const env = { HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}`, ...pushOf(port) };
  const { code, out } = await cli(["doctor", "--json"], { env });
  assertEquals(code, 4);
  assertEquals(statesOf(out), { "settings": "ok", "HTTP port": "failed", "push port": "failed" });
  assertStringIncludes(textOf(out, "HTTP port"), `127.0.0.1:${port} is closed -> Start the gateway`);
});

Deno.test("doctor shows no query of a URL, because it may contain a token", async () => {
  await using web = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("hello"),
  );
  for (const port of [web.addr.port, closedPort()]) {
    for (const more of [[], ["--json"]]) {
      const env = { HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}/desk?token=t0psecret`, ...pushOf(port) };
      const { out, err } = await cli(["doctor", ...more], { env });
      assertStringIncludes(out, `http://127.0.0.1:${port}/desk?…`);
      assertEquals(`${out}${err}`.includes("t0psecret"), false, out + err);
    }
  }
  const { out, err } = await cli(["doctor", "--auth-url", "ftp://127.0.0.1/?token=t0psecret"]);
  assertStringIncludes(err, "authUrl");
  assertEquals(`${out}${err}`.includes("t0psecret"), false, out + err);
});

const strangers: [string, () => Response][] = [
  ["a web page", () => new Response("<html></html>", { headers: { "content-type": "text/html" } })],
  ["other JSON", () => Response.json({ hello: "world" })],
  ["404", () => new Response("not found", { status: 404 })],
];
for (const [what, answer] of strangers) {
  Deno.test(`doctor distinguishes another program from a gateway by its answer: ${what}`, async () => {
    const bodies: string[] = [];
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      bodies.push(await request.text());
      return answer();
    });
    const { port } = server.addr;
    const env = {
      HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}`,
      HSGATE_TRADE_PASSWORD: "135790",
      HSGATE_TRADE_PASSWORD_KEY: KEY,
      ...pushOf(port),
    };
    const { code, out } = await cli(["doctor", "--json"], { env });
    assertEquals(code, 4);
    assertEquals(statesOf(out), {
      "settings": "ok",
      "HTTP port": "ok",
      "gateway": "failed",
      "push port": "ok",
      "order pushes": "warning",
    });
    assertStringIncludes(
      textOf(out, "gateway"),
      "but it is not the gateway -> Another program has this port",
    );
    // The password was not sent to the other program.
    assertEquals(bodies.some((body) => body.includes("password")), false);
  });
}

Deno.test("doctor distinguishes a program without HTTP from a gateway", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    for await (const conn of listener) {
      await conn.read(new Uint8Array(4096));
      await conn.write(new TextEncoder().encode("220 mail ready\r\n"));
      conn.close();
    }
  })();
  const { port } = listener.addr;
  const { code, out } = await cli(["doctor", "--json", "--timeout", "1"], {
    env: { HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}`, ...pushOf(port) },
  });
  listener.close();
  await served;
  assertEquals({ code, state: statesOf(out).gateway }, { code: 4, state: "failed" });
  assertStringIncludes(textOf(out, "gateway"), "perhaps it is not the gateway");
});

Deno.test("doctor says that there is no trade login, and ends with 6", async () => {
  await using gateway = await simulate();
  const env = { HSGATE_GATEWAY_URL: gateway.info.gatewayUrl, HSGATE_PUSH_ADDRESS: gateway.info.pushAddress };
  const { code, out } = await cli(["doctor", "--json"], { env });
  assertEquals(code, 6);
  assertEquals(statesOf(out)["trade login"], "failed");
  assertStringIncludes(
    textOf(out, "trade login"),
    'not logged in for trading (1012 not logged in) -> Type "tradelogin"',
  );
});

/**
 * Returns a function that counts the trade logins that have arrived at a gateway. The fault for this delays a login by
 * 0 ms, so it changes nothing.
 */
function countLogins({ faults }: Awaited<ReturnType<typeof simulate>>): () => number {
  faults.arm({ kind: "delay", ms: 0, when: "request", operation: "account.login", times: 1000 });
  return () => faults.struck("delay");
}

Deno.test("doctor says that the password is wrong, tries it once, does not show it, and ends with 6", async () => {
  await using gateway = await simulate();
  const logins = countLogins(gateway);
  const env = { ...envOf(gateway), HSGATE_TRADE_PASSWORD: "999999" };
  const { code, out } = await cli(["doctor", "--json"], { env });
  assertEquals(code, 6);
  assertStringIncludes(textOf(out, "trade login"), "wrong trade password, or the wrong key for it");
  assertEquals(out.includes("999999"), false);
  assertEquals([gateway.state().tradeLogin, logins()], ["out", 1]);
});

Deno.test("doctor says that the key of the password is wrong, and tries it once", async () => {
  await using gateway = await simulate();
  const logins = countLogins(gateway);
  const env = { ...envOf(gateway), HSGATE_TRADE_PASSWORD_KEY: "ZmVkY2JhOTg3NjU0MzIxMA==" };
  const { code, out } = await cli(["doctor", "--json"], { env });
  assertEquals(code, 6);
  assertStringIncludes(
    textOf(out, "trade login"),
    "the broker cannot decrypt the password, so its key is wrong (1003",
  );
  assertEquals(logins(), 1);
});

const temporary: [what: string, code: string, text: string][] = [
  ["maintenance", "9999", "maintenance until 20:00"],
  ["an unknown reason", "-1", "try later"],
];
for (const [what, code, text] of temporary) {
  Deno.test(`doctor keeps the broker's text for a rejected trade login: ${what}`, async () => {
    await using gateway = await simulate();
    gateway.faults.arm({ kind: "busy", operation: "account.login", code, text });
    const found = await cli(["doctor", "--json"], { env: envOf(gateway) });
    assertEquals([found.code, statesOf(found.out)["trade login"]], [6, "failed"]);
    assertStringIncludes(textOf(found.out, "trade login"), text);
    assertStringIncludes(textOf(found.out, "trade login"), "it does not mention the password");
    assertEquals(textOf(found.out, "trade login").includes("wrong trade password"), false);
  });
}

for (
  const [status, text] of [[500, "Internal Server Error"], [503, "gateway restarts"], [
    403,
    "forbidden",
  ]] as const
) {
  Deno.test(`doctor says that the gateway answers with HTTP ${status}, and does not log in`, async () => {
    let calls = 0;
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      calls++;
      return new Response(text, { status });
    });
    const { port } = server.addr;
    const env = {
      HSGATE_GATEWAY_URL: `http://127.0.0.1:${port}`,
      HSGATE_TRADE_PASSWORD: "135790",
      HSGATE_TRADE_PASSWORD_KEY: KEY,
      ...pushOf(port),
    };
    const { code, out } = await cli(["doctor", "--json"], { env });
    assertEquals([code, calls, statesOf(out)["trade login"]], [4, 1, undefined]);
    assertStringIncludes(textOf(out, "gateway"), `http://127.0.0.1:${port} answers with HTTP ${status}`);
    assertEquals(textOf(out, "gateway").includes("closed the connection"), false);
  });
}

Deno.test("doctor compares the clock with the gateway's answers, or with a quote if they contain no time", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const at = async (now: number, url = gateway.info.gatewayUrl) => {
    const { out } = await cli(["doctor", "--json"], {
      env: { ...env, HSGATE_GATEWAY_URL: url },
      now: () => now,
    });
    return textOf(out, "clock");
  };
  assertStringIncludes(await at(MORNING - 59_000), "within 59 s of the broker's (Date header)");
  assertStringIncludes(
    await at(MORNING + 5 * 86_400_000),
    "this machine's clock is 5 days ahead of the broker's",
  );
  assertStringIncludes(await at(MORNING - 61_000), "this machine's clock is 1 min 1 s behind the broker's");
  // A gateway on this machine uses this machine's clock, which may be wrong, or sends no time. Its quotes contain the
  // exchange's time.
  await using relay = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const body = await request.text();
    const headers = { "content-type": "application/json" };
    const answer = await fetch(gateway.info.gatewayUrl + pathname, { method: "POST", headers, body });
    return new Response(await answer.text(), { headers: { date: "unknown" } });
  });
  const url = `http://127.0.0.1:${relay.addr.port}`;
  assertStringIncludes(
    await at(MORNING + 5 * 86_400_000, url),
    "older than the last session by this machine's clock",
  );
  assertStringIncludes(await at(MORNING - 7_200_000, url), "which is in the future by this machine's clock");
  assertStringIncludes(
    await at(MORNING, url),
    "the broker's answers contain no time; a quote of 00700.HK has the time",
  );
  gateway.faults.arm({ kind: "busy", operation: "quotes.latest", code: "1006", text: "not entitled" });
  assertStringIncludes(await at(MORNING, url), "the broker's time is unknown");
});

Deno.test("doctor reports a trade password without its key", async () => {
  await using gateway = await simulate();
  const { HSGATE_TRADE_PASSWORD_KEY: _, ...env } = envOf(gateway);
  const { code, out } = await cli(["doctor", "--json"], { env });
  assertEquals(code, 2);
  assertStringIncludes(textOf(out, "trade password"), "either the trade password or its key is missing");
  assertStringIncludes((await cli(["doctor"], { env })).out, "trade password either the trade password");
});

Deno.test("doctor says that the platform login has expired", async () => {
  await using gateway = await simulate();
  gateway.faults.arm({ kind: "expired-login", operation: "account.exchangeRates" });
  const { code, out } = await cli(["doctor", "--json"], { env: envOf(gateway) });
  assertEquals(code, 6);
  assertStringIncludes(textOf(out, "gateway"), "it is not logged in to the platform");
  assertStringIncludes(textOf(out, "gateway"), 'Type "relogin"');
});

Deno.test("doctor says that the account was taken over by another login", async () => {
  await using gateway = await simulate();
  gateway.faults.arm({ kind: "busy", operation: "account.exchangeRates", code: "1013", text: "kicked" });
  const { code, out } = await cli(["doctor", "--json"], { env: envOf(gateway) });
  assertEquals(code, 6);
  assertStringIncludes(textOf(out, "gateway"), "another device or program has logged in");
});

Deno.test("doctor says that the push port is closed although calls work", async () => {
  await using gateway = await simulate();
  const { code, out } = await cli(["doctor", "--json"], {
    env: { ...envOf(gateway), ...pushOf(closedPort()) },
  });
  assertEquals(code, 4);
  assertEquals(statesOf(out)["trade login"], "ok");
  assertStringIncludes(textOf(out, "push port"), "Orders and calls work without it");
});

Deno.test("doctor warns of a proxy that gets the reads of a gateway elsewhere", async () => {
  const found = (url: string, env: Record<string, string>) =>
    proxyFindings((name) => env[name], { url, what: "reads use it" });
  const set = { HTTP_PROXY: "http://127.0.0.1:1" };
  const [proxy] = found("http://10.0.0.9:11111", set);
  assertEquals([proxy?.state, proxy?.text], ["warning", "HTTP_PROXY is set: reads use it"]);
  assertEquals(found("http://10.0.0.9:11111", { ...set, NO_PROXY: "localhost, 10.0.0.9" }), []);
  assertEquals(found("http://10.0.0.9:11111", { HTTPS_PROXY: "http://127.0.0.1:1" }), []);
  // Deno 2.9 was seen to use the proxy, or not, in exactly these cases.
  const address = "http://10.0.0.9:11111";
  const name = "http://gateway.desk.test:11111";
  for (
    const [url, entry] of [[address, "10.0.0.0/8"], [address, "10.0.0.9/32"], [name, "desk.test"], [
      name,
      ".desk.test",
    ], [name, "*"]] as const
  ) {
    assertEquals(found(url, { ...set, NO_PROXY: `other,${entry}` }), [], entry);
  }
  for (
    const [url, entry] of [
      [address, "*"],
      [address, "10.0.1.0/24"],
      [address, "0.9"],
      [name, "esk.test"],
      [name, "*.desk.test"],
      [name, "DESK.test"],
      [name, ""],
    ] as const
  ) {
    assertEquals(found(url, { ...set, NO_PROXY: `other,${entry}` }).length, 1, entry);
  }
  // A request to this machine never uses a proxy.
  await using gateway = await simulate();
  const { code, out } = await cli(["doctor", "--json"], { env: { ...envOf(gateway), ...set } });
  assertEquals([code, statesOf(out).proxy], [0, undefined]);
});

Deno.test("doctor's last line names the checks with warnings", async () => {
  await using gateway = await simulate();
  const states = async (env: Record<string, string>) =>
    statesOf((await cli(["doctor", "--json"], { env })).out);
  const last = async (env: Record<string, string>) =>
    (await cli(["doctor"], { env })).out.trimEnd().split("\n").at(-1)!;
  const env = envOf(gateway);
  const warned = Object.entries(await states(env)).filter(([, state]) => state === "warning");
  assertEquals(warned.length > 0, true);
  assertEquals(await last(env), `No check failed. Look at the warning about: ${warned[0]![0]}.`);
  const plain = { ...env, HSGATE_FUND_ACCOUNTS: "88001" };
  assertEquals(Object.values(await states(plain)).includes("warning"), false);
  assertEquals(await last(plain), "All checks passed.");
});

Deno.test("doctor reads the gateway's config.xml, compares its ports, and does not print the phone number", async () => {
  await using gateway = await simulate();
  const xml = `<hs_gateway><mobile>13800000000</mobile><countryCode>CHN</countryCode>
    <listenHttpPort>21111</listenHttpPort><privateKeyPath>/k.pem</privateKeyPath></hs_gateway>`;
  const { code, out } = await cli(["doctor", "--config-xml", "config.xml", "--json"], {
    env: envOf(gateway),
    files: { "config.xml": xml },
  });
  assertEquals(code, 0);
  const { findings }: { findings: { check: string; state: string; text: string }[] } = JSON.parse(out);
  const texts = findings.filter(({ check }) => check === "config.xml").map(({ state, text }) =>
    `${state}: ${text}`
  );
  assertEquals(texts, [
    "ok: listens on 127.0.0.1, HTTP 21111, pushes 11112",
    `warning: the gateway listens on HTTP port 21111, but the settings say ${
      new URL(gateway.info.gatewayUrl).port
    }`,
    `warning: the gateway pushes on port 11112, but the settings say ${
      gateway.info.pushAddress.split(":")[1]
    }`,
  ]);
  assertEquals(out.includes("13800000000"), false);
});

Deno.test("doctor finds a gateway by its config.xml if no setting names an address", async () => {
  await using gateway = await simulate();
  const { port } = new URL(gateway.info.gatewayUrl);
  const xml = `<hs_gateway><mobile>1</mobile><countryCode>HKG</countryCode><privateKeyPath>/k</privateKeyPath>
    <listenHttpPort>${port}</listenHttpPort><listenTcpPort>${
    gateway.info.pushAddress.split(":")[1]
  }</listenTcpPort>
    </hs_gateway>`;
  const { code, out } = await cli(["doctor", "--config-xml", "config.xml", "--json"], {
    files: { "config.xml": xml },
  });
  // There is no trade login; all other checks pass.
  assertEquals(code, 6);
  assertEquals(statesOf(out), {
    "settings": "ok",
    "config.xml": "ok",
    "HTTP port": "ok",
    "gateway": "ok",
    "clock": "ok",
    "trade login": "failed",
    "push port": "ok",
  });
  assertStringIncludes(textOf(out, "settings"), `gateway http://127.0.0.1:${port} (config.xml)`);
});

const unreadable: [what: string, xml: string, says: string][] = [
  ["is cut off", "<hs_gateway><mobile>138</hs_gateway>", "it is not XML at line 1, column 24"],
  [
    "names no port",
    "<hs_gateway><listenHttpPort>11111O</listenHttpPort></hs_gateway>",
    'listenHttpPort is "11111O", which is not a port',
  ],
];
for (const [what, xml, says] of unreadable) {
  Deno.test(`doctor sends nothing for a config.xml that ${what}`, async () => {
    await using gateway = await simulate();
    const words = ["doctor", "--config-xml", "c.xml", "--json"];
    const { code, out } = await cli(words, { env: envOf(gateway), files: { "c.xml": xml } });
    assertEquals(code, 2);
    assertEquals(statesOf(out), { "settings": "ok", "config.xml": "failed" });
    assertStringIncludes(textOf(out, "config.xml"), says);
    assertEquals([gateway.state().tradeLogin, gateway.state().callsTaken], ["out", 0]);
    // Control: the same settings without the file.
    await cli(["doctor", "--json"], { env: envOf(gateway) });
    assertEquals(gateway.state().tradeLogin, "in");
  });
}

Deno.test("doctor fits a terminal of 80 columns", async () => {
  const { out } = await cli(["doctor"], {
    env: { HSGATE_GATEWAY_URL: `http://127.0.0.1:${closedPort()}` },
    columns: 80,
  });
  for (const line of out.split("\n")) assertEquals(line.length <= 80, true, line);
});
