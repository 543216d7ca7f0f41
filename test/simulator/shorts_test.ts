import { shortTerms } from "../../lib/simulator/broker/account/short_terms.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { add, multiply, subtract } from "../../lib/decimal.ts";
import type { BuyingPower, Holding } from "../../lib/operations/account.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { hk, market, newYork, open, refused } from "./desk.ts";

const DATE = "2025-08-18";
const NEXT = "2025-08-19";
const MORNING = newYork(DATE, "10:30:00");
const shorts = { shorts: true };
/** The listing that the tests sell short. */
const SYMBOL = "MSFT";
const sale = { market: "us", symbol: SYMBOL, orderType: "limit", quantity: "20", side: "short-open" };
const cover = { ...sale, side: "short-close" };

/** Opens an account that may sell short, and sells what it holds of the symbol. */
function flat(at = MORNING, options: Parameters<typeof open>[1] = {}) {
  const desk = open(at, { ...shorts, ...options });
  const held = (of = SYMBOL, on = "us") =>
    desk.ask<Holding[]>("account.holdings", { market: on }).find(({ symbol }) => symbol === of);
  const from = options.market ?? market;
  const last = (by = "0") => add(from.lastPrice(SYMBOL, desk.now()), by);
  const quantity = held()?.quantity;
  if (quantity !== undefined) desk.place({ ...sale, side: "sell", quantity, price: last("-2") });
  desk.to(at + 60_000);
  assertEquals(held(), undefined);
  const power = (by = "0") =>
    desk.ask<Required<BuyingPower>>("account.buyingPower", { market: "us", symbol: SYMBOL, price: last(by) });
  return { ...desk, held, last, power };
}

Deno.test("an account may sell short only if the simulator allows it", () => {
  const desk = open(MORNING);
  const price = market.lastPrice(SYMBOL, MORNING);
  for (const order of [sale, cover]) {
    assertEquals(refused(() => desk.place({ ...order, price })), 'short selling of "MSFT" is not enabled');
  }
  assertEquals(desk.ask("account.shortSale", { market: "us", symbol: SYMBOL }), {
    supported: false,
    interestRate: "0",
  });
  const allowed = flat();
  assertEquals(allowed.ask("account.shortSale", { market: "us", symbol: SYMBOL }), {
    supported: true,
    interestRate: "0.03",
  });
  // Options and Stock Connect have no short sales.
  const expiry = market.optionExpiries("AAPL", MORNING)[0]!;
  const [option] = market.optionCodes("AAPL", expiry, {}, MORNING);
  for (const other of [{ symbol: option, price: "1" }]) {
    assertStringIncludes(refused(() => allowed.place({ ...sale, ...other })), "is not enabled");
  }
  const mainland = { market: "shanghai", symbol: "600036.SH", quantity: "100", price: "40" };
  assertStringIncludes(refused(() => allowed.place({ ...sale, ...mainland })), "is not enabled");
});

