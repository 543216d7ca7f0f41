/**
 * Opens the platform's endpoints for the simulated broker: HTTP for login and addresses, a trade socket, and a market
 * socket.
 *
 * Decisions for points that the API document leaves open:
 * - A newer login ends the token of an older login (1013); an expired or unknown token gets 1014.
 * - The newest InitConnect gets the account's only trade connection. The older connection gets no more
 *   pushes; its next request is answered with 1013. After that answer, or at its next heartbeat, the connection is
 *   closed.
 * - The trade login and the quote subscriptions belong to the session that InitConnect begins.
 * - Trade calls are rejected with 1012 if there is no trade login, and with 112 after it has expired. Each trade call
 *   extends the login.
 * - InitConnect is enough to get order changes, as 6.2 says; TradeUnsubscribe stops them. A change that an
 *   order causes immediately may arrive before the answer to that order.
 * - Rejections about the session (token, login, signature, cipher, overload) are system exceptions with the type number
 *   999. Rejections about the call have the call's own type number. A rejection with only a text gets the code 1008.
 * - Request ids and serials are not checked; an answer repeats both. Pushes have their own sequence of serials.
 * - A request that cannot be read gets request id "0"; after bytes that are not frames, the connection ends.
 * - Quotes are available only on the market socket, and all other operations only on the trade socket. The wrong socket
 *   answers 1009.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { HttpServer } from "../../endpoints/http_server.ts";
import { isLoopback } from "../../loopback.ts";
import { loadEnvelopes } from "../../wire/messages.ts";
import { exportPrivateKey, exportPublicKey } from "../../wire/keys.ts";
import type { Padding } from "../../wire/padding.ts";
import { systemMachine, waitUnlessAborted } from "../../time.ts";
import { Control, type ControlView } from "../endpoints/control.ts";
import { type Core, type CoreOptions, hostOf, makeCore, repeat, toHongKongIso } from "../endpoints/core.ts";
import {
  type PlatformCredentials,
  platformCredentials,
  simulatedCredentials,
} from "../endpoints/credentials.ts";
import type { Fault, FaultKind } from "../endpoints/faults.ts";
import { PushBodies } from "../endpoints/pushes.ts";
import type { TradeLoginState } from "../endpoints/trade_login.ts";
import { Access, Tokens, type TokenState } from "./access.ts";
import { answerOf, PlatformHttp } from "./http.ts";
import { simulatedKeys } from "./keys.ts";
import type { SessionOptions } from "./session.ts";
import { SocketEndpoint } from "./socket_endpoint.ts";

export { socketFaultKinds } from "../endpoints/faults.ts";
export type { TokenState } from "./access.ts";

/** Options of the ports of a simulated platform. */
export interface PlatformPortOptions extends Partial<PlatformCredentials> {
  /** Address to listen on. @default "127.0.0.1" */
  hostname?: string;
  /** Further host names that HTTP clients may use, such as the name of a container. @default none */
  names?: readonly string[];
  /** Token for the control routes. @default a random one for each start */
  controlToken?: string;
  /** Port of the HTTP endpoints; 0 takes a free one. @default 0 */
  platformPort?: number;
  /** Port of the trade server; 0 takes a free one. @default 0 */
  tradePort?: number;
  /** Port of the market server; 0 takes a free one. @default 0 */
  hqPort?: number;
  /** The trade password. @default derived from the seed, as at the gateway */
  tradePassword?: string;
  /** How long a token is valid without a call, in simulated milliseconds. @default 3 hours */
  tokenLifeMs?: number;
  /** How long a trade login is valid without a trade call, in simulated milliseconds. @default 3 hours */
  loginLifeMs?: number;
  /** Seconds between heartbeats; the platform sends this number to its clients. @default 30 */
  heartbeatIntervalSec?: number;
  /** Real milliseconds without a frame after which a connection is closed. @default three heartbeat intervals */
  silenceLimitMs?: number;
  /** Padding of bodies. @default "pkcs7" */
  padding?: Padding;
  /** IP addresses that may call; without it, all addresses may. */
  allowedIps?: readonly string[];
  /** Bound device numbers. Without it, devices are not checked, as in the test environment. */
  boundDevices?: readonly string[];
  /** Real milliseconds between two checks of the market; with 0, only `round()` checks it. @default 1000 */
  pushIntervalMs?: number;
  /** Maximum number of bytes that wait for a slow reader; beyond it, the reader is disconnected. @default 4 MiB */
  pushBufferLimit?: number;
  /** Longest body of a request, in bytes. @default 1 MiB */
  bodyLimit?: number;
  /** Whether a query for bars (KL) is rejected if the security has no subscription. @default true */
  barsNeedSubscription?: boolean;
  /** Called with errors of the simulator itself. @default reports them as uncaught */
  onError?: (error: unknown) => void;
}

