import { assert, assertEquals, assertThrows } from "@std/assert";
import { add, type Decimal, DecimalSum, multiply, round, subtract } from "../../lib/decimal.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import type { AlgoOrder } from "../../lib/operations/algo.ts";
import type { Funds, Holding } from "../../lib/operations/account.ts";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import type { Fill } from "../../lib/operations/fills.ts";
import type { JournalEntry } from "../../lib/operations/fund_journal.ts";
import type { FuturesHolding, FuturesOrder } from "../../lib/operations/futures.ts";
import { gatewayOperations } from "../../lib/operations/mod.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { ManualClock } from "../../lib/time.ts";
import { type OperationName, type OrderPush, Refusal } from "../../lib/simulator/contract.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { ask } from "./asked.ts";

const HOUR = 3_600_000;
/** Friday, ten in the morning in Hong Kong and Shanghai. */
const MORNING = Date.parse("2025-08-15T02:00:00Z");
/** The same day, eleven in the morning in New York. */
const NEW_YORK = Date.parse("2025-08-15T15:00:00Z");
const always = { from: "2000-01-01", to: "2099-12-31" };

interface Desk {
  broker: Broker;
  clock: ManualClock;
  market: SimulatedMarket;
  pushes: OrderPush[];
  /** Returns the current last price of a symbol. */
  price(symbol: string): Decimal;
}

const shared = new SimulatedMarket({ seed: 1 });

function open(at: number, options: { mostLots?: Partial<Record<Market, number>> } = {}): Desk {
  const clock = new ManualClock(at);
  const broker = new Broker({ seed: 1, clock, days: 10, market: shared, ...options });
  const pushes: OrderPush[] = [];
  broker.onOrderPush((push) => pushes.push(push));
  return { broker, clock, market: shared, pushes, price: (symbol) => shared.lastPrice(symbol, clock.now()) };
}

const tencent = { market: "hk", symbol: "00700.HK", orderType: "enhanced-limit" } as const;

function place(desk: Desk, order: Record<string, unknown>): string {
  return ask<{ orderId: string }>(desk.broker, "orders.place", order).orderId;
}

const today = (desk: Desk, market: Market) => ask<Order[]>(desk.broker, "orders.today", { market });
const states = (desk: Desk, id: string) =>
  desk.pushes.filter(({ update }) => update.orderId === id).map(({ update }) => update.status);

function refusal(act: () => unknown): Refusal {
  return assertThrows(act, Refusal);
}

/** Returns the sum of all journal lines of a currency's markets. */
function journalSum(broker: Broker, markets: Market[]): Decimal {
  const sum = new DecimalSum();
  for (const market of markets) {
    for (const name of ["fundJournal.history", "fundJournal.today"] as const) {
      for (let cursor = "0";;) {
        const days = name === "fundJournal.history" ? always : {};
        const rows = ask<JournalEntry[]>(broker, name, { market, ...days, limit: 99, cursor });
        rows.forEach(({ amount }) => sum.add(amount));
        if (rows.length < 99) break;
        cursor = rows.at(-1)?.cursor ?? "0";
      }
    }
  }
  return sum.toString();
}

function cashOf(broker: Broker, market: Market): Decimal {
  const { totalAssets = "", marketValue = "" } = ask<Funds>(broker, "account.funds", { market });
  return subtract(totalAssets, marketValue);
}

Deno.test("Broker answers every operation of the gateway except logins and subscriptions", () => {
  const { broker } = open(MORNING);
  const endpoints = ["account.login", "account.logout", "orders.subscribe", "orders.unsubscribe"];
  endpoints.push("quotes.subscribe", "quotes.unsubscribe");
  const left = gatewayOperations.map(({ name }) => name).filter((name) => !endpoints.includes(name));
  assertEquals(left.length, 47);
  for (const name of [...left, "orders.cancelAll"]) {
    try {
      broker.call(name as OperationName, {}); // a name of the catalogue; most need params and fail without them
    } catch (error) {
      assert(!(error instanceof Refusal && error.text.includes("the broker has no operation")), name);
    }
  }
  assertEquals(refusal(() => broker.call("account.login", {})).code, "1016");
});

Deno.test("orders.place is accepted, then filled in parts, and each change is pushed after it happened", () => {
  const desk = open(MORNING);
  const price = desk.price("00700.HK");
  const seen: string[] = [];
  desk.broker.onOrderPush(({ update }) => {
    const [row] = today(desk, "hk");
    seen.push(`${update.status} ${row?.status} ${row?.filledQuantity}`);
  });
  const id = place(desk, { ...tencent, side: "buy", quantity: "1000", price: add(price, "5") });
  assertEquals(states(desk, id), ["accepted"]);
  desk.clock.advance(1_000);
  const [part] = today(desk, "hk");
  assertEquals(part?.status, "part-filled");
  assertEquals([part?.canCancel, part?.canAmend], [true, true]);
  desk.clock.advance(60_000);
  const [whole] = today(desk, "hk");
  assertEquals([whole?.status, whole?.filledQuantity, whole?.unfilledQuantity], ["filled", "1000", "0"]);
  assertEquals([whole?.canCancel, whole?.canAmend], [false, false]);
  const fills = ask<Fill[]>(desk.broker, "fills.today", { market: "hk" });
  assert(fills.length >= 2);
  assertEquals(fills.every(({ fees, orderId }) => fees === undefined && orderId === id), true);
  assertEquals(states(desk, id), ["accepted", ...fills.slice(1).map(() => "part-filled" as const), "filled"]);
  assertEquals(seen.at(-1), "filled filled 1000");
});

