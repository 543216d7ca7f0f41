/** Tests `hsgate doctor` over the direct transport, each fault with real sockets. */
// @ts-types="@types/node-forge"
import forge from "node-forge";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { PlatformInfo, PlatformOptions } from "../../lib/simulator/platform/mod.ts";
import { leaseName, takeLease } from "../../lib/transports/direct/lease.ts";
import {
  exportPrivateKey,
  exportPublicKey,
  generateKeyPair,
  publicKeyOf,
  readPrivateKey,
} from "../../lib/wire/keys.ts";
import { proxyFindings } from "../../tasks/commands/doctor/findings.ts";
import { startDirectProxy } from "../support/direct_proxy.ts";
import { cli, directEnvOf, folder, PASSWORD, simulatePlatform, spawned, type World } from "./support.ts";

interface CheckResult {
  check: string;
  state: "ok" | "warning" | "failed";
  text: string;
  advice?: string;
}

interface Examined {
  code: number;
  ok: boolean;
  findings: CheckResult[];
  /** Returns the last finding of a check as `text -> advice`. */
  of(check: string): string;
}

/** Runs doctor, and checks that its output contains no secret. */
async function doctor(env: Record<string, string>, world: Omit<World, "env"> = {}): Promise<Examined> {
  const { code, out, err } = await cli(["doctor", "--json"], { ...world, env });
  assertEquals(err, "");
  for (const name of ["MOBILE", "LOGIN_PASSWORD", "TRADE_PASSWORD", "DEVELOPER_PRIVATE_KEY"]) {
    const secret = env[`HSGATE_${name}`] ?? PASSWORD;
    assertEquals(out.includes(secret.split("\n")[1] ?? secret), false, name);
  }
  const { ok, findings }: { ok: boolean; findings: CheckResult[] } = JSON.parse(out);
  const of = (check: string) => {
    const { text, advice } = findings.findLast((each) => each.check === check)!;
    return `${text} -> ${advice}`;
  };
  return { code, ok, findings, of };
}

const statesOf = ({ findings }: Examined): Record<string, string | undefined> =>
  Object.fromEntries(findings.map(({ check, state }) => [check, state]));

/** A platform, and the environment variables for it. */
async function world(options: Partial<PlatformOptions> = {}) {
  const leases = await folder();
  const platform = await simulatePlatform(options);
  return {
    platform,
    leases: leases.path,
    env: directEnvOf(platform.info, leases.path),
    async [Symbol.asyncDispose]() {
      await platform.close();
      await leases[Symbol.asyncDispose]();
    },
  };
}

const BEFORE_LOGIN = {
  "settings": "ok",
  "developer key": "ok",
  "platform key": "ok",
  "lease": "ok",
  "address": "ok",
  "HTTP": "ok",
};

Deno.test("doctor finds nothing wrong with a platform that works", async () => {
  await using at = await world();
  const found = await doctor(at.env);
  assertEquals([found.code, found.ok], [0, true]);
  assertEquals(statesOf(found), {
    ...BEFORE_LOGIN,
    "clock": "ok",
    "login": "ok",
    "market server": "ok",
    "trade server": "ok",
    "market data": "ok",
    "trade login": "ok",
    "order pushes": "warning",
  });
});

Deno.test("doctor names the missing settings of the direct transport, and stops there", async () => {
  const found = await doctor({ HSGATE_TRANSPORT: "direct", HSGATE_AUTH_URL: "http://127.0.0.1:1" });
  assertEquals([found.code, statesOf(found)], [2, { settings: "failed" }]);
  assertStringIncludes(found.of("settings"), "missing: countryCode, mobile, loginPassword, deviceId");
  assertStringIncludes(found.of("settings"), "HSGATE_MOBILE (or ..._FILE)");
});

Deno.test("doctor says that a key cannot be used, and does not log in", async () => {
  await using at = await world();
  const halves = { HSGATE_DEVELOPER_PRIVATE_KEY: at.platform.info.platformPublicKey };
  const found = await doctor({ ...at.env, ...halves });
  assertEquals([found.code, statesOf(found)["developer key"]], [2, "failed"]);
  assertStringIncludes(found.of("developer key"), "it is a public key; the private one is needed");
  assertEquals(statesOf(found).login, undefined);
  assertEquals(at.platform.state().callsTaken, 0);
});

