/**
 * hsgate: scripting and automation for people who trade through the HS brokerage gateway.
 *
 * ```ts ignore
 * import { connect } from "hsgate";
 *
 * await using client = await connect({ gateway: "http://127.0.0.1:11111" });
 * for await (const fill of client.fills.history({ market: "hk", from: "2025-08-11", to: "2025-08-15" })) {
 *   console.log(fill.symbol, fill.side, fill.filledQuantity, fill.fillPrice);
 * }
 * ```
 *
 * @module
 */
export { connect, createClient } from "./lib/desk/connect.ts";
export { securityOf } from "./lib/client/security.ts";
export { formatOptionCode, parseOptionCode } from "./lib/operations/option_code.ts";
export { gateway } from "./lib/transports/gateway.ts";
export { describeDirectEvent, direct } from "./lib/transports/direct/mod.ts";
export * as decimal from "./lib/decimal.ts";
export { shownLine } from "./lib/shown_text.ts";
export {
  BrokerError,
  BusyError,
  DisplacedError,
  InvalidParamsError,
  LoginExpiredError,
  LoginRefusedError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "./lib/errors.ts";

// The types of the operations, which `deno task docs` writes from the catalogue.
export type * from "./lib/client/methods.ts";
export type * from "./lib/operations/public_types.ts";
export type { PushedEvent } from "./lib/operations/pushed_event.ts";
export type { Dictionary, DictionaryEntry, Unlisted } from "./lib/dictionaries/dictionary.ts";

// The client and its options.
export type { Client, ClientBase, ClientOptions, RetryOptions, WriteUnderWay } from "./lib/client/client.ts";
export type { ConnectOptions, DirectClient, DirectConnectOptions } from "./lib/client/connect.ts";
export type { Paged, PagingOptions } from "./lib/client/paging.ts";
export type { Page } from "./lib/client/page_walk.ts";
export type { WatchOptions } from "./lib/client/watch.ts";
export type { WatchedSecurity } from "./lib/client/subscriptions.ts";
export type { Amounts, LimitName, Limits, LimitTexts } from "./lib/client/limits.ts";
export type { StoreOptions } from "./lib/desk/connect.ts";
export type { ErrorContext, Issue } from "./lib/errors.ts";
export type { Decimal } from "./lib/decimal.ts";
export type { Machine, TimerOptions } from "./lib/time.ts";
export type { Redactor } from "./lib/redact.ts";
export type { OptionTerms } from "./lib/operations/option_code.ts";
export type { Calendars, Coverage, DataMic, Mic } from "./lib/calendars/mod.ts";
export type { CalendarData, CalendarRecord, DaysByYear } from "./lib/calendars/records.ts";
export type { Override, Session, SessionBreak } from "./lib/calendars/book.ts";

// The order desk and its store.
export type { Trading } from "./lib/desk/trading.ts";
export type { Desk } from "./lib/desk/desk.ts";
export type { AbsentReadings, Intent, IntentKind, Why } from "./lib/desk/intent.ts";
export type { Reconciled, ReconcileOptions } from "./lib/desk/reconcile.ts";
export type { Decision } from "./lib/desk/decide.ts";
export type { IntentState } from "./lib/desk/states.ts";
export type { SeenOrder, SeenState } from "./lib/desk/broker_lists.ts";
export type { SqlValue, StatementResult, Store } from "./lib/store/store.ts";

// Transports, and the catalogue's descriptions that they read.
export type {
  ConflatedEvent,
  ConnectionEvent,
  DroppedEvent,
  GapEvent,
  TransportEvent,
  UnknownEvent,
} from "./lib/transports/push/events.ts";
export type { GatewayOptions } from "./lib/transports/gateway.ts";
export type {
  DirectEvent,
  DirectOptions,
  DirectState,
  DirectTransport,
} from "./lib/transports/direct/mod.ts";
export type {
  BrokerTime,
  CallOptions,
  LateAnswer,
  LoginKeeper,
  ReadOnly,
  Transport,
} from "./lib/transports/transport.ts";
export type {
  ChannelName,
  DirectFault,
  DirectPhase,
  LateAnswerEvent,
  TradeLoginState,
} from "./lib/transports/direct/events.ts";
export type { ProbeOptions } from "./lib/transports/direct/options.ts";
export type { ReconnectOptions } from "./lib/transports/push/reconnect.ts";
export type { PushHooks, PushStream, PushStreamStats } from "./lib/transports/push/stream.ts";
export type { PushQueueOptions, PushQueueStats } from "./lib/transports/push/queue.ts";
export type { Padding } from "./lib/wire/padding.ts";
export type { WireAnswer } from "./lib/operations/answer_shapes.ts";
export type {
  AnyOperation,
  Effect,
  Gap,
  Need,
  Operation,
  OperationInit,
  Paging,
  Proof,
  SocketMapping,
} from "./lib/operations/operation.ts";
export type { FieldInfo, FieldsInfo, Shape, TextForm, ValueType } from "./lib/operations/types.ts";
