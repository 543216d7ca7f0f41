import { assert, assertEquals, assertThrows } from "@std/assert";
import { listings, lotSize } from "../../lib/facts/listings.ts";
import { normalCdf, optionGreeks, optionValue } from "../../lib/simulator/market/black_scholes.ts";
import bars from "../../lib/simulator/market/data/bars.json" with { type: "json" };
import { gridOf, toDecimal } from "../../lib/simulator/market/grid.ts";
import type {
  Bar,
  BookLevel,
  BrokerPlace,
  Quote,
  Tick,
  TimeSharePoint,
} from "../../lib/operations/quotes.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { packBars, toUnits, unpackBars } from "../../lib/simulator/market/packing.ts";
import { timelineOf } from "../../lib/simulator/market/timeline.ts";

const pure = { permissions: "none" } as const;
const market = new SimulatedMarket({ seed: 7 });
const hk = (time: string) => Date.parse(`${time}+08:00`);
const ny = (time: string) => Date.parse(`${time}-04:00`);

const near = (actual: number, expected: number, error: number) =>
  assert(Math.abs(actual - expected) <= error, `${actual} is not ${expected}`);

const OPTION = "AAPL250919C2300000";
const PUT = "MSFT250919P5200000";

/** Symbols of every kind, with instants within and after a trading day. The day of 00939.HK has generated prices. */
const moments: [symbol: string, at: number][] = [
  ...["09:45:10", "11:59:59", "12:30:00", "15:59:30", "18:00:00"].flatMap((time): [string, number][] => [
    ["00700.HK", hk(`2025-08-15T${time}`)],
    ["00939.HK", hk(`2026-08-17T${time}`)],
    ["HSI2508.HK", hk(`2025-08-15T${time}`)],
    ["MCH2509.HK", hk(`2025-08-18T${time}`)],
  ]),
  ...["09:30:00", "11:29:59", "13:00:01", "15:30:00"].map((
    time,
  ): [string, number] => ["600519.SH", hk(`2025-08-14T${time}`)]),
  ...["09:30:00", "12:34:56", "15:59:59", "17:00:00"].flatMap((time): [string, number][] => [
    ["AAPL", ny(`2025-08-15T${time}`)],
    [OPTION, ny(`2025-08-15T${time}`)],
    [PUT, ny(`2025-08-20T${time}`)],
  ]),
];

Deno.test("packBars() and unpackBars() keep every number", pure, () => {
  const row = (date: string, open: string, high: string, low: string, close: string, volume: string) => ({
    ...{ symbol: "00001.HK", date, open, high, low, close, volume },
  });
  const packed = packBars([
    row("2024-08-16", "37.454", "37.454", "36.329", "36.892", "18291765"),
    row("2024-08-19", "36.986", "38.720", "36.939", "38.579", "9761895"),
  ]);
  assertEquals(packed, {
    dates: { HK: "2024-08-16 2024-08-19" },
    rows: { "00001.HK": "37454 0 563 36892 18291765;94 141 47 1687 9761895" },
  });
  assertEquals(unpackBars(packed, "00001.HK").get("2024-08-19"), {
    open: 369860,
    high: 387200,
    low: 369390,
    close: 385790,
    volume: 9761895,
  });
  assertThrows(
    () => packBars([row("2024-08-16", "2", "1", "1", "1", "5")]),
    RangeError,
    "is outside the range",
  );
});

Deno.test("stored bars equal those of the source", pure, () => {
  const held = (symbol: string, date: string) => {
    const { open, high, low, close, volume } = unpackBars(bars, symbol).get(date)!; // the source has these dates
    return [...[open, high, low, close].map((units) => toDecimal(units, 0)), volume];
  };
  assertEquals(Object.keys(bars.rows).length, 32);
  assertEquals(held("00001.HK", "2024-08-16"), ["37.454", "37.454", "36.329", "36.892", 18291765]);
  assertEquals(held("00700.HK", "2025-08-15"), ["587", "596.5", "584.5", "592", 22176876]);
  assertEquals(held("AAPL", "2025-08-15"), ["234", "234.28", "229.34", "230.82", 22538702]);
  assertEquals(held("600519.SH", "2024-08-19"), ["1460.07", "1487.47", "1452.93", "1453.38", 2043200]);
});

