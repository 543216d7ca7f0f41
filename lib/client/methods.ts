/**
 * The types of the client's methods. Written by `deno task docs` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
import type { Unlisted } from "../dictionaries/dictionary.ts";
import type {
  AlgoAction,
  AlgoOrder,
  AlgoOrderType,
  AlgoSettings,
  AlgoStrategy,
  AnsweredSecurity,
  AskedQuote,
  Bar,
  BarInterval,
  BookLevel,
  BrokerPlace,
  BuyingPower,
  CancelAnswer,
  ClientType,
  ConditionalOrder,
  Country,
  DepthFeed,
  Direction,
  Fill,
  Funds,
  FuturesFunds,
  FuturesHolding,
  FuturesOrder,
  FuturesOrderOption,
  FuturesOrderType,
  FuturesProduct,
  FuturesValidity,
  Holding,
  JournalEntry,
  Market,
  MaxQuantity,
  Moneyness,
  OptionType,
  Order,
  OrderAnswer,
  OrderType,
  PositionStatus,
  PriceAdjustment,
  PushTopic,
  QueryType,
  QuoteSession,
  RateType,
  RoutingVenue,
  Security,
  SecurityType,
  Side,
  SuccessAnswer,
  Tick,
  TimeSharePoint,
  TradingHours,
  TrailBy,
  YesNo,
} from "../operations/public_types.ts";
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
  ) => Promise<SuccessAnswer>;
  /** Ends the trade login. */
  readonly logout: (params?: Record<never, never>, options?: CallOptions) => Promise<SuccessAnswer>;
  /** Keeps the trade login alive on the socket. If it does not succeed, the login has expired. */
  readonly keepLogin: (params?: Record<never, never>, options?: CallOptions) => Promise<SuccessAnswer>;
  /** Resolves to the funds of a market, in its currency. */
  readonly funds: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<Funds>;
  /** Resolves to the holdings of a market. */
  readonly holdings: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<Holding[]>;
  /**
   * Resolves to the maximum number of shares to buy at a price. The broker's newer documents use `account.buyingPower` instead.
   */
  readonly maxBuy: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Price to buy at, in the listing's currency. */
    price: string;
    /** Whether to include margin. */
    queryType?: QueryType;
    /** Client type of the request. */
    clientType?: ClientType;
  }, options?: CallOptions) => Promise<MaxQuantity>;
  /** Resolves to the maximum number of shares to sell. */
  readonly maxSell: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Client type of the request. */
    clientType?: ClientType;
  }, options?: CallOptions) => Promise<MaxQuantity>;
  /**
   * Resolves to the largest quantities of a listing that can be bought and sold; for options also the margin.
   */
  readonly buyingPower: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Price to trade at, in the listing's currency. */
    price: string;
    /** Ordinary order types only. */
    orderType: Exclude<
      OrderType,
      | "take-profit-limit"
      | "take-profit-market"
      | "stop-loss-limit"
      | "stop-loss-market"
      | "trailing-stop-limit"
      | "trailing-stop-market"
    >;
  }, options?: CallOptions) => Promise<BuyingPower>;
  /** Resolves to the margin terms of a security. */
  readonly marginTerms: (params: {
    /** Type of the security. */
    securityType: SecurityType;
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
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether extended hours are supported. */
    supported: boolean;
  }>;
  /** Resolves to whether a listing can be sold short, and at what interest rate. */
  readonly shortSale: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
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
    rateType?: RateType;
  }, options?: CallOptions) => Promise<Record<string, Record<string, string>>>;
};

