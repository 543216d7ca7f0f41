import { assertEquals } from "@std/assert";
import { didYouMean, nearest } from "../../lib/client/nearest.ts";

const names = ["doctor", "orders.place", "TradeEntrust", "export day-book"];

Deno.test("nearest() finds the intended name despite a typing error, in any case", () => {
  assertEquals(nearest("dotcor", names), "doctor");
  assertEquals(nearest("orders.plase", names), "orders.place");
  assertEquals(nearest("tradeentrst", names), "TradeEntrust");
});

Deno.test("nearest() returns nothing if no name is similar", () => {
  assertEquals(nearest("quote", names), undefined);
  assertEquals(nearest("", names), undefined);
});

Deno.test("didYouMean() returns the end of a sentence, or an empty text", () => {
  assertEquals(didYouMean("docter", names), '; did you mean "doctor"?');
  assertEquals(didYouMean("xyz", names), "");
});
