/** Tests every fault over real sockets. The count of each fault shows that it happened. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type Fault, faultKinds, Faults, type SimulatedGateway } from "../../lib/simulator/gateway/mod.ts";
import {
  call,
  callOnce,
  login,
  post,
  PushReader,
  restingOrder,
  start,
  TENCENT,
  textOf,
} from "./gateway_client.ts";
import { waitUntil } from "../support/waits.ts";

const QUOTE = { security: [TENCENT] };
const FILLS = { exchangeType: "K", startDate: "20250811", endDate: "20250814" };

/** Returns a page of past fills. */
async function page(
  gateway: SimulatedGateway,
  queryParamStr: string,
  queryCount = 6,
): Promise<{ entrustId: string; queryParamStr?: string }[]> {
  const { data } = await call(gateway, "/trade/TradeQueryHistoryDeliverList", {
    ...FILLS,
    queryCount,
    queryParamStr,
  });
  return data.data;
}

/** Returns the numbers of today's orders in Hong Kong. */
async function orderIds(gateway: SimulatedGateway): Promise<string[]> {
  const { data } = await call(gateway, "/trade/TradeQueryRealEntrustList", {
    exchangeType: "K",
    queryCount: 99,
    queryParamStr: "0",
  });
  return data.data.map(({ entrustId }: { entrustId: string }) => entrustId);
}

Deno.test("fault delay waits before the answer, and only for the named operation", async () => {
  await using gateway = await start();
  gateway.faults.arm({ kind: "delay", ms: 80, operation: "quotes.latest" });
  await call(gateway, "/hq/OrderBook", { security: TENCENT });
  assertEquals(gateway.faults.struck("delay"), 0, "the other operation was let through");
  const began = performance.now();
  await call(gateway, "/hq/BasicQot", QUOTE);
  const took = performance.now() - began;
  assert(took >= 80, `answered after ${took} ms`);
  assertEquals(gateway.faults.struck("delay"), 1);
});

Deno.test("fault delay delays a call before it is executed, or its answer afterwards", async () => {
  await using gateway = await start();
  for (const [when, taken] of [["request", 0], ["answer", 1]] as const) {
    gateway.faults.arm({ kind: "delay", ms: 60_000, when });
    const before = gateway.state().callsTaken;
    const abort = new AbortController();
    const pending = fetch(`${gateway.info.gatewayUrl}/hq/BasicQot`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ params: QUOTE }),
      signal: abort.signal,
    });
    await waitUntil("every fault to strike", () => gateway.faults.armed.length <= 0);
    assertEquals(gateway.state().callsTaken - before, taken, when);
    abort.abort();
    await assertRejects(() => pending, DOMException);
  }
  assertEquals(gateway.faults.struck("delay"), 2);
});

Deno.test("fault lost-answer executes the order once and closes the connection", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const before = await orderIds(gateway);
  gateway.faults.arm({ kind: "lost-answer", operation: "TradeEntrust" });
  assertEquals(await callOnce(gateway, "/trade/TradeEntrust", order), "");
  assertEquals(gateway.faults.struck("lost-answer"), 1);
  assertEquals((await orderIds(gateway)).length, before.length + 1);
});

Deno.test("fault lost-request closes the connection before the order is executed", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const before = await orderIds(gateway);
  gateway.faults.arm({ kind: "lost-request", operation: "orders.place" });
  assertEquals(await callOnce(gateway, "/trade/TradeEntrust", order), "");
  assertEquals(gateway.faults.struck("lost-request"), 1);
  assertEquals(await orderIds(gateway), before);
});

Deno.test("fault reset-after sends the given number of bytes of the answer and no more", async () => {
  await using gateway = await start();
  for (const bytes of [0, 1, 17, 100]) {
    gateway.faults.arm({ kind: "reset-after", bytes });
    assertEquals((await callOnce(gateway, "/hq/BasicQot", QUOTE)).length, bytes);
  }
  assertEquals(gateway.faults.struck("reset-after"), 4);
  gateway.faults.arm({ kind: "reset-after" });
  const whole = await callOnce(gateway, "/hq/BasicQot", QUOTE);
  assert(
    whole.startsWith("HTTP/1.1 200 OK") && !whole.endsWith("}"),
    "cut without a number: half the answer",
  );
});

Deno.test("fault busy rejects the given number of times, before the order is executed", async () => {
  await using gateway = await start();
  await login(gateway);
  const order = await restingOrder(gateway);
  const before = await orderIds(gateway);
  gateway.faults.arm({ kind: "busy", operation: "orders.place", times: 2 });
  for (let index = 0; index < 2; index++) {
    const answer = await call(gateway, "/trade/TradeEntrust", order);
    assertEquals(answer, { ok: false, err: "1011 busy, retry later", data: null });
  }
  assertEquals(await orderIds(gateway), before);
  assertEquals((await call(gateway, "/trade/TradeEntrust", order)).ok, true);
  assertEquals(gateway.faults.struck("busy"), 2);
  gateway.faults.arm({ kind: "busy", code: "1013", text: "displaced" });
  assertEquals((await call(gateway, "/hq/BasicQot", QUOTE)).err, "1013 displaced");
});

