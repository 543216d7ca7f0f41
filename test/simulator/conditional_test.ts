import { assert, assertEquals } from "@std/assert";
import { add, compare, divide, multiply, subtract } from "../../lib/decimal.ts";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import { hk, market, newYork, open } from "./desk.ts";

const DATE = "2025-08-15";
/** Friday, ten in the morning in New York. */
const NEW_YORK = newYork(DATE, "10:00:00");
const CLOSE = newYork(DATE, "16:00:00");
type Desk = ReturnType<typeof open>;

const list = (desk: Desk, of: string) =>
  desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: of }).rows;
const second = (at: number) => Math.ceil(at / 1000) * 1000;

/** Returns the first trade after an instant for which a condition holds. */
function firstTrade(symbol: string, from: number, until: number, holds: (price: string) => boolean) {
  return market.prints(symbol, from, until).find(({ price }) => holds(price));
}

/** Returns the prices of the trades between two instants. */
const prices = (symbol: string, from: number, until: number) =>
  market.prints(symbol, from, until).map(({ price }) => price);

Deno.test("each kind of conditional order triggers within one second of the first trade at or beyond its trigger value", () => {
  const last = market.lastPrice("AAPL", NEW_YORK);
  const [low, high] = prices("AAPL", NEW_YORK, CLOSE)
    .toSorted(compare).filter((_, at, all) => at === 0 || at === all.length - 1);
  // Prices halfway to the extremes of the rest of the day, so that they are not reached at once.
  const up =
    market.prints("AAPL", NEW_YORK, CLOSE).find(({ price }) =>
      compare(price, divide(add(last, high!), "2", 2, "half-up")) > 0
    )!.price;
  const down =
    market.prints("AAPL", NEW_YORK, CLOSE).find(({ price }) =>
      compare(price, divide(add(last, low!), "2", 2, "half-up")) < 0
    )!.price;
  for (
    const [orderType, side, triggerValue, rises] of [
      ["take-profit-limit", "sell", up, true],
      ["take-profit-limit", "buy", down, false],
      ["take-profit-market", "sell", up, true],
      ["stop-loss-limit", "sell", down, false],
      ["stop-loss-limit", "buy", up, true],
      ["stop-loss-market", "sell", down, false],
      ["stop-loss-market", "buy", up, true],
    ] as const
  ) {
    const desk = open(NEW_YORK);
    const price = add(triggerValue, side === "buy" ? "1" : "-1");
    const terms = { market: "us", symbol: "AAPL", quantity: "1", validDays: 1, price };
    const orderId = desk.place({ ...terms, orderType, side, triggerValue });
    const { at } = firstTrade(
      "AAPL",
      NEW_YORK,
      CLOSE,
      (each) => compare(each, triggerValue) * (rises ? 1 : -1) >= 0,
    )!;
    desk.to(second(at) - 1);
    assertEquals([list(desk, "us")[0]?.status, desk.orders("us").length], ["pending", 0], orderType);
    desk.to(second(at));
    const [row] = list(desk, "us");
    assertEquals([row?.orderId, row?.status, row?.canCancel], [orderId, "triggered", false]);
    // Its order is in the list of orders, with the terms of the conditional order.
    const [child, ...others] = desk.orders("us");
    assertEquals(others, []);
    const isMarket = orderType.endsWith("-market");
    assertEquals([child?.orderType, child?.side, child?.quantity, child?.status], [
      isMarket ? "market" : "limit",
      side,
      "1",
      "accepted",
    ]);
    assertEquals(compare(child?.price ?? "", isMarket ? "0" : price), 0);
    assertEquals(child?.orderTime, new Date(second(at) - 4 * 3_600_000).toISOString().slice(11, 19));
    desk.to(second(at) + 5_000);
    assertEquals(desk.order("us", child!.orderId!)?.status, "filled", orderType);
  }
});

Deno.test("a trailing stop follows the best price since it was placed, and triggers at its distance", () => {
  for (
    const [trailBy, triggerValue, orderType, side] of [
      ["percentage", "0.2", "trailing-stop-limit", "sell"],
      ["spread", "0.40", "trailing-stop-market", "sell"],
      ["spread", "0.40", "trailing-stop-limit", "buy"],
      ["percentage", "0.2", "trailing-stop-market", "buy"],
    ] as const
  ) {
    const sign = side === "sell" ? 1 : -1;
    /**
     * Returns the second in which an order placed at `start` triggers; `undefined` if the best price did not move
     * before.
     */
    const triggerOf = (start: number): number | undefined => {
      let best = market.lastPrice("AAPL", start);
      let moved = false;
      for (const { at, price } of market.prints("AAPL", start, CLOSE)) {
        if (compare(price, best) * sign > 0) [best, moved] = [price, true];
        const distance = trailBy === "spread"
          ? triggerValue
          : divide(multiply(best, triggerValue), "100", 8, "down");
        const stop = sign === 1 ? subtract(best, distance) : add(best, distance);
        if (compare(price, stop) * sign <= 0) return moved ? second(at) : undefined;
      }
      return undefined;
    };
    const starts = Array.from({ length: 300 }, (_, minute) => NEW_YORK + minute * 60_000);
    const start = starts.find((each) => triggerOf(each) !== undefined)!;
    const expected = triggerOf(start)!;
    const desk = open(start);
    const terms = { market: "us", symbol: "AAPL", quantity: "1", validDays: 1, price: "0" };
    desk.place({ ...terms, orderType, side, trailBy, triggerValue });
    desk.to(expected - 1000);
    assertEquals(list(desk, "us")[0]?.status, "pending");
    desk.to(expected);
    assertEquals([list(desk, "us")[0]?.status, desk.orders("us").length], ["triggered", 1]);
    // Without a limit price, a limit order gets the last price at the time of the trigger.
    const { price, orderType: sent } = desk.orders("us")[0]!;
    const last = market.lastPrice("AAPL", expected);
    assertEquals([sent, compare(price ?? "", sent === "limit" ? last : "0")], [
      orderType.endsWith("-market") ? "market" : "limit",
      0,
    ]);
  }
});

