import { assertEquals } from "@std/assert";
import { didYouMean, nearest } from "../../lib/client/nearest.ts";

const names = ["doctor", "orders.place", "TradeEntrust", "export day-book"];

Deno.test("nearest() finds what was meant in spite of a slip, whatever the case", () => {
  assertEquals(nearest("dotcor", names), "doctor");
  assertEquals(nearest("orders.plase", names), "orders.place");
  assertEquals(nearest("tradeentrst", names), "TradeEntrust");
});

Deno.test("nearest() keeps quiet when nothing is like it", () => {
  assertEquals(nearest("quote", names), undefined);
  assertEquals(nearest("", names), undefined);
});

Deno.test("didYouMean() writes the end of a sentence, or nothing", () => {
  assertEquals(didYouMean("docter", names), '; did you mean "doctor"?');
  assertEquals(didYouMean("xyz", names), "");
});
