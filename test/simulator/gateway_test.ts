/** Tests the simulated gateway over real sockets, against answers written out from the API document. */
import config from "../../deno.json" with { type: "json" };
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ManualClock } from "../../lib/time.ts";
import { type SimulatedGateway, startGateway } from "../../lib/simulator/gateway/mod.ts";
import {
  call,
  ENCRYPTED,
  ENCRYPTED_WRONG,
  KEY,
  login,
  MORNING,
  PASSWORD,
  post,
  PushReader,
  readFields,
  restingOrder,
  start,
  TENCENT,
  textOf,
} from "./gateway_client.ts";
import { readUntil } from "../support/waits.ts";

Deno.test("gateway answers under the three forms of a path", async () => {
  await using gateway = await start();
  for (const name of ["BasicQot", "BasicQotRequest", "BasicQotRequestMsgType"]) {
    const { ok, err, data } = await call(gateway, `/hq/${name}`, { security: [TENCENT] });
    assertEquals({ ok, err }, { ok: true, err: "" }, name);
    assertEquals(data.basicQot[0].security, TENCENT);
    assertEquals(typeof data.basicQot[0].lastPrice, "number");
  }
});

Deno.test("gateway serves every path of the API document", async () => {
  await using gateway = await start();
  // sections 4.1 to 4.6 of the API document, written out
  const paths = `/hs/rate/queryList /trade/TradeLogin /trade/TradeLogout /trade/TradeQueryMarginFundInfo
    /trade/TradeQueryHoldsList /trade/TradeQueryBuyAmount /trade/TradeQuerySellAmount
    /trade/TradeQueryMaxAvailableAsset /trade/TradeQueryRealFundJourList /trade/TradeQueryHistoryFundJourList
    /trade/TradeEntrust /trade/TradeCancelEntrust /trade/TradeBatchCancelEntrust /trade/TradeChangeEntrust
    /trade/AlgoAddOrder /trade/TradeQueryHistoryEntrustList /trade/TradeQueryHistoryDeliverList
    /trade/TradeQueryHistoryCondOrderList /trade/TradeQueryRealEntrustList /trade/TradeQueryRealDeliverList
    /trade/TradeQueryRealCondOrderList /trade/FuturesQueryFundInfo /trade/FuturesQueryHoldsList
    /trade/FuturesQueryMaxBuySellAmount /trade/FuturesQueryProductInfo /trade/FuturesQueryRealDeliverList
    /trade/FuturesQueryHistoryDeliverList /hq/BasicQot /hq/Broker /hq/OrderBook /hq/Ticker /hq/KL /hq/TimeShare
    /hq/UsOptionChainExpireDate /hq/UsOptionChainCode /hq/Subscribe /hq/Unsubscribe`.split(/\s+/);
  assertEquals(paths.length, 37);
  for (const path of paths) {
    const response = await post(gateway, path, "{}");
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
  }
});

Deno.test("gateway rejects other methods than POST, an unknown path and another content type", async () => {
  await using gateway = await start();
  const { gatewayUrl } = gateway.info;
  const get = await fetch(`${gatewayUrl}/hq/BasicQot`);
  assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
  assertEquals(await get.json(), { ok: false, err: "1010 the gateway accepts only POST", data: null });
  for (const path of ["/hq/TradeEntrust", "/trade/tradeentrust", "/", "/hq/BasicQotResponse"]) {
    const unknown = await post(gateway, path, "{}");
    assertEquals(unknown.status, 404, path);
    assertEquals(await unknown.json(), { ok: false, err: "1009 no such operation", data: null });
  }
  const text = await fetch(`${gatewayUrl}/hq/BasicQot`, { method: "POST", body: "{}" });
  assertEquals(text.status, 415);
  assertEquals((await text.json()).ok, false);
});

Deno.test("gateway rejects a body that is not JSON, not an object or too long", async () => {
  await using gateway = await start({ bodyLimit: 1000 });
  const broken = await post(gateway, "/hq/BasicQot", "{");
  assertEquals([broken.status, (await broken.json()).err], [400, "1010 the body is not JSON"]);
  const list = await post(gateway, "/hq/BasicQot", "[]");
  assertEquals(
    (await list.json()).err,
    "1010 illegal request: the body must be an object with timeout_sec and params",
  );
  const long = await post(gateway, "/hq/BasicQot", JSON.stringify({ params: { padding: "x".repeat(2000) } }));
  assertEquals(long.status, 413);
  assertEquals(await long.json(), { ok: false, err: "1010 the body is too long", data: null });
  for (const timeout of [0, -1, "10", 1.5]) {
    const wrong = await post(gateway, "/hq/BasicQot", JSON.stringify({ timeout_sec: timeout, params: {} }));
    assertStringIncludes((await wrong.json()).err, "1016 invalid parameter: timeout_sec");
  }
});