Deno.test("a short sale reserves its proceeds and the margin, and the purchase that closes it gives the profit to the cent", () => {
  const desk = flat();
  const before = desk.funds("us");
  const id = desk.place({ ...sale, price: desk.last("-1") });
  desk.to(desk.now() + 5_000);
  const fills = desk.fillsOf(id);
  assertEquals(fills.map(({ rule }) => rule), fills.map(() => "book"));
  const proceeds = fills.reduce((sum, { price, quantity }) => add(sum, multiply(price, quantity)), "0");
  const row = desk.order("us", id);
  assertEquals([row?.side, row?.status], ["short-open", "filled"]);
  const position = desk.held()!;
  assertEquals([position.quantity, position.sellableQuantity], ["-20", "0"]);
  assertEquals(Number(position.marketValue), -20 * Number(desk.last()));
  assertEquals(Number(position.profit).toFixed(2), (Number(proceeds) - 20 * Number(desk.last())).toFixed(2));
  // The value and half of it as margin are not available; the proceeds are in the cash.
  const held = desk.funds("us");
  const fees = Number(before.available) + Number(proceeds) - 1.5 * 20 * Number(desk.last()) -
    Number(held.available);
  assert(fees >= 0 && fees < 5, `fees of ${fees}`);
  const { position: kind, maxShortClose, positionQuantity } = desk.power();
  assertEquals([kind, maxShortClose, positionQuantity], ["short", "20", "-20"]);

  desk.to(newYork(DATE, "14:00:00"));
  // While the account has a short position, the broker itself marks a purchase as closing it.
  assertStringIncludes(
    refused(() => desk.place({ ...cover, side: "buy", quantity: "21", price: desk.last("1") })),
    "20 shares of the short position",
  );
  const back = desk.place({ ...cover, side: "buy", price: desk.last("1") });
  desk.to(desk.now() + 5_000);
  const bought = desk.fillsOf(back);
  const paid = bought.reduce((sum, { price, quantity }) => add(sum, multiply(price, quantity)), "0");
  assertEquals([desk.order("us", back)?.side, desk.held()], ["short-close", undefined]);
  desk.to(newYork(DATE, "20:00:01"));
  const rows = desk.cleared("us", DATE).filter(({ symbol, side }) =>
    symbol === SYMBOL && side.startsWith("short")
  );
  assertEquals(new Set(rows.map(({ side }) => side)), new Set(["short-open", "short-close"]));
  const charged = rows.reduce((sum, { fees }) => add(sum, fees!.total!), "0");
  // Before the sale, the account had not yet paid the fees of the holding that it sold.
  const after = desk.funds("us").available!;
  assertEquals(
    Number(subtract(after, before.available!)).toFixed(2),
    Number(subtract(subtract(proceeds, paid), charged)).toFixed(2),
  );
});

Deno.test("a short sale needs margin and shares to borrow, is refused while the account holds the stock, and open orders count", () => {
  const desk = flat();
  const far = desk.last("40");
  const { maxShortOpen, shortPool } = desk.power("10");
  assert(BigInt(maxShortOpen) > 0n && BigInt(maxShortOpen) <= BigInt(shortPool));
  assertStringIncludes(
    refused(() => desk.place({ ...sale, quantity: String(BigInt(shortPool) + 1n), price: far })),
    "can be borrowed",
  );
  const id = desk.place({ ...sale, quantity: maxShortOpen, price: desk.last("10") });
  const left = BigInt(desk.power("10").maxShortOpen);
  assert(left < BigInt(maxShortOpen) / 10n, `${left} of ${maxShortOpen} are left`);
  assertStringIncludes(
    refused(() => desk.place({ ...sale, quantity: maxShortOpen, price: far })),
    "insufficient margin",
  );
  const buy = { ...sale, side: "buy", quantity: "1", price: desk.last("-40") };
  assertStringIncludes(refused(() => desk.place(buy)), "must end first");
  const change = { market: "us", symbol: SYMBOL, orderId: id, price: desk.last("10") };
  const more = String(3n * BigInt(maxShortOpen));
  refused(() => desk.ask("orders.amend", { ...change, quantity: more }));
  desk.ask("orders.amend", { ...change, quantity: "5" });
  desk.ask("orders.cancel", { ...change, quantity: "5" });
  assertEquals(desk.power("10").maxShortOpen, maxShortOpen);
  desk.place({ ...buy, price: desk.last("2") });
  desk.to(desk.now() + 5_000);
  assertStringIncludes(refused(() => desk.place({ ...sale, price: far })), "sell the holding first");
  assertStringIncludes(refused(() => desk.place({ ...cover, price: far })), "0 shares of the short position");
});

Deno.test("a short sale with a limit below the market needs the margin of the market's price", () => {
  for (const parts of [1n, 3n]) {
    const desk = flat();
    const low = desk.last("-300");
    const power = () =>
      desk.ask<Required<BuyingPower>>("account.buyingPower", { market: "us", symbol: SYMBOL, price: low });
    const { maxShortOpen, shortPool } = power();
    const most = BigInt(maxShortOpen);
    assertEquals(maxShortOpen, desk.power().maxShortOpen);
    assert(most > 100n && 3n * most < BigInt(shortPool), `${most} of ${shortPool}`);
    const place = (quantity: bigint) => desk.place({ ...sale, quantity: String(quantity), price: low });
    assertStringIncludes(refused(() => place(most + 1n)), "insufficient margin");
    for (let part = 1n; part < parts; part++) place(most / parts);
    const rest = most - (parts - 1n) * (most / parts);
    assertStringIncludes(refused(() => place(rest + 1n)), "insufficient margin");
    const orderId = place(rest - 1n);
    const change = { market: "us", symbol: SYMBOL, orderId, price: low };
    assertStringIncludes(
      refused(() => desk.ask("orders.amend", { ...change, quantity: String(rest + 1n) })),
      "insufficient margin",
    );
    desk.ask("orders.amend", { ...change, quantity: String(rest) });
    assertEquals(power().maxShortOpen, "0");
  }
});

