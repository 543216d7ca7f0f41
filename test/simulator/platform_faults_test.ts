/**
 * Tests every fault on the platform's sockets. A test checks the count of a fault, or an effect that only this fault has.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { verify } from "node:crypto";
import { ManualClock } from "../../lib/time.ts";
import { faultKinds, Faults } from "../../lib/simulator/gateway/mod.ts";
import { type SimulatedPlatform, socketFaultKinds, startPlatform } from "../../lib/simulator/platform/mod.ts";
import {
  type Answer,
  encryptForPlatform,
  logIn,
  loginForm,
  Message,
  message,
  post,
  readAnswer,
  REQUEST,
  SocketClient,
} from "./socket_client.ts";
import { waitUntil } from "../support/waits.ts";

const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
const TENCENT = message([[1, 10000], [2, "00700.HK"]]);

interface World extends AsyncDisposable {
  platform: SimulatedPlatform;
  token: string;
  /** A connection that is logged in for trading. */
  trade: SocketClient;
  /** A connection with a subscription of quotes. */
  hq: SocketClient;
}

async function world(): Promise<World> {
  const clock = new ManualClock(MORNING);
  const platform = await startPlatform({ seed: 7, days: 5, fillsPerDay: 40, clock, pushIntervalMs: 0 });
  const { info } = platform;
  const token = await logIn(info);
  const trade = await openTrade(platform, token);
  const hq = await SocketClient.open(info.hqServer, info, token);
  await hq.call(REQUEST.hqSubscribe, "PushsubscribeRequest", [[1, 11], [2, TENCENT]]);
  return {
    platform,
    token,
    trade,
    hq,
    [Symbol.asyncDispose]: async () => {
      trade[Symbol.dispose]();
      hq[Symbol.dispose]();
      await platform.close();
    },
  };
}

async function openTrade({ info }: SimulatedPlatform, token: string): Promise<SocketClient> {
  const client = await SocketClient.open(info.tradeServer, info, token);
  const password = encryptForPlatform(info, info.tradePassword);
  const answer = await client.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password]]);
  assertEquals(answer.payload.int(1), 1);
  return client;
}

const askFunds = (client: SocketClient) =>
  client.call(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]]);
const sendFunds = (client: SocketClient) =>
  client.request(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]]);
const ORDER: [number, string][] = [[1, "00700.HK"], [2, "K"], [3, "100"], [4, "500"], [5, "1"], [6, "3"]];
const sendOrder = (client: SocketClient) => client.request(REQUEST.entrust, "TradeEntrustRequest", ORDER);

/** Waits until a condition is true. */
async function until(isSo: () => boolean): Promise<void> {
  await waitUntil(`this to be so: ${isSo}`, isSo);
}

/** Returns the number of today's orders. */
async function orders(client: SocketClient): Promise<number> {
  const members: [number, string | number][] = [[1, "K"], [2, "0"], [3, 99]];
  const answer = await client.call(REQUEST.realEntrusts, "TradeQueryRealEntrustListRequest", members);
  assertEquals(answer.code, "0000", answer.text);
  return answer.payload.list(1).length;
}

const gist = ({ type, code, text, name }: Answer) => [type, code, text, name];

/**
 * Reads the next frame. Returns its decrypted body, and a function that checks the frame's signature against a body.
 */
async function rawAnswer(
  client: SocketClient,
): Promise<{ plain: Uint8Array; signed: (body: Uint8Array) => boolean }> {
  const bytes = await client.nextBytes();
  assert(bytes !== undefined);
  const signature = bytes.subarray(14, 142);
  return {
    plain: client.decryptRaw(bytes.subarray(151)),
    signed: (body) => verify("RSA-SHA1", body, client.platform, signature),
  };
}

const unpadded = (padded: Uint8Array) => padded.subarray(0, padded.length - padded.at(-1)!);

Deno.test("socket fault delay delays one answer while others and heartbeats pass", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  faults.arm({ kind: "delay", ms: 1500, operation: "account.funds" });
  const slow = await sendFunds(trade);
  const quick = await trade.request(REQUEST.keepLogin, null);
  assertEquals((await trade.answer()).id, quick);
  await trade.beat();
  assertEquals((await trade.next())?.type, 0);
  assertEquals((await trade.answer()).id, slow);
  assertEquals(faults.struck("delay"), 1);
});

