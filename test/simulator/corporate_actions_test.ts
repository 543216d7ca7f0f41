import { assert, assertEquals } from "@std/assert";
import { add, type Decimal, multiply, round, subtract } from "../../lib/decimal.ts";
import { corporateActions } from "../../lib/facts/corporate_actions.ts";
import { listing } from "../../lib/facts/listings.ts";
import type { Holding } from "../../lib/operations/account.ts";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import type { Fill } from "../../lib/operations/fills.ts";
import type { JournalEntry } from "../../lib/operations/fund_journal.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import bars from "../../lib/simulator/market/data/bars.json" with { type: "json" };
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { unpackBars } from "../../lib/simulator/market/packing.ts";
import type { ScriptEntry } from "../../lib/simulator/mod.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { ManualClock } from "../../lib/time.ts";
import { all, always } from "./asked.ts";
import { hk, newYork, open as openDesk } from "./desk.ts";

const market = new SimulatedMarket({ seed: 1 });
const mic = { hk: "XHKG", us: "XNYS", shanghai: "XSHG", shenzhen: "XSHG" } as const;
const at = (hongKong: string) => Date.parse(`${hongKong.replace(" ", "T")}:00+08:00`);

/** What was announced, written out here again: symbol, ex-date, pay day, cash in the listing's currency. */
const PAID: [symbol: string, exDate: string, payDate: string, cash: Decimal][] = [
  ["00941.HK", "2024-09-02", "2024-09-24", "2.60"],
  ["00005.HK", "2024-11-07", "2024-12-19", "0.78"],
  ["AAPL", "2024-11-08", "2024-11-14", "0.25"],
  ["MSFT", "2024-11-21", "2024-12-12", "0.83"],
  ["600519.SH", "2024-12-20", "2024-12-20", "23.882"],
  ["AAPL", "2025-02-10", "2025-02-13", "0.25"],
  ["MSFT", "2025-02-20", "2025-03-13", "0.83"],
  ["00005.HK", "2025-03-06", "2025-04-25", "2.791007"],
  ["09618.HK", "2025-04-07", "2025-04-29", "3.90"],
  ["00005.HK", "2025-05-08", "2025-06-20", "0.78"],
  ["AAPL", "2025-05-12", "2025-05-15", "0.26"],
  ["MSFT", "2025-05-15", "2025-06-12", "0.83"],
  ["00700.HK", "2025-05-16", "2025-05-30", "4.50"],
  ["00941.HK", "2025-06-06", "2025-06-26", "2.49"],
  ["01211.HK", "2025-06-10", "2025-08-06", "4.335"],
  ["09988.HK", "2025-06-11", "2025-07-10", "1.95"],
  ["600519.SH", "2025-06-26", "2025-06-26", "27.673"],
  ["000858.SZ", "2025-07-18", "2025-07-18", "3.169"],
  ["002594.SZ", "2025-07-29", "2025-07-29", "3.974"],
  ["AAPL", "2025-08-11", "2025-08-14", "0.26"],
];
const TRIPLED = ["01211.HK 2025-06-10", "002594.SZ 2025-07-29"];

Deno.test("corporateActions: every action has a listing, a trading day as its ex-date, and a pay day that is not earlier", () => {
  assertEquals(corporateActions.length, 27);
  for (const { symbol, exDate, payDate, cash } of corporateActions) {
    const { market: of } = listing(symbol)!;
    assert(typeof market.calendars.sessionOn(mic[of], exDate) !== "string", `${symbol} ${exDate}`);
    assert(payDate >= exDate && Number(cash) > 0, `${symbol} ${exDate}`);
  }
  const known = corporateActions.filter(({ exDate }) => exDate <= "2025-08-15")
    .map(({ symbol, exDate, payDate, cash }) => [symbol, exDate, payDate, cash]);
  assertEquals(known, PAID);
});

