import { assertEquals, assertThrows } from "@std/assert";
import { account } from "../../lib/operations/account.ts";
import { algo } from "../../lib/operations/algo.ts";
import { conditionalOrders } from "../../lib/operations/conditional_orders.ts";
import { fills } from "../../lib/operations/fills.ts";
import { fundJournal } from "../../lib/operations/fund_journal.ts";
import { futures } from "../../lib/operations/futures.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { orders } from "../../lib/operations/orders.ts";
import { platform } from "../../lib/operations/platform.ts";
import { pushes } from "../../lib/operations/pushes.ts";
import { quotes } from "../../lib/operations/quotes.ts";
import { InexactNumber, Mismatch } from "../../lib/operations/types.ts";

const pure = { permissions: "none" } as const;

/** Decodes the `data` of a gateway envelope, or a message of the socket. */
const read = (operation: AnyOperation, data: unknown): unknown => operation.response.decode(data);

const tencent = { dataType: 10000, code: "00700.HK" };
const ourTencent = { type: "hk-stock" as const, symbol: "00700.HK" };

/** Returns the path of the mismatch in an answer, and what was expected there. */
function mismatch(operation: AnyOperation, data: unknown): string {
  const error = assertThrows(() => read(operation, data), Mismatch);
  return `${error.path.join(".")}: ${error.message}`;
}

const orderRow = {
  stockCode: "00700.HK",
  entrustBs: "1",
  entrustId: "88",
  entrustAmount: "200",
  entrustPrice: "350.20",
  businessAmount: "100",
  businessPrice: "350.10",
  entrustTypeNum: "3",
  status: "7",
  canBeCanceled: 1,
  canBeUpdated: 0,
  date: "20250815",
  entrustTime: "093005",
  exchangeType: "K",
  queryParamStr: "p1",
};
const order = {
  symbol: "00700.HK",
  market: "hk",
  orderId: "88",
  side: "buy",
  orderType: "limit",
  price: "350.20",
  quantity: "200",
  fillPrice: "350.10",
  filledQuantity: "100",
  date: "2025-08-15",
  orderTime: "09:30:05",
  status: "part-filled",
  canCancel: true,
  canAmend: false,
  cursor: "p1",
};

Deno.test("orders.today decodes its list in every form that servers send", pure, () => {
  const shapes = [
    { data: [orderRow] },
    { data: { data: [orderRow] } },
    [orderRow],
    orderRow,
    { data: orderRow },
  ];
  for (const shape of shapes) assertEquals(read(orders.today, shape), [order], JSON.stringify(shape));
  // Servers omit members that are zero, and empty lists.
  for (const empty of [{}, { data: [] }, [], { data: { data: [] } }]) {
    assertEquals(read(orders.today, empty), [], JSON.stringify(empty));
  }
  for (const nothing of [null, undefined, { data: null }, { data: { data: null } }, { data: "" }]) {
    assertEquals(
      mismatch(orders.today, nothing).startsWith("data: expected a list, got"),
      true,
      JSON.stringify(nothing),
    );
  }
});

Deno.test("account.holdings decodes holdsList, data, a bare list and a single inline row", pure, () => {
  const row = { stockCode: "AAPL.US", currentAmount: "10", exchangeType: "P", stockType: "x" };
  const holding = { symbol: "AAPL.US", quantity: "10", market: "us" };
  for (
    const shape of [
      { holdsList: [row] },
      { data: [row] },
      { data: { holdsList: [row] } },
      [row],
      row,
      { holdsList: row },
    ]
  ) {
    assertEquals(read(account.holdings, shape), [holding], JSON.stringify(shape));
  }
  assertEquals(mismatch(account.holdings, { holdsList: null }), "holdsList: expected a list, got null");
});

Deno.test("a list under an unknown name is an error and not an empty list", pure, () => {
  assertEquals(
    mismatch(fills.today, { list: [orderRow] }),
    'data: expected a list under "data", got "a list under \\"list\\""',
  );
  assertEquals(mismatch(fills.today, "none"), 'data: expected a list, got "none"');
  assertEquals(mismatch(fills.today, { data: [null] }), "data.0: expected a record, got null");
});

Deno.test("an order number is decoded nested, under its alias, bare, and as a number", pure, () => {
  for (const data of [{ data: "123" }, { orderId: "123" }, "123", { data: 123 }, 123]) {
    assertEquals(read(orders.place, data), { orderId: "123" }, JSON.stringify(data));
  }
  assertEquals(read(orders.place, { data: "1", orderId: "2" }), { orderId: "1" });
  for (const data of [{}, null, { data: "" }, { data: null }, ""]) {
    assertEquals(mismatch(orders.place, data), "data: expected an order number as text, got nothing");
  }
});

Deno.test("account.buyingPower decodes its record nested and flat", pure, () => {
  const record = { longOpenAvailable: "300", positionStatus: "1" };
  const expected = { maxLongOpen: "300", position: "long" };
  assertEquals(read(account.buyingPower, { data: record }), expected);
  assertEquals(read(account.buyingPower, record), expected);
});

