/**
 * Tests the direct transport against the simulated platform: the same answers as over the gateway, and rejected
 * calls.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import type { Client } from "../../lib/client/client.ts";
import { RejectedError, TransportError, UnmappedError } from "../../lib/errors.ts";
import { operations } from "../../lib/operations/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { startGateway } from "../../lib/simulator/gateway/mod.ts";
import { casesOf } from "../conformance/cases.ts";
import { connectDirect, directOptions, startQuietPlatform } from "../support/direct_client.ts";

const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
const TENCENT = { type: "hk-stock", symbol: "00700.HK" } as const;

/** Operations of the gateway without a socket message, from the list of unpublished definitions. */
const gatewayOnly = [
  "account.marginTerms",
  "algo.act",
  "algo.amend",
  "algo.cancel",
  "algo.cancelChild",
  "algo.children",
  "algo.list",
  "algo.place",
  "orders.cancelAll",
  "orders.cancelMany",
  "quotes.optionCodes",
  "quotes.optionExpiries",
  "quotes.overnightSymbols",
];

/** Resolves to one page of a paged operation, or to the answer of any other. */
function call(client: Client, name: string, params: Record<string, unknown>): Promise<unknown> {
  const operation = operations.get(name);
  assert(operation !== undefined, name);
  return client.call<unknown, unknown>(operation, params);
}

/** Returns an answer without the members that have no field number on the socket. */
function withoutGaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutGaps);
  if (typeof value !== "object" || value === null) return value;
  const gaps = ["auditTrailFee", "disputeCouncilLevy", "optionLongMargin", "optionShortMargin"];
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !gaps.includes(name)).map((
      [name, each],
    ) => [name, withoutGaps(each)]),
  );
}

Deno.test("connect({ direct }) answers every operation as connect({ gateway }) does", async (t) => {
  const common = { seed: 7, days: 5, pushIntervalMs: 0, tradePassword: "135790" };
  const clocks = [new ManualClock(MORNING), new ManualClock(MORNING)] as const;
  await using gateway = await startGateway({ ...common, clock: clocks[0] });
  await using platform = await startQuietPlatform({ ...common, clock: clocks[1] });
  const { gatewayUrl, tradePassword, tradePasswordKey } = gateway.info;
  await using overGateway = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey });
  await using overSocket = await connectDirect(platform.info);
  await overGateway.account.login();
  await overSocket.account.login();

  const made = [{}, {}] as [Record<string, string>, Record<string, string>];
  const refused = new Set<string>();
  let same = 0;
  for (let index = 0; index < casesOf(made[0]).length; index++) {
    const [one, other] = [casesOf(made[0])[index]!, casesOf(made[1])[index]!];
    const [name] = one.ours;
    await t.step(name, async () => {
      if (gatewayOnly.includes(name)) {
        const params = one.ours[1];
        const complete = Object.values(params).every((value) => value !== undefined);
        if (!complete) return;
        const error = await assertRejects(() => call(overSocket, name, params), UnmappedError);
        assert(error.message.includes("not published"), error.message);
        refused.add(name);
        return;
      }
      const expected = await call(overGateway, name, one.ours[1]);
      const answer = await call(overSocket, name, other.ours[1]);
      assertEquals(withoutGaps(answer), withoutGaps(expected));
      if (one.makes !== undefined) {
        const { orderId } = answer as { orderId: string };
        made[0][one.makes] = made[1][other.makes!] = orderId;
      }
      if (one.wait !== undefined) {
        for (const clock of clocks) clock.advance(one.wait);
        gateway.round();
        platform.round();
      }
      same++;
    });
  }
  assert(same >= 40, `${same} operations compared`);
  assert(refused.size >= 4, `${refused.size} refused`);
});

Deno.test("call() rejects an operation without a socket message before it sends anything", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const error = await assertRejects(
    () => client.orders.cancelAll({ market: "hk" }),
    UnmappedError,
    "Cannot call orders.cancelAll over the direct transport: message definition not published",
  );
  assertEquals([error.operation, error.transport], ["orders.cancelAll", "direct"]);
  await assertRejects(() => client.platform.openConnection({ deviceId: "x" }), UnmappedError, "itself");
  assertEquals(platform.state().token, "none");
  await client.account.funds({ market: "hk" }); // control: an operation with a message is sent
  assertEquals(platform.state().token, "valid");
});

Deno.test("call() rejects members that the message lacks, but leaves out those with their default value", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const order = { market: "hk", symbol: "00700.HK", price: "580.00" } as const;
  await assertRejects(
    () => client.account.maxBuy({ ...order, queryType: "margin" }),
    UnmappedError,
    'with "queryType": the published message has no such field',
  );
  assertEquals(platform.state().token, "none");
  await assertRejects(
    () => client.quotes.latest({ securities: [TENCENT], session: "pre-market" }),
    UnmappedError,
    'with "session": the published message has no such field',
  );
  assert(Number((await client.account.maxBuy(order)).quantity) > 0);
});

