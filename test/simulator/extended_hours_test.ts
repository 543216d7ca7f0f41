import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { add, subtract } from "../../lib/decimal.ts";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import type { FuturesFunds, FuturesHolding, FuturesOrder } from "../../lib/operations/futures.ts";
import type { Quote, Tick } from "../../lib/operations/quotes.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { hk, market, newYork, open, refused } from "./desk.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DATE = "2025-08-18";
const NEXT = "2025-08-19";
const wide = { extended: true };
const apple = { market: "us", symbol: "AAPL", orderType: "limit", quantity: "40", tradingHours: "extended" };
const CLOSED = "current time does not allow entrust";

/** Returns the first and the last trade of a period, with the sessions outside the regular hours. */
function ends(of: SimulatedMarket, symbol: string, from: number, until: number) {
  const prints = of.prints(symbol, from - 1, until, wide);
  return [prints[0]!.price, prints.at(-1)!.price];
}

Deno.test("after-hours trading begins at the close, and pre-market trading ends at the next open", () => {
  for (const [symbol, date, next] of [["AAPL", DATE, NEXT], ["MSFT", "2025-08-15", DATE]] as const) {
    const [first, last] = ends(market, symbol, newYork(date, "16:00:00"), newYork(date, "20:00:00"));
    const [early, late] = ends(market, symbol, newYork(next, "04:00:00"), newYork(next, "09:30:00") - SECOND);
    assertEquals(first, market.dayBar(symbol, date)!.close);
    assertEquals(late, market.dayBar(symbol, next)!.open);
    assertEquals(early, last);
  }
  // Nothing trades between these two sessions, and options trade only in the regular hours.
  assertEquals(market.prints("AAPL", newYork(DATE, "20:00:00"), newYork(NEXT, "03:59:59"), wide), []);
  const expiry = market.optionExpiries("AAPL", newYork(DATE, "10:00:00"))[0]!;
  const [option] = market.optionCodes("AAPL", expiry, {}, newYork(DATE, "10:00:00"));
  assertEquals(market.prints(option!, newYork(DATE, "16:00:01"), newYork(NEXT, "09:29:59"), wide), []);
});

Deno.test("on an ex-date, pre-market trading is in the new shares", () => {
  // On Monday, one share becomes ten.
  const plan = scriptPlan([{ what: "split", symbol: "AAPL", on: DATE, ratio: "10:1" }]);
  const split = new SimulatedMarket({ seed: 1, plan });
  const [, before] = ends(
    split,
    "AAPL",
    newYork("2025-08-15", "16:00:00"),
    newYork("2025-08-15", "20:00:00"),
  );
  const [after] = ends(split, "AAPL", newYork(DATE, "04:00:00"), newYork(DATE, "04:00:01"));
  assert(Math.abs(Number(before) / Number(after) - 10) < 0.01, `${before} becomes ${after}`);
});

Deno.test("a scripted gap moves the sessions before it, and a scripted halt stops them", () => {
  const plan = scriptPlan([
    { what: "gap", symbol: "AAPL", on: NEXT, by: "-8%" },
    { what: "halt", symbol: "AAPL", at: `${DATE} 17:00`, for: "1h" },
  ]);
  const moved = new SimulatedMarket({ seed: 1, plan });
  const [, late] = ends(moved, "AAPL", newYork(NEXT, "04:00:00"), newYork(NEXT, "09:30:00") - SECOND);
  assertEquals(late, moved.dayBar("AAPL", NEXT)!.open);
  const halted = moved.prints("AAPL", newYork(DATE, "16:59:59"), newYork(DATE, "18:00:00") - 1, wide);
  assertEquals(halted, []);
  assertEquals(moved.isOpen("AAPL", newYork(DATE, "17:30:00"), wide), false);
  const desk = open(newYork(DATE, "17:30:00"), { market: moved });
  assertStringIncludes(refused(() => desk.place({ ...apple, side: "buy", price: "200" })), "halted");
});

