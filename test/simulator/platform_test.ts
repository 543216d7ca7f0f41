/** Tests the platform's endpoints over real sockets, with a client that shares no code with the toolkit. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";
import { ManualClock } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import {
  type PlatformOptions,
  type SimulatedPlatform,
  startPlatform,
} from "../../lib/simulator/platform/mod.ts";
import {
  type Answer,
  encryptForPlatform,
  logIn,
  loginForm,
  message,
  post,
  REQUEST,
  SocketClient,
} from "./socket_client.ts";

const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
const HOUR = 3_600_000;
const TENCENT = message([[1, 10000], [2, "00700.HK"]]);

/** Starts a platform that pushes only on request. Its clock is stopped. */
async function start(options: Partial<PlatformOptions> = {}): Promise<SimulatedPlatform> {
  const clock = new ManualClock(MORNING);
  return await startPlatform({
    seed: 7,
    days: 5,
    clock,
    pushIntervalMs: 0,
    tradePassword: "135790",
    ...options,
  });
}

/** Opens a trade connection, and logs in for trading. */
async function openTrade(platform: SimulatedPlatform, token: string): Promise<SocketClient> {
  const client = await SocketClient.open(platform.info.tradeServer, platform.info, token);
  assertEquals(await tradeLogin(client, platform), 1);
  return client;
}

async function tradeLogin(
  client: SocketClient,
  { info }: SimulatedPlatform,
  plain = "135790",
): Promise<number> {
  const password = encryptForPlatform(info, plain);
  const answer = await client.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password], [2, "0"]]);
  assertEquals([answer.code, answer.name], ["0000", "CommonBoolResponse"]);
  return answer.payload.int(1);
}

const askFunds = (client: SocketClient) =>
  client.call(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]]);

/** Number, code, text and payload name of an answer. */
const gist = ({ type, code, text, name }: Answer) => [type, code, text, name];
const TOKEN_GONE = [999, "1014", "login timeout", ""];
const DISPLACED = [999, "1013", "displaced by another login", ""];

/** Members of a limit order for 100 shares. */
const order = (price: string): [number, string][] => [
  [1, "00700.HK"],
  [2, "K"],
  [3, "100"],
  [4, price],
  [5, "1"],
  [6, "3"],
];

Deno.test("platform login accepts its parameters in the query or in a form", async () => {
  await using platform = await start();
  const { info } = platform;
  const form = await post(info, "/hs/v2/login", loginForm(info));
  assertEquals([form.respCode, form.data.mobile], ["0000", info.mobile]);
  assertEquals(Object.keys(form.data), ["nickName", "mobile", "token"]);
  const query = await fetch(`${info.authUrl}/hs/v2/login?${new URLSearchParams(loginForm(info))}`, {
    method: "POST",
  });
  assertEquals((await query.json()).respCode, "0000");
  const { deviceNo, ...rest } = loginForm(info);
  const both = await fetch(`${info.authUrl}/hs/v2/login?deviceNo=${deviceNo}`, {
    method: "POST",
    body: new URLSearchParams(rest),
  });
  assertEquals((await both.json()).respCode, "0000");
});

Deno.test("platform login rejects wrong parameters, each with its code and without data", async () => {
  await using platform = await start();
  const { info } = platform;
  const good = loginForm(info);
  const wrong: [Record<string, string>, code: string, text: string][] = [
    [{ ...good, password: encryptForPlatform(info, "guess") }, "1008", "wrong phone or password"],
    [{ ...good, mobile: "10000000000" }, "1008", "wrong phone or password"],
    [{ ...good, countryCode: "HKG" }, "1008", "wrong phone or password"],
    [{ ...good, countryCode: "USA" }, "1016", 'countryCode: expected one of "CHN", "HKG"'],
    [{ ...good, password: info.loginPassword }, "1003", "data encryption error"],
    [{ ...good, deviceNo: "" }, "1016", "deviceNo is missing"],
  ];
  for (const [form, respCode, respMsg] of wrong) {
    assertEquals(await post(info, "/hs/v2/login", form), { data: null, respCode, respMsg });
  }
  assertEquals(platform.state().token, "none");
});