Deno.test("previousClose() on an ex-date is the close before it, less the dividend, divided by the split", () => {
  // Close as traded, reference on the ex-date. The mainland's references are those that the exchanges published.
  const cases: [string, string, close: Decimal, reference: Decimal][] = [
    ["00700.HK", "2025-05-16", "520.00", "515.50"],
    ["01211.HK", "2025-06-10", "396.60", "130.80"],
    ["002594.SZ", "2025-07-29", "337.00", "111.01"],
    ["600519.SH", "2025-06-26", "1435.86", "1408.19"],
    ["000858.SZ", "2025-07-18", "125.82", "122.65"],
    ["AAPL", "2025-05-12", "198.53", "198.27"],
    ["00941.HK", "2025-06-06", "86.55", "84.05"], // 86.534 on the grid
  ];
  for (const [symbol, date, close, reference] of cases) {
    const session = market.calendars.sessionOn(mic[listing(symbol)!.market], date);
    assert(typeof session !== "string");
    const before = market.calendars.previousSession(mic[listing(symbol)!.market], date).date;
    assertEquals([market.dayBar(symbol, before)?.close, market.previousClose(symbol, session.openAt)], [
      close,
      reference,
    ]);
    assertEquals(market.quote(symbol, session.openAt + 60_000).previousClose, Number(reference), symbol);
  }
});

Deno.test("the prices of 00700 and 01211 before their ex-dates are on the price grid, but the stored prices are not", () => {
  const tick = (price: number) => price > 200 ? 0.2 : price > 100 ? 0.1 : 0.05;
  for (const [symbol, exDate] of [["00700.HK", "2025-05-16"], ["01211.HK", "2025-06-10"]] as const) {
    const stored = [...unpackBars(bars, symbol)].filter(([date, { volume }]) => date < exDate && volume > 0);
    const scaled = stored.at(-1)![1].close / 10_000;
    const traded = symbol === "00700.HK" ? (scaled + 4.5) / scaled : (3 * scaled + 4.335) / scaled;
    const onGrid = (factor: number) =>
      stored.filter(([, { high }]) => {
        const price = high / 10_000 * factor;
        return Math.abs(price - Math.round(price / tick(price)) * tick(price)) < 0.0025;
      }).length / stored.length;
    assert(onGrid(traded) > 0.9 && onGrid(1) < 0.15, `${symbol} ${onGrid(traded)} ${onGrid(1)}`);
    // The simulated bars are these prices.
    for (const [date, { high }] of stored.filter((_, place) => place % 20 === 0)) {
      const price = high / 10_000 * traded;
      const shown = Number(market.dayBar(symbol, date)?.high);
      assert(Math.abs(shown - price) <= tick(price) / 2 + 0.001, `${symbol} ${date} ${shown} ${price}`);
    }
  }
});

Deno.test("a year of history pays each dividend for the shares held before the ex-date, on the pay day", () => {
  let paid = 0;
  for (const seed of [1, 7]) {
    const broker = new Broker({ seed, clock: new ManualClock(at("2025-08-15 10:00")), days: 250 });
    for (const market of ["hk", "us", "shanghai", "shenzhen"] as const) {
      const fills = all<Fill>(broker, "fills.history", { market, ...always });
      const first = fills[0]?.date ?? "";
      const expected: string[] = [];
      for (const [symbol, exDate, payDate, cash] of PAID.toSorted((a, b) => a[2] < b[2] ? -1 : 1)) {
        if (listing(symbol)?.market !== market || exDate <= first) continue;
        let held = "0";
        const before = fills.filter((fill) => fill.symbol === symbol && fill.date! < exDate);
        for (const { side, filledQuantity } of before) {
          held = side === "buy" ? add(held, filledQuantity) : subtract(held, filledQuantity);
        }
        if (held !== "0") expected.push(`${payDate} 04:00:00 ${round(multiply(held, cash), 2, "half-up")}`);
      }
      const lines = all<JournalEntry>(broker, "fundJournal.history", { market, ...always })
        .filter(({ type }) => type === "settlement-funds").map(({ time, amount }) => `${time} ${amount}`);
      assertEquals(lines.toSorted(), expected.toSorted(), `${market}, seed ${seed}`);
      paid += lines.length;
    }
  }
  assert(paid > 15, `${paid} dividends`);
});

/** A broker whose clock shows a time in Hong Kong. */
function open(time: string, script: readonly ScriptEntry[] = []) {
  const clock = new ManualClock(at(time));
  const broker = new Broker({ seed: 1, clock, days: 3, plan: scriptPlan(script) });
  const moveTo = (next: string) => {
    clock.set(at(next));
    broker.settle();
  };
  const place = (symbol: string, quantity: string, price: string, more: object = {}) =>
    broker.call("orders.place", {
      market: "hk",
      symbol,
      side: "buy",
      orderType: "enhanced-limit",
      quantity,
      price,
      ...more,
    });
  const held = (symbol: string) =>
    (broker.call("account.holdings", { market: "hk" }) as Holding[]).find((each) => each.symbol === symbol);
  const cash = () => (broker.call("account.funds", { market: "hk" }) as { available: Decimal }).available;
  const today = () => broker.call("fundJournal.today", { market: "hk" }) as JournalEntry[];
  return { broker, moveTo, place, held, cash, today };
}

