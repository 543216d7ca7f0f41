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
export { connect } from "./lib/desk/connect.ts";
export { securityOf } from "./lib/client/security.ts";
export { formatOptionCode, parseOptionCode } from "./lib/operations/option_code.ts";
export { createClient } from "./lib/client/client.ts";
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

export type { Client, ClientOptions, RetryOptions, WriteUnderWay } from "./lib/client/client.ts";
export type { ConnectOptions, DirectClient, DirectConnectOptions } from "./lib/client/connect.ts";
export type { Paged, PagingOptions } from "./lib/client/paging.ts";
export type { Page } from "./lib/client/page_walk.ts";
export type { WatchOptions } from "./lib/client/watch.ts";
export type { WatchedSecurity } from "./lib/client/subscriptions.ts";
export type { TransportEvent } from "./lib/transports/push/events.ts";
export type { GatewayOptions } from "./lib/transports/gateway.ts";
export type {
  DirectEvent,
  DirectOptions,
  DirectState,
  DirectTransport,
} from "./lib/transports/direct/mod.ts";
export type { CallOptions, LateAnswer, Transport } from "./lib/transports/transport.ts";
export type { Machine } from "./lib/time.ts";