Deno.test("platform HTTP accepts only POST with a form", async () => {
  await using platform = await start();
  const { authUrl } = platform.info;
  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(`${authUrl}${path}`, init);
    return [response.status, (await response.json()).respCode];
  };
  assertEquals(await ask("/hs/v2/login", {}), [405, "1010"]);
  assertEquals(await ask("/hs/v2/nothing", { method: "POST" }), [404, "1009"]);
  const headers = { "content-type": "application/json" };
  assertEquals(await ask("/hs/v2/login", { method: "POST", headers, body: "{}" }), [415, "1010"]);
});

Deno.test("platform tokens are valid for three hours, and every call extends them", async () => {
  await using platform = await start();
  const { info, clock } = platform;
  const token = await logIn(info);
  const servers = async () => (await post(info, "/hs/config/queryServer", { token })).respCode;
  clock.advance(3 * HOUR - 1);
  assertEquals(await servers(), "0000");
  clock.advance(3 * HOUR - 1);
  using hq = await SocketClient.open(info.hqServer, info, token);
  clock.advance(3 * HOUR - 1);
  assertEquals((await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
  assertEquals(platform.state().token, "valid");
  clock.advance(3 * HOUR);
  assertEquals(platform.state().token, "expired");
  assertEquals(await servers(), "1014");
  assertEquals(gist(await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])), TOKEN_GONE);
  // The connection stays open after its token has expired. With a newer token, it needs no other InitConnect.
  const newer = await logIn(info);
  await hq.request(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]], { token: newer });
  assertEquals((await hq.answer()).code, "0000");
  assertEquals(await servers(), "1014", "an expired token stays expired");
});

Deno.test("platform login displaces the token of an earlier login", async () => {
  await using platform = await start();
  const { info } = platform;
  const first = await logIn(info);
  using hq = await SocketClient.open(info.hqServer, info, first);
  const second = await logIn(info);
  assert(first !== second);
  assertEquals((await post(info, "/hs/config/queryServer", { token: first })).respCode, "1013");
  assertEquals(gist(await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])), DISPLACED);
  assertEquals(await hq.next(), undefined, "closed after that");
  assertEquals((await post(info, "/hs/config/queryServer", { token: second })).respCode, "0000");
  assertEquals((await post(info, "/hs/config/queryServer", {})).respCode, "1012");
  assertEquals((await post(info, "/hs/config/queryServer", { token: "made-up" })).respCode, "1014");
});

Deno.test("platform and gateway give the same exchange rates", async () => {
  await using simulator = await startSimulator({ seed: 7, days: 5, clock: new ManualClock(MORNING) });
  const { info } = simulator;
  const token = await logIn(info);
  for (const rateType of ["0", "1"]) {
    const { data } = await post(info, "/hs/rate/queryList", { token, rateType });
    assertEquals(Object.keys(data).sort(), ["CNY", "HKD", "USD"]);
    const response = await fetch(`${info.gatewayUrl}/hs/rate/queryList`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ params: { rateType } }),
    });
    assertEquals((await response.json()).data, data);
  }
  assertEquals((await post(info, "/hs/rate/queryList", { token: "" })).respCode, "1012");
  assertEquals(simulator.platform.state().level2, false);
  assertEquals((await post(info, "/hs/hqPermission/lv2/switch", { token })).respCode, "0000");
  const headers = { authorization: `Bearer ${info.controlToken}` };
  const state = await (await fetch(`${info.gatewayUrl}/control/state`, { headers })).json();
  assertEquals([state.data.platform.level2, state.data.platform.token], [true, "valid"]);
});

Deno.test("platform serves only listed addresses", async () => {
  await using platform = await start({ allowedIps: ["10.1.2.3"] });
  const { info } = platform;
  const { respCode, respMsg } = await post(info, "/hs/v2/login", loginForm(info));
  assertEquals([respCode, respMsg], ["1006", "the IP address is not on the whitelist"]);
  using client = await SocketClient.connect(info.tradeServer, info, "");
  assertEquals(await client.rest(), 0);
  await using open = await start({ allowedIps: ["10.1.2.3", "127.0.0.1"] });
  await logIn(open.info);
});

