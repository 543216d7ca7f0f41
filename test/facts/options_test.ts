import { assertEquals } from "@std/assert";
import { activeStrikeStep } from "../../lib/facts/contracts.ts";

const pure = { permissions: "none" } as const;

Deno.test("activeStrikeStep() grows with the price and with the time to expiry", pure, () => {
  assertEquals(activeStrikeStep("230", 30), "2.5");
  assertEquals(activeStrikeStep("230", 90), "5");
  assertEquals(activeStrikeStep("180", 90), "2.5");
});