Deno.test("doctor says that a name cannot be resolved, and ends with 4", async () => {
  await using at = await world();
  const found = await doctor({ ...at.env, HSGATE_AUTH_URL: "https://no-such-host.invalid" });
  assertEquals([found.code, statesOf(found).address], [4, "failed"]);
  assertStringIncludes(found.of("address"), '"no-such-host.invalid" cannot be resolved (DNS)');
});

Deno.test("doctor says that the platform's port is closed, and ends with 4", async () => {
  await using at = await world();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const found = await doctor({ ...at.env, HSGATE_AUTH_URL: `http://127.0.0.1:${port}` });
  const { HTTP: _, ...before } = BEFORE_LOGIN;
  assertEquals([found.code, statesOf(found)], [4, { ...before, address: "failed" }]);
  assertStringIncludes(found.of("address"), `127.0.0.1:${port} is closed`);
});

interface Certificate {
  pem: string;
  key: string;
}

/** A test authority, and a certificate that it issues to a host. */
function certify(host: string, daysLeft: number): { authority: string; certificate: Certificate } {
  const make = (name: string, issuer: string, extensions: object[]) => {
    const { privateKey, publicKey } = forge.pki.rsa.generateKeyPair(2048);
    const certificate = forge.pki.createCertificate();
    certificate.publicKey = publicKey;
    certificate.serialNumber = name === issuer ? "01" : "02";
    const dayMs = 86_400_000;
    certificate.validity.notBefore = new Date(Date.now() - 10 * dayMs);
    certificate.validity.notAfter = new Date(Date.now() + (name === issuer ? 10 : daysLeft) * dayMs);
    certificate.setSubject([{ name: "commonName", value: name }]);
    certificate.setIssuer([{ name: "commonName", value: issuer }]);
    certificate.setExtensions(extensions);
    return { certificate, privateKey };
  };
  const root = make("authority of a test", "authority of a test", [{ name: "basicConstraints", cA: true }]);
  root.certificate.sign(root.privateKey, forge.md.sha256.create());
  const altNames = [/^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host }];
  const leaf = make("platform of a test", "authority of a test", [{ name: "subjectAltName", altNames }]);
  leaf.certificate.sign(root.privateKey, forge.md.sha256.create());
  return {
    authority: forge.pki.certificateToPem(root.certificate),
    certificate: {
      pem: forge.pki.certificateToPem(leaf.certificate),
      key: forge.pki.privateKeyToPem(leaf.privateKey),
    },
  };
}

/** A TLS server that is not the platform, and that records what it receives. */
function serveTls({ pem, key }: Certificate, sent: string[] = []) {
  const options = { hostname: "127.0.0.1", port: 0, cert: pem, key, onListen() {} };
  return Deno.serve(options, async (request) => {
    sent.push(await request.text());
    return Response.json({ hello: "world" });
  });
}

const certificates: [
  what: string,
  host: string,
  days: number,
  named: boolean,
  reason: string,
  advice: string,
][] = [
  [
    "has no trusted issuer",
    "127.0.0.1",
    10,
    false,
    "UnknownIssuer",
    "name its certificate (HSGATE_CA_CERTS_FILE)",
  ],
  ["has expired", "127.0.0.1", -1, true, "xpired", "Is this machine's clock right?"],
  ["is another host's", "elsewhere.example", 10, true, "name", "check the name in authUrl"],
];
for (const [what, host, days, isNamed, reason, advice] of certificates) {
  Deno.test(`doctor says that a certificate ${what}, and sends nothing there`, async () => {
    await using at = await world();
    const sent: string[] = [];
    const { authority, certificate } = certify(host, days);
    await using server = serveTls(certificate, sent);
    const found = await doctor({
      ...at.env,
      HSGATE_AUTH_URL: `https://127.0.0.1:${server.addr.port}`,
      ...isNamed && { HSGATE_CA_CERTS: authority },
    });
    assertEquals([found.code, statesOf(found).TLS, statesOf(found).login], [4, "failed", undefined]);
    assertStringIncludes(found.of("TLS"), "the certificate is not valid: ");
    assertStringIncludes(found.of("TLS"), reason);
    assertStringIncludes(found.of("TLS"), advice);
    assertEquals(sent, []);
  });
}

Deno.test("doctor trusts an authority that the settings name, and distinguishes another server from the platform", async () => {
  await using at = await world();
  const { authority, certificate } = certify("127.0.0.1", 10);
  await using server = serveTls(certificate);
  const found = await doctor({
    ...at.env,
    HSGATE_AUTH_URL: `https://127.0.0.1:${server.addr.port}`,
    HSGATE_CA_CERTS: authority,
  });
  assertEquals([found.code, statesOf(found).TLS, statesOf(found).login], [4, "ok", "failed"]);
  assertStringIncludes(found.of("login"), "something answers at authUrl, but it is not the platform");
});

