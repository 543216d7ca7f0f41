/**
 * The types of the client's methods. Written by `deno task docs` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
import type { CallOptions } from "../transports/transport.ts";
import type { Paged, PagingOptions } from "./paging.ts";

/** The account: trade login, funds, holdings, buying power, exchange rates. */
export type AccountMethods = {
  /**
   * Logs in for trading. A client created with a trade password uses that password if none is given here, and logs in automatically when an operation needs the login.
   */
  readonly login: (
    params?: Partial<{
      /** The trade password in plain text; the transport encrypts it. */
      password: string;
    }>,
    options?: CallOptions,
  ) => Promise<{
    /** True on success; absent if the answer does not report it. */
    success?: boolean;
    /** A text that some gateways send instead of `success`. */
    text?: string;
  }>;
  /** Ends the trade login. */
  readonly logout: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** True on success; absent if the answer does not report it. */
    success?: boolean;
    /** A text that some gateways send instead of `success`. */
    text?: string;
  }>;
  /** Keeps the trade login alive on the socket. If it does not succeed, the login has expired. */
  readonly keepLogin: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** True on success; absent if the answer does not report it. */
    success?: boolean;
    /** A text that some gateways send instead of `success`. */
    text?: string;
  }>;
  /** Resolves to the funds of a market, in its currency. */
  readonly funds: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<{
    /** Total assets. */
    totalAssets?: string;
    /** Purchasing power or available cash: the broker's documents disagree. */
    available?: string;
    /** Amount frozen by orders. */
    frozenByOrders?: string;
    /** Total frozen amount. */
    frozen?: string;
    /** Amount that can be withdrawn. */
    withdrawable?: string;
    /** Credit used. */
    creditUsed?: string;
    /** Credit line. */
    creditLine?: string;
    /** Current credit limit. */
    creditLimit?: string;
    /** Highest credit limit after a raise. */
    maxCreditLimit?: string;
    /** Unified credit limit. */
    unifiedCreditLimit?: string;
    /** Highest unified credit limit after a raise. */
    maxUnifiedCreditLimit?: string;
    /** State of the account, as the broker's code. */
    accountStatus?: string;
    /** Fraction of the funds in use. */
    usageRatio?: string;
    /** Purchasing power in the main currency. */
    buyingPower?: string;
    /** Purchasing power with the raised credit. */
    buyingPowerWithCredit?: string;
    /** Purchasing power for Hong Kong. */
    buyingPowerHk?: string;
    /** Purchasing power for the US. */
    buyingPowerUs?: string;
    /** Purchasing power for China Connect. */
    buyingPowerCn?: string;
    /** Unified purchasing power for Hong Kong. */
    unifiedBuyingPowerHk?: string;
    /** Unified purchasing power for the US. */
    unifiedBuyingPowerUs?: string;
    /** Unified purchasing power for China Connect. */
    unifiedBuyingPowerCn?: string;
    /** Third-party purchasing power for Hong Kong. */
    thirdPartyBuyingPowerHk?: string;
    /** Third-party purchasing power for the US. */
    thirdPartyBuyingPowerUs?: string;
    /** Third-party purchasing power for China Connect. */
    thirdPartyBuyingPowerCn?: string;
    /** Purchasing power for short sales. */
    shortBuyingPower?: string;
    /** Purchasing power in cash. */
    cashBuyingPower?: string;
    /** @deprecated Profit on holdings; the broker calls it unreliable. */
    holdingsProfit?: string;
    /** @deprecated Market value; the broker calls it unreliable. */
    marketValue?: string;
  }>;
  /** Resolves to the holdings of a market. */
  readonly holdings: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<({
    /** Listing code; US codes may carry `.US`. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** Quantity held, in shares or contracts. */
    quantity?: string;
    /** Quantity that can be sold. */
    sellableQuantity?: string;
    /** Cost price. */
    costPrice?: string;
    /** Today's cost price. */
    dayCostPrice?: string;
    /** Break-even price. */
    breakEvenPrice?: string;
    /** Quantity received today. */
    dayIn?: string;
    /** Quantity delivered today. */
    dayOut?: string;
    /** @deprecated The broker calls it unreliable; query a quote. */
    lastPrice?: string;
    /** @deprecated Profit; the broker calls it unreliable. */
    profit?: string;
    /** @deprecated Market value; the broker calls it unreliable. */
    marketValue?: string;
    /**
     * @deprecated Some sources swap its meaning with `incomeRatio`, and the broker calls both unreliable.
     */
    marketValueRate?: string;
    /**
     * @deprecated Some sources swap its meaning with `marketValueRate`, and the broker calls both unreliable.
     */
    incomeRatio?: string;
  })[]>;
  /**
   * Resolves to the maximum number of shares to buy at a price. The broker's newer documents use `account.buyingPower` instead.
   */
  readonly maxBuy: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Price to buy at, in the listing's currency. */
    price: string;
    /** Whether to include margin. */
    queryType?: "default" | "margin";
    /** Client type of the request. */
    clientType?: "internet";
  }, options?: CallOptions) => Promise<{
    /** Maximum quantity, in shares. */
    quantity: string;
  }>;
  /** Resolves to the maximum number of shares to sell. */
  readonly maxSell: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Client type of the request. */
    clientType?: "internet";
  }, options?: CallOptions) => Promise<{
    /** Maximum quantity, in shares. */
    quantity: string;
  }>;
  /**
   * Resolves to the largest quantities of a listing that can be bought and sold; for options also the margin.
   */
  readonly buyingPower: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Price to trade at, in the listing's currency. */
    price: string;
    /** Ordinary order types only. */
    orderType:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit";
  }, options?: CallOptions) => Promise<{
    /** Whether there is no position, a long one or a short one. */
    position?: "no-position" | "long" | "short" | `unlisted:${string}`;
    /** Quantity held. */
    positionQuantity?: string;
    /** Maximum quantity to buy to open. */
    maxLongOpen?: string;
    /** Maximum quantity to sell to close. */
    maxLongClose?: string;
    /** Maximum quantity to open with cash only. */
    maxOpenByCash?: string;
    /** Maximum quantity to open with margin only. */
    maxOpenByMargin?: string;
    /** Maximum quantity to open with cash and margin. */
    maxOpenByCashAndMargin?: string;
    /** Cash available. */
    cashAvailable?: string;
    /** Margin available. */
    marginAvailable?: string;
    /** Cash and margin available. */
    cashAndMarginAvailable?: string;
    /** Maximum quantity to sell short. */
    maxShortOpen?: string;
    /** Maximum quantity to buy back. */
    maxShortClose?: string;
    /** Maximum quantity to buy back with cash. */
    maxShortCloseByCash?: string;
    /** Pool for short sales. */
    shortPool?: string;
    /** Purchasing power for short sales. */
    shortBuyingPower?: string;
    /** Shares of one option contract. */
    contractSize?: string;
    /** Whether unified purchasing power is on. */
    unifiedBuyingPower?: string;
    /** Overdraft limit. */
    creditLimit?: string;
    /** Margin of a long option. */
    optionLongMargin?: string;
    /** Margin of a short option. */
    optionShortMargin?: string;
  }>;
  /** Resolves to the margin terms of a security. */
  readonly marginTerms: (params: {
    /** Type of the security. */
    securityType:
      | "hk-stock"
      | "hk-index"
      | "hk-etf"
      | "hk-warrant"
      | "hk-cbbc"
      | "hk-bond"
      | "hk-industry-sector"
      | "hk-concept-sector"
      | "hk-future"
      | "hk-index-future"
      | "hk-stock-future"
      | "hk-dividend-future"
      | "hk-rmb-future"
      | "hk-china-future"
      | "hk-volatility-future"
      | "hk-in-range-certificate"
      | "us-stock"
      | "us-index"
      | "us-etf"
      | "us-option"
      | "us-industry-sector"
      | "us-concept-sector"
      | "us-otc-stock"
      | "a-share-stock"
      | "a-share-index"
      | "a-share-etf"
      | "a-share-industry"
      | "a-share-concept"
      | "star-board-stock";
    /** Listing code. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether it can be bought on margin. */
    marginAllowed?: boolean;
    /** Initial margin ratio. */
    initialMarginRatio?: string;
    /** Maintenance margin ratio. */
    maintenanceMarginRatio?: string;
    /** Whether it can be sold short. */
    shortAllowed?: boolean;
    /** Initial margin ratio of a short sale. */
    shortInitialMarginRatio?: string;
    /** Maintenance margin ratio of a short sale. */
    shortMaintenanceMarginRatio?: string;
    /** Interest rate of a short sale. */
    shortInterestRate?: string;
    /** Shares left to sell short. */
    shortAvailableQuantity?: string;
    /** Interest rates by currency. */
    rates?: ({
      /** Currency. */
      currency?: string;
      /** Name of the currency. */
      currencyName?: string;
      /**
       * The broker's "interest rate within mortgage"; its documents do not say what "mortgage" means here.
       */
      interestRate?: string;
    })[];
  }>;
  /** Resolves to whether a listing trades in extended hours. */
  readonly extendedHours: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether extended hours are supported. */
    supported: boolean;
  }>;
  /** Resolves to whether a listing can be sold short, and at what interest rate. */
  readonly shortSale: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether it can be sold short. */
    supported: boolean;
    /** Interest rate. */
    interestRate?: string;
  }>;
  /**
   * Resolves to the exchange rates, as a map of maps: one unit of the outer currency in units of the inner currency.
   */
  readonly exchangeRates: (params?: {
    /** Swap rate or spot rate. */
    rateType?: "swap" | "spot";
  }, options?: CallOptions) => Promise<Record<string, Record<string, string>>>;
};

