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

/** What a client needs to connect to either side. */
export interface SimulatorInfo extends GatewayInfo, PlatformInfo {}

/** A running simulator. Both sides show the same account and share one list of armed faults. */
export interface Simulator extends AsyncDisposable, Omit<Core, "seed" | "shaped"> {
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
export type { Fault, FaultKind } from "./endpoints/faults.ts";
export { startGateway } from "./gateway/mod.ts";
export { ScriptError, scriptJsonSchema } from "./script.ts";
export type { ScriptEntry, ScriptMarket, ScriptSource } from "./script.ts";
export type { GatewayInfo, GatewayOptions, SimulatedGateway } from "./gateway/mod.ts";
export type { PlatformInfo, SimulatedPlatform } from "./platform/mod.ts";