Deno.test("account.maxBuy decodes its number nested and bare", pure, () => {
  for (const data of [{ data: 1200 }, { data: "1200" }, 1200]) {
    assertEquals(read(account.maxBuy, data), { quantity: "1200" });
  }
  assertEquals(read(account.maxBuy, { data: 0 }), { quantity: "0" });
  for (const data of [{}, { data: null }, { data: "" }, null, undefined, ""]) {
    assertEquals(mismatch(account.maxBuy, data), "data: expected a whole number as text, got nothing");
  }
});

Deno.test("codes that no table lists stay in the answer as unlisted codes", pure, () => {
  const strange = { ...orderRow, entrustBs: "9", status: "Z", entrustTypeNum: "77", exchangeType: "Q" };
  assertEquals(read(orders.today, [strange]), [{
    ...order,
    side: "unlisted:9",
    status: "unlisted:Z",
    orderType: "unlisted:77",
    market: "unlisted:Q",
  }]);
  assertEquals(read(fundJournal.today, [{ businessBalance: "-5.00", type: "146" }]), [
    { amount: "-5.00", type: "unlisted:146" },
  ]);
});

Deno.test(
  "members that are absent, empty or null are absent, and a list that is left out is empty",
  pure,
  () => {
    const bare = {
      stockCode: "AAPL",
      entrustBs: "2",
      entrustId: "8",
      stockName: "",
      remark: null,
      canBeCanceled: null,
    };
    assertEquals(read(orders.today, [bare]), [{ symbol: "AAPL", side: "sell", orderId: "8" }]);
    assertEquals(read(quotes.ticks, { security: tencent }), { security: ourTencent, ticks: [] });
    assertEquals(read(quotes.ticks, { ticker: [{ price: 12.5, volume: null }] }), {
      ticks: [{ price: "12.5" }],
    });
    assertEquals(read(account.login, { success: true }), { success: true });
    assertEquals(read(account.login, {}), {});
    for (const nothing of [null, undefined, {}]) assertEquals(read(quotes.subscribe, nothing), {});
    assertEquals(read(conditionalOrders.today, { curPageNo: 1 }), { rows: [], page: 1 });
  },
);

Deno.test("two absent lists become two separate empty lists", pure, () => {
  const first = quotes.ticks.response.decode({ security: tencent });
  first.ticks.push(first.ticks[0]!);
  assertEquals(quotes.ticks.response.decode({ security: tencent }).ticks, []);
});

Deno.test("64-bit integers keep every digit, as number, text and large literal", pure, () => {
  const volume = (value: unknown) =>
    quotes.latest.response.decode([{ security: tencent, volume: value }])[0]!.volume;
  assertEquals(volume(9007199254740991), "9007199254740991");
  assertEquals(volume("9223372036854775807"), "9223372036854775807");
  assertEquals(volume("-12"), "-12");
  // JSON has already lost digits here: the caller must parse the text again.
  assertThrows(() => volume(9007199254740993), InexactNumber);
  assertThrows(() => volume("12.5"), Mismatch, 'expected a whole number, got "12.5"');
});

Deno.test("amounts sent as numbers throw InexactNumber, so that the text is parsed again", pure, () => {
  // Even an integer may have lost digits: 100.00000000000000001 becomes the double 100.
  for (const amount of [100, 0.1, 1e-330, 9007199254740990.6]) {
    assertThrows(() => read(fills.today, [{ ...orderRow, businessAmount: amount }]), InexactNumber);
  }
  assertThrows(() => read(orders.place, { data: 12345678901234567890 }), InexactNumber);
});

Deno.test("numbers instead of texts, and texts instead of numbers, are decoded", pure, () => {
  assertEquals(
    read(orders.today, [{
      ...orderRow,
      entrustId: 88,
      entrustBs: 1,
      status: 7,
      entrustTypeNum: 3,
      entrustAmount: "200",
      canBeCanceled: "1",
      canBeUpdated: "0",
      date: 20250815,
    }]),
    [{ ...order, quantity: "200" }],
  );
  assertEquals(
    quotes.latest.response.decode([
      { security: tencent, lastPrice: "12.50", highPrice: 12.75, lotSize: "100", isSuspended: "true" },
    ])[0],
    { security: ourTencent, lastPrice: "12.50", highPrice: "12.75", lotSize: 100, isSuspended: true },
  );
});

Deno.test("members that the catalogue does not list are ignored", pure, () => {
  assertEquals(read(orders.today, [{ ...orderRow, stockType: "0", constructor: 1, toString: 2 }]), [order]);
});

Deno.test("an error about an invalid member contains its path and its value", pure, () => {
  const { entrustBs: _, ...noSide } = orderRow;
  assertEquals(
    mismatch(orders.today, { data: [orderRow, noSide] }),
    'data.1.entrustBs: expected one of "buy", "sell", "short-close", "short-open", got nothing',
  );
  assertEquals(
    mismatch(fills.history, [{ ...orderRow, businessPrice: "" }]),
    'data.0.businessPrice: expected a decimal as text, such as "12.50", got nothing',
  );
  assertEquals(
    mismatch(fills.history, [{ ...orderRow, fareVo: { fare0: true } }]),
    "data.0.fareVo.fare0: expected text, got true",
  );
  assertEquals(
    mismatch(quotes.ticks, { ticker: [{ price: 1 }, { price: "dear" }] }),
    'ticker.1.price: expected a number, got "dear"',
  );
  assertEquals(mismatch(account.funds, "text"), ': expected a record, got "text"');
  assertEquals(
    mismatch(platform.servers, { hqServer: "h:1" }),
    "tradeServer: expected text that is not empty, got nothing",
  );
});

