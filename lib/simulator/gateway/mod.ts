/**
 * The simulated broker behind the ports of the real gateway: HTTP with JSON, and a TCP push stream.
 *
 * Decisions where the API document is silent:
 * - Without a trade login, trade calls are refused with 1012, after its time with 112; calls keep it alive.
 * - A wrong trade password is answered with `success: false`, one that cannot be decrypted with 1003.
 * - KL is refused for a security that no topic has subscribed, as the document says that it returns no data then.
 * - Subscriptions belong to the gateway, not to a push connection: they outlive it, unless a fault cuts the stream.
 * - A subscription is pushed at once, then whenever a look at the market differs from the one before.
 * - The push serial counts over all connections.
 *
 * @module
 */
import { isLoopback } from "../../loopback.ts";
import { Calls } from "../doors/calls.ts";
import { Control, type ControlView } from "../doors/control.ts";
import { type Core, type CoreOptions, hostOf, makeCore, repeat, sleepUntil } from "../doors/core.ts";
import { simulatedCredentials } from "../doors/credentials.ts";
import { problemAnswer } from "../doors/envelope.ts";
import type { Fault, FaultKind } from "../doors/faults.ts";
import { HttpDoor } from "../doors/http_door.ts";
import { toHongKongIso } from "../doors/movable_clock.ts";
import { PushBodies } from "../doors/push_bodies.ts";
import { QuoteFeed } from "../doors/quote_feed.ts";
import { Subscriptions } from "../doors/subscriptions.ts";
import { TradeLogin, type TradeLoginState } from "../doors/trade_login.ts";
import { OperationDoor } from "./operation_door.ts";
import { PushDoor } from "./push_door.ts";
import { tradePasswordReader } from "./trade_password.ts";

export { type Fault, type FaultKind, faultKinds, type FaultPush, Faults } from "../doors/faults.ts";
export { readInstant } from "../doors/control.ts";

/** How the ports of a simulated gateway are made. */
export interface GatewayPortOptions {
  /** @default "127.0.0.1" */
  hostname?: string;
  /** Further names by which HTTP clients may call, such as that of a container. @default none */
  names?: readonly string[];
  /** What requests to the control routes must show. @default a random one for each start */
  controlToken?: string;
  /** 0 takes a free port. @default 0 */
  httpPort?: number;
  /** 0 takes a free port. @default 0 */
  pushPort?: number;
  /** @default one that follows from the seed */
  tradePassword?: string;
  /** Base64 of 16, 24 or 32 bytes. @default one that follows from the seed */
  tradePasswordKey?: string;
  /** How long a trade login holds without a trade call, in simulated milliseconds. @default 3 hours */
  loginLifeMs?: number;
  /** Real milliseconds between two looks at the market; 0 for none but those of `round()`. @default 1000 */
  pushIntervalMs?: number;
  /** Bytes that may wait for a slow reader of the push stream before it is cut off. @default 4 MiB */
  pushBufferLimit?: number;
  /** Longest body of a request, in bytes. @default 1 MiB */
  bodyLimit?: number;
  /** Whether KL is refused for securities that are not subscribed. @default true */
  barsNeedSubscription?: boolean;
  /** Told about mistakes of the simulator itself. @default reports them as uncaught */
  onError?: (error: unknown) => void;
}

/** How a simulated gateway is made, together with the broker behind it. */
export interface GatewayOptions extends CoreOptions, GatewayPortOptions {}

/** Where a gateway stands. */
export interface GatewayState {
  /** Simulated time, ISO 8601 in the time of Hong Kong. */
  clock: string;
  tradeLogin: TradeLoginState;
  /** Whether changes of orders are pushed. */
  orderPushes: boolean;
  /** Topics of securities that are subscribed. */
  subscriptions: number;
  pushConnections: number;
  /** Readers of the push stream that were cut off because they did not keep up. */
  pushConnectionsCutOff: number;
  /** Calls that the broker has taken. */
  callsTaken: number;
  faults: { armed: Fault[]; struck: Partial<Record<FaultKind, number>> };
}

/** What a client needs to reach a simulated gateway. */
export interface GatewayInfo {
  gatewayUrl: string;
  /** `host:port` */
  pushAddress: string;
  tradePassword: string;
  tradePasswordKey: string;
  seed: number;
  /** Simulated time of the start, ISO 8601 in the time of Hong Kong. */
  clock: string;
  /** What requests to the control routes must show; absent where these are off. */
  controlToken?: string;
}

/** A running gateway. */
export interface SimulatedGateway extends AsyncDisposable, Omit<Core, "seed"> {
  readonly info: GatewayInfo;
  /** Where it stands now. */
  state(): GatewayState;
  /** Settles orders and pushes what has changed; the timer does the same. */
  round(): void;
  /** Closes both ports and every connection. */
  close(): Promise<void>;
}