Deno.test("a live account gets the dividend of the shares that it held before the ex-date, on the pay day", () => {
  const { broker, moveTo, place, held, cash, today } = open("2025-05-15 15:00");
  const before = Number(held("00700.HK")?.quantity ?? 0);
  place("00700.HK", "200", "530");
  moveTo("2025-05-16 10:00");
  assertEquals(Number(held("00700.HK")?.quantity), before + 200);
  place("00700.HK", "300", "530"); // without the dividend
  moveTo("2025-05-30 03:59");
  const [had, lines] = [cash(), today()];
  moveTo("2025-05-30 04:00");
  const amount = multiply(String(before + 200), "4.50");
  assertEquals(subtract(cash(), had), round(amount, 2, "exact"));
  assertEquals([lines, today().map(({ type, amount, time, cursor }) => [type, amount, time, cursor])], [
    [],
    [["settlement-funds", round(amount, 2, "exact"), undefined, "1"]],
  ]);
  moveTo("2025-06-03 10:00");
  const history = all<JournalEntry>(broker, "fundJournal.history", { market: "hk", ...always }).filter((
    { type },
  ) => type === "settlement-funds");
  assertEquals(history.map(({ time, amount }) => [time, amount]), [
    ["2025-05-30 04:00:00", round(amount, 2, "exact")],
  ]);
});

Deno.test("on the day of a split the holding grows at the same cost, and conditional orders end", () => {
  const { broker, moveTo, place, held } = open("2025-06-09 15:00");
  place("01211.HK", "500", "410");
  const stop = { orderType: "stop-loss-limit", side: "sell", triggerValue: "380", validDays: 20 };
  place("01211.HK", "500", "380", stop);
  place("00700.HK", "100", "400", { ...stop, triggerValue: "400" });
  moveTo("2025-06-10 03:59");
  const before = held("01211.HK")!;
  const status = () =>
    (broker.call("conditionalOrders.today", { market: "hk" }) as { rows: ConditionalOrder[] }).rows
      .map(({ symbol, status }) => `${symbol} ${status}`);
  assertEquals(status(), ["01211.HK pending", "00700.HK pending"]);
  moveTo("2025-06-10 10:00");
  assertEquals(status(), ["01211.HK invalidated-by-ex-date", "00700.HK pending"]);
  const after = held("01211.HK")!;
  assertEquals(after.quantity, multiply(before.quantity!, "3"));
  const cost = (each: Holding) => Number(each.quantity) * Number(each.costPrice);
  assert(Math.abs(cost(after) - cost(before)) < 20, `${cost(before)} ${cost(after)}`); // rounded per share
  assertEquals(after.sellableQuantity, after.quantity);
  assert(TRIPLED.every((each) => PAID.some(([symbol, exDate]) => each === `${symbol} ${exDate}`)));
});

Deno.test("script dividend and split: prices fall on the day, and the account gets cash and shares", () => {
  const script: ScriptEntry[] = [
    { what: "dividend", symbol: "00700.HK", on: "2025-08-20", cash: "60", pays: "2025-08-23" },
    { what: "split", symbol: "00700.HK", on: "2025-08-22", ratio: "5:1" },
    { what: "split", symbol: "00941.HK", on: "2025-08-20", ratio: "1:10" },
  ];
  const { broker, moveTo, place, held, cash } = open("2025-08-18 10:00", script);
  const plain = market;
  const scripted = broker.market;
  const close = (of: SimulatedMarket, date: string) => Number(of.dayBar("00700.HK", date)?.close);
  assertEquals(close(scripted, "2025-08-19"), close(plain, "2025-08-19"));
  const reference = close(plain, "2025-08-19") - 60;
  assertEquals(scripted.previousClose("00700.HK", at("2025-08-20 10:00")), reference.toFixed(2));
  const share = reference / close(plain, "2025-08-19");
  assert(Math.abs(close(scripted, "2025-08-21") / close(plain, "2025-08-21") - share) < 0.001);
  for (const date of ["2025-08-22", "2025-09-22"]) {
    assert(Math.abs(close(scripted, date) / close(plain, date) - share / 5) < 0.001, date);
  }
  // The moves within a day keep their shape.
  const move = (of: SimulatedMarket) =>
    Number(of.dayBar("00700.HK", "2025-08-22")?.high) / Number(of.dayBar("00700.HK", "2025-08-22")?.low);
  assert(Math.abs(move(scripted) - move(plain)) < 0.003);

  place("00700.HK", "100", "650");
  place("00941.HK", "500", "95");
  moveTo("2025-08-19 10:00");
  const [tencent, mobile] = [held("00700.HK")!, held("00941.HK")!];
  moveTo("2025-08-22 10:00");
  assertEquals(held("00700.HK")?.quantity, multiply(tencent.quantity!, "5"));
  assertEquals(held("00941.HK")?.quantity, String(Math.floor(Number(mobile.quantity) / 10)));
  const had = cash();
  moveTo("2025-08-25 10:00"); // the pay day is a Saturday
  assertEquals(subtract(cash(), had), round(multiply(tencent.quantity!, "60"), 2, "exact"));
});