Deno.test("a login over TLS to this machine never goes through a proxy", async () => {
  await using at = await world();
  const [byAddress, byName] = [certify("127.0.0.1", 10), certify("localhost", 10)];
  let asked = 0;
  using proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of proxy) {
      asked++;
      connection.close();
    }
  })();
  for (
    const [host, { authority, certificate }, isTrusted] of [
      ["127.0.0.1", byAddress, true],
      ["localhost", byName, true],
      ["127.0.0.1", byName, false],
      ["localhost.", byAddress, false], // not every machine resolves this name
    ] as const
  ) {
    const sent: string[] = [];
    await using server = serveTls(certificate, sent);
    const env = {
      ...at.env,
      HSGATE_AUTH_URL: `https://${host}:${server.addr.port}`,
      HSGATE_CA_CERTS: authority,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.addr.port}`,
      DENO_NO_UPDATE_CHECK: "1",
    };
    const { err } = await spawned(["call", "account.exchangeRates"], { env });
    const count = sent.length;
    const { out } = await spawned(["doctor"], { env });
    assert(!out.includes("HTTPS_PROXY"), out);
    if (isTrusted) {
      assert(count > 0, `${host}: ${err}`);
      assertStringIncludes(out, "a server answers there");
      assert(sent.length > count, out);
    } else {
      // Nothing was sent, and the error says so.
      assertStringIncludes(err, "no connection to");
      assertEquals(sent, []);
    }
    assertEquals(asked, 0, host);
  }
  proxy.close();
  await serving;
});

Deno.test("doctor distinguishes a port without TLS from one with a wrong certificate", async () => {
  await using at = await world();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response());
  const found = await doctor({ ...at.env, HSGATE_AUTH_URL: `https://127.0.0.1:${server.addr.port}` });
  assertEquals([found.code, statesOf(found).TLS], [4, "failed"]);
  assertStringIncludes(found.of("TLS"), "no encrypted connection");
});

Deno.test("doctor waits for a handshake no longer than the timeout", async () => {
  await using at = await world();
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = silent.addr;
  const found = await doctor({
    ...at.env,
    HSGATE_AUTH_URL: `https://127.0.0.1:${port}`,
    HSGATE_TIMEOUT_MS: "200",
  });
  assertEquals([found.code, statesOf(found).TLS], [4, "failed"]);
  assertStringIncludes(found.of("TLS"), "the server did not answer the TLS handshake");
});

Deno.test("doctor warns of a clock that differs from the platform's by more than half a minute", async () => {
  await using at = await world();
  await using proxy = startDirectProxy(at.platform.info);
  const env = { ...at.env, HSGATE_AUTH_URL: proxy.info.authUrl };
  const right = await doctor(env, { now: Date.now });
  assertEquals([right.code, statesOf(right).clock], [0, "ok"]);
  // A slow machine reads the platform's answer late, and that delay adds to the difference of the clocks. The
  // platform's time has only whole seconds, so it can be up to a second too early.
  const secondsOf = async (offMs: number, text: RegExp) => {
    const began = Date.now();
    const found = await doctor(env, { now: () => Date.now() + offMs });
    assertEquals([found.code, statesOf(found).clock], [0, "warning"]);
    const [, seconds] = text.exec(found.of("clock")) ?? [];
    assert(seconds !== undefined, found.of("clock"));
    return { seconds: Number(seconds), late: Math.ceil((Date.now() - began) / 1000) };
  };
  const ahead = await secondsOf(
    600_000,
    /^this machine's clock is (\d+) s ahead of the platform's -> Set the clock/,
  );
  assert(ahead.seconds >= 599 && ahead.seconds <= 601 + ahead.late, `${ahead.seconds}`);
  const behind = await secondsOf(-45_000, /^this machine's clock is (\d+) s behind the platform's/);
  assert(behind.seconds >= 44 - behind.late && behind.seconds <= 47, `${behind.seconds}`);
});

