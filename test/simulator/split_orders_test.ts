import { assert, assertEquals } from "@std/assert";
import { add, multiply, subtract } from "../../lib/decimal.ts";
import { hk, market, open, refused } from "./desk.ts";

const DATE = "2025-08-15";
const MORNING = hk(DATE, "10:00:00");
const bank = { market: "hk", symbol: "00939.HK", orderType: "enhanced-limit", side: "buy" };
const LIMIT = add(market.lastPrice("00939.HK", MORNING), "0.05");

Deno.test("each part of a split purchase pays its own minimum commission, and the journal books the same", () => {
  assertEquals(market.instrument("00939.HK")?.lotSize, 1000);
  const desk = open(MORNING, { mostLots: { hk: 1 } });
  const before = desk.funds("hk");
  desk.place({ ...bank, quantity: "3000", price: LIMIT });
  desk.to(MORNING + 60_000);
  assertEquals(desk.orders("hk").map(({ quantity, status }) => [quantity, status]), [
    ["1000", "filled"],
    ["1000", "filled"],
    ["1000", "filled"],
  ]);
  desk.to(hk(DATE, "19:30:00"));
  const rows = desk.cleared("hk", DATE);
  // 0.03% of a part is under the minimum commission of 3.00; the platform fee of 15.00 is charged per order.
  assertEquals(rows.map(({ fees }) => [fees?.commission, fees?.platformFee]), [
    ["3.00", "15.00"],
    ["3.00", "15.00"],
    ["3.00", "15.00"],
  ]);
  const paid = rows.map(({ fillAmount, fees }) => add(fillAmount!, fees!.total!));
  assertEquals(desk.journal("hk", DATE).map(({ amount }) => amount), paid.map((sum) => `-${sum}`));
  assertEquals(subtract(before.available!, desk.funds("hk").available!), add(...paid));
});

Deno.test("a split purchase needs the cash for the fees of every part, to the cent", () => {
  const frozen = (quantity: string, mostLots?: number) => {
    const desk = open(MORNING, mostLots === undefined ? {} : { mostLots: { hk: mostLots } });
    desk.place({ ...bank, quantity, price: LIMIT });
    return desk.funds("hk").frozenByOrders!;
  };
  const one = frozen("1000");
  // Each part freezes what an order of its size freezes.
  assertEquals(frozen("3000", 1), multiply(one, "3"));
  assertEquals(frozen("5000", 2), add(frozen("2000"), frozen("2000"), one));

  // The largest purchase that the broker names leaves no negative balance, and one lot more is refused. At this price
  // the fees of a hundred parts are more than the price of a lot.
  const desk = open(MORNING, { mostLots: { hk: 1 } });
  const low = { market: "hk", symbol: "00939.HK", price: "1.00" };
  const { quantity } = desk.ask<{ quantity: string }>("account.maxBuy", low);
  assert(Number(quantity) > 100_000, quantity);
  assertEquals(
    refused(() => desk.place({ ...bank, ...low, quantity: add(quantity, "1000") })),
    "insufficient funds for this order and its fees",
  );
  desk.place({ ...bank, ...low, quantity });
  const { available = "" } = desk.funds("hk");
  assert(!available.startsWith("-") && Number(available) < 1_100, available);
});

Deno.test("an amendment that splits an order needs the cash for the fees of every part", () => {
  const desk = open(MORNING, { mostLots: { hk: 1 } });
  const low = { market: "hk", symbol: "00939.HK", price: "1.00" };
  const orderId = desk.place({ ...bank, ...low, quantity: "1000" });
  const one = desk.funds("hk").frozenByOrders!;
  const { quantity } = desk.ask<{ quantity: string }>("account.maxBuy", low);
  const most = add(quantity, "1000");
  assertEquals(
    refused(() => desk.ask("orders.amend", { ...low, orderId, quantity: add(most, "1000") })),
    "insufficient funds for this order and its fees",
  );
  desk.ask("orders.amend", { ...low, orderId, quantity: most });
  assertEquals(desk.funds("hk").frozenByOrders, multiply(one, String(Number(most) / 1000)));
  assert(!desk.funds("hk").available!.startsWith("-"));
});