Deno.test("pre-market prices do not depend on what happens during and after a halt at the open", () => {
  const plan = scriptPlan([
    { what: "halt", symbol: "AAPL", at: `${NEXT} 09:30`, for: "1h" },
    { what: "price", symbol: "AAPL", at: `${NEXT} 10:29`, to: "300" },
  ]);
  const halted = new SimulatedMarket({ seed: 1, plan });
  assert(Number(halted.dayBar("AAPL", NEXT)!.open) > 299); // the first trade after the halt
  const sessions = (of: SimulatedMarket) => [
    ends(of, "AAPL", newYork(DATE, "16:00:00"), newYork(DATE, "20:00:00")),
    ends(of, "AAPL", newYork(NEXT, "04:00:00"), newYork(NEXT, "09:30:00") - SECOND),
  ];
  assertEquals(sessions(halted), sessions(market));
});

Deno.test("an order for extended hours is filled before the open and after the close, with the rule and the session", () => {
  for (const [time, session] of [["08:00:00", "pre-market"], ["17:00:00", "after-hours"]] as const) {
    const at = newYork(DATE, time);
    const desk = open(at);
    const [ask] = market.orderBook("AAPL", at + SECOND, wide).asks;
    const price = add(market.lastPrice("AAPL", at, wide), "3");
    const taking = desk.place({ ...apple, side: "buy", price });
    const regular = { ...apple, side: "buy", price, tradingHours: "no-extended" };
    assertEquals(refused(() => desk.place(regular)), CLOSED);
    assertEquals(
      refused(() => desk.place({ ...apple, orderType: "market", side: "buy", price: "0" })),
      CLOSED,
    );
    // Below the market: it waits for trades at its limit.
    const waiting = desk.place({
      ...apple,
      side: "buy",
      price: subtract(market.lastPrice("AAPL", at, wide), "0.10"),
    });
    desk.to(at + SECOND);
    assertEquals(
      desk.fillsOf(taking).map(({ price, rule, session }) => [price, rule, session]),
      [[ask!.price.toFixed(2), "book", session]],
    );
    desk.to(at + 85 * 60 * SECOND);
    for (const fill of desk.fillsOf(waiting)) {
      assertEquals(fill.session, session);
      assert(fill.rule === "queue" || fill.rule === "through");
    }
    assert(desk.fillsOf(waiting).length > 0, session);
  }
});

Deno.test("outside the regular hours, the book is wider and thinner", () => {
  const spreads = (times: string[]) =>
    times.map((time) => market.orderBook("AAPL", newYork(DATE, time), wide)).map(({ asks, bids }) => ({
      spread: asks[0]!.price - bids[0]!.price,
      volume: [...asks, ...bids].reduce((sum, { volume }) => sum + Number(volume), 0),
    })).reduce((sum, { spread, volume }) => ({ spread: sum.spread + spread, volume: sum.volume + volume }));
  const minutes = Array.from({ length: 50 }, (_, minute) => String(minute).padStart(2, "0"));
  const regular = spreads(minutes.map((minute) => `11:${minute}:00`));
  const late = spreads(minutes.map((minute) => `18:${minute}:00`));
  assert(late.spread > 2 * regular.spread, `${late.spread} against ${regular.spread}`);
  assert(late.volume < regular.volume / 10, `${late.volume} against ${regular.volume}`);
});

Deno.test("an order for extended hours lasts from the pre-market to the evening, and then expires", () => {
  const desk = open(newYork(DATE, "04:30:00"));
  const id = desk.place({ ...apple, side: "buy", price: "150" });
  desk.to(newYork(DATE, "16:00:01"));
  assertEquals(desk.order("us", id)?.status, "accepted");
  desk.to(newYork(DATE, "19:59:59"));
  assertEquals(desk.order("us", id)?.status, "accepted");
  desk.to(newYork(DATE, "20:00:00"));
  assertEquals(
    desk.ask<{ orderId: string; status: string }[]>("orders.history", {
      market: "us",
      from: DATE,
      to: DATE,
      limit: 99,
    }).find(({ orderId }) => orderId === id)?.status,
    "cancelled",
  );
});