Deno.test("platform requires bound devices if configured", async () => {
  await using platform = await start({ boundDevices: ["02:00:5E:10:00:01"] });
  const { info } = platform;
  const stranger = { ...loginForm(info), deviceNo: "02-00-5e-10-00-99" };
  const { respCode, respMsg } = await post(info, "/hs/v2/login", stranger);
  assertEquals([respCode, respMsg], ["1006", "the device is not bound"]);
  const token = await logIn(info);
  using client = await SocketClient.connect(info.tradeServer, info, token);
  assertEquals(gist(await client.init("02-00-5e-10-00-99")), [0, "1006", "the device is not bound", ""]);
  assertEquals((await client.init()).code, "0000");
  const password = encryptForPlatform(info, "135790");
  const login = (device: string) =>
    client.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password], [2, "0"], [3, device]]);
  assertEquals((await login("02-00-5e-10-00-99")).code, "1006");
  assertEquals((await login("02-00-5e-10-00-01")).payload.int(1), 1);
});

Deno.test("platform sockets read RSA segments of any legal length", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  for (const segment of [5, 53, 100, 117]) {
    using client = await SocketClient.open(info.hqServer, info, token, { segment });
    assertEquals((await client.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
  }
});

Deno.test("platform sockets accept any serials and ids, and repeat both", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using client = await SocketClient.open(info.hqServer, info, token, { firstSerial: 10 });
  assertEquals((await client.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).serial, 10);
  const any = message([[1, "BasicQotRequest"], [2, message([[1, TENCENT]])]]);
  for (
    const [serial, id] of [[4_294_967_295, "x"], [3, "6f1c22b0-7e1c-11ee-b962-0242ac120002"], [
      3,
      "",
    ]] as const
  ) {
    const body = message([[1, REQUEST.hqBasicQot], [2, id], [4, any], [5, token]]);
    await client.write(client.frame(1, serial, body));
    const answer = await client.answer();
    assertEquals([answer.code, answer.serial, answer.id], ["0000", serial, id]);
  }
});

Deno.test("platform sockets understand all three kinds of padding", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  const filled = (body: Uint8Array, filling: number, last: number) => {
    const bytes = new Uint8Array(body.length - body.length % 16 + 16).fill(filling);
    bytes.set(body);
    bytes[bytes.length - 1] = last;
    return bytes;
  };
  const ways: ((body: Uint8Array) => Uint8Array)[] = [
    (body) => filled(body, 16 - body.length % 16, 16 - body.length % 16),
    (body) => filled(body, 0, body.length % 16),
    (body) => filled(body, 16 - body.length % 16, body.length % 16),
  ];
  for (const pad of ways) {
    using client = await SocketClient.open(info.hqServer, info, token, { pad });
    // Sixteen consecutive lengths cover every remainder modulo 16.
    for (let more = 0; more < 16; more++) {
      const body = message([
        [1, REQUEST.hqBasicQot],
        [2, "x".repeat(1 + more)],
        [4, message([[1, "BasicQotRequest"], [2, message([[1, TENCENT]])]])],
        [5, token],
      ]);
      await client.write(client.frame(1, 1, body));
      assertEquals((await client.answer()).id.length, 1 + more);
    }
  }
});

Deno.test("platform sockets use the configured padding", async () => {
  for (const padding of ["mod_len", "mod_len_over_pkcs7", "pkcs7"] as const) {
    await using platform = await start({ padding });
    const { info } = platform;
    using client = await SocketClient.open(info.hqServer, info, await logIn(info));
    // Sixteen consecutive lengths cover every remainder modulo 16.
    for (let more = 0; more < 16; more++) {
      const body = message([[1, 4711], [2, "x".repeat(1 + more)], [5, client.token]]);
      await client.write(client.frame(1, 1, body));
      const bytes = await client.nextBytes();
      const plain = client.decryptRaw(bytes!.subarray(151));
      const { length } = message([
        [1, 999],
        [2, "x".repeat(1 + more)],
        [3, MORNING],
        [4, "1009"],
        [5, "no such operation"],
      ]);
      const rest = length % 16;
      assertEquals(plain.length, length - rest + 16);
      assertEquals(plain.at(-1), padding === "pkcs7" ? 16 - rest : rest);
      if (rest < 15) assertEquals(plain.at(-2), padding === "mod_len" ? 0 : 16 - rest);
    }
  }
});