Deno.test("on the morning of a split, the price fits the new number of shares as soon as they are booked", () => {
  const script: ScriptEntry[] = [
    { what: "split", symbol: "00700.HK", on: "2025-08-19", ratio: "5:1" },
    { what: "split", symbol: "600519.SH", on: "2025-08-19", ratio: "2:1" },
  ];
  const desk = openDesk(hk("2025-08-18", "10:00:00"), {
    market: new SimulatedMarket({ seed: 1, plan: scriptPlan(script) }),
  });
  const { market } = desk.broker;
  desk.place({
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    orderType: "enhanced-limit",
    quantity: "1000",
    price: "594",
  });
  const look = (time: string) => {
    desk.to(hk("2025-08-19", time));
    const held = desk.ask<Holding[]>("account.holdings", { market: "hk" })
      .find(({ symbol }) => symbol === "00700.HK")!;
    return { quantity: Number(held.quantity), price: Number(held.lastPrice), ...desk.funds("hk") };
  };
  const before = look("03:59:59");
  assert(before.price > 500 && before.quantity >= 1000, `${before.price}`);
  for (const time of ["04:00:00", "08:30:00", "08:59:59", "09:00:00"]) {
    const { quantity, price, totalAssets } = look(time);
    assertEquals([quantity, price], [5 * before.quantity, before.price / 5], time);
    assert(Math.abs(Number(totalAssets) - Number(before.totalAssets)) < 1, time);
  }
  const views = (symbol: string, time: string) => {
    const now = hk("2025-08-19", time);
    const { lastPrice, previousClose, volume } = market.quote(symbol, now);
    return [lastPrice === previousClose && volume === "0", Number(market.previousClose(symbol, now))];
  };
  const close = (symbol: string) => Number(market.dayBar(symbol, "2025-08-18")!.close);
  for (const time of ["04:00:00", "09:14:59", "09:15:00"]) {
    assertEquals(views("600519.SH", time), [true, Math.round(close("600519.SH") * 50) / 100], time);
  }
  // The quotes of other stocks, and those before the booking, show the day before.
  assertEquals([views("600519.SH", "03:59:59")[0], views("00941.HK", "08:59:59")[0]], [false, false]);
  assertEquals(views("00941.HK", "09:00:00"), [true, close("00941.HK")]);
});

Deno.test("on the morning of a split, a trailing stop begins at the new price, and a short position keeps its reserve", () => {
  const script: ScriptEntry[] = [{ what: "split", symbol: "09988.HK", on: "2025-08-19", ratio: "10:1" }];
  const desk = openDesk(hk("2025-08-18", "10:00:00"), {
    market: new SimulatedMarket({ seed: 1, plan: scriptPlan(script) }),
    shorts: true,
  });
  const order = { market: "hk", symbol: "09988.HK", orderType: "enhanced-limit" };
  const ask = desk.broker.market.orderBook("09988.HK", desk.now()).asks[0]!.price; // the market is open
  desk.place({ ...order, side: "short-open", quantity: "3000", price: ask.toFixed(2) });
  desk.to(hk("2025-08-19", "03:59:59"));
  const had = desk.funds("hk");
  assert(Number(had.frozen) > 500_000, had.frozen);
  desk.to(hk("2025-08-19", "08:30:00"));
  const { frozen, available } = desk.funds("hk");
  // The new price is on the grid of prices: 11.99 instead of 11.99 and a fraction.
  const [reserve, free] = [Number(frozen) / Number(had.frozen), Number(available) / Number(had.available)];
  assert(Math.abs(reserve - 1) < 0.005 && Math.abs(free - 1) < 0.005, `${frozen} ${available}`);
  desk.place({
    ...order,
    side: "short-close",
    orderType: "trailing-stop-market",
    quantity: "30000",
    triggerValue: "10",
    trailBy: "percentage",
    validDays: 5,
  });
  desk.to(hk("2025-08-19", "15:00:00"));
  const [stop] = desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: "hk" }).rows;
  assertEquals([stop?.status, desk.orders("hk").length], ["pending", 0]);
});

