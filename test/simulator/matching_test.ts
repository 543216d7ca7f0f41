import { assert, assertEquals, assertThrows } from "@std/assert";
import { add, type Decimal, multiply, subtract } from "../../lib/decimal.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { Refusal } from "../../lib/simulator/contract.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { call, login, start } from "./gateway_client.ts";

const SECOND = 1_000;
/** Friday, ten in the morning in Hong Kong. */
const MORNING = Date.parse("2025-08-15T02:00:00Z");
/** The same day, eleven in the morning in New York. */
const NEW_YORK = Date.parse("2025-08-15T15:00:00Z");
const shared = new SimulatedMarket({ seed: 1 });
const tencent = { market: "hk", symbol: "00700.HK", orderType: "enhanced-limit" } as const;

function open(at: number) {
  const clock = new ManualClock(at);
  const broker = new Broker({ seed: 1, clock, days: 10, market: shared });
  const place = (order: Record<string, unknown>) => {
    const { orderId } = broker.call("orders.place", order) as { orderId: string }; // the answer of this operation
    return orderId;
  };
  const ahead = (id: string) => broker.matches().queues.find(({ orderId }) => orderId === id)?.ahead;
  const fillsOf = (id: string) => broker.matches().fills.filter((fill) => fill.id.startsWith(`${id}-`));
  const advance = (ms: number) => {
    clock.advance(ms);
    broker.settle();
  };
  return { clock, broker, place, ahead, fillsOf, advance };
}

/** Returns an option with a thin market. */
function callOf(at: number): string {
  const expiry = shared.optionExpiries("AAPL", at)[2]!;
  return shared.optionCodes("AAPL", expiry, { inOut: "out-of-the-money", type: "call" }, at)[0]!;
}

const volumeOf = (levels: readonly { price: number; volume: string }[], price: Decimal) =>
  levels.find((level) => level.price === Number(price))?.volume;
const sum = (values: readonly string[]) => values.reduce((total, value) => total + Number(value), 0);

/** Returns the trades from one instant to another as the market shows them. */
const trades = (symbol: string, after: number, until: number) => shared.prints(symbol, after, until);

Deno.test("an order that joins the queue waits until the trades at its limit have passed the volume ahead of it", () => {
  let [waited, cleared] = [0, 0];
  for (let minute = 0; minute < 60; minute++) {
    const desk = open(MORNING + minute * 60 * SECOND);
    const joins = desk.clock.now() + SECOND;
    const { bids } = shared.orderBook("00700.HK", joins);
    const price = String(bids[0]!.price.toFixed(2));
    const id = desk.place({ ...tencent, side: "buy", quantity: "1000", price });
    desk.advance(SECOND);
    const ahead = Number(desk.ahead(id));
    assertEquals(ahead, Number(bids[0]!.volume));
    desk.advance(20 * 60 * SECOND);
    const [fill, second] = desk.fillsOf(id);
    if (fill === undefined) continue;
    assertEquals(fill.price, price);
    const until = Date.parse(fill.at);
    const before = trades("00700.HK", joins, until);
    const atLimit = sum(before.filter((print) => print.price === price).map(({ volume }) => volume));
    const beyond = before.some((print) => Number(print.price) < Number(price));
    assertEquals(fill.rule, beyond ? "through" : "queue");
    if (fill.rule === "queue") assert(atLimit > ahead, `${atLimit} traded at ${price}, ${ahead} were ahead`);
    // After a trade beyond the limit nothing is ahead of the order, so the next trade fills its next part.
    const next = trades("00700.HK", until, desk.clock.now()).find((print) =>
      Number(print.price) <= Number(price)
    );
    if (beyond && next !== undefined && atLimit < ahead) {
      cleared++;
      assertEquals(Date.parse(second?.at ?? ""), Math.ceil(next.at / SECOND) * SECOND);
    }
    // Count orders that the first trade at their limit did not fill: those waited in the queue.
    const first = before.find((print) => Number(print.price) <= Number(price))!;
    if (first.at < until - SECOND) waited++;
  }
  assert(waited > 10 && cleared > 3, `${waited} orders waited in the queue, ${cleared} queues were cleared`);
});