Deno.test("platform sockets answer unreadable requests with id 0 and number 999", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using client = await SocketClient.open(info.hqServer, info, token);
  const { body } = client.body(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]]);
  const encrypted = client.encrypt(1, body);
  const right = sign("RSA-SHA1", body, client.developer);
  const { privateKey: stranger } = generateKeyPairSync("rsa", { modulusLength: 1024 });
  assert(body.length % 16 !== 0, "a body that is not a whole number of blocks");
  const garbage = new Uint8Array([0x0a, 0xff]);
  const cases: [Uint8Array, code: string][] = [
    [client.assemble(1, 1, new Uint8Array(128), encrypted), "1002"],
    [client.assemble(1, 1, new Uint8Array(128).fill(7), encrypted), "1002"],
    [client.assemble(1, 1, sign("RSA-SHA1", body, stranger), encrypted), "1002"],
    [client.assemble(1, 1, sign("RSA-SHA1", encrypted, client.developer), encrypted), "1002"],
    [client.assemble(1, 1, right, encrypted.subarray(1)), "1003"],
    [client.assemble(1, 1, right, body), "1003"],
    [client.frame(1, 1, garbage), "1010"],
    [client.frame(2, 1, body), "1010"],
  ];
  for (const [frame, code] of cases) {
    await client.write(frame);
    const answer = await client.answer();
    assertEquals([answer.type, answer.id, answer.code, answer.name], [999, "0", code, ""]);
  }
  // The connection still works.
  assertEquals((await client.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
});

Deno.test("platform sockets reject every call before InitConnect", async () => {
  await using platform = await start();
  const { info } = platform;
  using client = await SocketClient.connect(info.hqServer, info, await logIn(info));
  await client.request(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]], { serial: 0 });
  assertEquals(gist(await client.answer()), [999, "1004", "socket not initialized", ""]);
  // Before InitConnect, the platform has no AES key to read this request. Its answer is encrypted with RSA.
  client.key = new Uint8Array(16);
  await client.request(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]]);
  const { serial, id, code } = await client.answer();
  assertEquals([serial, id, code], [0, "0", "1004"]);
  assertEquals((await client.init()).code, "0000");
});

Deno.test("InitConnect needs a token and a device number", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  for (const [given, device, code] of [["", "d", "1012"], ["x", "d", "1014"], [token, "", "1016"]] as const) {
    using client = await SocketClient.connect(info.tradeServer, info, given);
    assertEquals((await client.init(device)).code, code);
  }
});

Deno.test("platform sockets read frames that are split and joined in any way", async () => {
  await using platform = await start();
  const { info } = platform;
  using client = await SocketClient.open(info.hqServer, info, await logIn(info));
  const frames = [1, 2, 3].map((serial) =>
    client.frame(1, serial, client.body(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]]).body)
  );
  await client.write(
    Buffer.concat([frames[0]!, client.assemble(0, 0, new Uint8Array(128), new Uint8Array(0)), frames[1]!]),
  );
  for (const byte of frames[2]!) await client.write(new Uint8Array([byte]));
  const seen = [];
  for (let count = 0; count < 4; count++) {
    const frame = await client.next();
    seen.push([frame!.type, frame!.serial]);
  }
  assertEquals(seen.sort(), [[0, 0], [2, 1], [2, 2], [2, 3]]);
});

