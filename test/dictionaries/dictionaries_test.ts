import { assertEquals, assertThrows } from "@std/assert";
import { barDayLimits, BarInterval } from "../../lib/dictionaries/bar.ts";
import { Currency } from "../../lib/dictionaries/currency.ts";
import type { Dictionary } from "../../lib/dictionaries/dictionary.ts";
import { Market } from "../../lib/dictionaries/market.ts";
import { dictionaries } from "../../lib/dictionaries/mod.ts";
import { Side } from "../../lib/dictionaries/side.ts";
// Codes and meanings from the broker's documents. The keys are the documents' names of the tables.
import documented from "./codes.json" with { type: "json" };

const pure = { permissions: "none" } as const;
const tables: Record<string, Record<string, string>> = documented;

Deno.test("dictionaries and barDayLimits contain 63 tables with 594 values in total", pure, () => {
  const values = Object.values(dictionaries).reduce((sum, table) => sum + table.entries.length, 0);
  assertEquals(Object.keys(dictionaries).length, 62);
  assertEquals(values, 587);
  // `barDayLimits` is not in `dictionaries`, because its values are numbers.
  assertEquals(Object.keys(dictionaries).length + 1, 63);
  assertEquals(values + Object.keys(barDayLimits).length, 594);
});

Deno.test("dictionaries list exactly the documented codes with their meanings", pure, () => {
  for (const [name, table] of Object.entries(dictionaries)) {
    const listed = Object.fromEntries(table.entries.map(({ code, label }) => [code, label]));
    assertEquals(listed, tables[table.wire], name);
  }
  const wires = Object.values(dictionaries).map(({ wire }) => wire);
  assertEquals(wires.toSorted(), Object.keys(tables).toSorted());
});

Deno.test("Dictionary.encode() returns the code that decode() was given", pure, () => {
  for (const [name, table] of Object.entries(dictionaries)) {
    for (const code of Object.keys(tables[table.wire]!)) {
      const wire = table.type === "int" ? Number(code) : code;
      assertEquals(table.encode(table.decode(wire)), wire, `${name} ${code}`);
      assertEquals(table.has(table.decode(wire)), true, `${name} ${code}`);
    }
  }
});

Deno.test(
  "Dictionary.decode() keeps a code that the table does not list, and encode() returns it",
  pure,
  () => {
    for (const [name, table] of Object.entries(dictionaries)) {
      const code = table.type === "int" ? 987654 : "~9";
      assertEquals(table.decode(code), `unlisted:${code}`, name);
      assertEquals(table.encode(`unlisted:${code}`), code, name);
      assertEquals(table.label(`unlisted:${code}`), `unlisted:${code}`, name);
      assertEquals(table.has(`unlisted:${code}`), false, name);
    }
    assertEquals(Side.decode("9"), "unlisted:9");
    assertEquals(Side.encode("unlisted:9"), "9");
    assertEquals(BarInterval.decode(99), "unlisted:99");
    assertEquals(BarInterval.encode("unlisted:99"), 99);
  },
);

Deno.test("Dictionary.encode() throws on a name that is not in the table", pure, () => {
  // @ts-expect-error "mars" is not a market
  assertThrows(() => Market.encode("mars"), RangeError, 'Cannot encode "mars" as exchangeType');
  // @ts-expect-error the table of sides has no "hold"
  const side: typeof Side extends Dictionary<infer Name> ? Name : never = "hold";
  assertEquals(Side.has(side), false);
});

Deno.test("Currency and Market distinguish upper and lower case", pure, () => {
  const currencies: [string, string][] = [
    ["0", "CNY"],
    ["1", "USD"],
    ["2", "HKD"],
    ["A", "BHD"],
    ["a", "LBP"],
    ["C", "PTE"],
    ["c", "LKR"],
    ["K", "ECS"],
    ["k", "OMR"],
    ["P", "FRF"],
    ["p", "SAR"],
    ["T", "IEP"],
    ["t", "SGD"],
    ["V", "ITL"],
    ["v", "THB"],
    ["w", "TWD"],
    ["x", "ZAR"],
  ];
  for (const [code, name] of currencies) assertEquals(Currency.decode(code), name, code);
  for (const unused of ["3", "G", "R", "b", "y", "z"]) {
    assertEquals(Currency.decode(unused), `unlisted:${unused}`);
  }
  assertEquals(
    ["K", "P", "v", "t", "V", "T", "k"].map((code) => Market.decode(code)),
    ["hk", "us", "shenzhen", "shanghai", "unlisted:V", "unlisted:T", "unlisted:k"],
  );
});