/** Orders: place, amend, cancel and list orders. */
export type OrdersMethods = {
  /**
   * Places an order and resolves to the broker's order id. The broker splits a quantity above the single-order maximum into several orders.
   */
  readonly place: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Quantity, in shares or contracts. */
    quantity: string;
    /**
     * Limit price in the listing's currency. May be omitted for conditional orders; `"0"` for a market order.
     */
    price?: string;
    /**
     * Side. With a short position in the listing, the broker sets the direction itself; the source does not say how.
     */
    side: "buy" | "sell" | "short-close" | "short-open";
    /** Order type; must be one that the market accepts. */
    orderType:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market";
    /** Client type of the request. */
    clientType?: "internet";
    /** Routing venue, only for the US; the broker may ignore it. */
    venue?:
      | "SMART"
      | "AMEX"
      | "ARCA"
      | "BATS"
      | "BEX"
      | "BYX"
      | "CBOE"
      | "CHX"
      | "DRCTEDGE"
      | "EDGEA"
      | "EDGX"
      | "IBKRTS"
      | "IEX"
      | "ISE"
      | "ISLAND"
      | "LTSE"
      | "MEMX"
      | "NYSE"
      | "NYSENAT"
      | "PEARL"
      | "PHLX"
      | "PSX";
    /**
     * Trading hours of the order: the first two names for ordinary orders, the others for conditional orders.
     */
    tradingHours?: "no-extended" | "extended" | "regular" | "hk-regular-and-dark" | "us-regular-and-extended";
    /** Visible quantity of an iceberg order, above zero and at most the quantity. */
    displayQuantity?: string;
    /** Validity of a conditional order, in calendar days. */
    validDays?: number;
    /** Value that triggers a conditional order: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Unit of the distance of a trailing order. */
    trailBy?: "percentage" | "spread";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /**
   * Amends an order and resolves to its order id, which may be a new one. The broker splits a quantity above the single-order maximum into several orders.
   */
  readonly amend: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** The broker's order number. */
    orderId: string;
    /** New quantity. */
    quantity: string;
    /** New price; may be omitted for a conditional order. */
    price?: string;
    /** Type of the placed order; required for a conditional order. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market";
    /** Trading hours of a conditional order. */
    tradingHours?: "regular" | "hk-regular-and-dark" | "us-regular-and-extended";
    /** Validity of a conditional order, in calendar days. */
    validDays?: number;
    /** Value that triggers a conditional order: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Unit of the distance of a trailing order. */
    trailBy?: "percentage" | "spread";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /**
   * Cancels one order and resolves to its order id. If the answer names another order, the outcome is unknown and the call throws an `OutcomeUnknownError`.
   */
  readonly cancel: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** The broker's order number. */
    orderId: string;
    /** If given, it must equal the quantity of the placed order. */
    quantity?: string;
    /** Price of the placed order. */
    price?: string;
    /** Type of the placed order; required for a conditional order. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /**
   * Cancels the given orders of a market. Resolves to the orders that were cancelled and those that were not. The call may time out on a day with many orders: then query the lists again and cancel the remaining orders. If the answer omits a given order, or lists it both as cancelled and as failed, the call throws an `OutcomeUnknownError` that names the order. Conditional orders must be cancelled one by one.
   */
  readonly cancelMany: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Order numbers, at least one. To cancel all orders, use `orders.cancelAll`. */
    orderIds: (string)[];
  }, options?: CallOptions) => Promise<{
    /** Cancelled orders. */
    cancelled: (string)[];
    /** Orders that were not cancelled, each with the reason. */
    failed: ({
      /** The broker's order number. */
      orderId: string;
      /** Why the order was not cancelled, in the broker's words. */
      remark?: string;
    })[];
  }>;
  /**
   * Cancels every order of a market that can be cancelled; `shanghai` and `shenzhen` each mean both. An answer without orders does not prove that no order is open: check `orders.today`.
   */
  readonly cancelAll: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<{
    /** Cancelled orders. */
    cancelled: (string)[];
    /** Orders that were not cancelled, each with the reason. */
    failed: ({
      /** The broker's order number. */
      orderId: string;
      /** Why the order was not cancelled, in the broker's words. */
      remark?: string;
    })[];
  }>;
  /** Yields today's orders, without conditional orders. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Rows per page, 1 to 99. */
    limit?: number;
    /** Only these orders, at most 100. If given, the broker ignores paging. */
    orderIds?: (string)[];
  }, options?: PagingOptions) => Paged<{
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** The broker's order number. */
    orderId: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price in the listing's currency. */
    price?: string;
    /** Quantity ordered, in shares or contracts. */
    quantity?: string;
    /** Price of the fill, in the listing's currency. */
    fillPrice?: string;
    /** Quantity filled. */
    filledQuantity?: string;
    /** Quantity not filled. */
    unfilledQuantity?: string;
    /** Amount of the fill: price times quantity. */
    fillAmount?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Seat of the counterparty; only on same-day fills. */
    counterpartySeat?: string;
    /** `voided-order` if the order was voided, otherwise `none`. */
    remarkType?: "none" | "voided-order" | `unlisted:${string}`;
    /** The broker's remark; free text. */
    remark?: string;
    /** Routing venue, US. */
    venue?:
      | "SMART"
      | "AMEX"
      | "ARCA"
      | "BATS"
      | "BEX"
      | "BYX"
      | "CBOE"
      | "CHX"
      | "DRCTEDGE"
      | "EDGEA"
      | "EDGX"
      | "IBKRTS"
      | "IEX"
      | "ISE"
      | "ISLAND"
      | "LTSE"
      | "MEMX"
      | "NYSE"
      | "NYSENAT"
      | "PEARL"
      | "PHLX"
      | "PSX"
      | `unlisted:${string}`;
    /** Position of the row in its list, for paging. */
    cursor?: string;
  }>;
  /** Yields the orders of past days. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** The broker's order number. */
    orderId: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price in the listing's currency. */
    price?: string;
    /** Quantity ordered, in shares or contracts. */
    quantity?: string;
    /** Price of the fill, in the listing's currency. */
    fillPrice?: string;
    /** Quantity filled. */
    filledQuantity?: string;
    /** Quantity not filled. */
    unfilledQuantity?: string;
    /** Amount of the fill: price times quantity. */
    fillAmount?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Seat of the counterparty; only on same-day fills. */
    counterpartySeat?: string;
    /** `voided-order` if the order was voided, otherwise `none`. */
    remarkType?: "none" | "voided-order" | `unlisted:${string}`;
    /** The broker's remark; free text. */
    remark?: string;
    /** Routing venue, US. */
    venue?:
      | "SMART"
      | "AMEX"
      | "ARCA"
      | "BATS"
      | "BEX"
      | "BYX"
      | "CBOE"
      | "CHX"
      | "DRCTEDGE"
      | "EDGEA"
      | "EDGX"
      | "IBKRTS"
      | "IEX"
      | "ISE"
      | "ISLAND"
      | "LTSE"
      | "MEMX"
      | "NYSE"
      | "NYSENAT"
      | "PEARL"
      | "PHLX"
      | "PSX"
      | `unlisted:${string}`;
    /** Position of the row in its list, for paging. */
    cursor?: string;
  }>;
  /** Turns on order pushes for the trade session. They are on by default after connecting. */
  readonly subscribe: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** True on success; absent if the answer does not report it. */
    success?: boolean;
    /** A text that some gateways send instead of `success`. */
    text?: string;
  }>;
  /** Turns off order pushes for the trade session. */
  readonly unsubscribe: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** True on success; absent if the answer does not report it. */
    success?: boolean;
    /** A text that some gateways send instead of `success`. */
    text?: string;
  }>;
};

