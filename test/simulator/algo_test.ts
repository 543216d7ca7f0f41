import { assert, assertEquals } from "@std/assert";
import { add, compare } from "../../lib/decimal.ts";
import type { AlgoOrder } from "../../lib/operations/algo.ts";
import { hk, market, newYork, open } from "./desk.ts";

const DATE = "2025-08-15";
const MORNING = hk(DATE, "10:00:00");
const MINUTE = 60_000;
type Desk = ReturnType<typeof open>;
type Terms = {
  strategy: string;
  quantity: string;
  settings?: Record<string, unknown>;
  price?: string;
  market?: string;
  symbol?: string;
};
/** A bank with a lot of 1,000 shares at less than eight dollars, so the account can buy many lots. */
const bank = { symbol: "00939.HK", price: add(market.lastPrice("00939.HK", MORNING), "0.05") };

const LIMIT = add(market.lastPrice("00700.HK", MORNING), "1.5");

function start(desk: Desk, { price = LIMIT, settings = {}, ...terms }: Terms): string {
  const order = {
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    orderType: "limit",
    price,
    settings,
    ...terms,
  };
  return desk.ask<{ orderId: string }>("algo.place", order).orderId;
}
const row = (desk: Desk) => desk.ask<AlgoOrder[]>("algo.list", { from: DATE, to: DATE })[0]!;
/** The orders that an algorithmic order sent, as the list of orders shows them. */
const children = (desk: Desk, orderId: string, market: "hk" | "us" = "hk") => {
  const ids = desk.ask<string[]>("algo.children", { orderId, date: DATE, market });
  return ids.map((id) => desk.order(market, id)!);
};
const sizes = (desk: Desk, id: string, market?: "hk" | "us") =>
  children(desk, id, market).map(({ quantity }) => Number(quantity));
const times = (desk: Desk, id: string) => children(desk, id).map(({ orderTime }) => orderTime);
/** Returns the volume of the bank's shares that the market traded between two instants. */
const volume = (after: number, until: number) =>
  Number(market.traded(bank.symbol, after, until)?.volume ?? 0);

Deno.test("twap sends ten equal children at equal intervals", () => {
  const desk = open(MORNING);
  const id = start(desk, { strategy: "twap", quantity: "2000", settings: { endTime: "10:20:00" } });
  desk.to(MORNING + 20 * MINUTE);
  assertEquals(sizes(desk, id), Array(10).fill(200));
  assertEquals(times(desk, id).slice(0, 4), ["10:00:00", "10:02:00", "10:04:00", "10:06:00"]);
});

Deno.test("a child of twap is a tenth of the quantity, rounded up to whole lots", () => {
  const cases: ["hk" | "us", quantity: string, expected: number[]][] = [
    ["us", "109", [...Array(9).fill(11), 10]],
    ["us", "19", [...Array(9).fill(2), 1]],
    ["hk", "2300", [...Array(7).fill(300), 200]],
  ];
  for (const [market, quantity, expected] of cases) {
    const at = market === "us" ? newYork(DATE, "10:00:00") : MORNING;
    const desk = open(at);
    const order = {
      strategy: "twap",
      quantity,
      ...market === "us" && { market, symbol: "AAPL", price: "300" },
    };
    const id = start(desk, order);
    desk.to(market === "us" ? newYork(DATE, "16:00:00") : hk(DATE, "16:00:00"));
    assertEquals(sizes(desk, id, market), expected);
  }
});

Deno.test("vwap divides what remains among the child orders in proportion to the previous day's volume in their intervals", () => {
  const desk = open(MORNING);
  const id = start(desk, {
    ...bank,
    strategy: "vwap",
    quantity: "140000",
    settings: { endTime: "11:40:00" },
  });
  desk.to(MORNING + 95 * MINUTE);
  const day = 24 * 60 * MINUTE;
  const end = MORNING + 100 * MINUTE - day;
  let rest = 140_000;
  const expected = Array.from({ length: 10 }, (_, index) => {
    const at = MORNING + index * 10 * MINUTE - day;
    const size = index === 9
      ? rest
      : Math.floor(rest * volume(at, at + 10 * MINUTE) / volume(at, end) / 1000) * 1000;
    rest -= size;
    return size;
  });
  assertEquals(sizes(desk, id), expected);
  assertEquals(expected.reduce((sum, each) => sum + each), 140_000);
  assert(new Set(expected).size > 3, "the market does not trade evenly");
});