Deno.test("orders take each level of the book once, best price first, and never beyond their limit", () => {
  const desk = open(NEW_YORK);
  const symbol = callOf(NEW_YORK);
  const at = desk.clock.now() + SECOND;
  const { asks } = shared.orderBook(symbol, at);
  const limit = asks[2]!.price.toFixed(2);
  const displayed = asks.slice(0, 3).map(({ price, volume }) => [price.toFixed(2), volume]);
  const quantity = String(sum(displayed.map(([, volume]) => volume!)) + 5);
  const order = { market: "us", symbol, orderType: "limit", side: "buy", quantity, price: limit };
  const [one, two] = [desk.place(order), desk.place(order)];
  desk.advance(SECOND);
  const taken = new Map<string, number>();
  for (const { price, quantity, rule } of [...desk.fillsOf(one), ...desk.fillsOf(two)]) {
    assertEquals(rule, "book");
    taken.set(price, (taken.get(price) ?? 0) + Number(quantity));
  }
  for (const [price, volume] of taken) {
    assert(
      volume <= Number(displayed.find(([level]) => level === price)?.[1]),
      `${volume} taken at ${price}`,
    );
  }
  const prices = desk.fillsOf(one).map(({ price }) => Number(price));
  assertEquals(prices, [...prices].sort((a, b) => a - b));
  assertEquals(prices[0], asks[0]!.price);
  desk.advance(5 * SECOND);
  assert(desk.ahead(two) === "0" || desk.fillsOf(two).length > 1, "nothing is ahead of the best price");
});

Deno.test("a level that an order has taken is on offer again only after the market has traded at its price or beyond", () => {
  const symbol = "09618.HK";
  const seen = { again: 0, gone: 0 };
  for (let index = 0; index < 4_600; index++) {
    const at = MORNING + Math.floor(index / 2) * 3 * SECOND;
    const later = at + (index % 2 === 0 ? 3 : 30) * SECOND;
    const [first, second] = [at + SECOND, later + SECOND];
    const level = shared.orderBook(symbol, first).asks[0]!;
    const shown = shared.orderBook(symbol, second).asks[0]!;
    // The level is smaller in the later book, so the first order takes at least what the second could get.
    if (shown.price !== level.price || Number(shown.volume) > Number(level.volume)) continue;
    if (Number(level.volume) > 6_000) continue;
    const isTraded = trades(symbol, first, second).some(({ price }) => Number(price) >= level.price);
    if (isTraded ? seen.again >= 2 : seen.gone >= 2) continue;
    const price = level.price.toFixed(2);
    const order = { market: "hk", symbol, orderType: "special-limit", side: "buy", price };
    const desk = open(at);
    const one = desk.place({ ...order, quantity: level.volume });
    desk.advance(later - at);
    if (shared.orderBook(symbol, later).asks[0]!.price > level.price) continue;
    const two = desk.place({ ...order, quantity: "50" });
    desk.advance(SECOND);
    assertEquals(sum(desk.fillsOf(one).map(({ quantity }) => quantity)), Number(level.volume));
    assertEquals(desk.fillsOf(two).length, isTraded ? 1 : 0);
    seen[isTraded ? "again" : "gone"]++;
  }
  assert(seen.again > 0 && seen.gone > 0, JSON.stringify(seen));
});

