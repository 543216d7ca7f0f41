import { assertEquals } from "@std/assert";
import {
  contractDays,
  contractMonths,
  futureContract,
  futureContracts,
  futureProducts,
} from "../../lib/facts/contracts.ts";

const pure = { permissions: "none" } as const;

const product = (code: string) => {
  const found = futureProducts.find((row) => row.product === code);
  if (found === undefined) throw new Error(`no product ${code}`);
  return found;
};

Deno.test(
  "contractDays() ends trading one business day before the last business day of the month",
  pure,
  () => {
    assertEquals(contractDays("2025-08"), { lastTradingDay: "2025-08-28", finalSettlementDay: "2025-08-29" });
    assertEquals(contractDays("2024-12"), { lastTradingDay: "2024-12-30", finalSettlementDay: "2024-12-31" });
  },
);

Deno.test(
  "contractMonths() lists spot, next, two quarters, and five Decembers of long-dated products",
  pure,
  () => {
    assertEquals(contractMonths(product("MHI"), "2025-08-15"), ["2025-08", "2025-09", "2025-12", "2026-03"]);
    assertEquals(contractMonths(product("MHI"), "2025-08-29"), ["2025-09", "2025-10", "2025-12", "2026-03"]);
    assertEquals(contractMonths(product("HSI"), "2025-08-15"), [
      ...["2025-08", "2025-09", "2025-12", "2026-03"],
      ...["2026-12", "2027-12", "2028-12", "2029-12", "2030-12"],
    ]);
  },
);

Deno.test("futureContract() returns the contract of a code", pure, () => {
  assertEquals(futureContract("MHI2508.HK"), {
    product: "MHI",
    name: "Mini-Hang Seng Index Futures 2508",
    nameTc: "小型恒生指數期貨 2508",
    nameSc: "小型恒生指数期货 2508",
    index: "HSI",
    multiplier: "10",
    symbol: "MHI2508.HK",
    month: "2025-08",
    lastTradingDay: "2025-08-28",
    finalSettlementDay: "2025-08-29",
    currency: "HKD",
    tick: "1",
    decimals: 0,
    dataType: 10010,
  });
  assertEquals(futureContract("HSI2513.HK"), undefined);
  assertEquals(futureContract("XYZ2508.HK"), undefined);
});

Deno.test("futureContracts() lists 30 contracts of five products", pure, () => {
  const symbols = futureContracts("2025-08-15").map(({ symbol }) => symbol);
  assertEquals(symbols.length, 30);
  assertEquals(symbols[0], "HSI2508.HK");
  assertEquals(symbols.at(-1), "HTI2603.HK");
});
