/**
 * The types that the client's methods and pushes share: the names of each code table, and each record. Also the names
 * of the operations and the types of the pushes. Written by `deno task docs` from the catalogue in lib/operations:
 * edit there.
 *
 * @module
 */
import type { Unlisted } from "../dictionaries/dictionary.ts";
import type { PushedEvent } from "./pushed_event.ts";

/**
 * Market of a listing. In a call about the account, the market whose funds or holdings the call is about.
 */
export type Market = "hk" | "us" | "shenzhen" | "shanghai";

/** Whether a maximum quantity includes margin. */
export type QueryType = "default" | "margin";

/** Client type of a request. */
export type ClientType = "internet";

/** Type of an order: ordinary types, and the conditional types. */
export type OrderType =
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

/** Whether there is no position, a long one or a short one. */
export type PositionStatus = "no-position" | "long" | "short";

/** Type of a security, with its market. */
export type SecurityType =
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

/** Kind of exchange rate. */
export type RateType = "swap" | "spot";

/**
 * Side of an order. With a short position in the listing, the broker itself decides what the order opens or closes.
 */
export type Side = "buy" | "sell" | "short-close" | "short-open";

/** Routing venue of an order, US only. */
export type RoutingVenue =
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

/** Trading hours in which an order is active. */
export type TradingHours =
  | "no-extended"
  | "extended"
  | "regular"
  | "hk-regular-and-dark"
  | "us-extended-only"
  | "us-regular-and-extended"
  | "us-pre-market"
  | "us-after-hours";

/** Unit of the trailing distance of a conditional order. */
export type TrailBy = "percentage" | "spread" | "price";

/**
 * States of an ordinary order. The order's own flags, not its state, show whether it can be cancelled or amended.
 */
export type OrderStatus =
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
  | "unused-X";

/** Whether an order was voided. */
export type RemarkType = "none" | "voided-order";

/** Type of a movement in the fund journal. */
export type FundJournalType =
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
  | "trading-amount-deduction-voucher";

/** States of a conditional order. */
export type ConditionalOrderStatus =
  | "pending"
  | "triggered"
  | "paused"
  | "expired"
  | "deleted"
  | "error"
  | "invalidated"
  | "invalidated-by-ex-date"
  | "recalled";

/** Type of an algorithmic order: limit or market. */
export type AlgoOrderType = "limit" | "market";

/** Strategy of an algorithmic order. */
export type AlgoStrategy = "vwap" | "twap" | "iceberg" | "tpov" | "pov";

/** How aggressively an algorithmic order trades. */
export type AlgoSensitivity = "neutral" | "aggressive" | "passive";

/** Action on the strategy of an algorithmic order. */
export type AlgoAction = "start" | "stop" | "suspend" | "resume";

/** States of an algorithmic order. */
export type AlgoOrderStatus =
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
  | "amendment-pending";

/** States of the strategy of an algorithmic order. */
export type AlgoStrategyStatus = "start" | "stop" | "suspend" | "resume";

/** States of the margin of a futures account. */
export type MarginStatus = "safe" | "warning" | "dangerous" | "liquidation";

/** How long a futures order is valid. */
export type FuturesValidity = "day" | "fill-and-cancel" | "fill-or-cancel" | "until-expiry" | "until-date";

/** Whether a futures order trades in the after-hours session. */
export type FuturesOrderOption = "default" | "after-hours";

/** Type of a futures order. */
export type FuturesOrderType = "limit" | "auction" | "market" | "conditional";

/** Yes or no. */
export type YesNo = "no" | "yes";

/** Trading session of a quote or a trade, US only. */
export type QuoteSession = "unset" | "regular" | "overnight" | "after-hours" | "pre-market";

/** Whether an entry of the broker queue is a broker code or a level. */
export type BrokerItemType = "broker" | "level";

/** Depth feed of an order book, US only. */
export type DepthFeed = "total-view" | "arca-book";

