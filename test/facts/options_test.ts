import { assertEquals, assertThrows } from "@std/assert";
import { activeStrikeStep, optionCode, parseOptionCode, strikeStep } from "../../lib/facts/options.ts";

const pure = { permissions: "none" } as const;

Deno.test("optionCode() writes the strike with four decimals and no point", pure, () => {
  const base = { underlying: "AAPL", expiry: "2025-09-19" } as const;
  assertEquals(optionCode({ ...base, type: "call", strike: "0.1" }), "AAPL250919C01000");
  assertEquals(optionCode({ ...base, type: "put", strike: "90" }), "AAPL250919P900000");
  assertEquals(optionCode({ ...base, type: "call", strike: "232.50" }), "AAPL250919C2325000");
  assertThrows(() => optionCode({ ...base, type: "call", strike: "0.00001" }), RangeError, "four decimals");
});

Deno.test("parseOptionCode() reads what optionCode() writes", pure, () => {
  assertEquals(parseOptionCode("AAPL250919C01000"), {
    underlying: "AAPL",
    expiry: "2025-09-19",
    type: "call",
    strike: "0.1",
  });
  assertEquals(parseOptionCode("MSFT260116P900000")?.strike, "90");
  assertEquals(parseOptionCode("AAPL"), undefined);
  assertEquals(parseOptionCode("00700.HK"), undefined);
});

Deno.test("strikeStep() widens with the price, activeStrikeStep() with time too", pure, () => {
  assertEquals(["24.99", "25", "200", "200.01"].map(strikeStep), ["2.5", "5", "5", "10"]);
  assertEquals(activeStrikeStep("230", 30), "2.5");
  assertEquals(activeStrikeStep("230", 90), "5");
  assertEquals(activeStrikeStep("180", 90), "2.5");
});
