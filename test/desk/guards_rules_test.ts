/** Tests of single guard rails: values just within and just beyond each limit. */
import { assertEquals, assertRejects } from "@std/assert";
import { add } from "../../lib/decimal.ts";
import { buyingPower } from "../../lib/desk/guards/broker_figures.ts";
import { BrokerError } from "../../lib/errors.ts";
import {
  assertRefuses,
  check,
  type Earlier,
  MORNING,
  ORDER,
  quoteTime,
  US_MORNING,
} from "./guards_market.ts";

const SALE = { ...ORDER, side: "sell" } as const;
const AAPL = {
  market: "us",
  symbol: "AAPL",
  quantity: "100",
  price: "200",
  side: "buy",
  orderType: "limit",
} as const;
const STOP = {
  ...ORDER,
  orderType: "stop-loss-limit",
  triggerValue: "600",
  price: "601",
  validDays: 5,
} as const;
const FUTURE = {
  symbol: "HSI2508.HK",
  price: "25000",
  quantity: "2",
  side: "buy",
  orderType: "limit",
  validity: "day",
} as const;
const us = (quote: object = {}) => ({
  now: US_MORNING,
  market: { quote: { lastPrice: "200", lotSize: 1, marketTime: quoteTime(US_MORNING, "us"), ...quote } },
});
const mainland = (quantity: string, sellableQuantity = "1000000") => ({
  market: { quote: { lastPrice: "10" }, holding: { quantity, sellableQuantity } },
});

Deno.test("priceCollar compares a price with the other side of the order book too", async () => {
  // The last price allows 495 to 605.
  await check({ ...ORDER, price: "594" }, { market: { ask: "540" } });
  await assertRefuses(
    "priceCollar",
    { ...ORDER, price: "595" },
    { market: { ask: "540" } },
    "594",
    "(- / 540)",
  );
  await check({ ...SALE, price: "504" }, { market: { bid: "560" } });
  await assertRefuses(
    "priceCollar",
    { ...SALE, price: "503.5" },
    { market: { bid: "560" } },
    "504",
    "(560 / -)",
  );
  // An order that does not reach the other side of the book is compared only with the last price.
  await check({ ...ORDER, price: "495" }, { market: { bid: "540", ask: "541" } });
  await check({ ...SALE, price: "605" }, { market: { bid: "540", ask: "541" } });
});

Deno.test("priceCollar compares a conditional order with its trigger, and not with the market", async () => {
  const far = { market: { quote: { lastPrice: "300" }, ask: "300" } };
  await check(STOP, far);
  await check({ ...STOP, price: "660" }, far);
  await assertRefuses("priceCollar", { ...STOP, price: "660.5" }, far, "the trigger 600", "from 540 to 660");
});

Deno.test("priceCollar and the value limits apply to a trailing order at the market's price", async () => {
  // The trigger of a purchase would be 315 now, and that of a sale 285.
  const trailing = { ...STOP, orderType: "trailing-stop-limit", triggerValue: "5", trailBy: "percentage" };
  const market = { quote: { lastPrice: "300" } };
  await check({ ...trailing, price: "346.4" }, { market });
  await assertRefuses("priceCollar", { ...trailing, price: "346.6" }, { market }, "the trigger 315");
  const sale = { ...trailing, side: "sell", triggerValue: "15", trailBy: "spread" };
  await check({ ...sale, price: "256.6" }, { market });
  await assertRefuses("priceCollar", { ...sale, price: "256.4" }, { market }, "the trigger 285");
  // However low its price is, a sale fills at the market's price.
  const off = { market, limits: { priceCollar: "off", maxOrderValue: "30000 HKD" } };
  await check({ ...sale, price: "0.01" }, off);
  const less = { market, limits: { priceCollar: "off", maxOrderValue: "29999 HKD" } };
  await assertRefuses("maxOrderValue", { ...sale, price: "0.01" }, less, "30000 HKD");
  const terms = await check({ ...sale, price: "0.01" }, off);
  assertEquals(terms?.reference, "300");
  // When a later order is checked, this sale counts with the same price.
  const earlier = [intent({ ...sale, price: "0.01" }, { reference: "300" })];
  await check(ORDER, { earlier, limits: { maxDayValue: "85000 HKD" } });
  await assertRefuses("maxDayValue", ORDER, { earlier, limits: { maxDayValue: "84999 HKD" } }, "85000 HKD");
  // Without a quote, nothing is known about its value. Without value limits, that does not matter.
  const none = { priceCollar: "off", maxOrderValue: "off", maxSymbolValue: "off", maxDayValue: "off" };
  await check(sale, { market: { quote: null }, limits: { ...none, quoteMaxAge: "off" } });
  const unquoted = { ...less, market: { quote: null } };
  await assertRefuses("maxOrderValue", sale, unquoted, "the order follows the market");
});

Deno.test("with the collar off, a sale counts with the market's price, and a stop order with its trigger", async () => {
  const market = { quote: { lastPrice: "550" } };
  const limits = (most: string) => ({ priceCollar: "off", maxOrderValue: `${most} HKD` });
  await check({ ...SALE, price: "1" }, { market, limits: limits("55000") });
  await assertRefuses("maxOrderValue", { ...SALE, price: "1" }, { market, limits: limits("54999") }, "55000");
  await check({ ...ORDER, price: "1" }, { market, limits: limits("100") });
  const stop = { ...STOP, side: "sell", triggerValue: "500", price: "1" };
  await check(stop, { market, limits: limits("55000") });
  await assertRefuses("maxOrderValue", stop, { market, limits: limits("49999") }, "HKD");
});

