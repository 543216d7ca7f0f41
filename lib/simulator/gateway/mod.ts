/**
 * Opens the ports of a gateway for the simulated broker: HTTP with JSON, and a TCP push stream.
 *
 * Decisions for points that the API document leaves open:
 * - Trade calls are rejected with 1012 if there is no trade login, and with 112 after it has expired. Each trade call
 *   extends the login.
 * - A wrong trade password is answered with `success: false`, and a password that cannot be decrypted with 1003.
 * - A request for bars (`KL`) is rejected for a security without a subscription, because the document says that `KL`
 *   returns no data for such a security.
 * - Subscriptions belong to the gateway, not to a push connection. They remain after the connection ends, unless a
 *   fault cuts the stream.
 * - The data of a new subscription is pushed at the next check of the market. After that, each check pushes it only if
 *   it has changed.
 * - Pushes have one sequence of serials for all connections.
 *
 * @module
 */
import { HttpServer } from "../../endpoints/http_server.ts";
import { isLoopback } from "../../loopback.ts";
import { systemMachine, waitUnlessAborted } from "../../time.ts";
import type { Matches } from "../broker/broker.ts";
import { Calls } from "../endpoints/calls.ts";
import { Control, type ControlView } from "../endpoints/control.ts";
import { type Core, type CoreOptions, hostOf, makeCore, repeat, toHongKongIso } from "../endpoints/core.ts";
import { simulatedCredentials, tradePasswordReader } from "../endpoints/credentials.ts";
import { problemAnswer } from "../../endpoints/gateway_http.ts";
import type { Fault, FaultKind } from "../endpoints/faults.ts";
import { NOTICES_PATH, receiveNotice } from "../endpoints/notices.ts";
import { PushBodies } from "../endpoints/pushes.ts";
import { QuoteFeed, Subscriptions } from "../endpoints/subscriptions.ts";
import { TradeLogin, type TradeLoginState } from "../endpoints/trade_login.ts";
import { OperationEndpoint } from "./operation_endpoint.ts";
import { PushEndpoint } from "./push_endpoint.ts";

export { type Fault, type FaultKind, faultKinds, type FaultPush, Faults } from "../endpoints/faults.ts";

/** Options of the ports of a simulated gateway. */
export interface GatewayPortOptions {
  /** Address to listen on. @default "127.0.0.1" */
  hostname?: string;
  /** Further host names that HTTP clients may use, such as the name of a container. @default none */
  names?: readonly string[];
  /** Token for the control routes. @default a random one for each start */
  controlToken?: string;
  /** 0 takes a free port. @default 0 */
  httpPort?: number;
  /** 0 takes a free port. @default 0 */
  pushPort?: number;
  /** The trade password. @default derived from the seed */
  tradePassword?: string;
  /** Key that encrypts the trade password: Base64 of 16, 24 or 32 bytes. @default derived from the seed */
  tradePasswordKey?: string;
  /** How long a trade login is valid without a trade call, in simulated milliseconds. @default 3 hours */
  loginLifeMs?: number;
  /** Real milliseconds between two checks of the market; with 0, only `round()` checks it. @default 1000 */
  pushIntervalMs?: number;
  /** Maximum number of bytes that wait for a slow push reader; beyond it, the reader is disconnected. @default 4 MiB */
  pushBufferLimit?: number;
  /** Longest body of a request, in bytes. @default 1 MiB */
  bodyLimit?: number;
  /** Whether requests for bars (`KL`) are rejected for securities without a subscription. @default true */
  barsNeedSubscription?: boolean;
  /**
   * Called with the text of each notice that arrives at `/notices`. Has no effect unless `hostname` is a loopback
   * address.
   *
   * @default rejects notices
   */
  onNotice?: (text: string) => void;
  /** Called with errors of the simulator itself. @default reports them as uncaught */
  onError?: (error: unknown) => void;
}

/** Options of a simulated gateway, including the broker behind it. */
export interface GatewayOptions extends CoreOptions, GatewayPortOptions {}

/** State of a gateway. */
export interface GatewayState extends Matches {
  /** Simulated time, ISO 8601 in Hong Kong time. */
  clock: string;
  /** State of the trade login. */
  tradeLogin: TradeLoginState;
  /** Whether order changes are pushed. */
  orderPushes: boolean;
  /** Number of subscriptions. */
  subscriptions: number;
  /** Number of open push connections. */
  pushConnections: number;
  /** Total number of pushes sent over these connections. */
  pushesSent: number;
  /** Number of push readers that were disconnected because they were too slow. */
  pushConnectionsCutOff: number;
  /** Number of executed calls, including logins and subscriptions. */
  callsTaken: number;
  /** Faults that are armed, and how often each kind has struck. */
  faults: { armed: Fault[]; struck: Partial<Record<FaultKind, number>> };
}