Deno.test("orders.place outside market hours is rejected with the broker's text", () => {
  const text = "current time does not allow entrust";
  for (const at of ["2025-08-15T00:50:00Z", "2025-08-15T08:00:00Z", "2025-08-16T03:00:00Z"]) {
    const desk = open(Date.parse(at));
    const order = { ...tencent, side: "buy", quantity: "100", price: "500" };
    const error = refusal(() => place(desk, order));
    assertEquals([error.code, error.text], [undefined, text]);
  }
  // Monday: Hong Kong accepts auction orders from 09:00, other orders from 09:30.
  const early = open(Date.parse("2025-08-18T01:10:00Z"));
  refusal(() => place(early, { ...tencent, side: "buy", quantity: "100", price: "500" }));
  place(early, { ...tencent, orderType: "auction-limit", side: "buy", quantity: "100", price: "510" });
});

Deno.test("orders.place checks listing, lot, price step, price limits, cash and holdings", () => {
  const desk = open(MORNING);
  const buy = { ...tencent, side: "buy", quantity: "100", price: "588" };
  const texts = [
    { ...buy, symbol: "00002.HK" },
    { ...buy, quantity: "150" },
    { ...buy, price: "588.1" },
    { ...buy, quantity: "100000" },
    { ...buy, side: "sell", quantity: "1000000" },
    { ...buy, side: "short-open" },
    {
      market: "shanghai",
      symbol: "600519.SH",
      orderType: "limit",
      side: "buy",
      quantity: "100",
      price: "2000",
    },
  ].map((order) => refusal(() => place(desk, order)).text);
  assertEquals(texts, [
    'unknown stock code "00002.HK" in this market',
    'quantity "150" of "00700.HK" is not a multiple of the lot size 100',
    'price "588.1" of "00700.HK" is not a positive multiple of the price step 0.50',
    "insufficient funds for this order and its fees",
    texts[4],
    'short selling of "00700.HK" is not enabled',
    texts[6],
  ]);
  assert(texts[4]?.startsWith('insufficient holdings of "00700.HK"'), texts[4]);
  assert(texts[6]?.includes("outside the day's limits"), texts[6]);
  assertEquals(desk.pushes, []);
});

Deno.test("orders.place splits an order above the single-order maximum and returns the first number", () => {
  const desk = open(MORNING, { mostLots: { hk: 3 } });
  const id = place(desk, { ...tencent, side: "buy", quantity: "700", price: "400" });
  const orders = today(desk, "hk");
  assertEquals(orders.map(({ quantity }) => quantity), ["300", "300", "100"]);
  assertEquals(orders[0]?.orderId, id);
  const [one] = ask<Order[]>(desk.broker, "orders.today", { market: "hk", orderIds: [orders[1]!.orderId!] });
  assertEquals(one?.cursor, "2");
});

Deno.test("orders.cancel after a partial fill keeps the filled part and frees the rest", () => {
  const desk = open(MORNING);
  const before = cashOf(desk.broker, "hk");
  const price = add(desk.price("00700.HK"), "5");
  const id = place(desk, { ...tencent, side: "buy", quantity: "1000", price });
  const frozen = ask<Funds>(desk.broker, "account.funds", { market: "hk" });
  assert(Number(frozen.frozenByOrders) > Number(multiply(price, "1000")));
  desk.clock.advance(1_000);
  const cancel = { market: "hk", symbol: "00700.HK", orderId: id };
  const wrong = refusal(() => ask(desk.broker, "orders.cancel", { ...cancel, quantity: "999" }));
  assertEquals(wrong.code, "1016");
  assertEquals(ask(desk.broker, "orders.cancel", { ...cancel, quantity: "1000" }), { orderId: id });
  const [order] = today(desk, "hk");
  assertEquals(order?.status, "part-filled-cancelled");
  assert(order?.filledQuantity !== "0" && order?.filledQuantity !== "1000");
  const funds = ask<Funds>(desk.broker, "account.funds", { market: "hk" });
  assertEquals(funds.frozenByOrders, "0.00");
  assertEquals(cashOf(desk.broker, "hk"), subtract(before, order?.fillAmount ?? ""));
  desk.clock.advance(60_000);
  assertEquals(today(desk, "hk")[0]?.filledQuantity, order?.filledQuantity);
  assertEquals(
    refusal(() => ask(desk.broker, "orders.cancel", cancel)).text.includes("part-filled-cancelled"),
    true,
  );
  const unknown = refusal(() => ask(desk.broker, "orders.cancel", { ...cancel, orderId: "1250815999999" }));
  assertEquals(unknown.code, "1016");
});

Deno.test("orders.place freezes shares for sale, and fees that are not charged yet", () => {
  const desk = open(MORNING);
  const [{ symbol, quantity = "" }] = ask<[Holding]>(desk.broker, "account.holdings", { market: "hk" });
  const tick = shared.tickSize(symbol, "2025-08-15", desk.price(symbol));
  const price = add(desk.price(symbol), multiply(tick, "40"));
  const sell = { market: "hk", symbol, orderType: "enhanced-limit", side: "sell", price };
  place(desk, { ...sell, quantity });
  assertEquals(ask(desk.broker, "account.maxSell", { market: "hk", symbol }), { quantity: "0" });
  const again = refusal(() => place(desk, { ...sell, quantity }));
  assertEquals(again.text, `insufficient holdings of "${symbol}": the sellable quantity is 0`);

  place(desk, { ...tencent, side: "buy", quantity: "1000", price: add(desk.price("00700.HK"), "5") });
  desk.clock.advance(1_000);
  const funds = () => ask<Funds>(desk.broker, "account.funds", { market: "hk" });
  const part = funds();
  assert(Number(part.frozen) > Number(part.frozenByOrders), "fees of the part that is filled");
  desk.clock.advance(60_000);
  const whole = funds();
  assertEquals(whole.frozenByOrders, "0.00");
  // What can be spent does not change when the fees are charged.
  desk.clock.set(Date.parse("2025-08-15T11:30:00Z"));
  assertEquals([funds().available, funds().frozen], [whole.available, "0.00"]);
});