Deno.test("gateway names a wrong parameter by its wire name", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const refused: [path: string, params: object, err: string][] = [
    [
      "/trade/TradeEntrust",
      { ...order, exchangeType: undefined },
      "1016 invalid parameter: exchangeType is missing",
    ],
    ["/trade/TradeEntrust", { ...order, stockCode: "" }, "1016 invalid parameter: stockCode is missing"],
    [
      "/trade/TradeEntrust",
      { ...order, exchangeType: "X" },
      '1016 invalid parameter: exchangeType: expected one of "K", "P", "v", "t"',
    ],
    [
      "/trade/TradeEntrust",
      { ...order, entrustBs: "9" },
      '1016 invalid parameter: entrustBs: expected one of "1", "2", "3", "4"',
    ],
    [
      "/trade/TradeEntrust",
      { ...order, entrustAmount: "0" },
      '1016 invalid parameter: entrustAmount: expected a decimal above zero as text, such as "100"',
    ],
    [
      "/trade/TradeEntrust",
      { ...order, entrustPrice: undefined },
      "1016 invalid parameter: entrustPrice is missing",
    ],
    [
      "/trade/TradeEntrust",
      { ...order, stockCode: "700" },
      '1016 invalid parameter: stockCode: expected a Hong Kong code with its suffix, such as "00700.HK"',
    ],
    [
      "/trade/TradeQueryRealDeliverList",
      { exchangeType: "K", queryCount: 100, queryParamStr: "0" },
      "1016 invalid parameter: queryCount: expected a whole number from 1 to 99",
    ],
    ["/hq/BasicQot", {}, "1016 invalid parameter: security is missing"],
    [
      "/hq/BasicQot",
      { security: [{ dataType: 10000 }] },
      "1016 invalid parameter: security.0.code is missing",
    ],
    [
      "/hq/Broker",
      { security: "00700.HK" },
      "1016 invalid parameter: security: expected an object of parameters",
    ],
    [
      "/hq/KL",
      { security: TENCENT, startDate: 20250801, cycType: 5, limit: 7 },
      "1016 invalid parameter: limit: expected at most 6 days of 1m bars in one request",
    ],
  ];
  for (const [path, params, err] of refused) {
    assertEquals(await call(gateway, path, params), { ok: false, err, data: null });
  }
});

Deno.test("gateway requires the trade login, extends it with calls and lets it expire", async () => {
  await using gateway = await start({ loginLifeMs: 60_000 });
  const funds = () => call(gateway, "/trade/TradeQueryMarginFundInfo", { exchangeType: "K" });
  assertEquals(await funds(), { ok: false, err: "1012 not logged in", data: null });
  // Market data needs no trade login.
  assertEquals((await call(gateway, "/hq/BasicQot", { security: [TENCENT] })).ok, true);

  const wrong = await call(gateway, "/trade/TradeLogin", { password: ENCRYPTED_WRONG });
  assertEquals(wrong, { ok: true, err: "", data: { success: false } });
  for (const password of ["plain", "AAAA", "135790"]) {
    const answer = await call(gateway, "/trade/TradeLogin", { password });
    assertEquals(answer, { ok: false, err: "1003 data encryption error", data: null });
  }
  assertEquals((await funds()).err, "1012 not logged in");

  await login(gateway);
  for (let minute = 0; minute < 3; minute++) {
    assertEquals((await funds()).ok, true);
    gateway.manual.advance(59_000);
  }
  gateway.manual.advance(1_000);
  assertEquals(await funds(), { ok: false, err: "112 trade login timeout", data: null });
  await login(gateway);
  assertEquals((await funds()).ok, true);
  assertEquals(await call(gateway, "/trade/TradeLogout"), { ok: true, err: "", data: { success: true } });
  assertEquals((await funds()).err, "1012 not logged in");
});

