/**
 * Describes every gateway operation: path, parameters in the broker's spelling, and members of the answer. Written by
 * hand from the API document; operations that the document lacks come from other sources. Nothing here is taken from the
 * catalogue.
 *
 * @module
 */

/** Expected shape of a member. */
export type Shape = "text" | "number" | "boolean" | { [member: string]: Shape } | readonly [Shape];

/** Values that one call creates and another call needs, by name. Each run of the cases creates its own values. */
export type Made = Readonly<Record<string, string>>;

/** A call of an operation. */
export interface Case {
  /** Documented path. */
  path: string;
  /** Wire name. @default the last part of the path */
  name?: string;
  /** All sent parameters, in the broker's spelling. */
  wire: Record<string, unknown>;
  /** hsgate's name and parameters for the same call. */
  ours: [name: string, params: Record<string, unknown>];
  /** Expected content of `data`, by sections 2 and 4 of the document. */
  data: Shape;
  /** hsgate's names of members, with their paths in `data`. */
  same?: [ours: string, wire: string][];
  /** Expected values by hsgate's name, for members whose codes hsgate translates. */
  is?: [ours: string, value: unknown][];
  /** Name under which later cases find the order number of the answer. */
  makes?: string;
  /** Time by which the simulated clock advances after the call, milliseconds. */
  wait?: number;
}

const HK = { exchangeType: "K" };
const TENCENT = { exchangeType: "K", stockCode: "00700.HK" };
const ourTencent = { market: "hk", symbol: "00700.HK" };
const FIRST_PAGE = { queryCount: 20, queryParamStr: "0" };
const SPAN = { startDate: "20250811", endDate: "20250814" };
const ourSpan = { from: "2025-08-11", to: "2025-08-14" };
const SECURITY = { dataType: 10000, code: "00700.HK" };
const ourSecurity = { type: "hk-stock", symbol: "00700.HK" };
const FUTURE = "MHI2508.HK";

const orderIdData: Shape = { data: "text" };
const success: Shape = { success: "boolean" };
const isDone: Case["is"] = [["success", true]];
const security: Shape = { dataType: "number", code: "text" };
const orderMembers = {
  stockCode: "text",
  stockName: "text",
  entrustBs: "text",
  entrustPrice: "text",
  entrustAmount: "text",
  businessAmount: "text",
  unBusinessAmount: "text",
  date: "text",
  entrustTime: "text",
  queryParamStr: "text",
  statusDesc: "text",
  status: "text",
  entrustId: "text",
  canBeCanceled: "number",
  canBeUpdated: "number",
  entrustType: "text",
  entrustTypeNum: "text",
  exchangeType: "text",
} as const;
const fillMembers = {
  ...orderMembers,
  businessPrice: "text",
  businessBalance: "text",
  businessTime: "text",
} as const;
const futuresMembers = {
  stockCode: "text",
  stockName: "text",
  entrustBs: "text",
  entrustPrice: "text",
  entrustAmount: "text",
  businessAmount: "text",
  date: "text",
  entrustTime: "text",
  queryParamStr: "text",
  statusDesc: "text",
  status: "text",
  entrustId: "text",
  canBeCanceled: "number",
  entrustType: "text",
  entrustTypeNum: "text",
  isValid: "number",
  canBeUpdated: "number",
  validType: "text",
  validTypeDesc: "text",
  orderOptions: "number",
} as const;
const futuresPage: Shape = {
  data: [futuresMembers],
  curPageNo: "number",
  curPageSize: "number",
  lastPage: "number",
};
const conditionalPage: Shape = {
  data: [{
    condOrderId: "text",
    dataType: "text",
    stockCode: "text",
    stockName: "text",
    stockNameTc: "text",
    stockNameEn: "text",
    exchangeType: "text",
    entrustType: "text",
    sessionType: "text",
    status: "text",
    canBeCancel: "text",
    canBeModify: "text",
    entrustBs: "text",
    entrustAmount: "text",
    createTime: "text",
    endTime: "text",
    condValue: "text",
    condPrice: "text",
  }],
  curPageNo: "number",
  curPageSize: "number",
};
const futuresFunds: Shape = {
  assetBalance: "text",
  enableBalance: "text",
  marginCall: "text",
  incomeBalance: "text",
  cashBal: "text",
  iMargin: "text",
  mMargin: "text",
  marginLevel: "text",
  maxMargin: "text",
  creditLimit: "text",
  ctrlLevel: "text",
  marginClass: "text",
  aeId: "text",
  cashBalHKD: "text",
  cashBalUSD: "text",
  cycRateUSDtoHSD: "text",
  marginStatus: "text",
  statusPercent: "text",
  closeProfit: "text",
  cashBalCNH: "text",
};
const journalMembers = {
  businessBalance: "text",
  type: "text",
  typeDesc: "text",
  fundJourParentType: "text",
  queryParamStr: "text",
} as const;