/** Fills, with their fees. */
export type FillsMethods = {
  /** Yields today's fills. Fees are absent until clearing; read them from `fills.history`. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price in the listing's currency. */
    price?: string;
    /** Quantity ordered, in shares or contracts. */
    quantity?: string;
    /** Price of the fill, in the listing's currency. */
    fillPrice: string;
    /** Quantity filled. */
    filledQuantity: string;
    /** Quantity not filled. */
    unfilledQuantity?: string;
    /** Amount of the fill: price times quantity. */
    fillAmount?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Seat of the counterparty; only on same-day fills. */
    counterpartySeat?: string;
    /** `voided-order` if the order was voided, otherwise `none`. */
    remarkType?: "none" | "voided-order" | `unlisted:${string}`;
    /** The broker's remark; free text. */
    remark?: string;
    /** Routing venue, US. */
    venue?:
      | "SMART"
      | "AMEX"
      | "ARCA"
      | "BATS"
      | "BEX"
      | "BYX"
      | "CBOE"
      | "CHX"
      | "DRCTEDGE"
      | "EDGEA"
      | "EDGX"
      | "IBKRTS"
      | "IEX"
      | "ISE"
      | "ISLAND"
      | "LTSE"
      | "MEMX"
      | "NYSE"
      | "NYSENAT"
      | "PEARL"
      | "PHLX"
      | "PSX"
      | `unlisted:${string}`;
    /** Position of the row in its list, for paging. */
    cursor?: string;
    /** Fees; absent until clearing. */
    fees?: {
      /** The broker's `fare0`. */
      commission?: string;
      /** The broker's `fare1`. */
      stampDutyOrSecFee?: string;
      /** The broker's `fare2`. */
      tradingFeeOrTaf?: string;
      /** The broker's `fare3`. */
      tradingLevy?: string;
      /** The broker's `fare4`. */
      optionRegulatoryFee?: string;
      /** The broker's `fare5`. */
      optionClearingFee?: string;
      /** The broker's `fare6`. */
      platformFee?: string;
      /** The broker's `fare7`. */
      reservedFee?: string;
      /** The broker's `fare8`. */
      auditTrailFee?: string;
      /** The broker's `fare9`. */
      disputeCouncilLevy?: string;
      /** The broker's `farex`. */
      settlementFee?: string;
      /** The broker's `faret`. */
      total?: string;
    };
  }>;
  /**
   * Yields the fills of past days with their fees. Hong Kong fills are merged and do not map to orders one to one.
   */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price in the listing's currency. */
    price?: string;
    /** Quantity ordered, in shares or contracts. */
    quantity?: string;
    /** Price of the fill, in the listing's currency. */
    fillPrice: string;
    /** Quantity filled. */
    filledQuantity: string;
    /** Quantity not filled. */
    unfilledQuantity?: string;
    /** Amount of the fill: price times quantity. */
    fillAmount?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Seat of the counterparty; only on same-day fills. */
    counterpartySeat?: string;
    /** `voided-order` if the order was voided, otherwise `none`. */
    remarkType?: "none" | "voided-order" | `unlisted:${string}`;
    /** The broker's remark; free text. */
    remark?: string;
    /** Routing venue, US. */
    venue?:
      | "SMART"
      | "AMEX"
      | "ARCA"
      | "BATS"
      | "BEX"
      | "BYX"
      | "CBOE"
      | "CHX"
      | "DRCTEDGE"
      | "EDGEA"
      | "EDGX"
      | "IBKRTS"
      | "IEX"
      | "ISE"
      | "ISLAND"
      | "LTSE"
      | "MEMX"
      | "NYSE"
      | "NYSENAT"
      | "PEARL"
      | "PHLX"
      | "PSX"
      | `unlisted:${string}`;
    /** Position of the row in its list, for paging. */
    cursor?: string;
    /** Fees; absent until clearing. */
    fees?: {
      /** The broker's `fare0`. */
      commission?: string;
      /** The broker's `fare1`. */
      stampDutyOrSecFee?: string;
      /** The broker's `fare2`. */
      tradingFeeOrTaf?: string;
      /** The broker's `fare3`. */
      tradingLevy?: string;
      /** The broker's `fare4`. */
      optionRegulatoryFee?: string;
      /** The broker's `fare5`. */
      optionClearingFee?: string;
      /** The broker's `fare6`. */
      platformFee?: string;
      /** The broker's `fare7`. */
      reservedFee?: string;
      /** The broker's `fare8`. */
      auditTrailFee?: string;
      /** The broker's `fare9`. */
      disputeCouncilLevy?: string;
      /** The broker's `farex`. */
      settlementFee?: string;
      /** The broker's `faret`. */
      total?: string;
    };
  }>;
};