Deno.test("fault http-error answers with a status and without JSON", async () => {
  await using gateway = await start();
  gateway.faults.arm({ kind: "http-error" });
  gateway.faults.arm({ kind: "http-error", status: 502 });
  for (const status of [503, 502]) {
    const response = await post(gateway, "/hq/BasicQot", JSON.stringify({ params: QUOTE }));
    assertEquals([response.status, response.headers.get("content-type")], [status, "text/plain"]);
    assertEquals(await response.text(), "The gateway is not available");
  }
  assertEquals([gateway.faults.struck("http-error"), gateway.state().callsTaken], [2, 0]);
});

Deno.test("fault expired-login ends the trade login until the next login", async () => {
  await using gateway = await start();
  await login(gateway);
  const funds = () => call(gateway, "/trade/TradeQueryMarginFundInfo", { exchangeType: "K" });
  gateway.faults.arm({ kind: "expired-login", operation: "account.funds" });
  assertEquals(await funds(), { ok: false, err: "1014 login timeout", data: null });
  assertEquals((await funds()).err, "112 trade login timeout");
  await login(gateway);
  assertEquals((await funds()).ok, true);
  assertEquals(gateway.faults.struck("expired-login"), 1);
});

Deno.test("fault not-json executes the call and answers with HTML", async () => {
  await using gateway = await start();
  gateway.faults.arm({ kind: "not-json" });
  const response = await post(gateway, "/hq/BasicQot", JSON.stringify({ params: QUOTE }));
  assertEquals([response.status, response.headers.get("content-type")], [200, "text/html"]);
  assertStringIncludes(await response.text(), "<html>");
  assertEquals([gateway.faults.struck("not-json"), gateway.state().callsTaken], [1, 1]);
});

Deno.test("fault huge-body answers with the given number of bytes, with and without a length", async () => {
  await using gateway = await start();
  const bytes = 3_000_000;
  for (const chunked of [false, true]) {
    gateway.faults.arm({ kind: "huge-body", bytes, chunked });
    const response = await post(gateway, "/hq/BasicQot", JSON.stringify({ params: QUOTE }));
    assertEquals(response.headers.has("content-length"), !chunked);
    const text = await response.text();
    assert(text.length > bytes);
    assertEquals(JSON.parse(text).data.basicQot.length, 1);
  }
  assertEquals(gateway.faults.struck("huge-body"), 2);
});

Deno.test("fault cursor-repeat, cursor-backward and cursor-empty change the cursor of the last row", async () => {
  await using gateway = await start();
  await login(gateway);
  const first = await page(gateway, "0");
  const cursor = first.at(-1)!.queryParamStr!;
  const second = await page(gateway, cursor);
  assert(second.length > 1);
  const expected = {
    "cursor-repeat": cursor,
    "cursor-backward": second[0]!.queryParamStr,
    "cursor-empty": undefined,
  };
  for (const [kind, last] of Object.entries(expected)) {
    gateway.faults.arm({ kind: kind as Fault["kind"], operation: "fills.history" });
    const spoilt = await page(gateway, cursor);
    assertEquals(spoilt.at(-1)!.queryParamStr, last, kind);
    assertEquals(spoilt.map(({ entrustId }) => entrustId), second.map(({ entrustId }) => entrustId));
    assertEquals(gateway.faults.struck(kind as Fault["kind"]), 1);
  }
  assertEquals(await page(gateway, cursor), second, "the rows of the broker are as they were");
});

Deno.test("fault short-page cuts a full page in half and does not change a short one", async () => {
  await using gateway = await start({ days: 3, fillsPerDay: 10 });
  await login(gateway);
  const full = await page(gateway, "0", 6);
  assertEquals(full.length, 6);
  gateway.faults.arm({ kind: "short-page" });
  const all = await page(gateway, "0", 99);
  assert(all.length > 6 && all.length < 99, `${all.length} rows are no short page of 99`);
  assertEquals(gateway.faults.struck("short-page"), 0);
  assertEquals(await page(gateway, "0", 6), full.slice(0, 3));
  assertEquals(gateway.faults.struck("short-page"), 1);
  assertEquals(await page(gateway, "0", 6), full);
});