Deno.test("tick: the trigger of an order with a price must be a multiple of the tick size too", async () => {
  await check({ ...STOP, triggerValue: "600.5" });
  await assertRefuses("tick", { ...STOP, triggerValue: "600.3" }, {}, "the trigger 600.3", "600 and 600.5");
});

Deno.test("priceCollar refuses a trigger that the market has reached, because the order would trade at once", async () => {
  const market = { quote: { lastPrice: "550" } };
  for (
    const [side, orderType, waits, reached] of [
      ["buy", "stop-loss-limit", "551", "550"],
      ["buy", "take-profit-limit", "549", "550"],
      ["sell", "stop-loss-limit", "549", "600"],
      ["sell", "take-profit-limit", "551", "1"],
    ] as const
  ) {
    const order = { ...STOP, side, orderType };
    await check({ ...order, triggerValue: waits, price: waits }, { market });
    const what = [
      `the last price 550 has already reached the trigger ${reached}`,
      "above 550",
      "below 550",
    ] as const;
    const helps = waits > "550" ? what[1] : what[2];
    await assertRefuses(
      "priceCollar",
      { ...order, triggerValue: reached, price: reached },
      { market },
      what[0],
      helps,
    );
  }
  // A trailing order has no trigger price. An amendment may keep a trigger that the market has reached since the order.
  await check(
    { ...STOP, orderType: "trailing-stop-limit", price: "560", triggerValue: "5", trailBy: "spread" },
    { market },
  );
  const row = {
    orderId: "7",
    symbol: "00700.HK",
    side: "buy",
    quantity: "100",
    price: "500",
    triggerValue: "500",
  };
  const orders = [{ ...row, orderType: "stop-loss-limit" }];
  const amend = {
    market: "hk",
    symbol: "00700.HK",
    orderId: "7",
    quantity: "200",
    orderType: "stop-loss-limit",
  };
  await check({ ...amend, price: "510" }, { operation: "orders.amend", orders, market });
  const moved = { ...amend, price: "510", triggerValue: "505" };
  await assertRefuses(
    "priceCollar",
    moved,
    { operation: "orders.amend", orders, market },
    "reached the trigger 505",
  );
});

Deno.test("with the collar off, an order whose trigger is reached counts with the last price", async () => {
  const limits = { priceCollar: "off", maxOrderValue: "50000 HKD" };
  const market = { quote: { lastPrice: "550" } };
  const { price: _, ...stop } = { ...STOP, orderType: "stop-loss-market", triggerValue: "1" };
  await assertRefuses("maxOrderValue", stop, { limits, market }, "55000 HKD");
  await check({ ...stop, orderType: "take-profit-market" }, { limits, market });
});

Deno.test("an amendment that names another listing, order type or side than its order is refused", async () => {
  const row = {
    orderId: "7",
    symbol: "00700.HK",
    side: "buy",
    quantity: "100",
    price: "550",
    orderType: "limit",
  };
  const amend = { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "100", price: "550" };
  const wanted = { operation: "orders.amend", orders: [row] };
  await check(amend, wanted);
  await check({ ...amend, symbol: "700.HK", orderType: "limit" }, wanted);
  for (const orderType of ["market", "stop-loss-limit", "odd-lot", "dark-pool"]) {
    const other = { ...amend, orderType, price: "5500", triggerValue: "5500" };
    await assertRefuses("amended-order", other, wanted, `is "limit", and the amendment says "${orderType}"`);
  }
  await assertRefuses("amended-order", { ...amend, symbol: "00005.HK" }, wanted, '"00005.HK"', '"00700.HK"');
  const future = { orderId: "7", symbol: "HSI2508.HK", side: "sell", quantity: "1", price: "25000" };
  const amendFuture = { ...FUTURE, orderId: "7" };
  const futures = { operation: "futures.amend", orders: [future], market: { quote: { lastPrice: "25000" } } };
  await assertRefuses("amended-order", amendFuture, futures, 'the side of order 7 is "sell"', '"buy"');
  // The broker itself decides whether a sale opens a short position.
  await check({ ...amendFuture, side: "sell" }, { ...futures, orders: [{ ...future, side: "short-open" }] });
  // Control: a list that does not show the type.
  await check({ ...amend, orderType: "enhanced-limit" }, {
    ...wanted,
    orders: [{ ...row, orderType: undefined }],
  });
});

Deno.test("priceCollar compares an amendment of a conditional order with the order's present trigger", async () => {
  const row = { orderId: "7", symbol: "00700.HK", side: "buy", quantity: "100", price: "601" };
  const amend = { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "100" };
  const wanted = (orderType: string, triggerValue: string) => ({
    operation: "orders.amend",
    orders: [{ ...row, orderType, triggerValue }],
    market: { quote: { lastPrice: "300" } },
  });
  await check({ ...amend, price: "660" }, wanted("stop-loss-limit", "600"));
  await assertRefuses(
    "priceCollar",
    { ...amend, price: "660.5" },
    wanted("stop-loss-limit", "600"),
    "trigger 600",
  );
  // If the amendment names a trigger, that trigger counts. The trigger of a trailing order is not a price.
  await check({ ...amend, price: "660.5", triggerValue: "601" }, wanted("stop-loss-limit", "600"));
  const trailing = wanted("trailing-stop-limit", "5");
  const spread = { ...trailing, orders: trailing.orders.map((order) => ({ ...order, trailBy: "spread" })) };
  await check({ ...amend, price: "335.4", triggerValue: "5" }, spread);
  await assertRefuses("priceCollar", { ...amend, price: "335.6", triggerValue: "5" }, spread, "trigger 305");
});