Deno.test("doctor says that the platform's time is unknown if its answer has no valid Date", async () => {
  await using at = await world();
  const { authUrl } = at.platform.info;
  await using relay = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { method, url, headers } = request;
    const body = method === "GET" ? null : await request.bytes();
    const answer = await fetch(authUrl + new URL(url).pathname, { method, headers, body });
    const given = new Headers(answer.headers);
    given.set("date", "none");
    return new Response(await answer.bytes(), { status: answer.status, headers: given });
  });
  const env = { ...at.env, HSGATE_AUTH_URL: `http://127.0.0.1:${relay.addr.port}` };
  const found = await doctor(env);
  assertEquals([found.code, statesOf(found).clock], [0, "warning"]);
  assertStringIncludes(found.of("clock"), "the platform's time is unknown");
});

const refused: [
  what: string,
  options: Partial<PlatformOptions>,
  env: (info: PlatformInfo) => Record<string, string>,
  text: string,
  advice: string,
][] = [
  [
    "the login password is wrong",
    {},
    () => ({ HSGATE_LOGIN_PASSWORD: "not-this-one" }),
    'wrong phone, country or password: respCode 1008, "wrong phone or password"',
    "Check mobile, countryCode and loginPassword; too many wrong tries can lock the account",
  ],
  [
    "the device is not bound",
    { boundDevices: ["00-11-22-33-44-55"] },
    () => ({}),
    'the device is not bound: respCode 1006, "the device is not bound"',
    "Bind it with the broker's binding tool",
  ],
  [
    "the address is not on the whitelist",
    { allowedIps: ["203.0.113.7"] },
    () => ({}),
    'this machine\'s address is not on the whitelist: respCode 1006, "the IP address is not on the whitelist"',
    "to the whitelist on the developer page",
  ],
  [
    "the platform key is wrong",
    {},
    () => ({ HSGATE_PLATFORM_PUBLIC_KEY: exportPublicKey(generateKeyPair().publicKey) }),
    'it cannot decrypt the password: respCode 1003, "data encryption error"',
    "test and production have different keys",
  ],
];
for (const [what, options, envOf, text, advice] of refused) {
  Deno.test(`doctor says that ${what}, logs in only once, and ends with 6`, async () => {
    await using at = await world(options);
    await using proxy = startDirectProxy(at.platform.info);
    const env = { ...at.env, HSGATE_AUTH_URL: proxy.info.authUrl, ...envOf(at.platform.info) };
    const found = await doctor(env);
    assertEquals([found.code, statesOf(found).login], [6, "failed"]);
    assertStringIncludes(found.of("login"), `the platform rejects the login: ${text}`);
    assertStringIncludes(found.of("login"), advice);
    assertEquals(statesOf(found)["trade login"], undefined);
    assertEquals(proxy.posted.filter((path) => path === "/hs/v2/login").length, 1);
  });
}

Deno.test("doctor keeps the platform's text for an unknown rejection", async () => {
  await using at = await world();
  at.platform.faults.arm({
    kind: "busy",
    operation: "platform.login",
    code: "7777",
    text: "come back on Monday",
  });
  const found = await doctor(at.env);
  assertEquals(found.code, 6);
  assertStringIncludes(found.of("login"), 'rejects the login: respCode 7777, "come back on Monday"');
});

Deno.test("doctor keeps the platform's text for a rejected trade login that is not about the password", async () => {
  await using at = await world();
  at.platform.faults.arm({
    kind: "busy",
    operation: "account.login",
    code: "9999",
    text: "maintenance",
    times: 9,
  });
  const found = await doctor(at.env);
  assertEquals(at.platform.faults.struck("busy"), 1);
  assertEquals([found.code, statesOf(found)["trade login"]], [6, "failed"]);
  assertStringIncludes(found.of("trade login"), '"maintenance"');
  assertStringIncludes(found.of("trade login"), "it does not mention the password");
});

Deno.test("doctor says that the developer key is not the registered one, and ends with 2", async () => {
  await using at = await world();
  const env = { ...at.env, HSGATE_DEVELOPER_PRIVATE_KEY: exportPrivateKey(generateKeyPair().privateKey) };
  const found = await doctor(env);
  assertEquals([found.code, statesOf(found).login], [2, "failed"]);
  assertStringIncludes(
    found.of("login"),
    "its token cannot be decrypted: the developer key is not the registered one",
  );
});

Deno.test("doctor explains every unreadable first answer of a connection in the same words, and ends with 2", async () => {
  const said = new Set<string>();
  for (const kind of ["wrong-signature", "not-json"] as const) {
    await using at = await world();
    at.platform.faults.arm({ kind, operation: "platform.openConnection" });
    const found = await doctor(at.env);
    assertEquals(at.platform.faults.struck(kind), 1, kind);
    assertEquals([found.code, statesOf(found)["market data"]], [2, "failed"], kind);
    said.add(found.of("market data"));
  }
  assertEquals(said.size, 1);
  assertStringIncludes([...said][0]!, "the first answer of the connection is unreadable");
  assertStringIncludes([...said][0]!, "test and production have different keys");
});