/** Side that initiated a trade in the market. */
export type TickSide = "flat" | "buy" | "sell";

/** Whether bars are older or newer than a given time. */
export type Direction = "older" | "newer";

/** How bars are adjusted for corporate actions. */
export type PriceAdjustment = "none" | "forward" | "backward";

/** Interval of a bar. */
export type BarInterval =
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

/** Whether an option is in the money. */
export type Moneyness = "in-the-money" | "out-of-the-money";

/** Whether an option is a call or a put. */
export type OptionType = "call" | "put";

/**
 * Topic of a market-data subscription. Topics with a number in their name are undocumented variants.
 */
export type PushTopic =
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

/** Country of a phone number. */
export type Country =
  | "CHN"
  | "HKG"
  | "MAC"
  | "TWN"
  | "SGP"
  | "KOR"
  | "JPN"
  | "USA"
  | "GBR"
  | "FRA"
  | "RUS"
  | "BEL"
  | "DEU"
  | "CAN"
  | "ESP"
  | "NZL";

/** Side of a broker queue in a push. */
export type BrokerSide = "buy" | "sell";

/** Side of an order book in a push. */
export type BookSide = "buy" | "sell";

/** An answer that reports only success. */
export type SuccessAnswer = {
  /** True on success; absent if the answer does not report it. */
  success?: boolean;
  /** A text that some gateways send instead of `success`. */
  text?: string;
};

/** Funds of a market, in its currency. */
export type Funds = {
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
  /**
   * Share of the funds in use. The broker's documents do not give its unit; the simulator sends a percentage.
   */
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
};

/** A holding. */
export type Holding = {
  /** Listing code; US codes may carry `.US`. */
  symbol: string;
  /** Name of the listing. */
  name?: string;
  /** Market of the listing. */
  market?: Market | Unlisted;
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
};

/** Maximum quantity of a listing that can be bought or sold. */
export type MaxQuantity = {
  /** Maximum quantity, in shares. */
  quantity: string;
};

/**
 * The largest quantities of a listing that can be bought and sold; for options also the margin.
 */
export type BuyingPower = {
  /** Whether there is no position, a long one or a short one. */
  position?: PositionStatus | Unlisted;
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
};

/** The answer of an operation that places, amends or cancels one order. */
export type OrderAnswer = {
  /** The broker's order number. */
  orderId: string;
};

/** The answer of a batch cancellation. */
export type CancelAnswer = {
  /** Cancelled orders. */
  cancelled: string[];
  /** Orders that were not cancelled, each with the reason. */
  failed: CancelFailure[];
};

/** An order of a batch cancellation that the broker could not cancel. */
export type CancelFailure = {
  /** The broker's order number. */
  orderId: string;
  /** Why the order was not cancelled, in the broker's words. */
  remark?: string;
};

/** An order in the lists of orders. */
export type Order = {
  /** Listing code; Hong Kong codes carry `.HK`. */
  symbol: string;
  /** Name of the listing. */
  name?: string;
  /** Market of the listing. */
  market?: Market | Unlisted;
  /** The broker's order number. */
  orderId: string;
  /** Bought or sold. */
  side: Side | Unlisted;
  /** Order type. */
  orderType?: OrderType | Unlisted;
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
  status?: OrderStatus | Unlisted;
  /** State in the broker's words; free text. */
  statusText?: string;
  /** Whether it can be cancelled now. */
  canCancel?: boolean;
  /** Whether it can be amended now. */
  canAmend?: boolean;
  /** Seat of the counterparty; only on same-day fills. */
  counterpartySeat?: string;
  /** `voided-order` if the order was voided, otherwise `none`. */
  remarkType?: RemarkType | Unlisted;
  /** The broker's remark; free text. */
  remark?: string;
  /** Routing venue, US. */
  venue?: RoutingVenue | Unlisted;
  /** Position of the row in its list, for paging. */
  cursor?: string;
};