Deno.test("Hong Kong accepts a short sale only at the best ask or above, and in auctions as an at-auction limit order", () => {
  const at = hk(DATE, "10:30:00");
  const symbol = "09999.HK";
  const desk = open(at, { ...shorts, days: 1, fillsPerDay: 1 });
  const held = desk.ask<Holding[]>("account.holdings", { market: "hk" }).find((each) =>
    each.symbol === symbol
  );
  assertEquals(held, undefined);
  const order = { market: "hk", symbol, orderType: "limit", side: "short-open", quantity: "100" };
  const best = market.orderBook(symbol, at);
  const [ask, bid] = [best.asks[0]!, best.bids[0]!].map(({ price }) => price.toFixed(2)) as [string, string];
  assertStringIncludes(
    refused(() => desk.place({ ...order, price: bid })),
    `needs a price of ${ask} or more`,
  );
  const id = desk.place({ ...order, price: ask });
  desk.to(hk(DATE, "11:59:00"));
  assert(desk.fillsOf(id).every(({ rule }) => rule === "queue" || rule === "through"));
  desk.to(hk(DATE, "16:02:00"));
  const auction = { ...order, price: market.lastPrice(symbol, hk(DATE, "16:00:00")) };
  assertStringIncludes(
    refused(() => desk.place({ ...auction, orderType: "auction", price: "0" })),
    "at-auction limit",
  );
  const reference = [60, 45, 30, 15, 0].map((seconds) =>
    Number(market.lastPrice(symbol, hk(DATE, "16:00:00") - seconds * 1_000))
  ).sort((a, b) => a - b)[2]!;
  const low = (Math.floor(reference * 0.98 * 10) / 10).toFixed(2);
  assertStringIncludes(
    refused(() => desk.place({ ...auction, orderType: "auction-limit", price: low })),
    `needs a price of ${reference.toFixed(2)} or more`,
  );
  desk.place({ ...auction, orderType: "auction-limit", price: reference.toFixed(2) });
});

Deno.test("a stock of the United States that has fallen 10% is sold short only above the best bid, also on the next day", () => {
  const plan = scriptPlan([
    { what: "price", symbol: SYMBOL, at: `${DATE} 11:00`, to: "455", over: "1h" },
  ]);
  const fallen = new SimulatedMarket({ seed: 1, plan });
  const desk = flat(MORNING, { market: fallen });
  const bids = () => fallen.orderBook(SYMBOL, desk.now()).bids[0]!.price.toFixed(2);
  const low = (by: string) => ({ ...sale, quantity: "1", price: add(bids(), by) });
  const early = desk.place(low("0"));
  assertEquals(typeof early, "string");
  for (const [date, time] of [[DATE, "12:30:00"], [NEXT, "10:00:00"]] as const) {
    desk.to(newYork(date, time));
    assertStringIncludes(refused(() => desk.place(low("0"))), "only above the best bid");
    assertStringIncludes(
      refused(() => desk.place({ ...sale, orderType: "market", price: "0" })),
      "only above",
    );
    desk.place(low("0.01"));
  }
  desk.to(newYork("2025-08-20", "10:00:00"));
  desk.place(low("0"));
});

/** Opens an account that may sell short and has no past trades, so that it holds nothing. */
const empty = (at: number, options: Parameters<typeof open>[1] = {}) =>
  open(at, { ...shorts, days: 1, fillsPerDay: 1, ...options });
const netEase = {
  market: "hk",
  symbol: "09999.HK",
  orderType: "enhanced-limit",
  side: "short-open",
  quantity: "100",
};
const askOf = (symbol: string, at: number) => market.orderBook(symbol, at).asks[0]!.price;