Deno.test("doctor says that the account was taken over by another login", async () => {
  await using at = await world();
  at.platform.faults.arm({ kind: "displaced-login", operation: "quotes.latest" });
  const found = await doctor(at.env);
  assertEquals(found.code, 6);
  assertStringIncludes(found.of("market data"), "another device or program has logged in with this account");
});

Deno.test("doctor says that the trade password is wrong, tries it once, and ends with 6", async () => {
  await using at = await world();
  const most = 1000;
  // This fault delays by 0 ms, so it changes nothing. It only lets the test count the logins that arrive.
  at.platform.faults.arm({ kind: "delay", ms: 0, when: "request", operation: "account.login", times: most });
  const found = await doctor({ ...at.env, HSGATE_TRADE_PASSWORD: "999999" });
  assertEquals(at.platform.faults.struck("delay"), 1);
  assertEquals([found.code, statesOf(found)["market data"]], [6, "ok"]);
  assertStringIncludes(found.of("trade login"), "the platform rejects the trade login (without a reason)");
  assertStringIncludes(found.of("trade login"), "too many wrong tries can lock the account");
});

Deno.test("doctor skips the trade connection if no trade password is set", async () => {
  await using at = await world();
  const { HSGATE_TRADE_PASSWORD: _, ...env } = at.env;
  const found = await doctor(env);
  assertEquals([found.code, statesOf(found)["trade login"]], [0, "warning"]);
  assertStringIncludes(found.of("trade login"), "no trade password is set; market data works without");
});

Deno.test("doctor says that the port of the trade server is closed", async () => {
  await using at = await world();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const body = request.method === "POST" ? await request.text() : null;
    const response = await fetch(`${at.platform.info.authUrl}${pathname}`, {
      method: request.method,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    });
    return new Response((await response.text()).replace(at.platform.info.tradeServer, "127.0.0.1:1"), {
      status: response.status,
    });
  });
  const found = await doctor({ ...at.env, HSGATE_AUTH_URL: `http://127.0.0.1:${server.addr.port}` });
  assertEquals([found.code, statesOf(found)["market server"], statesOf(found)["trade server"]], [
    4,
    "ok",
    "failed",
  ]);
  assertStringIncludes(found.of("trade server"), "127.0.0.1:1 is closed");
});

Deno.test("doctor says which process has the trade connection, and does not end its login", async () => {
  await using at = await world();
  const { developerPrivateKey } = at.platform.info;
  const name = await leaseName(exportPublicKey(publicKeyOf(readPrivateKey(developerPrivateKey))));
  await using lease = await takeLease({ folder: at.leases, name, program: "hsgate run", now: 0 });
  const found = await doctor(at.env);
  assertEquals([found.code, statesOf(found).lease, statesOf(found).login], [4, "failed", undefined]);
  assertStringIncludes(
    found.of("lease"),
    `connection is in use: this process ("hsgate run") has used it since ${lease.holder.since}`,
  );
  assertEquals(at.platform.state().callsTaken, 0);
});

Deno.test("doctor warns of a proxy between this machine and a platform elsewhere", async () => {
  const found = (env: Record<string, string>) =>
    proxyFindings((name) => env[name], { url: "https://platform.example", what: "logins use it" });
  const set = { HTTPS_PROXY: "http://127.0.0.1:1" };
  const [proxy] = found(set);
  assertEquals([proxy?.check, proxy?.state], ["proxy", "warning"]);
  assertStringIncludes(proxy?.advice ?? "", "Set NO_PROXY=platform.example");
  assertEquals(found({ ...set, NO_PROXY: "platform.example" }), []);
  // A login to this machine never uses a proxy.
  await using at = await world();
  const here = await doctor({ ...at.env, HTTP_PROXY: "http://127.0.0.1:1" });
  assertEquals([here.code, statesOf(here).proxy], [0, undefined]);
});

Deno.test("doctor over the direct transport rejects the gateway's config.xml", async () => {
  const { code, err } = await cli(["doctor", "--transport", "direct", "--config-xml", "config.xml"]);
  assertEquals(code, 2);
  assertStringIncludes(err, "it is the gateway's file");
});
