import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { subtract } from "../../lib/decimal.ts";
import type { FuturesOrder } from "../../lib/operations/futures.ts";
import { hk, market, open, refused } from "./desk.ts";

const MORNING = hk("2025-08-15", "10:00:00");
const SECOND = 1_000;
const tencent = { market: "hk", symbol: "00700.HK" } as const;
const buy = { ...tencent, orderType: "enhanced-limit", side: "buy" } as const;
/** At this limit an order fills as soon as it reaches the exchange: a small order completely, a larger one in part. */
const NEAR = market.orderBook("00700.HK", MORNING + SECOND).asks[3]!.price.toFixed(2);
const FAR = subtract(NEAR, "20");

/** Places a purchase that fills in a second, and amends it before that. */
function race({ quantity, to, price = FAR }: { quantity: string; to: string; price?: string }) {
  const desk = open(MORNING);
  const pushed: (string | undefined)[][] = [];
  desk.broker.onOrderPush(({ update }) =>
    pushed.push([update.status, update.price, update.quantity, update.unfilledQuantity])
  );
  const id = desk.place({ ...buy, quantity, price: NEAR });
  const amend = (terms: { quantity: string; price: string }) =>
    desk.ask("orders.amend", { ...tencent, orderId: id, ...terms });
  amend({ quantity: to, price });
  const row = () => desk.order("hk", id)!;
  const shown = () => {
    const { status, price, quantity, filledQuantity, unfilledQuantity } = row();
    return [status, price, quantity, filledQuantity, unfilledQuantity];
  };
  const available = () => desk.funds("hk").available!;
  return { ...desk, id, pushed, amend, row, shown, available };
}

Deno.test("an order that is filled before its amendment arrives keeps its old terms", () => {
  for (const terms of [{ to: "100", price: FAR }, { to: "200", price: NEAR }]) {
    const desk = race({ quantity: "100", ...terms });
    assertEquals(desk.shown(), ["amend-pending", terms.price, terms.to, "0", terms.to]);
    const { canAmend, canCancel } = desk.row();
    assertEquals([canAmend, canCancel], [false, true]);
    desk.to(MORNING + SECOND);
    assertEquals(desk.shown(), ["filled", NEAR, "100", "100", "0"]);
    desk.to(MORNING + 3_600 * SECOND);
    assertEquals(desk.fillsOf(desk.id).map(({ quantity }) => quantity), ["100"]);
  }
});

Deno.test("an amendment changes what is left of an order that was filled in part before it arrived", () => {
  const desk = race({ quantity: "1000", to: "2000" });
  assertEquals(desk.shown(), ["amend-pending", FAR, "2000", "0", "2000"]);
  desk.to(MORNING + SECOND);
  const [fill, ...others] = desk.fillsOf(desk.id);
  assert(fill !== undefined && others.length === 0);
  const left = String(2000 - Number(fill.quantity));
  assertEquals(desk.shown(), ["part-filled", FAR, "2000", fill.quantity, left]);
  assertEquals(desk.pushed, [
    ["accepted", NEAR, "1000", "1000"],
    ["amend-pending", FAR, "2000", "2000"],
    ["part-filled-amend-pending", FAR, "2000", left],
    ["part-filled", FAR, "2000", left],
  ]);
  desk.to(MORNING + 600 * SECOND);
  assertEquals(desk.fillsOf(desk.id).length, 1, "nothing more fills at the new price");
});

Deno.test("an amendment to a quantity that is filled when it arrives ends the order as filled", () => {
  const desk = race({ quantity: "1000", to: "100" });
  desk.to(MORNING + SECOND);
  const filled = desk.fillsOf(desk.id)[0]!.quantity;
  assert(Number(filled) > 100, filled);
  assertEquals(desk.shown(), ["filled", FAR, filled, filled, "0"]);
  assertEquals(desk.pushed.slice(2), [
    ["part-filled-amend-pending", FAR, filled, "0"],
    ["filled", FAR, filled, "0"],
  ]);
  assertEquals(desk.funds("hk").frozenByOrders, "0.00");
});