Deno.test("on an ex-date, conditional orders for extended hours end before the first trade of the pre-market", () => {
  const date = "2025-08-20";
  const actions: ScriptEntry[] = [
    { what: "split", symbol: "AAPL", on: date, ratio: "10:1" },
    { what: "dividend", symbol: "AAPL", on: date, cash: "80" },
  ];
  for (const action of actions) {
    // In Hong Kong, it is then 16:00: the halt is processed in the same second.
    const halt: ScriptEntry = { what: "halt", symbol: "00700.HK", at: `${date} 16:00`, for: "1h" };
    const desk = openDesk(newYork("2025-08-19", "03:59:59.500"), {
      market: new SimulatedMarket({ seed: 1, plan: scriptPlan([action, halt]) }),
    });
    const order = {
      market: "us",
      symbol: "AAPL",
      side: "sell",
      quantity: "100",
      price: "20",
      validDays: 5,
      tradingHours: "us-regular-and-extended",
    };
    // This order ends half a second before the pre-market.
    desk.place({ ...order, orderType: "stop-loss-limit", triggerValue: "200", validDays: 1 });
    desk.to(newYork("2025-08-19", "15:00:00"));
    desk.place({ ...order, orderType: "stop-loss-limit", triggerValue: "200" });
    desk.place({ ...order, orderType: "trailing-stop-limit", triggerValue: "20", trailBy: "percentage" });
    desk.place({ ...order, symbol: "MSFT", orderType: "stop-loss-limit", triggerValue: "100" });
    const statuses = () =>
      desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: "us" }).rows
        .map(({ symbol, status }) => `${symbol} ${status}`);
    desk.to(newYork(date, "03:59:59"));
    assertEquals(statuses(), [...Array(3).fill("AAPL pending"), "MSFT pending"]);
    desk.to(newYork(date, "10:00:00"));
    const ended = "AAPL invalidated-by-ex-date";
    const expected = ["AAPL expired", ended, ended, "MSFT pending"];
    assertEquals([statuses(), desk.orders("us")], [expected, []], action.what);
  }
});

Deno.test("an ex-date on which Stock Connect is closed changes price and holding at the same time", () => {
  const symbol = "600519.SH";
  const script: ScriptEntry[] = [{ what: "split", symbol, on: "2025-07-01", ratio: "2:1" }]; // a holiday in Hong Kong
  const desk = openDesk(hk("2025-06-30", "20:00:00"), {
    market: new SimulatedMarket({ seed: 1, plan: scriptPlan(script) }),
    days: 30,
  });
  const look = () => {
    const held = desk.ask<Holding[]>("account.holdings", { market: "shanghai" })
      .find((each) => each.symbol === symbol);
    return [Number(held?.quantity), Number(desk.funds("shanghai").totalAssets)] as const;
  };
  const [quantity, assets] = look();
  assert(quantity > 0);
  for (const time of ["2025-07-01 04:00", "2025-07-01 10:00", "2025-07-02 03:59", "2025-07-02 10:00"]) {
    desk.to(at(time));
    const [later, total] = look();
    assertEquals(later, 2 * quantity, time);
    assert(Math.abs(total / assets - 1) < 0.05, `${time} ${total}`);
  }
});

Deno.test("on an ex-date the price falls by the dividend at four in the morning, and the cash comes on the pay day", () => {
  const { broker, moveTo, place, held, cash } = open("2025-05-15 15:00");
  place("00700.HK", "200", "530");
  moveTo("2025-05-16 03:59");
  const [price, had] = [held("00700.HK")!.lastPrice!, cash()];
  assertEquals(price, "520.00");
  for (const time of ["04:00", "08:59", "09:00"]) {
    moveTo(`2025-05-16 ${time}`);
    assertEquals([held("00700.HK")?.lastPrice, cash()], ["515.50", had], time);
  }
  assertEquals(broker.market.previousClose("00700.HK", at("2025-05-16 04:00")), "515.50");
});