Deno.test("dayBar() moves real bars to the price grid of their date", pure, () => {
  assertEquals(market.dayBar("00001.HK", "2024-08-16"), {
    date: "2024-08-16",
    open: "37.45",
    high: "37.45",
    low: "36.35",
    close: "36.90",
    volume: "18291500",
  });
  assertEquals(market.dayBar("02020.HK", "2025-08-15"), {
    date: "2025-08-15",
    open: "90.95",
    high: "91.00",
    low: "89.80",
    close: "90.60",
    volume: "6780600",
  });
  assertEquals(market.dayBar("GOOGL", "2025-08-15")?.close, "205.90");
});

Deno.test("dayBar() is absent on holidays and after expiry, and throws for unknown symbols", pure, () => {
  assertEquals(market.dayBar("00700.HK", "2024-12-25"), undefined);
  assertEquals(market.dayBar("AAPL", "2025-07-04"), undefined);
  assertEquals(market.dayBar("HSI2508.HK", "2025-08-29"), undefined);
  assertThrows(
    () => market.dayBar("NOPE", "2025-08-15"),
    RangeError,
    "the simulated market does not trade it",
  );
});

Deno.test("dayBar() generates Hong Kong half-days and keeps the stored close", pure, () => {
  const eve = market.dayBar("00700.HK", "2024-12-24");
  // 416.365 in the source, which has no volume; the dividend of 2025-05-16 is taken out: 416.365 * 520 / 515.5.
  assertEquals(eve?.close, "420.00");
  assert(Number(eve?.volume) > 1_000_000, eve?.volume);
  const half = market.bars("00700.HK", { interval: "1m", at: hk("2024-12-24T20:00:00"), limit: 1 });
  assertEquals(half.length, 150);
  assertEquals([half[0]?.time, half.at(-1)?.time], ["09:30", "11:59"]);
  const future = market.bars("HSI2412.HK", { interval: "1m", at: hk("2024-12-24T20:00:00"), limit: 1 });
  assertEquals([future[0]?.time, future.at(-1)?.time], ["09:15", "12:29"]);
});

Deno.test("minute bars add up to the day bar on every kind of day", pure, () => {
  const days: [string, string][] = [
    ...listings.map(({ symbol }): [string, string] => [symbol, "2025-08-13"]),
    ...["00700.HK", "AAPL", "600519.SH"].map((symbol): [string, string] => [symbol, "2026-06-18"]),
    ...["HSI2508.HK", "MHI2509.HK", "HTI2512.HK"].map((symbol): [string, string] => [symbol, "2025-08-13"]),
    ...[OPTION, PUT].map((symbol): [string, string] => [symbol, "2025-08-13"]),
    ["AAPL", "2024-11-29"], // early close
    ["000858.SZ", "2025-08-12"], // no volume in the source
  ];
  for (const [symbol, date] of days) {
    const day = market.dayBar(symbol, date);
    const at = Date.parse(`${date}T23:00:00Z`);
    const minutes = market.bars(symbol, { interval: "1m", at, limit: 1 });
    assertEquals(minutes[0]?.date, date);
    assertEquals(minutes[0]?.openPrice, Number(day?.open), symbol);
    assertEquals(Math.max(...minutes.map((bar) => bar.highPrice)), Number(day?.high), symbol);
    assertEquals(Math.min(...minutes.map((bar) => bar.lowPrice)), Number(day?.low), symbol);
    assertEquals(minutes.at(-1)?.closePrice, Number(day?.close), symbol);
    assertEquals(String(minutes.reduce((sum, bar) => sum + Number(bar.volume), 0)), day?.volume, symbol);
  }
});

Deno.test("bars() of longer intervals contain the bars of shorter intervals", pure, () => {
  const at = hk("2025-08-15T20:00:00");
  const minutes = market.bars("00700.HK", { interval: "1m", at, limit: 1 });
  const lengths = ([3, 5, 15, 30, 60, 120] as const).map((cycle) => {
    const longer = market.bars("00700.HK", { interval: `${cycle}m`, at, limit: 1 });
    assertEquals(
      longer.map(({ volume }) => Number(volume)),
      longer.map((_, place) =>
        minutes.slice(place * cycle, (place + 1) * cycle).reduce((sum, bar) => sum + Number(bar.volume), 0)
      ),
    );
    assertEquals(longer.at(-1)?.closePrice, 592);
    return longer.length;
  });
  assertEquals(lengths, [110, 66, 22, 11, 6, 3]);
  const days = market.bars("00700.HK", { interval: "day", at, limit: 5 });
  assertEquals(days.map(({ date }) => date.slice(8)), ["11", "12", "13", "14", "15"]);
  const [week] = market.bars("00700.HK", { interval: "week", at, limit: 1 });
  assertEquals([week?.openPrice, week?.closePrice], [days[0]?.openPrice, 592]);
  assertEquals(Number(week?.volume), days.reduce((sum, bar) => sum + Number(bar.volume), 0));
  assertEquals(market.bars("00700.HK", { interval: "month", at }).length, 13);
  assertEquals(market.bars("00700.HK", { interval: "quarter", at }).map(({ date }) => date), [
    ...["2024-09-30", "2024-12-31", "2025-03-31", "2025-06-30", "2025-08-15"],
  ]);
  assertEquals(market.bars("00700.HK", { interval: "year", at }).length, 2);
});