/** The fund journal: every movement of cash. */
export type FundJournalMethods = {
  /** Yields today's entries, without their time. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Amount, in the market's currency; negative for outgoing money. */
    amount: string;
    /** Type of movement. */
    type?:
      | "initial"
      | "buy-order-request"
      | "sell-order-request"
      | "buy-request-failed"
      | "sell-request-failed"
      | "buy-securities"
      | "sell-securities"
      | "amend-buy-request"
      | "amend-buy-failed"
      | "amend-buy-succeeded"
      | "amend-buy-rejected"
      | "buy-cancelled"
      | "buy-rejected"
      | "buy-expired"
      | "buy-fill-withdrawn"
      | "buy-closed-at-market-close"
      | "sell-fill-withdrawn"
      | "deposit"
      | "transfer-out"
      | "funds-frozen"
      | "funds-unfrozen"
      | "judicial-freeze"
      | "judicial-unfreeze"
      | "virtual-increase"
      | "virtual-decrease"
      | "fx-in"
      | "fx-out"
      | "deposit-31"
      | "customer-deposit-processed"
      | "reset-of-today-s-amount"
      | "third-party-settlement-landing"
      | "cheque-deposit-freeze"
      | "cheque-deposit-unfreeze"
      | "transfer-out-freeze"
      | "transfer-out-unfreeze"
      | "freeze-after-internal-transfer-in"
      | "unfreeze-after-internal-transfer-in"
      | "transfer-out-48"
      | "settlement-funds"
      | "option-auto-exercise"
      | "option-assignment"
      | "option-expiry"
      | "account-upgrade"
      | "account-downgrade"
      | "funds-deposit"
      | "buy-securities-98"
      | "sell-securities-99"
      | "penalty-interest-adjustment"
      | "interest-or-penalty-adjustment"
      | "return-after-sell-cancel"
      | "return-after-buy-cancel"
      | "return-after-buy-cancel-143"
      | "settlement"
      | "settlement-145"
      | "funds-freeze"
      | "funds-unfreeze"
      | "cheque-confirmation"
      | "securities-deposit-or-withdrawal-fee"
      | "interest-capitalization-recalculation"
      | "sold"
      | "bought"
      | "unconverted"
      | "withdraw-credit"
      | "withdraw-debit"
      | "withdraw-freeze"
      | "internal-transfer-in"
      | "internal-transfer-out"
      | "pending-customer-deposit-returned"
      | "customer-transfer-fee"
      | "fund-to-securities"
      | "securities-to-fund"
      | "funds-withdrawal"
      | "commission-rebate"
      | "market-data-fee-charged"
      | "platform-fee-rebate"
      | "promotional-cash-deposit"
      | "securities-funds-to-advisory"
      | "advisory-funds-to-securities"
      | "advisory-fee-charged"
      | "bond-funds-into-securities"
      | "securities-funds-into-bonds"
      | "trading-amount-deduction-voucher"
      | `unlisted:${string}`;
    /** Type of movement, in the broker's words. */
    typeText?: string;
    /** Group of the type, as the broker's code. */
    parentType?: string;
    /** Time of the movement; absent in today's journal. */
    time?: string;
    /** Position of the entry in its list, for paging. */
    cursor?: string;
  }>;
  /** Yields the entries of past days. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Amount, in the market's currency; negative for outgoing money. */
    amount: string;
    /** Type of movement. */
    type?:
      | "initial"
      | "buy-order-request"
      | "sell-order-request"
      | "buy-request-failed"
      | "sell-request-failed"
      | "buy-securities"
      | "sell-securities"
      | "amend-buy-request"
      | "amend-buy-failed"
      | "amend-buy-succeeded"
      | "amend-buy-rejected"
      | "buy-cancelled"
      | "buy-rejected"
      | "buy-expired"
      | "buy-fill-withdrawn"
      | "buy-closed-at-market-close"
      | "sell-fill-withdrawn"
      | "deposit"
      | "transfer-out"
      | "funds-frozen"
      | "funds-unfrozen"
      | "judicial-freeze"
      | "judicial-unfreeze"
      | "virtual-increase"
      | "virtual-decrease"
      | "fx-in"
      | "fx-out"
      | "deposit-31"
      | "customer-deposit-processed"
      | "reset-of-today-s-amount"
      | "third-party-settlement-landing"
      | "cheque-deposit-freeze"
      | "cheque-deposit-unfreeze"
      | "transfer-out-freeze"
      | "transfer-out-unfreeze"
      | "freeze-after-internal-transfer-in"
      | "unfreeze-after-internal-transfer-in"
      | "transfer-out-48"
      | "settlement-funds"
      | "option-auto-exercise"
      | "option-assignment"
      | "option-expiry"
      | "account-upgrade"
      | "account-downgrade"
      | "funds-deposit"
      | "buy-securities-98"
      | "sell-securities-99"
      | "penalty-interest-adjustment"
      | "interest-or-penalty-adjustment"
      | "return-after-sell-cancel"
      | "return-after-buy-cancel"
      | "return-after-buy-cancel-143"
      | "settlement"
      | "settlement-145"
      | "funds-freeze"
      | "funds-unfreeze"
      | "cheque-confirmation"
      | "securities-deposit-or-withdrawal-fee"
      | "interest-capitalization-recalculation"
      | "sold"
      | "bought"
      | "unconverted"
      | "withdraw-credit"
      | "withdraw-debit"
      | "withdraw-freeze"
      | "internal-transfer-in"
      | "internal-transfer-out"
      | "pending-customer-deposit-returned"
      | "customer-transfer-fee"
      | "fund-to-securities"
      | "securities-to-fund"
      | "funds-withdrawal"
      | "commission-rebate"
      | "market-data-fee-charged"
      | "platform-fee-rebate"
      | "promotional-cash-deposit"
      | "securities-funds-to-advisory"
      | "advisory-funds-to-securities"
      | "advisory-fee-charged"
      | "bond-funds-into-securities"
      | "securities-funds-into-bonds"
      | "trading-amount-deduction-voucher"
      | `unlisted:${string}`;
    /** Type of movement, in the broker's words. */
    typeText?: string;
    /** Group of the type, as the broker's code. */
    parentType?: string;
    /** Time of the movement; absent in today's journal. */
    time?: string;
    /** Position of the entry in its list, for paging. */
    cursor?: string;
  }>;
};

/**
 * Conditional orders: lists of take-profit, stop-loss and trailing stop orders. To place, amend or cancel them, use the `orders` family.
 */
export type ConditionalOrdersMethods = {
  /** Yields today's conditional orders. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Only this listing. */
    symbol?: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** The broker's number of the conditional order. */
    orderId: string;
    /** Type of the security. */
    securityType?:
      | "hk-stock"
      | "hk-index"
      | "hk-etf"
      | "hk-warrant"
      | "hk-cbbc"
      | "hk-bond"
      | "hk-industry-sector"
      | "hk-concept-sector"
      | "hk-future"
      | "hk-index-future"
      | "hk-stock-future"
      | "hk-dividend-future"
      | "hk-rmb-future"
      | "hk-china-future"
      | "hk-volatility-future"
      | "hk-in-range-certificate"
      | "us-stock"
      | "us-index"
      | "us-etf"
      | "us-option"
      | "us-industry-sector"
      | "us-concept-sector"
      | "us-otc-stock"
      | "a-share-stock"
      | "a-share-index"
      | "a-share-etf"
      | "a-share-industry"
      | "a-share-concept"
      | "star-board-stock"
      | `unlisted:${string}`;
    /** Listing code. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Name in traditional Chinese. */
    nameTc?: string;
    /** Name in English. */
    nameEn?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** Type of the condition, and of the order that it sends. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Trading hours in which it is active. */
    tradingHours?:
      | "no-extended"
      | "extended"
      | "regular"
      | "hk-regular-and-dark"
      | "us-extended-only"
      | "us-regular-and-extended"
      | "us-pre-market"
      | "us-after-hours"
      | `unlisted:${string}`;
    /** State of the conditional order. */
    status?:
      | "pending"
      | "triggered"
      | "paused"
      | "expired"
      | "deleted"
      | "error"
      | "invalidated"
      | "invalidated-by-ex-date"
      | "recalled"
      | `unlisted:${string}`;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /**
     * Buy opens a long position and sell closes it; short open and short close do the same for a short position.
     */
    side?: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Quantity that it will order. */
    quantity?: string;
    /** Time when it was created, in the exchange's time zone. */
    createdAt?: string;
    /** Start of its validity; absent if it is valid immediately. */
    startsAt?: string;
    /** End of its validity; absent if it ends with the day. */
    endsAt?: string;
    /** Error code. */
    errorCode?: string;
    /** Error text. */
    errorText?: string;
    /** Value that triggers it: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Price of the order that it sends. */
    price?: string;
    /** Unit of the trailing distance. */
    trailBy?: "percentage" | "spread" | "price" | `unlisted:${string}`;
  }>;
  /** Yields the conditional orders between two times. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Only this listing. */
    symbol?: string;
    /** Start, in the exchange's time zone. */
    from: string;
    /** End, in the exchange's time zone. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** The broker's number of the conditional order. */
    orderId: string;
    /** Type of the security. */
    securityType?:
      | "hk-stock"
      | "hk-index"
      | "hk-etf"
      | "hk-warrant"
      | "hk-cbbc"
      | "hk-bond"
      | "hk-industry-sector"
      | "hk-concept-sector"
      | "hk-future"
      | "hk-index-future"
      | "hk-stock-future"
      | "hk-dividend-future"
      | "hk-rmb-future"
      | "hk-china-future"
      | "hk-volatility-future"
      | "hk-in-range-certificate"
      | "us-stock"
      | "us-index"
      | "us-etf"
      | "us-option"
      | "us-industry-sector"
      | "us-concept-sector"
      | "us-otc-stock"
      | "a-share-stock"
      | "a-share-index"
      | "a-share-etf"
      | "a-share-industry"
      | "a-share-concept"
      | "star-board-stock"
      | `unlisted:${string}`;
    /** Listing code. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Name in traditional Chinese. */
    nameTc?: string;
    /** Name in English. */
    nameEn?: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** Type of the condition, and of the order that it sends. */
    orderType?:
      | "auction-limit"
      | "auction"
      | "enhanced-limit"
      | "limit"
      | "special-limit"
      | "market"
      | "dark-pool"
      | "odd-lot"
      | "iceberg-market"
      | "iceberg-limit"
      | "hidden-market"
      | "hidden-limit"
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
      | `unlisted:${string}`;
    /** Trading hours in which it is active. */
    tradingHours?:
      | "no-extended"
      | "extended"
      | "regular"
      | "hk-regular-and-dark"
      | "us-extended-only"
      | "us-regular-and-extended"
      | "us-pre-market"
      | "us-after-hours"
      | `unlisted:${string}`;
    /** State of the conditional order. */
    status?:
      | "pending"
      | "triggered"
      | "paused"
      | "expired"
      | "deleted"
      | "error"
      | "invalidated"
      | "invalidated-by-ex-date"
      | "recalled"
      | `unlisted:${string}`;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /**
     * Buy opens a long position and sell closes it; short open and short close do the same for a short position.
     */
    side?: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Quantity that it will order. */
    quantity?: string;
    /** Time when it was created, in the exchange's time zone. */
    createdAt?: string;
    /** Start of its validity; absent if it is valid immediately. */
    startsAt?: string;
    /** End of its validity; absent if it ends with the day. */
    endsAt?: string;
    /** Error code. */
    errorCode?: string;
    /** Error text. */
    errorText?: string;
    /** Value that triggers it: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Price of the order that it sends. */
    price?: string;
    /** Unit of the trailing distance. */
    trailBy?: "percentage" | "spread" | "price" | `unlisted:${string}`;
  }>;
};