Deno.test("priceCollar compares a market order with the book that it would meet", async () => {
  const order = { ...AAPL, orderType: "market", price: "0" } as const;
  const at = (book: object) => ({ now: US_MORNING, market: { ...us().market, ...book } });
  await check(order, at({ ask: "220" }));
  await assertRefuses("priceCollar", order, at({ ask: "220.01" }), "the price 220.01", "last price 200");
  await assertRefuses("priceCollar", { ...order, side: "sell" }, at({ bid: "179.99" }), "179.99");
});

Deno.test("without a quote, each rule says what to do: turn the limit off, and for an order without a price also send a limit order", async () => {
  const none = { quote: null };
  const limits = { quoteMaxAge: "off" };
  await assertRefuses(
    "quoteMaxAge",
    ORDER,
    { market: none },
    'set quoteMaxAge to "off" to skip this check',
  );
  await assertRefuses(
    "priceCollar",
    ORDER,
    { limits, market: none },
    'set priceCollar to "off" to skip this check',
  );
  await check(ORDER, { limits: { ...limits, priceCollar: "off" }, market: none });
  const market = { ...AAPL, orderType: "market", price: "0" } as const;
  const at = { now: US_MORNING, market: none };
  await assertRefuses("quoteMaxAge", market, at, 'send a limit order with quoteMaxAge set to "off"');
  await assertRefuses(
    "priceCollar",
    market,
    { ...at, limits },
    'send a limit order with priceCollar set to "off"',
  );
  // Turning the collar off does not help an order without a price, because other rules need its price too.
  const off = { ...limits, priceCollar: "off" };
  const [what, helps] = [
    'the order has no price, and the broker sent no price of "AAPL"',
    "send a limit order",
  ];
  await assertRefuses("buyingPower", market, { ...at, limits: off }, what, helps);
  await assertRefuses(
    "maxOrderValue",
    market,
    { ...at, limits: { ...off, maxOrderValue: "1 USD" } },
    what,
    helps,
  );
  await assertRefuses("maxDayValue", { ...market, side: "sell" }, { ...at, limits: off }, what, helps);
  await check({ ...market, orderType: "limit", price: "200" }, { ...at, limits: off });
});

Deno.test("lot: the quantities that each market accepts", async () => {
  const odd = { ...ORDER, orderType: "odd-lot" } as const;
  await check({ ...odd, quantity: "99" });
  await assertRefuses("lot", odd, {}, "less than 100", "99");
  await assertRefuses("lot", { ...odd, quantity: "0.5" }, {}, "a whole number");
  await check({ ...AAPL, quantity: "7" }, us());
  await assertRefuses("lot", { ...AAPL, quantity: "7.5" }, us(), "7 and 8");
  // Without a quote and without reference data, the guard knows only that the quantity must be a whole number.
  const unknown = { ...ORDER, symbol: "09876.HK" };
  const unquoted = { limits: { quoteMaxAge: "off", priceCollar: "off" }, market: { quote: null } };
  await check({ ...unknown, quantity: "7" }, unquoted);
  await assertRefuses("lot", { ...unknown, quantity: "7.5" }, unquoted, "7 and 8");
});

Deno.test("lot: on the mainland, an odd lot is allowed only in a sale of all shares beyond the whole lots, and STAR stocks trade from 200 shares", async () => {
  const maotai = { ...SALE, market: "shanghai", symbol: "600519.SH", price: "10" } as const;
  await check({ ...maotai, quantity: "250" }, mainland("350", "350"));
  await check({ ...maotai, quantity: "50" }, mainland("350", "350"));
  await assertRefuses("lot", { ...maotai, quantity: "251" }, mainland("350", "350"), "200 and 300");
  await assertRefuses(
    "lot",
    { ...maotai, quantity: "150", side: "buy" },
    mainland("350", "350"),
    "100 and 200",
  );
  const star = { ...maotai, symbol: "688981.SH", side: "buy" } as const;
  await check({ ...star, quantity: "201" }, mainland("0"));
  await assertRefuses("lot", { ...star, quantity: "199" }, mainland("0"), "200 or more");
});

Deno.test("quoteMaxAge: the time of a quote may be before or after the broker's time by at most the limit", async () => {
  const at = (ms: number) => ({ market: { quote: { marketTime: quoteTime(MORNING + ms) } } });
  await check(ORDER, at(-60_000));
  await assertRefuses("quoteMaxAge", ORDER, at(-61_000), "61 s old", "at most 60 s");
  await check(ORDER, at(60_000));
  await assertRefuses("quoteMaxAge", ORDER, at(61_000), "61 s ahead");
  await check(ORDER, { ...at(-61_000), limits: { quoteMaxAge: "2m" } });
  await assertRefuses("quoteMaxAge", ORDER, { market: { quote: { marketTime: "" } } }, "with a time");
  // The broker's clock counts: this machine's clock is two minutes slow.
  await assertRefuses("quoteMaxAge", ORDER, { ...at(-1_000), aheadMs: 120_000 }, "121 s old");
  await check(ORDER, { ...at(-120_000), aheadMs: -120_000 });
});

Deno.test("quoteMaxAge: while the market does not trade, its last quote stays current", async () => {
  const auction = { ...ORDER, orderType: "auction-limit" } as const;
  const before = { now: Date.parse("2025-08-15T09:05:00+08:00") };
  const quoted = (time: string) => ({ ...before, market: { quote: { marketTime: time } } });
  await check(auction, quoted("20250814160000"));
  await assertRefuses("quoteMaxAge", auction, quoted("20250814155859"), "61 s old");
});

Deno.test("session: a suspended listing and a day without a calendar are refused; a conditional order passes on a Saturday", async () => {
  await assertRefuses("session", ORDER, { market: { quote: { isSuspended: true } } }, "suspended");
  await assertRefuses(
    "session",
    ORDER,
    { now: Date.parse("2101-08-15T10:30:00+08:00") },
    "hsgate calendar update",
  );
  await check(STOP, { now: Date.parse("2025-08-16T10:30:00+08:00") });
});

