/**
 * Starts a whole simulated broker: one account behind the ports of both the gateway and the platform.
 *
 * @module
 */
import type { ControlView } from "./endpoints/control.ts";
import { type Core, type CoreOptions, makeCore } from "./endpoints/core.ts";
import {
  type GatewayInfo,
  type GatewayPortOptions,
  openGateway,
  type SimulatedGateway,
} from "./gateway/mod.ts";
import {
  openPlatform,
  type PlatformInfo,
  type PlatformPortOptions,
  type SimulatedPlatform,
} from "./platform/mod.ts";

/** Options of a simulated broker and its ports. */
export interface SimulatorOptions extends CoreOptions {
  /** Ports of the gateway. */
  gateway?: GatewayPortOptions;
  /** Ports of the platform. */
  platform?: PlatformPortOptions;
}

/** What a client needs to connect to the gateway or to the platform. */
export interface SimulatorInfo extends GatewayInfo, PlatformInfo {}

/** A running simulator. Both sides show the same account and share one list of armed faults. */
export interface Simulator extends AsyncDisposable, Omit<Core, "seed" | "shapedAnswers"> {
  /** What a client needs to connect. */
  readonly info: SimulatorInfo;
  /** The ports of the gateway. */
  readonly gateway: SimulatedGateway;
  /** The ports of the platform. */
  readonly platform: SimulatedPlatform;
  /** Processes orders and pushes changes on both sides, like a tick of the timers. */
  round(): void;
  /** Closes all ports and every connection. */
  close(): Promise<void>;
}

/**
 * Starts a simulated broker. Resolves when all of its ports are open. The control routes of both sides show
 * the gateway's state, with the platform's state as its member `platform`.
 *
 * @throws {ScriptError} If the script is invalid.
 * @throws {ShapeError} If an answer of `answers` cannot be made or sent.
 * @throws {TypeError} If the key of the trade password is not Base64 of 16, 24 or 32 bytes.
 * @throws {Deno.errors.AddrInUse} If a port is in use.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const core = makeCore(options);
  const { gateway: gatewayOptions = {}, platform: platformOptions = {} } = options;
  const { tradePassword = gatewayOptions.tradePassword } = platformOptions;
  // One token is valid for the control routes of both sides.
  const controlToken = gatewayOptions.controlToken ?? platformOptions.controlToken ?? crypto.randomUUID();
  const view: ControlView = {
    state: () => ({ ...gateway.state(), platform: platform.state() }),
    round: () => round(),
  };
  const gateway = await openGateway(core, { ...gatewayOptions, tradePassword, controlToken }, view);
  let platform: SimulatedPlatform;
  try {
    platform = await openPlatform(core, { ...platformOptions, tradePassword, controlToken }, view);
  } catch (error) {
    await gateway.close();
    throw error;
  }
  const round = () => {
    gateway.round();
    platform.round();
  };
  const close = async () => {
    await Promise.all([gateway.close(), platform.close()]);
  };
  const info: SimulatorInfo = { ...gateway.info, ...platform.info };
  const { broker, faults, clock } = core;
  return { info, gateway, platform, broker, faults, clock, round, close, [Symbol.asyncDispose]: close };
}

export { ManualClock, ShiftedClock } from "../time.ts";
export type { Clock } from "../time.ts";
export { faultKinds, socketFaultKinds } from "./endpoints/faults.ts";
export type { ArmedFault, Fault, FaultKind, FaultPush, Faults } from "./endpoints/faults.ts";
export { startGateway } from "./gateway/mod.ts";
export { ScriptError, scriptJsonSchema } from "./script.ts";
export type { ScriptEntry, ScriptMarket, ScriptSource } from "./script.ts";
export type {
  GatewayInfo,
  GatewayOptions,
  GatewayPortOptions,
  GatewayState,
  SimulatedGateway,
} from "./gateway/mod.ts";
export type { PlatformInfo, PlatformPortOptions, PlatformState, SimulatedPlatform } from "./platform/mod.ts";
export type { Core, CoreOptions, MovableClock } from "./endpoints/core.ts";
export type { PlatformCredentials } from "./endpoints/credentials.ts";
export type { Broker, BrokerOptions, Matches } from "./broker/broker.ts";
export type { TradeLoginState } from "./endpoints/trade_login.ts";
export type { TokenState } from "./platform/access.ts";
export { whyUnsendable } from "./endpoints/shaped.ts";
export type { ShapedAnswers, SocketShaped } from "./endpoints/shaped.ts";
export type { Halt, MarketPlan, Move } from "./market/scripted.ts";
export type {
  OpenOptions,
  OptionFilter,
  Print,
  SimulatedMarket,
  TradedRange,
  ViewOptions,
} from "./market/mod.ts";
export type { Book } from "./broker/sessions.ts";
export type { ExtendedSession } from "../calendars/mod.ts";
export type { OrderPush } from "./contract.ts";
export type { FillRule } from "./broker/orders/live_order.ts";
export type { PauseKind } from "./broker/matching/pauses.ts";
export type {
  BarView,
  BookLevel,
  BookView,
  BrokersView,
  BrokerView,
  DayBar,
  FutureView,
  Instrument,
  OptionView,
  QuoteView,
  SessionView,
  TickView,
  TimeShareView,
} from "./market/views.ts";
export type { BarQuery, DayInterval, MinuteInterval } from "./market/bars.ts";
export type { BookOptions } from "./market/book.ts";
export type { Segment, TradingDay } from "./market/timeline.ts";
export type { CurrencyRates } from "./market/rates.ts";
export type { Tariff } from "../facts/fees.ts";
export type { HttpAnswer } from "../endpoints/http_server.ts";
export type { BrokerCharge, FeeMarket, MarketTariff } from "../facts/fee_schedule.ts";
export type { CorporateAction } from "../facts/corporate_actions.ts";
export type { FutureContract, FutureProduct } from "../facts/contracts.ts";
export type { Market as ListingMarket } from "../facts/listings.ts";
export type { Lengths, Seen, SeenAnswer } from "../operations/answer_shapes.ts";
export { ShapeError } from "../operations/shaped_answers.ts";
export type { AnswerShape, ShapedAnswer } from "../operations/shaped_answers.ts";
