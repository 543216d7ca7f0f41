/**
 * The account: trade login, funds, holdings, buying power, exchange rates.
 *
 * @module
 */
import { PositionStatus } from "../dictionaries/futures.ts";
import { Market } from "../dictionaries/market.ts";
import { conditionalTypes, OrderType } from "../dictionaries/order_type.ts";
import { ClientType, QueryType, RateType } from "../dictionaries/query.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { family, gap, operation } from "./operation.ts";
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

/** Fields of a market's funds. */
export const fundsFields = {
  /** Total assets. */
  totalAssets: field("assetBalance", decimal),
  /** Purchasing power or available cash: the broker's documents disagree. */
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
  /** Current credit limit. */
  creditLimit: field("currentCreditLimit", decimal),
  /** Highest credit limit after a raise. */
  maxCreditLimit: field("maxCreditLimit", decimal),
  /** Unified credit limit. */
  unifiedCreditLimit: field("unitCreditLimit", decimal),
  /** Highest unified credit limit after a raise. */
  maxUnifiedCreditLimit: field("unitMaxCreditLimit", decimal),
  /** State of the account, as the broker's code. */
  accountStatus: field("accountStatus", text),
  /** Share of the funds in use. The broker's documents do not give its unit; the simulator sends a percentage. */
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
  /** Today's cost price. */
  dayCostPrice: field("dayCostPrice", decimal),
  /** Break-even price. */
  breakEvenPrice: field("keepCostPrice", decimal),
  /** Quantity received today. */
  dayIn: field("dayInComeAmount", decimal),
  /** Quantity delivered today. */
  dayOut: field("dayOutComeAmount", decimal),
  /** @deprecated The broker calls it unreliable; query a quote. */
  lastPrice: field("lastPrice", decimal),
  /** @deprecated Profit; the broker calls it unreliable. */
  profit: field("incomeBalance", decimal),
  /** @deprecated Market value; the broker calls it unreliable. */
  marketValue: field("marketValue", decimal),
  /** @deprecated Some sources swap its meaning with `incomeRatio`, and the broker calls both unreliable. */
  marketValueRate: field("marketValueRate", decimal),
  /** @deprecated Some sources swap its meaning with `marketValueRate`, and the broker calls both unreliable. */
  incomeRatio: field("incomeRatio", decimal),
};
const holdingRecord = record(holdingFields, ["HoldsVo"]);
/** A holding. */
export type Holding = RecordOf<typeof holdingFields>;

const noNumber = { gap: "field number not published" };

/** Fields of the maximum quantities that can be bought and sold. */
export const buyingPowerFields = {
  /** Whether there is no position, a long one or a short one. */
  position: field("positionStatus", anyOf(PositionStatus)),
  /** Quantity held. */
  positionQuantity: field("position", decimal),
  /** Maximum quantity to buy to open. */
  maxLongOpen: field("longOpenAvailable", decimal),
  /** Maximum quantity to sell to close. */
  maxLongClose: field("longCloseAvailable", decimal),
  /** Maximum quantity to open with cash only. */
  maxOpenByCash: field("cashAvailableToOpen", decimal),
  /** Maximum quantity to open with margin only. */
  maxOpenByMargin: field("marginAvailableToOpen", decimal),
  /** Maximum quantity to open with cash and margin. */
  maxOpenByCashAndMargin: field("cashAndMarginAvailableToOpen", decimal),
  /** Cash available. */
  cashAvailable: field("cashAvailableAmount", decimal),
  /** Margin available. */
  marginAvailable: field("marginAvailableAmount", decimal),
  /** Cash and margin available. */
  cashAndMarginAvailable: field("cashAndMarginAvailableAmount", decimal),
  /** Maximum quantity to sell short. */
  maxShortOpen: field("shortOpenAvailable", decimal),
  /** Maximum quantity to buy back. */
  maxShortClose: field("shortCloseAvailable", decimal),
  /** Maximum quantity to buy back with cash. */
  maxShortCloseByCash: field("shortCloseCashAvailable", decimal),
  /** Pool for short sales. */
  shortPool: field("shortOpenPool", decimal),
  /** Purchasing power for short sales. */
  shortBuyingPower: field("shortBuyPower", decimal),
  /** Shares of one option contract. */
  contractSize: field("contractSize", decimal),
  /** Whether unified purchasing power is on. */
  unifiedBuyingPower: field("unitedBuyPowerStatus", text),
  /** Overdraft limit. */
  creditLimit: field("creditLimit", decimal),
  /** Margin of a long option. */
  optionLongMargin: field("optionLongMarginAmount", decimal, noNumber),
  /** Margin of a short option. */
  optionShortMargin: field("optionShortMarginAmount", decimal, noNumber),
};
/** The largest quantities of a listing that can be bought and sold; for options also the margin. */
export type BuyingPower = RecordOf<typeof buyingPowerFields>;
const buyingPowerRecord = answerRecord(buyingPowerFields, ["MaxAvailableAssetVo"]);

