import { assert, assertEquals } from "@std/assert";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { multiply, round } from "../../lib/decimal.ts";
import { Pauses } from "../../lib/simulator/broker/matching/pauses.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { hk, newYork, open, refused } from "./desk.ts";

const SECOND = 1_000;
/** Opens an account of a seed in whose market a listing has a pause. */
const openIn = (seed: number, at: number) => {
  const market = new SimulatedMarket({ seed });
  return { ...open(at, { seed, market, days: 2 }), market };
};

Deno.test("Hong Kong: a move of 10% in five minutes starts a cooling-off period of five minutes with fixed price limits", () => {
  // At 11:35:18.968 a trade at 40.75 is more than 10% from the last trade five minutes before, at 37.00.
  const date = "2025-04-07";
  const desk = openIn(11, hk(date, "11:35:00"));
  const smic = { market: "hk", symbol: "00981.HK", orderType: "enhanced-limit", quantity: "500" };
  const buy = { ...smic, side: "buy" };
  assertEquals(desk.market.lastPrice("00981.HK", hk(date, "11:30:18.968")), "37.00");
  const early = desk.place({ ...buy, price: "40.60", quantity: "8000" });
  desk.to(hk(date, "11:35:18.967"));
  const late = desk.place({ ...buy, price: "40.75" });
  desk.to(hk(date, "11:35:18.968"));
  const text = 'price "40.75" of "00981.HK" is outside the cooling-off limits 33.30 to 40.70';
  assertEquals(refused(() => desk.place({ ...buy, price: "40.75" })), text);
  const inside = desk.place({ ...buy, price: "40.70" });
  const amendment = { market: "hk", symbol: "00981.HK", orderId: inside, quantity: "500", price: "40.75" };
  assertEquals(refused(() => desk.ask("orders.amend", amendment)), text);
  const { pauses } = desk.broker.matches();
  assertEquals(pauses, [{
    symbol: "00981.HK",
    kind: "cooling-off",
    from: "2025-04-07T03:35:18.968Z",
    until: "2025-04-07T03:40:18.968Z",
    low: "33.30",
    high: "40.70",
  }]);
  // A stop at a price outside the limits triggers only at the first trade after the period.
  const stop = { ...buy, orderType: "stop-loss-limit", triggerValue: "41.00", price: "0", validDays: 1 };
  desk.place(stop);
  const stopStatus = () =>
    desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: "hk" }).rows[0]?.status;
  desk.to(hk(date, "11:40:18"));
  assertEquals(stopStatus(), "pending");
  // The broker accepted this order before the period, and the exchange got it in the period.
  const { status, remark } = desk.order("hk", late)!;
  assertEquals([status, remark], ["rejected", "outside the cooling-off limits"]);
  const during = desk.broker.matches().fills.filter(({ at }) => Date.parse(at) > hk(date, "11:35:19"));
  assert(during.every(({ price }) => Number(price) <= 40.7), JSON.stringify(during));
  const outside = desk.market.prints("00981.HK", hk(date, "11:35:19"), hk(date, "11:40:18"))
    .filter(({ price }) => Number(price) > 40.7);
  assert(outside.length > 10, "the path continues outside the limits");
  assert(desk.fillsOf(early).length > 0);
  desk.to(hk(date, "11:40:18.968"));
  desk.place({ ...buy, price: "43.50" });
  desk.to(hk(date, "11:40:31"));
  assertEquals(stopStatus(), "triggered");
});

Deno.test("Hong Kong: a stock has at most one cooling-off period per session, an index future several", () => {
  for (
    const [seed, symbol, day, expected] of [
      [11, "00981.HK", "2025-04-07", 1],
      [22, "HTI2410.HK", "2024-10-08", 2],
    ] as const
  ) {
    const desk = openIn(seed, hk(day, "10:00:00"));
    const last = desk.market.lastPrice(symbol, hk(day, "10:00:00"));
    const price = String(Math.floor(Number(last) * 0.8));
    const order = { symbol, orderType: "limit", validity: "day", side: "buy", quantity: "1", price };
    if (symbol.startsWith("HTI")) desk.ask("futures.place", order);
    else desk.place({ ...order, market: "hk", orderType: "enhanced-limit", quantity: "500" });
    desk.to(hk(day, "11:59:59"));
    assertEquals(desk.broker.matches().pauses.length, expected, symbol);
  }
});

