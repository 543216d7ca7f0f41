/**
 * The account: trade login, funds, holdings, buying power, exchange rates.
 *
 * @module
 */
import { PositionStatus } from "../dictionaries/futures.ts";
import { Market } from "../dictionaries/market.ts";
import { OrderType } from "../dictionaries/order_type.ts";
import { ClientType, QueryType, RateType } from "../dictionaries/query.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { family, gap, operation } from "./operation.ts";
import { conditionalTypes } from "./orders.ts";
import {
  answerRecord,
  field,
  key,
  listOf,
  nested,
  params,
  record,
  type RecordOf,
  rows,
  single,
} from "./records.ts";
import { checkCommon, market, successAnswer, symbol } from "./shared.ts";
import {
  anyOf,
  asInt,
  asText,
  decimal,
  flagText,
  int64,
  listingCode,
  oneOf,
  priceDecimal,
  rateMap,
  text,
  tradePassword,
} from "./types.ts";

/** Fields of the funds of a market. */
export const fundsFields = {
  /** Total assets. */
  totalAssets: field("assetBalance", decimal),
  /** Purchasing power by one reading of the broker's documents, available cash by another. */
  available: field("enableBalance", decimal),
  /** Amount frozen by orders. */
  frozenByOrders: field("cashOnHold", decimal),
  /** Total frozen amount. */
  frozen: field("frozenBalance", decimal),
  /** Amount that can be withdrawn. */
  withdrawable: field("fetchBalance", decimal),
  /** Credit used. */
  creditUsed: field("creditValue", decimal),
  /** Credit line. */
  creditLine: field("creditLine", decimal),
  /** Credit limit now. */
  creditLimit: field("currentCreditLimit", decimal),
  /** Raised credit limit at most. */
  maxCreditLimit: field("maxCreditLimit", decimal),
  /** Unified credit limit. */
  unifiedCreditLimit: field("unitCreditLimit", decimal),
  /** Unified raised credit limit at most. */
  maxUnifiedCreditLimit: field("unitMaxCreditLimit", decimal),
  /** State of the account, the broker's code. */
  accountStatus: field("accountStatus", text),
  /** Share of the funds in use. */
  usageRatio: field("spentRatio", decimal),
  /** Purchasing power in the main currency. */
  buyingPower: field("buyPower", decimal),
  /** Purchasing power with the raised credit. */
  buyingPowerWithCredit: field("buyPowerCredit", decimal),
  /** Purchasing power for Hong Kong. */
  buyingPowerHk: field("buyPowerHk", decimal),
  /** Purchasing power for the US. */
  buyingPowerUs: field("buyPowerUs", decimal),
  /** Purchasing power for China Connect. */
  buyingPowerCn: field("buyPowerCn", decimal),
  /** Unified purchasing power for Hong Kong. */
  unifiedBuyingPowerHk: field("unitedBuyPowerHk", decimal),
  /** Unified purchasing power for the US. */
  unifiedBuyingPowerUs: field("unitedBuyPowerUs", decimal),
  /** Unified purchasing power for China Connect. */
  unifiedBuyingPowerCn: field("unitedBuyPowerCn", decimal),
  /** Third-party purchasing power for Hong Kong. */
  thirdPartyBuyingPowerHk: field("thirdBuyPowerHk", decimal),
  /** Third-party purchasing power for the US. */
  thirdPartyBuyingPowerUs: field("thirdBuyPowerUs", decimal),
  /** Third-party purchasing power for China Connect. */
  thirdPartyBuyingPowerCn: field("thirdBuyPowerCn", decimal),
  /** Purchasing power for short sales. */
  shortBuyingPower: field("buyPowerShortMarket", decimal),
  /** Purchasing power in cash. */
  cashBuyingPower: field("buyPowerMoney", decimal),
  /** @deprecated Profit on holdings; the broker calls it unreliable. */
  holdingsProfit: field("holdsBalance", decimal),
  /** @deprecated Market value; the broker calls it unreliable. */
  marketValue: field("marketValue", decimal),
};
/** Funds of a market, in its currency. */
export type Funds = RecordOf<typeof fundsFields>;