Deno.test("quotes, books, ticks and time lines show the session that a query names", () => {
  const at = newYork(NEXT, "08:00:00");
  const desk = open(at);
  const security = { type: "us-stock", symbol: "AAPL" };
  const quoteOf = (session?: string) =>
    desk.ask<Quote[]>("quotes.latest", { securities: [security], ...session && { session } })[0]!;
  const close = market.dayBar("AAPL", DATE)!.close;
  const [plain, early, late] = [quoteOf(), quoteOf("pre-market"), quoteOf("after-hours")];
  // Without a session, a quote outside the trading hours shows the last close.
  assertEquals([plain.session, Number(plain.lastPrice)], ["regular", Number(close)]);
  assertEquals([early.session, Number(early.lastPrice)], [
    "pre-market",
    Number(market.lastPrice("AAPL", at, wide)),
  ]);
  assertEquals(early.tradeTime?.slice(0, 8), "20250819");
  // The after-hours session of the evening before has ended.
  assertEquals([late.session, late.tradeTime?.slice(0, 10)], ["after-hours", "2025081819"]);
  const { ticks } = desk.ask<{ ticks: Tick[] }>("quotes.ticks", { security, session: "pre-market" });
  assertEquals([ticks.at(-1)?.price, ticks.at(-1)?.session], [early.lastPrice, "pre-market"]);
  const line = desk.ask<{ points: { price: string; time: string }[] }>("quotes.timeShare", {
    security,
    session: "pre-market",
  });
  assertEquals([line.points.at(-1)?.price, line.points[0]?.time], [early.lastPrice, "04:00"]);
  const book = desk.ask<{ asks: { price: string }[] }>("quotes.orderBook", {
    security,
    session: "pre-market",
  });
  assertEquals(book.asks[0]?.price, String(market.orderBook("AAPL", at, wide).asks[0]?.price));
});

Deno.test("a conditional order for extended hours triggers after the close, one for regular hours does not", () => {
  const prints = market.prints("AAPL", newYork(DATE, "16:30:00"), newYork(DATE, "20:00:00"), wide);
  const high = prints.reduce((most, { price }) => Math.max(most, Number(price)), 0).toFixed(2);
  const desk = open(newYork(DATE, "16:30:00"));
  const order = {
    market: "us",
    symbol: "AAPL",
    side: "buy",
    quantity: "10",
    validDays: 1,
    triggerValue: high,
  };
  const limit = { ...order, orderType: "stop-loss-limit", price: add(high, "2") };
  const hours = { tradingHours: "us-regular-and-extended" };
  const ids = [
    desk.place({ ...limit, ...hours }),
    desk.place({ ...limit, tradingHours: "regular" }),
    // An order without a limit does not trade outside the regular hours.
    desk.place({ ...order, ...hours, orderType: "stop-loss-market" }),
  ];
  desk.to(newYork(DATE, "19:59:59"));
  const { rows } = desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", {
    market: "us",
    limit: 99,
  });
  assertEquals(
    ids.map((id) => rows.find(({ orderId }) => orderId === id)?.status),
    ["triggered", "pending", "pending"],
  );
  const [sent] = desk.orders("us");
  assertEquals(desk.fillsOf(sent!.orderId).map(({ session }) => session), ["after-hours"]);
});

Deno.test("a conditional order for extended hours triggers at the first pre-market trade", () => {
  const [first] = market.prints("AAPL", newYork(NEXT, "03:59:59"), newYork(NEXT, "04:00:00"), wide);
  const desk = open(newYork(NEXT, "03:30:00"));
  const id = desk.place({
    ...apple,
    side: "buy",
    quantity: "10",
    validDays: 1,
    triggerValue: String(first!.price),
    orderType: "stop-loss-limit",
    price: add(String(first!.price), "2"),
    tradingHours: "us-regular-and-extended",
  });
  const status = () =>
    desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: "us", limit: 99 })
      .rows.find(({ orderId }) => orderId === id)?.status;
  assertEquals(status(), "pending");
  desk.to(newYork(NEXT, "04:00:00"));
  assertEquals(status(), "triggered");
});

Deno.test("an algorithmic order for extended hours sends children after the close", () => {
  const desk = open(newYork(DATE, "15:59:00"));
  const limit = add(market.lastPrice("AAPL", newYork(DATE, "15:59:00")), "5");
  const terms = {
    market: "us",
    symbol: "AAPL",
    orderType: "limit",
    side: "buy",
    quantity: "100",
    price: limit,
    strategy: "twap",
    settings: {},
  };
  desk.ask("algo.place", { ...terms, tradingHours: "extended" });
  desk.ask("algo.place", { ...terms, tradingHours: "no-extended" });
  desk.to(newYork(DATE, "19:59:59"));
  const sessions = desk.broker.matches().fills.map(({ session }) => session ?? "regular");
  assertEquals(new Set(sessions), new Set(["regular", "after-hours"]));
  const late = desk.orders("us").filter(({ orderTime }) => (orderTime ?? "") >= "16:00:00");
  assert(late.length >= 8, `${late.length} children after the close`);
  desk.to(newYork(DATE, "20:00:01"));
  const rows = desk.ask<{ status: string; filledQuantity: string }[]>("algo.list", { from: DATE, to: DATE });
  assertEquals(rows.map(({ status, filledQuantity }) => [status, filledQuantity]), [
    ["filled", "100"],
    ["filled", "100"],
  ]);
});