Deno.test("dictionaries have these names for codes", pure, () => {
  // Table, code and name: at least one row of each table except `Market` and `Currency`, which the test above checks.
  const rows: [string, string | number, string][] = [
    ["SecurityType", 10000, "hk-stock"],
    ["SecurityType", 20009, "us-otc-stock"],
    ["SecurityType", 30008, "star-board-stock"],
    ["SecurityType", 10008, "unlisted:10008"],
    ["StockType", "U", "bond"],
    ["BarInterval", 2, "day"],
    ["BarInterval", 5, "1m"],
    ["BarInterval", 10, "120m"],
    ["BarInterval", 11, "quarter"],
    ["BarInterval", 12, "year"],
    ["BarInterval", 14, "3m"],
    ["PriceAdjustment", 1, "forward"],
    ["PriceAdjustment", 2, "backward"],
    ["Direction", 0, "older"],
    ["Direction", 1, "newer"],
    ["Country", "HKG", "HKG"],
    ["FundJournalType", "0", "initial"],
    ["FundJournalType", "5", "buy-securities"],
    ["FundJournalType", "6", "sell-securities"],
    ["FundJournalType", "8", "unlisted:8"],
    ["FundJournalType", "21", "deposit"],
    ["FundJournalType", "22", "transfer-out"],
    ["FundJournalType", "29", "fx-in"],
    ["FundJournalType", "30", "fx-out"],
    ["FundJournalType", "31", "deposit-31"],
    ["FundJournalType", "83", "option-auto-exercise"],
    ["FundJournalType", "84", "option-assignment"],
    ["FundJournalType", "146", "unlisted:146"],
    ["FundJournalType", "152", "sold"],
    ["FundJournalType", "153", "bought"],
    ["FundJournalType", "210", "commission-rebate"],
    ["FundJournalType", "213", "market-data-fee-charged"],
    ["FundJournalType", "214", "platform-fee-rebate"],
    ["FundJournalType", "264", "trading-amount-deduction-voucher"],
    ["OrderType", "0", "auction-limit"],
    ["OrderType", "2", "enhanced-limit"],
    ["OrderType", "3", "limit"],
    ["OrderType", "5", "market"],
    ["OrderType", "6", "dark-pool"],
    ["OrderType", "7", "odd-lot"],
    ["OrderType", "8", "iceberg-market"],
    ["OrderType", "11", "hidden-limit"],
    ["OrderType", "31", "take-profit-limit"],
    ["OrderType", "34", "stop-loss-market"],
    ["OrderType", "36", "trailing-stop-market"],
    ["LegacyOrderKind", "B", "amend"],
    ["LegacyOrderProperty", "h", "limit"],
    ["LegacyOrderAction", "2", "cancel"],
    ["Side", "1", "buy"],
    ["Side", "2", "sell"],
    ["Side", "3", "short-close"],
    ["Side", "4", "short-open"],
    ["TradingHours", "0", "no-extended"],
    ["TradingHours", "3", "regular"],
    ["TradingHours", "5", "hk-regular-and-dark"],
    ["TradingHours", "6", "us-extended-only"],
    ["TradingHours", "7", "us-regular-and-extended"],
    ["OrderStatus", "2", "accepted"],
    ["OrderStatus", "5", "part-filled-cancelled"],
    ["OrderStatus", "6", "cancelled"],
    ["OrderStatus", "7", "part-filled"],
    ["OrderStatus", "8", "filled"],
    ["OrderStatus", "9", "rejected"],
    ["OrderStatus", "A", "amend-pending"],
    ["OrderStatus", "J", "review-failed"],
    ["FillStatus", "4", "confirmed"],
    ["FillKind", "2", "cancel"],
    ["RemarkType", "1", "voided-order"],
    ["ConditionalOrderStatus", "2", "triggered"],
    ["ConditionalOrderStatus", "7", "unlisted:7"],
    ["ConditionalOrderStatus", "9", "invalidated-by-ex-date"],
    ["TrailBy", "1", "percentage"],
    ["TrailBy", "2", "spread"],
    ["TrailBy", "3", "price"],
    ["RoutingVenue", "SMART", "SMART"],
    ["QueryType", "1", "margin"],
    ["ClientType", 0, "internet"],
    ["RateType", "0", "swap"],
    ["RateType", "1", "spot"],
    ["YesNo", 1, "yes"],
    ["OptionType", "C", "call"],
    ["OptionType", "P", "put"],
    ["Moneyness", 1, "in-the-money"],
    ["PositionStatus", "2", "short"],
    ["MarginStatus", "4", "liquidation"],
    ["FuturesOrderType", "0", "limit"],
    ["FuturesOrderType", "2", "market"],
    ["FuturesValidity", "0", "day"],
    ["FuturesValidity", "1", "fill-and-cancel"],
    ["FuturesValidity", "2", "fill-or-cancel"],
    ["FuturesValidity", "4", "until-date"],
    ["FuturesOrderOption", "1", "after-hours"],
    ["AlgoOrderType", "1", "limit"],
    ["AlgoStrategy", "1", "vwap"],
    ["AlgoStrategy", "1001", "twap"],
    ["AlgoStrategy", "1002", "iceberg"],
    ["AlgoStrategy", "1003", "tpov"],
    ["AlgoStrategy", "1005", "pov"],
    ["AlgoSensitivity", "2", "aggressive"],
    ["AlgoAction", "3", "suspend"],
    ["AlgoStrategyStatus", "4", "resume"],
    ["AlgoOrderStatus", "3", "done-for-the-day"],
    ["QuoteSession", -1, "pre-market"],
    ["QuoteSession", 1, "regular"],
    ["QuoteSession", -2, "after-hours"],
    ["QuoteSession", -3, "overnight"],
    ["DepthFeed", 2, "total-view"],
    ["DepthFeed", 3, "arca-book"],
    ["TickSide", 0, "flat"],
    ["TickSide", 1, "buy"],
    ["TickSide", 2, "sell"],
    ["BookSide", 0, "buy"],
    ["BookSide", 1, "sell"],
    ["BrokerSide", 1, "sell"],
    ["BrokerItemType", 66, "broker"],
    ["BrokerItemType", 83, "level"],
    ["TickType", 1, "unlisted:1"],
    ["SecurityStatus", 1, "unlisted:1"],
    ["PushTopic", 11, "quote"],
    ["PushTopic", 14, "tick"],
    ["PushTopic", 16, "broker-queue"],
    ["PushTopic", 17, "order-book"],
    ["PushTopic", 25, "arca-book"],
    ["PushTopic", 26, "total-view"],
    ["FrameType", 0, "heartbeat"],
    ["FrameType", 3, "push"],
    ["BodyFormat", 0, "protobuf"],
    ["Compression", 0, "none"],
    ["FeeItem", "fare0", "commission"],
    ["FeeItem", "fare6", "platformFee"],
    ["FeeItem", "farex", "settlementFee"],
    ["FeeItem", "faret", "total"],
    ["ResponseCode", "0000", "success"],
    ["ResponseCode", "1013", "displaced"],
    ["ResponseCode", "1014", "token-expired"],
    ["CommunityErrorCode", "4001", "market-closed"],
    ["PlatformResponseCode", "0000", "success"],
    ["ErrorText", "current time does not allow entrust", "market-closed"],
    ["GatewayPort", 11111, "http"],
    ["GatewayPort", 11112, "push"],
    ["GatewayCommand", "relogin", "relogin"],
    ["TradeLoginCheck", "0", "device"],
    ["NotifyType", 1, "TradeStockDeliver"],
    ["NotifyType", 20003, "BasicQotNotify"],
    ["RequestType", 0, "InitConnect"],
    ["RequestType", 16, "TradeEntrust"],
    ["RequestType", 20007, "HQKL"],
    ["ResponseType", 48, "TradeQueryHistoryCondOrderList"],
    ["ResponseType", 999, "Error"],
  ];
  for (const [name, code, expected] of rows) {
    assertEquals(dictionaries[name]!.decode(code), expected, `${name} ${code}`);
  }
  const named = new Set([...rows.map(([name]) => name), "Market", "Currency"]);
  assertEquals(Object.keys(dictionaries).filter((name) => !named.has(name)), []);
});

Deno.test("barDayLimits contains the documented day limits of minute bars", pure, () => {
  assertEquals(barDayLimits, {
    "1m": 6,
    "3m": 9,
    "5m": 12,
    "15m": 24,
    "30m": 36,
    "60m": 60,
    "120m": 96,
  });
});