/** Algorithmic orders. Their socket messages are not published. */
export type AlgoMethods = {
  /** Places an algorithmic order and resolves to its order id. */
  readonly place: (params: {
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Buy or sell. */
    side: "buy" | "sell";
    /** Limit or market. */
    orderType: "limit" | "market";
    /** Limit price; the broker requires one for a market order too. */
    price: string;
    /** Quantity, in shares. */
    quantity: string;
    /** Strategy; the broker lists 1005 both as POV and as INLINE. */
    strategy: "vwap" | "twap" | "iceberg" | "tpov" | "pov";
    /** Whether to trade in extended hours too. */
    tradingHours?: "no-extended" | "extended";
    /** Settings of the strategy. */
    settings: {
      /** Start, Hong Kong time. `00:00:00` means the open, or immediately if the market is open. */
      startTime?: string;
      /** End, Hong Kong time; `00:00:00` means the close. */
      endTime?: string;
      /** Maximum size of one child order, in shares. */
      maxChildQuantity?: string;
      /** Minimum size of one child order, as an amount. */
      minChildAmount?: string;
      /** How aggressively it trades. */
      sensitivity?: "neutral" | "aggressive" | "passive";
      /** Visible quantity; only for iceberg. */
      displayQuantity?: string;
      /** Percentage of the volume (`pov`) or of the order book (`tpov`). */
      percent?: number;
      /** Seconds between reports; only for `pov`. */
      intervalSec?: number;
    };
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Amends an algorithmic order and resolves to its order id. The listing cannot be changed. */
  readonly amend: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai";
    /** Listing code; cannot be changed. */
    symbol?: string;
    /** New price. */
    price?: string;
    /** New quantity. */
    quantity?: string;
    /** New settings of the strategy. */
    settings?: {
      /** Start, Hong Kong time. `00:00:00` means the open, or immediately if the market is open. */
      startTime?: string;
      /** End, Hong Kong time; `00:00:00` means the close. */
      endTime?: string;
      /** Maximum size of one child order, in shares. */
      maxChildQuantity?: string;
      /** Minimum size of one child order, as an amount. */
      minChildAmount?: string;
      /** How aggressively it trades. */
      sensitivity?: "neutral" | "aggressive" | "passive";
      /** Visible quantity; only for iceberg. */
      displayQuantity?: string;
      /** Percentage of the volume (`pov`) or of the order book (`tpov`). */
      percent?: number;
      /** Seconds between reports; only for `pov`. */
      intervalSec?: number;
    };
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Cancels the unfilled rest of an algorithmic order, and resolves to its order id. */
  readonly cancel: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Cancels one child order of an algorithmic order and resolves to its order id. */
  readonly cancelChild: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** The child's order number. */
    childOrderId: string;
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Starts, stops, suspends or resumes the strategy of an algorithmic order. */
  readonly act: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Action on the strategy. */
    action: "start" | "stop" | "suspend" | "resume";
    /** Strategy of the order. */
    strategy: "vwap" | "twap" | "iceberg" | "tpov" | "pov";
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Yields the algorithmic orders of a range of days. */
  readonly list: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Market; required if a listing is given. */
    market?: "hk" | "us" | "shenzhen" | "shanghai";
    /** Only this listing. */
    symbol?: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Listing code. */
    symbol: string;
    /** Market of the listing. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** Day on which it trades. */
    date?: string;
    /** Limit or market. */
    orderType?: "limit" | "market" | `unlisted:${string}`;
    /** Limit price. */
    price?: string;
    /** Quantity ordered. */
    quantity?: string;
    /** Quantity filled. */
    filledQuantity?: string;
    /** Quantity left. */
    unfilledQuantity?: string;
    /** Average price of the fills. */
    averagePrice?: string;
    /** State of the order. */
    status?:
      | "accepted"
      | "part-filled"
      | "filled"
      | "done-for-the-day"
      | "cancelled"
      | "modified"
      | "cancel-pending"
      | "rejected"
      | "waiting-to-submit"
      | "expired"
      | "amendment-pending"
      | `unlisted:${string}`;
    /** Buy or sell. */
    side?: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Strategy. */
    strategy?: "vwap" | "twap" | "iceberg" | "tpov" | "pov" | `unlisted:${string}`;
    /** State of the strategy. */
    strategyStatus?: "start" | "stop" | "suspend" | "resume" | `unlisted:${string}`;
    /** Settings of the strategy. */
    settings?: {
      /** Start, Hong Kong time. `00:00:00` means the open, or immediately if the market is open. */
      startTime?: string;
      /** End, Hong Kong time; `00:00:00` means the close. */
      endTime?: string;
      /** Maximum size of one child order, in shares. */
      maxChildQuantity?: string;
      /** Minimum size of one child order, as an amount. */
      minChildAmount?: string;
      /** How aggressively it trades. */
      sensitivity?: "neutral" | "aggressive" | "passive" | `unlisted:${string}`;
      /** Visible quantity; only for iceberg. */
      displayQuantity?: string;
      /** Percentage of the volume (`pov`) or of the order book (`tpov`). */
      percent?: string;
      /** Seconds between reports; only for `pov`. */
      intervalSec?: number;
    };
    /** Board lot. */
    lotSize?: string;
    /** Time when it was sent. */
    sentAt?: string;
    /** Time of the last change. */
    changedAt?: string;
  }>;
  /** Lists the order numbers of the child orders of an algorithmic order. */
  readonly children: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Day on which it traded. */
    date: string;
    /** Market of the listing, or of the account to query. */
    market: "hk" | "us" | "shenzhen" | "shanghai";
  }, options?: CallOptions) => Promise<(string)[]>;
};