const buying = (maxBuy: string, more: object = {}) => ({
  market: { maxBuy, ...more },
  limits: { priceCollar: "off" },
});
const intent = (params: object, more: Partial<Earlier> = {}): Earlier => ({ params, ...more });

Deno.test("buyingPower: an order may use the broker's figure, and not one lot more", async () => {
  await check({ ...ORDER, quantity: "300" }, buying("300"));
  await assertRefuses("buyingPower", { ...ORDER, quantity: "400" }, buying("300"), "largest quantity is 300");
  await assertRefuses("buyingPower", ORDER, buying("0"), "no quantity can be bought");
  await check({ ...STOP, quantity: "400" }, buying("300"));
  await check({ ...SALE, quantity: "400" }, buying("300"));
});

Deno.test("buyingPower: orders that may be missing from the broker's figure are subtracted, with their fees", async () => {
  const other = { ...ORDER, quantity: "100", price: "550" };
  for (const state of ["planned", "approved", "sent", "unknown"] as const) {
    const wanted = { ...buying("300"), earlier: [intent(other, { state })] };
    // Each order pays a fixed platform fee of 15. So 300 shares in two orders cost 15 more than in one order, which is
    // more than the broker's figure.
    await check(ORDER, wanted);
    await assertRefuses(
      "buyingPower",
      { ...ORDER, quantity: "200" },
      wanted,
      "largest quantity is 100",
      "with fees",
    );
    await check({ ...ORDER, quantity: "200" }, { ...buying("400"), earlier: [intent(other, { state })] });
  }
  await check({ ...ORDER, quantity: "300" }, { ...buying("300"), earlier: [intent(other)] });
  // Other markets have their own cash, and a sale needs none.
  const elsewhere = [intent(AAPL, { state: "sent" }), intent({ ...other, side: "sell" }, { state: "sent" })];
  await check({ ...ORDER, quantity: "300" }, { ...buying("300"), earlier: elsewhere });
  // An order at the market's price counts with the price at which it was checked.
  const atMarket = intent({ ...other, orderType: "auction", price: "0" }, {
    state: "sent",
    reference: "1100",
  });
  await assertRefuses(
    "buyingPower",
    ORDER,
    { ...buying("300"), earlier: [atMarket] },
    "no quantity can be bought",
  );
});

Deno.test("buyingPower: the quantity that a refusal names passes, and one lot more does not", async () => {
  for (const maxBuy of ["1000", "100000000"]) {
    const wanted = { ...buying(maxBuy), earlier: [intent(ORDER, { state: "sent" })] };
    const error = await assertRejects(
      () => check({ ...ORDER, quantity: add(maxBuy, "100") }, wanted),
      BrokerError,
    );
    const [, largest = ""] = /the largest quantity is (\d+)$/.exec(error.message) ?? [];
    await check({ ...ORDER, quantity: largest }, wanted);
    await assertRefuses("buyingPower", { ...ORDER, quantity: add(largest, "100") }, wanted, `is ${largest}`);
  }
});

Deno.test("buyingPower: open orders in the lists count, less the funds that the broker has already frozen for orders", async () => {
  const open = {
    orderId: "7",
    symbol: "00700.HK",
    side: "buy",
    quantity: "200",
    price: "550",
    filled: "100",
  };
  const wanted = (frozenByOrders: string, rows: object[] = [open]) => ({
    ...buying("300", { frozenByOrders }),
    orders: rows as [typeof open],
  });
  await check({ ...ORDER, quantity: "300" }, wanted("55000"));
  await assertRefuses(
    "buyingPower",
    { ...ORDER, quantity: "300" },
    wanted("54999.99"),
    "largest quantity is 200",
  );
  await assertRefuses("buyingPower", { ...ORDER, quantity: "200" }, wanted("0"), "largest quantity is 100");
  await check({ ...ORDER, quantity: "300" }, wanted("0", [{ ...open, state: "cancelled" }]));
  await check({ ...ORDER, quantity: "300" }, wanted("0", [{ ...open, side: "sell" }]));
});

Deno.test("buyingPower and allowShort: an amendment may use what its order already uses", async () => {
  const before = { orderId: "7", symbol: "00700.HK", quantity: "300", price: "550", side: "buy" };
  const amend = { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "400", price: "550" };
  const wanted = (orders: object, market: object) => ({
    operation: "orders.amend",
    orders: [{ ...before, ...orders }],
    market: { frozenByOrders: "1000000", ...market },
  });
  await check(amend, wanted({}, { maxBuy: "100" }));
  await assertRefuses("buyingPower", { ...amend, quantity: "500" }, wanted({}, { maxBuy: "100" }), "is 400");
  // An order that has ended uses nothing any more.
  await assertRefuses("buyingPower", amend, wanted({ state: "cancelled" }, { maxBuy: "100" }), "is 100");
  // The filled part is already paid for, or already sold.
  await check(amend, wanted({ filled: "200" }, { maxBuy: "100" }));
  const held = (sellableQuantity: string) => ({ holding: { quantity: "400", sellableQuantity } });
  await check(amend, wanted({ side: "sell" }, held("100")));
  await assertRefuses("allowShort", amend, wanted({ side: "sell" }, held("0")), "quantity is 300");
  await check({ ...amend, quantity: "300" }, wanted({ side: "sell", filled: "200" }, held("0")));
  await assertRefuses(
    "allowShort",
    amend,
    wanted({ side: "sell", filled: "200" }, held("0")),
    "quantity is 300",
  );
});