Deno.test("bars() returns bars older or newer than the start, and none later than the instant", pure, () => {
  const at = hk("2025-08-15T10:00:20");
  const dates = (start: string, direction: "older" | "newer", limit: number) =>
    market.bars("00700.HK", { interval: "day", at, start, direction, limit }).map(({ date }) => date);
  assertEquals(dates("2025-08-13", "older", 2), ["2025-08-12", "2025-08-13"]);
  assertEquals(dates("2025-08-13", "newer", 2), ["2025-08-13", "2025-08-14"]);
  assertEquals(dates("2025-08-14", "newer", 9), ["2025-08-14", "2025-08-15"]);
  assertEquals(dates("2024-08-15", "older", 9), []);
  const minutes = market.bars("00700.HK", { interval: "1m", at, limit: 99 });
  assertEquals(minutes.at(-1)?.time, "10:00");
  assertEquals(minutes.length, 1500); // six days would be more
});

Deno.test("quote, ticks, line of the day and bars agree at one instant", pure, () => {
  for (const [symbol, at] of moments) {
    const label = `${symbol} at ${new Date(at).toISOString()}`;
    const quote = market.quote(symbol, at);
    const minutes = market.bars(symbol, { interval: "1m", at, limit: 1 });
    const day = market.bars(symbol, { interval: "day", at, limit: 1 })[0];
    const line = market.timeShare(symbol, at);
    assertEquals(Number(market.lastPrice(symbol, at)), quote.lastPrice, label);
    assertEquals(market.ticks(symbol, at, 5).at(-1)?.price, quote.lastPrice, label);
    assertEquals(line.at(-1)?.price, quote.lastPrice, label);
    assertEquals(minutes.at(-1)?.closePrice, quote.lastPrice, label);
    assertEquals(
      [day?.openPrice, day?.highPrice, day?.lowPrice, day?.closePrice, day?.volume, day?.previousClose],
      [quote.openPrice, quote.highPrice, quote.lowPrice, quote.lastPrice, quote.volume, quote.previousClose],
      label,
    );
    near(day?.turnover ?? 0, quote.turnover, 0.01);
    assertEquals(Math.max(...minutes.map((bar) => bar.highPrice)), quote.highPrice, label);
    assertEquals(Math.min(...minutes.map((bar) => bar.lowPrice)), quote.lowPrice, label);
    assertEquals(String(line.reduce((sum, { volume }) => sum + Number(volume), 0)), quote.volume, label);
    assertEquals(line.length, minutes.length, label);
  }
});

/** The market's doubles are texts in the catalogue. */
type WithDoubles<Row, Name extends keyof Row> = Omit<Row, Name> & Partial<Record<Name, number>>;
type QuoteDoubles = Extract<
  keyof Quote,
  `${string}Price` | "previousClose" | "priceStep" | "turnover" | "turnoverRate" | "amplitude"
>;
type BarDoubles = Extract<keyof Bar, `${string}Price` | "previousClose" | "turnover">;

Deno.test("views fit the records of the catalogue, except for their doubles", pure, () => {
  const at = ny("2025-08-15T11:00:00");
  // The annotations are the test: `deno check` fails when a name or a type differs.
  const quote: WithDoubles<Omit<Quote, "security">, QuoteDoubles> = market.quote(OPTION, at);
  const [bar]: WithDoubles<Bar, BarDoubles>[] = market.bars("AAPL", { interval: "5m", at });
  const [tick]: WithDoubles<Tick, "price" | "turnover">[] = market.ticks("AAPL", at, 1);
  const [level]: WithDoubles<BookLevel, "price">[] = market.orderBook("AAPL", at).asks;
  const [place]: BrokerPlace[] = market.brokers("00700.HK", at).asks;
  const [point]: WithDoubles<TimeSharePoint, "price" | "previousClose" | "averagePrice" | "turnover">[] =
    market.timeShare("AAPL", at);
  assert(quote && bar && tick && level && place && point);
  assertEquals([quote.session, tick.session], ["regular", "regular"]);
});