Deno.test("gateway accepts only trade password keys of 16, 24 and 32 bytes", async () => {
  // AES-192, made with openssl from the same password
  const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
  await using gateway = await start({ tradePasswordKey: key });
  const answer = await call(gateway, "/trade/TradeLogin", { password: "P6Tu/YVKgHpam5nmsJK28A==" });
  assertEquals(answer.data, { success: true });
  for (const wrong of ["", "AAAA", "not Base64!"]) {
    await assertRejects(() => start({ tradePasswordKey: wrong }), TypeError, "16, 24 or 32 bytes");
  }
});

Deno.test("gateway gives its answers the shape in the API document", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const placed = await call(gateway, "/trade/TradeEntrust", order);
  assertEquals([placed.ok, placed.err, typeof placed.data.data], [true, "", "string"]);

  const orders = await call(gateway, "/trade/TradeQueryRealEntrustList", {
    exchangeType: "K",
    queryCount: 20,
    queryParamStr: "0",
  });
  const row = orders.data.data.find(({ entrustId }: { entrustId: string }) => entrustId === placed.data.data);
  assertEquals(
    [row.stockCode, row.exchangeType, row.entrustBs, row.entrustTypeNum, row.entrustAmount],
    ["00700.HK", "K", "1", "3", "100"],
  );
  assertEquals(row.canBeCanceled, 1);

  const cancelled = await call(gateway, "/trade/TradeBatchCancelEntrust", {
    exchangeType: "K",
    entrustId: [placed.data.data],
  });
  assertEquals(cancelled.data, { successEntrustId: [placed.data.data], failCancelEntrust: [] });

  const fills = await call(gateway, "/trade/TradeQueryHistoryDeliverList", {
    exchangeType: "K",
    queryCount: 3,
    queryParamStr: "0",
    startDate: "20250811",
    endDate: "20250814",
  });
  assertEquals(fills.data.data.length, 3);
  for (const name of ["stockCode", "entrustBs", "businessPrice", "businessAmount", "queryParamStr", "date"]) {
    assertEquals(typeof fills.data.data[0][name], "string", name);
  }
  const book = await call(gateway, "/hq/OrderBook", { security: TENCENT, mktTmType: 1 });
  assertEquals(Object.keys(book.data).toSorted(), [
    "orderBookAskList",
    "orderBookBidList",
    "security",
    "spreadLevel",
  ]);
  assertEquals(typeof book.data.orderBookBidList[0].orederCount, "number");
  const rates = await call(gateway, "/hs/rate/queryList", {});
  assertEquals(typeof rates.data, "object");
});

Deno.test("gateway cancels everything for an empty list of orders", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const ids = [];
  for (let index = 0; index < 2; index++) {
    ids.push((await call(gateway, "/trade/TradeEntrust", order)).data.data);
  }
  const { data } = await call(gateway, "/trade/TradeBatchCancelEntrust", {
    exchangeType: "K",
    entrustId: [],
  });
  assertEquals(data.successEntrustId.toSorted(), ids.toSorted());
  const missing = await call(gateway, "/trade/TradeBatchCancelEntrust", { exchangeType: "K" });
  assertEquals(missing.err, "1016 invalid parameter: entrustId is missing");
});

Deno.test("gateway rejects an order outside market hours with a text and no code", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  gateway.manual.set(Date.parse("2025-08-16T12:00:00+08:00"));
  await login(gateway);
  const answer = await call(gateway, "/trade/TradeEntrust", order);
  assertEquals(answer, { ok: false, err: "current time does not allow entrust", data: null });
});

Deno.test("gateway answers KL only for subscribed securities", async () => {
  await using gateway = await start();
  const query = {
    security: TENCENT,
    startDate: 20250801,
    direction: 1,
    exRightFlag: 0,
    cycType: 2,
    limit: 5,
  };
  const refused = await call(gateway, "/hq/KL", query);
  assertStringIncludes(refused.err, '1016 invalid parameter: security "00700.HK" is not subscribed');
  const subscribed = await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  assertEquals(subscribed, { ok: true, err: "", data: {} });
  const bars = await call(gateway, "/hq/KL", query);
  assertEquals(bars.data.kline.length, 5);
  assertEquals(bars.data.kline[0].date, "2025-08-01");
  await call(gateway, "/hq/Unsubscribe", { topicId: 11, security: [TENCENT] });
  assertEquals((await call(gateway, "/hq/KL", query)).ok, false);
});