Deno.test("platform sockets close after bytes that are not frames", async () => {
  await using platform = await start({ bodyLimit: 1000 });
  const { info } = platform;
  const long = Buffer.alloc(151);
  long.write("HS");
  long.writeInt16LE(1, 2);
  long.writeUInt32LE(1001, 10);
  for (const bytes of [new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"), long]) {
    using client = await SocketClient.connect(info.tradeServer, info, "");
    await client.write(bytes);
    const answer = await client.answer();
    assertEquals([answer.type, answer.id, answer.code, answer.serial], [999, "0", "1010", 0]);
    assertEquals(await client.next(), undefined);
  }
});

Deno.test("platform sockets answer heartbeats with or without a body, before InitConnect too", async () => {
  await using platform = await start();
  const { info } = platform;
  using client = await SocketClient.connect(info.tradeServer, info, await logIn(info));
  const bare = client.assemble(0, 0, new Uint8Array(128), new Uint8Array(0));
  for (
    const send of [() => client.write(bare), () => client.beat(), () => client.init(), () => client.beat()]
  ) {
    const result = await send();
    if (result !== undefined) continue; // InitConnect has read its answer
    const frame = await client.next();
    assertEquals([frame?.type, frame?.serial, frame?.bytes.length], [0, 0, 151]);
    assert(frame!.bytes.subarray(14, 142).every((byte) => byte === 0), "unsigned");
  }
});

Deno.test("platform sockets announce the heartbeat interval, and close after the silence limit", async () => {
  await using usual = await start();
  using first = await SocketClient.open(usual.info.hqServer, usual.info, await logIn(usual.info));
  assertEquals(first.heartbeatSec, 30);

  const limit = 1000;
  await using platform = await start({ heartbeatIntervalSec: 1, silenceLimitMs: limit });
  const { info } = platform;
  const token = await logIn(info);
  using client = await SocketClient.open(info.tradeServer, info, token);
  using silent = await SocketClient.open(info.hqServer, info, token);
  assertEquals(client.heartbeatSec, 1);
  let isClosed = false;
  const closing = silent.next().then((frame) => {
    assertEquals(frame, undefined);
    isClosed = true;
  });
  let lastBeat = performance.now();
  // Sends 50 heartbeats in the time of the limit, so only a machine that stops for a second exceeds it.
  while (!isClosed) {
    lastBeat = performance.now();
    await client.beat();
    assertEquals((await client.next())?.type, 0);
    await new Promise((resolve) => setTimeout(resolve, limit / 50));
  }
  await closing;
  assertEquals(platform.state().silenced, 1);
  assertEquals(await client.next(), undefined);
  const took = performance.now() - lastBeat;
  assert(took >= limit - 1, `closed after ${took} ms`);
  assertEquals(platform.state().silenced, 2);
});

Deno.test("trade login is checked, belongs to its connection, and expires without calls", async () => {
  await using platform = await start({ loginLifeMs: HOUR });
  const { info, clock } = platform;
  const token = await logIn(info);
  using client = await SocketClient.open(info.tradeServer, info, token);
  const without = [999, "1012", "not logged in", ""];
  assertEquals(gist(await askFunds(client)), without);
  assertEquals(await tradeLogin(client, platform, "000000"), 0);
  assertEquals(gist(await askFunds(client)), without);
  const plain = await client.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, "135790"]]);
  assertEquals(gist(plain), [999, "1003", "data encryption error", ""]);
  assertEquals((await client.call(REQUEST.keepLogin, null)).payload.int(1), 0);

  assertEquals(await tradeLogin(client, platform), 1);
  for (let half = 0; half < 3; half++) {
    clock.advance(HOUR / 2 + 1);
    assertEquals((await askFunds(client)).code, "0000");
  }
  clock.advance(HOUR / 2 + 1);
  assertEquals((await client.call(REQUEST.keepLogin, null)).payload.int(1), 1);
  clock.advance(HOUR / 2 + 1);
  assertEquals((await askFunds(client)).code, "0000");
  clock.advance(HOUR);
  assertEquals((await client.call(REQUEST.keepLogin, null)).payload.int(1), 0);
  assertEquals(gist(await askFunds(client)), [999, "112", "trade login timeout", ""]);

  assertEquals(await tradeLogin(client, platform), 1);
  using second = await SocketClient.open(info.tradeServer, info, token);
  assertEquals(gist(await askFunds(second)), without);
});

Deno.test("platform keeps one trade connection: a newer InitConnect displaces the older one", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using older = await openTrade(platform, token);
  using idle = await SocketClient.connect(info.tradeServer, info, token);
  assertEquals((await askFunds(older)).code, "0000", "a connection without InitConnect displaces none");
  assertEquals(platform.state().tradeConnections, 2);
  using hq = await SocketClient.open(info.hqServer, info, token);
  using newer = await openTrade(platform, token);
  assertEquals(platform.state().tradeLogin, "in");

  // The newer connection gets the pushes; the older one gets 1013 at its next call.
  assertEquals((await newer.call(REQUEST.entrust, "TradeEntrustRequest", order("500"))).code, "0000");
  assertEquals((await newer.push()).int(1), 1);
  assertEquals(gist(await askFunds(older)), [999, "1013", "displaced by another connection", ""]);
  assertEquals(await older.next(), undefined);
  assertEquals((await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");

  // A displaced connection that sends only heartbeats is closed at its next heartbeat.
  assertEquals((await idle.init()).code, "0000");
  await newer.beat();
  assertEquals(await newer.next(), undefined);
  assertEquals(platform.state().tradeConnections, 1);
});

Deno.test("a second InitConnect on one socket starts a new session with a new key", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using client = await openTrade(platform, token);
  const first = client.key;
  assertEquals((await client.init()).code, "0000");
  assert(!Buffer.from(first!).equals(client.key!));
  assertEquals(gist(await askFunds(client)), [999, "1012", "not logged in", ""]);
  assertEquals(await tradeLogin(client, platform), 1);
  assertEquals((await askFunds(client)).code, "0000");
});