Deno.test("an error about an invalid secret does not contain its value", pure, () => {
  assertEquals(mismatch(platform.login, { token: 123456 }), 'token: expected text, got "[secret]"');
});

Deno.test("fills contain each fee under its own name", pure, () => {
  const fareVo = {
    fare0: "3.00",
    fare1: "35.02",
    fare6: "15.00",
    farex: "2.00",
    faret: "55.02",
    fare8: "0.01",
  };
  assertEquals(fills.history.response.decode([{ ...orderRow, fareVo }])[0]!.fees, {
    commission: "3.00",
    stampDutyOrSecFee: "35.02",
    platformFee: "15.00",
    auditTrailFee: "0.01",
    settlementFee: "2.00",
    total: "55.02",
  });
});

Deno.test("futures funds, positions, pages and products are decoded", pure, () => {
  assertEquals(
    read(futures.holdings, {
      fundInfo: { assetBalance: "1000", marginStatus: "2" },
      holdsList: [{ stockCode: "MHIZ5.HK", currentQty: "-2", dataType: "10010" }],
    }),
    {
      funds: { netAssets: "1000", marginStatus: "warning" },
      holdings: [{ symbol: "MHIZ5.HK", quantity: "-2", securityType: "hk-index-future" }],
    },
  );
  assertEquals(
    read(futures.fillsHistory, {
      data: [{
        stockCode: "MHIZ5.HK",
        entrustBs: "2",
        validType: "4",
        validTime: "2025/12/30",
        orderOptions: 1,
        isValid: 1,
      }],
      curPageNo: 2,
      curPageSize: 20,
      lastPage: 1,
    }),
    {
      rows: [{
        symbol: "MHIZ5.HK",
        side: "sell",
        validity: "until-date",
        validUntil: "2025-12-30",
        session: "after-hours",
        isValid: true,
      }],
      page: 2,
      limit: 20,
      isLast: true,
    },
  );
  assertEquals(read(futures.maxQuantity, { positionStatus: 1, maxBuyAmount: 3 }), {
    position: "long",
    maxBuy: "3",
  });
  assertEquals(
    read(futures.products, {
      productInfoVos: [{ prodCode: "MHI", decInPrice: 2, expiryDate: "2025-12-30" }],
    }),
    [{ symbol: "MHI", priceDecimals: 2, expiry: "2025-12-30" }],
  );
});

Deno.test("option chains, rates and child orders are decoded as plain lists and maps", pure, () => {
  assertEquals(read(quotes.optionExpiries, { expireDate: ["2025/08/15"] }), ["2025-08-15"]);
  assertEquals(read(quotes.optionCodes, { optionCode: ["AAPL250815C900000"] }), ["AAPL250815C900000"]);
  assertEquals(read(algo.children, { entrustId: [7, "8"] }), ["7", "8"]);
  assertEquals(read(account.exchangeRates, { HKD: { USD: "0.1274" }, USD: { HKD: "7.85" } }), {
    HKD: { USD: "0.1274" },
    USD: { HKD: "7.85" },
  });
  assertEquals(read(orders.cancelMany, { failCancelEntrust: [{ failEntrustId: "2", remark: "filled" }] }), {
    cancelled: [],
    failed: [{ orderId: "2", remark: "filled" }],
  });
  assertEquals(read(account.extendedHours, { data: "1" }), { supported: true });
});

Deno.test("pushes decode sides by the published definitions and omit the account number", pure, () => {
  const fill = pushes.order.payload.decode({
    fundAccount: "70001234",
    stockCode: "00700.HK",
    entrustNo: "88",
    entrustBs: "1",
    entrustStatus: "8",
    businessAmount: "100",
    businessDate: "20250815",
    businessTime: "093005",
    matchNo: "m1",
    remark: "",
  });
  assertEquals(fill, {
    symbol: "00700.HK",
    orderId: "88",
    side: "buy",
    status: "filled",
    fillQuantity: "100",
    date: "2025-08-15",
    time: "09:30:05",
    matchId: "m1",
  });
  const security = { dataType: 10000, code: "00700.HK" };
  const sides = [0, 1, 2].map((side) => pushes.brokers.payload.decode({ security, side }).side);
  assertEquals(sides, ["buy", "sell", "unlisted:2"]);
  const book = pushes.book.payload.decode({
    security,
    orderBookList: [{ level: 1, price: 350, orederCount: 3 }],
  });
  assertEquals(book, {
    security: { type: "hk-stock", symbol: "00700.HK" },
    levels: [{ level: 1, price: "350", orderCount: 3 }],
  });
});