Deno.test("gateway subscribes at most 200 securities over all topics", async () => {
  await using gateway = await start();
  const listed = await call(gateway, "/hq/UsOptionChainExpireDate", { securityCode: "AAPL" });
  const codes: string[] = [];
  for (const expireDate of listed.data.expireDate) {
    const chain = await call(gateway, "/hq/UsOptionChainCode", { securityCode: "AAPL", expireDate });
    codes.push(...chain.data.optionCode);
  }
  assert(codes.length > 200, `${codes.length} options are too few for this test`);
  const options = codes.slice(0, 200).map((code) => ({ dataType: 20003, code }));
  const first = await call(gateway, "/hq/Subscribe", { topicId: 11, security: options });
  assertEquals(first.ok, true);
  // The same securities under another topic do not count again.
  assertEquals(
    (await call(gateway, "/hq/Subscribe", { topicId: 14, security: options.slice(0, 9) })).ok,
    true,
  );
  const over = await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  assertEquals(
    over.err,
    "1016 invalid parameter: at most 200 securities can be subscribed; with this request there would be 201",
  );
  assertEquals(gateway.state().subscriptions, 209);
});

Deno.test("gateway pushes orders to every connection until TradeUnsubscribe", async () => {
  await using gateway = await start();
  await login(gateway);
  using first = await PushReader.connect(gateway);
  using second = await PushReader.connect(gateway);
  const order = await restingOrder(gateway);
  const { data } = await call(gateway, "/trade/TradeEntrust", order);
  const serials = [];
  for (const reader of [first, second]) {
    const push = await reader.next();
    assert(push !== undefined);
    assertEquals([push.notifyType, push.message, push.time], [1, "TradeStockDeliverNotify", MORNING]);
    // fields 2, 12, 19: stockCode, entrustNo, entrustAmount
    assertEquals([textOf(push, 2), textOf(push, 12), textOf(push, 19)], ["00700.HK", data.data, "100"]);
    serials.push(push.serial);
  }
  assertEquals(serials[0], serials[1]);

  assertEquals((await call(gateway, "/trade/TradeUnsubscribe")).data, { success: true });
  await call(gateway, "/trade/TradeEntrust", order);
  assertEquals((await call(gateway, "/trade/TradeSubscribe")).data, { success: true });
  const third = (await call(gateway, "/trade/TradeEntrust", order)).data.data;
  let next = await first.next();
  while (next !== undefined && textOf(next, 12) === data.data) next = await first.next();
  assertEquals(textOf(next!, 12), third, "the order in between was not pushed");
  assert(next!.serial > serials[0]!, "serials count up");
});

Deno.test("gateway pushes subscribed quotes and books when they change, and only then", async () => {
  await using gateway = await start();
  using reader = await PushReader.connect(gateway);
  await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  await call(gateway, "/hq/Subscribe", { topicId: 17, security: [TENCENT] });
  gateway.round();
  gateway.round(); // nothing has changed: no second set of frames
  const [quote, bids, asks] = [await reader.next(), await reader.next(), await reader.next()];
  assertEquals([quote!.notifyType, quote!.message], [20003, "BasicQotNotify"]);
  const security = readFields(quote!.payload.get(1) as Uint8Array);
  assertEquals(security.get(1), 10000n);
  assertEquals(new TextDecoder().decode(security.get(2) as Uint8Array), "00700.HK");
  const asked = await call(gateway, "/hq/BasicQot", { security: [TENCENT] });
  // BasicQot field 6: lastPrice
  const pushed = readFields(quote!.payload.get(2) as Uint8Array);
  assertEquals(pushed.get(6), asked.data.basicQot[0].lastPrice);
  // OrderBookFullNotify field 2: side, absent for 0 (buy), 1 for sell; field 3: the levels
  assertEquals([bids!.notifyType, bids!.payload.get(2) ?? 0n, bids!.payload.has(3)], [20001, 0n, true]);
  assertEquals([asks!.notifyType, asks!.payload.get(2) ?? 0n], [20001, 1n]);

  await call(gateway, "/hq/Unsubscribe", { topicId: 17, security: [TENCENT] });
  gateway.manual.advance(600_000);
  gateway.round();
  const later = await reader.next();
  assertEquals([later!.serial, later!.message], [asks!.serial + 1, "BasicQotNotify"]);
});