Deno.test("cash, holdings and journal of a day with fills outside the regular hours agree to the cent", () => {
  const desk = open(newYork(DATE, "05:00:00"));
  const cash = () => desk.funds("us").available!;
  const before = cash();
  for (const time of ["05:00:00", "10:00:00", "18:00:00"]) {
    desk.to(newYork(DATE, time));
    desk.place({ ...apple, side: "buy", price: add(market.lastPrice("AAPL", desk.now(), wide), "1") });
  }
  desk.to(newYork(DATE, "20:00:01"));
  const fills = desk.cleared("us", DATE);
  assertEquals(fills.map(({ fillTime }) => fillTime?.slice(0, 2)), ["05", "10", "18"]);
  const lines = desk.journal("us", DATE);
  const moved = lines.reduce((sum, { amount }) => add(sum, amount), "0");
  assertEquals(subtract(cash(), before), moved);
});

Deno.test("fills outside the regular hours are the same however often the broker is queried", () => {
  const run = (step: number) => {
    const at = newYork(DATE, "15:59:30");
    const desk = open(at);
    for (const by of ["0.05", "0.20", "0.40"]) {
      desk.place({
        ...apple,
        quantity: "300",
        side: "buy",
        price: subtract(market.lastPrice("AAPL", at), by),
      });
    }
    const until = newYork(DATE, "19:59:00");
    for (let at = desk.now() + step; at < until; at += step) desk.to(at);
    desk.to(until);
    return desk.broker.matches();
  };
  const often = run(61 * SECOND);
  assertEquals(often, run(10 * HOUR));
  assert(often.fills.some(({ session }) => session === "after-hours"));
});

const HSI = "HSI2508.HK";
const future = { symbol: HSI, orderType: "limit", validity: "day", quantity: "1", session: "after-hours" };
const nightOf = (symbol: string, date: string) =>
  market.prints(symbol, hk(date, "17:14:59"), hk(date, "17:15:00") + 10 * HOUR, wide);

Deno.test("a night session leads from the close of the day session to the next open, within 5%", () => {
  for (const symbol of [HSI, "MHI2509.HK", "HTI2512.HK"]) {
    const night = nightOf(symbol, DATE);
    assertEquals(night[0]?.price, market.dayBar(symbol, DATE)!.close);
    assertEquals(night.at(-1)?.price, market.dayBar(symbol, NEXT)!.open);
    assert(night.at(-1)!.at < hk(NEXT, "03:00:00"));
  }
  // There is no night session after a contract's last day, nor after a half-day.
  assertEquals(nightOf(HSI, "2025-08-28"), []);
  assertEquals(nightOf("MHI2509.HK", "2025-08-28").length > 0, true);
  assertEquals(nightOf("HSI2501.HK", "2024-12-24"), []);
  const plan = scriptPlan([{ what: "gap", symbol: HSI, on: NEXT, by: "-9%" }]);
  const crash = new SimulatedMarket({ seed: 1, plan });
  const close = Number(crash.dayBar(HSI, DATE)!.close);
  const lowest = crash.prints(HSI, hk(DATE, "17:14:59"), hk(NEXT, "03:00:00"), wide)
    .reduce((least, { price }) => Math.min(least, Number(price)), Infinity);
  assertEquals(lowest, Math.ceil(close * 0.95));
});