Deno.test("once per interval, pov raises what it has sent to its percentage of what the market has traded", () => {
  const desk = open(MORNING);
  const settings = { percent: "1", intervalSec: 120 };
  const id = start(desk, { ...bank, strategy: "pov", quantity: "140000", settings });
  let sent = 0;
  const expected: [string, number][] = [];
  for (let minute = 0; minute <= 20; minute += 2) {
    const wanted = Math.floor((Math.floor(volume(MORNING, MORNING + minute * MINUTE) * 0.01) - sent) / 1000) *
      1000;
    const size = Math.min(140_000 - sent, Math.max(0, wanted));
    if (size > 0) expected.push([`10:${String(minute).padStart(2, "0")}:00`, size]);
    sent += size;
  }
  desk.to(MORNING + 20 * MINUTE);
  assertEquals(times(desk, id).map((time, at) => [time, sizes(desk, id)[at]]), expected);
  assert(expected.length > 3);
});

Deno.test("tpov sends its percentage of the best level of the other side", () => {
  const desk = open(MORNING);
  const id = start(desk, {
    ...bank,
    strategy: "tpov",
    quantity: "140000",
    settings: { percent: "5", intervalSec: 60 },
  });
  desk.to(MORNING + 5 * MINUTE);
  const expected = [0, 1, 2, 3, 4, 5].map((minute) => {
    const best = market.orderBook(bank.symbol, MORNING + minute * MINUTE).asks[0]!;
    return Math.floor(Number(best.volume) * 0.05 / 1000) * 1000;
  }).filter((size) => size > 0);
  assertEquals(sizes(desk, id), expected);
});

Deno.test("iceberg shows one child at a time, and sends the next when it is filled", () => {
  const desk = open(MORNING);
  const id = start(desk, { strategy: "iceberg", quantity: "1000", settings: { displayQuantity: "300" } });
  for (let second = 0; second < 120; second++) {
    desk.to(MORNING + second * 1000);
    const open = children(desk, id).filter(({ status }) => status !== "filled");
    assert(open.length <= 1);
  }
  assertEquals(sizes(desk, id), [300, 300, 300, 100]);
  assertEquals(row(desk).status, "filled");
});

Deno.test("minChildAmount and maxChildQuantity limit the size of a child", () => {
  const price = "500";
  const sizeOf = (settings: Record<string, unknown>) => {
    const desk = open(MORNING);
    const id = start(desk, { strategy: "twap", quantity: "2000", price, settings });
    desk.to(MORNING);
    return sizes(desk, id)[0];
  };
  assertEquals(sizeOf({}), 200);
  assertEquals(sizeOf({ minChildAmount: "200000.00" }), 400);
  assertEquals(sizeOf({ minChildAmount: "200000.01" }), 500);
  assertEquals(sizeOf({ maxChildQuantity: "199" }), 100);
  assertEquals(sizeOf({ minChildAmount: "250000", maxChildQuantity: "300" }), 300);
});

Deno.test("the sensitivity decides the price of a child, never beyond the limit", () => {
  const { bids, asks } = market.orderBook("00700.HK", MORNING);
  const last = market.lastPrice("00700.HK", MORNING);
  const priceOf = (sensitivity: string, terms: Record<string, unknown> = {}) => {
    const desk = open(MORNING);
    const id = start(desk, { strategy: "twap", quantity: "2000", settings: { sensitivity }, ...terms });
    desk.to(MORNING);
    return children(desk, id)[0]?.price ?? "";
  };
  const same = (a: string, b: string | number) => assertEquals(compare(a, String(b)), 0, `${a} and ${b}`);
  same(priceOf("passive"), bids[0]!.price);
  same(priceOf("neutral"), last);
  same(priceOf("aggressive"), LIMIT);
  same(priceOf("aggressive", { orderType: "market" }), asks[0]!.price);
  same(priceOf("neutral", { price: "500" }), "500");
});