/** Orders: place, amend, cancel and list orders. */
export type OrdersMethods = {
  /**
   * Places an order and resolves to the broker's order id. The broker splits a quantity above the single-order maximum into several orders.
   */
  readonly place: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Quantity, in shares or contracts. */
    quantity: string;
    /**
     * Limit price in the listing's currency. May be omitted for conditional orders; `"0"` for a market order.
     */
    price?: string;
    /**
     * Side. With a short position in the listing, the broker itself decides what the order opens or closes. Its documents do not say how.
     */
    side: Side;
    /** Order type; must be one that the market accepts. */
    orderType: OrderType;
    /** Client type of the request. */
    clientType?: ClientType;
    /** Routing venue, only for the US; the broker may ignore it. */
    venue?: RoutingVenue;
    /**
     * Trading hours of the order. An ordinary order accepts `no-extended` and `extended`. A conditional order accepts the other names.
     */
    tradingHours?: Exclude<TradingHours, "us-extended-only" | "us-pre-market" | "us-after-hours">;
    /** Visible quantity of an iceberg order, above zero and at most the quantity. */
    displayQuantity?: string;
    /** Validity of a conditional order, in calendar days. */
    validDays?: number;
    /** Value that triggers a conditional order: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Unit of the distance of a trailing order. */
    trailBy?: Exclude<TrailBy, "price">;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /**
   * Amends an order and resolves to its order id, which may be a new one. The broker splits a quantity above the single-order maximum into several orders.
   */
  readonly amend: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** The broker's order number. */
    orderId: string;
    /** New quantity. */
    quantity: string;
    /** New price; may be omitted for a conditional order. */
    price?: string;
    /** Type of the placed order; required for a conditional order. */
    orderType?: OrderType;
    /** Trading hours of a conditional order. */
    tradingHours?: Extract<TradingHours, "regular" | "hk-regular-and-dark" | "us-regular-and-extended">;
    /** Validity of a conditional order, in calendar days. */
    validDays?: number;
    /** Value that triggers a conditional order: a price, a spread or a percentage. */
    triggerValue?: string;
    /** Unit of the distance of a trailing order. */
    trailBy?: Exclude<TrailBy, "price">;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /**
   * Cancels one order and resolves to its order id. If the answer names another order, the outcome is unknown and the call throws an `OutcomeUnknownError`.
   */
  readonly cancel: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** The broker's order number. */
    orderId: string;
    /** If given, it must equal the quantity of the placed order. */
    quantity?: string;
    /** Price of the placed order. */
    price?: string;
    /** Type of the placed order; required for a conditional order. */
    orderType?: OrderType;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /**
   * Cancels the given orders of a market. Resolves to the orders that were cancelled and those that were not. The call may time out on a day with many orders: then query the lists again and cancel the remaining orders. If the answer omits a given order, or lists it both as cancelled and as failed, the call throws an `OutcomeUnknownError` that names the order. Conditional orders must be cancelled one by one.
   */
  readonly cancelMany: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Order numbers, at least one. To cancel all orders, use `orders.cancelAll`. */
    orderIds: string[];
  }, options?: CallOptions) => Promise<CancelAnswer>;
  /**
   * Cancels every order of a market that can be cancelled. With `shanghai` or `shenzhen`, cancels the orders of both exchanges. An answer without orders does not prove that no order is open: check `orders.today`.
   */
  readonly cancelAll: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<CancelAnswer>;
  /** Yields today's orders, without conditional orders. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Rows per page, 1 to 99. */
    limit?: number;
    /** Only these orders, at most 100. If given, the broker ignores paging. */
    orderIds?: string[];
  }, options?: PagingOptions) => Paged<Order>;
  /** Yields the orders of past days. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<Order>;
  /** Turns on order pushes for the trade session. They are on by default after connecting. */
  readonly subscribe: (params?: Record<never, never>, options?: CallOptions) => Promise<SuccessAnswer>;
  /** Turns off order pushes for the trade session. */
  readonly unsubscribe: (params?: Record<never, never>, options?: CallOptions) => Promise<SuccessAnswer>;
};

/** Fills, with their fees. */
export type FillsMethods = {
  /** Yields today's fills. Fees are absent until clearing; read them from `fills.history`. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<Fill>;
  /**
   * Yields the fills of past days with their fees. Hong Kong fills are merged and do not map to orders one to one.
   */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<Fill>;
};

