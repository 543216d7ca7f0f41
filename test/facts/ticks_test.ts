import { assertEquals, assertThrows } from "@std/assert";
import { onTick, tickSize } from "../../lib/facts/ticks.ts";

const pure = { permissions: "none" } as const;

Deno.test("tickSize() puts the upper edge of a band into the band", pure, () => {
  assertEquals(tickSize("hk", "2025-08-01", "20.00"), "0.020");
  assertEquals(tickSize("hk", "2025-08-01", "20.05"), "0.050");
  assertEquals(tickSize("hk", "2025-08-01", "0.01"), "0.001");
});

Deno.test("tickSize() narrows in Hong Kong on 2025-08-04 and 2026-08-03", pure, () => {
  assertEquals(tickSize("hk", "2025-08-03", "15"), "0.020");
  assertEquals(tickSize("hk", "2025-08-04", "15"), "0.010");
  assertEquals(tickSize("hk", "2025-08-04", "30"), "0.020");
  assertEquals(tickSize("hk", "2026-08-02", "5"), "0.010");
  assertEquals(tickSize("hk", "2026-08-03", "5"), "0.005");
});

Deno.test("tickSize() knows other instruments and markets", pure, () => {
  assertEquals(tickSize("hk", "2025-08-15", "15", "warrant"), "0.020");
  assertEquals(tickSize("hk", "2025-08-15", "15", "etf"), "0.010");
  assertEquals(tickSize("hk", "2025-08-15", "25270", "future"), "1");
  assertEquals(tickSize("us", "2025-08-15", "0.50"), "0.0001");
  assertEquals(tickSize("us", "2025-08-15", "230.82"), "0.01");
  assertEquals(tickSize("us", "2025-08-15", "2.99", "option"), "0.01");
  assertEquals(tickSize("us", "2025-08-15", "3.00", "option"), "0.05");
  assertEquals(tickSize("shenzhen", "2025-08-15", "12.5"), "0.01");
  assertThrows(() => tickSize("us", "2025-08-15", "1", "spoon"), RangeError, "unknown");
});

Deno.test("onTick() takes the nearest step, halves away from zero", pure, () => {
  assertEquals(onTick("hk", "2024-08-16", "37.454"), "37.450");
  assertEquals(onTick("hk", "2024-08-16", "37.475"), "37.500");
  assertEquals(onTick("hk", "2025-08-15", "37.454"), "37.460");
  assertEquals(onTick("us", "2025-08-15", "230.824"), "230.82");
});