Deno.test("a jump in a script starts a cooling-off period, except in the first 15 minutes", () => {
  const date = "2025-08-18";
  for (
    const [time, expected] of [["10:30", 1], ["09:45", 1], ["09:39", 0], ["15:39", 1], ["15:40", 0]] as const
  ) {
    const at = `${date} ${time}`;
    const plan = scriptPlan([{ what: "price", symbol: "00700.HK", at, to: "500" }]);
    const market = new SimulatedMarket({ seed: 1, plan });
    const start = hk(date, `${time}:00`);
    const desk = open(start - 2 * 60 * SECOND, { market, days: 2 });
    const order = {
      market: "hk",
      symbol: "00700.HK",
      orderType: "enhanced-limit",
      side: "buy",
      quantity: "100",
    };
    const id = desk.place({ ...order, price: "505" });
    desk.to(start + 4 * 60 * SECOND);
    const { pauses } = desk.broker.matches();
    assertEquals(pauses.length, expected, time);
    if (expected === 0) continue;
    assert(Date.parse(pauses[0]!.from) >= start && Date.parse(pauses[0]!.from) < start + 60 * SECOND);
    assert(Number(pauses[0]!.low) > 520 && Number(pauses[0]!.high) < 660, JSON.stringify(pauses));
    // The price is at 500.00, but the account's order gets no trade until the period ends.
    assertEquals(desk.fillsOf(id), []);
    desk.to(Date.parse(pauses[0]!.until) + 60 * SECOND);
    assert(desk.fillsOf(id).length > 0);
  }
});

Deno.test("an index future has limits of 5%, and refuses orders outside them", () => {
  const day = "2024-10-08";
  const desk = openIn(22, hk(day, "10:56:24"));
  const order = { symbol: "HTI2410.HK", orderType: "limit", validity: "day", quantity: "1" };
  const text = (price: string) =>
    `price "${price}.00" of "HTI2410.HK" is outside the cooling-off limits 4214.00 to 4656.00`;
  assertEquals(
    refused(() => desk.ask("futures.place", { ...order, side: "buy", price: "4657" })),
    text("4657"),
  );
  assertEquals(
    refused(() => desk.ask("futures.place", { ...order, side: "sell", price: "4213" })),
    text("4213"),
  );
  desk.ask("futures.place", { ...order, side: "buy", price: "4656" });
});

Deno.test("United States: a price at the band stops trading after 15 seconds, for five minutes", () => {
  const day = "2025-04-09";
  const desk = openIn(21, newYork(day, "09:36:00"));
  const apple = { market: "us", symbol: "AAPL", orderType: "limit", side: "buy", quantity: "1" };
  const stop = { ...apple, orderType: "stop-loss-market", triggerValue: "192.00", price: "0", validDays: 1 };
  desk.place(stop);
  const stopStatus = () =>
    desk.ask<{ rows: ConditionalOrder[] }>("conditionalOrders.today", { market: "us" }).rows[0]?.status;
  // The band is 190.49; 190.70 trades at 09:36:44.840, and nothing below the band in the 15 seconds after it.
  desk.to(newYork(day, "09:36:45"));
  const limited = desk.place({ ...apple, price: "195" });
  desk.to(newYork(day, "09:36:59"));
  assert(desk.fillsOf(limited).every(({ price }) => Number(price) <= 190.49));
  desk.to(newYork(day, "09:37:10"));
  const paused = desk.place({ ...apple, price: "205" });
  assertEquals(desk.broker.matches().pauses, [{
    symbol: "AAPL",
    kind: "limit-state",
    from: "2025-04-09T13:36:44.840Z",
    until: "2025-04-09T13:36:59.840Z",
    low: "172.35",
    high: "190.49",
  }, {
    symbol: "AAPL",
    kind: "trading-pause",
    from: "2025-04-09T13:36:59.840Z",
    until: "2025-04-09T13:41:59.840Z",
  }]);
  desk.to(newYork(day, "09:41:59"));
  const trades = desk.market.prints("AAPL", newYork(day, "09:37:00"), newYork(day, "09:41:59"));
  assert(trades.some(({ price }) => Number(price) > 192));
  assertEquals([desk.fillsOf(paused), stopStatus()], [[], "pending"]);
  // The first trade after the pause is at 09:42:00.
  desk.to(newYork(day, "09:42:05"));
  assertEquals(desk.fillsOf(paused).map(({ at }) => at), ["2025-04-09T13:42:00.000Z"]);
  assertEquals(stopStatus(), "triggered");
});

Deno.test("a trade back inside the band ends the 15 seconds at the band without a pause", () => {
  // 190.09 is at the band at 13:26:20.488, and 192.51 is inside it at 13:26:24.735.
  const day = "2025-04-09";
  const desk = openIn(19, newYork(day, "13:26:00"));
  desk.place({ market: "us", symbol: "AAPL", orderType: "limit", side: "buy", quantity: "1", price: "150" });
  desk.to(newYork(day, "13:27:00"));
  assertEquals(
    desk.broker.matches().pauses.map(({ kind, until }) => [kind, until]),
    [["limit-state", "2025-04-09T17:26:24.735Z"]],
  );
});