Deno.test("futures trade at night on request, and the night belongs to the next trading day", () => {
  const desk = open(hk(DATE, "20:00:00"));
  const place = (order: object) => desk.ask<{ orderId: string }>("futures.place", order).orderId;
  const last = market.lastPrice(HSI, desk.now(), wide);
  const funds = () => desk.ask<{ funds: FuturesFunds }>("futures.funds", {}).funds;
  const before = funds();
  assertEquals(refused(() => place({ ...future, session: "default", side: "buy", price: last })), CLOSED);
  // No price beyond 5% of the last price of the day session.
  const close = Number(market.dayBar(HSI, DATE)!.close);
  const [high, low] = [String(Math.floor(close * 1.05)), String(Math.ceil(close * 0.95))];
  assertStringIncludes(
    refused(() => place({ ...future, side: "buy", price: add(high, "1") })),
    "limit of the night session",
  );
  assertStringIncludes(
    refused(() => place({ ...future, side: "sell", price: subtract(low, "1") })),
    "limit of the night session",
  );
  const bought = place({ ...future, side: "buy", price: high });
  const resting = place({ ...future, side: "buy", price: low });
  desk.to(desk.now() + 3 * SECOND);
  const [fill] = desk.fillsOf(bought);
  assertEquals([fill?.rule, fill?.session], ["book", "night"]);
  const [row] = desk.ask<FuturesOrder[]>("futures.fillsToday", {});
  assertEquals([row?.orderId, row?.date, row?.fillTime, row?.session], [
    bought,
    NEXT,
    "20:00:01",
    "after-hours",
  ]);
  desk.to(hk(NEXT, "02:00:00"));
  const { holdings } = desk.ask<{ holdings: FuturesHolding[] }>("futures.holdings", {});
  const held = holdings.find(({ symbol }) => symbol === HSI)!;
  assertEquals(held.lastPrice, market.lastPrice(HSI, desk.now(), wide));
  assertEquals([held.previousClose, held.dayLongQuantity], [String(close), "1"]);
  // A day order for the night session ends with it.
  const statusOf = (id: string) =>
    desk.ask<FuturesOrder[]>("futures.ordersToday", {}).find(({ orderId }) => orderId === id)?.status;
  desk.to(hk(NEXT, "02:59:59"));
  assertEquals(statusOf(resting), "accepted");
  desk.to(hk(NEXT, "03:00:00"));
  assertEquals(statusOf(resting), "cancelled");
  desk.to(hk(NEXT, "10:00:00"));
  place({ ...future, session: "default", side: "sell", price: low });
  desk.to(hk(NEXT, "17:15:00"));
  const past = desk.ask<{ rows: FuturesOrder[] }>("futures.fillsHistory", { from: NEXT, to: NEXT }).rows;
  assertEquals(past.map(({ orderId, side, date }) => [orderId === bought, side, date]), [
    [true, "buy", NEXT],
    [false, "sell", NEXT],
  ]);
  const after = funds();
  // Fifty dollars a point; each trade costs fees.
  const profit = 50 * (Number(past[1]!.fillPrice) - Number(past[0]!.fillPrice));
  const fees = Number(before.cash) + profit - Number(after.cash);
  assert(fees > 0 && fees < 200, `fees of ${fees}`);
});

Deno.test("an order of the day session takes part in the night session only on request, and stays at its place in the lists", () => {
  const symbol = "HTI2512.HK";
  const evening = hk(DATE, "16:00:00");
  const lows = [nightOf(symbol, DATE), market.prints(symbol, evening, hk(DATE, "16:30:00"))]
    .map((prints) => prints.reduce((least, { price }) => Math.min(least, Number(price)), Infinity));
  // A price that is traded in the night session, and not in the last half-hour of the day session.
  const [night, day] = lows as [number, number];
  const seen = night < day ? { side: "buy", price: String(night) } : undefined;
  assert(seen !== undefined, "this day's night session goes lower than its last half-hour");
  const desk = open(evening);
  const terms = { ...future, ...seen, symbol, validity: "until-expiry" };
  const [daily, nightly] = ["default", "after-hours"].map((session) =>
    desk.ask<{ orderId: string }>("futures.place", { ...terms, session }).orderId
  );
  desk.to(hk(NEXT, "03:00:00"));
  assertEquals(desk.fillsOf(daily!), []);
  assertEquals(desk.fillsOf(nightly!).map(({ price, session }) => [price, session]), [[
    `${seen.price}.00`,
    "night",
  ]]);
  const open2 = desk.ask<FuturesOrder[]>("futures.ordersToday", {});
  assertEquals(open2.map(({ orderId, status }) => [orderId, status]), [[daily, "accepted"], [
    nightly,
    "filled",
  ]]);
});

