import { assertEquals } from "@std/assert";
import { didYouMean, nearest } from "../../lib/client/nearest.ts";

const names = ["doctor", "orders.place", "TradeEntrust", "export day-book"];

Deno.test("nearest() finds the intended name despite a typing error, in upper or lower case", () => {
  assertEquals(nearest("dotcor", names), "doctor");
  assertEquals(nearest("orders.plase", names), "orders.place");
  assertEquals(nearest("tradeentrst", names), "TradeEntrust");
});

Deno.test("nearest() returns undefined if no name is similar", () => {
  assertEquals(nearest("quote", names), undefined);
  assertEquals(nearest("", names), undefined);
});

Deno.test("nearest() does not compare very long names, and stops after a maximum number of names", () => {
  const almost = (length: number) => ["x".repeat(length)];
  assertEquals(nearest(`${"x".repeat(99)}y`, almost(100)), almost(100)[0]);
  assertEquals(nearest(`${"x".repeat(100)}y`, almost(101)), undefined);
  let asked = 0;
  const endless = function* () {
    for (;; asked++) {
      if (asked > 5000) throw new Error("asked for more than 5000 names");
      yield "z".repeat(asked < 5 ? 100_000 : 9);
    }
  };
  assertEquals(nearest("orders.plase", endless()), undefined);
  assertEquals(asked, 1000);
});

Deno.test("didYouMean() returns the end of a sentence, or an empty text", () => {
  assertEquals(didYouMean("docter", names), '; did you mean "doctor"?');
  assertEquals(didYouMean("xyz", names), "");
});