/** Fields of a holding. */
export const holdingFields = {
  /** Listing code; US codes may carry `.US`. */
  symbol: key("stockCode", text),
  /** Name of the listing. */
  name: field("stockName", text),
  /** Market of the listing. */
  market: field("exchangeType", anyOf(Market)),
  /** Quantity held, in shares or contracts. */
  quantity: field("currentAmount", decimal),
  /** Quantity that can be sold. */
  sellableQuantity: field("enableAmount", decimal),
  /** Cost price. */
  costPrice: field("costPrice", decimal),
  /** Cost price of today. */
  dayCostPrice: field("dayCostPrice", decimal),
  /** Break-even price. */
  breakEvenPrice: field("keepCostPrice", decimal),
  /** Quantity that came in today. */
  dayIn: field("dayInComeAmount", decimal),
  /** Quantity that went out today. */
  dayOut: field("dayOutComeAmount", decimal),
  /** @deprecated The broker calls it unreliable; ask for a quote. */
  lastPrice: field("lastPrice", decimal),
  /** @deprecated Profit; the broker calls it unreliable. */
  profit: field("incomeBalance", decimal),
  /** @deprecated Market value; the broker calls it unreliable. */
  marketValue: field("marketValue", decimal),
  /** @deprecated Sources cross its meaning with `incomeRatio`, and the broker calls both unreliable. */
  marketValueRate: field("marketValueRate", decimal),
  /** @deprecated Sources cross its meaning with `marketValueRate`, and the broker calls both unreliable. */
  incomeRatio: field("incomeRatio", decimal),
};
const holdingRecord = record(holdingFields, ["HoldsVo"]);
/** A holding. */
export type Holding = RecordOf<typeof holdingFields>;

const noNumber = { gap: "field number not published" };

/** Fields of the most that can be bought and sold. */
export const buyingPowerFields = {
  /** None, long or short. */
  position: field("positionStatus", anyOf(PositionStatus)),
  /** Quantity held. */
  positionQuantity: field("position", decimal),
  /** Most that can be bought to open. */
  maxLongOpen: field("longOpenAvailable", decimal),
  /** Most that can be sold to close. */
  maxLongClose: field("longCloseAvailable", decimal),
  /** Most that cash alone can open. */
  maxOpenByCash: field("cashAvailableToOpen", decimal),
  /** Most that margin alone can open. */
  maxOpenByMargin: field("marginAvailableToOpen", decimal),
  /** Most that cash and margin can open. */
  maxOpenByCashAndMargin: field("cashAndMarginAvailableToOpen", decimal),
  /** Cash available. */
  cashAvailable: field("cashAvailableAmount", decimal),
  /** Margin available. */
  marginAvailable: field("marginAvailableAmount", decimal),
  /** Cash and margin available. */
  cashAndMarginAvailable: field("cashAndMarginAvailableAmount", decimal),
  /** Most that can be sold short. */
  maxShortOpen: field("shortOpenAvailable", decimal),
  /** Most that can be bought back. */
  maxShortClose: field("shortCloseAvailable", decimal),
  /** Most that cash can buy back. */
  maxShortCloseByCash: field("shortCloseCashAvailable", decimal),
  /** Pool for short sales. */
  shortPool: field("shortOpenPool", decimal),
  /** Purchasing power for short sales. */
  shortBuyingPower: field("shortBuyPower", decimal),
  /** Shares of one option contract. */
  contractSize: field("contractSize", decimal),
  /** Whether unified purchasing power is switched on. */
  unifiedBuyingPower: field("unitedBuyPowerStatus", text),
  /** Overdraft limit. */
  creditLimit: field("creditLimit", decimal),
  /** Margin of a long option. */
  optionLongMargin: field("optionLongMarginAmount", decimal, noNumber),
  /** Margin of a short option. */
  optionShortMargin: field("optionShortMarginAmount", decimal, noNumber),
};
const buyingPowerRecord = answerRecord(buyingPowerFields, ["MaxAvailableAssetVo"]);
/** The most that can be bought and sold of a listing. */
export type BuyingPower = RecordOf<typeof buyingPowerFields>;