/** Futures: funds, positions, products, orders and fills. */
export type FuturesMethods = {
  /** Resolves to the funds of the futures account. */
  readonly funds: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** Funds of the futures account. */
    funds: {
      /** Net asset value. */
      netAssets?: string;
      /** Purchasing power. */
      available?: string;
      /** Margin call. */
      marginCall?: string;
      /** Profit on positions. */
      positionProfit?: string;
      /** Realised profit. */
      realisedProfit?: string;
      /** Cash. */
      cash?: string;
      /** Cash in Hong Kong dollars. */
      cashHkd?: string;
      /** Cash in US dollars. */
      cashUsd?: string;
      /** Cash in offshore renminbi. */
      cashCnh?: string;
      /** Hong Kong dollars for one US dollar. */
      usdHkdRate?: string;
      /** Initial margin. */
      initialMargin?: string;
      /** Maintenance margin. */
      maintenanceMargin?: string;
      /** Margin level. */
      marginLevel?: string;
      /** Maximum margin. */
      maxMargin?: string;
      /** State of the margin. */
      marginStatus?: "safe" | "warning" | "dangerous" | "liquidation" | `unlisted:${string}`;
      /** Percentage in the risk chart. */
      riskPercent?: string;
      /** Credit limit. */
      creditLimit?: string;
      /** Control level, as the broker's code. */
      controlLevel?: string;
      /** Margin class, as the broker's code. */
      marginClass?: string;
      /** Account executive. */
      accountExecutive?: string;
    };
  }>;
  /** Resolves to the positions and the funds of the futures account. */
  readonly holdings: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** Funds of the futures account. */
    funds?: {
      /** Net asset value. */
      netAssets?: string;
      /** Purchasing power. */
      available?: string;
      /** Margin call. */
      marginCall?: string;
      /** Profit on positions. */
      positionProfit?: string;
      /** Realised profit. */
      realisedProfit?: string;
      /** Cash. */
      cash?: string;
      /** Cash in Hong Kong dollars. */
      cashHkd?: string;
      /** Cash in US dollars. */
      cashUsd?: string;
      /** Cash in offshore renminbi. */
      cashCnh?: string;
      /** Hong Kong dollars for one US dollar. */
      usdHkdRate?: string;
      /** Initial margin. */
      initialMargin?: string;
      /** Maintenance margin. */
      maintenanceMargin?: string;
      /** Margin level. */
      marginLevel?: string;
      /** Maximum margin. */
      maxMargin?: string;
      /** State of the margin. */
      marginStatus?: "safe" | "warning" | "dangerous" | "liquidation" | `unlisted:${string}`;
      /** Percentage in the risk chart. */
      riskPercent?: string;
      /** Credit limit. */
      creditLimit?: string;
      /** Control level, as the broker's code. */
      controlLevel?: string;
      /** Margin class, as the broker's code. */
      marginClass?: string;
      /** Account executive. */
      accountExecutive?: string;
    };
    /** Positions. */
    holdings: ({
      /** Contract code; Hong Kong codes carry `.HK`. */
      symbol: string;
      /** Name of the contract. */
      name?: string;
      /** Hong Kong or US future. */
      securityType?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Quantity carried over plus today's net quantity, in contracts; short is negative. */
      quantity?: string;
      /** Cost price. */
      costPrice?: string;
      /** Quantity carried over from the day before. */
      previousQuantity?: string;
      /** Price carried over from the day before. */
      previousPrice?: string;
      /** Quantity deposited. */
      depositedQuantity?: string;
      /** Quantity bought today. */
      dayLongQuantity?: string;
      /** Average price of the quantity bought today. */
      dayLongPrice?: string;
      /** Quantity sold today. */
      dayShortQuantity?: string;
      /** Average price of the quantity sold today. */
      dayShortPrice?: string;
      /** Today's net quantity. */
      dayNetQuantity?: string;
      /** Average price of today's net quantity. */
      dayNetPrice?: string;
      /** @deprecated Last price; some sources call it unreliable. Query a quote. */
      lastPrice?: string;
      /** Close of the previous day. */
      previousClose?: string;
      /** Profit in the contract's currency. */
      profit?: string;
      /** Profit in the base currency. */
      profitInBaseCurrency?: string;
      /** Realised profit. */
      realisedProfit?: string;
      /** Realised profit in Hong Kong dollars. */
      realisedProfitHkd?: string;
      /** Value of the contracts. */
      contractValue?: string;
      /** Currency of the contract. */
      currency?: string;
      /** Exchange rate of that currency to the base currency. */
      currencyRate?: string;
    })[];
  }>;
  /** Resolves to the maximum number of contracts to buy and to sell. */
  readonly maxQuantity: (params: {
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether there is no position, a long one or a short one. */
    position?: "no-position" | "long" | "short" | `unlisted:${string}`;
    /** Maximum number of contracts to buy. */
    maxBuy?: string;
    /** Maximum number of contracts to sell. */
    maxSell?: string;
    /** Initial margin of one contract. */
    initialMargin?: string;
    /** Currency of the margin. */
    currency?: string;
  }>;
  /** Resolves to the product details of contracts. */
  readonly products: (params: {
    /** Contract codes. */
    symbols: (string)[];
  }, options?: CallOptions) => Promise<({
    /** Contract code. */
    symbol: string;
    /** Contract series. */
    series?: string;
    /** Smallest quantity. */
    lotSize?: number;
    /** Number of decimals of a price. */
    priceDecimals?: number;
    /** Number of decimals of a price, as text. */
    priceDecimalsText?: string;
    /** Value of one index point. */
    contractSize?: string;
    /** Last trading day. */
    expiry?: string;
    /** Whether it trades in the after-hours session. */
    afterHours?: boolean;
  })[]>;
  /** Places a futures order and resolves to its order id. */
  readonly place: (params: {
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Limit price; the broker requires one for a market order too. */
    price: string;
    /** Quantity, in contracts. */
    quantity: string;
    /** Buy or sell. */
    side: "buy" | "sell";
    /** Kind of validity. */
    validity: "day" | "fill-and-cancel" | "fill-or-cancel" | "until-expiry" | "until-date";
    /** Last day of the order; only for `until-date`. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours";
    /** Order type. */
    orderType: "limit" | "auction" | "market" | "conditional";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Amends a futures order and resolves to its order id. */
  readonly amend: (params: {
    /** The broker's order number. */
    orderId: string;
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Limit price; the broker requires one for a market order too. */
    price: string;
    /** Quantity, in contracts. */
    quantity: string;
    /** Buy or sell. */
    side: "buy" | "sell";
    /** Kind of validity. */
    validity: "day" | "fill-and-cancel" | "fill-or-cancel" | "until-expiry" | "until-date";
    /** Last day of the order; only for `until-date`. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours";
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Cancels a futures order and resolves to its order id. */
  readonly cancel: (params: {
    /** The broker's order number. */
    orderId: string;
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** The broker's order number. */
    orderId: string;
  }>;
  /** Resolves to today's futures orders, at most 500. */
  readonly ordersToday: (params?: Record<never, never>, options?: CallOptions) => Promise<({
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the contract. */
    name?: string;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?: "limit" | "auction" | "market" | "conditional" | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price, in index points or the contract's currency. */
    price?: string;
    /** Quantity ordered, in contracts. */
    quantity?: string;
    /** Price of the fill. */
    fillPrice?: string;
    /** Quantity filled, in contracts. */
    filledQuantity?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Whether the order is valid. */
    isValid?: boolean;
    /** Kind of validity. */
    validity?:
      | "day"
      | "fill-and-cancel"
      | "fill-or-cancel"
      | "until-expiry"
      | "until-date"
      | `unlisted:${string}`;
    /** Validity in words; a date for `until-date`. */
    validityText?: string;
    /** Last day of the order. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours" | `unlisted:${string}`;
    /** Position of the row in its list. */
    cursor?: string;
  })[]>;
  /** Yields the futures orders of past days. */
  readonly ordersHistory: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the contract. */
    name?: string;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?: "limit" | "auction" | "market" | "conditional" | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price, in index points or the contract's currency. */
    price?: string;
    /** Quantity ordered, in contracts. */
    quantity?: string;
    /** Price of the fill. */
    fillPrice?: string;
    /** Quantity filled, in contracts. */
    filledQuantity?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Whether the order is valid. */
    isValid?: boolean;
    /** Kind of validity. */
    validity?:
      | "day"
      | "fill-and-cancel"
      | "fill-or-cancel"
      | "until-expiry"
      | "until-date"
      | `unlisted:${string}`;
    /** Validity in words; a date for `until-date`. */
    validityText?: string;
    /** Last day of the order. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours" | `unlisted:${string}`;
    /** Position of the row in its list. */
    cursor?: string;
  }>;
  /** Resolves to today's futures fills, at most 200. */
  readonly fillsToday: (params?: Record<never, never>, options?: CallOptions) => Promise<({
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the contract. */
    name?: string;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?: "limit" | "auction" | "market" | "conditional" | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price, in index points or the contract's currency. */
    price?: string;
    /** Quantity ordered, in contracts. */
    quantity?: string;
    /** Price of the fill. */
    fillPrice?: string;
    /** Quantity filled, in contracts. */
    filledQuantity?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Whether the order is valid. */
    isValid?: boolean;
    /** Kind of validity. */
    validity?:
      | "day"
      | "fill-and-cancel"
      | "fill-or-cancel"
      | "until-expiry"
      | "until-date"
      | `unlisted:${string}`;
    /** Validity in words; a date for `until-date`. */
    validityText?: string;
    /** Last day of the order. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours" | `unlisted:${string}`;
    /** Position of the row in its list. */
    cursor?: string;
  })[]>;
  /** Yields the futures fills of past days. */
  readonly fillsHistory: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<{
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Name of the contract. */
    name?: string;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
    /** Order type. */
    orderType?: "limit" | "auction" | "market" | "conditional" | `unlisted:${string}`;
    /** Order type in the broker's words. */
    orderTypeText?: string;
    /** Limit price, in index points or the contract's currency. */
    price?: string;
    /** Quantity ordered, in contracts. */
    quantity?: string;
    /** Price of the fill. */
    fillPrice?: string;
    /** Quantity filled, in contracts. */
    filledQuantity?: string;
    /** Day of the order in lists of orders, day of the fill in lists of fills. */
    date?: string;
    /** Time of the order. */
    orderTime?: string;
    /** Time of the fill. */
    fillTime?: string;
    /** State of the order. */
    status?:
      | "not-submitted"
      | "waiting"
      | "accepted"
      | "cancel-pending"
      | "part-filled-cancel-pending"
      | "part-filled-cancelled"
      | "cancelled"
      | "part-filled"
      | "filled"
      | "rejected"
      | "amend-pending"
      | "unused-B"
      | "unused-C"
      | "unused-D"
      | "part-filled-amend-pending"
      | "pre-check-rejected"
      | "pre-order-cancelled"
      | "waiting-review"
      | "review-failed"
      | "waiting-confirmation"
      | "unused-X"
      | `unlisted:${string}`;
    /** State in the broker's words; free text. */
    statusText?: string;
    /** Whether it can be cancelled now. */
    canCancel?: boolean;
    /** Whether it can be amended now. */
    canAmend?: boolean;
    /** Whether the order is valid. */
    isValid?: boolean;
    /** Kind of validity. */
    validity?:
      | "day"
      | "fill-and-cancel"
      | "fill-or-cancel"
      | "until-expiry"
      | "until-date"
      | `unlisted:${string}`;
    /** Validity in words; a date for `until-date`. */
    validityText?: string;
    /** Last day of the order. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: "default" | "after-hours" | `unlisted:${string}`;
    /** Position of the row in its list. */
    cursor?: string;
  }>;
  /**
   * Sets a new futures password; only over the socket. The broker documents only the code in the answer.
   */
  readonly resetPassword: (params: {
    /** The new password. */
    password: string;
  }, options?: CallOptions) => Promise<Record<never, never>>;
};

/**
 * Market data: quotes, order books, broker queues, ticks, bars, option chains, subscriptions.
 */
export type QuotesMethods = {
  /** Resolves to the quotes of securities. */
  readonly latest: (params: {
    /** Securities. */
    securities: ({
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    })[];
    /**
     * Requests delayed data without a permission check, for an account that has access only to delayed data.
     */
    delayed?: "no" | "yes";
    /** Trading session, US only. Without it, a quote outside trading hours shows the last close. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market";
  }, options?: CallOptions) => Promise<({
    /** The security. */
    security: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Last price. */
    lastPrice?: string;
    /** Opening price. */
    openPrice?: string;
    /** Highest price of the day. */
    highPrice?: string;
    /** Lowest price of the day. */
    lowPrice?: string;
    /** Close of the previous day. */
    previousClose?: string;
    /** Tick size. */
    priceStep?: string;
    /** Volume, in shares or contracts. */
    volume?: string;
    /** Volume as text from the server, which keeps every digit. */
    volumeText?: string;
    /** Turnover, in the listing's currency. */
    turnover?: string;
    /** Turnover rate, in percent. */
    turnoverRate?: string;
    /** Amplitude, in percent. */
    amplitude?: string;
    /** Whether trading is suspended. */
    isSuspended?: boolean;
    /** State of the security; no source lists its codes. */
    securityStatus?: number;
    /** State of the security as text, which also shows a code of zero. */
    securityStatusText?: string;
    /** Board lot. */
    lotSize?: number;
    /** Day of listing; the broker does not currently send it. */
    listedOn?: string;
    /** Time of the last trade, `yyyyMMddHHmmss` in the exchange's time zone. */
    tradeTime?: string;
    /** Time of the market, `yyyyMMddHHmmss` in the exchange's time zone. */
    marketTime?: string;
    /** Trading session of the quote, US only. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market" | `unlisted:${string}`;
    /** Additional fields of a future. */
    future?: {
      /** Last trading day. */
      expiry?: string;
      /** Days until the last trading day. */
      daysToExpiry?: number;
      /** Settlement price of the previous day. */
      previousSettlement?: string;
      /** Open interest. */
      openInterest?: string;
      /** Open interest of the previous day. */
      previousOpenInterest?: string;
      /** Change of the open interest today. */
      openInterestChange?: string;
      /** Value of one index point. */
      multiplier?: string;
      /** Current contract of a "main" alias. */
      mainContract?: string;
    };
    /** Additional fields of an option. */
    option?: {
      /** Strike price. */
      strikePrice?: string;
      /** Open interest. */
      openInterest?: string;
      /** Expiry. */
      expiry?: string;
      /** Premium, in percent. */
      premium?: string;
      /** Intrinsic value. */
      intrinsicValue?: string;
      /** Days until expiry. */
      daysToExpiry?: string;
      /** Implied volatility. */
      impliedVolatility?: string;
      /** Time value. */
      timeValue?: string;
      /** Actual leverage. */
      leverage?: string;
      /** Delta. */
      delta?: string;
      /** Gamma. */
      gamma?: string;
      /** Vega. */
      vega?: string;
      /** Theta. */
      theta?: string;
      /** Rho. */
      rho?: string;
    };
  })[]>;
  /** Resolves to the broker queue of a Hong Kong security. */
  readonly brokers: (params: {
    /** The security. */
    security: {
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    };
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Brokers on the ask side. */
    asks: ({
      /** Position in the queue. */
      level?: number;
      /** Broker code, or the number of the level if there is no broker at this position. */
      broker?: string;
      /** Whether `broker` is a broker code or a level. */
      kind?: "broker" | "level" | `unlisted:${string}`;
      /** Name of the broker. */
      name?: string;
    })[];
    /** Brokers on the bid side. */
    bids: ({
      /** Position in the queue. */
      level?: number;
      /** Broker code, or the number of the level if there is no broker at this position. */
      broker?: string;
      /** Whether `broker` is a broker code or a level. */
      kind?: "broker" | "level" | `unlisted:${string}`;
      /** Name of the broker. */
      name?: string;
    })[];
  }>;
  /** Resolves to the order book. */
  readonly orderBook: (params: {
    /** The security. */
    security: {
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Trading session, US only. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market";
    /** Depth feed, US only. */
    feed?: "total-view" | "arca-book";
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Ask levels, best first. */
    asks: ({
      /** Level, counted from 1. */
      level?: number;
      /** Price. */
      price?: string;
      /** Quantity. */
      volume?: string;
      /** Number of orders at this level. */
      orderCount?: number;
      /** Exchange of the quantity. */
      venue?: string;
    })[];
    /** Bid levels, best first. */
    bids: ({
      /** Level, counted from 1. */
      level?: number;
      /** Price. */
      price?: string;
      /** Quantity. */
      volume?: string;
      /** Number of orders at this level. */
      orderCount?: number;
      /** Exchange of the quantity. */
      venue?: string;
    })[];
    /** Tick size. */
    priceStep?: string;
  }>;
  /** Resolves to the most recent ticks. */
  readonly ticks: (params: {
    /** The security. */
    security: {
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    };
    /**
     * Number of ticks, 1 to 1000. The broker sends at most 100; for OTC stocks it sends more (500 is advised).
     */
    limit?: number;
    /** Trading session, US only. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market";
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Ticks, oldest first. */
    ticks: ({
      /** Time of the trade in the exchange's time zone. */
      time?: string;
      /** Time of the trade, Unix milliseconds. */
      timestamp?: string;
      /** Side that initiated the trade. */
      side?: "flat" | "buy" | "sell" | `unlisted:${string}`;
      /** Price. */
      price: string;
      /** Quantity. */
      volume?: string;
      /** Turnover, in the listing's currency. */
      turnover?: string;
      /** Type of the trade; no source lists its codes. */
      tickType?: number;
      /** Trading session of the trade, US only. */
      session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market" | `unlisted:${string}`;
    })[];
  }>;
  /** Resolves to bars. The broker answers only for subscribed securities. */
  readonly bars: (params: {
    /** The security. */
    security: {
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** First day. */
    start: string;
    /** Whether to continue with older or with newer bars. */
    direction?: "older" | "newer";
    /** Adjustment for splits and dividends. */
    adjustment?: "none" | "forward" | "backward";
    /** Length of a bar. */
    interval:
      | "day"
      | "week"
      | "month"
      | "1m"
      | "5m"
      | "15m"
      | "30m"
      | "60m"
      | "120m"
      | "quarter"
      | "year"
      | "5-day"
      | "3m";
    /**
     * For minute bars, the number of days; each interval has its own maximum. For other bars, at most 1500 bars.
     */
    limit: number;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Bars, oldest first. */
    bars: ({
      /** Day. */
      date?: string;
      /** Time of day, `HH:mm`; only in minute bars. */
      time?: string;
      /** Start of the bar, Unix milliseconds. */
      timestamp?: string;
      /** Opening price. */
      openPrice?: string;
      /** Highest price. */
      highPrice?: string;
      /** Lowest price. */
      lowPrice?: string;
      /** Closing price. */
      closePrice: string;
      /** Close of the previous bar. */
      previousClose?: string;
      /** Volume. */
      volume?: string;
      /** Turnover, in the listing's currency. */
      turnover?: string;
    })[];
  }>;
  /** Resolves to the intraday price line, minute by minute. */
  readonly timeShare: (params: {
    /** The security. */
    security: {
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Trading session, US only. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market";
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: {
      /** Type of the security. */
      type?:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock"
        | `unlisted:${string}`;
      /** Listing code with its suffix. */
      symbol: string;
    };
    /** Minutes, oldest first. */
    points: ({
      /** Time of day. */
      time?: string;
      /** Price. */
      price: string;
      /** Close of the previous day. */
      previousClose?: string;
      /** Average price of the day so far. */
      averagePrice?: string;
      /** Volume of the minute. */
      volume?: string;
      /** Turnover of the minute. */
      turnover?: string;
    })[];
  }>;
  /** Lists the expiries of the options on a US stock. */
  readonly optionExpiries: (params: {
    /** Underlying. */
    underlying: string;
  }, options?: CallOptions) => Promise<(string)[]>;
  /** Lists the option codes of one expiry. */
  readonly optionCodes: (params: {
    /** Underlying. */
    underlying: string;
    /** Expiry. */
    expiry: string;
    /** In or out of the money; both if omitted. */
    moneyness?: "in-the-money" | "out-of-the-money";
    /** Calls or puts; both if omitted. */
    optionType?: "call" | "put";
  }, options?: CallOptions) => Promise<(string)[]>;
  /** Lists the US securities that trade overnight. */
  readonly overnightSymbols: (params?: Record<never, never>, options?: CallOptions) => Promise<(string)[]>;
  /**
   * Starts the pushes of a topic. Call it again after a reconnection; `client.watch` does this for you.
   */
  readonly subscribe: (params: {
    /** Topic. Topics with a number in their name are undocumented variants. */
    topic:
      | "quote"
      | "tick"
      | "broker-queue"
      | "order-book"
      | "arca-book"
      | "total-view"
      | "tick-27"
      | "tick-28"
      | "quote-35"
      | "order-book-36"
      | "tick-37";
    /** Securities; at most 200 over all topics. */
    securities: ({
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    })[];
  }, options?: CallOptions) => Promise<Record<never, never>>;
  /** Stops the pushes of a topic, for the same securities. */
  readonly unsubscribe: (params: {
    /** Topic. Topics with a number in their name are undocumented variants. */
    topic:
      | "quote"
      | "tick"
      | "broker-queue"
      | "order-book"
      | "arca-book"
      | "total-view"
      | "tick-27"
      | "tick-28"
      | "quote-35"
      | "order-book-36"
      | "tick-37";
    /** Securities; at most 200 over all topics. */
    securities: ({
      /** Type of the security. */
      type:
        | "hk-stock"
        | "hk-index"
        | "hk-etf"
        | "hk-warrant"
        | "hk-cbbc"
        | "hk-bond"
        | "hk-industry-sector"
        | "hk-concept-sector"
        | "hk-future"
        | "hk-index-future"
        | "hk-stock-future"
        | "hk-dividend-future"
        | "hk-rmb-future"
        | "hk-china-future"
        | "hk-volatility-future"
        | "hk-in-range-certificate"
        | "us-stock"
        | "us-index"
        | "us-etf"
        | "us-option"
        | "us-industry-sector"
        | "us-concept-sector"
        | "us-otc-stock"
        | "a-share-stock"
        | "a-share-index"
        | "a-share-etf"
        | "a-share-industry"
        | "a-share-concept"
        | "star-board-stock";
      /** Listing code with its suffix. */
      symbol: string;
    })[];
  }, options?: CallOptions) => Promise<Record<never, never>>;
};

/** Platform operations of the direct transport: login over HTTP and opening the socket. */
export type PlatformMethods = {
  /**
   * Logs in with phone number and password. The token in the answer is encrypted for the developer's key.
   */
  readonly login: (params: {
    /** Country of the phone number. */
    country: "CHN" | "HKG";
    /** Phone number of the login. */
    mobile: string;
    /** Login password, encrypted with the platform's key, Base64. */
    password: string;
    /** MAC address of the bound device. */
    deviceId: string;
  }, options?: CallOptions) => Promise<{
    /** Name of the user. */
    nickname?: string;
    /** Phone number of the login. */
    mobile?: string;
    /** Session token, encrypted for the developer's key, Base64. */
    token: string;
  }>;
  /** Resolves to the addresses of the trade server and the quote server. */
  readonly servers: (params: {
    /** Session token. */
    token: string;
  }, options?: CallOptions) => Promise<{
    /** `host:port` of the trade server. */
    tradeServer: string;
    /** `host:port` of the quote server. */
    quoteServer: string;
  }>;
  /** Claims the level-2 quote permission for this client. */
  readonly claimLevel2: (params: {
    /** Session token. */
    token: string;
  }, options?: CallOptions) => Promise<Record<never, never>>;
  /** Opens a socket connection and resolves to its key and heartbeat interval. */
  readonly openConnection: (params: {
    /** Unique id of the client; a MAC address is usual. */
    deviceId: string;
  }, options?: CallOptions) => Promise<{
    /** Session key, 16 bytes in Base64. */
    sessionKey: string;
    /** Seconds between heartbeats. */
    heartbeatIntervalSec?: number;
  }>;
};

/** The functions of all operations, grouped by family. */
export type Methods = {
  /** The account: trade login, funds, holdings, buying power, exchange rates. */
  readonly account: AccountMethods;
  /** Orders: place, amend, cancel and list orders. */
  readonly orders: OrdersMethods;
  /** Fills, with their fees. */
  readonly fills: FillsMethods;
  /** The fund journal: every movement of cash. */
  readonly fundJournal: FundJournalMethods;
  /**
   * Conditional orders: lists of take-profit, stop-loss and trailing stop orders. To place, amend or cancel them, use the `orders` family.
   */
  readonly conditionalOrders: ConditionalOrdersMethods;
  /** Algorithmic orders. Their socket messages are not published. */
  readonly algo: AlgoMethods;
  /** Futures: funds, positions, products, orders and fills. */
  readonly futures: FuturesMethods;
  /**
   * Market data: quotes, order books, broker queues, ticks, bars, option chains, subscriptions.
   */
  readonly quotes: QuotesMethods;
  /** Platform operations of the direct transport: login over HTTP and opening the socket. */
  readonly platform: PlatformMethods;
};