Deno.test("at its end time an algorithmic order expires, and its open children are cancelled", () => {
  const desk = open(MORNING);
  const settings = { endTime: "10:05:00" };
  const id = start(desk, { strategy: "twap", quantity: "2000", price: "500", settings });
  desk.to(MORNING + 5 * MINUTE - 1);
  assertEquals([row(desk).status, row(desk).filledQuantity], ["accepted", "0"]);
  assert(children(desk, id).every(({ status }) => status === "accepted"));
  desk.to(MORNING + 5 * MINUTE);
  assertEquals([row(desk).status, row(desk).strategyStatus], ["expired", "stop"]);
  assert(children(desk, id).every(({ status }) => status === "cancelled"));
  assertEquals(desk.funds("hk").frozenByOrders, "0.00");
  // Without an end time it works until the close, and is then done for the day.
  const long = open(MORNING);
  start(long, { strategy: "twap", quantity: "2000", price: "500" });
  long.to(hk(DATE, "16:00:00"));
  assertEquals(row(long).status, "accepted");
  long.to(hk(DATE, "16:10:00"));
  assertEquals(row(long).status, "done-for-the-day");
});

Deno.test("when an algorithmic order ends while the exchange accepts no cancellations, its children wait for the next phase", () => {
  const terms = { strategy: "twap", quantity: "1000", price: "560" };
  const ways = ["algo.cancel", "algo.act", "end time"] as const;
  for (const way of ways) {
    const desk = open(MORNING);
    const settings = { sensitivity: "passive", ...way === "end time" && { endTime: "12:05:00" } };
    const orderId = start(desk, { ...terms, settings });
    const statuses = () => new Set(children(desk, orderId).map(({ status }) => status));
    desk.to(hk(DATE, "12:04:59"));
    assertEquals(statuses(), new Set(["accepted"]));
    desk.to(hk(DATE, "12:05:00"));
    if (way === "algo.cancel") desk.ask("algo.cancel", { orderId });
    if (way === "algo.act") desk.ask("algo.act", { orderId, action: "stop" });
    assertEquals(row(desk).status, way === "end time" ? "expired" : "cancelled");
    assertEquals(statuses(), new Set(["cancel-pending"]));
    desk.to(hk(DATE, "12:30:00"));
    assertEquals(statuses(), new Set(["cancel-pending"]));
    desk.to(hk(DATE, "12:30:01"));
    assertEquals(statuses(), new Set(["cancelled"]));
  }
  // From 16:06 until the match, the exchange accepts no cancellation.
  const desk = open(hk(DATE, "15:00:00"));
  const orderId = start(desk, { ...terms, settings: { sensitivity: "passive" } });
  desk.to(hk(DATE, "16:07:00"));
  const waiting = children(desk, orderId).filter(({ canCancel }) => canCancel).map((child) => child.orderId);
  assert(waiting.length > 0);
  desk.ask("algo.cancel", { orderId });
  const ofWaiting = () => waiting.map((child) => desk.order("hk", child)!);
  for (const time of ["16:07:00", "16:07:59"]) {
    desk.to(hk(DATE, time));
    for (const { status, canCancel } of ofWaiting()) {
      assertEquals([status, canCancel], ["cancel-pending", false]);
    }
  }
  // It accepts none before the end of the day: they are filled in the auction, or expire.
  desk.to(hk(DATE, "16:10:00"));
  for (const { status, remark } of ofWaiting()) {
    if (status !== "filled") assertEquals([status, remark], ["cancelled", "expired at the end of the day"]);
  }
});

Deno.test("algorithmic orders send the same children however often the broker is queried", () => {
  const run = (step: number) => {
    const desk = open(MORNING);
    start(desk, { strategy: "vwap", quantity: "600" });
    start(desk, { strategy: "pov", quantity: "700", settings: { percent: "2", sensitivity: "passive" } });
    start(desk, { strategy: "iceberg", quantity: "400", settings: { displayQuantity: "200" } });
    for (let at = MORNING; at < hk(DATE, "16:30:00"); at += step) desk.to(at);
    desk.to(hk(DATE, "16:30:00"));
    return [desk.orders("hk"), desk.broker.matches().fills];
  };
  assertEquals(run(613_000), run(7 * 3_600_000));
});