/** A fill in the lists of fills. */
export type Fill = {
  /** Listing code; Hong Kong codes carry `.HK`. */
  symbol: string;
  /** Name of the listing. */
  name?: string;
  /** Market of the listing. */
  market?: Market | Unlisted;
  /** The broker's order number. */
  orderId?: string;
  /** Bought or sold. */
  side: Side | Unlisted;
  /** Order type. */
  orderType?: OrderType | Unlisted;
  /** Order type in the broker's words. */
  orderTypeText?: string;
  /** Limit price in the listing's currency. */
  price?: string;
  /** Quantity ordered, in shares or contracts. */
  quantity?: string;
  /** Price of the fill, in the listing's currency. */
  fillPrice: string;
  /** Quantity filled, in shares or contracts. */
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
  status?: OrderStatus | Unlisted;
  /** State in the broker's words; free text. */
  statusText?: string;
  /** Whether it can be cancelled now. */
  canCancel?: boolean;
  /** Whether it can be amended now. */
  canAmend?: boolean;
  /** Seat of the counterparty; only on same-day fills. */
  counterpartySeat?: string;
  /** `voided-order` if the order was voided, otherwise `none`. */
  remarkType?: RemarkType | Unlisted;
  /** The broker's remark; free text. */
  remark?: string;
  /** Routing venue, US. */
  venue?: RoutingVenue | Unlisted;
  /** Position of the row in its list, for paging. */
  cursor?: string;
  /** Fees; absent until clearing. */
  fees?: Fees;
};

/**
 * Fees of one fill, in the listing's currency. Contains only the items that apply in the market.
 */