Deno.test("the account's orders together get at most a quarter of a trade, or one lot", () => {
  const desk = open(NEW_YORK);
  const symbol = callOf(NEW_YORK);
  const { bids } = shared.orderBook(symbol, NEW_YORK + SECOND);
  const ids = [0, 1, 0].map((level) => {
    const price = bids[level]!.price.toFixed(2);
    return desk.place({ market: "us", symbol, orderType: "limit", side: "buy", quantity: "30", price });
  });
  let seconds = 0;
  for (let second = 0; second < 4 * 3_600; second++) {
    const before = desk.broker.matches().fills.length;
    desk.advance(SECOND);
    const fills = desk.broker.matches().fills.slice(before).filter(({ rule }) => rule !== "book");
    if (fills.length === 0) continue;
    seconds++;
    const prints = trades(symbol, desk.clock.now() - SECOND, desk.clock.now());
    const most = prints.map(({ volume }) => Math.max(1, Math.floor(Number(volume) / 4)));
    const filled = sum(fills.map(({ quantity }) => quantity));
    assert(filled <= most.reduce((a, b) => a + b), `${filled} of ${JSON.stringify(prints)}`);
  }
  assert(seconds > 10, `${seconds} seconds with fills`);
  assert(ids.every((id) => desk.fillsOf(id).length > 0));
});

Deno.test("of two orders of one side, a trade fills the better price first, then the earlier order", () => {
  let seen = 0;
  for (let minute = 0; minute < 320 && seen < 3; minute++) {
    const desk = open(MORNING - 30 * 60 * SECOND + minute * 60 * SECOND);
    const { bids } = shared.orderBook("00700.HK", desk.clock.now() + SECOND);
    const [low, high, later] = [1, 0, 0].map((level) => {
      const price = bids[level]!.price.toFixed(2);
      return desk.place({ ...tencent, side: "buy", quantity: "100", price });
    });
    desk.advance(10 * 60 * SECOND);
    const fills = [low, high, later].map((id) => desk.fillsOf(id!)[0]);
    const at = new Set(fills.map((fill) => fill?.at));
    if (fills.includes(undefined) || at.size > 1) continue;
    seen++;
    const order = desk.broker.matches().fills.map(({ id }) => id);
    assertEquals(order, [high, later, low].map((id) => `${id}-1`));
  }
  assertEquals(seen, 3);
});

Deno.test("an amendment to a smaller quantity keeps the place in the queue, any other loses it", () => {
  const waitPartly = (start: number) => {
    const desk = open(start);
    const price = shared.orderBook("00700.HK", start + SECOND).bids[0]!.price.toFixed(2);
    const ids = [1, 2, 3].map(() => desk.place({ ...tencent, side: "buy", quantity: "300", price }));
    desk.advance(SECOND);
    const joined = desk.ahead(ids[0]!);
    for (let second = 0; second < 300; second++) {
      const ahead = desk.ahead(ids[0]!);
      if (ahead === undefined || ahead === "0") break;
      if (ahead !== joined) return { desk, price, ids, before: ahead };
      desk.advance(SECOND);
    }
    return undefined;
  };
  let found;
  for (let minute = 0; found === undefined; minute++) found = waitPartly(MORNING + minute * 60 * SECOND);
  const { desk, price, ids, before } = found;
  const [smaller, larger, moved] = ids as [string, string, string]; // as many as were placed
  const amend = (orderId: string, quantity: string, limit = price) =>
    desk.broker.call("orders.amend", { market: "hk", symbol: "00700.HK", orderId, quantity, price: limit });
  assertEquals(ids.map(desk.ahead), [before, before, before]);
  amend(smaller, "200");
  amend(larger, "400");
  amend(moved, "300", subtract(price, "0.5"));
  assertEquals([desk.ahead(smaller), desk.ahead(larger), desk.ahead(moved)], [before, undefined, undefined]);
  const joinsAt = desk.clock.now() + SECOND;
  desk.advance(SECOND);
  const { bids } = shared.orderBook("00700.HK", joinsAt);
  assertEquals(desk.ahead(larger), volumeOf(bids, price) ?? "0");
  assertEquals(desk.ahead(moved), volumeOf(bids, subtract(price, "0.5")) ?? "0");
  assert(Number(desk.ahead(smaller)) <= Number(before));
});

