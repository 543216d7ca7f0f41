import { assert, assertEquals } from "@std/assert";
import { add, subtract } from "../../lib/decimal.ts";
import type { Holding } from "../../lib/operations/account.ts";
import { hk, market, newYork, open } from "./desk.ts";

/** Sells one lot of a listing that the account holds, at the market, and returns the desk. */
function sellAt(of: "hk" | "us", at: number) {
  const desk = open(at);
  const [{ symbol }] = desk.ask<[Holding]>("account.holdings", { market: of });
  const quantity = String(Math.max(10, market.instrument(symbol)!.lotSize));
  const before = desk.funds(of);
  const best = market.orderBook(symbol, at).bids[0]!.price;
  const price = String(Number((best * 0.99).toFixed(1)));
  const hongKong = { orderType: "enhanced-limit", price: String(best) };
  const order = { market: of, symbol, side: "sell", quantity };
  const id = desk.place({ ...order, ...(of === "hk" ? hongKong : { orderType: "limit", price }) });
  desk.to(at + 30_000);
  assertEquals(desk.order(of, id)?.status, "filled");
  return { desk, before };
}

Deno.test("Hong Kong: proceeds of a sale can be spent at once, and withdrawn at the open two trading days later", () => {
  // Monday.
  const { desk, before } = sellAt("hk", hk("2025-08-18", "10:00:00"));
  const sold = desk.funds("hk");
  assert(Number(sold.available) > Number(before.available));
  assertEquals(sold.withdrawable, before.withdrawable);
  desk.to(hk("2025-08-18", "19:30:00"));
  const proceeds = desk.journal("hk", "2025-08-18")[0]!.amount!;
  assertEquals(subtract(desk.funds("hk").available!, before.available!), proceeds);
  // The sales of the days before settle on Monday and Tuesday.
  desk.to(hk("2025-08-20", "09:29:59"));
  const { withdrawable, available } = desk.funds("hk");
  assertEquals(subtract(available!, withdrawable!), proceeds);
  desk.to(hk("2025-08-20", "09:30:00"));
  assertEquals(desk.funds("hk").withdrawable, available);
  assertEquals(add(withdrawable!, proceeds), available);
});

Deno.test("United States: proceeds of a sale can be withdrawn at the open of the next trading day", () => {
  // Friday.
  const { desk } = sellAt("us", newYork("2025-08-15", "11:00:00"));
  desk.to(newYork("2025-08-18", "09:29:59"));
  const proceeds = desk.journal("us", "2025-08-15").map(({ amount }) => amount!)[0]!;
  const { withdrawable, available } = desk.funds("us");
  assertEquals(subtract(available!, withdrawable!), proceeds);
  desk.to(newYork("2025-08-18", "09:30:00"));
  assertEquals(desk.funds("us").withdrawable, available);
});

Deno.test("the account's past sales are unpaid for their settlement cycle", () => {
  const at = hk("2025-08-18", "10:00:00");
  const desk = open(at, { days: 10, fillsPerDay: 12 });
  const sales = desk.journal("hk", "2025-08-15").filter(({ type }) => type === "sell-securities")
    .map(({ amount }) => amount!);
  assert(sales.length > 0);
  const { withdrawable, available } = desk.funds("hk");
  assertEquals(subtract(available!, withdrawable!), add("0.00", ...sales));
});
