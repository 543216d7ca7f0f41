import { assert, assertEquals, assertThrows } from "@std/assert";
import { listing, listings, lotSize } from "../../lib/facts/listings.ts";

const pure = { permissions: "none" } as const;

Deno.test("listing() gives names in three scripts, market, data type and currency", pure, () => {
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

Deno.test("listings hold 32 securities whose texts fit their unions", pure, () => {
  assertEquals(listings.length, 32);
  for (const { symbol, market, currency, instrument } of listings) {
    assert(["hk", "us", "shanghai", "shenzhen"].includes(market), symbol);
    assert(["HKD", "USD", "CNY"].includes(currency), symbol);
    assert(["stock", "etf", "reit"].includes(instrument), symbol);
  }
});

Deno.test("lotSize() follows the date where the exchange changed the lot", pure, () => {
  assertEquals(lotSize("01211.HK", "2025-09-18"), 500);
  assertEquals(lotSize("01211.HK", "2025-09-19"), 100);
  assertEquals(lotSize("00005.HK", "2025-08-15"), 400);
  assertEquals(lotSize("600519.SH", "2025-08-15"), 100);
  assertEquals(lotSize("AAPL", "2025-08-15"), 1);
  assertThrows(() => lotSize("NOPE", "2025-08-15"), RangeError, "not listed");
});