Deno.test("a day order for the night session lasts from the day session until three in the morning", () => {
  const expiries = (date: string, symbol: string, times: [date: string, time: string][]) => {
    const desk = open(hk(date, "11:30:00"));
    const price = String(Math.ceil(Number(market.lastPrice(symbol, desk.now())) * 0.96));
    const ids = ["default", "after-hours"].map((session) =>
      desk.ask<{ orderId: string }>("futures.place", { ...future, symbol, side: "buy", price, session })
        .orderId
    );
    return times.map(([date, time]) => {
      desk.to(hk(date, time));
      const rows = [
        ...desk.ask<FuturesOrder[]>("futures.ordersToday", {}),
        ...desk.ask<{ rows: FuturesOrder[] }>("futures.ordersHistory", { from: DATE, to: "2099-01-01" }).rows,
      ];
      return ids.map((id) => rows.find(({ orderId }) => orderId === id)?.status ?? "none");
    });
  };
  assertEquals(
    expiries(DATE, "HTI2512.HK", [[DATE, "16:30:00"], [DATE, "17:15:00"], [NEXT, "02:59:59"], [
      NEXT,
      "03:00:00",
    ]]),
    [["cancelled", "accepted"], ["cancelled", "accepted"], ["cancelled", "accepted"], [
      "cancelled",
      "cancelled",
    ]],
  );
  // There is no night session after a contract's last day, nor after a half-day.
  assertEquals(expiries("2025-08-28", HSI, [["2025-08-28", "17:15:00"]]), [["cancelled", "cancelled"]]);
  assertEquals(expiries("2025-12-24", "HSI2601.HK", [["2025-12-24", "13:15:00"]]), [[
    "cancelled",
    "cancelled",
  ]]);
});

Deno.test("a futures order ends with the last day of its validity, also if that is the day of a night session or a holiday", () => {
  /** Returns when an order ends: the first of some times at which it is no longer open. */
  const endOf = (
    from: [date: string, time: string],
    order: object,
    times: [date: string, time: string][],
  ) => {
    const desk = open(hk(...from));
    const symbol = "symbol" in order ? String(order.symbol) : "MHI2510.HK";
    const price = String(Math.ceil(Number(market.lastPrice(symbol, desk.now(), wide)) * 0.955));
    const { orderId } = desk.ask<{ orderId: string }>("futures.place", {
      ...{ ...future, symbol, side: "buy", price },
      ...order,
    });
    for (const [date, time] of times) {
      desk.to(hk(date, time));
      const rows = [
        ...desk.ask<FuturesOrder[]>("futures.ordersToday", {}),
        ...desk.ask<{ rows: FuturesOrder[] }>("futures.ordersHistory", { from: DATE, to: "2099-01-01" }).rows,
      ];
      if (rows.find((row) => row.orderId === orderId)?.status !== "accepted") return `${date} ${time}`;
    }
    return "later";
  };
  const until = (validUntil: string) => ({ validity: "until-date", validUntil });
  const day = { session: "default" };
  const week: [string, string][] = [
    ["2025-08-15", "16:29:59"],
    ["2025-08-15", "16:30:00"],
    ["2025-08-16", "02:59:59"],
    ["2025-08-16", "03:00:00"],
    ["2025-08-18", "16:29:59"],
    ["2025-08-18", "16:30:00"],
    ["2025-08-19", "02:59:59"],
    ["2025-08-19", "03:00:00"],
    ["2025-08-19", "16:29:59"],
    ["2025-08-19", "16:30:00"],
    ["2025-08-20", "02:59:59"],
    ["2025-08-20", "03:00:00"],
  ];
  // Friday's night session belongs to Monday.
  const friday: [string, string] = ["2025-08-15", "18:00:00"];
  assertEquals(endOf(friday, until("2025-08-15"), week.slice(2)), "2025-08-16 03:00:00");
  assertEquals(endOf(friday, until("2025-08-17"), week.slice(2)), "2025-08-16 03:00:00");
  assertEquals(endOf(friday, until("2025-08-18"), week.slice(2)), "2025-08-19 03:00:00");
  assertEquals(endOf(friday, until("2025-08-19"), week.slice(2)), "2025-08-20 03:00:00");
  const early: [string, string] = ["2025-08-15", "11:00:00"];
  assertEquals(endOf(early, { ...day, ...until("2025-08-15") }, week), "2025-08-15 16:30:00");
  assertEquals(endOf(early, { ...day, ...until("2025-08-17") }, week), "2025-08-15 16:30:00");
  assertEquals(endOf(early, { ...day, ...until("2025-08-18") }, week), "2025-08-18 16:30:00");
  // The night session before a contract's last day.
  const last = { symbol: "MHI2508.HK", validity: "until-expiry" };
  const end: [string, string][] = [["2025-08-28", "03:00:00"], ["2025-08-28", "15:59:59"], [
    "2025-08-28",
    "16:00:00",
  ]];
  assertEquals(endOf(["2025-08-27", "18:00:00"], last, end), "2025-08-28 16:00:00");
  // The 1st of October is a holiday.
  const holiday: [string, string][] = [
    ["2025-09-30", "16:29:59"],
    ["2025-09-30", "16:30:00"],
    ["2025-10-01", "02:59:59"],
    ["2025-10-01", "03:00:00"],
    ["2025-10-02", "16:29:59"],
    ["2025-10-02", "16:30:00"],
    ["2025-10-03", "02:59:59"],
    ["2025-10-03", "03:00:00"],
  ];
  const eve: [string, string] = ["2025-09-30", "11:00:00"];
  assertEquals(endOf(eve, { ...day, ...until("2025-10-01") }, holiday), "2025-09-30 16:30:00");
  assertEquals(endOf(eve, { ...day, ...until("2025-10-02") }, holiday), "2025-10-02 16:30:00");
  assertEquals(endOf(eve, until("2025-10-01"), holiday), "2025-10-01 03:00:00");
  assertEquals(endOf(eve, until("2025-10-02"), holiday), "2025-10-03 03:00:00");
});