Deno.test("pauses give the same fills however often the broker is queried", () => {
  const day = "2025-04-09";
  const run = (step: number) => {
    const desk = openIn(21, newYork(day, "09:36:00"));
    for (const price of ["185", "189", "191", "199"]) {
      desk.place({ market: "us", symbol: "AAPL", orderType: "limit", side: "buy", quantity: "200", price });
    }
    for (let at = desk.now(); at < newYork(day, "10:30:00"); at += step) desk.to(at);
    desk.to(newYork(day, "10:30:00"));
    return desk.broker.matches();
  };
  const often = run(7 * SECOND);
  assertEquals(often, run(3_600 * SECOND));
  assert(often.fills.length > 0);
});

/** Returns a listing's pauses on 2025-08-18 if its price jumps, each as its kind and its local minute. */
function pausesOf(symbol: string, ...jumps: readonly (readonly [time: string, to: string])[]): string[] {
  const [date, zone] = ["2025-08-18", symbol.endsWith(".HK") ? "Asia/Hong_Kong" : "America/New_York"];
  const plan = scriptPlan(jumps.map(([time, to]) => ({ what: "price", symbol, at: `${date} ${time}`, to })));
  const pauses = new Pauses(new SimulatedMarket({ seed: 1, plan }));
  return pauses.between(symbol, hk(date, "09:00:00"), newYork(date, "17:00:00")).map(({ kind, from }) =>
    `${kind} ${
      Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone).toPlainTime().toString({
        smallestUnit: "minute",
      })
    }`
  );
}

Deno.test("Hong Kong: a second jump of a session starts no further period, one of the next session does", () => {
  assertEquals(pausesOf("00700.HK", ["10:30", "500"], ["11:00", "400"], ["14:00", "320"]), [
    "cooling-off 10:30",
    "cooling-off 14:00",
  ]);
});

Deno.test("only the two nearest months of an index future have limits", () => {
  const found = ["HSI2508.HK", "HSI2509.HK", "HSI2512.HK"].map((symbol) =>
    pausesOf(symbol, ["10:30", "22000"])
  );
  assertEquals(found, [["cooling-off 10:30"], ["cooling-off 10:30"], []]);
});

Deno.test("United States: the band is twice as wide from 15:35; a stock that fell below 3.00 today keeps the band of its previous close", () => {
  const pause = (time: string, end: string) => [`limit-state ${time}`, `trading-pause ${end}`];
  const market = new SimulatedMarket({ seed: 1 });
  const jump = (time: string, factor: string): [string, string] => {
    const last = market.lastPrice("AAPL", newYork("2025-08-18", `${time}:00`));
    return [time, round(multiply(last, factor), 2, "half-up")];
  };
  assertEquals(pausesOf("AAPL", jump("14:00", "1.08")), pause("14:00", "14:00"));
  assertEquals(pausesOf("AAPL", jump("15:36", "1.08")), []);
  assertEquals(pausesOf("AAPL", jump("15:36", "1.13")), pause("15:36", "15:36"));
  const jumps = (to: string) => pausesOf("AAPL", ["10:00", "2.50"], ["12:00", to]).slice(2);
  assertEquals([jumps("2.60"), jumps("2.80")], [[], pause("12:00", "12:00")]);
});

Deno.test("United States: the band of a stock whose previous close is 3.00 or less is 20%, and below 0.75 at most 0.15", () => {
  const isPaused = (close: string, to: string) => {
    const plan = scriptPlan([
      { what: "price", symbol: "AAPL", at: "2025-08-15 14:00", to: close },
      { what: "price", symbol: "AAPL", at: "2025-08-18 12:00", to },
    ]);
    const pauses = new Pauses(new SimulatedMarket({ seed: 1, plan }));
    return pauses.between("AAPL", newYork("2025-08-18", "11:59:00"), newYork("2025-08-18", "15:00:00"))
      .length > 0;
  };
  const cases = [["2.50", "2.75"], ["2.50", "3.15"], ["0.60", "0.73"], ["0.50", "0.58"], ["0.50", "0.70"], [
    "0.10",
    "0.13",
  ], [
    "0.10",
    "0.20",
  ]];
  assertEquals(cases.map(([close, to]) => isPaused(close!, to!)), [
    false,
    true,
    false,
    false,
    true,
    false,
    true,
  ]);
});