Deno.test("Hong Kong's exchange rejects a short sale that is below the best ask when it arrives", () => {
  const outcomes = { rejected: 0, accepted: 0 };
  for (let minute = 0; minute < 60; minute++) {
    const placedAt = hk(DATE, "10:00:02") + minute * 60_000 + 700;
    const desk = empty(placedAt);
    const ask = askOf(netEase.symbol, placedAt);
    const id = desk.place({ ...netEase, price: ask.toFixed(2) });
    const arrivesAt = Math.ceil((placedAt + 1_000) / 1_000) * 1_000;
    desk.to(arrivesAt);
    const best = askOf(netEase.symbol, arrivesAt).toFixed(2);
    const { status, remark } = desk.order("hk", id)!;
    if (Number(best) <= ask) {
      assertEquals(status, "accepted");
      outcomes.accepted++;
    } else {
      const text = `a short sale of "${netEase.symbol}" needs a price of ${best} or more`;
      assertEquals([status, remark], ["rejected", text]);
      outcomes.rejected++;
    }
    desk.to(arrivesAt + 120_000);
    assert(desk.fillsOf(id).every(({ rule }) => rule !== "book"));
  }
  assert(outcomes.rejected > 3 && outcomes.accepted > 3, JSON.stringify(outcomes));
});

Deno.test("a short sale of Hong Kong's lunch break is tested when the market trades again", () => {
  const desk = empty(hk(DATE, "12:10:00"));
  const { bids } = market.orderBook(netEase.symbol, desk.now());
  const below = desk.place({ ...netEase, price: bids[2]!.price.toFixed(2) });
  desk.to(hk(DATE, "12:40:00"));
  const above = desk.place({ ...netEase, price: (askOf(netEase.symbol, desk.now()) + 1).toFixed(2) });
  desk.to(hk(DATE, "13:00:02"));
  assertEquals([desk.order("hk", below)?.status, desk.order("hk", above)?.status], ["rejected", "accepted"]);
});

Deno.test("a short sale that the broker holds back is tested when the broker sends it", () => {
  // The price jumps over the limit.
  const last = market.lastPrice(netEase.symbol, hk(DATE, "10:30:00"));
  const to = multiply(last, "1.09").slice(0, 5);
  const plan = scriptPlan([{ what: "price", symbol: netEase.symbol, at: `${DATE} 10:30`, to }]);
  const desk = empty(hk(DATE, "10:20:00"), { market: new SimulatedMarket({ seed: 1, plan }) });
  const id = desk.place({ ...netEase, price: multiply(last, "1.06").slice(0, 5) });
  desk.to(hk(DATE, "10:29:59"));
  assertEquals([desk.order("hk", id)?.status, desk.broker.matches().queues], ["accepted", []]);
  desk.to(hk(DATE, "10:31:00"));
  assertEquals([desk.order("hk", id)?.status, desk.fillsOf(id)], ["rejected", []]);
});

Deno.test("the closing auction does not match a short sale below the reference price", () => {
  let below = 0;
  for (const symbol of ["03690.HK", "09999.HK", "00388.HK", "09988.HK"]) {
    for (const date of ["2025-08-18", "2025-08-19", "2025-08-20", "2025-08-21", "2025-08-22"]) {
      const at = hk(date, "15:59:59") + 500;
      const price = askOf(symbol, at);
      const reference = [60, 45, 30, 15, 0].map((seconds) =>
        Number(market.lastPrice(symbol, hk(date, "16:00:00") - seconds * 1_000))
      ).sort((a, b) => a - b)[2]!;
      // The order arrives after the close, and the auction matches at its limit.
      if (price !== Number(market.dayBar(symbol, date)!.close)) continue;
      const desk = empty(at);
      const order = { ...netEase, symbol, quantity: String(market.instrument(symbol, date)!.lotSize) };
      const held = desk.ask<Holding[]>("account.holdings", { market: "hk" });
      if (held.some((each) => each.symbol === symbol)) continue;
      const id = desk.place({ ...order, price: price.toFixed(2) });
      desk.to(hk(date, "16:10:00"));
      if (price >= reference) continue;
      below++;
      assertEquals([desk.order("hk", id)?.status, desk.fillsOf(id)], ["cancelled", []]);
    }
  }
  assert(below > 0);
});

Deno.test("an odd lot of Hong Kong cannot be sold short", () => {
  const desk = empty(hk(DATE, "10:00:00"));
  const price = (askOf(netEase.symbol, desk.now()) + 1).toFixed(2);
  assertEquals(
    refused(() => desk.place({ ...netEase, orderType: "odd-lot", quantity: "37", price })),
    "a short sale cannot be an odd lot",
  );
});