Deno.test("gateway pushes each tick and the broker queue of both sides", async () => {
  await using gateway = await start();
  using reader = await PushReader.connect(gateway);
  await call(gateway, "/hq/Subscribe", { topicId: 14, security: [TENCENT] });
  gateway.round();
  const first = await reader.next();
  assertEquals([first!.notifyType, first!.message], [20004, "TickerNotify"]);
  gateway.manual.advance(30_000);
  const asked = await call(gateway, "/hq/Ticker", { security: TENCENT, limit: 100 });
  const fresh = asked.data.ticker.filter(({ timestamp }: { timestamp: number }) => timestamp > MORNING);
  assert(fresh.length > 0);
  gateway.round();
  for (const tick of fresh) {
    const push = await reader.next();
    // This finds the tick by its price, whatever the number of the field.
    const fields = readFields(push!.payload.get(2) as Uint8Array);
    assert([...fields.values()].includes(tick.price), `a tick at ${tick.price}`);
  }
  await call(gateway, "/hq/Unsubscribe", { topicId: 14, security: [TENCENT] });
  await call(gateway, "/hq/Subscribe", { topicId: 16, security: [TENCENT] });
  gateway.round();
  const queues = [await reader.next(), await reader.next()];
  assertEquals(queues.map((push) => push!.message), ["BrokerNotify", "BrokerNotify"]);
  assertEquals(queues.map((push) => push!.payload.get(2) ?? 0n), [0n, 1n]);
});

Deno.test("gateway pushes automatically if it has an interval", async () => {
  await using gateway = await start({ pushIntervalMs: 10 });
  using reader = await PushReader.connect(gateway);
  await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  assertEquals((await reader.next())?.message, "BasicQotNotify");
});

Deno.test("gateway serves 50 simultaneous calls over connections that stay open", async () => {
  await using gateway = await start();
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => call(gateway, "/hq/BasicQot", { security: [TENCENT] })),
    );
    assertEquals(answers.filter(({ ok }) => ok).length, 50);
  }
  assertEquals(gateway.state().callsTaken, 100);
});

Deno.test("gateway reads requests in pieces, in chunks and one after another", async () => {
  await using gateway = await start();
  const url = new URL(gateway.info.gatewayUrl);
  using conn = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
  const body = JSON.stringify({ timeout_sec: 10, params: { security: [TENCENT] } });
  const head =
    "POST /hq/BasicQot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\n";
  const plain = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const half = body.length >> 1;
  const chunked =
    `${head}Transfer-Encoding: chunked\r\n\r\n${half.toString(16)}\r\n${body.slice(0, half)}\r\n` +
    `${(body.length - half).toString(16)};x=y\r\n${body.slice(half)}\r\n0\r\nTrailer: z\r\n\r\n`;
  for (const byte of new TextEncoder().encode(chunked)) await conn.write(Uint8Array.of(byte));
  await conn.write(new TextEncoder().encode(plain + chunked + plain));
  await conn.closeWrite();
  let text = "";
  const bin = new Uint8Array(65536);
  for (let count; (count = await conn.read(bin)) !== null;) {
    text += new TextDecoder().decode(bin.subarray(0, count));
  }
  assertEquals(text.match(/HTTP\/1\.1 200 OK/g)?.length, 4);
  assertEquals(text.match(/"ok":true/g)?.length, 4);
});

Deno.test("gateway rejects ambiguous requests", async () => {
  await using gateway = await start();
  const url = new URL(gateway.info.gatewayUrl);
  const heads = [
    "POST /hq/BasicQot HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "POST /hq/BasicQot HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    "POST /hq/BasicQot HTTP/1.1\r\nContent-Length: -2\r\n\r\n{}",
    "hello\r\n\r\n",
  ];
  for (const head of heads) {
    using conn = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
    await conn.write(new TextEncoder().encode(head));
    const bin = new Uint8Array(4096);
    const count = await conn.read(bin);
    assertStringIncludes(new TextDecoder().decode(bin.subarray(0, count ?? 0)), "HTTP/1.1 400 Bad Request");
  }
});