export type Fees = {
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

/** A fund journal entry. */
export type JournalEntry = {
  /** Amount, in the market's currency; negative for outgoing money. */
  amount: string;
  /** Type of movement. */
  type?: FundJournalType | Unlisted;
  /** Type of movement, in the broker's words. */
  typeText?: string;
  /** Group of the type, as the broker's code. */
  parentType?: string;
  /** Time of the movement; absent in today's journal. */
  time?: string;
  /** Position of the entry in its list, for paging. */
  cursor?: string;
};

/** A conditional order in the lists of conditional orders. */
export type ConditionalOrder = {
  /** The broker's number of the conditional order. */
  orderId: string;
  /** Type of the security. */
  securityType?: SecurityType | Unlisted;
  /** Listing code. */
  symbol: string;
  /** Name of the listing. */
  name?: string;
  /** Name in traditional Chinese. */
  nameTc?: string;
  /** Name in English. */
  nameEn?: string;
  /** Market of the listing. */
  market?: Market | Unlisted;
  /** Type of the condition, and of the order that it sends. */
  orderType?: OrderType | Unlisted;
  /** Trading hours in which it is active. */
  tradingHours?: TradingHours | Unlisted;
  /** State of the conditional order. */
  status?: ConditionalOrderStatus | Unlisted;
  /** Whether it can be cancelled now. */
  canCancel?: boolean;
  /** Whether it can be amended now. */
  canAmend?: boolean;
  /**
   * Buy opens a long position and sell closes it; short open and short close do the same for a short position.
   */
  side?: Side | Unlisted;
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
  trailBy?: TrailBy | Unlisted;
};

/** Settings of the strategy of an algorithmic order. */
export type AlgoSettings = {
  /** Start, Hong Kong time. `00:00:00` means the open, or immediately if the market is open. */
  startTime?: string;
  /** End, Hong Kong time; `00:00:00` means the close. */
  endTime?: string;
  /** Maximum size of one child order, in shares. */
  maxChildQuantity?: string;
  /** Minimum size of one child order, as an amount. */
  minChildAmount?: string;
  /** How aggressively it trades. */
  sensitivity?: AlgoSensitivity;
  /** Visible quantity; only for iceberg. */
  displayQuantity?: string;
  /** Percentage of the volume (`pov`) or of the order book (`tpov`). */
  percent?: number;
  /** Seconds between reports; only for `pov`. */
  intervalSec?: number;
};

/** An algorithmic order in the list of algorithmic orders. */
export type AlgoOrder = {
  /** The broker's number of the algorithmic order. */
  orderId: string;
  /** Listing code. */
  symbol: string;
  /** Market of the listing. */
  market?: Market | Unlisted;
  /** Day on which it trades. */
  date?: string;
  /** Limit or market. */
  orderType?: AlgoOrderType | Unlisted;
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
  status?: AlgoOrderStatus | Unlisted;
  /** Buy or sell. */
  side?: Side | Unlisted;
  /** Strategy. */
  strategy?: AlgoStrategy | Unlisted;
  /** State of the strategy. */
  strategyStatus?: AlgoStrategyStatus | Unlisted;
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
    sensitivity?: AlgoSensitivity | Unlisted;
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
};

/** Futures funds, in Hong Kong dollars unless named otherwise. */
export type FuturesFunds = {
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
  marginStatus?: MarginStatus | Unlisted;
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

/** A futures position. */
export type FuturesHolding = {
  /** Contract code; Hong Kong codes carry `.HK`. */
  symbol: string;
  /** Name of the contract. */
  name?: string;
  /** Hong Kong or US future. */
  securityType?: SecurityType | Unlisted;
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
  /** Exchange rate of the contract's currency to the base currency. */
  currencyRate?: string;
};

/** A futures contract and its terms. */
export type FuturesProduct = {
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
};

/** A futures order or fill. */
export type FuturesOrder = {
  /** Contract code; Hong Kong codes carry `.HK`. */
  symbol: string;
  /** Name of the contract. */
  name?: string;
  /** The broker's order number. */
  orderId?: string;
  /** Bought or sold. */
  side: Side | Unlisted;
  /** Order type. */
  orderType?: FuturesOrderType | Unlisted;
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
  status?: OrderStatus | Unlisted;
  /** State in the broker's words; free text. */
  statusText?: string;
  /** Whether it can be cancelled now. */
  canCancel?: boolean;
  /** Whether it can be amended now. */
  canAmend?: boolean;
  /** Whether the order is valid. */
  isValid?: boolean;
  /** Kind of validity. */
  validity?: FuturesValidity | Unlisted;
  /** Validity in words; a date for `until-date`. */
  validityText?: string;
  /** Last day of the order. */
  validUntil?: string;
  /** Whether it may trade in the after-hours session. */
  session?: FuturesOrderOption | Unlisted;
  /** Position of the row in its list. */
  cursor?: string;
};

/** A security as the market-data operations expect it. */
export type Security = {
  /** Type of the security. */
  type: SecurityType;
  /** Listing code, with the suffix `.HK`, `.SH` or `.SZ` if the exchange has one. */
  symbol: string;
};

/** A quote in the answer of `quotes.latest`, which always names its security. */
export type AskedQuote = {
  /** The security. */
  security: AnsweredSecurity;
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
  session?: QuoteSession | Unlisted;
  /** Additional fields of a future. */
  future?: FutureQuote;
  /** Additional fields of an option. */
  option?: OptionQuote;
};

/** The security of an answer or a push. */
export type AnsweredSecurity = {
  /** Type of the security. */
  type?: SecurityType | Unlisted;
  /** Listing code with its suffix. */
  symbol: string;
};

/** Additional quote fields of a future. */
export type FutureQuote = {
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
  /** For a main contract's code: the code of the contract that it currently stands for. */
  mainContract?: string;
};

/** Additional quote fields of an option. */
export type OptionQuote = {
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

/** An entry of the broker queue. */
export type BrokerPlace = {
  /** Position in the queue. */
  level?: number;
  /** Broker code, or the number of the level if there is no broker at this position. */
  broker?: string;
  /** Whether `broker` is a broker code or a level. */
  kind?: BrokerItemType | Unlisted;
  /** Name of the broker. */
  name?: string;
};

/** One level of the order book. */
export type BookLevel = {
  /** Level, counted from 1. */
  level?: number;
  /** Price. */
  price?: string;
  /** Quantity. */
  volume?: string;
  /** Number of orders at this level. */
  orderCount?: number;
  /** The exchange that has this quantity. */
  venue?: string;
};

/** A trade in the market. */
export type Tick = {
  /** Time of the trade in the exchange's time zone. */
  time?: string;
  /** Time of the trade, Unix milliseconds. */
  timestamp?: string;
  /** Side that initiated the trade. */
  side?: TickSide | Unlisted;
  /** Price. */
  price: string;
  /** Quantity. */
  volume?: string;
  /** Turnover, in the listing's currency. */
  turnover?: string;
  /** Type of the trade; no source lists its codes. */
  tickType?: number;
  /** Trading session of the trade, US only. */
  session?: QuoteSession | Unlisted;
};

/** A bar; its wire name is `KLine`. */
export type Bar = {
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
};

/** One minute of an intraday price line. */
export type TimeSharePoint = {
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
};

/**
 * A change of an order's state, usually a fill. The account number is left out because it is personal data.
 */
export type OrderUpdate = {
  /** Listing code. */
  symbol: string;
  /** Name of the listing. */
  name?: string;
  /** Market of the listing; absent for futures. */
  market?: Market | Unlisted;
  /** The broker's order number. */
  orderId?: string;
  /** Bought or sold. */
  side?: Side | Unlisted;
  /** State of the order. */
  status?: OrderStatus | Unlisted;
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

/** A quote. */
export type Quote = {
  /** The security. */
  security?: AnsweredSecurity;
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
  session?: QuoteSession | Unlisted;
  /** Additional fields of a future. */
  future?: FutureQuote;
  /** Additional fields of an option. */
  option?: OptionQuote;
};

/** A push `order`. */
export interface OrderEvent extends PushedEvent {
  /** Name of the event. */
  type: "order";
  /** Content of the push. */
  data: OrderUpdate;
}

/** A push `quote`. */
export interface QuoteEvent extends PushedEvent {
  /** Name of the event. */
  type: "quote";
  /** Content of the push. */
  data: {
    /** The security. */
    security?: AnsweredSecurity;
    /** Its quote. */
    quote?: Quote;
  };
}

/** A push `tick`. */
export interface TickEvent extends PushedEvent {
  /** Name of the event. */
  type: "tick";
  /** Content of the push. */
  data: {
    /** The security. */
    security?: AnsweredSecurity;
    /** The trade. */
    tick?: Tick;
  };
}

/** A push `brokers`. */
export interface BrokersEvent extends PushedEvent {
  /** Name of the event. */
  type: "brokers";
  /** Content of the push. */
  data: {
    /** The security. */
    security?: AnsweredSecurity;
    /**
     * Side of the queue. Sources disagree about its codes. As in the message definitions, 0 is buy and 1 is sell. A 2 arrives as `unlisted:2` and can only mean sell.
     */
    side?: BrokerSide | Unlisted;
    /** The number that the broker sent for the side. */
    sideCode?: number;
    /** Broker queue entries of that side. */
    brokers: BrokerPlace[];
  };
}

/** A push `book`. */
export interface BookEvent extends PushedEvent {
  /** Name of the event. */
  type: "book";
  /** Content of the push. */
  data: {
    /** The security. */
    security?: AnsweredSecurity;
    /** Side of the book. */
    side?: BookSide | Unlisted;
    /**
     * The number that the broker sent for the side; the API document gives 0 and 1 in one place, 1 and 2 in another.
     */
    sideCode?: number;
    /** Levels of that side. */
    levels: BookLevel[];
    /** Trading session, US only. */
    session?: QuoteSession | Unlisted;
  };
}

/** hsgate's name of an operation, such as `orders.place`. */
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