const refused = (act: () => unknown) => assertThrows(act, Refusal).text;

Deno.test("a special limit order takes what it can at once, and the exchange cancels the rest", () => {
  const symbol = "00001.HK";
  const { asks } = shared.orderBook(symbol, MORNING + SECOND);
  const [best, second] = asks.map(({ price }) => price.toFixed(2)) as [string, string]; // ten levels
  const order = { market: "hk", symbol, orderType: "special-limit", side: "buy" };
  const [first, both] = [Number(asks[0]!.volume), Number(asks[0]!.volume) + Number(asks[1]!.volume)];
  for (const [price, expected] of [[best, first], [second, both]] as const) {
    const desk = open(MORNING);
    const id = desk.place({ ...order, price, quantity: String(expected + 500) });
    const amendment = { market: "hk", symbol, orderId: id, quantity: "500", price };
    assertEquals(
      refused(() => desk.broker.call("orders.amend", amendment)),
      "special limit orders cannot be amended",
    );
    desk.advance(SECOND);
    const fills = desk.fillsOf(id);
    assertEquals(sum(fills.map(({ quantity }) => quantity)), expected);
    assertEquals(new Set(fills.map(({ at }) => at)).size, 1);
    const [row] = desk.broker.call("orders.today", { market: "hk" }) as Order[]; // the answer of the operation
    assertEquals([row?.status, row?.remark], ["part-filled-cancelled", "rest not filled at once"]);
  }
  const { asks: now } = shared.orderBook(symbol, MORNING);
  const short = subtract(now[0]!.price.toFixed(2), "0.05");
  assertEquals(
    refused(() => open(MORNING).place({ ...order, price: short, quantity: "500" })),
    `a special limit order of "${symbol}" needs a price at or through ${now[0]!.price.toFixed(2)}`,
  );
});

Deno.test("a cancellation reaches the exchange a second later; a fill of that second counts", () => {
  const cancel = (desk: ReturnType<typeof open>, orderId: string) =>
    desk.broker.call("orders.cancel", { market: "hk", symbol: "00700.HK", orderId });
  const row = (desk: ReturnType<typeof open>) =>
    (desk.broker.call("orders.today", { market: "hk" }) as Order[])[0]; // the answer of the operation
  const price = shared.orderBook("00700.HK", MORNING + SECOND).asks[3]!.price.toFixed(2);
  const order = { ...tencent, side: "buy", price };
  // The order is filled before the cancellation arrives: a small order completely, a larger one in part.
  for (
    const [quantity, pending, end] of [
      ["100", "cancel-pending", "filled"],
      ["1000", "cancel-pending", "part-filled-cancelled"],
    ] as const
  ) {
    const desk = open(MORNING);
    const pushed: (string | undefined)[] = [];
    desk.broker.onOrderPush(({ update }) => pushed.push(update.status));
    const id = desk.place({ ...order, quantity });
    cancel(desk, id);
    const { status, canCancel, canAmend } = row(desk)!;
    assertEquals([status, canCancel, canAmend], [pending, false, false]);
    assert(refused(() => cancel(desk, id)).includes("can no longer be changed"));
    desk.advance(SECOND);
    assertEquals(row(desk)?.status, end);
    assertEquals(row(desk)?.filledQuantity, String(sum(desk.fillsOf(id).map((fill) => fill.quantity))));
    const filled = end === "filled" ? ["filled"] : ["part-filled-cancel-pending", end];
    assertEquals(pushed, ["accepted", pending, ...filled]);
    const { fills } = desk.broker.matches();
    desk.advance(3_600 * SECOND);
    assertEquals(desk.broker.matches().fills, fills);
  }
  // Nothing fills this order, so it is cancelled at once.
  const desk = open(MORNING);
  const id = desk.place({ ...order, quantity: "100", price: subtract(price, "50") });
  cancel(desk, id);
  assertEquals(row(desk)?.status, "cancelled");
});

