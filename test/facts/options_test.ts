import { assertEquals } from "@std/assert";
import { activeStrikeStep, strikeStep } from "../../lib/facts/options.ts";

const pure = { permissions: "none" } as const;

Deno.test("strikeStep() widens with the price, activeStrikeStep() with time too", pure, () => {
  assertEquals(["24.99", "25", "200", "200.01"].map(strikeStep), ["2.5", "5", "5", "10"]);
  assertEquals(activeStrikeStep("230", 30), "2.5");
  assertEquals(activeStrikeStep("230", 90), "5");
  assertEquals(activeStrikeStep("180", 90), "2.5");
});