Deno.test("allowShort: unresolved sales count, and a conditional sale may use the whole holding", async () => {
  const market = { holding: { quantity: "500", sellableQuantity: "300" } };
  await check({ ...SALE, quantity: "300" }, { market });
  await assertRefuses("allowShort", { ...SALE, quantity: "400" }, { market }, "quantity is 300");
  const earlier = [intent(SALE, { state: "unknown" })];
  await check({ ...SALE, quantity: "200" }, { market, earlier });
  await assertRefuses("allowShort", { ...SALE, quantity: "300" }, { market, earlier }, "quantity is 200");
  await check({ ...SALE, quantity: "300" }, { market, earlier: [intent(SALE)] });
  const stop = { ...STOP, side: "sell", triggerValue: "500", price: "490" } as const;
  await check({ ...stop, quantity: "500" }, { market, earlier });
  await assertRefuses("allowShort", { ...stop, quantity: "600" }, { market, earlier }, "quantity is 500");
  await check({ ...SALE, quantity: "400" }, { market, limits: { allowShort: "allow" } });
});

Deno.test("futures: the checks compare contracts, open sales and values with their limits", async () => {
  const place = { operation: "futures.place" };
  const quote = { lastPrice: "25000" };
  await check(FUTURE, { ...place, market: { quote, contracts: "2" } });
  await assertRefuses("buyingPower", FUTURE, { ...place, market: { quote, contracts: "1" } }, "is 1");
  const sale = { ...FUTURE, side: "sell" } as const;
  const market = { quote, holding: { quantity: "2", sellableQuantity: "2" } };
  await check(sale, { ...place, market });
  const open = { orderId: "7", symbol: "HSI2508.HK", side: "sell", quantity: "1" };
  await assertRefuses("allowShort", sale, { ...place, market, orders: [open] }, "quantity is 1");
  const pending = [intent(sale, { operation: "futures.place", state: "unknown" })];
  await assertRefuses("allowShort", sale, { ...place, market, earlier: pending }, "nothing can be sold");
  // A point of the Hang Seng index is worth 50 dollars.
  await check(FUTURE, { ...place, market: { quote }, limits: { maxOrderValue: "2500000 HKD" } });
  await assertRefuses("maxOrderValue", FUTURE, {
    ...place,
    market: { quote },
    limits: { maxOrderValue: "2499999 HKD" },
  }, "2500000 HKD");
  const limits = { maxDayValue: "2500000 HKD" };
  const earlier = [intent({ ...FUTURE, quantity: "1" }, { operation: "futures.place" })];
  await check({ ...FUTURE, quantity: "1" }, { ...place, market: { quote }, limits, earlier });
  await assertRefuses("maxDayValue", FUTURE, { ...place, market: { quote }, limits, earlier }, "is 1");
  await assertRefuses("maxDayValue", { ...FUTURE, quantity: "1" }, {
    ...place,
    market: { quote },
    limits: { maxDayValue: "2499999 HKD" },
    earlier,
  }, "with 1250000 of earlier orders");
  const unknown = { ...FUTURE, symbol: "XXX2508.HK" };
  await assertRefuses(
    "maxDayValue",
    unknown,
    { ...place, market: { quote }, limits },
    "worth",
    'value limits "off"',
  );
});

Deno.test("maxVolumeShare compares the quantity with the average volume", async () => {
  const limits = { maxVolumeShare: "1%" };
  const market = { volumes: ["10000", "30000"] };
  await check({ ...ORDER, quantity: "200" }, { limits, market });
  await assertRefuses("maxVolumeShare", { ...ORDER, quantity: "300" }, { limits, market }, "20000", "is 200");
  // Only the last 20 days before today count.
  const old = { volumes: [...Array(5).fill("1000000"), ...Array(20).fill("20000")] };
  await check({ ...ORDER, quantity: "200" }, { limits, market: old });
  await assertRefuses(
    "maxVolumeShare",
    { ...ORDER, quantity: "300" },
    { limits, market: old },
    "20000",
    "20 days",
  );
  const today = {
    now: Date.parse("2025-07-02T10:30:00+08:00"),
    limits,
    market: { volumes: ["20000", "1000000"] },
  };
  await assertRefuses("maxVolumeShare", { ...ORDER, quantity: "300" }, today, "20000", "of 1 days");
  await assertRefuses("maxVolumeShare", ORDER, { limits }, 'set maxVolumeShare to "off" to skip this check');
});

Deno.test("allowedSymbols: a listed code passes; a part of it, another code and the amendment of another listing are refused", async () => {
  const limits = { allowedSymbols: "00005.HK, AAPL,00700.HK, HSI2508.HK" };
  await check(ORDER, { limits });
  await check(AAPL, { ...us(), limits });
  const place = { operation: "futures.place", market: { quote: { lastPrice: "25000" } } };
  await check(FUTURE, { ...place, limits });
  const list = '" is not in the list; allowed are 00005.HK, AAPL, 00700.HK, HSI2508.HK';
  for (const symbol of ["A", "AAP", "MSFT"]) {
    await assertRefuses("allowedSymbols", { ...AAPL, symbol }, { ...us(), limits }, `"${symbol}${list}`);
  }
  const other = { ...FUTURE, symbol: "HHI2508.HK" };
  await assertRefuses("allowedSymbols", other, { ...place, limits }, `"HHI2508.HK${list}`);
  // An amendment without a symbol has the listing of its order.
  const amend = { market: "hk", orderId: "7", price: "550" };
  const shown = { orderId: "7", market: "hk", side: "buy", quantity: "100", price: "500" };
  const amending = (symbol: string) => ({ operation: "algo.amend", orders: [{ ...shown, symbol }], limits });
  await check(amend, amending("00700.HK"));
  await assertRefuses("allowedSymbols", amend, amending("00388.HK"), `"00388.HK${list}`);
  // Without the limit, every listing may be traded.
  await check({ ...AAPL, symbol: "MSFT" }, { ...us(), limits: { allowedSymbols: "off" } });
});