Deno.test("orders.amend changes price and quantity, pushes the old values, and is rejected on Stock Connect", () => {
  const desk = open(MORNING);
  const id = place(desk, { ...tencent, side: "buy", quantity: "200", price: "400" });
  desk.clock.advance(60_000);
  assertEquals(today(desk, "hk")[0]?.status, "accepted");
  const price = desk.price("00700.HK");
  ask(desk.broker, "orders.amend", { market: "hk", symbol: "00700.HK", orderId: id, quantity: "300", price });
  const { update } = desk.pushes.at(-1)!;
  assertEquals([update.originalQuantity, update.originalPrice, update.quantity], ["200", "400.00", "300"]);
  desk.clock.advance(60_000);
  assertEquals(today(desk, "hk")[0]?.status, "filled");

  const connect = { market: "shanghai", symbol: "600036.SH", side: "buy", orderType: "limit" };
  const tick = shared.tickSize("600036.SH", "2025-08-15", "40");
  assertEquals(tick, "0.01");
  const northbound = place(desk, {
    ...connect,
    quantity: "100",
    price: subtract(desk.price("600036.SH"), "1"),
  });
  assertEquals(today(desk, "shanghai")[0]?.canAmend, false);
  const terms = {
    market: "shanghai",
    symbol: "600036.SH",
    orderId: northbound,
    quantity: "200",
    price: "40",
  };
  assertEquals(
    refusal(() => ask(desk.broker, "orders.amend", terms)).text,
    "orders of Stock Connect cannot be amended",
  );
});

Deno.test("orders.cancelMany names the orders that it could not cancel; cancelAll includes both mainland markets", () => {
  const desk = open(MORNING);
  const one = place(desk, { ...tencent, side: "buy", quantity: "100", price: "400" });
  const two = place(desk, { ...tencent, side: "buy", quantity: "100", price: "401" });
  const answer = ask(desk.broker, "orders.cancelMany", { market: "hk", orderIds: [one, "7"] });
  assertEquals(answer, { cancelled: [one], failed: [{ orderId: "7", remark: 'unknown order number "7"' }] });
  assertEquals(ask(desk.broker, "orders.cancelAll", { market: "hk" }), { cancelled: [two], failed: [] });
  const north = { side: "buy", orderType: "limit", quantity: "100" };
  for (const [market, symbol] of [["shanghai", "600036.SH"], ["shenzhen", "000333.SZ"]]) {
    place(desk, { ...north, market, symbol, price: subtract(desk.price(symbol!), "1") });
  }
  const all = ask<{ cancelled: string[] }>(desk.broker, "orders.cancelAll", { market: "shenzhen" });
  assertEquals(all.cancelled.length, 2);
});

Deno.test("Broker cancels day orders after the close, and clearing moves the day into history", () => {
  const desk = open(MORNING);
  const resting = place(desk, { ...tencent, side: "buy", quantity: "100", price: "400" });
  const filled = place(desk, {
    ...tencent,
    side: "buy",
    quantity: "2000",
    price: add(desk.price("00700.HK"), "5"),
  });
  // Until the closing auction has matched, between 16:08 and 16:10, the exchange keeps the orders.
  desk.clock.set(Date.parse("2025-08-15T08:00:00Z"));
  assertEquals(today(desk, "hk").map(({ status }) => status), ["accepted", "filled"]);
  desk.clock.set(Date.parse("2025-08-15T08:10:00Z"));
  assertEquals(today(desk, "hk").map(({ status }) => status), ["cancelled", "filled"]);
  assertEquals(states(desk, resting), ["accepted", "cancelled"]);
  const days = { market: "hk", from: "2025-08-15", to: "2025-08-15" };
  assertEquals(ask(desk.broker, "fills.history", days), []);
  assertEquals(journalSum(desk.broker, ["hk"]), cashOf(desk.broker, "hk"));
  const singles = ask<Fill[]>(desk.broker, "fills.today", { market: "hk" });
  assert(singles.length > 1);

  desk.clock.set(Date.parse("2025-08-15T11:00:00Z"));
  assertEquals([today(desk, "hk"), ask(desk.broker, "fills.today", { market: "hk" })], [[], []]);
  const [row, ...others] = ask<Fill[]>(desk.broker, "fills.history", days);
  assertEquals(others, []);
  assertEquals([row?.orderId, row?.filledQuantity], [filled, "2000"]);
  const amount = singles.map(({ fillAmount = "0" }) => fillAmount).reduce((a, b) => add(a, b));
  assertEquals(row?.fillAmount, amount);
  const [line] = ask<JournalEntry[]>(desk.broker, "fundJournal.history", days);
  assertEquals(line?.amount, `-${add(amount, row?.fees?.total ?? "")}`);
  assertEquals(ask<Order[]>(desk.broker, "orders.history", days).length, 2);
  assertEquals(journalSum(desk.broker, ["hk"]), cashOf(desk.broker, "hk"));
});

Deno.test("fills.history lists a cleared day in order of time", () => {
  const desk = open(MORNING);
  const large = place(desk, {
    ...tencent,
    side: "buy",
    quantity: "1000",
    price: add(desk.price("00700.HK"), "5"),
  });
  const fast = place(desk, {
    ...tencent,
    side: "buy",
    quantity: "100",
    price: add(desk.price("00700.HK"), "5"),
  });
  desk.clock.set(Date.parse("2025-08-15T11:30:00Z"));
  const days = { market: "hk", from: "2025-08-15", to: "2025-08-15" };
  const rows = ask<Fill[]>(desk.broker, "fills.history", days);
  assertEquals(rows.map(({ orderId }) => orderId), [fast, large]);
});