/** Options of a simulated platform, including the broker behind it. */
export interface PlatformOptions extends CoreOptions, PlatformPortOptions {}

/** What a client needs to connect to a simulated platform. All secrets are invented and protect nothing. */
export interface PlatformInfo extends PlatformCredentials {
  /** Base of the HTTP addresses. */
  authUrl: string;
  /** `host:port` of the trade server. */
  tradeServer: string;
  /** `host:port` of the market server. */
  hqServer: string;
  /** The developer's private key, PKCS#8 in PEM. */
  developerPrivateKey: string;
  /** The platform's public key, Base64 of SubjectPublicKeyInfo. */
  platformPublicKey: string;
  /** Trade password of the account. */
  tradePassword: string;
  /** Number that determines the data. */
  seed: number;
  /** Simulated time of the start, ISO 8601 in Hong Kong time. */
  clock: string;
  /** Token for the control routes; absent if these are off. */
  controlToken?: string;
}

/** State of a platform. */
export interface PlatformState {
  /** Simulated time, ISO 8601 in Hong Kong time. */
  clock: string;
  /** State of the newest token. */
  token: TokenState;
  /** State of the trade login of the live trade connection. */
  tradeLogin: TradeLoginState;
  /** Whether order changes are pushed to the live trade connection. */
  orderPushes: boolean;
  /** Number of subscriptions, over all market connections. */
  subscriptions: number;
  /** Number of trade connections, with or without InitConnect. */
  tradeConnections: number;
  /** Number of connections for market data, with or without InitConnect. */
  quoteConnections: number;
  /** Number of connections that were closed because they were silent. */
  silenced: number;
  /** Whether a client has claimed the level-2 quotes. */
  level2: boolean;
  /** Number of executed calls, over HTTP and on both sockets, without InitConnect. */
  callsTaken: number;
  /** Faults that are armed, and how often each kind has struck. */
  faults: { armed: Fault[]; struck: Partial<Record<FaultKind, number>> };
}

/** A running platform. */
export interface SimulatedPlatform extends AsyncDisposable, Omit<Core, "seed" | "shapedAnswers"> {
  /** What a client needs to connect. */
  readonly info: PlatformInfo;
  /** Returns its current state. */
  state(): PlatformState;
  /** Processes orders and pushes changes, like a tick of the timer. */
  round(): void;
  /** Closes all ports and every connection. */
  close(): Promise<void>;
}

const HOUR = 3_600_000;
const MIB = 1024 * 1024;

/**
 * Starts a simulated platform. Resolves when its three ports are open.
 *
 * @throws {ShapeError} If the option `answers` has a shape that is too large, or that the platform's messages cannot
 * express.
 * @throws {Deno.errors.AddrInUse} If a port is in use.
 */
export function startPlatform(options: PlatformOptions): Promise<SimulatedPlatform> {
  return openPlatform(makeCore(options), options);
}

/**
 * Opens the platform's ports for a broker that may have other endpoints.
 *
 * @param view What the control routes show and change; by default only this platform.
 */