Deno.test("quote() shows the previous close before the open and the day's bar after the close", pure, () => {
  const before = market.quote("00700.HK", hk("2025-08-15T09:10:00"));
  assertEquals([before.lastPrice, before.previousClose, before.volume, before.openPrice], [590, 590, "0", 0]);
  assertEquals(market.ticks("00700.HK", hk("2025-08-15T09:10:00"), 1)[0]?.price, 590);
  const after = market.quote("00700.HK", hk("2025-08-17T12:00:00")); // a Sunday
  assertEquals(
    [after.openPrice, after.highPrice, after.lowPrice, after.lastPrice, after.volume, after.previousClose],
    [587, 596.5, 584.5, 592, "22176800", 590],
  );
  assertEquals(market.lastPrice("AAPL", Date.parse("2020-01-01T00:00:00Z")), "223.43"); // before all bars
});

Deno.test("every tick of a stock has whole lots of its day", pure, () => {
  const days: [string, string][] = [
    ...listings.filter((row) => row.market !== "us").flatMap(({ symbol }): [string, string][] => [
      [symbol, "2025-08-14"],
      [symbol, "2026-03-18"], // generated
    ]),
    ["00001.HK", "2024-12-24"], // a half-day, generated
    ["01211.HK", "2025-09-18"], // the last day with lots of 500
    ["01211.HK", "2025-09-19"], // the first day with lots of 100
  ];
  for (const [symbol, date] of days) {
    const lot = symbol === "01211.HK" && date === "2025-09-18" ? 500 : lotSize(symbol, date);
    const prints = market.prints(symbol, Date.parse(`${date}T00:00:00Z`), Date.parse(`${date}T09:00:00Z`));
    const volumes = prints.map(({ volume }) => Number(volume));
    assert(volumes.every((volume) => volume > 0 && volume % lot === 0), `${symbol} ${date}`);
    assertEquals(
      String(volumes.reduce((sum, volume) => sum + volume, 0)),
      market.dayBar(symbol, date)?.volume,
    );
  }
});

Deno.test("every tick is on the price grid and within its day", pure, () => {
  for (const [symbol, date] of [["00939.HK", "2026-08-04"], ["01810.HK", "2025-08-04"]] as const) {
    const day = market.dayBar(symbol, date)!; // both dates trade
    const grid = gridOf("hk", date);
    const ticks = market.ticks(symbol, hk(`${date}T18:00:00`), 10_000);
    assert(ticks.length > 330 * 4, String(ticks.length));
    for (const { price } of ticks) {
      const units = toUnits(String(price));
      assertEquals(units % grid.tick(units), 0, `${symbol} ${price}`);
      assert(price >= Number(day.low) && price <= Number(day.high));
    }
    assertEquals(String(ticks.reduce((sum, { volume }) => sum + Number(volume), 0)), day.volume);
  }
});

Deno.test(
  "the same seed gives the same market in any order of queries, and another seed gives another market",
  pure,
  () => {
    const late = hk("2026-08-17T14:00:00");
    const again = new SimulatedMarket({ seed: 7 });
    const forward = moments.map(([symbol, at]) => market.quote(symbol, at));
    const backward = [...moments].reverse().map(([symbol, at]) => again.quote(symbol, at)).reverse();
    assertEquals(backward, forward);
    const other = new SimulatedMarket({ seed: 8 });
    assert(other.lastPrice("00700.HK", late) !== market.lastPrice("00700.HK", late));
    assertEquals(other.dayBar("00700.HK", "2025-08-15"), market.dayBar("00700.HK", "2025-08-15"));
  },
);