Deno.test("liveTrading refuses also an amendment that changes neither quantity nor price", async () => {
  const action = { market: "hk", orderId: "7", action: "pause" };
  const wanted = { operation: "algo.act", limits: { liveTrading: "refuse" } };
  await assertRefuses("liveTrading", action, wanted, 'set liveTrading to "allow"');
  await check(action, { operation: "algo.act" });
});

Deno.test("maxSymbolValue: all forms of a code are one listing, and other listings do not count", async () => {
  const limits = { maxSymbolValue: "30000 USD" };
  for (const [symbol, other] of [["AAPL", "AAPL.US"], ["AAPL.US", "AAPL"]] as const) {
    const earlier = [
      intent({ ...AAPL, symbol: other }),
      intent({ ...AAPL, symbol: "MSFT", quantity: "1000" }),
    ];
    await check({ ...AAPL, symbol, quantity: "50" }, { ...us(), limits, earlier });
    await assertRefuses(
      "maxSymbolValue",
      { ...AAPL, symbol, quantity: "51" },
      { ...us(), limits, earlier },
      "is 50",
    );
  }
});

Deno.test("maxDayValue: orders of today in the currency count unless the broker rejected them", async () => {
  const limits = { maxDayValue: "110000 HKD, 30000 USD" };
  const full = { ...ORDER, quantity: "200" };
  await check(full, { limits });
  await assertRefuses("maxDayValue", full, { limits, earlier: [intent(ORDER)] }, "165000 HKD", "is 100");
  await check(full, { limits, earlier: [intent(ORDER, { state: "rejected" })] });
  await check(full, { limits, earlier: [intent(AAPL)] });
  // The day of the market counts: yesterday evening does not, and this morning does.
  const midnight = Date.parse("2025-08-15T00:00:00+08:00");
  await check(full, { limits, earlier: [intent(ORDER, { at: midnight - 1 })] });
  await assertRefuses("maxDayValue", full, { limits, earlier: [intent(ORDER, { at: midnight })] });
});

Deno.test("maxDayValue: an order that the broker rejected only in part counts in full, like one that was cancelled in part", async () => {
  const earlier = [intent(ORDER, { state: "rejected", filled: "40" })];
  for (const name of ["maxDayValue", "maxSymbolValue"]) {
    await check(ORDER, { limits: { [name]: "110000 HKD" }, earlier });
    await assertRefuses(name, ORDER, { limits: { [name]: "109999 HKD" }, earlier }, "with 55000 of earlier");
  }
});

Deno.test("maxDayValue: neither cancellations nor orders of other accounts count, and the time of sending decides the day", async () => {
  const limits = { maxDayValue: "110000 HKD" };
  const full = { ...ORDER, quantity: "200" };
  const cancellation: Earlier = {
    kind: "cancel",
    operation: "orders.cancel",
    params: { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "100", price: "550" },
    orderIds: ["7"],
  };
  await check(full, { limits, earlier: [cancellation, intent(ORDER, { account: "other" })] });
  const midnight = Date.parse("2025-08-15T00:00:00+08:00");
  const minute = 60_000;
  const late = intent(ORDER, { plannedAt: midnight - 50 * minute, at: midnight + minute });
  await assertRefuses("maxDayValue", full, { limits, earlier: [late] }, "with 55000");
  // The broker's clock is two hours ahead of this machine's clock, and already shows the next day.
  const stop = { ...STOP, price: "600" };
  const clocks = {
    limits: { maxDayValue: "115000 HKD" },
    now: midnight - 60 * minute,
    aheadMs: 120 * minute,
  };
  await check(stop, { ...clocks, earlier: [intent(ORDER, { at: midnight - 121 * minute })] });
  await check(stop, { ...clocks, earlier: [intent(ORDER, { at: midnight - 119 * minute })] });
  const less = { ...clocks, limits: { maxDayValue: "114999 HKD" } };
  await check(stop, { ...less, earlier: [intent(ORDER, { at: midnight - 121 * minute })] });
  await assertRefuses("maxDayValue", stop, {
    ...less,
    earlier: [intent(ORDER, { at: midnight - 119 * minute })],
  });
});

Deno.test("maxDayValue: an order counts on its day at the broker, also if this machine's clock was days behind", async () => {
  const full = { ...ORDER, quantity: "200" };
  const DAY = 86_400_000;
  const behind = intent(ORDER, { at: MORNING - 2 * DAY, brokerAt: MORNING - 60_000 });
  const limits = { maxDayValue: "110000 HKD" };
  await assertRefuses("maxDayValue", full, { limits, earlier: [behind] }, "with 55000");
  // Control: an order of the day before, by the broker's clock, was sent while this machine's clock was a day ahead.
  const ahead = intent(ORDER, { at: MORNING - 60_000, brokerAt: MORNING - DAY });
  await check(full, { limits, earlier: [ahead] });
});

Deno.test("values count in the currency of the listing, and for all shares of an option contract", async () => {
  const limits = { maxOrderValue: "60000 HKD, 1000 USD" };
  await check(ORDER, { limits });
  await assertRefuses("maxOrderValue", { ...ORDER, symbol: "80700.HK" }, { limits }, "no amount in CNY");
  const option = { ...AAPL, symbol: "AAPL250919C2300000", price: "5", quantity: "2" };
  const quoted = us({ lastPrice: "5" });
  await check(option, { ...quoted, limits });
  await assertRefuses(
    "maxOrderValue",
    { ...option, quantity: "3" },
    { ...quoted, limits },
    "1500 USD",
    "is 2",
  );
});