Deno.test("a second InitConnect with a nonzero serial is answered under the previous key", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using client = await SocketClient.open(info.hqServer, info, token);
  await client.request(REQUEST.initConnect, "InitConnectReq", [[1, "d"]], { serial: 1 });
  const { code, serial, payload } = await client.answer();
  assertEquals([code, serial], ["0000", 1]);
  client.key = Buffer.from(payload.text(1), "base64");
  assertEquals((await client.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
});

Deno.test("the platform's answer to a rejected call has the call's number, a code, a text and no payload", async () => {
  await using platform = await start();
  const { info, clock } = platform;
  const token = await logIn(info);
  using client = await openTrade(platform, token);
  const refused = async (members: [number, string][]) =>
    gist(await client.call(REQUEST.entrust, "TradeEntrustRequest", members));
  assertEquals(await refused(order("500").slice(1)), [16, "1016", "stockCode is missing", ""]);
  assertEquals((await refused([...order("500"), [3, "7"]]))[0], 16);
  clock.advance(10 * HOUR);
  assertEquals(await tradeLogin(client, platform).catch(() => "gone"), "gone");
  using later = await openTrade(platform, await logIn(info));
  const closed = await later.call(REQUEST.entrust, "TradeEntrustRequest", order("500"));
  assertEquals(gist(closed), [16, "1008", "current time does not allow entrust", ""]);
});

Deno.test("platform sockets reject numbers and payloads that belong elsewhere", async () => {
  await using platform = await start();
  const { info } = platform;
  const token = await logIn(info);
  using trade = await openTrade(platform, token);
  using hq = await SocketClient.open(info.hqServer, info, token);
  const unknown = [999, "1009", "no such operation", ""];
  assertEquals(gist(await trade.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])), unknown);
  assertEquals(gist(await hq.call(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]])), unknown);
  assertEquals(gist(await trade.call(4711, null)), unknown);
  assertEquals(
    gist(await trade.call(REQUEST.funds, "TradeQueryHoldsListRequest", [[1, "K"]])),
    [999, "1010", "illegal request: expected TradeQueryMarginFundInfoRequest", ""],
  );
  const damaged = await trade.call(
    REQUEST.funds,
    "TradeQueryMarginFundInfoRequest",
    new Uint8Array([0x0a, 0xff]),
  );
  assertEquals(gist(damaged), [999, "1010", "illegal request", ""]);
});

Deno.test("platform pushes order changes after InitConnect without a subscription, until TradeUnsubscribe", async () => {
  await using simulator = await startSimulator({
    seed: 7,
    days: 5,
    clock: new ManualClock(MORNING),
    gateway: { pushIntervalMs: 0 },
    platform: { pushIntervalMs: 0 },
  });
  const { info, platform, broker } = simulator;
  using client = await SocketClient.open(info.tradeServer, info, await logIn(info));
  const place = () =>
    broker.call("orders.place", {
      market: "hk",
      symbol: "00700.HK",
      quantity: "100",
      price: "500",
      side: "buy",
      orderType: "limit",
    });
  const placed = place();
  const push = await client.push();
  assertEquals([push.int(1), push.inner(4)?.text(1)], [1, "type.googleapis.com/TradeStockDeliverNotify"]);
  const { orderId } = placed as { orderId: string };
  assertEquals(push.inner(4)?.inner(2)?.text(12), orderId);
  assertEquals(push.inner(4)?.inner(2)?.text(18), "500.00");

  const password = encryptForPlatform(info, info.tradePassword);
  await client.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password]]);
  assertEquals((await client.call(REQUEST.unsubscribe, null)).payload.int(1), 1);
  assertEquals(platform.state().orderPushes, false);
  place();
  assertEquals((await client.call(REQUEST.subscribe, null)).payload.int(1), 1);
  const { orderId: third } = place() as { orderId: string };
  assertEquals((await client.push()).inner(4)?.inner(2)?.text(12), third);
});