Deno.test("socket faults lost-answer and lost-request close the connection after and before the order", async () => {
  await using here = await world();
  const { platform, token } = here;
  for (const [kind, made] of [["lost-answer", 1], ["lost-request", 0]] as const) {
    using client = await openTrade(platform, token);
    const before = await orders(client);
    platform.faults.arm({ kind, operation: "orders.place" });
    await sendOrder(client);
    await client.rest();
    using again = await openTrade(platform, token);
    assertEquals(await orders(again) - before, made);
    assertEquals(platform.faults.struck(kind), 1);
  }
});

Deno.test("socket fault unanswered executes the order, and the connection keeps working", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  const before = await orders(trade);
  faults.arm({ kind: "unanswered", operation: "orders.place" });
  await sendOrder(trade);
  assertEquals(await orders(trade), before + 1);
  assertEquals(faults.struck("unanswered"), 1);
});

Deno.test("socket fault unanswered on InitConnect lets the client ask a second time", async () => {
  await using here = await world();
  const { platform: { faults, info }, token } = here;
  faults.arm({ kind: "unanswered", operation: "InitConnect" });
  using client = await SocketClient.connect(info.hqServer, info, token);
  await client.request(REQUEST.initConnect, "InitConnectReq", [[1, "d"]], { serial: 0 });
  assertEquals((await client.init()).code, "0000");
  assertEquals((await client.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
});

Deno.test("socket fault silence sends nothing more, not even heartbeats, and keeps the socket open", async () => {
  await using here = await world();
  const { platform: { faults, state }, trade, hq } = here;
  faults.arm({ kind: "silence", operation: "account.funds" });
  await sendFunds(trade);
  await until(() => faults.struck("silence") === 1);
  const taken = state().callsTaken;
  await trade.beat();
  await sendFunds(trade);
  // A connection is read in order, so the heartbeat before this call was handled too.
  await until(() => state().callsTaken === taken + 1);
  // If the fault names no operation, it strikes a heartbeat too.
  faults.arm({ kind: "silence" });
  await hq.beat();
  await until(() => faults.struck("silence") === 2);
  await hq.request(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]]);
  await until(() => state().callsTaken === taken + 2);
  assertEquals([state().tradeConnections, state().quoteConnections], [1, 1], "both are open");
  await here.platform.close();
  // Anything sent would come before the end.
  for (const client of [trade, hq]) {
    assertEquals(await client.nextBytes().catch(() => undefined), undefined);
  }
});

Deno.test("socket fault reset-after cuts the frame of an answer", async () => {
  await using here = await world();
  const { platform: { faults }, trade, token, platform } = here;
  faults.arm({ kind: "reset-after", bytes: 160, operation: "account.funds" });
  await sendFunds(trade);
  assertEquals(await trade.rest(), 160);
  using again = await openTrade(platform, token);
  faults.arm({ kind: "reset-after", operation: "account.funds" });
  await sendFunds(again);
  const bytes = await again.rest();
  assert(bytes > 151, `half a frame has ${bytes} bytes`);
  assertEquals(faults.struck("reset-after"), 2);
});

Deno.test("socket faults reject calls before they are executed, each with its code", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  const before = await orders(trade);
  const refusals: [Parameters<Faults["arm"]>[0], unknown[]][] = [
    [{ kind: "busy" }, [999, "1011", "busy, retry later", ""]],
    [{ kind: "busy", code: "1018", text: "reconnecting" }, [16, "1018", "reconnecting", ""]],
    [{ kind: "system-error" }, [999, "1001", "unknown system error", ""]],
    [{ kind: "system-error", code: "0000", text: "success" }, [999, "0000", "success", ""]],
  ];
  for (const [fault, expected] of refusals) {
    faults.arm({ ...fault, operation: "orders.place" });
    assertEquals(gist(await trade.call(REQUEST.entrust, "TradeEntrustRequest", ORDER)), expected);
  }
  faults.arm({ kind: "unreadable-request", operation: "orders.place" });
  await sendOrder(trade);
  const { id, code, type } = await trade.answer();
  assertEquals([type, id, code], [999, "0", "1003"]);
  assertEquals(await orders(trade), before);
  assertEquals([faults.struck("busy"), faults.struck("system-error"), faults.struck("unreadable-request")], [
    2,
    2,
    1,
  ]);
});

Deno.test("socket fault http-error affects the platform's HTTP but not the sockets", async () => {
  await using here = await world();
  const { platform: { faults, info }, trade } = here;
  faults.arm({ kind: "http-error", status: 502 });
  assertEquals((await askFunds(trade)).code, "0000");
  assertEquals(faults.struck("http-error"), 0);
  const response = await fetch(`${info.authUrl}/hs/config/queryServer`, { method: "POST" });
  assertEquals([response.status, await response.text()], [502, "The gateway is not available"]);
});