Deno.test("platform parameters are sent as a form or as a query", async () => {
  await using platform = await startQuietPlatform();
  for (const parameters of ["form", "query"] as const) {
    await using client = await connectDirect(platform.info, { parameters });
    assertEquals(typeof (await client.account.exchangeRates()).USD?.HKD, "string", parameters);
  }
});

Deno.test("exchangeRates() needs only the platform's HTTP, and no socket", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await client.account.exchangeRates();
  const { token, tradeConnections, quoteConnections } = platform.state();
  assertEquals({ token, tradeConnections, quoteConnections }, {
    token: "valid",
    tradeConnections: 0,
    quoteConnections: 0,
  });
});

Deno.test("errors of the platform contain no password and no phone number", async () => {
  await using platform = await startQuietPlatform();
  const { mobile, loginPassword } = platform.info;
  for (const parameters of ["form", "query"] as const) {
    await using wrong = await connectDirect(platform.info, { password: "not-the-password", parameters });
    const refusal = await assertRejects(() => wrong.account.funds({ market: "hk" }), RejectedError);
    assertEquals(refusal.code, "1008");
    await using nobody = await connectDirect({ ...platform.info, authUrl: await closedUrl() }, {
      parameters,
    }, {
      retry: { attempts: 1 },
    });
    const lost = await assertRejects(() => nobody.account.funds({ market: "hk" }), TransportError);
    for (const text of [Deno.inspect(refusal), Deno.inspect(lost), nobody.transport.describe()]) {
      for (const secret of [mobile, loginPassword, "not-the-password", "password="]) {
        assert(!text.includes(secret), `${parameters}: ${text} contains a secret`);
      }
    }
  }
});

/** Resolves to an address on which no program listens. */
async function closedUrl(): Promise<string> {
  const platform = await startQuietPlatform();
  await platform.close();
  return platform.info.authUrl;
}

Deno.test("a rejected platform login is not retried automatically", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { password: "wrong" });
  const refuse = () => assertRejects(() => client.account.funds({ market: "hk" }), RejectedError);
  const first = await refuse();
  // The same error object: no second login was sent, so the account is not locked.
  assert(await refuse() === first);
  assertEquals(client.transport.state("trade").phase, "stopped");
});

Deno.test("over direct, a platform without TLS is rejected, and so is a platform with an untrusted certificate", async () => {
  await using platform = await startQuietPlatform();
  const options = directOptions(platform.info);
  await assertRejects(
    () => connect({ direct: { ...options, url: "http://broker.example" } }),
    TypeError,
    "passwords need https",
  );
  const { certificate, key } = await selfSigned();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, cert: certificate, key, onListen() {} },
    () => Response.json({ respCode: "1008", data: null }),
  );
  try {
    const url = `https://localhost:${server.addr.port}`;
    await using stranger = await connect({ direct: { ...options, url }, retry: { attempts: 1 } });
    await assertRejects(() => stranger.account.exchangeRates(), TransportError);
    // Control: the same server is accepted if its certificate is trusted.
    await using trusting = await connect({ direct: { ...options, url, caCerts: [certificate] } });
    const refusal = await assertRejects(() => trusting.account.exchangeRates(), RejectedError);
    assertEquals(refusal.code, "1008");
  } finally {
    await server.shutdown();
  }
});

async function selfSigned(): Promise<{ certificate: string; key: string }> {
  // @ts-types="@types/node-forge"
  const { default: forge } = await import("node-forge");
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = "01";
  certificate.validity.notBefore = new Date(Date.now() - 86_400_000);
  certificate.validity.notAfter = new Date(Date.now() + 86_400_000);
  const names = [{ name: "commonName", value: "localhost" }];
  certificate.setSubject(names);
  certificate.setIssuer(names);
  certificate.setExtensions([{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }]);
  certificate.sign(keys.privateKey, forge.md.sha256.create());
  return {
    certificate: forge.pki.certificateToPem(certificate),
    key: forge.pki.privateKeyToPem(keys.privateKey),
  };
}

Deno.test("raw() accepts the broker's own names over the socket and over HTTP", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await client.account.login();
  const funds = await client.raw("trade", "TradeQueryMarginFundInfo", { exchangeType: "K" });
  const { accountStatus } = funds as Record<string, unknown>;
  assertEquals(accountStatus, "0");
  const rates = await client.raw("hs", "rate/queryList", {});
  assertEquals(typeof (rates as { USD: { HKD: unknown } }).USD.HKD, "string");
  await assertRejects(
    () => client.raw("trade", "AlgoAddOrder", {}),
    UnmappedError,
    "its type number is not known",
  );
  await assertRejects(() => client.raw("trade", "TradeEntrust", { noSuchMember: "1" }), TransportError);
  const beforeFirstByte = () => {
    throw new RangeError("withheld");
  };
  await assertRejects(
    () => client.raw("trade", "TradeQueryMarginFundInfo", { exchangeType: "K" }, { beforeFirstByte }),
    RangeError,
    "withheld",
  );
});
