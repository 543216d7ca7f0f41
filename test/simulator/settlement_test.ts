import { assert, assertEquals } from "@std/assert";
import { add, subtract } from "../../lib/decimal.ts";
import type { Holding } from "../../lib/operations/account.ts";
import { hk, market, newYork, open } from "./desk.ts";

/** Sells a lot of a held listing, or 10 shares if a lot is less. Returns the desk and the funds before the sale. */
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

Deno.test("proceeds of the account's past sales cannot be withdrawn until they have settled", () => {
  const at = hk("2025-08-18", "10:00:00");
  const desk = open(at, { days: 10, fillsPerDay: 12 });
  const sales = desk.journal("hk", "2025-08-15").filter(({ type }) => type === "sell-securities")
    .map(({ amount }) => amount!);
  assert(sales.length > 0);
  const { withdrawable, available } = desk.funds("hk");
  assertEquals(subtract(available!, withdrawable!), add("0.00", ...sales));
});

Deno.test("a day order expires at the end of its market's day, and releases its cash to the cent", () => {
  const date = "2025-08-18";
  const apple = {
    market: "us",
    symbol: "AAPL",
    orderType: "limit",
    side: "buy",
    quantity: "10",
    price: "150",
  };
  for (
    const [of, order, placedAt, last, first] of [
      // Hong Kong's closing auction matches between 16:08 and 16:10; orders are open until then.
      [
        "hk",
        { symbol: "00700.HK", orderType: "enhanced-limit", side: "buy", quantity: "100", price: "500" },
        hk(date, "10:00:00"),
        hk(date, "16:07:59"),
        hk(date, "16:10:00"),
      ],
      ["us", apple, newYork(date, "10:00:00"), newYork(date, "15:59:59"), newYork(date, "16:00:00")],
      // An order for extended hours stays until eight in the evening.
      [
        "us",
        { ...apple, tradingHours: "extended" },
        newYork(date, "05:00:00"),
        newYork(date, "19:59:59"),
        newYork(date, "20:00:00"),
      ],
      [
        "shanghai",
        { symbol: "600036.SH", orderType: "limit", side: "buy", quantity: "100", price: "" },
        hk(date, "10:00:00"),
        hk(date, "14:59:59"),
        hk(date, "15:00:00"),
      ],
    ] as const
  ) {
    const desk = open(placedAt);
    const { available, frozenByOrders } = desk.funds(of);
    assertEquals(frozenByOrders, "0.00");
    // Low enough not to be filled, and high enough for Stock Connect.
    const price = order.price === ""
      ? (Math.ceil(market.orderBook("600036.SH", placedAt).bids[0]!.price * 97) / 100).toFixed(2)
      : order.price;
    const id = desk.place({ market: of, ...order, price });
    desk.to(last);
    assertEquals(desk.order(of, id)?.status, "accepted", of);
    const held = desk.funds(of);
    assert(Number(held.frozenByOrders) > Number(price) * Number(order.quantity));
    assertEquals(add(held.available!, held.frozenByOrders!), available);
    desk.to(first);
    const after = desk.funds(of);
    assertEquals([after.available, after.frozenByOrders], [available, "0.00"], of);
  }
});

Deno.test("the mainland: past sales are paid at the open of the next trading day", () => {
  for (const market of ["shanghai", "shenzhen"]) {
    const desk = open(hk("2025-08-18", "09:29:59"), { days: 10, fillsPerDay: 12 });
    // Both markets pay in the same currency.
    const sales = ["shanghai", "shenzhen"].flatMap((each) => desk.journal(each, "2025-08-15"))
      .filter(({ type }) => type === "sell-securities").map(({ amount }) => amount!);
    assert(sales.length > 0);
    const { withdrawable, available } = desk.funds(market);
    assertEquals(subtract(available!, withdrawable!), add("0.00", ...sales));
    desk.to(hk("2025-08-18", "09:30:00"));
    assertEquals(desk.funds(market).withdrawable, available);
  }
});