Deno.test("orders.place cannot sell what was bought today on the mainland", () => {
  const desk = open(MORNING);
  const symbol = "601888.SH";
  const order = { market: "shanghai", symbol, orderType: "limit" };
  const sellable = () =>
    ask<{ quantity: string }>(desk.broker, "account.maxSell", { market: "shanghai", symbol }).quantity;
  const before = sellable();
  place(desk, { ...order, side: "buy", quantity: "100", price: add(desk.price(symbol), "1") });
  desk.clock.advance(10_000);
  assertEquals(today(desk, "shanghai")[0]?.status, "filled");
  assertEquals(sellable(), before);
  const quantity = add(before, "100");
  const sale = { ...order, side: "sell", quantity, price: desk.price(symbol) };
  assert(refusal(() => place(desk, sale)).text.startsWith("insufficient holdings"));
  // Monday morning.
  desk.clock.set(MORNING + 72 * HOUR);
  assertEquals(sellable(), quantity);
  place(desk, { ...sale, price: desk.price(symbol) });
});

Deno.test("orders.place accepts a conditional order at any time, and sends it when its price is reached", () => {
  const desk = open(Date.parse("2025-08-17T12:00:00Z"));
  const order = { ...tencent, side: "buy", quantity: "100", validDays: 5 };
  const last = desk.price("00700.HK");
  const low = place(desk, { ...order, orderType: "take-profit-limit", triggerValue: "300", price: "300" });
  const stop = place(desk, {
    ...order,
    orderType: "stop-loss-limit",
    triggerValue: last,
    price: add(last, "10"),
  });
  const poor = place(desk, {
    ...order,
    orderType: "stop-loss-limit",
    quantity: "100000",
    triggerValue: last,
    price: last,
  });
  type Page = { rows: ConditionalOrder[]; totalPages: string };
  const list = () => ask<Page>(desk.broker, "conditionalOrders.today", { market: "hk" }).rows;
  assertEquals(list().map(({ status }) => status), ["pending", "pending", "pending"]);
  desk.clock.set(Date.parse("2025-08-22T07:59:00Z"));
  const history = ask<Page>(desk.broker, "conditionalOrders.history", {
    market: "hk",
    from: "2025-08-17 00:00:00",
    to: "2025-08-17 23:59:59",
  });
  const status = (id: string) => history.rows.find(({ orderId }) => orderId === id)?.status;
  assertEquals([status(low), status(stop), status(poor)], ["pending", "triggered", "error"]);
  assertEquals(
    history.rows.find(({ orderId }) => orderId === poor)?.errorText,
    "insufficient funds for this order and its fees",
  );
  assert(desk.pushes.some(({ update }) => update.status === "filled" && update.quantity === "100"));
  assert(desk.pushes.some(({ update }) => update.status === "rejected" && update.quantity === "100000"));
  ask(desk.broker, "orders.cancel", {
    market: "hk",
    symbol: "00700.HK",
    orderId: low,
    orderType: "take-profit-limit",
  });
  assertEquals(list().find(({ orderId }) => orderId === low)?.status, "deleted");
});

Deno.test("orders.place lets a conditional order expire", () => {
  const desk = open(MORNING);
  place(desk, {
    ...tencent,
    orderType: "take-profit-limit",
    side: "buy",
    quantity: "100",
    price: "300",
    triggerValue: "300",
    validDays: 2,
  });
  desk.clock.advance(49 * HOUR);
  const page = ask<{ rows: ConditionalOrder[] }>(desk.broker, "conditionalOrders.history", {
    market: "hk",
    from: "2025-08-15 00:00:00",
    to: "2025-08-15 23:59:59",
  });
  assertEquals(page.rows.map(({ status, canCancel }) => [status, canCancel]), [["expired", false]]);
});

Deno.test("orders.place with a trailing stop follows the best price and sells after the fall", () => {
  const desk = open(MORNING);
  const symbol = ask<Holding[]>(desk.broker, "account.holdings", { market: "hk" })[0]!.symbol;
  const lot = String(shared.instrument(symbol)!.lotSize);
  const trail = { market: "hk", symbol, side: "sell", quantity: lot, orderType: "trailing-stop-limit" };
  place(desk, { ...trail, trailBy: "percentage", triggerValue: "0.5", validDays: 9 });
  desk.clock.advance(5 * 24 * HOUR);
  desk.broker.settle();
  const push = desk.pushes.find(({ update }) => update.symbol === symbol);
  assert(push !== undefined);
  const { update, at } = push;
  // Some price between the start and the trigger was at least half a percent higher.
  const { high } = shared.traded(symbol, MORNING, at)!;
  assert(Number(update.price) <= Number(high) * 0.995, `${update.price} after ${high}`);
});

Deno.test("algo.place sends children over time, as ordinary orders", () => {
  const desk = open(MORNING);
  const price = add(desk.price("00700.HK"), "10");
  const order = {
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    orderType: "limit",
    price,
    quantity: "2000",
  };
  const { orderId } = ask<{ orderId: string }>(desk.broker, "algo.place", {
    ...order,
    strategy: "twap",
    settings: { endTime: "11:00:00" },
  });
  const query = { from: "2025-08-15", to: "2025-08-15" };
  const row = () => ask<AlgoOrder[]>(desk.broker, "algo.list", query)[0];
  const children = () =>
    ask<string[]>(desk.broker, "algo.children", { orderId, date: "2025-08-15", market: "hk" });
  assertEquals(row()?.status, "accepted");
  desk.clock.advance(20 * 60_000);
  const sent = children().length;
  assert(sent >= 3 && sent < 10, `${sent} children`);
  assertEquals(row()?.status, "part-filled");
  ask(desk.broker, "algo.act", { orderId, action: "suspend", strategy: "twap", market: "hk" });
  desk.clock.advance(5 * 60_000);
  assertEquals(children().length, sent);
  ask(desk.broker, "algo.act", { orderId, action: "resume", strategy: "twap", market: "hk" });
  desk.clock.advance(35 * 60_000);
  assertEquals([row()?.status, row()?.filledQuantity], ["filled", "2000"]);
  assertEquals(today(desk, "hk").map(({ orderId }) => orderId), children());
  const late = refusal(() => ask(desk.broker, "algo.cancel", { orderId, market: "hk" }));
  assert(late.text.includes("filled"));
  assertEquals(refusal(() => ask(desk.broker, "algo.cancel", { orderId: "1", market: "hk" })).code, "1016");
});