Deno.test("socket fault expired-login ends the trade login until the next login", async () => {
  await using here = await world();
  const { platform: { faults, info }, trade } = here;
  faults.arm({ kind: "expired-login", operation: "account.funds" });
  const gone = [999, "112", "trade login timeout", ""];
  assertEquals(gist(await askFunds(trade)), gone);
  assertEquals(gist(await askFunds(trade)), gone);
  const password = encryptForPlatform(info, info.tradePassword);
  await trade.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password]]);
  assertEquals((await askFunds(trade)).code, "0000");
  assertEquals(faults.struck("expired-login"), 1);
});

Deno.test("socket fault expired-token strikes in the middle of a batch", async () => {
  await using here = await world();
  const { platform: { faults, info }, trade, token } = here;
  faults.arm({ kind: "expired-token", operation: "account.funds", skip: 2 });
  const codes = [];
  for (let count = 0; count < 5; count++) await sendFunds(trade);
  for (let count = 0; count < 5; count++) codes.push((await trade.answer()).code);
  assertEquals(codes, ["0000", "0000", "1014", "1014", "1014"]);
  assertEquals((await post(info, "/hs/config/queryServer", { token })).respCode, "1014");
  assertEquals(faults.struck("expired-token"), 1);
  // Over HTTP too.
  const newer = await logIn(info);
  faults.arm({ kind: "expired-token", operation: "queryServer" });
  const codesOverHttp = [];
  for (let count = 0; count < 2; count++) {
    codesOverHttp.push((await post(info, "/hs/config/queryServer", { token: newer })).respCode);
  }
  assertEquals(codesOverHttp, ["1014", "1014"]);
});

Deno.test("socket fault displaced-login ends the token with 1013 and closes", async () => {
  await using here = await world();
  const { platform: { faults, info }, trade, token } = here;
  faults.arm({ kind: "displaced-login" });
  assertEquals(gist(await askFunds(trade)), [999, "1013", "displaced by another login", ""]);
  assertEquals(await trade.next(), undefined);
  assertEquals((await post(info, "/hs/config/queryServer", { token })).respCode, "1013");
  assertEquals((await post(info, "/hs/v2/login", loginForm(info))).respCode, "0000");
  assertEquals(faults.struck("displaced-login"), 1);
});

Deno.test("socket fault second-init requires another InitConnect on the open socket", async () => {
  await using here = await world();
  const { platform: { faults, info }, trade } = here;
  faults.arm({ kind: "second-init", operation: "account.funds" });
  const forgotten = [999, "1004", "socket not initialized", ""];
  assertEquals(gist(await askFunds(trade)), forgotten);
  assertEquals(gist(await trade.call(REQUEST.keepLogin, null)), forgotten);
  const key = trade.key;
  assertEquals((await trade.init()).code, "0000");
  assert(!Buffer.from(key!).equals(trade.key!));
  const password = encryptForPlatform(info, info.tradePassword);
  await trade.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password]]);
  assertEquals((await askFunds(trade)).code, "0000");
  assertEquals(faults.struck("second-init"), 1);
});

Deno.test("socket faults not-json and huge-body damage the body and its length", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  faults.arm({ kind: "not-json", operation: "account.funds" });
  await sendFunds(trade);
  const frame = await trade.next();
  assert(new TextDecoder().decode(frame!.body).startsWith("<html>"));
  faults.arm({ kind: "huge-body", bytes: 9_000_000, operation: "account.funds" });
  await sendFunds(trade);
  const bytes = await trade.nextBytes();
  assertEquals(bytes?.length, 151 + 9_000_000);
  assertEquals((await askFunds(trade)).code, "0000");
});