Deno.test("generated days stay inside price limits and near the last real close", pure, () => {
  for (const { symbol, market: where } of listings) {
    const name = where === "hk" ? "XHKG" : where === "us" ? "XNYS" : "XSHG";
    let before = 0;
    for (const { date } of timelineOf(market.calendars, name).days) {
      const { open, high, low, close } = market.dayBar(symbol, date)!; // every day of the timeline has a bar
      const [first, top, bottom, last] = [open, high, low, close].map(Number);
      assert(bottom! <= Math.min(first!, last!) && top! >= Math.max(first!, last!), `${symbol} ${date}`);
      if (date > "2025-08-15") {
        assert(top! / before < 1.1 && bottom! / before > 0.9, `${symbol} ${date}`);
      }
      before = last!;
    }
    const real = Number(market.dayBar(symbol, "2025-08-15")?.close);
    assert(before / real > 0.25 && before / real < 4, `${symbol} ends at ${before} from ${real}`);
  }
});

Deno.test("orderBook() has ten levels on the grid around the last price", pure, () => {
  for (const [symbol, at] of moments) {
    const { asks, bids, priceStep } = market.orderBook(symbol, at);
    const last = Number(market.lastPrice(symbol, at));
    const [ask, bid] = [asks[0]?.price ?? 0, bids[0]?.price ?? 0];
    assertEquals([asks.length, asks[0]?.level], [10, 1], symbol);
    assert(bid < ask && (bid === last || ask === last), `${symbol} ${bid} ${last} ${ask}`);
    near(ask - bid, priceStep, 0.05);
    assert(asks.every(({ price }, place) => place === 0 || price > asks[place - 1]!.price));
    assert(bids.every(({ price }, place) => place === 0 || price < bids[place - 1]!.price));
    assert([...asks, ...bids].every(({ volume, orderCount }) => Number(volume) > 0 && orderCount > 0));
  }
  const deep = market.orderBook("AAPL", ny("2025-08-15T11:00:00"), { levels: 40, feed: "arca-book" });
  assertEquals(deep.bids.length, 40);
  assertEquals(deep.bids[0]?.venue, "ARCA");
});

Deno.test("brokers() returns a queue with marked levels, only in Hong Kong", pure, () => {
  const { asks, bids } = market.brokers("00700.HK", hk("2025-08-15T10:00:00"));
  assertEquals(bids[0]?.kind, "broker");
  assertEquals(asks.filter(({ kind }) => kind === "level").map(({ broker }) => broker), ["2", "3", "4", "5"]);
  assertEquals(market.brokers("AAPL", ny("2025-08-15T10:00:00")).bids, []);
});

Deno.test("orderBook() changes only while the market trades", pure, () => {
  for (const symbol of ["00700.HK", "600519.SH"]) {
    const changes = (time: string) => {
      const at = hk(`2025-08-15T${time}`);
      const [first, second] = [at, at + 6_000].map((each) => JSON.stringify(market.orderBook(symbol, each)));
      return first !== second;
    };
    assertEquals(changes("11:00:00"), true);
    assertEquals(changes("12:10:00"), false); // the lunch break
    assertEquals(changes("13:30:00"), true);
    assertEquals(changes("17:00:00"), false);
  }
});

Deno.test("isOpen() respects lunch, holidays, half-days, northbound days and extended hours", pure, () => {
  assertEquals(market.isOpen("00700.HK", hk("2025-08-15T09:29:59")), false);
  assertEquals(market.isOpen("00700.HK", hk("2025-08-15T09:30:00")), true);
  assertEquals(market.isOpen("00700.HK", hk("2025-08-15T12:30:00")), false);
  assertEquals(market.isOpen("00700.HK", hk("2025-08-15T16:00:00")), false);
  assertEquals(market.isOpen("00700.HK", hk("2025-08-15T16:05:00"), { extended: true }), true);
  assertEquals(market.isOpen("00700.HK", hk("2024-12-24T14:00:00")), false);
  assertEquals(market.isOpen("HSI2508.HK", hk("2025-08-15T16:20:00")), true);
  assertEquals(market.isOpen("HSI2508.HK", hk("2025-08-29T10:00:00")), false);
  assertEquals(market.isOpen("600519.SH", hk("2025-08-15T13:30:00")), true);
  assertEquals(market.isOpen("600519.SH", hk("2025-07-01T10:00:00")), false); // Hong Kong is closed
  assertEquals(market.isOpen("AAPL", ny("2025-08-15T15:59:59")), true);
  assertEquals(market.isOpen("AAPL", ny("2025-08-15T08:00:00")), false);
  assertEquals(market.isOpen("AAPL", ny("2025-08-15T08:00:00"), { extended: true }), true);
  assertEquals(market.isOpen(OPTION, ny("2025-09-22T10:00:00")), false); // expired
});