Deno.test("orders.place trades options in hundreds, and the journal matches the cash after clearing", () => {
  const desk = open(NEW_YORK);
  const [, expiry] = ask<string[]>(desk.broker, "quotes.optionExpiries", { underlying: "AAPL" });
  const codes = ask<string[]>(desk.broker, "quotes.optionCodes", {
    underlying: "AAPL",
    expiry,
    moneyness: "out-of-the-money",
    optionType: "call",
  });
  const symbol = codes[0]!;
  const before = cashOf(desk.broker, "us");
  const order = { market: "us", symbol, orderType: "limit", side: "buy", quantity: "3" };
  place(desk, { ...order, price: add(desk.price(symbol), "0.50") });
  desk.clock.advance(5_000);
  const [fill] = ask<Fill[]>(desk.broker, "fills.today", { market: "us" });
  assertEquals(fill?.fillAmount, multiply(multiply(fill!.fillPrice, "3"), "100"));
  assertEquals(cashOf(desk.broker, "us"), subtract(before, fill?.fillAmount ?? ""));
  desk.clock.advance(10 * HOUR);
  const [row] = ask<Fill[]>(desk.broker, "fills.history", {
    market: "us",
    from: "2025-08-15",
    to: "2025-08-15",
  });
  assert(row?.fees?.optionClearingFee !== undefined && row.fees.optionRegulatoryFee !== undefined);
  assertEquals(journalSum(desk.broker, ["us"]), cashOf(desk.broker, "us"));
  // The option expires in the following week, and leaves the account.
  desk.clock.set(Date.parse("2025-08-25T15:00:00Z"));
  const held = ask<Holding[]>(desk.broker, "account.holdings", { market: "us" });
  assertEquals(held.some((each) => each.symbol === symbol), false);
  assertEquals(journalSum(desk.broker, ["us"]), cashOf(desk.broker, "us"));
});

Deno.test("orders.place fills US market orders, and accepts orders before the open on request", () => {
  const desk = open(NEW_YORK);
  const order = {
    market: "us",
    symbol: "AAPL",
    orderType: "market",
    side: "buy",
    quantity: "10",
    price: "0",
  };
  place(desk, order);
  desk.clock.advance(2_000);
  assertEquals(today(desk, "us")[0]?.status, "filled");
  // Monday, six in the morning in New York.
  desk.clock.set(Date.parse("2025-08-18T10:00:00Z"));
  const limit = { ...order, orderType: "limit", price: add(desk.price("AAPL"), "5") };
  assertEquals(refusal(() => place(desk, limit)).text, "current time does not allow entrust");
  place(desk, { ...limit, tradingHours: "extended" });
  desk.clock.set(Date.parse("2025-08-18T13:31:00Z"));
  assertEquals(today(desk, "us")[0]?.status, "filled");
  // A resting order stays open after the close, until eight in the evening.
  const low = { ...limit, price: subtract(desk.price("AAPL"), "50"), tradingHours: "extended" };
  const resting = place(desk, low);
  desk.clock.set(Date.parse("2025-08-18T23:59:00Z"));
  assertEquals(today(desk, "us").at(-1)?.status, "accepted");
  desk.clock.set(Date.parse("2025-08-19T00:00:00Z"));
  desk.broker.settle();
  assertEquals(states(desk, resting), ["accepted", "cancelled"]);
});

Deno.test("futures.place opens and closes a position, with margin, profit and fees in cash", () => {
  const desk = open(MORNING);
  type Answer = { funds: Record<string, string>; holdings: FuturesHolding[] };
  const look = () => ask<Answer>(desk.broker, "futures.holdings", {});
  const symbol = shared.futureContracts(MORNING).find(({ product }) => product === "HHI")!.symbol;
  const before = look();
  const most = ask<Record<string, string>>(desk.broker, "futures.maxQuantity", { symbol });
  assertEquals(most.position, "no-position");
  const order = { symbol, orderType: "limit", validity: "day", quantity: "2" };
  const buy = { ...order, side: "buy", price: add(desk.price(symbol), "50") };
  const { orderId } = ask<{ orderId: string }>(desk.broker, "futures.place", buy);
  desk.clock.advance(5_000);
  const [fill] = ask<FuturesOrder[]>(desk.broker, "futures.fillsToday", {});
  assertEquals([fill?.orderId, fill?.filledQuantity], [orderId, "2"]);
  assertEquals(desk.pushes.at(-1)?.kind, "future");
  const held = look();
  assertEquals(held.holdings.find((each) => each.symbol === symbol)?.quantity, "2");
  // Fees of the contract: 12 commission, 3.50 exchange, 0.54 levy.
  assertEquals(subtract(before.funds.cash!, held.funds.cash!), "32.08");
  desk.clock.advance(HOUR);
  ask(desk.broker, "futures.place", { ...order, side: "sell", price: subtract(desk.price(symbol), "50") });
  desk.clock.advance(5_000);
  const [, sale] = ask<FuturesOrder[]>(desk.broker, "futures.fillsToday", {});
  const profit = multiply(subtract(sale!.fillPrice!, fill!.fillPrice!), "100");
  const after = look();
  assertEquals(subtract(after.funds.cash!, before.funds.cash!), subtract(`${profit}.00`, "64.16"));
  const resting = { ...buy, price: subtract(desk.price(symbol), "500") };
  const open2 = ask<{ orderId: string }>(desk.broker, "futures.place", resting);
  const { orderType: _, ...terms } = resting;
  ask(desk.broker, "futures.amend", { ...terms, orderId: open2.orderId, quantity: "1" });
  ask(desk.broker, "futures.cancel", { orderId: open2.orderId, symbol });
  const orders = ask<FuturesOrder[]>(desk.broker, "futures.ordersToday", {});
  assertEquals(orders.map(({ status }) => status), ["filled", "filled", "cancelled"]);
  ask(desk.broker, "futures.place", { ...resting, validity: "fill-or-cancel" });
  desk.clock.advance(2_000);
  assertEquals(ask<FuturesOrder[]>(desk.broker, "futures.ordersToday", {}).at(-1)?.status, "cancelled");
  desk.clock.set(Date.parse("2025-08-15T11:30:00Z"));
  const past = ask<{ rows: FuturesOrder[] }>(desk.broker, "futures.fillsHistory", {
    from: "2025-08-15",
    to: "2025-08-15",
  });
  assertEquals(past.rows.length, 2);
});