Deno.test("socket fault wrong-signature damages an answer, or a push if limited to pushes", async () => {
  await using here = await world();
  const { platform, trade, hq } = here;
  const { faults } = platform;
  faults.arm({ kind: "wrong-signature", operation: "account.funds" });
  await sendFunds(trade);
  const spoilt = await rawAnswer(trade);
  const body = unpadded(spoilt.plain);
  assertEquals(new Message(body).text(4), "0000");
  assertEquals(spoilt.signed(body), false);
  await sendFunds(trade);
  const right = await rawAnswer(trade);
  assertEquals(right.signed(unpadded(right.plain)), true);

  faults.arm({ kind: "wrong-signature", push: "quote" });
  assertEquals((await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
  assertEquals(faults.struck("wrong-signature"), 1);
  platform.round();
  const push = await rawAnswer(hq);
  assertEquals(new Message(unpadded(push.plain)).int(1), 20003);
  assertEquals(push.signed(unpadded(push.plain)), false);
  assertEquals(faults.struck("wrong-signature"), 2);
});

Deno.test("socket faults wrong-padding and other-padding change the padding of a body", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  const padded = async (fault: Parameters<Faults["arm"]>[0]) => {
    faults.arm({ ...fault, operation: "account.funds" });
    await sendFunds(trade);
    return await rawAnswer(trade);
  };
  const usual = await padded({ kind: "other-padding", padding: "pkcs7" });
  const body = unpadded(usual.plain);
  const [rest, filling] = [body.length % 16, 16 - body.length % 16];
  assert(usual.signed(body));
  const ending = ({ plain }: { plain: Uint8Array }) => [...plain.subarray(body.length)];
  const filled = (byte: number, last: number) => [...new Array(filling - 1).fill(byte), last];
  assertEquals(ending(usual), filled(filling, filling));
  const modLen = await padded({ kind: "other-padding" });
  assertEquals(ending(modLen), filled(0, rest));
  assert(modLen.signed(modLen.plain.subarray(0, body.length)));
  assertEquals(
    ending(await padded({ kind: "other-padding", padding: "mod_len_over_pkcs7" })),
    filled(filling, rest),
  );
  assertEquals(ending(await padded({ kind: "wrong-padding" })), filled(0x99, 0x99));
  assertEquals([faults.struck("other-padding"), faults.struck("wrong-padding")], [3, 1]);
});

Deno.test("socket fault truncated-frame leaves the stream out of step", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  faults.arm({ kind: "truncated-frame", bytes: 200, operation: "account.funds" });
  await sendFunds(trade);
  await trade.beat();
  const bin = new Uint8Array(65536);
  let bytes = Buffer.alloc(0);
  while (bytes.length < 351) {
    bytes = Buffer.concat([bytes, bin.subarray(0, (await trade.conn.read(bin)) ?? 0)]);
  }
  assertEquals(bytes.length, 351, "200 of an answer, then a heartbeat");
  assertEquals([bytes.readUInt16LE(2), bytes.toString("latin1", 200, 202), bytes.readUInt16LE(202)], [
    2,
    "HS",
    0,
  ]);
  assert(bytes.readUInt32LE(10) > 49);
  assertEquals(faults.struck("truncated-frame"), 1);
});

Deno.test("socket fault split-frame sends a frame in several pieces", async () => {
  await using here = await world();
  const { platform, trade, hq } = here;
  platform.faults.arm({ kind: "split-frame", bytes: 100, operation: "account.funds" });
  await sendFunds(trade);
  const bin = new Uint8Array(65536);
  const first = await trade.conn.read(bin);
  assert(first !== null && first >= 100, `${first} bytes in the first read`);
  let total = first;
  const length = 151 + Buffer.from(bin).readUInt32LE(10);
  let reads = 1;
  for (; total < length; reads++) total += (await trade.conn.read(bin)) ?? length;
  assertEquals(total, length);
  assert(first < length && reads >= 2, `${reads} reads`);
  platform.faults.arm({ kind: "split-frame", push: "quote" });
  platform.round();
  assertEquals((await hq.push()).int(1), 20003);
  assertEquals(platform.faults.struck("split-frame"), 2);
});

Deno.test("socket fault merged-frames sends two frames in one piece, or delays one frame if no other follows", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  faults.arm({ kind: "merged-frames", ms: 60_000, operation: "account.funds" });
  const first = await sendFunds(trade);
  const bin = new Uint8Array(65536);
  const reading = trade.conn.read(bin);
  await until(() => faults.struck("merged-frames") === 1);
  await trade.beat();
  const count = await reading ?? 0;
  const length = 151 + Buffer.from(bin).readUInt32LE(10);
  assertEquals(count, length + 151, "both in one read");
  const cut = {
    type: 2,
    serial: trade.serial,
    bytes: bin,
    body: unpadded(trade.decryptRaw(bin.subarray(151, length))),
  };
  assertEquals(readAnswer(cut).id, first);
  faults.arm({ kind: "merged-frames", operation: "account.funds" });
  assertEquals((await askFunds(trade)).code, "0000", "late, but not lost");
  assertEquals(faults.struck("merged-frames"), 2);
});

