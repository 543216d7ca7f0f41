import { assert, assertEquals, assertThrows } from "@std/assert";
import { listing, listings, lotSize } from "../../lib/facts/listings.ts";

const pure = { permissions: "none" } as const;

Deno.test("listing() returns names in three scripts, market, data type and currency", pure, () => {
  assertEquals(listing("00700.HK"), {
    symbol: "00700.HK",
    market: "hk",
    name: "Tencent Holdings Limited",
    nameTc: "騰訊控股",
    nameSc: "腾讯控股",
    dataType: 10000,
    currency: "HKD",
    instrument: "stock",
  });
  assertEquals(listing("600519.SH")?.market, "shanghai");
  assertEquals(listing("000333.SZ")?.market, "shenzhen");
  assertEquals(listing("AAPL")?.dataType, 20000);
  assertEquals(listing("00823.HK")?.instrument, "reit");
  assertEquals(listing("NOPE"), undefined);
});

Deno.test("the table lists 32 securities, each with a known market, currency and instrument", pure, () => {
  assertEquals(listings.length, 32);
  for (const { symbol, market, currency, instrument } of listings) {
    assert(["hk", "us", "shanghai", "shenzhen"].includes(market), symbol);
    assert(["HKD", "USD", "CNY"].includes(currency), symbol);
    assert(["stock", "etf", "reit"].includes(instrument), symbol);
  }
});

Deno.test("lotSize() depends on the date if the exchange changed the lot", pure, () => {
  assertEquals(lotSize("01211.HK", "2025-09-18"), 500);
  assertEquals(lotSize("01211.HK", "2025-09-19"), 100);
  assertEquals(lotSize("00005.HK", "2025-08-15"), 400);
  assertEquals(lotSize("600519.SH", "2025-08-15"), 100);
  assertEquals(lotSize("AAPL", "2025-08-15"), 1);
  assertThrows(() => lotSize("NOPE", "2025-08-15"), RangeError, "the table does not list it");
});

/** Shares per board lot, copied from the exchanges' lists. These lots never changed. */
const LOTS: Record<string, number> = {
  "00001.HK": 500,
  "00005.HK": 400,
  "00027.HK": 1000,
  "00388.HK": 100,
  "00700.HK": 100,
  "00823.HK": 100,
  "00939.HK": 1000,
  "00941.HK": 500,
  "00981.HK": 500,
  "01299.HK": 200,
  "01398.HK": 1000,
  "01810.HK": 200,
  "02020.HK": 200,
  "02318.HK": 500,
  "03690.HK": 100,
  "09618.HK": 50,
  "09988.HK": 100,
  "09999.HK": 100,
  "600519.SH": 100,
  "600036.SH": 100,
  "601318.SH": 100,
  "600900.SH": 100,
  "601888.SH": 100,
  "000333.SZ": 100,
  "000858.SZ": 100,
  "002415.SZ": 100,
  "002594.SZ": 100,
  AAPL: 1,
  AMZN: 1,
  GOOGL: 1,
  MSFT: 1,
};

Deno.test("lotSize() returns the lot of every listing for past and future years", pure, () => {
  for (const [symbol, lot] of Object.entries(LOTS)) {
    for (const date of ["2010-01-04", "2025-08-15", "2030-12-31"]) {
      assertEquals(lotSize(symbol, date), lot, `${symbol} on ${date}`);
    }
  }
  assertEquals([lotSize("01211.HK", "2010-01-04"), lotSize("01211.HK", "2030-12-31")], [500, 100]);
  assertEquals(listings.map(({ symbol }) => symbol).sort(), [...Object.keys(LOTS), "01211.HK"].sort());
});