Deno.test("when the broker checks whether a fill will precede a cancellation, it takes nothing from the book", () => {
  const symbol = callOf(NEW_YORK);
  let seen = 0;
  for (let minute = 0; seen < 3; minute++) {
    const desk = open(NEW_YORK + minute * 60 * SECOND);
    const { price, volume } = shared.orderBook(symbol, desk.clock.now() + SECOND).asks[0]!;
    if (Number(volume) > 4) continue;
    seen++;
    const order = { market: "us", symbol, orderType: "limit", side: "buy", quantity: volume };
    const orderId = desk.place({ ...order, price: price.toFixed(2) });
    desk.broker.call("orders.cancel", { market: "us", symbol, orderId });
    desk.advance(SECOND);
    assertEquals(desk.fillsOf(orderId).map(({ quantity }) => quantity), [volume]);
  }
});

Deno.test("a cancellation does not change the fills of other orders", () => {
  const run = (cancels: boolean) => {
    const desk = open(MORNING);
    const [one, two] = [-1, 0].map((steps) => {
      const price = add(shared.orderBook("00700.HK", MORNING).bids[0]!.price.toFixed(2), String(steps));
      return desk.place({ ...tencent, side: "buy", quantity: "400", price });
    });
    desk.advance(30 * SECOND);
    if (cancels) desk.broker.call("orders.cancel", { market: "hk", symbol: "00700.HK", orderId: one! });
    desk.advance(3_600 * SECOND);
    return desk.fillsOf(two!);
  };
  assertEquals(run(true), run(false));
  assert(run(true).length > 0);
});

Deno.test("fills and queues are the same however often the broker is queried", () => {
  const [eager, lazy] = [open(MORNING), open(MORNING)];
  for (const desk of [eager, lazy]) {
    for (const [steps, side] of [[-2, "buy"], [-1, "buy"], [0, "buy"], [3, "buy"]] as const) {
      const price = add("588", multiply("0.5", String(steps)));
      desk.place({ ...tencent, side, quantity: "400", price });
    }
    desk.place({ ...tencent, symbol: "09988.HK", side: "sell", quantity: "100", price: "119.5" });
  }
  for (let step = 0; step < 300; step++) eager.advance(SECOND + step * 137);
  lazy.clock.set(eager.clock.now());
  lazy.broker.settle();
  assertEquals(lazy.broker.matches(), eager.broker.matches());
  assert(new Set(eager.broker.matches().fills.map(({ rule }) => rule)).size > 1);
});

Deno.test("GET /control/state shows the rule of each fill and the volume ahead of each waiting order", async () => {
  await using gateway = await start();
  const { info } = gateway;
  const { bids, asks } = gateway.broker.market.orderBook("00700.HK", gateway.manual.now() + SECOND);
  await login(gateway);
  for (const [side, price] of [["1", asks[0]!.price], ["1", bids[2]!.price]]) {
    const { ok, err } = await call(gateway, "/trade/TradeEntrust", {
      exchangeType: "K",
      stockCode: "00700.HK",
      entrustAmount: "100",
      entrustPrice: String(price),
      entrustBs: side,
      entrustType: "2",
      exchangeTypeStr: "",
    });
    assert(ok, err);
  }
  gateway.manual.advance(SECOND);
  gateway.round();
  const headers = { authorization: `Bearer ${info.controlToken}` };
  const { data } = await (await fetch(`${info.gatewayUrl}/control/state`, { headers })).json();
  assertEquals(data.fills.map(({ rule, quantity }: Record<string, string>) => [rule, quantity]), [
    ["book", "100"],
  ]);
  assertEquals(data.queues.map(({ ahead }: Record<string, string>) => ahead), [bids[2]!.volume]);
});