Deno.test("until an amendment arrives, the cash covers the order's old and new terms", () => {
  const most = (desk: { ask: ReturnType<typeof open>["ask"] }, price: string) =>
    desk.ask<{ quantity: string }>("account.maxBuy", { ...tencent, price }).quantity;
  const quantity = most(open(MORNING), NEAR);
  // The fill at the old price leaves too little cash for a larger quantity at the new price.
  const desk = open(MORNING);
  const orderId = desk.place({ ...buy, quantity, price: NEAR });
  const larger = { ...tencent, orderId, price: FAR, quantity: String(Number(quantity) + 200) };
  assertEquals(
    refused(() => desk.ask("orders.amend", larger)),
    "insufficient funds for this order and its fees",
  );
  desk.ask("orders.amend", { ...larger, quantity });
  for (let second = 0; second < 5; second++) {
    const { available = "" } = desk.funds("hk");
    assert(!available.startsWith("-"), available);
    desk.to(MORNING + second * SECOND);
  }
  assertEquals(desk.order("hk", orderId)?.status, "part-filled");
});

Deno.test("while an amendment is on its way, another one is refused and a cancellation waits for it", () => {
  const desk = race({ quantity: "1000", to: "800" });
  assertStringIncludes(
    refused(() => desk.amend({ quantity: "700", price: FAR })),
    "its last amendment has not reached the exchange",
  );
  desk.ask("orders.cancel", { ...tencent, orderId: desk.id, quantity: "800", price: FAR });
  assertEquals(desk.row().status, "cancel-pending");
  desk.to(MORNING + SECOND);
  const filled = desk.fillsOf(desk.id)[0]!.quantity;
  assertEquals(desk.shown(), [
    "part-filled-cancelled",
    FAR,
    "800",
    filled,
    String(800 - Number(filled)),
  ]);
});

Deno.test("an amendment of a resting order does not undo a fill that happens before it arrives", () => {
  let met = 0;
  for (let minute = 0; minute < 12; minute++) {
    const at = MORNING + minute * 60 * SECOND;
    const price = market.orderBook("00700.HK", at + SECOND).bids[0]!.price.toFixed(2);
    const place = (desk: ReturnType<typeof open>) => desk.place({ ...buy, quantity: "100", price });
    const first = open(at);
    const id = place(first);
    first.to(at + 120 * SECOND);
    const [fill] = first.fillsOf(id);
    if (fill === undefined) continue;
    met++;
    const filledAt = Date.parse(fill.at);
    const second = open(at);
    place(second);
    second.to(filledAt - 500);
    const amendment = { ...tencent, orderId: id, quantity: "100", price: subtract(price, "1") };
    second.ask("orders.amend", amendment);
    second.to(filledAt + 500);
    assertEquals(second.fillsOf(id), [fill]);
  }
  assert(met > 3, `${met} orders filled`);
});

Deno.test("a futures order that is filled before its amendment arrives keeps its old terms", () => {
  const desk = open(MORNING);
  const symbol = "MHI2508.HK";
  const price = String(Math.round(Number(market.lastPrice(symbol, MORNING))) + 50);
  const terms = { symbol, side: "buy", price, quantity: "1", validity: "day" };
  const { orderId } = desk.ask<{ orderId: string }>("futures.place", {
    ...terms,
    orderType: "limit",
    session: "default",
  });
  const far = String(Number(price) - 1_000);
  desk.ask("futures.amend", { ...terms, orderId, price: far, validity: "until-expiry" });
  const row = () => desk.ask<FuturesOrder[]>("futures.ordersToday", {})[0]!;
  const shown = () => [row().status, row().price, row().filledQuantity, row().validity];
  assertEquals(shown(), ["amend-pending", far, "0", "until-expiry"]);
  desk.to(MORNING + SECOND);
  assertEquals(shown(), ["filled", price, "1", "day"]);
});

Deno.test("amended orders get the same fills however often the broker is queried", () => {
  const run = (step: number) => {
    const desk = race({ quantity: "1000", to: "1200", price: NEAR });
    for (let at = MORNING; at < MORNING + 600 * SECOND; at += step) desk.to(at);
    desk.to(MORNING + 600 * SECOND);
    return [desk.orders("hk"), desk.broker.matches()];
  };
  assertEquals(run(300), run(77_000));
});