Deno.test("a quote without a last price counts with the close of the day before", async () => {
  const quote = { lastPrice: "0", previousClose: "500" };
  await check({ ...ORDER, price: "550" }, { market: { quote } });
  await assertRefuses("priceCollar", { ...ORDER, price: "550.5" }, { market: { quote } }, "last price 500");
});

Deno.test("tick: each kind of listing has its own steps", async () => {
  const limits = { priceCollar: "off" };
  const of = (type: string) => ({
    limits,
    market: { quote: { security: { type, symbol: "09876.HK" } as never } },
  });
  const at = (price: string) => ({ ...ORDER, symbol: "09876.HK", price });
  await check(at("60.02"), of("hk-etf"));
  await assertRefuses("tick", at("60.02"), of("hk-stock"), "60 and 60.05");
  await check(at("30.02"), of("hk-stock"));
  await assertRefuses("tick", at("30.02"), of("hk-warrant"), "30 and 30.05");
  await assertRefuses("tick", at("30.02"), of("hk-cbbc"), "30 and 30.05");
  // There is no price of zero.
  await assertRefuses("tick", at("0.0004"), of("hk-stock"), "0.001 and 0.001");
  const option = { ...AAPL, symbol: "AAPL250919C2300000", quantity: "1" };
  const optionAt = { ...us({ lastPrice: "5" }), limits };
  await check({ ...option, price: "5.05" }, optionAt);
  await check({ ...option, price: "2.98" }, optionAt);
  await assertRefuses("tick", { ...option, price: "5.02" }, optionAt, "5 and 5.05");
});

Deno.test("maxDayValue: an order without a price counts with the price at which it was checked", async () => {
  const limits = { maxDayValue: "30000 USD" };
  const market = { ...AAPL, orderType: "market", price: "0" } as const;
  assertEquals(await check(market, us()), { reference: "200" });
  assertEquals(await check(market, { ...us(), market: { ...us().market, ask: "201" } }), {
    reference: "201",
  });
  const earlier = [intent(market, { reference: "250" })];
  await check({ ...AAPL, quantity: "25" }, { ...us(), limits, earlier });
  await assertRefuses("maxDayValue", { ...AAPL, quantity: "26" }, { ...us(), limits, earlier }, "is 25");
  // A record without that price counts with the quote.
  await assertRefuses("maxDayValue", { ...AAPL, quantity: "51" }, {
    ...us(),
    limits,
    earlier: [intent(market)],
  });
});

Deno.test("maxDayValue: an amendment of an older order counts with the terms that it did not change", async () => {
  const limits = { maxDayValue: "110000 HKD" };
  const shown = {
    orderId: "7",
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    quantity: "100",
    price: "500",
  };
  const amend = { market: "hk", orderId: "7", price: "550" };
  const older = { operation: "algo.amend", orders: [shown] };
  const recorded = await check(amend, { ...older, limits });
  assertEquals(recorded, { symbol: "00700.HK", quantity: "100" });
  const full = { ...ORDER, quantity: "200" };
  const earlier = [intent(amend, { kind: "amend", operation: "algo.amend", orderIds: ["7"], ...recorded })];
  await assertRefuses("maxDayValue", full, { limits, earlier }, "with 55000", "is 100");
});

Deno.test("maxDayValue: the day of an amendment that names no market is the day of the order's market", async () => {
  // It is tomorrow in Hong Kong already.
  const now = Date.parse("2025-08-15T13:00:00-04:00");
  const earlier = [intent({ ...AAPL, quantity: "50" }, { at: US_MORNING - 3_600_000, orderIds: ["9"] })];
  const value = Number(AAPL.price) * 61;
  const orders = [{ ...AAPL, orderId: "7", lists: ["algo.list"] }];
  const quoted = us({ marketTime: quoteTime(now, "us") });
  const write = { ...quoted, operation: "algo.amend", earlier, orders, now };
  const amendment = { orderId: "7", quantity: "11" };
  await check(amendment, { ...write, limits: { maxDayValue: `${value} USD` } });
  const limits = { maxDayValue: `${value - 1} USD` };
  await assertRefuses("maxDayValue", amendment, { ...write, limits }, "of earlier orders of this day");
});

Deno.test("a price that the market ignores does not lower the value of an order, neither in its own check nor in later checks", async () => {
  const limits = { maxOrderValue: "20000 USD", maxDayValue: "30000 USD" };
  for (const orderType of ["market", "iceberg-market", "hidden-market"] as const) {
    const cheap = { ...AAPL, orderType, price: "0.01" };
    assertEquals(await check(cheap, { ...us(), limits }), { reference: "200" });
    await assertRefuses("maxOrderValue", { ...cheap, quantity: "101" }, { ...us(), limits }, "is 100");
    const earlier = [intent(cheap, { reference: "200" })];
    await assertRefuses("maxDayValue", { ...AAPL, quantity: "51" }, { ...us(), limits, earlier }, "is 50");
  }
  const stop = { ...STOP, orderType: "stop-loss-market", price: "1" };
  await assertRefuses("maxOrderValue", stop, { limits: { maxOrderValue: "59999 HKD" } }, "60000 HKD");
});