const marginRate = record({
  /** Currency. */
  currency: field("currencyCode", text),
  /** Its name. */
  currencyName: field("currencyDesc", text),
  /** Interest rate within the mortgage. */
  interestRate: field("interestRateWithinMortgage", decimal),
});

const wholeQuantity = (message: string) =>
  single(
    record({
      /** Most that can be traded, in shares. */
      quantity: key("data", int64),
    }, [message]),
    "data",
  );

/** Where the request comes from. */
const clientType = field("clientType", asInt(oneOf(ClientType)), { fallback: "internet" });
const notInMessage = { gap: "the published message has no such field" };

/** The account. */
export const account = family("account", {
  /**
   * Logs in for trading. A client that was made with a trade password uses it when none is given here, and logs
   * in by itself when an operation needs it.
   */
  login: operation({
    wire: "TradeLogin",
    group: "trade",
    effect: "session",
    needs: "nothing",
    source: "API document 4.2, 4.8, 5",
    request: params({
      /** The trade password, plain; the transport encrypts it. */
      password: field("password", tradePassword),
    }),
    response: successAnswer,
    socket: { request: "TradeLoginRequest", response: "CommonBoolResponse" },
  }),

  /** Ends the trade login. */
  logout: operation({
    wire: "TradeLogout",
    group: "trade",
    effect: "session",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({}),
    response: successAnswer,
    socket: { request: null, response: "CommonBoolResponse" },
  }),

  /** Keeps the trade login alive on the socket; no success means that it is gone. */
  keepLogin: operation({
    wire: "TradeKeepLogin",
    group: null,
    effect: "session",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2",
    request: params({}),
    response: successAnswer,
    socket: { request: null, response: "CommonBoolResponse" },
  }),

  /** Resolves to the funds of a market, in its currency. */
  funds: operation({
    wire: "TradeQueryMarginFundInfo",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.4, 4.2, 4.8",
    request: params({ market }),
    response: answerRecord(fundsFields, ["TradeQueryMarginFundInfoResponse"]),
    socket: { request: "TradeQueryMarginFundInfoRequest", response: "TradeQueryMarginFundInfoResponse" },
  }),

  /** Resolves to the holdings of a market. */
  holdings: operation({
    wire: "TradeQueryHoldsList",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.4, 4.2, 4.8; always sent with a market, as servers refuse it without",
    request: params({ market }),
    response: rows("holdsList", holdingRecord, { aliases: ["data"], proto: ["StockQueryHoldsListResponse"] }),
    socket: { request: "TradeQueryHoldsListRequest", response: "StockQueryHoldsListResponse" },
  }),

  /** Resolves to the most shares that can be bought at a price. Newer documents point to `account.buyingPower`. */
  maxBuy: operation({
    wire: "TradeQueryBuyAmount",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({
      market,
      symbol,
      /** Price to buy at, in the listing's currency. */
      price: field("entrustPrice", priceDecimal),
      /** With margin or without. */
      queryType: field("queryType", oneOf(QueryType), { fallback: "default", ...notInMessage }),
      clientType,
    }, checkCommon),
    response: wholeQuantity("CommonIntResponse"),
    socket: { request: "TradeQueryBuyAmountRequest", response: "CommonIntResponse" },
  }),

  /** Resolves to the most shares that can be sold. */
  maxSell: operation({
    wire: "TradeQuerySellAmount",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({ market, symbol, clientType }, checkCommon),
    response: wholeQuantity("CommonIntResponse"),
    socket: { request: "TradeQuerySellAmountRequest", response: "CommonIntResponse" },
  }),

  /** Resolves to the most that can be bought and sold of a listing, options with their margin. */
  buyingPower: operation({
    wire: "TradeQueryMaxAvailableAsset",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.5, 4.2; nesting from the vendor Python SDK 1.1.2",
    request: params({
      market,
      symbol,
      /** Price to trade at, in the listing's currency. */
      price: field("entrustPrice", priceDecimal),
      /** Ordinary order types alone. */
      orderType: field(
        "entrustType",
        oneOf(OrderType, OrderType.names.filter((name) => !conditionalTypes.includes(name))),
      ),
    }, checkCommon),
    response: nested("data", buyingPowerRecord, "TradeQueryMaxAvailableAssetResponse"),
    socket: {
      request: "TradeQueryMaxAvailableAssetRequest",
      response: "TradeQueryMaxAvailableAssetResponse",
    },
  }),

  /** Resolves to the margin terms of a security. */
  marginTerms: operation({
    wire: "TradeQueryMarginFullInfo",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      /** What kind of security it is. */
      securityType: field("dataType", asText(oneOf(SecurityType))),
      /** Listing code. */
      symbol: field("stockCode", listingCode),
    }),
    response: answerRecord({
      /** Whether it can be bought on margin. */
      marginAllowed: field("marginAllow", flagText),
      /** Initial margin ratio. */
      initialMarginRatio: field("marginInitRatio", decimal),
      /** Maintenance margin ratio. */
      maintenanceMarginRatio: field("marginKeepRatio", decimal),
      /** Whether it can be sold short. */
      shortAllowed: field("shortAllow", flagText),
      /** Initial margin ratio of a short sale. */
      shortInitialMarginRatio: field("shortInitMarginRatio", decimal),
      /** Maintenance margin ratio of a short sale. */
      shortMaintenanceMarginRatio: field("shortKeepMarginRatio", decimal),
      /** Interest rate of a short sale. */
      shortInterestRate: field("shortInterestRate", decimal),
      /** Shares left to sell short. */
      shortAvailableQuantity: field("shortLastAvailableQty", decimal),
      /** Interest rates by currency. */
      rates: field("rate", listOf(marginRate)),
    }),
    socket: gap("message definition and number not published"),
  }),

  /** Tells whether a listing trades in extended hours. */
  extendedHours: operation({
    wire: "TradeQueryBeforeAndAfterSupport",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({ market, symbol }, checkCommon),
    response: single(
      record({
        /** Whether extended hours are supported. */
        supported: key("data", flagText),
      }, ["CommonStringResponse"]),
      "data",
    ),
    socket: { request: "TradeQueryBeforeAndAfterSupportRequest", response: "CommonStringResponse" },
  }),

  /** Tells whether a listing can be sold short, and at what rate. */
  shortSale: operation({
    wire: "TradeQueryStockShortInfo",
    group: null,
    effect: "read",
    answers: "now",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2",
    request: params({ market, symbol }, checkCommon),
    response: record({
      /** Whether it can be sold short. */
      supported: key("supportShort", flagText),
      /** Interest rate. */
      interestRate: field("interestRate", decimal),
    }, ["TradeQueryStockShortInfoResponse"]),
    socket: { request: "TradeQueryStockShortInfoRequest", response: "TradeQueryStockShortInfoResponse" },
  }),

  /** Resolves to the exchange rates: one unit of the outer currency in units of the inner one. */
  exchangeRates: operation({
    wire: "queryList",
    group: "hs",
    platformPath: "/hs/rate/queryList",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 2.6, 4.1, 4.7",
    request: params({
      /** Swap rate or spot rate. */
      rateType: field("rateType", oneOf(RateType), { fallback: "swap" }),
    }),
    response: rateMap,
    socket: gap("answered by the platform over HTTP, not by the socket"),
  }),
});