Deno.test("fault empty-page replaces a page with rows by an answer without a list", async () => {
  await using gateway = await start({ days: 3, fillsPerDay: 10 });
  await login(gateway);
  const rows = await page(gateway, "0", 6);
  gateway.faults.arm({ kind: "empty-page" });
  const params = {
    exchangeType: "K",
    queryCount: 6,
    queryParamStr: "0",
    startDate: "20250811",
    endDate: "20250815",
  };
  const { ok, data } = await call(gateway, "/trade/TradeQueryHistoryDeliverList", params);
  assertEquals([ok, data, gateway.faults.struck("empty-page")], [true, null, 1]);
  assertEquals(await page(gateway, "0", 6), rows);
});

Deno.test("fault insert-row moves every row of a list back by one, permanently", async () => {
  await using gateway = await start({ days: 3, fillsPerDay: 10 });
  await login(gateway);
  gateway.faults.arm({ kind: "insert-row", skip: 1 });
  const ids = async (cursor: string) =>
    (await page(gateway, cursor, 6)).map(({ entrustId, queryParamStr }) => `${queryParamStr} ${entrustId}`);
  const before = await ids("0");
  const behind = await ids("6");
  assertEquals(behind[0]!.split(" ")[1], before[5]!.split(" ")[1]);
  assertEquals((await ids("0"))[0], "1 inserted-1");
  assertEquals([await ids("6"), gateway.faults.struck("insert-row")], [behind, 1]);
});

/** Places an order and returns its order number. */
async function place(gateway: SimulatedGateway): Promise<string> {
  const { data } = await call(gateway, "/trade/TradeEntrust", await restingOrder(gateway));
  return data.data;
}

async function nextOrder(reader: PushReader): Promise<string | undefined> {
  const push = await reader.next();
  return push && textOf(push, 12);
}

Deno.test("fault drop-push, duplicate-push and reorder-push change what arrives", async () => {
  await using gateway = await start();
  await login(gateway);
  using reader = await PushReader.connect(gateway);
  const plain = await place(gateway);
  assertEquals(await nextOrder(reader), plain);

  gateway.faults.arm({ kind: "drop-push", push: "order" });
  const dropped = await place(gateway);
  const after = await place(gateway);
  assertEquals(await nextOrder(reader), after, `${dropped} does not come`);

  gateway.faults.arm({ kind: "duplicate-push", push: "order" });
  const twice = await place(gateway);
  assertEquals([await nextOrder(reader), await nextOrder(reader)], [twice, twice]);

  gateway.faults.arm({ kind: "reorder-push", push: "order" });
  const [earlier, later] = [await place(gateway), await place(gateway)];
  assertEquals([await nextOrder(reader), await nextOrder(reader)], [later, earlier]);
  assertEquals(gateway.state().faults.struck, { "drop-push": 1, "duplicate-push": 1, "reorder-push": 1 });
});

Deno.test("fault reorder-push sends a push late if no other follows", async () => {
  await using gateway = await start();
  await login(gateway);
  using reader = await PushReader.connect(gateway);
  gateway.faults.arm({ kind: "reorder-push", push: "order" });
  const only = await place(gateway);
  gateway.round();
  gateway.round();
  assertEquals(await nextOrder(reader), only);
  assertEquals(gateway.faults.struck("reorder-push"), 0, "nothing was reordered yet");
});

Deno.test("push faults wait while there is no reader", async () => {
  await using gateway = await start();
  await login(gateway);
  gateway.faults.arm({ kind: "drop-push" });
  await place(gateway);
  assertEquals(gateway.faults.struck("drop-push"), 0);
});

Deno.test("fault cut-push closes the connections at once and forgets the subscriptions", async () => {
  await using gateway = await start();
  await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  using reader = await PushReader.connect(gateway);
  gateway.faults.arm({ kind: "cut-push", times: 2 });
  assertEquals(await reader.next(), undefined);
  assertEquals([gateway.faults.struck("cut-push"), gateway.state().subscriptions], [1, 0]);

  // The second strike affects the next connection.
  const [hostname = "", port] = gateway.info.pushAddress.split(":");
  using again = new PushReader(await Deno.connect({ hostname, port: Number(port) }));
  assertEquals(await again.next(), undefined);
  assertEquals(gateway.faults.struck("cut-push"), 2);
  using third = await PushReader.connect(gateway);
  assert(third !== undefined);
});

Deno.test("fault cut-push stops inside a frame", async () => {
  await using gateway = await start();
  await call(gateway, "/hq/Subscribe", { topicId: 11, security: [TENCENT] });
  using reader = await PushReader.connect(gateway);
  gateway.faults.arm({ kind: "cut-push", bytes: 160, forget: false });
  assertEquals(gateway.faults.struck("cut-push"), 0, "it waits for a push");
  gateway.round();
  assertEquals(await reader.rest(), 160);
  assertEquals([gateway.faults.struck("cut-push"), gateway.state().subscriptions], [1, 1]);
});