Deno.test("instrument() describes listings, futures and options", pure, () => {
  const show = (symbol: string, date?: string) => {
    const { kind, lotSize, multiplier, currency, dataType } = market.instrument(symbol, date)!; // all known
    return [kind, lotSize, multiplier, currency, dataType];
  };
  assertEquals(show("01211.HK", "2025-08-15"), ["stock", 500, "1", "HKD", 10000]);
  assertEquals(show("00823.HK"), ["reit", 100, "1", "HKD", 10000]);
  assertEquals(show("MHI2509.HK"), ["future", 1, "10", "HKD", 10010]);
  assertEquals(show(OPTION), ["option", 1, "100", "USD", 20003]);
  assertEquals(market.instrument("AAPL250918C2300000"), undefined); // a Thursday before a trading Friday
  assertEquals(market.instrument("AAPL250919C2310000"), undefined); // no such strike
  assertEquals(market.tickSize("00700.HK", "2025-08-15", "600"), "0.50");
  assertEquals(market.tickSize("HSI2508.HK", "2025-08-15", "25000"), "1");
});

Deno.test("futures follow one index and meet it on the last trading day", pure, () => {
  const at = hk("2025-08-15T10:15:00");
  assertEquals(market.lastPrice("MHI2508.HK", at), market.lastPrice("HSI2508.HK", at));
  assert(Number(market.lastPrice("HSI2512.HK", at)) > Number(market.lastPrice("HSI2508.HK", at)));
  const level = Number(market.lastPrice("HSI2508.HK", at));
  assert(level > 22_000 && level < 29_000, String(level));
  const { future, priceStep, lotSize, tradeTime } = market.quote("HSI2508.HK", at);
  assertEquals([future?.expiry, future?.daysToExpiry, future?.multiplier], ["2025-08-28", 13, "50"]);
  assertEquals(tradeTime.slice(0, 12), "202508151015");
  assertEquals({ priceStep, lotSize }, {
    priceStep: 1,
    lotSize: 1,
  });
  assertEquals(
    market.lastPrice("HSI2508.HK", hk("2026-01-05T10:00:00")),
    market.dayBar("HSI2508.HK", "2025-08-28")?.close,
  );
});

Deno.test(
  "the prices of an index future end at 16:00 on its last trading day, and at 16:30 on other days",
  pure,
  () => {
    const [expiring, other, last] = ["HSI2508.HK", "HSI2509.HK", "2025-08-28"] as const;
    const [at16, at1630] = [hk(`${last}T16:00:00`), hk(`${last}T16:30:00`)];
    const prints = market.prints(expiring, hk(`${last}T09:00:00`), at1630);
    assertEquals(market.prints(expiring, at16 - 1, at1630), []);
    assert(market.prints(other, at16 - 1, at1630).length > 100);
    assert(market.prints(expiring, hk("2025-08-27T16:00:00"), hk("2025-08-27T16:30:00")).length > 100);
    assertEquals([
      market.isOpen(expiring, at16 - 1),
      market.isOpen(expiring, at16),
      market.isOpen(other, at16),
    ], [
      true,
      false,
      true,
    ]);
    const prices = prints.map(({ price }) => Number(price));
    const bar = market.dayBar(expiring, last)!;
    assertEquals([bar.open, bar.high, bar.low, bar.close].map(Number), [
      prices[0],
      Math.max(...prices),
      Math.min(...prices),
      prices.at(-1),
    ]);
    assertEquals(Number(bar.volume), prints.reduce((sum, { volume }) => sum + Number(volume), 0));
    for (const at of [at16, at1630, hk("2025-09-01T10:00:00")]) {
      assertEquals(market.lastPrice(expiring, at), bar.close);
      assertEquals(
        market.bars(expiring, { interval: "day", at, limit: 1 })[0]?.closePrice,
        Number(bar.close),
      );
      assertEquals(market.quote(expiring, at).volume, bar.volume);
    }
    assertEquals(market.bars(expiring, { interval: "1m", at: at1630, limit: 1 }).at(-1)?.time, "15:59");
  },
);

