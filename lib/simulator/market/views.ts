/**
 * Defines the views of the simulated market. Their members have the names of the operation catalogue, so an endpoint
 * only adds the security (API document 2.3). Prices are doubles as on the wire, computed from decimal texts; volumes
 * and epoch milliseconds are whole numbers as text.
 *
 * @module
 */
import type { Decimal } from "../../decimal.ts";
import type { FutureContract } from "../../facts/contracts.ts";
import type { Market } from "../../facts/listings.ts";
import type { OptionTerms } from "../../operations/option_code.ts";

/** Anything that can be traded: a listing, a future or an option. */
export interface Instrument {
  /** Code, such as `00700.HK`. */
  symbol: string;
  /** Kind of instrument. */
  kind: "stock" | "etf" | "reit" | "future" | "option";
  /** Market in which it trades. */
  market: Market;
  /** Name in English. */
  name: string;
  /** Name in traditional Chinese. */
  nameTc: string;
  /** Name in simplified Chinese. */
  nameSc: string;
  /** `dataType` of the market-data interface. */
  dataType: number;
  /** Currency of its prices. */
  currency: "HKD" | "USD" | "CNY";
  /**
   * Lot size in shares or contracts on the date for which the instrument was looked up. Orders must be multiples of it.
   */
  lotSize: number;
  /** Value of one price unit of one share or contract: 1, 100 for options, 10 or 50 for futures. */
  multiplier: Decimal;
  /** Present for futures. */
  future?: FutureContract;
  /** Present for options. */
  option?: OptionTerms;
}

/** Session of a price in the United States; unset elsewhere. */
export type SessionView = "regular" | "pre-market" | "after-hours" | "unset";

/** A day's bar as decimal texts. */
export interface DayBar {
  /** `yyyy-MM-dd`. */
  date: string;
  /** Opening price. */
  open: Decimal;
  /** Highest price. */
  high: Decimal;
  /** Lowest price. */
  low: Decimal;
  /** Closing price. */
  close: Decimal;
  /** Shares or contracts. */
  volume: string;
}

/** Sensitivities and value parts of an option, all decimal texts (`optionExData`). */
export interface OptionView {
  /** Strike price. */
  strikePrice: Decimal;
  /** Contracts. */
  openInterest: string;
  /** `yyyy-MM-dd`. */
  expiry: string;
  /** How far the stock has to move until expiry to cover the price, in percent of the stock price. */
  premium: Decimal;
  /** Intrinsic value. */
  intrinsicValue: Decimal;
  /** Time value. */
  timeValue: Decimal;
  /** Calendar days to expiry; `dueDate` on the wire. */
  daysToExpiry: string;
  /** Yearly, 0.3 for 30 percent; `iv` on the wire. */
  impliedVolatility: Decimal;
  /** Delta times stock price over option price. */
  leverage: Decimal;
  /** Delta. */
  delta: Decimal;
  /** Gamma. */
  gamma: Decimal;
  /** Per percent of volatility. */
  vega: Decimal;
  /** Per day. */
  theta: Decimal;
  /** Per percent of interest. */
  rho: Decimal;
}

/** Members that only a future's quote has (`futureExData`). */
export interface FutureView {
  /** Last trading day, `yyyy-MM-dd`. */
  expiry: string;
  /** Calendar days until then. */
  daysToExpiry: number;
  /** Money per point. */
  multiplier: Decimal;
  /** The close of the previous day is used as the settlement price. */
  previousSettlement: Decimal;
  /** Contracts. */
  openInterest: Decimal;
}