Deno.test("an earlier conditional order without a price counts with its trigger, and not with the quote", async () => {
  const { price: _, ...stop } = { ...STOP, orderType: "stop-loss-market" };
  const limits = { maxDayValue: "115000 HKD" };
  assertEquals(await check(stop, { limits }), undefined);
  // 100 at the trigger of 600, and 100 at 550.
  await check(ORDER, { limits, earlier: [intent(stop)] });
  await assertRefuses("maxDayValue", ORDER, {
    limits: { maxDayValue: "114999 HKD" },
    earlier: [intent(stop)],
  }, "115000");
  // An amendment moves the trigger; the larger trigger counts.
  const amended = {
    kind: "amend",
    operation: "orders.amend",
    params: { ...stop, orderId: "7", triggerValue: "700" },
    orderIds: ["7"],
  } as const;
  const earlier = [intent(stop, { orderIds: ["7"] }), amended];
  await check(ORDER, { limits: { maxDayValue: "125000 HKD" }, earlier });
  await assertRefuses("maxDayValue", ORDER, { limits: { maxDayValue: "124999 HKD" }, earlier }, "125000");
});

Deno.test("maxDayValue: an amended order counts once, with its largest quantity and its highest price", async () => {
  const limits = { maxDayValue: "200000 HKD" };
  const amendment = (change: object): Earlier => ({
    kind: "amend",
    operation: "orders.amend",
    params: { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "100", price: "550", ...change },
    orderIds: ["8"],
  });
  const first = intent(ORDER, { orderIds: ["7"] });
  const grown = [first, amendment({ quantity: "200" }), {
    ...amendment({ price: "555" }),
    params: {
      ...amendment({}).params,
      orderId: "8",
      price: "555",
    },
  }];
  // 200 at 555 are 111000.
  await check({ ...ORDER, price: "445", quantity: "200" }, {
    limits: { ...limits, priceCollar: "off" },
    earlier: grown,
  });
  await assertRefuses("maxDayValue", { ...ORDER, price: "445.2", quantity: "200" }, {
    limits: { ...limits, priceCollar: "off" },
    earlier: grown,
  }, "with 111000");
  // An amendment of an order of another day counts in full.
  await assertRefuses(
    "maxDayValue",
    { ...ORDER, quantity: "300" },
    { limits, earlier: [amendment({})] },
    "with 55000",
  );
});

Deno.test("maxDayValue: each part of a split order counts with its own largest quantity", async () => {
  const amendment = (orderId: string, quantity: string) => ({ ...ORDER, orderId, quantity });
  const earlier = [intent({ ...ORDER, quantity: "900" }, { orderIds: ["1", "2", "3"] })];
  const orders = ["1", "2", "3"].map((orderId) => ({ ...ORDER, orderId, quantity: "300" }));
  const write = { operation: "orders.amend", earlier, orders };
  await check(amendment("1", "100"), { ...write, limits: { maxDayValue: "495000 HKD" } });
  // The other two parts still have 600.
  await check(amendment("1", "900"), { ...write, limits: { maxDayValue: "825000 HKD" } });
  await assertRefuses(
    "maxDayValue",
    amendment("1", "900"),
    { ...write, limits: { maxDayValue: "824999 HKD" } },
    "would be 825000 HKD",
    "is 800",
  );
  const again = [...earlier, {
    kind: "amend",
    operation: "orders.amend",
    params: amendment("1", "900"),
    orderIds: ["4"],
    before: "300",
  }] as const;
  const later = {
    ...write,
    earlier: again,
    orders: [...orders, { ...ORDER, orderId: "4", quantity: "900" }],
  };
  await check(amendment("4", "800"), { ...later, limits: { maxDayValue: "825000 HKD" } });
  await check(amendment("2", "600"), { ...later, limits: { maxDayValue: "990000 HKD" } });
  await assertRefuses("maxDayValue", amendment("2", "600"), {
    ...later,
    limits: { maxDayValue: "989999 HKD" },
  }, "would be 990000 HKD");
  // The broker has split the amended order again: part 4 has 600 of its 900.
  const splitAgain = [...earlier, { ...again[1]!, orderIds: ["1", "4"] }];
  const parts = { ...write, earlier: splitAgain, orders: [{ ...ORDER, orderId: "4", quantity: "600" }] };
  await check(amendment("4", "700"), { ...parts, limits: { maxDayValue: "880000 HKD" } });
  await assertRefuses("maxDayValue", amendment("4", "700"), {
    ...parts,
    limits: { maxDayValue: "879999 HKD" },
  }, "would be 880000 HKD");
});

Deno.test("an amendment of an order that the lists do not show is refused", async () => {
  const amend = { market: "hk", symbol: "00700.HK", orderId: "7", quantity: "100", price: "550" };
  await assertRefuses("amended-order", amend, { operation: "orders.amend" }, "do not show order 7");
});

Deno.test("an error of the connection does not count as a missing quote: the check throws the error", async () => {
  const quote = new BrokerError("Cannot read the quote", { code: "net" });
  const error = await assertRejects(() => check(ORDER, { market: { quote } }), BrokerError);
  assertEquals(error.code, "net");
});

Deno.test("buyingPower: more earlier orders than JavaScript can pass as parameters are added up", async () => {
  const params = { ...ORDER, quantity: "100", price: "550" };
  const placed = Array.from(
    { length: 150_000 },
    () => ({ kind: "place", state: "sent", params, approved: {} }),
  );
  const client = { account: { maxBuy: () => Promise.resolve({ quantity: "300" }) } };
  const orderCheck = {
    order: { ...ORDER, isConditional: false, before: undefined },
    planned: { client, reading: { orders: new Map(), lists: ["orders.today"] } },
    once: (_what: string, read: () => Promise<unknown>) => read(),
    price: () => Promise.resolve("550"),
    today: () => "2025-08-15",
    lot: () => Promise.resolve("100"),
    intents: () => Promise.resolve(placed),
    refuse: (_rule: string, _reason: string, helps: string) => new Error(helps),
  } as unknown as Parameters<typeof buyingPower.check>[0]; // the members that this rule uses
  await assertRejects(async () => await buyingPower.check(orderCheck), Error, "no quantity can be bought");
});