Deno.test("optionExpiries() are Fridays, or the Thursday before a holiday", pure, () => {
  const at = ny("2025-08-15T11:00:00");
  assertEquals(market.optionExpiries("AAPL", at), [
    ...["2025-08-15", "2025-08-22", "2025-08-29", "2025-09-05", "2025-09-12", "2025-09-19", "2025-09-26"],
    ...["2025-10-03", "2025-10-17", "2025-11-21", "2025-12-19", "2026-01-16", "2027-01-15"],
  ]);
  assert(market.optionExpiries("MSFT", ny("2026-06-01T11:00:00")).includes("2026-06-18")); // 19 June is a holiday
  assertEquals(market.optionExpiries("00700.HK", at), []);
});

Deno.test("optionCodes() separates strikes by the stock's price", pure, () => {
  const at = ny("2025-08-15T15:59:59"); // the stock is near 230.8
  const calls = market.optionCodes("AAPL", "2025-09-19", { inOut: "in-the-money", type: "call" }, at);
  const out = market.optionCodes("AAPL", "2025-09-19", { inOut: "out-of-the-money", type: "call" }, at);
  assertEquals([calls.at(-1), out[0]], ["AAPL250919C2300000", "AAPL250919C2325000"]);
  assertEquals(
    market.optionCodes("AAPL", "2025-09-19", { inOut: "in-the-money", type: "put" }, at)[0],
    "AAPL250919P2325000",
  );
  assertEquals(market.optionCodes("AAPL", "2025-09-18", {}, at), []);
  assert(calls.every((code) => market.instrument(code) !== undefined));
});

Deno.test("options rise with the stock, keep put-call parity and end at their intrinsic value", pure, () => {
  const at = ny("2025-08-15T11:00:00");
  const [call, put] = ["AAPL250919C2300000", "AAPL250919P2300000"].map((code) => market.quote(code, at));
  const stock = market.quote("AAPL", at).lastPrice;
  near((call?.lastPrice ?? 0) - (put?.lastPrice ?? 0), stock - 230 * Math.exp(-0.045 * 35 / 365), 0.06);
  assert(Number(call?.option?.delta) > 0 && Number(put?.option?.delta) < 0);
  assertEquals(call?.option?.strikePrice, "230.00");
  assertEquals(call?.option?.expiry, "2025-09-19");
  assertEquals(call?.option?.daysToExpiry, "35");
  const close = Number(market.dayBar("AAPL", "2025-08-15")?.close); // 230.82
  near(Number(market.dayBar("AAPL250815C2200000", "2025-08-15")?.close), close - 220, 0.05);
  assertEquals(market.dayBar("AAPL250815C2400000", "2025-08-15")?.close, "0.01");
});

Deno.test("optionValue() and optionGreeks() match the textbook", pure, () => {
  const base = { spot: 100, strike: 100, years: 1, volatility: 0.2, rate: 0.05 };
  near(optionValue({ type: "call", ...base }), 10.4506, 0.0001);
  near(optionValue({ type: "put", ...base }), 5.5735, 0.0001);
  const { delta, gamma, vega, theta, rho } = optionGreeks({ type: "call", ...base });
  near(delta, 0.6368, 0.0001);
  near(gamma, 0.01876, 0.00001);
  near(vega, 0.3752, 0.0001);
  near(theta, -0.01757, 0.00001);
  near(rho, 0.5323, 0.0001);
  near(normalCdf(1.96), 0.9750021, 1e-7);
  near(normalCdf(-8), 6.22e-16, 1e-17);
});

Deno.test("traded() returns what was traded between two instants", pure, () => {
  const [open, close] = [hk("2025-08-15T09:30:00"), hk("2025-08-15T16:00:00")];
  assertEquals(market.traded("00700.HK", open - 1, close), {
    high: "596.50",
    low: "584.50",
    last: "592.00",
    volume: "22176800",
  });
  assertEquals(market.traded("00700.HK", close, close + 3_600_000), undefined);
  const halves = [
    market.traded("00700.HK", open - 1, open + 5e6),
    market.traded("00700.HK", open + 5e6, close),
  ];
  assertEquals(halves.reduce((sum, part) => sum + Number(part?.volume), 0), 22176800);
});

Deno.test("currencyRates() are plausible and within the peg", pure, () => {
  for (const date of ["2024-08-16", "2025-03-01", "2026-12-31"]) {
    const { USDHKD, CNYHKD } = market.currencyRates(date);
    assert(Number(USDHKD) >= 7.75 && Number(USDHKD) <= 7.85, USDHKD);
    assert(Number(CNYHKD) > 1.05 && Number(CNYHKD) < 1.11, CNYHKD);
    assertEquals(USDHKD.length, 6);
  }
});