/**
 * Returns cases for 52 of the 53 operations, in an order in which each finds the values it needs. `made` contains the
 * order numbers that earlier cases of this run have created. The trade login is separate, because its password cannot
 * be a command-line parameter.
 */
export function casesOf(made: Made): Case[] {
  const algoSettings = { origStartTime: "000000", origEndTime: "000000", maxVolume: "100", sensitivity: "1" };
  return [
    // 4.1, 4.2
    {
      path: "/hs/rate/queryList",
      wire: { rateType: "0" },
      ours: ["account.exchangeRates", { rateType: "swap" }],
      data: {
        HKD: { USD: "text", CNY: "text" },
        USD: { HKD: "text", CNY: "text" },
        CNY: { HKD: "text", USD: "text" },
      },
      same: [["USD.HKD", "USD.HKD"]],
    },
    {
      path: "/trade/TradeQueryMarginFundInfo",
      wire: HK,
      ours: ["account.funds", { market: "hk" }],
      data: {
        assetBalance: "text",
        enableBalance: "text",
        cashOnHold: "text",
        creditValue: "text",
        creditLine: "text",
        fetchBalance: "text",
        frozenBalance: "text",
        accountStatus: "text",
        spentRatio: "text",
        currentCreditLimit: "text",
        maxCreditLimit: "text",
        unitCreditLimit: "text",
        unitMaxCreditLimit: "text",
        buyPower: "text",
        buyPowerCredit: "text",
        buyPowerHk: "text",
        buyPowerUs: "text",
        buyPowerCn: "text",
        unitedBuyPowerHk: "text",
        unitedBuyPowerUs: "text",
        unitedBuyPowerCn: "text",
        thirdBuyPowerHk: "text",
        thirdBuyPowerUs: "text",
        thirdBuyPowerCn: "text",
        buyPowerShortMarket: "text",
        buyPowerMoney: "text",
      },
      same: [["totalAssets", "assetBalance"], ["available", "enableBalance"], [
        "withdrawable",
        "fetchBalance",
      ]],
    },
    {
      path: "/trade/TradeQueryHoldsList",
      wire: HK,
      ours: ["account.holdings", { market: "hk" }],
      data: {
        holdsList: [{
          stockCode: "text",
          stockName: "text",
          exchangeType: "text",
          currentAmount: "text",
          enableAmount: "text",
          costPrice: "text",
          dayCostPrice: "text",
          keepCostPrice: "text",
          dayInComeAmount: "text",
          dayOutComeAmount: "text",
        }],
      },
      same: [
        ["0.symbol", "holdsList.0.stockCode"],
        ["0.quantity", "holdsList.0.currentAmount"],
        ["0.sellableQuantity", "holdsList.0.enableAmount"],
        ["0.breakEvenPrice", "holdsList.0.keepCostPrice"],
      ],
      is: [["0.market", "hk"]],
    },
    {
      path: "/trade/TradeQueryBuyAmount",
      wire: { ...TENCENT, entrustPrice: "580.00", queryType: "0", clientType: 0 },
      ours: ["account.maxBuy", { ...ourTencent, price: "580.00" }],
      data: { data: "number" },
      same: [["quantity", "data"]],
    },
    {
      path: "/trade/TradeQuerySellAmount",
      wire: { ...TENCENT, clientType: 0 },
      ours: ["account.maxSell", ourTencent],
      data: { data: "number" },
      same: [["quantity", "data"]],
    },
    {
      path: "/trade/TradeQueryMaxAvailableAsset",
      wire: { ...TENCENT, entrustPrice: "580.00", entrustType: "3" },
      ours: ["account.buyingPower", { ...ourTencent, price: "580.00", orderType: "limit" }],
      data: {
        data: {
          positionStatus: "text",
          position: "text",
          longOpenAvailable: "text",
          longCloseAvailable: "text",
          cashAvailableToOpen: "text",
          marginAvailableToOpen: "text",
          cashAndMarginAvailableToOpen: "text",
          cashAvailableAmount: "text",
          marginAvailableAmount: "text",
          cashAndMarginAvailableAmount: "text",
          shortOpenAvailable: "text",
          shortCloseAvailable: "text",
          shortCloseCashAvailable: "text",
          shortOpenPool: "text",
          shortBuyPower: "text",
          contractSize: "text",
          unitedBuyPowerStatus: "text",
          creditLimit: "text",
        },
      },
      same: [["positionQuantity", "data.position"]],
      is: [["position", "long"]],
    },
    // 4.3: the resting order is amended and cancelled; the crossing order fills.
    {
      path: "/trade/TradeEntrust",
      wire: {
        ...TENCENT,
        entrustAmount: "100",
        entrustPrice: "580.00",
        entrustBs: "1",
        entrustType: "3",
        clientType: 0,
      },
      ours: ["orders.place", {
        ...ourTencent,
        quantity: "100",
        price: "580.00",
        side: "buy",
        orderType: "limit",
      }],
      data: orderIdData,
      same: [["orderId", "data"]],
      makes: "resting",
    },
    {
      path: "/trade/TradeChangeEntrust",
      wire: { ...TENCENT, entrustId: made.resting, entrustAmount: "200", entrustPrice: "579.50" },
      ours: ["orders.amend", { ...ourTencent, orderId: made.resting, quantity: "200", price: "579.50" }],
      data: orderIdData,
      same: [["orderId", "data"]],
      makes: "resting",
    },
    {
      path: "/trade/TradeCancelEntrust",
      wire: { ...TENCENT, entrustId: made.resting, entrustAmount: "200" },
      ours: ["orders.cancel", { ...ourTencent, orderId: made.resting, quantity: "200" }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/TradeEntrust",
      wire: {
        ...TENCENT,
        entrustAmount: "100",
        entrustPrice: "600.00",
        entrustBs: "1",
        entrustType: "3",
        clientType: 0,
      },
      ours: ["orders.place", {
        ...ourTencent,
        quantity: "100",
        price: "600.00",
        side: "buy",
        orderType: "limit",
      }],
      data: orderIdData,
      makes: "filled",
      wait: 60_000,
    },
    {
      path: "/trade/TradeBatchCancelEntrust",
      wire: { ...HK, entrustId: [made.filled] },
      ours: ["orders.cancelMany", { market: "hk", orderIds: [made.filled] }],
      data: { failCancelEntrust: [{ failEntrustId: "text", remark: "text" }] },
      same: [
        ["failed.0.orderId", "failCancelEntrust.0.failEntrustId"],
        ["failed.0.remark", "failCancelEntrust.0.remark"],
      ],
      is: [["failed.0.orderId", made.filled], ["cancelled", []]],
    },
    // 4.4 and the journals of 4.2
    {
      path: "/trade/TradeQueryRealEntrustList",
      wire: { ...HK, ...FIRST_PAGE },
      ours: ["orders.today", { market: "hk" }],
      data: { data: [orderMembers] },
      same: [
        ["0.symbol", "data.0.stockCode"],
        ["0.orderId", "data.0.entrustId"],
        ["0.quantity", "data.0.entrustAmount"],
        ["0.cursor", "data.0.queryParamStr"],
      ],
      is: [["0.side", "buy"], ["0.orderType", "limit"], ["0.date", "2025-08-15"], ["0.market", "hk"]],
    },
    {
      path: "/trade/TradeQueryRealDeliverList",
      wire: { ...HK, ...FIRST_PAGE },
      ours: ["fills.today", { market: "hk" }],
      data: { data: [{ ...fillMembers, opponentSeat: "text" }] },
      same: [
        ["0.fillPrice", "data.0.businessPrice"],
        ["0.filledQuantity", "data.0.businessAmount"],
        ["0.fillAmount", "data.0.businessBalance"],
      ],
      is: [["0.status", "filled"], ["0.canCancel", false]],
    },
    {
      path: "/trade/TradeQueryRealFundJourList",
      wire: { ...HK, ...FIRST_PAGE },
      ours: ["fundJournal.today", { market: "hk" }],
      data: { data: [journalMembers] },
      same: [["0.amount", "data.0.businessBalance"], ["0.typeText", "data.0.typeDesc"]],
      is: [["0.type", "buy-securities"]],
    },
    {
      path: "/trade/TradeQueryHistoryFundJourList",
      wire: { ...HK, ...FIRST_PAGE, ...SPAN },
      ours: ["fundJournal.history", { market: "hk", ...ourSpan }],
      data: { data: [{ ...journalMembers, time: "text" }] },
      same: [["0.amount", "data.0.businessBalance"], ["0.cursor", "data.0.queryParamStr"]],
    },
    {
      path: "/trade/TradeQueryHistoryEntrustList",
      wire: { ...HK, ...FIRST_PAGE, ...SPAN },
      ours: ["orders.history", { market: "hk", ...ourSpan }],
      data: { data: [orderMembers] },
      same: [["0.orderId", "data.0.entrustId"], ["19.orderId", "data.19.entrustId"]],
      is: [["0.date", "2025-08-11"]],
    },
    {
      path: "/trade/TradeQueryHistoryDeliverList",
      wire: { ...HK, ...FIRST_PAGE, ...SPAN },
      ours: ["fills.history", { market: "hk", ...ourSpan }],
      // 2.4: commission, stamp duty, trading fee, levy, platform fee, settlement fee, total.
      data: {
        data: [{
          ...fillMembers,
          fareVo: {
            fare0: "text",
            fare1: "text",
            fare2: "text",
            fare3: "text",
            fare6: "text",
            farex: "text",
            faret: "text",
          },
        }],
      },
      same: [
        ["0.fees.commission", "data.0.fareVo.fare0"],
        ["0.fees.platformFee", "data.0.fareVo.fare6"],
        ["0.fees.total", "data.0.fareVo.faret"],
      ],
    },
    {
      path: "/trade/TradeEntrust",
      wire: {
        ...TENCENT,
        entrustAmount: "100",
        entrustPrice: "570.00",
        entrustBs: "2",
        entrustType: "33",
        clientType: 0,
        sessionType: "3",
        validDays: "5",
        condValue: "575.00",
      },
      ours: ["orders.place", {
        ...ourTencent,
        quantity: "100",
        price: "570.00",
        side: "sell",
        orderType: "stop-loss-limit",
        tradingHours: "regular",
        validDays: 5,
        triggerValue: "575.00",
      }],
      data: orderIdData,
      makes: "conditional",
    },
    {
      path: "/trade/TradeQueryRealCondOrderList",
      wire: { ...HK, pageNo: 1, pageSize: 20 },
      ours: ["conditionalOrders.today", { market: "hk" }],
      data: conditionalPage,
      same: [
        ["rows.0.orderId", "data.0.condOrderId"],
        ["rows.0.triggerValue", "data.0.condValue"],
        ["rows.0.price", "data.0.condPrice"],
        ["page", "curPageNo"],
      ],
      is: [["rows.0.status", "pending"], ["rows.0.orderType", "stop-loss-limit"], ["rows.0.canCancel", true]],
    },
    {
      path: "/trade/TradeQueryHistoryCondOrderList",
      wire: {
        ...HK,
        pageNo: "1",
        pageSize: "20",
        startTime: "2025-08-01 00:00:00",
        endTime: "2025-08-15 23:59:59",
      },
      ours: ["conditionalOrders.history", {
        market: "hk",
        from: "2025-08-01 00:00:00",
        to: "2025-08-15 23:59:59",
      }],
      data: conditionalPage,
      same: [["rows.0.orderId", "data.0.condOrderId"]],
      is: [["rows.0.tradingHours", "regular"]],
    },
    // 4.3 and other sources: algorithmic orders
    {
      path: "/trade/AlgoAddOrder",
      wire: {
        ...TENCENT,
        entrustBs: "1",
        entrustType: "1",
        entrustPrice: "600.00",
        entrustAmount: "1000",
        targetStrategy: "1001",
        sessionType: "0",
        strategyParam: algoSettings,
      },
      ours: ["algo.place", {
        ...ourTencent,
        side: "buy",
        orderType: "limit",
        price: "600.00",
        quantity: "1000",
        strategy: "twap",
        settings: { maxChildQuantity: "100", sensitivity: "neutral" },
      }],
      data: orderIdData,
      same: [["orderId", "data"]],
      makes: "algo",
      wait: 120_000,
    },
    {
      path: "/trade/AlgoQueryOrderList",
      wire: { startDate: "20250815", endDate: "20250815", pageNo: "1", pageSize: "20" },
      ours: ["algo.list", { from: "2025-08-15", to: "2025-08-15" }],
      data: {
        algoOrderList: [{
          orderId: "text",
          stockCode: "text",
          entrustType: "text",
          entrustPrice: "text",
          entrustAmount: "text",
          entrustBs: "text",
          targetStrategy: "text",
          status: "text",
        }],
      },
      same: [["0.orderId", "algoOrderList.0.orderId"], ["0.quantity", "algoOrderList.0.entrustAmount"]],
      is: [["0.strategy", "twap"], ["0.settings.sensitivity", "neutral"]],
    },
    {
      path: "/trade/AlgoQueryEntrustIdList",
      wire: { orderId: made.algo, tradeDate: "20250815", ...HK },
      ours: ["algo.children", { orderId: made.algo, date: "2025-08-15", market: "hk" }],
      data: { entrustId: ["text"] },
      same: [["0", "entrustId.0"]],
      makes: "child",
    },
    {
      path: "/trade/AlgoActionOrder",
      wire: { orderId: made.algo, action: "3", targetStrategy: "1001", ...HK },
      ours: ["algo.act", { orderId: made.algo, action: "suspend", strategy: "twap", market: "hk" }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/AlgoChangeOrder",
      wire: { orderId: made.algo, entrustAmount: "900" },
      ours: ["algo.amend", { orderId: made.algo, quantity: "900" }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/AlgoCancelOrder",
      wire: { orderId: made.algo, ...HK },
      ours: ["algo.cancel", { orderId: made.algo, market: "hk" }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/AlgoAddOrder",
      wire: {
        ...TENCENT,
        entrustBs: "1",
        entrustType: "1",
        entrustPrice: "560.00",
        entrustAmount: "400",
        targetStrategy: "1001",
        sessionType: "0",
        strategyParam: algoSettings,
      },
      ours: ["algo.place", {
        ...ourTencent,
        side: "buy",
        orderType: "limit",
        price: "560.00",
        quantity: "400",
        strategy: "twap",
        settings: { maxChildQuantity: "100", sensitivity: "neutral" },
      }],
      data: orderIdData,
      makes: "restingAlgo",
      wait: 120_000,
    },
    {
      path: "/trade/AlgoQueryEntrustIdList",
      wire: { orderId: made.restingAlgo, tradeDate: "20250815", ...HK },
      ours: ["algo.children", { orderId: made.restingAlgo, date: "2025-08-15", market: "hk" }],
      data: { entrustId: ["text"] },
      makes: "child",
    },
    {
      path: "/trade/AlgoCancelEntrust",
      wire: { orderId: made.restingAlgo, entrustId: made.child, ...HK },
      ours: ["algo.cancelChild", { orderId: made.restingAlgo, childOrderId: made.child, market: "hk" }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    // 4.5 and other sources: futures
    {
      path: "/trade/FuturesQueryFundInfo",
      wire: {},
      ours: ["futures.funds", {}],
      data: { fundInfo: futuresFunds },
      same: [["funds.cashCnh", "fundInfo.cashBalCNH"], ["funds.initialMargin", "fundInfo.iMargin"]],
      is: [["funds.marginStatus", "safe"]],
    },
    {
      path: "/trade/FuturesQueryHoldsList",
      wire: {},
      ours: ["futures.holdings", {}],
      data: {
        fundInfo: futuresFunds,
        holdsList: [{
          stockCode: "text",
          stockName: "text",
          lastDayQty: "text",
          lastDayPrice: "text",
          depQty: "text",
          dayLongQty: "text",
          dayShortQty: "text",
          dayNetQty: "text",
          currentQty: "text",
          costPrice: "text",
          preClosePrice: "text",
          profitLoss: "text",
          ccy: "text",
          dataType: "text",
        }],
      },
      same: [["holdings.0.quantity", "holdsList.0.currentQty"], [
        "holdings.0.profit",
        "holdsList.0.profitLoss",
      ]],
      is: [["holdings.0.securityType", "hk-index-future"]],
    },
    {
      path: "/trade/FuturesQueryMaxBuySellAmount",
      wire: { stockCode: FUTURE },
      ours: ["futures.maxQuantity", { symbol: FUTURE }],
      data: {
        positionStatus: "number",
        maxBuyAmount: "number",
        maxSellAmount: "number",
        initialMargin: "text",
        ccy: "text",
      },
      same: [["maxBuy", "maxBuyAmount"], ["maxSell", "maxSellAmount"], ["currency", "ccy"]],
    },
    {
      path: "/trade/FuturesQueryProductInfo",
      wire: { stockCode: [FUTURE] },
      ours: ["futures.products", { symbols: [FUTURE] }],
      data: {
        productInfoVos: [{
          prodCode: "text",
          instCode: "text",
          lotSize: "number",
          decInPrice: "number",
          contractSize: "text",
          priceDecimalPoint: "text",
          expiryDate: "text",
          isSupportT1: "number",
        }],
      },
      same: [["0.symbol", "productInfoVos.0.prodCode"], ["0.expiry", "productInfoVos.0.expiryDate"]],
    },
    {
      path: "/trade/FuturesEntrust",
      wire: {
        stockCode: FUTURE,
        entrustPrice: "24000",
        entrustAmount: "1",
        entrustBs: "1",
        validTimeType: "0",
        orderOptions: "0",
        entrustType: "0",
      },
      ours: ["futures.place", {
        symbol: FUTURE,
        price: "24000",
        quantity: "1",
        side: "buy",
        validity: "day",
        orderType: "limit",
      }],
      data: orderIdData,
      same: [["orderId", "data"]],
      makes: "future",
    },
    {
      path: "/trade/FuturesQueryRealEntrustList",
      wire: {},
      ours: ["futures.ordersToday", {}],
      data: { data: [futuresMembers] },
      same: [["0.orderId", "data.0.entrustId"]],
      is: [["0.validity", "day"], ["0.session", "default"]],
    },
    {
      path: "/trade/FuturesModifyEntrust",
      wire: {
        entrustId: made.future,
        stockCode: FUTURE,
        entrustPrice: "24010",
        entrustAmount: "1",
        entrustBs: "1",
        validTimeType: "0",
        orderOptions: "0",
      },
      ours: ["futures.amend", {
        orderId: made.future,
        symbol: FUTURE,
        price: "24010",
        quantity: "1",
        side: "buy",
        validity: "day",
      }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/FuturesCancelEntrust",
      wire: { entrustId: made.future, stockCode: FUTURE },
      ours: ["futures.cancel", { orderId: made.future, symbol: FUTURE }],
      data: orderIdData,
      same: [["orderId", "data"]],
    },
    {
      path: "/trade/FuturesEntrust",
      wire: {
        stockCode: FUTURE,
        entrustPrice: "27000",
        entrustAmount: "1",
        entrustBs: "1",
        validTimeType: "0",
        orderOptions: "0",
        entrustType: "0",
      },
      ours: ["futures.place", {
        symbol: FUTURE,
        price: "27000",
        quantity: "1",
        side: "buy",
        validity: "day",
        orderType: "limit",
      }],
      data: orderIdData,
      wait: 60_000,
    },
    {
      path: "/trade/FuturesQueryRealDeliverList",
      wire: {},
      ours: ["futures.fillsToday", {}],
      data: { data: [{ ...futuresMembers, businessPrice: "text", businessTime: "text" }] },
      same: [["0.fillPrice", "data.0.businessPrice"]],
    },
    {
      path: "/trade/FuturesQueryHistoryDeliverList",
      wire: { ...SPAN, pageNo: 1, pageSize: 20 },
      ours: ["futures.fillsHistory", ourSpan],
      data: futuresPage,
      same: [["rows.0.orderId", "data.0.entrustId"], ["page", "curPageNo"], ["limit", "curPageSize"]],
    },
    {
      path: "/trade/FuturesQueryHistoryEntrustList",
      wire: { ...SPAN, pageNo: 1, pageSize: 20 },
      ours: ["futures.ordersHistory", ourSpan],
      data: futuresPage,
      same: [["rows.0.orderId", "data.0.entrustId"]],
    },
    // 4.6
    {
      path: "/hq/BasicQot",
      wire: { security: [SECURITY] },
      ours: ["quotes.latest", { securities: [ourSecurity] }],
      data: {
        basicQot: [{
          security,
          isSuspended: "boolean",
          openPrice: "number",
          highPrice: "number",
          lowPrice: "number",
          lastPrice: "number",
          lastClosePrice: "number",
          priceSpread: "number",
          volume: "number",
          turnover: "number",
          turnoverRate: "number",
          amplitude: "number",
          secStatus: "number",
          lotSize: "number",
          tradeTime: "text",
          marketTime: "text",
          volumeStr: "text",
        }],
      },
      same: [["0.lastPrice", "basicQot.0.lastPrice"], ["0.volume", "basicQot.0.volume"]],
      is: [["0.security.type", "hk-stock"], ["0.security.symbol", "00700.HK"], ["0.lotSize", 100]],
    },
    {
      path: "/hq/Broker",
      wire: { security: SECURITY },
      ours: ["quotes.brokers", { security: ourSecurity }],
      data: {
        security,
        brokerAskList: [{ level: "number", item: "text", type: "number" }],
        brokerBidList: [{ level: "number", item: "text", type: "number" }],
      },
      // 2.3: an entry of type 83 is a price level, not a broker, so it has no name.
      same: [
        ["asks.0.broker", "brokerAskList.0.item"],
        ["bids.0.broker", "brokerBidList.0.item"],
        ["bids.0.name", "brokerBidList.0.name"],
      ],
      is: [["asks.0.kind", "broker"]],
    },
    {
      path: "/hq/OrderBook",
      wire: { security: SECURITY, mktTmType: 1 },
      ours: ["quotes.orderBook", { security: ourSecurity, session: "regular" }],
      data: {
        security,
        orderBookAskList: [{ level: "number", price: "number", volume: "number", orederCount: "number" }],
        orderBookBidList: [{ level: "number", price: "number", volume: "number", orederCount: "number" }],
        spreadLevel: "number",
      },
      same: [
        ["asks.0.price", "orderBookAskList.0.price"],
        ["bids.9.orderCount", "orderBookBidList.9.orederCount"],
        ["priceStep", "spreadLevel"],
      ],
    },
    {
      path: "/hq/Ticker",
      wire: { security: SECURITY, limit: 10 },
      ours: ["quotes.ticks", { security: ourSecurity, limit: 10 }],
      data: {
        security,
        ticker: [{
          time: "text",
          side: "number",
          price: "number",
          volume: "number",
          turnover: "number",
          type: "number",
          timestamp: "number",
        }],
      },
      same: [["ticks.0.price", "ticker.0.price"], ["ticks.9.timestamp", "ticker.9.timestamp"]],
    },
    {
      path: "/hq/Subscribe",
      wire: { topicId: 11, security: [SECURITY] },
      ours: ["quotes.subscribe", { topic: "quote", securities: [ourSecurity] }],
      data: {},
    },
    {
      path: "/hq/KL",
      wire: { security: SECURITY, startDate: 20250814, direction: 0, exRightFlag: 0, cycType: 2, limit: 5 },
      ours: ["quotes.bars", {
        security: ourSecurity,
        start: "2025-08-14",
        direction: "older",
        interval: "day",
        limit: 5,
      }],
      data: {
        security,
        kline: [{
          date: "text",
          highPrice: "number",
          openPrice: "number",
          lowPrice: "number",
          closePrice: "number",
          lastClosePrice: "number",
          volume: "number",
          turnover: "number",
          timestamp: "number",
        }],
      },
      same: [["bars.0.closePrice", "kline.0.closePrice"], ["bars.4.date", "kline.4.date"]],
    },
    {
      path: "/hq/TimeShare",
      wire: { security: SECURITY },
      ours: ["quotes.timeShare", { security: ourSecurity }],
      data: {
        security,
        timeShare: [{
          time: "text",
          price: "number",
          lastClosePrice: "number",
          avgPrice: "number",
          volume: "number",
          turnover: "number",
        }],
      },
      same: [["points.0.averagePrice", "timeShare.0.avgPrice"]],
    },
    {
      path: "/hq/UsOptionChainExpireDate",
      wire: { securityCode: "AAPL" },
      ours: ["quotes.optionExpiries", { underlying: "AAPL" }],
      data: { expireDate: ["text"] },
      is: [["1", "2025-08-22"]],
    },
    {
      path: "/hq/UsOptionChainCode",
      wire: { securityCode: "AAPL", expireDate: "2025/08/22", flagInOut: 1, optionType: "C" },
      ours: ["quotes.optionCodes", {
        underlying: "AAPL",
        expiry: "2025-08-22",
        moneyness: "in-the-money",
        optionType: "call",
      }],
      data: { optionCode: ["text"] },
      same: [["0", "optionCode.0"]],
    },
    {
      path: "/hq/UsOverNightTradeCodes",
      wire: {},
      ours: ["quotes.overnightSymbols", {}],
      data: { securityCodes: ["text"] },
      same: [["0", "securityCodes.0"]],
    },
    {
      path: "/hq/Unsubscribe",
      wire: { topicId: 11, security: [SECURITY] },
      ours: ["quotes.unsubscribe", { topic: "quote", securities: [ourSecurity] }],
      data: {},
    },
    // Not in the document
    { path: "/trade/TradeSubscribe", wire: {}, ours: ["orders.subscribe", {}], data: success, is: isDone },
    {
      path: "/trade/TradeUnsubscribe",
      wire: {},
      ours: ["orders.unsubscribe", {}],
      data: success,
      is: isDone,
    },
    {
      path: "/trade/TradeQueryMarginFullInfo",
      wire: { dataType: "10000", stockCode: "00700.HK" },
      ours: ["account.marginTerms", { securityType: "hk-stock", symbol: "00700.HK" }],
      data: { marginAllow: "text", shortAllow: "text" },
      is: [["marginAllowed", false]],
    },
    {
      path: "/trade/TradeQueryBeforeAndAfterSupport",
      wire: { exchangeType: "P", stockCode: "AAPL" },
      ours: ["account.extendedHours", { market: "us", symbol: "AAPL" }],
      data: { data: "text" },
      is: [["supported", true]],
    },
    { path: "/trade/TradeLogout", wire: {}, ours: ["account.logout", {}], data: success, is: isDone },
  ];
}