const marginRate = record({
  /** Currency. */
  currency: field("currencyCode", text),
  /** Name of the currency. */
  currencyName: field("currencyDesc", text),
  /** The broker's "interest rate within mortgage"; its documents do not say what "mortgage" means here. */
  interestRate: field("interestRateWithinMortgage", decimal),
});

/** Maximum quantity of a listing. */
export const maxQuantityFields = {
  /** Maximum quantity, in shares. */
  quantity: key("data", int64),
};
/** Maximum quantity of a listing that can be bought or sold. */
export type MaxQuantity = RecordOf<typeof maxQuantityFields>;
const maxQuantity = single(record(maxQuantityFields, ["CommonIntResponse"]), "data");

/** Client type of the request. */
const clientType = field("clientType", asInt(oneOf(ClientType)), { fallback: "internet" });
const notInMessage = { gap: "the published message has no such field" };

/** The account. */
export const account = family("account", {
  /**
   * Logs in for trading. A client created with a trade password uses that password if none is given here, and logs in
   * automatically when an operation needs the login.
   */
  login: operation({
    wire: "TradeLogin",
    group: "trade",
    effect: "session",
    tradeLogin: "makes",
    needs: "nothing",
    source: "API document 4.2, 4.8, 5",
    request: params({
      /** The trade password in plain text; the transport encrypts it. */
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
    tradeLogin: "ends",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({}),
    response: successAnswer,
    socket: { request: null, response: "CommonBoolResponse" },
  }),

  /** Keeps the trade login alive on the socket. If it does not succeed, the login has expired. */
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
    source:
      "API document 2.4, 4.2, 4.8; servers reject the request without a market, so hsgate always sends one",
    request: params({ market }),
    response: rows("holdsList", holdingRecord, { aliases: ["data"], proto: ["StockQueryHoldsListResponse"] }),
    socket: { request: "TradeQueryHoldsListRequest", response: "StockQueryHoldsListResponse" },
  }),

  /**
   * Resolves to the maximum number of shares to buy at a price. The broker's newer documents use `account.buyingPower`
   * instead.
   */
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
      /** Whether to include margin. */
      queryType: field("queryType", oneOf(QueryType), { fallback: "default", ...notInMessage }),
      clientType,
    }, checkCommon),
    response: maxQuantity,
    socket: { request: "TradeQueryBuyAmountRequest", response: "CommonIntResponse" },
  }),

  /** Resolves to the maximum number of shares to sell. */
  maxSell: operation({
    wire: "TradeQuerySellAmount",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({ market, symbol, clientType }, checkCommon),
    response: maxQuantity,
    socket: { request: "TradeQuerySellAmountRequest", response: "CommonIntResponse" },
  }),

  /** Resolves to the largest quantities of a listing that can be bought and sold; for options also the margin. */
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
      /** Ordinary order types only. */
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
      /** Type of the security. */
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

  /** Resolves to whether a listing trades in extended hours. */
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

  /** Resolves to whether a listing can be sold short, and at what interest rate. */
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

  /**
   * Resolves to the exchange rates, as a map of maps: one unit of the outer currency in units of the inner currency.
   */
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
    socket: gap("the platform answers it over HTTP, not over the socket"),
  }),
});