Deno.test("a conditional order expires exactly `validDays` days after it was placed, not at the close", () => {
  const desk = open(hk(DATE, "10:00:00"));
  const terms = { market: "hk", symbol: "00700.HK", side: "buy", quantity: "100", price: "300" };
  desk.place({ ...terms, orderType: "take-profit-limit", triggerValue: "300", validDays: 3 });
  const status = () =>
    desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.history", {
      market: "hk",
      from: `${DATE} 00:00:00`,
      to: `${DATE} 23:59:59`,
    }).rows.map(({ status, endsAt, canCancel }) => [status, endsAt, canCancel]);
  const endsAt = "2025-08-18 10:00:00";
  for (const at of [hk(DATE, "20:00:00"), hk("2025-08-18", "10:00:00") - 1]) {
    desk.to(at);
    assertEquals(status(), [["pending", endsAt, true]]);
  }
  desk.to(hk("2025-08-18", "10:00:00"));
  assertEquals(status(), [["expired", endsAt, false]]);
  assertEquals(desk.orders("hk"), []);
});

Deno.test("a gap over night triggers at the first trade of the day, at the price of that trade", () => {
  const date = "2025-08-18";
  const { open: first } = market.dayBar("00700.HK", date)!;
  const before = market.lastPrice("00700.HK", hk(DATE, "15:59:59"));
  const gap = compare(first, before);
  assert(gap !== 0);
  const desk = open(hk(DATE, "15:59:59"));
  const middle = divide(add(first, before), "2", 8, "down");
  const orderType = gap > 0 ? "stop-loss-limit" : "take-profit-limit";
  const terms = { market: "hk", symbol: "00700.HK", side: "buy", quantity: "100", price: "0" };
  desk.place({ ...terms, orderType, triggerValue: middle, validDays: 5 });
  desk.to(hk(date, "09:29:59"));
  assertEquals(list(desk, "hk")[0]?.status, "pending");
  desk.to(hk(date, "09:30:01"));
  assertEquals(list(desk, "hk")[0]?.status, "triggered");
  assertEquals(compare(desk.orders("hk")[0]?.price ?? "", first), 0);
});

Deno.test("conditional orders give the same orders however often the broker is queried", () => {
  const run = (step: number) => {
    const desk = open(NEW_YORK);
    const terms = { market: "us", symbol: "AAPL", quantity: "3", validDays: 4, price: "0", side: "sell" };
    desk.place({ ...terms, orderType: "trailing-stop-limit", trailBy: "percentage", triggerValue: "0.3" });
    desk.place({ ...terms, orderType: "trailing-stop-market", trailBy: "spread", triggerValue: "0.55" });
    const stop = subtract(market.lastPrice("AAPL", NEW_YORK), "0.30");
    desk.place({ ...terms, orderType: "stop-loss-market", triggerValue: stop });
    for (let at = NEW_YORK; at < CLOSE; at += step) desk.to(at);
    desk.to(CLOSE);
    return [desk.orders("us"), desk.broker.matches().fills, list(desk, "us")];
  };
  assertEquals(run(977_000), run(5 * 3_600_000));
});

Deno.test("if the broker rejects the order of a conditional order, the list of orders shows it with its terms", () => {
  const desk = open(hk(DATE, "10:00:00"), { shorts: true });
  const rejected = [
    { symbol: "00700.HK", side: "sell", quantity: "900000", price: "580.50" },
    { symbol: "09988.HK", side: "short-open", quantity: "900000", price: "110.00" },
  ];
  for (const terms of rejected) {
    desk.place({ ...terms, market: "hk", orderType: "stop-loss-limit", triggerValue: "900", validDays: 3 });
  }
  desk.to(hk(DATE, "10:05:00"));
  assertEquals(list(desk, "hk").map(({ status }) => status), ["error", "error"]);
  const rows = desk.orders("hk").map(({ symbol, side, quantity, price, orderType, status }) => ({
    ...{ symbol, side, quantity, price },
    ...{ orderType, status },
  })).toSorted((a, b) => a.symbol < b.symbol ? -1 : 1);
  const shared = { orderType: "enhanced-limit" as const, status: "rejected" as const };
  assertEquals(rows as unknown, rejected.map((terms) => ({ ...terms, ...shared })));
});