Deno.test("faults strike a variant of an operation by its own name", async () => {
  await using gateway = await start();
  await login(gateway);
  gateway.faults.arm({ kind: "busy", operation: "orders.cancelAll" });
  const cancel = (entrustId: string[]) =>
    call(gateway, "/trade/TradeBatchCancelEntrust", { exchangeType: "K", entrustId });
  await cancel(["1"]);
  assertEquals(gateway.faults.struck("busy"), 0);
  assertEquals((await cancel([])).err, "1011 busy, retry later");
  assertEquals(gateway.faults.struck("busy"), 1);
});

Deno.test("Faults skips, repeats and disarms", async () => {
  await using gateway = await start();
  const { faults } = gateway;
  const ask = async () => (await call(gateway, "/hq/BasicQot", QUOTE)).ok;
  faults.arm({ kind: "busy", skip: 2, times: 2 });
  const answers = [];
  for (let index = 0; index < 5; index++) answers.push(await ask());
  assertEquals(answers, [true, true, false, false, true]);
  const disarm = faults.arm({ kind: "busy", times: Infinity });
  assertEquals([await ask(), await ask()], [false, false]);
  disarm();
  assertEquals(await ask(), true);
  faults.arm({ kind: "busy" });
  faults.clear();
  assertEquals([await ask(), faults.struck("busy"), faults.armed.length], [true, 4, 0]);
});

Deno.test("Faults.arm() rejects unknown members and values", () => {
  const faults = new Faults();
  const wrong: [fault: unknown, reason: string][] = [
    [{}, "kind"],
    [{ kind: "lost" }, "kind"],
    [{ kind: "busy", operation: "orders.buy" }, "operation"],
    [{ kind: "busy", times: 0 }, "times"],
    [{ kind: "busy", skip: -1 }, "skip"],
    [{ kind: "delay" }, "ms"],
    [{ kind: "drop-push", push: "fill" }, "push"],
    [{ kind: "http-error", status: 200 }, "status"],
    [{ kind: "busy", time: 2 }, "time"],
    ["busy", "an object"],
  ];
  for (const [fault, reason] of wrong) {
    const error = assertThrows(() => faults.arm(fault as Fault), TypeError, "Cannot arm fault");
    assertStringIncludes(error.message, reason);
  }
  assertEquals(faults.armed, []);
});

Deno.test("control routes arm faults, return the state and move the clock", async () => {
  await using gateway = await start();
  const control = (path: string, init?: RequestInit) =>
    fetch(`${gateway.info.gatewayUrl}/control/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${gateway.info.controlToken}`, ...init?.headers },
    });
  const send = (path: string, body: unknown) =>
    control(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const armed = await (await send("faults", [{ kind: "busy" }, { kind: "not-json", times: 3 }])).json();
  assertEquals(armed.data.faults.armed.map(({ kind }: Fault) => kind), ["busy", "not-json"]);
  assertEquals((await call(gateway, "/hq/BasicQot", QUOTE)).ok, false);
  const state = await (await control("state")).json();
  assertEquals(state.data.faults.struck, { busy: 1 });
  assertEquals([state.data.clock, state.data.tradeLogin], ["2025-08-15T10:30:00+08:00", "out"]);
  const cleared = await (await control("faults", { method: "DELETE" })).json();
  assertEquals(cleared.data.faults.armed, []);

  const moved = await (await send("clock", { set: "2025-08-18T09:30:00+08:00" })).json();
  assertEquals(moved.data.clock, "2025-08-18T09:30:00+08:00");
  const later = await (await send("clock", { advanceMs: 60_000 })).json();
  assertEquals(later.data.clock, "2025-08-18T09:31:00+08:00");

  for (
    const refused of [
      await send("faults", [{ kind: "busy" }, { kind: "nothing" }]),
      await send("clock", { set: "tomorrow" }),
      await control("faults", { method: "POST", body: '{"kind":"busy"}' }),
    ]
  ) {
    assertEquals(refused.status, 400);
    assertEquals((await refused.json()).ok, false);
  }
  const unknown = await control("stop", { method: "POST" });
  assertEquals([unknown.status, (await unknown.json()).ok], [404, false]);
  assertEquals(gateway.faults.armed, [], "a list with one wrong fault arms none");
});

Deno.test("control routes are off on ports that other machines can reach", async () => {
  await using gateway = await start({ hostname: "0.0.0.0" });
  const port = new URL(gateway.info.gatewayUrl).port;
  const response = await fetch(`http://127.0.0.1:${port}/control/state`);
  assertEquals([response.status, (await response.json()).ok], [404, false]);
});

Deno.test("every kind of fault has a test here", async () => {
  const text = await Deno.readTextFile(new URL(import.meta.url));
  for (const kind of Object.keys(faultKinds)) assertStringIncludes(text, `"${kind}"`);
});
