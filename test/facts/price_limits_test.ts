import { assertEquals } from "@std/assert";
import { priceLimits } from "../../lib/facts/price_rules.ts";

const pure = { permissions: "none" } as const;

Deno.test("priceLimits() rounds ten percent, or five with a risk warning, to the nearest cent", pure, () => {
  const moutai = { market: "shanghai", symbol: "600519.SH", date: "2025-08-15" } as const;
  assertEquals(priceLimits({ ...moutai, previousClose: "1426.95" }), { low: "1284.26", high: "1569.65" });
  assertEquals(priceLimits({ ...moutai, previousClose: "10.00" }, { riskWarning: true }), {
    low: "9.50",
    high: "10.50",
  });
});

Deno.test("priceLimits() is 10 % for ST stocks from 2026-07-06, and 20 % for ChiNext in 2025", pure, () => {
  const at = (symbol: string, date: string) =>
    priceLimits({ market: "shenzhen", symbol, date, previousClose: "10.00" }, { riskWarning: true })?.high;
  assertEquals(at("000333.SZ", "2026-07-05"), "10.50");
  assertEquals(at("000333.SZ", "2026-07-06"), "11.00");
  assertEquals(at("300750.SZ", "2020-08-21"), "11.00");
  assertEquals(at("300750.SZ", "2025-08-15"), "12.00");
});

Deno.test("priceLimits() returns undefined in Hong Kong and the United States", pure, () => {
  const rest = { symbol: "00700.HK", date: "2025-08-15", previousClose: "590" };
  assertEquals(priceLimits({ market: "hk", ...rest }), undefined);
  assertEquals(priceLimits({ market: "us", ...rest }), undefined);
});

Deno.test("priceLimits() returns the limits of each board before and after every change", pure, () => {
  /** Board, a code on it, risk warning, date, and the low and high limit for a previous close of 100. */
  const rows: [string, string, boolean, string, string, string][] = [
    ["main board of Shanghai", "600519.SH", false, "2015-01-05", "90.00", "110.00"],
    ["main board of Shanghai", "601318.SH", false, "2026-07-06", "90.00", "110.00"],
    ["main board of Shanghai", "603288.SH", false, "2025-08-15", "90.00", "110.00"],
    ["main board of Shanghai", "605499.SH", false, "2025-08-15", "90.00", "110.00"],
    ["main board of Shenzhen", "000333.SZ", false, "2025-08-15", "90.00", "110.00"],
    ["main board of Shenzhen", "001979.SZ", false, "2025-08-15", "90.00", "110.00"],
    ["main board of Shenzhen", "002594.SZ", false, "2025-08-15", "90.00", "110.00"],
    ["main board of Shenzhen", "003816.SZ", false, "2025-08-15", "90.00", "110.00"],
    ["risk warning", "600519.SH", true, "2015-01-05", "95.00", "105.00"],
    ["risk warning", "600519.SH", true, "2026-07-05", "95.00", "105.00"],
    ["risk warning", "600519.SH", true, "2026-07-06", "90.00", "110.00"],
    ["ChiNext", "300750.SZ", false, "2020-08-23", "90.00", "110.00"],
    ["ChiNext", "300750.SZ", false, "2020-08-24", "80.00", "120.00"],
    ["ChiNext", "301236.SZ", true, "2026-07-06", "80.00", "120.00"],
    ["STAR", "688981.SH", false, "2019-07-22", "80.00", "120.00"],
    ["STAR", "689009.SH", true, "2026-07-06", "80.00", "120.00"],
  ];
  for (const [board, symbol, riskWarning, date, low, high] of rows) {
    const market = symbol.endsWith(".SH") ? "shanghai" : "shenzhen";
    const limits = priceLimits({ market, symbol, date, previousClose: "100" }, { riskWarning });
    assertEquals(limits, { low, high }, `${board}: ${symbol} on ${date}`);
  }
});

Deno.test("priceLimits() rounds half cents up for both limits", pure, () => {
  const at = (previousClose: string) =>
    priceLimits({ market: "shanghai", symbol: "600519.SH", date: "2025-08-15", previousClose });
  assertEquals(at("10.05"), { low: "9.05", high: "11.06" }); // 9.045 and 11.055
  assertEquals(at("10.04"), { low: "9.04", high: "11.04" }); // 9.036 and 11.044
});