Deno.test("socket faults of pages change the cursor and the length", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  const page = async (cursor: string) => {
    const members: [number, string | number][] = [[1, "K"], [2, cursor], [3, 6], [4, "20250811"], [
      5,
      "20250814",
    ]];
    const answer = await trade.call(REQUEST.historyDelivers, "TradeQueryHistoryDeliverListRequest", members);
    assertEquals(answer.code, "0000", answer.text);
    return answer.payload.list(1).map((row) => row.text(12));
  };
  const first = await page("0");
  assertEquals(first.length, 6);
  const second = await page(first.at(-1)!);
  faults.arm({ kind: "cursor-repeat" });
  assertEquals((await page(first.at(-1)!)).at(-1), first.at(-1));
  faults.arm({ kind: "cursor-backward" });
  assertEquals((await page(first.at(-1)!)).at(-1), second[0]);
  faults.arm({ kind: "cursor-empty" });
  assertEquals((await page("0")).at(-1), "");
  faults.arm({ kind: "short-page" });
  assertEquals((await page("0")).length, 3);
  faults.arm({ kind: "empty-page" });
  assertEquals(await page("0"), []);
  faults.arm({ kind: "insert-row" });
  assertEquals(await page("3"), ["4", "5", "6", "7", "8", "9"]);
  assertEquals(faults.struck("insert-row"), 1);
});

Deno.test("socket faults drop-push, duplicate-push and reorder-push change what arrives", async () => {
  await using here = await world();
  const { platform: { faults }, trade } = here;
  const place = async () => {
    await sendOrder(trade);
    return (await trade.answer()).payload.text(1);
  };
  const pushed = async () => (await trade.push()).inner(4)!.inner(2)!.text(12);
  faults.arm({ kind: "drop-push", push: "order" });
  await place();
  faults.arm({ kind: "duplicate-push", push: "order" });
  const twice = await place();
  assertEquals([await pushed(), await pushed()], [twice, twice]);
  faults.arm({ kind: "reorder-push", push: "order" });
  const [earlier, later] = [await place(), await place()];
  assertEquals([await pushed(), await pushed()], [later, earlier]);
  assertEquals(faults.counts, { "drop-push": 1, "duplicate-push": 1, "reorder-push": 1 });
});

Deno.test("socket fault cut-push closes the connections of its kind of push, at once or inside a push", async () => {
  await using here = await world();
  const { platform, trade, hq, token } = here;
  const { faults, info } = platform;
  faults.arm({ kind: "cut-push", push: "order" });
  assertEquals(await trade.rest(), 0);
  assertEquals((await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, TENCENT]])).code, "0000");
  faults.arm({ kind: "cut-push", push: "quote", bytes: 170 });
  platform.round();
  assertEquals(await hq.rest(), 170);
  // If no connection is open when the fault is armed, the fault closes the next connection.
  faults.arm({ kind: "cut-push" });
  using next = await SocketClient.connect(info.hqServer, info, token);
  await next.request(REQUEST.initConnect, "InitConnectReq", [[1, "d"]], { serial: 0 });
  await next.rest();
  assertEquals(faults.struck("cut-push"), 3);
});

Deno.test("platform control routes arm faults and return the state", async () => {
  await using here = await world();
  const { platform: { info }, trade } = here;
  const authorization = `Bearer ${info.controlToken}`;
  const headers = { "content-type": "application/json", authorization };
  const body = JSON.stringify([{ kind: "system-error", operation: "TradeQueryMarginFundInfo" }]);
  const armed = await fetch(`${info.authUrl}/control/faults`, { method: "POST", headers, body });
  assertEquals((await armed.json()).data.faults.armed.length, 1);
  assertEquals((await askFunds(trade)).type, 999);
  const { data } = await (await fetch(`${info.authUrl}/control/state`, { headers: { authorization } }))
    .json();
  assertEquals([data.token, data.tradeLogin, data.faults.struck], ["valid", "in", { "system-error": 1 }]);
});

Deno.test("Faults.arm() rejects an unknown padding", () => {
  // The member is wrong on purpose.
  const wrong = { kind: "other-padding", padding: "zeros" } as unknown as Parameters<Faults["arm"]>[0];
  assertThrows(
    () => new Faults().arm(wrong),
    TypeError,
    "padding: expected one of pkcs7, mod_len, mod_len_over_pkcs7",
  );
});

Deno.test("every kind of fault has a test on the sockets", async () => {
  const text = await Deno.readTextFile(new URL(import.meta.url));
  for (const kind of [...Object.keys(faultKinds), ...Object.keys(socketFaultKinds)]) {
    assertStringIncludes(text, `"${kind}"`);
  }
});