const LOGIN_LIFE_MS = 3 * 3_600_000;
const MIB = 1024 * 1024;

/**
 * Starts a simulated gateway and resolves when both ports are open.
 *
 * @throws {TypeError} When the key is not Base64 of 16, 24 or 32 bytes.
 * @throws {Deno.errors.AddrInUse} When a port is taken.
 */
export function startGateway(options: GatewayOptions): Promise<SimulatedGateway> {
  return openGateway(makeCore(options), options);
}

/**
 * Opens the gateway's ports in front of a broker that may have other doors.
 *
 * @param view What the control routes show and move; this gateway alone by default.
 */
export async function openGateway(
  { seed, clock, broker, faults }: Core,
  options: GatewayPortOptions,
  view?: ControlView,
): Promise<SimulatedGateway> {
  const { hostname = "127.0.0.1", pushIntervalMs = 1000, loginLifeMs: lifeMs = LOGIN_LIFE_MS } = options;
  const { onError = (error: unknown) => reportError(error), bodyLimit = MIB, pushBufferLimit = 4 * MIB } =
    options;
  const credentials = simulatedCredentials(seed);
  const { tradePassword = credentials.tradePassword, tradePasswordKey = credentials.tradePasswordKey } =
    options;

  const { names, controlToken = crypto.randomUUID() } = options;
  const startedAt = clock.now();
  const decrypt = tradePasswordReader(tradePasswordKey);
  const login = new TradeLogin({ password: tradePassword, decrypt, lifeMs, clock });
  const subscriptions = new Subscriptions();
  const bodies = await PushBodies.load(clock);
  const closing = new AbortController();

  const calls = new Calls({
    broker,
    login,
    subscriptions,
    barsNeedSubscription: options.barsNeedSubscription ?? true,
  });
  const sleep = (ms: number) => sleepUntil(ms, closing.signal);
  const operationDoor = new OperationDoor({ calls, faults, login, sleep, onError });
  const onForget = () => subscriptions.clear();
  const pushDoor = new PushDoor({
    hostname,
    port: options.pushPort ?? 0,
    bufferLimit: pushBufferLimit,
    faults,
    onForget,
  });
  const feed = new QuoteFeed({
    broker,
    subscriptions,
    send: (type, data) => pushDoor.send(type, bodies.market(type, data)),
  });
  const stopOrderPushes = broker.onOrderPush((push) => {
    if (!subscriptions.orderPushes) return;
    try {
      pushDoor.send("order", bodies.order(push));
    } catch (error) {
      onError(error); // the order stands, whatever becomes of its push
    }
  });

  const round = () => {
    broker.settle();
    // Nobody would see it, and what nobody has seen must not count as sent.
    if (pushDoor.connections > 0) feed.round();
    pushDoor.flushHeld();
  };
  const state = (): GatewayState => ({
    clock: toHongKongIso(clock.now()),
    tradeLogin: login.state,
    orderPushes: subscriptions.orderPushes,
    subscriptions: subscriptions.size,
    pushConnections: pushDoor.connections,
    pushConnectionsCutOff: pushDoor.cutOff,
    callsTaken: operationDoor.taken,
    faults: { armed: faults.armed, struck: faults.counts },
  });
  const control = isLoopback(hostname)
    ? new Control({ faults, clock, view: view ?? { state, round }, token: controlToken })
    : undefined;

  let httpDoor: HttpDoor;
  try {
    const explain = ({ status, reason }: { status: number; reason: string }) =>
      problemAnswer(status, `1010 ${reason}`);
    httpDoor = new HttpDoor(
      { hostname, names, port: options.httpPort ?? 0, bodyLimit, explain, now: () => clock.now() },
      (request) =>
        control !== undefined && request.path.startsWith("/control/")
          ? control.answer(request)
          : operationDoor.answer(request),
    );
  } catch (error) {
    stopOrderPushes();
    await pushDoor.close();
    throw error;
  }
  const stopTimer = repeat(pushIntervalMs, round, onError);

  let closed: Promise<unknown> | undefined;
  const close = async () => {
    stopTimer();
    stopOrderPushes();
    closing.abort();
    await (closed ??= Promise.all([httpDoor.close(), pushDoor.close()]));
  };
  const host = hostOf(hostname);
  const info: GatewayInfo = {
    gatewayUrl: `http://${host}:${httpDoor.port}`,
    pushAddress: `${host}:${pushDoor.port}`,
    tradePassword,
    tradePasswordKey,
    seed,
    clock: toHongKongIso(startedAt),
    ...control !== undefined && { controlToken },
  };
  return { info, broker, faults, clock, state, round, close, [Symbol.asyncDispose]: close };
}
