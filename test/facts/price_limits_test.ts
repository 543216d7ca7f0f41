import { assertEquals } from "@std/assert";
import { priceLimits } from "../../lib/facts/price_limits.ts";

const pure = { permissions: "none" } as const;

Deno.test("priceLimits() rounds ten percent around the previous close half up to a cent", pure, () => {
  const moutai = { market: "shanghai", symbol: "600519.SH", date: "2025-08-15" } as const;
  assertEquals(priceLimits({ ...moutai, previousClose: "1426.95" }), { low: "1284.26", high: "1569.65" });
  assertEquals(priceLimits({ ...moutai, previousClose: "10.00" }, { riskWarning: true }), {
    low: "9.50",
    high: "10.50",
  });
});

Deno.test("priceLimits() widen for ST stocks on 2026-07-06 and know the growth boards", pure, () => {
  const at = (symbol: string, date: string) =>
    priceLimits({ market: "shenzhen", symbol, date, previousClose: "10.00" }, { riskWarning: true })?.high;
  assertEquals(at("000333.SZ", "2026-07-05"), "10.50");
  assertEquals(at("000333.SZ", "2026-07-06"), "11.00");
  assertEquals(at("300750.SZ", "2020-08-21"), "11.00");
  assertEquals(at("300750.SZ", "2025-08-15"), "12.00");
});

Deno.test("priceLimits() are absent in Hong Kong and the United States", pure, () => {
  const rest = { symbol: "00700.HK", date: "2025-08-15", previousClose: "590" };
  assertEquals(priceLimits({ market: "hk", ...rest }), undefined);
  assertEquals(priceLimits({ market: "us", ...rest }), undefined);
});