Deno.test("startGateway() leaves nothing open if a port is in use", async () => {
  await using gateway = await start();
  const taken = Number(new URL(gateway.info.gatewayUrl).port);
  await assertRejects(() => start({ httpPort: taken }), Deno.errors.AddrInUse);
  await assertRejects(
    () => start({ pushPort: Number(gateway.info.pushAddress.split(":")[1]) }),
    Deno.errors.AddrInUse,
  );
});

Deno.test("startGateway() derives its credentials from the seed", async () => {
  const clock = new ManualClock(MORNING);
  await using one = await startGateway({ seed: 1, clock, days: 3 });
  await using same = await startGateway({ seed: 1, clock, days: 3 });
  await using other = await startGateway({ seed: 2, clock, days: 3 });
  assertEquals(one.info.tradePassword, same.info.tradePassword);
  assertEquals(one.info.tradePasswordKey, same.info.tradePasswordKey);
  assert(one.info.tradePassword !== other.info.tradePassword);
  assertEquals(one.info.clock, "2025-08-15T10:30:00+08:00");
  assertEquals([PASSWORD, KEY, ENCRYPTED].includes(one.info.tradePassword), false);
});

/** Runs the task with its own permissions; more permissions would hide a missing one. */
const TASK = config.tasks.sim.command.split(" deno ")[1]!.split(" ");

