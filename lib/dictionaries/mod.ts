/**
 * Exports every code table of the broker's interface, by hsgate's name.
 *
 * @module
 */
import { Market } from "./market.ts";
import { SecurityType, StockType } from "./security_type.ts";
import { BarInterval, Direction, PriceAdjustment } from "./bar.ts";
import { Country } from "./country.ts";
import { Currency } from "./currency.ts";
import { FundJournalType } from "./fund_journal_type.ts";
import { LegacyOrderAction, LegacyOrderKind, LegacyOrderProperty, OrderType } from "./order_type.ts";
import { Side } from "./side.ts";
import { TradingHours } from "./trading_hours.ts";
import { FillKind, FillStatus, OrderStatus, RemarkType } from "./order_status.ts";
import { ConditionalOrderStatus, TrailBy } from "./conditional_order.ts";
import { RoutingVenue } from "./venue.ts";
import { ClientType, QueryType, RateType, YesNo } from "./query.ts";
import { Moneyness, OptionType } from "./option.ts";
import {
  FuturesOrderOption,
  FuturesOrderType,
  FuturesValidity,
  MarginStatus,
  PositionStatus,
} from "./futures.ts";
import {
  AlgoAction,
  AlgoOrderStatus,
  AlgoOrderType,
  AlgoSensitivity,
  AlgoStrategy,
  AlgoStrategyStatus,
} from "./algo.ts";
import {
  BookSide,
  BrokerItemType,
  BrokerSide,
  DepthFeed,
  QuoteSession,
  SecurityStatus,
  TickSide,
  TickType,
} from "./quote.ts";
import { PushTopic } from "./push.ts";
import { BodyFormat, Compression, FrameType } from "./header.ts";
import { FeeItem } from "./fee_item.ts";
import { CommunityErrorCode, ErrorText, PlatformResponseCode, ResponseCode } from "./response_code.ts";
import { GatewayCommand, GatewayPort, TradeLoginCheck } from "./gateway.ts";
import { NotifyType, RequestType, ResponseType } from "./message_type.ts";
import type { Dictionary } from "./dictionary.ts";

/** All code tables, by name. `barDayLimits` is not included because it maps names to numbers. */
export const dictionaries: Readonly<Record<string, Dictionary>> = {
  Market,
  SecurityType,
  StockType,
  BarInterval,
  PriceAdjustment,
  Direction,
  Country,
  Currency,
  FundJournalType,
  OrderType,
  LegacyOrderKind,
  LegacyOrderProperty,
  LegacyOrderAction,
  Side,
  TradingHours,
  OrderStatus,
  FillStatus,
  FillKind,
  RemarkType,
  ConditionalOrderStatus,
  TrailBy,
  RoutingVenue,
  QueryType,
  ClientType,
  RateType,
  YesNo,
  OptionType,
  Moneyness,
  PositionStatus,
  MarginStatus,
  FuturesOrderType,
  FuturesValidity,
  FuturesOrderOption,
  AlgoOrderType,
  AlgoStrategy,
  AlgoSensitivity,
  AlgoAction,
  AlgoStrategyStatus,
  AlgoOrderStatus,
  QuoteSession,
  DepthFeed,
  TickSide,
  BookSide,
  BrokerSide,
  BrokerItemType,
  TickType,
  SecurityStatus,
  PushTopic,
  FrameType,
  BodyFormat,
  Compression,
  FeeItem,
  ResponseCode,
  CommunityErrorCode,
  PlatformResponseCode,
  ErrorText,
  GatewayPort,
  GatewayCommand,
  TradeLoginCheck,
  NotifyType,
  RequestType,
  ResponseType,
};
