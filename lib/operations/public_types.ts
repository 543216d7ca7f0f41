/**
 * The names of the operations and the types of the pushes. Written by `deno task docs` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
import type { PushedEvent } from "./pushed_event.ts";

/** A push `order`. */
export interface OrderEvent extends PushedEvent {
  /** Name of the event. */
  type: "order";
  /** Content of the push. */
  data: {
    /** Listing code. */
    symbol: string;
    /** Name of the listing. */
    name?: string;
    /** Market of the listing; absent for futures. */
    market?: "hk" | "us" | "shenzhen" | "shanghai" | `unlisted:${string}`;
    /** The broker's order number. */
    orderId?: string;
    /** Bought or sold. */
    side?: "buy" | "sell" | "short-close" | "short-open" | `unlisted:${string}`;
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
    /** Limit price. */
    price?: string;
    /** Quantity ordered. */
    quantity?: string;
    /** Price of this fill. */
    fillPrice?: string;
    /** Quantity of this fill. */
    fillQuantity?: string;
    /** Quantity filled so far. */
    filledQuantity?: string;
    /** Amount filled so far. */
    filledAmount?: string;
    /** Quantity left. */
    unfilledQuantity?: string;
    /** Quantity before an amendment. */
    originalQuantity?: string;
    /** Price before an amendment. */
    originalPrice?: string;
    /** Day. */
    date?: string;
    /** Time of day. */
    time?: string;
    /** Number of the fill; only in pushes about a fill. */
    matchId?: string;
    /** Number of the record; the same as the order number. */
    recordId?: string;
    /** Client that placed the order. */
    clientId?: string;
    /** Remark. */
    remark?: string;
  };
}

/** A push `quote`. */
export interface QuoteEvent extends PushedEvent {
  /** Name of the event. */
  type: "quote";
  /** Content of the push. */
  data: {
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
    /** Its quote. */
    quote?: {
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
    };
  };
}

/** A push `tick`. */
export interface TickEvent extends PushedEvent {
  /** Name of the event. */
  type: "tick";
  /** Content of the push. */
  data: {
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
    /** The trade. */
    tick?: {
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
    };
  };
}

/** A push `brokers`. */
export interface BrokersEvent extends PushedEvent {
  /** Name of the event. */
  type: "brokers";
  /** Content of the push. */
  data: {
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
    /**
     * Sources disagree: the definitions say 0 buy, 1 sell. A 2 arrives as `unlisted:2` and can only mean sell.
     */
    side?: "buy" | "sell" | `unlisted:${string}`;
    /** The number that the broker sent for the side. */
    sideCode?: number;
    /** Broker queue entries of that side. */
    brokers: ({
      /** Position in the queue. */
      level?: number;
      /** Broker code, or the number of the level if there is no broker at this position. */
      broker?: string;
      /** Whether `broker` is a broker code or a level. */
      kind?: "broker" | "level" | `unlisted:${string}`;
      /** Name of the broker. */
      name?: string;
    })[];
  };
}

/** A push `book`. */
export interface BookEvent extends PushedEvent {
  /** Name of the event. */
  type: "book";
  /** Content of the push. */
  data: {
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
    /** Side of the book. */
    side?: "buy" | "sell" | `unlisted:${string}`;
    /**
     * The number that the broker sent for the side; the API document names both 0 or 1 and 1 or 2.
     */
    sideCode?: number;
    /** Levels of that side. */
    levels: ({
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
    /** Trading session, US only. */
    session?: "unset" | "regular" | "overnight" | "after-hours" | "pre-market" | `unlisted:${string}`;
  };
}

/** Our name of an operation, such as `orders.place`. */
export type OperationName =
  | "account.login"
  | "account.logout"
  | "account.keepLogin"
  | "account.funds"
  | "account.holdings"
  | "account.maxBuy"
  | "account.maxSell"
  | "account.buyingPower"
  | "account.marginTerms"
  | "account.extendedHours"
  | "account.shortSale"
  | "account.exchangeRates"
  | "orders.place"
  | "orders.amend"
  | "orders.cancel"
  | "orders.cancelMany"
  | "orders.cancelAll"
  | "orders.today"
  | "orders.history"
  | "orders.subscribe"
  | "orders.unsubscribe"
  | "fills.today"
  | "fills.history"
  | "fundJournal.today"
  | "fundJournal.history"
  | "conditionalOrders.today"
  | "conditionalOrders.history"
  | "algo.place"
  | "algo.amend"
  | "algo.cancel"
  | "algo.cancelChild"
  | "algo.act"
  | "algo.list"
  | "algo.children"
  | "futures.funds"
  | "futures.holdings"
  | "futures.maxQuantity"
  | "futures.products"
  | "futures.place"
  | "futures.amend"
  | "futures.cancel"
  | "futures.ordersToday"
  | "futures.ordersHistory"
  | "futures.fillsToday"
  | "futures.fillsHistory"
  | "futures.resetPassword"
  | "quotes.latest"
  | "quotes.brokers"
  | "quotes.orderBook"
  | "quotes.ticks"
  | "quotes.bars"
  | "quotes.timeShare"
  | "quotes.optionExpiries"
  | "quotes.optionCodes"
  | "quotes.overnightSymbols"
  | "quotes.subscribe"
  | "quotes.unsubscribe"
  | "platform.login"
  | "platform.servers"
  | "platform.claimLevel2"
  | "platform.openConnection";

/** A push as a typed event. */
export type PushEvent = OrderEvent | QuoteEvent | TickEvent | BrokersEvent | BookEvent;