/** What a client needs to connect to a simulated gateway. */
export interface GatewayInfo {
  /** Address of the gateway. */
  gatewayUrl: string;
  /** `host:port` */
  pushAddress: string;
  /** Trade password of the account. */
  tradePassword: string;
  /** Key that encrypts the trade password, Base64. */
  tradePasswordKey: string;
  /** Number that determines the data. */
  seed: number;
  /** Simulated time of the start, ISO 8601 in Hong Kong time. */
  clock: string;
  /** Token for the control routes; absent if these are off. */
  controlToken?: string;
}

/** A running gateway. */
export interface SimulatedGateway extends AsyncDisposable, Omit<Core, "seed" | "shapedAnswers"> {
  /** What a client needs to connect. */
  readonly info: GatewayInfo;
  /** Returns its current state. */
  state(): GatewayState;
  /** Processes orders and pushes changes, like a tick of the timer. */
  round(): void;
  /** Closes both ports and every connection. */
  close(): Promise<void>;
}

const LOGIN_LIFE_MS = 3 * 3_600_000;
const MIB = 1024 * 1024;

/**
 * Starts a simulated gateway. Resolves when both ports are open.
 *
 * @throws {TypeError} If the key is not Base64 of 16, 24 or 32 bytes.
 * @throws {Deno.errors.AddrInUse} If a port is in use.
 */
export function startGateway(options: GatewayOptions): Promise<SimulatedGateway> {
  return openGateway(makeCore(options), options);
}

/**
 * Opens the gateway's ports for a broker that may have other endpoints.
 *
 * @param view What the control routes show and change; by default only this gateway.
 */
export async function openGateway(
  { seed, clock, broker, faults, shapedAnswers }: Core,
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
  const sleep = async (ms: number) => void await waitUnlessAborted(systemMachine, ms, closing.signal);
  const operationEndpoint = new OperationEndpoint({ calls, faults, shapedAnswers, login, sleep, onError });
  const onSubscriptionsLost = () => subscriptions.clear();
  const pushEndpoint = new PushEndpoint({
    hostname,
    port: options.pushPort ?? 0,
    bufferLimit: pushBufferLimit,
    faults,
    onSubscriptionsLost,
  });
  const feed = new QuoteFeed({
    broker,
    subscriptions,
    send: (type, data) => pushEndpoint.send(type, bodies.market(type, data)),
  });
  const stopOrderPushes = broker.onOrderPush((push) => {
    if (!subscriptions.orderPushes) return;
    try {
      pushEndpoint.send("order", bodies.order(push));
    } catch (error) {
      onError(error); // the order is valid even if its push fails
    }
  });

  const round = () => {
    broker.settle();
    // Without readers, changes must not count as sent.
    if (pushEndpoint.connections > 0) feed.round();
    pushEndpoint.sendWaiting();
  };
  const state = (): GatewayState => ({
    clock: toHongKongIso(clock.now()),
    tradeLogin: login.state,
    orderPushes: subscriptions.orderPushes,
    subscriptions: subscriptions.size,
    pushConnections: pushEndpoint.connections,
    pushesSent: pushEndpoint.sent,
    pushConnectionsCutOff: pushEndpoint.cutOff,
    callsTaken: operationEndpoint.taken,
    faults: { armed: faults.armed, struck: faults.counts },
    ...broker.matches(),
  });
  const isLocal = isLoopback(hostname);
  const onNotice = isLocal ? options.onNotice : undefined;
  const control = isLocal
    ? new Control({ faults, clock, view: view ?? { state, round }, token: controlToken })
    : undefined;

  let httpServer: HttpServer;
  try {
    const explain = ({ status, reason }: { status: number; reason: string }) =>
      problemAnswer(status, `1010 ${reason}`);
    httpServer = new HttpServer(
      { hostname, names, port: options.httpPort ?? 0, bodyLimit, explain, now: () => clock.now() },
      (request) => {
        if (control !== undefined && request.path.startsWith("/control/")) return control.answer(request);
        return onNotice !== undefined && request.path === NOTICES_PATH
          ? receiveNotice(request, onNotice)
          : operationEndpoint.answer(request);
      },
    );
  } catch (error) {
    stopOrderPushes();
    await pushEndpoint.close();
    throw error;
  }
  const stopTimer = repeat(pushIntervalMs, round, onError);

  let closed: Promise<unknown> | undefined;
  const close = async () => {
    stopTimer();
    stopOrderPushes();
    closing.abort();
    await (closed ??= Promise.all([httpServer.close(), pushEndpoint.close()]));
  };
  const host = hostOf(hostname);
  const info: GatewayInfo = {
    gatewayUrl: `http://${host}:${httpServer.port}`,
    pushAddress: `${host}:${pushEndpoint.port}`,
    tradePassword,
    tradePasswordKey,
    seed,
    clock: toHongKongIso(startedAt),
    ...control !== undefined && { controlToken },
  };
  return { info, broker, faults, clock, state, round, close, [Symbol.asyncDispose]: close };
}
