import { assertEquals, assertThrows } from "@std/assert";
import { settlementDate } from "../../lib/facts/settlement.ts";

const pure = { permissions: "none" } as const;

Deno.test("settlementDate() counts two Hong Kong sessions, weekends and holidays left out", pure, () => {
  assertEquals(settlementDate("hk", "2025-08-13"), "2025-08-15");
  assertEquals(settlementDate("hk", "2025-08-15"), "2025-08-19");
  assertEquals(settlementDate("hk", "2025-06-30"), "2025-07-03"); // 1 July is a holiday
});

Deno.test("settlementDate() went from two sessions to one in the United States on 2024-05-28", pure, () => {
  assertEquals(settlementDate("us", "2024-05-24"), "2024-05-29"); // 27 May is Memorial Day
  assertEquals(settlementDate("us", "2024-05-28"), "2024-05-29");
  assertEquals(settlementDate("us", "2025-07-03"), "2025-07-07");
});

Deno.test("settlementDate() moves northbound money on the next day that both sides trade", pure, () => {
  assertEquals(settlementDate("shanghai", "2025-08-14"), "2025-08-15");
  assertEquals(settlementDate("shenzhen", "2025-09-30"), "2025-10-09"); // National Day week
});

Deno.test("settlementDate() refuses days that no calendar covers", pure, () => {
  assertThrows(() => settlementDate("hk", "2044-01-04"), RangeError, "no calendar");
  assertThrows(() => settlementDate("hk", "soon"), RangeError, "no date");
});