/** A quote (`BasicQot`). Before the day's first trade, its open, high and low are 0. */
export interface QuoteView {
  /** Whether trading is suspended. */
  isSuspended: boolean;
  /** Opening price. */
  openPrice: number;
  /** Highest price of the day. */
  highPrice: number;
  /** Lowest price of the day. */
  lowPrice: number;
  /** Last price. */
  lastPrice: number;
  /** Close of the previous day. */
  previousClose: number;
  /** The price step at the last price. */
  priceStep: number;
  /** Shares or contracts today. */
  volume: string;
  /** The same volume again, because the wire has two members for it. */
  volumeText: string;
  /** In the instrument's currency. */
  turnover: number;
  /** Volume in percent of the tradable shares. Their number is an assumption of `quotes.ts`. */
  turnoverRate: number;
  /** High minus low, percent of the previous close. */
  amplitude: number;
  /** Always 0, because the values of this member are not published. */
  securityStatus: number;
  /** Board lot. */
  lotSize: number;
  /**
   * Local time of the last trade, `yyyyMMddHHmmss`. Before the open, this is the last trade of the previous day. Empty
   * if there was no trade on that day.
   */
  tradeTime: string;
  /** Local time of the quote, same form. */
  marketTime: string;
  /** Trading session of the quote. */
  session: SessionView;
  /** Present for futures. */
  future?: FutureView;
  /** Present for options (`optionExData`). */
  option?: OptionView;
}

/** A bar (`KLine`). */
export interface BarView {
  /** Trading date, `yyyy-MM-dd`; for a week and longer the last one in it. */
  date: string;
  /** Local start of a minute bar, `HH:mm`; absent for days and longer. */
  time?: string;
  /** Opening price. */
  openPrice: number;
  /** Highest price. */
  highPrice: number;
  /** Lowest price. */
  lowPrice: number;
  /** Closing price. */
  closePrice: number;
  /** Close of the previous bar. */
  previousClose: number;
  /** Shares or contracts. */
  volume: string;
  /** Turnover, in the instrument's currency. */
  turnover: number;
  /** Epoch milliseconds of the bar's start. */
  timestamp: string;
}

/** A trade print (`Ticker`). */
export interface TickView {
  /** Local time, `HH:mm:ss`. */
  time: string;
  /** Side that initiated the trade. */
  side: "flat" | "buy" | "sell";
  /** Price of the trade. */
  price: number;
  /** Shares or contracts. */
  volume: string;
  /** Turnover, in the instrument's currency. */
  turnover: number;
  /** Always 0, because the values are not published. */
  tickType: number;
  /** Trading session of the trade. */
  session: SessionView;
  /** Epoch milliseconds. */
  timestamp: string;
}

/** One level of the order book (`OrderBook`). */
export interface BookLevel {
  /** From 1, best first. */
  level: number;
  /** Price of the level. */
  price: number;
  /** Shares or contracts at this level. */
  volume: string;
  /** Number of orders at this level. */
  orderCount: number;
  /** Only in depth feeds. */
  venue?: string;
}

/** The order book of one instant. */
export interface BookView {
  /** The price step at the last price. */
  priceStep: number;
  /** Ask levels, best first. */
  asks: BookLevel[];
  /** Bid levels, best first. */
  bids: BookLevel[];
}

/** One entry of the broker queue (`Broker`). */
export interface BrokerView {
  /** Price level of the entry, from 1 at the best price. */
  level: number;
  /** Broker code, or the number of the level if `kind` is `level`. */
  broker: string;
  /** Whether the entry is a broker or the start of a level. */
  kind: "broker" | "level";
  /** Name of the broker. */
  name: string;
}

/** The broker queue; both lists are empty outside Hong Kong, and for futures. */
export interface BrokersView {
  /** Brokers on the ask side. */
  asks: BrokerView[];
  /** Brokers on the bid side. */
  bids: BrokerView[];
}

/** One minute of the intraday price chart (`TimeShare`). */
export interface TimeShareView {
  /** Local start of the minute, `HH:mm`. */
  time: string;
  /** Last price of the minute. */
  price: number;
  /** Close of the previous day. */
  previousClose: number;
  /** Mean price of the day so far, weighted by volume. */
  averagePrice: number;
  /** Shares or contracts traded in this minute. */
  volume: string;
  /** Turnover of this minute, in the instrument's currency. */
  turnover: number;
}