Deno.test("quotes, ticks, books and time lines of a future show the night session until the next day starts", () => {
  const security = { type: "hk-future", symbol: HSI };
  const at = hk(NEXT, "01:30:00");
  const desk = open(at);
  const quoteNow = () => desk.ask<Quote[]>("quotes.latest", { securities: [security] })[0]!;
  const quote = quoteNow();
  assertEquals(quote.lastPrice, market.lastPrice(HSI, at, wide));
  assertEquals([quote.previousClose, quote.session], [market.dayBar(HSI, DATE)!.close, "unset"]);
  const { ticks } = desk.ask<{ ticks: Tick[] }>("quotes.ticks", { security });
  const { points } = desk.ask<{ points: { price: string }[] }>("quotes.timeShare", { security });
  assertEquals([ticks.at(-1)?.price, points.at(-1)?.price], [quote.lastPrice, quote.lastPrice]);
  desk.to(hk(NEXT, "08:44:59"));
  assertEquals(quoteNow().lastPrice, market.dayBar(HSI, NEXT)!.open);
  desk.to(hk(NEXT, "08:45:00"));
  assertEquals(quoteNow().lastPrice, market.dayBar(HSI, DATE)!.close);
});

Deno.test("past days have trades of night sessions, at traded prices, on the trading day to which they belong", () => {
  const desk = open(hk(DATE, "10:00:00"), { days: 60 });
  const rows: FuturesOrder[] = [];
  for (let page = 1, isLast = false; !isLast; page++) {
    const answer = desk.ask<{ rows: FuturesOrder[]; isLast: boolean }>("futures.fillsHistory", {
      from: "2025-01-01",
      to: DATE,
      page,
      limit: 99,
    });
    rows.push(...answer.rows);
    isLast = answer.isLast;
  }
  const nights = rows.filter(({ session }) => session === "after-hours");
  assert(nights.length >= 20, `${nights.length} fills at night`);
  for (const { symbol, date, fillTime, fillPrice } of nights) {
    const days = market.tradingDays(symbol, hk(date!, "00:00:00") - 12 * 24 * HOUR, hk(date!, "08:00:00"));
    const at = hk(days.at(-1)!.date, fillTime!);
    assertEquals(market.sessionAt(symbol, at), "night", `${date} ${fillTime}`);
    assertEquals(fillPrice, market.lastPrice(symbol, at, wide));
  }
  const { at, ...first } = { at: rows.findIndex(({ session }) => session === "after-hours"), ...nights[0] };
  assertEquals(rows[at - 1]!.date! < first.date!, true, "the night comes before the day session");
});