Deno.test("futures.place can sell short, and an open position is settled at the last day's last price", () => {
  const desk = open(MORNING);
  type Answer = { funds: Record<string, string>; holdings: FuturesHolding[] };
  const look = () => ask<Answer>(desk.broker, "futures.holdings", {});
  const cash = look().funds.cash!;
  const symbol = "HHI2508.HK";
  const order = { symbol, orderType: "market", price: "0", validity: "day", side: "sell", quantity: "3" };
  ask(desk.broker, "futures.place", order);
  desk.clock.advance(5_000);
  ask(desk.broker, "futures.place", { ...order, side: "buy", quantity: "1" });
  desk.clock.advance(5_000);
  const [sold, bought] = ask<FuturesOrder[]>(desk.broker, "futures.fillsToday", {});
  const held = look().holdings.find((each) => each.symbol === symbol);
  assertEquals([held?.quantity, held?.dayShortQuantity, held?.dayLongQuantity], ["-2", "3", "1"]);
  assertEquals(ask<Record<string, string>>(desk.broker, "futures.maxQuantity", { symbol }).position, "short");
  // Fifty dollars a point; fees of 16.04 a contract.
  const gain = multiply(subtract(sold!.fillPrice!, bought!.fillPrice!), "50");
  assertEquals(subtract(look().funds.cash!, cash), subtract(`${gain}.00`, "64.16"));

  // Thursday the 28th is also the last day of the mini contract, which the account bought in its generated past. One
  // point of this contract is worth ten dollars.
  const [mini] = look().holdings;
  assertEquals([mini?.symbol, mini?.quantity], ["MHI2508.HK", "1"]);
  desk.clock.set(Date.parse("2025-08-28T11:30:00Z"));
  const own = look();
  assertEquals(own.holdings, []);
  const closeOf = (contract: string) => shared.dayBar(contract, "2025-08-28")!.close;
  const settled = multiply(subtract(sold!.fillPrice!, closeOf(symbol)), "100");
  const miniProfit = multiply(subtract(closeOf("MHI2508.HK"), mini!.costPrice!), "10");
  assertEquals(subtract(own.funds.cash!, cash), subtract(add(`${gain}.00`, settled, miniProfit), "64.16"));
  assertEquals(own.funds.netAssets, own.funds.cash);
});

/** An account of futures that has bought one contract of `symbol` in its generated past. */
function futuresDesk() {
  const desk = open(MORNING);
  const symbol = "MHI2508.HK";
  // Far from the market, so that an order stays open.
  const far = { buy: subtract(desk.price(symbol), "900"), sell: add(desk.price(symbol), "900") };
  const place = (side: "buy" | "sell", quantity: number, more: object = {}) => {
    const order = { symbol, side, orderType: "limit", validity: "day", quantity: String(quantity) };
    return ask<{ orderId: string }>(desk.broker, "futures.place", { ...order, price: far[side], ...more })
      .orderId;
  };
  const trade = (side: "buy" | "sell", quantity: number) => {
    place(side, quantity, { orderType: "market", price: "0" });
    desk.clock.advance(60_000);
  };
  const most = () => {
    const { maxBuy, maxSell } = ask<Record<string, string>>(desk.broker, "futures.maxQuantity", { symbol });
    return { buy: Number(maxBuy), sell: Number(maxSell) };
  };
  const look = () =>
    ask<{ funds: Record<string, string>; holdings: FuturesHolding[] }>(desk.broker, "futures.holdings", {});
  const position = () => Number(look().holdings.find((each) => each.symbol === symbol)?.quantity ?? 0);
  const isRefused = (side: "buy" | "sell", quantity: number) =>
    refusal(() => place(side, quantity)).text === "insufficient margin for this order";
  return { desk, symbol, far, place, trade, most, look, position, isRefused };
}