export async function openPlatform(
  { seed, clock, broker, faults, shapedAnswers }: Core,
  options: PlatformPortOptions,
  view?: ControlView,
): Promise<SimulatedPlatform> {
  const { hostname = "127.0.0.1", pushIntervalMs = 1000, heartbeatIntervalSec = 30 } = options;
  const { onError = (error: unknown) => reportError(error), bodyLimit = MIB } = options;
  const { silenceLimitMs = 3000 * heartbeatIntervalSec } = options;
  const login = { ...platformCredentials(seed), ...givenCredentials(options) };
  const { tradePassword = simulatedCredentials(seed).tradePassword } = options;
  const { developer, platform } = simulatedKeys(seed);
  const { names, controlToken = crypto.randomUUID() } = options;
  const startedAt = clock.now();
  const closing = new AbortController();
  const sleep = async (ms: number) => void await waitUnlessAborted(systemMachine, ms, closing.signal);

  const tokens = new Tokens({ seed, clock, lifeMs: options.tokenLifeMs ?? 3 * HOUR });
  const { allowedIps, boundDevices } = options;
  const access = new Access({ ...login, privateKey: platform.privateKey, allowedIps, boundDevices });
  const bodies = await PushBodies.load(clock);
  const envelopes = await loadEnvelopes();
  await shapedAnswers.check();
  let taken = 0;
  let sessions = 0;
  const session: SessionOptions = {
    broker,
    faults,
    shapedAnswers,
    clock,
    tokens,
    access,
    bodies,
    envelopes,
    keys: { privateKey: platform.privateKey, publicKey: developer.publicKey, padding: options.padding },
    heartbeatIntervalSec,
    tradePassword,
    loginLifeMs: options.loginLifeMs ?? 3 * HOUR,
    barsNeedSubscription: options.barsNeedSubscription ?? true,
    bufferLimit: options.pushBufferLimit ?? 4 * MIB,
    makeSessionKey: () => sessionKey(seed, ++sessions),
    sleep,
    onTaken: () => taken += 1,
    onError,
  };

  const host = hostOf(hostname);
  const opened: { close(): Promise<void> }[] = [];
  const open = <Endpoint extends { close(): Promise<void> }>(endpoint: Endpoint): Endpoint => {
    opened.push(endpoint);
    return endpoint;
  };
  const closeEndpoints = () => Promise.all(opened.map((endpoint) => endpoint.close()));
  const http = new PlatformHttp({
    broker,
    faults,
    shapedAnswers,
    tokens,
    access,
    sleep,
    onError,
    developerKey: developer.publicKey,
    servers: () => ({ tradeServer: addressOf(tradeEndpoint), quoteServer: addressOf(quoteEndpoint) }),
  });
  const addressOf = ({ port }: { port: number }) => `${host}:${port}`;
  const round = () => {
    broker.settle();
    for (const each of [...tradeEndpoint.live, ...quoteEndpoint.live]) each.round();
  };
  const state = (): PlatformState => {
    const [trade] = tradeEndpoint.live;
    return {
      clock: toHongKongIso(clock.now()),
      token: tokens.state,
      tradeLogin: trade?.tradeLogin ?? "out",
      orderPushes: trade?.orderPushes ?? false,
      subscriptions: quoteEndpoint.live.reduce((sum, { subscriptions }) => sum + subscriptions, 0),
      tradeConnections: tradeEndpoint.connections,
      quoteConnections: quoteEndpoint.connections,
      silenced: tradeEndpoint.silenced + quoteEndpoint.silenced,
      level2: http.level2,
      callsTaken: taken + http.taken,
      faults: { armed: faults.armed, struck: faults.counts },
    };
  };
  const control = isLoopback(hostname)
    ? new Control({ faults, clock, view: view ?? { state, round }, token: controlToken })
    : undefined;

  const socket = { hostname, bodyLimit, silenceLimitMs, session };
  let tradeEndpoint: SocketEndpoint;
  let quoteEndpoint: SocketEndpoint;
  let httpServer: HttpServer;
  try {
    tradeEndpoint = open(new SocketEndpoint({ ...socket, kind: "trade", port: options.tradePort ?? 0 }));
    quoteEndpoint = open(new SocketEndpoint({ ...socket, kind: "quote", port: options.hqPort ?? 0 }));
    const explain = ({ status, reason }: { status: number; reason: string }) =>
      answerOf(status, "1010", reason);
    httpServer = open(
      new HttpServer(
        { hostname, names, port: options.platformPort ?? 0, bodyLimit, explain, now: () => clock.now() },
        (request) =>
          control !== undefined && request.path.startsWith("/control/")
            ? control.answer(request)
            : http.answer(request),
      ),
    );
  } catch (error) {
    await closeEndpoints();
    throw error;
  }
  const stopOrderPushes = broker.onOrderPush((push) => {
    const receivers = tradeEndpoint.live.filter(({ orderPushes }) => orderPushes);
    if (receivers.length === 0) return;
    try {
      const body = bodies.order(push);
      for (const each of receivers) each.pushOrder(body);
    } catch (error) {
      onError(error); // the order is valid even if its push fails
    }
  });
  const stopTimer = repeat(pushIntervalMs, round, onError);

  let closed: Promise<unknown> | undefined;
  const close = async () => {
    stopTimer();
    stopOrderPushes();
    closing.abort();
    await (closed ??= closeEndpoints());
  };
  const info: PlatformInfo = {
    authUrl: `http://${host}:${httpServer.port}`,
    tradeServer: addressOf(tradeEndpoint),
    hqServer: addressOf(quoteEndpoint),
    developerPrivateKey: exportPrivateKey(developer.privateKey),
    platformPublicKey: exportPublicKey(platform.publicKey),
    ...login,
    tradePassword,
    seed,
    clock: toHongKongIso(startedAt),
    ...control !== undefined && { controlToken },
  };
  return { info, broker, faults, clock, state, round, close, [Symbol.asyncDispose]: close };
}

/** Returns the credentials in the options. */
function givenCredentials(
  { countryCode, mobile, loginPassword }: PlatformPortOptions,
): Partial<PlatformCredentials> {
  return {
    ...countryCode !== undefined && { countryCode },
    ...mobile !== undefined && { mobile },
    ...loginPassword !== undefined && { loginPassword },
  };
}

/** Returns the key of a session, 16 bytes. It is derived from the seed and protects nothing. */
function sessionKey(seed: number, count: number): Uint8Array<ArrayBuffer> {
  const digest = createHash("sha256").update(`session ${count} of simulator ${seed}`).digest();
  return new Uint8Array(digest).slice(0, 16);
}
