/**
 * Tests a whole session of a foreign client. The client sends the same bytes as the vendor's client, and uses no code of
 * the toolkit. The simulator runs in its own process, and the client knows only the line of JSON that the process prints.
 */
import { assert, assertEquals } from "@std/assert";
import type { SimulatorInfo } from "../../lib/simulator/mod.ts";
import {
  encryptForPlatform,
  logIn,
  type Message,
  message,
  post,
  REQUEST,
  SocketClient,
} from "./socket_client.ts";

/** Starts `tasks/sim.ts` in the middle of a trading day and returns its line of JSON. */
async function startTask(): Promise<{ info: SimulatorInfo; stop: () => Promise<void> }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-net=127.0.0.1",
      "--allow-read",
      "tasks/sim.ts",
      ...[
        "--http-port",
        "0",
        "--push-port",
        "0",
        "--platform-port",
        "0",
        "--trade-port",
        "0",
        "--hq-port",
        "0",
      ],
      ...["--seed", "7", "--days", "5", "--clock", "2025-08-15T10:30:00+08:00", "--push-interval-ms", "20"],
    ],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the simulator ended before its line");
    text += value;
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await reader.cancel();
    assertEquals((await child.status).code, 0);
  };
  return { info: JSON.parse(text.split("\n")[0]!), stop };
}

Deno.test("deno task sim: a foreign client logs in, queries, trades and gets pushes", async () => {
  const { info, stop } = await startTask();
  try {
    assert(/^-----BEGIN PRIVATE KEY-----\n/.test(info.developerPrivateKey));
    assert(/^[A-Za-z0-9+/]+=*$/.test(info.platformPublicKey));
    const token = await logIn(info);
    const { data } = await post(info, "/hs/config/queryServer", { token });
    assertEquals(data, { tradeServer: info.tradeServer, hqServer: info.hqServer });

    // Trade socket: InitConnect in segments of 100 bytes, then serials from 1.
    using trade = await SocketClient.open(data.tradeServer, info, token);
    assertEquals(trade.heartbeatSec, 30);
    const password = encryptForPlatform(info, info.tradePassword);
    const login = await trade.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password], [2, ""], [
      3,
      "",
    ]]);
    assertEquals([login.code, login.name, login.payload.int(1)], ["0000", "CommonBoolResponse", 1]);

    const funds = await trade.call(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]]);
    assertEquals([funds.type, funds.name], [21, "TradeQueryMarginFundInfoResponse"]);
    const total = funds.payload.text(2);
    assert(/^\d+(\.\d+)?$/.test(total), "total assets");

    // The vendor's heartbeat has a serial and a body, and counts as a request.
    await trade.beat();
    const beat = await trade.next();
    assertEquals([beat?.type, beat?.serial, beat?.bytes.length], [0, 0, 151]);
    assertEquals(trade.serial, 3);

    // A price above the market is filled at once, at the market. An enhanced limit order may go nine steps through it.
    const order = await trade.call(REQUEST.entrust, "TradeEntrustRequest", [
      [1, "00700.HK"],
      [2, "K"],
      [3, "100"],
      [4, await priceAbove(info, token)],
      [5, "1"],
      [6, "2"],
    ]);
    assertEquals([order.code, order.type, order.name], ["0000", 16, "CommonStringResponse"], order.text);
    const orderId = order.payload.text(1);
    assert(/^\S+$/.test(orderId));

    const fill = await untilFilled(trade, orderId);
    assertEquals([fill.text(2), fill.text(9), fill.text(4)], ["00700.HK", "K", "1"]);
    assertEquals([fill.text(13), fill.text(19)], ["100", "100"], "filled so far, and ordered");

    const keep = await trade.call(REQUEST.keepLogin, null);
    assertEquals([keep.code, keep.name, keep.payload.int(1)], ["0000", "CommonBoolResponse", 1]);
    const gone = await trade.call(REQUEST.tradeLogout, null);
    assertEquals([gone.code, gone.payload.int(1)], ["0000", 1]);
    const refused = await trade.call(REQUEST.funds, "TradeQueryMarginFundInfoRequest", [[1, "K"]]);
    assertEquals([refused.type, refused.code, refused.name], [999, "1012", ""]);
  } finally {
    await stop();
  }
});

/** Asks the market socket for a quote, subscribes, waits for a push, and returns a price that is sure to fill. */
async function priceAbove(info: SimulatorInfo, token: string): Promise<string> {
  const switched = await post(info, "/hs/hqPermission/lv2/switch", { token });
  assertEquals(switched.respCode, "0000");
  using hq = await SocketClient.open(info.hqServer, info, token);
  const security = message([[1, 10000], [2, "00700.HK"]]);
  const quote = await hq.call(REQUEST.hqBasicQot, "BasicQotRequest", [[1, security]]);
  assertEquals([quote.type, quote.name], [20003, "BasicQotResponse"]);
  const subscribed = await hq.call(REQUEST.hqSubscribe, "PushsubscribeRequest", [[1, 11], [2, security]]);
  assertEquals([subscribed.type, subscribed.code, subscribed.name], [20001, "0000", ""]);
  const push = await hq.push();
  assertEquals([push.int(1), push.inner(4)?.text(1)], [20003, "type.googleapis.com/BasicQotNotify"]);
  const [security1, qot] = [push.inner(4)?.inner(2)?.inner(1), push.inner(4)?.inner(2)?.inner(2)];
  assertEquals([security1?.int(1), security1?.text(2)], [10000, "00700.HK"]);
  const price = qot?.int(6) ?? 0;
  assert(price > 100, `a price of ${price}`);
  return String(Math.ceil(price) + 2);
}

/** Waits for the push that reports an order as completely filled: state 8. */
async function untilFilled(trade: SocketClient, orderId: string): Promise<Message> {
  while (true) {
    const push = await trade.push();
    assertEquals([push.int(1), push.inner(4)?.text(1)], [1, "type.googleapis.com/TradeStockDeliverNotify"]);
    const update = push.inner(4)!.inner(2)!;
    assertEquals(update.text(12), orderId);
    if (update.text(10) === "8") return update;
  }
}