Deno.test("futures.place accepts exactly the largest quantity of futures.maxQuantity, in one order or in many", () => {
  const positions: [traded: number, position: number][] = [[0, 1], [1, 2], [-1, 0], [-2, -1], [-5, -4]];
  for (const [traded, expected] of positions) {
    for (const side of ["buy", "sell"] as const) {
      const other = side === "buy" ? "sell" : "buy";
      const { place, trade, most, position, isRefused } = futuresDesk();
      if (traded !== 0) trade(traded > 0 ? "buy" : "sell", Math.abs(traded));
      assertEquals(position(), expected);
      const before = most();
      const closes = Math.max(0, side === "buy" ? -expected : expected);
      const opens = before[side] - closes;
      assert(opens > 20, `${opens}`);
      assert(isRefused(side, before[side] + 1));
      // The first orders close the position together; the others open one, and reserve its margin.
      for (let rest = before[side]; rest > 0; rest--) {
        assertEquals(most()[side], rest);
        assert(isRefused(side, rest + 1));
        place(side, 1);
      }
      assertEquals(most()[side], 0);
      assert(isRefused(side, 1));
      // The other side can still close, but not open.
      const otherCloses = Math.max(0, side === "buy" ? expected : -expected);
      assertEquals(most()[other], otherCloses);
      assert(isRefused(other, otherCloses + 1));
      if (otherCloses > 0) place(other, otherCloses);
      assertEquals(most()[other], 0);

      const whole = futuresDesk();
      if (traded !== 0) whole.trade(traded > 0 ? "buy" : "sell", Math.abs(traded));
      whole.place(side, before[side]);
      assertEquals(whole.most()[side], 0);
    }
  }
});

Deno.test("many futures orders that are all filled leave no more positions than the margin allows", () => {
  const { desk, symbol, place, most, look, position } = futuresDesk();
  const { sell } = most();
  const price = subtract(desk.price(symbol), "50");
  for (let index = 0; index < sell; index++) place("sell", 1, { price });
  assertEquals(refusal(() => place("sell", 1, { price })).text, "insufficient margin for this order");
  desk.clock.advance(30 * 60_000);
  assertEquals(position(), 1 - sell);
  assert(Number(look().funds.initialMargin) < 1_010_000, look().funds.initialMargin);
});

Deno.test("futures.amend needs margin for the contracts that it adds, beyond those that close the position", () => {
  const { desk, symbol, far, place, most, trade } = futuresDesk();
  trade("buy", 2);
  const { sell } = most();
  const [closing, opening] = [place("sell", 2), place("sell", 3)];
  const amend = (orderId: string, quantity: number) =>
    ask(desk.broker, "futures.amend", {
      orderId,
      symbol,
      side: "sell",
      validity: "day",
      quantity: String(quantity),
      price: far.sell,
    });
  for (const [orderId, other] of [[closing, 3], [opening, 2]] as const) {
    assertEquals(refusal(() => amend(orderId, sell - other + 1)).text, "insufficient margin for this order");
    amend(orderId, sell - other);
    assertEquals(most().sell, 0);
    amend(orderId, 5 - other);
    assertEquals(most().sell, sell - 5);
  }
});

Deno.test("an account without free margin can close its futures position and reduce its orders, but not open more", () => {
  const { desk, symbol, far, place, trade, most, look, position, isRefused } = futuresDesk();
  const { buy } = most();
  const orderId = place("buy", 2);
  trade("buy", buy - 2);
  const held = position();
  for (let minute = 0; minute < 240 && Number(look().funds.available) >= 0; minute++) {
    desk.clock.advance(60_000);
  }
  assert(held > 20 && Number(look().funds.available) < 0, look().funds.available); // the price has fallen
  assertEquals(most(), { buy: 0, sell: held });
  assert(isRefused("buy", 1) && isRefused("sell", held + 1));
  const terms = { orderId, symbol, side: "buy", validity: "day", price: far.buy };
  assertEquals(
    refusal(() => ask(desk.broker, "futures.amend", { ...terms, quantity: "3" })).text,
    "insufficient margin for this order",
  );
  place("sell", held);
  assertEquals(most(), { buy: 0, sell: 0 });
  ask(desk.broker, "futures.amend", { ...terms, quantity: "1" });
});

Deno.test("an index future trades until 16:00 on its last day, and on other days until 16:30", () => {
  const desk = open(Date.parse("2025-08-28T07:59:59Z"));
  const price = (symbol: string) =>
    String(Math.floor(Number(shared.lastPrice(symbol, desk.clock.now())) * 0.97));
  const buy = (symbol: string) =>
    ask(desk.broker, "futures.place", {
      symbol,
      orderType: "limit",
      price: price(symbol),
      validity: "day",
      side: "buy",
      quantity: "1",
    });
  buy("HHI2508.HK");
  desk.clock.set(Date.parse("2025-08-28T08:00:00Z"));
  assertEquals(refusal(() => buy("HHI2508.HK")).text, "current time does not allow entrust");
  desk.clock.set(Date.parse("2025-08-28T08:29:59Z"));
  buy("HHI2509.HK");
});

Deno.test("the orders of an index future end at 16:00 on its last day, and its positions are settled at that price", () => {
  const desk = open(Date.parse("2025-08-28T07:30:00Z"));
  const symbol = "HHI2508.HK";
  const order = { symbol, orderType: "limit", validity: "day", side: "buy", quantity: "1" };
  const far = String(Math.floor(Number(shared.lastPrice(symbol, desk.clock.now())) * 0.97));
  const place = (more: object) =>
    ask<{ orderId: string }>(desk.broker, "futures.place", { ...order, price: far, ...more }).orderId;
  place({ orderType: "market", price: "0" });
  const ends = [
    place({}),
    place({ session: "after-hours" }),
    place({ validity: "until-expiry" }),
    place({ validity: "until-date", validUntil: "2025-09-30", session: "after-hours" }),
  ];
  const lasts = place({ symbol: "HHI2509.HK" });
  const status = (id: string) =>
    ask<FuturesOrder[]>(desk.broker, "futures.ordersToday", {}).find(({ orderId }) => orderId === id)?.status;
  desk.clock.set(Date.parse("2025-08-28T07:59:59Z"));
  assertEquals([...ends, lasts].map(status), Array(5).fill("accepted"));
  desk.clock.set(Date.parse("2025-08-28T08:00:00Z"));
  assertEquals([...ends, lasts].map(status), [...Array(4).fill("cancelled"), "accepted"]);

  const [fill] = ask<FuturesOrder[]>(desk.broker, "futures.fillsToday", {});
  const cash = () => ask<{ funds: Record<string, string> }>(desk.broker, "futures.funds", {}).funds.cash!;
  const before = cash();
  desk.clock.set(Date.parse("2025-08-28T09:14:59Z"));
  assertEquals(cash(), before);
  desk.clock.set(Date.parse("2025-08-28T09:15:00Z"));
  const at16 = (of: string) => shared.lastPrice(of, Date.parse("2025-08-28T08:00:00Z"));
  const gain = multiply(subtract(at16(symbol), fill!.fillPrice!), "50");
  assertEquals(round(subtract(cash(), before), 2, "exact"), round(gain, 2, "exact"));
});