/** The fund journal: every movement of cash. */
export type FundJournalMethods = {
  /** Yields today's entries, without their time. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<JournalEntry>;
  /** Yields the entries of past days. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<JournalEntry>;
};

/**
 * Conditional orders: lists of take-profit, stop-loss and trailing stop orders. To place, amend or cancel them, use the `orders` family.
 */
export type ConditionalOrdersMethods = {
  /** Yields today's conditional orders. */
  readonly today: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Only this listing. */
    symbol?: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<ConditionalOrder>;
  /** Yields the conditional orders between two times. */
  readonly history: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Only this listing. */
    symbol?: string;
    /** Start, in the exchange's time zone. */
    from: string;
    /** End, in the exchange's time zone. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<ConditionalOrder>;
};

/** Algorithmic orders. Their socket messages are not published. */
export type AlgoMethods = {
  /** Places an algorithmic order and resolves to its order id. */
  readonly place: (params: {
    /** Market of the listing, or of the account to query. */
    market: Market;
    /** Listing code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Buy or sell. */
    side: Extract<Side, "buy" | "sell">;
    /** Limit or market. */
    orderType: AlgoOrderType;
    /** Limit price; the broker requires one for a market order too. */
    price: string;
    /** Quantity, in shares. */
    quantity: string;
    /** Strategy; the broker's documents call `pov` (code 1005) both POV and INLINE. */
    strategy: AlgoStrategy;
    /** Whether to trade in extended hours too. */
    tradingHours?: Extract<TradingHours, "no-extended" | "extended">;
    /** Settings of the strategy. */
    settings: AlgoSettings;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Amends an algorithmic order and resolves to its order id. The listing cannot be changed. */
  readonly amend: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Market of the listing. */
    market?: Market;
    /** Listing code; cannot be changed. */
    symbol?: string;
    /** New price. */
    price?: string;
    /** New quantity. */
    quantity?: string;
    /** New settings of the strategy. */
    settings?: AlgoSettings;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Cancels the unfilled rest of an algorithmic order, and resolves to its order id. */
  readonly cancel: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Cancels one child order of an algorithmic order and resolves to its order id. */
  readonly cancelChild: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** The child's order number. */
    childOrderId: string;
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Starts, stops, suspends or resumes the strategy of an algorithmic order. */
  readonly act: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Action on the strategy. */
    action: AlgoAction;
    /** Strategy of the order. */
    strategy: AlgoStrategy;
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Yields the algorithmic orders of a range of days. */
  readonly list: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Market; required if a listing is given. */
    market?: Market;
    /** Only this listing. */
    symbol?: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<AlgoOrder>;
  /** Lists the order numbers of the child orders of an algorithmic order. */
  readonly children: (params: {
    /** The broker's number of the algorithmic order. */
    orderId: string;
    /** Day on which it traded. */
    date: string;
    /** Market of the listing, or of the account to query. */
    market: Market;
  }, options?: CallOptions) => Promise<string[]>;
};

/** Futures: funds, positions, products, orders and fills. */
export type FuturesMethods = {
  /** Resolves to the funds of the futures account. */
  readonly funds: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** Funds of the futures account. */
    funds: FuturesFunds;
  }>;
  /** Resolves to the positions and the funds of the futures account. */
  readonly holdings: (params?: Record<never, never>, options?: CallOptions) => Promise<{
    /** Funds of the futures account. */
    funds?: FuturesFunds;
    /** Positions. */
    holdings: FuturesHolding[];
  }>;
  /** Resolves to the maximum number of contracts to buy and to sell. */
  readonly maxQuantity: (params: {
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<{
    /** Whether there is no position, a long one or a short one. */
    position?: PositionStatus | Unlisted;
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
    symbols: string[];
  }, options?: CallOptions) => Promise<FuturesProduct[]>;
  /** Places a futures order and resolves to its order id. */
  readonly place: (params: {
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
    /** Limit price; the broker requires one for a market order too. */
    price: string;
    /** Quantity, in contracts. */
    quantity: string;
    /** Buy or sell. */
    side: Extract<Side, "buy" | "sell">;
    /** Kind of validity. */
    validity: FuturesValidity;
    /** Last day of the order; only for `until-date`. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: FuturesOrderOption;
    /** Order type. */
    orderType: FuturesOrderType;
  }, options?: CallOptions) => Promise<OrderAnswer>;
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
    side: Extract<Side, "buy" | "sell">;
    /** Kind of validity. */
    validity: FuturesValidity;
    /** Last day of the order; only for `until-date`. */
    validUntil?: string;
    /** Whether it may trade in the after-hours session. */
    session?: FuturesOrderOption;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Cancels a futures order and resolves to its order id. */
  readonly cancel: (params: {
    /** The broker's order number. */
    orderId: string;
    /** Contract code; Hong Kong codes carry `.HK`. */
    symbol: string;
  }, options?: CallOptions) => Promise<OrderAnswer>;
  /** Resolves to today's futures orders, at most 500. */
  readonly ordersToday: (params?: Record<never, never>, options?: CallOptions) => Promise<FuturesOrder[]>;
  /** Yields the futures orders of past days. */
  readonly ordersHistory: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<FuturesOrder>;
  /** Resolves to today's futures fills, at most 200. */
  readonly fillsToday: (params?: Record<never, never>, options?: CallOptions) => Promise<FuturesOrder[]>;
  /** Yields the futures fills of past days. */
  readonly fillsHistory: (params: {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Rows per page, 1 to 99. */
    limit?: number;
  }, options?: PagingOptions) => Paged<FuturesOrder>;
  /**
   * Sets a new futures password; only over the socket. Of the answer, the broker's documents describe only the code.
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
    securities: Security[];
    /**
     * Requests delayed data without a permission check, for an account that has access only to delayed data.
     */
    delayed?: YesNo;
    /** Trading session, US only. Without it, a quote outside trading hours shows the last close. */
    session?: QuoteSession;
  }, options?: CallOptions) => Promise<AskedQuote[]>;
  /** Resolves to the broker queue of a Hong Kong security. */
  readonly brokers: (params: {
    /** The security. */
    security: Security;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: AnsweredSecurity;
    /** Brokers on the ask side. */
    asks: BrokerPlace[];
    /** Brokers on the bid side. */
    bids: BrokerPlace[];
  }>;
  /** Resolves to the order book. */
  readonly orderBook: (params: {
    /** The security. */
    security: Security;
    /** Trading session, US only. */
    session?: QuoteSession;
    /** Depth feed, US only. */
    feed?: DepthFeed;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: AnsweredSecurity;
    /** Ask levels, best first. */
    asks: BookLevel[];
    /** Bid levels, best first. */
    bids: BookLevel[];
    /** Tick size. */
    priceStep?: string;
  }>;
  /** Resolves to the most recent ticks. */
  readonly ticks: (params: {
    /** The security. */
    security: Security;
    /**
     * Number of ticks, 1 to 1000. The broker sends at most 100; for OTC stocks it sends more (500 is advised).
     */
    limit?: number;
    /** Trading session, US only. */
    session?: QuoteSession;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: AnsweredSecurity;
    /** Ticks, oldest first. */
    ticks: Tick[];
  }>;
  /** Resolves to bars. The broker answers only for subscribed securities. */
  readonly bars: (params: {
    /** The security. */
    security: Security;
    /** First day; with the direction `older`, the last day. */
    start: string;
    /** Whether to continue with older or with newer bars. */
    direction?: Direction;
    /** Adjustment for splits and dividends. */
    adjustment?: PriceAdjustment;
    /** Length of a bar. */
    interval: BarInterval;
    /**
     * For minute bars, the number of days; each interval has its own maximum. For other bars, at most 1500 bars.
     */
    limit: number;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: AnsweredSecurity;
    /** Bars, oldest first. */
    bars: Bar[];
  }>;
  /** Resolves to the intraday price line, minute by minute. */
  readonly timeShare: (params: {
    /** The security. */
    security: Security;
    /** Trading session, US only. */
    session?: QuoteSession;
  }, options?: CallOptions) => Promise<{
    /** The security. */
    security?: AnsweredSecurity;
    /** Minutes, oldest first. */
    points: TimeSharePoint[];
  }>;
  /** Lists the expiries of the options on a US stock. */
  readonly optionExpiries: (params: {
    /** Underlying. */
    underlying: string;
  }, options?: CallOptions) => Promise<string[]>;
  /** Lists the option codes of one expiry. */
  readonly optionCodes: (params: {
    /** Underlying. */
    underlying: string;
    /** Expiry. */
    expiry: string;
    /** In or out of the money; both if omitted. */
    moneyness?: Moneyness;
    /** Calls or puts; both if omitted. */
    optionType?: OptionType;
  }, options?: CallOptions) => Promise<string[]>;
  /** Lists the US securities that trade overnight. */
  readonly overnightSymbols: (params?: Record<never, never>, options?: CallOptions) => Promise<string[]>;
  /**
   * Starts the pushes of a topic. Call it again after a reconnection; `client.watch` does this for you.
   */
  readonly subscribe: (params: {
    /** Topic. Topics with a number in their name are undocumented variants. */
    topic: PushTopic;
    /** Securities; at most 200 over all topics. */
    securities: Security[];
  }, options?: CallOptions) => Promise<Record<never, never>>;
  /** Stops the pushes of a topic for the given securities. */
  readonly unsubscribe: (params: {
    /** Topic. Topics with a number in their name are undocumented variants. */
    topic: PushTopic;
    /** Securities; at most 200 over all topics. */
    securities: Security[];
  }, options?: CallOptions) => Promise<Record<never, never>>;
};

/** Platform operations of the direct transport: login over HTTP and opening the socket. */
export type PlatformMethods = {
  /**
   * Logs in with phone number and password. The token in the answer is encrypted for the developer's key.
   */
  readonly login: (params: {
    /** Country of the phone number. */
    country: Extract<Country, "CHN" | "HKG">;
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