function runTask(args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...TASK, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("task sim prints one line of JSON when it is ready and ends with 0 on SIGTERM", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/sim.json`;
    const task = runTask(["--http-port", "0", "--push-port", "0", "--seed", "3", "--info", path, "--json"]);
    const reader = task.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let line = "";
    line = await readUntil("\n", reader, (text) => text.includes("\n"), { text: line });
    const info = JSON.parse(line);
    assertEquals(Object.keys(info), [
      "gatewayUrl",
      "pushAddress",
      "tradePassword",
      "tradePasswordKey",
      "seed",
      "clock",
      "controlToken",
      "authUrl",
      "tradeServer",
      "hqServer",
      "developerPrivateKey",
      "platformPublicKey",
      "countryCode",
      "mobile",
      "loginPassword",
    ]);
    assertEquals(info.seed, 3);
    // The clock runs on while the rest of the simulator starts.
    const since = Date.parse(info.clock) - Date.parse("2025-08-16T12:00:00+08:00");
    assert(since >= 0 && since < 600_000, info.clock);
    assertStringIncludes(info.clock, "+08:00");
    assertEquals(await Deno.readTextFile(path), line);
    if (Deno.build.os !== "windows") assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    const headers = { authorization: `Bearer ${info.controlToken}` };
    const state = await (await fetch(`${info.gatewayUrl}/control/state`, { headers })).json();
    assertEquals(state.data.tradeLogin, "out");
    task.kill("SIGTERM");
    let rest = "";
    for (let part; !(part = await reader.read()).done;) rest += part.value;
    assertEquals(rest, "", "nothing else on the standard output");
    await task.stderr.cancel();
    assertEquals((await task.status).code, 0);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["sim.json"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("task sim with --info prints addresses and notices for people, and secrets only into the file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/sim.json`;
    const task = runTask(["--http-port", "0", "--push-port", "0", "--info", path]);
    const reader = task.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const printed = await readUntil("its addresses", reader, (text) => text.includes("Ctrl+C"));
    const info = JSON.parse(await Deno.readTextFile(path));
    const notices = `${info.gatewayUrl}/notices`;
    const body = JSON.stringify({ text: "margin is low" });
    await (await fetch(notices, { method: "POST", body, headers: { "content-type": "application/json" } }))
      .body?.cancel();
    task.kill("SIGTERM");
    let rest = "";
    for (let part; !(part = await reader.read()).done;) rest += part.value;
    const err = await new Response(task.stderr).text();
    assertEquals((await task.status).code, 0);
    assertEquals(err, "Notice: margin is low\nStopping\n");
    for (const part of [info.gatewayUrl, info.pushAddress, info.authUrl, notices, path]) {
      assertStringIncludes(printed, part);
    }
    const open = [
      "gatewayUrl",
      "pushAddress",
      "authUrl",
      "seed",
      "clock",
      "tradeServer",
      "hqServer",
      "countryCode",
    ];
    const secrets = Object.entries(info).filter(([name]) => !open.includes(name));
    assertEquals(secrets.length, 7);
    for (const [name, value] of secrets) assert(!(printed + rest + err).includes(String(value)), name);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("task sim ends with 2 and a reason for an invalid flag", async () => {
  const cases: [args: string[], reason: string][] = [
    [["--seed", "x"], '--seed must be a whole number from 0 to 4294967295, not "x"'],
    [["--http-port", "70000"], "--http-port must be a whole number from 0 to 65535"],
    [["--clock", "2025-08-15T10:00:00"], "--clock must be a time with its offset"],
    [["--clock", "2020-01-01T00:00:00Z"], "--clock must not be before 2024-08-16"],
    [["--bogus"], '"--bogus" is not a flag'],
    [["extra"], '"extra" is not a flag'],
    [["--info"], "--info needs a value"],
    [["--script", "none.yaml"], 'cannot read the script "none.yaml"'],
    ...Deno.build.os === "windows"
      ? []
      : [[["--script", "/dev/null"], "it is a device: expected a regular file"] as [string[], string]],
    [["--script", "deno.json"], 'Cannot use script "deno.json":\n  expected a list of entries'],
  ];
  await Promise.all(cases.map(async ([args, reason]) => {
    const { code, stderr } = await runTask(args).output();
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(new TextDecoder().decode(stderr), reason);
  }));
});

Deno.test("task sim --script follows the script, and --script-schema prints its schema", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const script = `${folder}/script.yaml`;
    const entry = '- { what: price, symbol: 00700.HK, at: 2025-08-15 10:00, to: "700", over: 30m }\n';
    await Deno.writeTextFile(script, entry);
    const ports = ["--http-port", "0", "--push-port", "0", "--days", "3"];
    const task = runTask([...ports, "--script", script, "--clock", "2025-08-15T15:00:00+08:00"]);
    const reader = task.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const info = JSON.parse(await readUntil("\n", reader, (text) => text.includes("\n"), { text: "" }));
    const { data } = await call({ info } as SimulatedGateway, "/hq/BasicQot", { security: [TENCENT] });
    // The path without the script stays between 580 and 600 on this day.
    assert(data.basicQot[0].highPrice >= 700, JSON.stringify(data));
    task.kill("SIGTERM");
    while (!(await reader.read()).done);
    await task.stderr.cancel();
    assertEquals((await task.status).code, 0);
    const { code, stdout } = await runTask(["--script-schema"]).output();
    assertEquals([code, JSON.parse(new TextDecoder().decode(stdout)).type], [0, "array"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("task sim ends with 1 when it cannot start", async () => {
  await using gateway = await start();
  const taken = new URL(gateway.info.gatewayUrl).port;
  const cases: [args: string[], reason: string][] = [
    [["--http-port", taken, "--push-port", "0"], `uses one of its ports (--http-port ${taken})`],
    // Without more permissions, the task may listen only on this machine's loopback address.
    [
      ["--http-port", "0", "--push-port", "0", "--hostname", "0.0.0.0"],
      "hsgate sim --hostname ADDRESS",
    ],
    [["--http-port", "0", "--push-port", "0", "--clock", "2035-01-01T00:00:00Z"], "at this --clock"],
  ];
  for (const [args, reason] of cases) {
    const { code, stdout, stderr } = await runTask([...args, "--days", "3"]).output();
    assertEquals([code, stdout.length], [1, 0], args.join(" "));
    assertStringIncludes(new TextDecoder().decode(stderr), reason);
  }
});

Deno.test("startGateway() reports an internal error to the runtime if there is no `onError`", async () => {
  const clock = new ManualClock(Date.parse("2025-08-15T10:30:00+08:00"));
  await using gateway = await startGateway({
    seed: 7,
    days: 3,
    clock,
    httpPort: 0,
    pushPort: 0,
    pushIntervalMs: 0,
  });
  const reported: unknown[] = [];
  const note = (event: ErrorEvent) => {
    event.preventDefault(); // else the runtime ends here
    reported.push(event.error);
  };
  globalThis.addEventListener("error", note);
  try {
    clock.set(Date.parse("2090-01-02T10:30:00+08:00")); // no calendar covers this day
    const { err } = await call(gateway, "/hq/BasicQot", { security: [TENCENT] });
    assertStringIncludes(err, "1001");
  } finally {
    globalThis.removeEventListener("error", note);
  }
  assertEquals(reported.map((error) => error instanceof RangeError), [true], String(reported[0]));
});