Deno.test("after a fall of 10%, a short sale that is not above the best bid when it arrives is rejected", () => {
  const plan = scriptPlan([
    { what: "price", symbol: SYMBOL, at: `${DATE} 11:00`, to: "440", over: "3h" },
  ]);
  const fallen = new SimulatedMarket({ seed: 1, plan });
  const bidAt = (at: number) => fallen.orderBook(SYMBOL, at).bids[0]!.price;
  const outcomes = { rejected: 0, accepted: 0 };
  for (let trial = 0; trial < 60; trial++) {
    const placedAt = newYork(DATE, "14:10:00") + trial * 20_000 + 300;
    const desk = empty(placedAt, { market: fallen });
    const price = bidAt(placedAt) + 0.01;
    const id = desk.place({ ...sale, quantity: "1", price: price.toFixed(2) });
    const arrivesAt = Math.ceil((placedAt + 1_000) / 1_000) * 1_000;
    desk.to(arrivesAt);
    const isAbove = Number(price.toFixed(2)) > bidAt(arrivesAt);
    assertEquals(desk.order("us", id)?.status, isAbove ? "accepted" : "rejected");
    outcomes[isAbove ? "accepted" : "rejected"]++;
    assertEquals(desk.fillsOf(id), []);
  }
  assert(outcomes.rejected > 0 && outcomes.accepted > 0, JSON.stringify(outcomes));
});

Deno.test("a short position pays interest and dividends, grows with a split, and agrees with the journal to the cent each day", () => {
  const plan = scriptPlan([
    { what: "dividend", symbol: SYMBOL, on: NEXT, cash: "1.50" },
    { what: "split", symbol: SYMBOL, on: "2025-08-20", ratio: "3:1" },
  ]);
  const desk = flat(MORNING, { market: new SimulatedMarket({ seed: 1, plan }) });
  desk.place({ ...sale, price: desk.last("-1") });
  desk.to(newYork(DATE, "19:59:59"));
  const cashOf = () => {
    const { totalAssets, marketValue } = desk.funds("us");
    return subtract(totalAssets!, marketValue!);
  };
  let before: string | undefined;
  for (const [date, quantity] of [[DATE, "-20"], [NEXT, "-20"], ["2025-08-20", "-60"]] as const) {
    desk.to(newYork(date, "20:00:01"));
    assertEquals(desk.held()?.quantity, quantity);
    const lines = desk.journal("us", date);
    const moved = lines.reduce((sum, { amount }) => add(sum, amount), "0");
    if (before !== undefined) assertEquals(Number(subtract(cashOf(), before)), Number(moved));
    before = cashOf();
    const interest = lines.filter(({ type }) => type === "interest-or-penalty-adjustment");
    const value = -Number(desk.held()!.marketValue);
    assertEquals(interest.map(({ amount }) => Number(amount)), [-Math.round(value * 0.03 / 365 * 100) / 100]);
    const dividends = lines.filter(({ type }) => type === "settlement-funds").map(({ amount }) => amount);
    assertEquals(dividends, date === NEXT ? ["-30.00"] : []);
  }
  // A weekend counts three days.
  desk.to(newYork("2025-08-22", "20:00:01"));
  const [interest] = desk.journal("us", "2025-08-22").filter(({ type }) =>
    type === "interest-or-penalty-adjustment"
  );
  const value = -Number(desk.held()!.marketValue);
  assertEquals(Number(interest?.amount), -Math.round(value * 0.09 / 365 * 100) / 100);
});

Deno.test("a conditional order can open a short position", () => {
  const desk = flat();
  const last = desk.last();
  desk.place({
    ...sale,
    orderType: "stop-loss-limit",
    triggerValue: add(last, "20"),
    price: subtract(last, "2"),
    validDays: 1,
  });
  desk.to(desk.now() + 60_000);
  assertEquals(desk.held()?.quantity, "-20");
});

Deno.test("short sales need a margin of 50 %, keep a margin of 30 %, and pay interest of 3 %, as docs/simulator.md says", () => {
  assertEquals(shortTerms, {
    initialMarginRatio: "0.50",
    maintenanceMarginRatio: "0.30",
    interestRate: "0.03",
  });
});