Deno.test("platform pushes quotes to the connection with the subscription", async () => {
  await using platform = await start();
  const { info, clock } = platform;
  const token = await logIn(info);
  using first = await SocketClient.open(info.hqServer, info, token);
  using second = await SocketClient.open(info.hqServer, info, token);
  const subscribe = (client: SocketClient, number: number, topic: number, name: string) =>
    client.call(number, name, [[1, topic], [2, TENCENT]]);
  const answer = await subscribe(first, REQUEST.hqSubscribe, 11, "PushsubscribeRequest");
  assertEquals(gist(answer), [20001, "0000", "success", ""]);
  await subscribe(second, REQUEST.hqSubscribe, 17, "PushsubscribeRequest");
  assertEquals(platform.state().subscriptions, 2);
  platform.round();
  const quote = await first.push();
  assertEquals([quote.int(1), quote.inner(4)?.text(1)], [20003, "type.googleapis.com/BasicQotNotify"]);
  for (let side = 0; side < 2; side++) {
    const book = await second.push();
    assertEquals([book.int(1), book.inner(4)?.text(1)], [20001, "type.googleapis.com/OrderBookFullNotify"]);
    assertEquals(book.inner(4)?.inner(2)?.int(2), side);
  }
  await subscribe(first, REQUEST.hqUnsubscribe, 11, "PushunsubscribeRequest");
  clock.advance(60_000);
  platform.round();
  assertEquals((await second.push()).int(1), 20001);
  await first.beat();
  assertEquals((await first.next())?.type, 0, "nothing was pushed in between");
});

Deno.test("platform answers a KLRequest only for subscribed securities, and reads absent fields as zero", async () => {
  await using platform = await start();
  const { info } = platform;
  using hq = await SocketClient.open(info.hqServer, info, await logIn(info));
  // Direction 0 and exRightFlag 0 are zeros, which protobuf leaves out.
  const bars = () => hq.call(REQUEST.hqKL, "KLRequest", [[1, TENCENT], [2, 20250814], [5, 2], [6, 3]]);
  const refused = await bars();
  assertEquals([refused.type, refused.code], [20007, "1016"]);
  assert(refused.text.includes("not subscribed"), refused.text);
  await hq.call(REQUEST.hqSubscribe, "PushsubscribeRequest", [[1, 11], [2, TENCENT]]);
  const answer = await bars();
  assertEquals([answer.code, answer.name], ["0000", "KLResponse"], answer.text);
  assertEquals(answer.payload.list(2).length, 3);
});

Deno.test("startPlatform() derives the same keys from the same seed, and other keys from another", async () => {
  await using first = await start();
  await using again = await start();
  await using other = await start({ seed: 8 });
  assertEquals(first.info.platformPublicKey, again.info.platformPublicKey);
  assertEquals(first.info.developerPrivateKey, again.info.developerPrivateKey);
  assert(first.info.platformPublicKey !== other.info.platformPublicKey);
  assert(first.info.mobile !== other.info.mobile);
});

Deno.test("startSimulator() shows one account on both sides", async () => {
  await using simulator = await startSimulator({
    seed: 7,
    days: 5,
    clock: new ManualClock(MORNING),
    gateway: { pushIntervalMs: 0 },
    platform: { pushIntervalMs: 0, tradePassword: "135790" },
  });
  const { info, platform } = simulator;
  assertEquals(info.tradePassword, "135790", "one password for both");
  using client = await openTrade(platform, await logIn(info));
  const { payload } = await client.call(REQUEST.entrust, "TradeEntrustRequest", order("500"));
  const rows = simulator.broker.call("orders.today", { market: "hk", limit: 99 });
  assert(JSON.stringify(rows).includes(`"orderId":"${payload.text(1)}"`));
});

Deno.test("startPlatform() leaves nothing open if a port is in use", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  let error: unknown;
  await start({ platformPort: port }).catch((thrown) => error = thrown);
  assert(error instanceof Deno.errors.AddrInUse);
});