Deno.test("Broker reaches the same state however often it is queried in between", () => {
  const [eager, lazy] = [open(MORNING), open(MORNING)];
  const orders = [
    { ...tencent, side: "buy", quantity: "1200", price: "588" },
    { ...tencent, symbol: "09988.HK", side: "sell", quantity: "100", price: "119.5" },
  ];
  for (const desk of [eager, lazy]) for (const order of orders) place(desk, order);
  for (let second = 0; second < 5 * 60; second++) {
    eager.clock.advance(1_000 + second * 37);
    eager.broker.settle();
  }
  lazy.clock.set(eager.clock.now());
  assertEquals(today(lazy, "hk"), today(eager, "hk"));
  assertEquals(
    ask(lazy.broker, "fills.today", { market: "hk" }),
    ask(eager.broker, "fills.today", { market: "hk" }),
  );
  assertEquals(lazy.pushes, eager.pushes);
});

/** A small random generator, so a failure can be repeated with its seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const symbols: Record<Market, string[]> = {
  hk: ["00700.HK", "09988.HK", "00939.HK", "00823.HK"],
  us: ["AAPL", "MSFT"],
  shanghai: ["600036.SH", "601318.SH"],
  shenzhen: ["000333.SZ", "000858.SZ"],
};

Deno.test("Broker keeps cash, journal, fills and holdings consistent after days of random orders", () => {
  for (const seed of [3, 44, 505]) {
    const clock = new ManualClock(Date.parse("2025-08-13T00:30:00Z"));
    const broker = new Broker({ seed, clock, days: 5, market: shared, mostLots: { hk: 8 } });
    const next = chance(seed);
    const pick = <T>(values: readonly T[]) => values[Math.floor(next() * values.length)]!;
    let [placed, refusals] = [0, 0];
    for (let step = 0; step < 400; step++) {
      clock.advance(Math.floor(next() * 30 * 60_000));
      const market = pick(Object.keys(symbols) as Market[]); // the keys are the markets
      const symbol = pick(symbols[market]);
      const lot = shared.instrument(symbol)!.lotSize;
      const last = shared.lastPrice(symbol, clock.now());
      const tick = shared.tickSize(symbol, "2025-08-13", last);
      const price = add(last, multiply(tick, String(Math.floor(next() * 9) - 4)));
      const side = pick(["buy", "buy", "sell"] as const);
      const quantity = String(lot * (1 + Math.floor(next() * 12)));
      const open = ask<Order[]>(broker, "orders.today", { market, limit: 99 }).filter(({ canCancel }) =>
        canCancel
      );
      const { orderId, symbol: other } = open.length > 0 ? pick(open) : { orderId: "1", symbol };
      try {
        const act = next();
        if (act < 0.1) ask(broker, "orders.cancel", { market, symbol: other, orderId });
        else if (act < 0.2) ask(broker, "orders.amend", { market, symbol: other, orderId, quantity, price });
        else {
          ask(broker, "orders.place", {
            market,
            symbol,
            side,
            orderType: market === "hk" ? "special-limit" : "limit",
            quantity,
            price,
          });
          placed++;
        }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusals++;
      }
      for (const each of ["hk", "us", "shanghai"]) {
        const { available = "" } = ask<Funds>(broker, "account.funds", { market: each });
        assert(!available.startsWith("-"), `seed ${seed}, step ${step}: ${each} has ${available} available`);
      }
    }
    assert(placed > 30 && refusals > 30, `seed ${seed}: ${placed} placed, ${refusals} refused`);
    for (const purse of [["hk"], ["us"], ["shanghai", "shenzhen"]] as Market[][]) {
      assertEquals(journalSum(broker, purse), cashOf(broker, purse[0]!), `seed ${seed}`);
    }
    for (const market of Object.keys(symbols) as Market[]) { // the keys are the markets
      const held = new Map<string, Decimal>();
      for (const name of ["fills.history", "fills.today"] as const) {
        for (let cursor = "0";;) {
          const days = name === "fills.history" ? always : {};
          const rows = ask<Fill[]>(broker, name, { market, ...days, limit: 99, cursor });
          for (const { symbol, side, filledQuantity } of rows) {
            const before = held.get(symbol) ?? "0";
            held.set(symbol, side === "buy" ? add(before, filledQuantity) : subtract(before, filledQuantity));
          }
          if (rows.length < 99) break;
          cursor = rows.at(-1)?.cursor ?? "0";
        }
      }
      const shown = ask<Holding[]>(broker, "account.holdings", { market });
      const expected = [...held].filter(([, quantity]) => quantity !== "0");
      assertEquals(
        shown.map(({ symbol, quantity }) => `${symbol} ${quantity}`).sort(),
        expected.map(([symbol, quantity]) => `${symbol} ${quantity}`).sort(),
        `seed ${seed}`,
      );
    }
  }
});
