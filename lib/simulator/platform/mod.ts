/**
 * The simulated broker behind the platform's doors: HTTP for login and addresses, a trade socket, a market socket.
 *
 * Decisions where the API document is silent:
 * - A newer login displaces the token of an older one (1013); one that ran out, or was never handed out, gets 1014.
 * - The newest InitConnect holds the account's one trade connection. The older connection gets no pushes any more;
 *   its next request is answered with 1013, and after that, or at its next heartbeat, it is closed.
 * - The trade login belongs to the session that InitConnect begins, and so do the subscriptions of quotes.
 * - Without a trade login, trade calls are refused with 1012, after its time with 112; calls keep it alive.
 * - InitConnect alone lets changes of orders come, as 6.2 says; TradeUnsubscribe stops them. One that an order causes
 *   at once may come before the answer to that order.
 * - Refusals about the session (token, login, signature, cipher, overload) are system exceptions, number 999; those
 *   about the call have the call's own number. A refusal that is known by its text alone has the code 1008.
 * - Request ids and serials are taken as they come; an answer repeats both. Pushes count serials of their own.
 * - A request that cannot be read gets request id "0"; bytes that are no frames end the connection after that.
 * - Quotes are asked for on the market socket alone, all else on the trade socket; the other one answers 1009.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { isLoopback } from "../../loopback.ts";
import { exportPrivateKey, exportPublicKey } from "../../wire/keys.ts";
import { loadEnvelopes } from "../../wire/envelope.ts";
import type { Padding } from "../../wire/padding.ts";
import { Control, type ControlView } from "../doors/control.ts";
import { type Core, type CoreOptions, hostOf, makeCore, repeat, sleepUntil } from "../doors/core.ts";
import { simulatedCredentials } from "../doors/credentials.ts";
import type { Fault, FaultKind } from "../doors/faults.ts";
import { HttpDoor } from "../doors/http_door.ts";
import { toHongKongIso } from "../doors/movable_clock.ts";
import { PushBodies } from "../doors/push_bodies.ts";
import type { TradeLoginState } from "../doors/trade_login.ts";
import { Access } from "./access.ts";
import { type PlatformCredentials, platformCredentials } from "./credentials.ts";
import { answerOf, PlatformHttp } from "./http.ts";
import { simulatedKeys } from "./keys.ts";
import type { SessionOptions } from "./session.ts";
import { SocketDoor } from "./socket_door.ts";
import { Tokens, type TokenState } from "./tokens.ts";

export { socketFaultKinds } from "../doors/faults.ts";
export type { TokenState } from "./tokens.ts";

/** How the ports of a simulated platform are made. */
export interface PlatformPortOptions extends Partial<PlatformCredentials> {
  /** @default "127.0.0.1" */
  hostname?: string;
  /** Further names by which HTTP clients may call, such as that of a container. @default none */
  names?: readonly string[];
  /** What requests to the control routes must show. @default a random one for each start */
  controlToken?: string;
  /** Port of the HTTP endpoints; 0 takes a free one. @default 0 */
  platformPort?: number;
  /** Port of the trade server; 0 takes a free one. @default 0 */
  tradePort?: number;
  /** Port of the market server; 0 takes a free one. @default 0 */
  hqPort?: number;
  /** @default one that follows from the seed, as at the gateway */
  tradePassword?: string;
  /** How long a token holds without a call, in simulated milliseconds. @default 3 hours */
  tokenLifeMs?: number;
  /** How long a trade login holds without a trade call, in simulated milliseconds. @default 3 hours */
  loginLifeMs?: number;
  /** Seconds between heartbeats, as clients are told. @default 30 */
  heartbeatIntervalSec?: number;
  /** Real milliseconds without a frame after which a connection is closed. @default three heartbeat intervals */
  silenceLimitMs?: number;
  /** How bodies are filled up. @default "pkcs7" */
  padding?: Padding;
  /** Addresses that may call; all of them without a list. */
  allowedIps?: readonly string[];
  /** Device numbers that are bound; devices are not asked for without a list, as in the test environment. */
  boundDevices?: readonly string[];
  /** Real milliseconds between two looks at the market; 0 for none but those of `round()`. @default 1000 */
  pushIntervalMs?: number;
  /** Bytes that may wait for a slow reader before it is cut off. @default 4 MiB */
  pushBufferLimit?: number;
  /** Longest body of a request, in bytes. @default 1 MiB */
  bodyLimit?: number;
  /** Whether KL is refused for securities that are not subscribed. @default true */
  barsNeedSubscription?: boolean;
  /** Told about mistakes of the simulator itself. @default reports them as uncaught */
  onError?: (error: unknown) => void;
}

/** How a simulated platform is made, together with the broker behind it. */
export interface PlatformOptions extends CoreOptions, PlatformPortOptions {}

/** What a client needs to reach a simulated platform. All secrets are made up and protect nothing. */
export interface PlatformInfo extends PlatformCredentials {
  /** Start of the HTTP addresses. */
  authUrl: string;
  /** `host:port` of the trade server. */
  tradeServer: string;
  /** `host:port` of the market server. */
  hqServer: string;
  /** The developer's private key, PKCS#8 in PEM. */
  developerPrivateKey: string;
  /** The platform's public key, Base64 of SubjectPublicKeyInfo. */
  platformPublicKey: string;
  tradePassword: string;
  seed: number;
  /** Simulated time of the start, ISO 8601 in the time of Hong Kong. */
  clock: string;
  /** What requests to the control routes must show; absent where these are off. */
  controlToken?: string;
}

/** Where a platform stands. */
export interface PlatformState {
  /** Simulated time, ISO 8601 in the time of Hong Kong. */
  clock: string;
  /** The newest token. */
  token: TokenState;
  /** The trade login of the live trade connection. */
  tradeLogin: TradeLoginState;
  /** Whether changes of orders are pushed to the live trade connection. */
  orderPushes: boolean;
  /** Topics of securities that are subscribed, over all market connections. */
  subscriptions: number;
  /** Connections, whether InitConnect came or not. */
  tradeConnections: number;
  quoteConnections: number;
  /** Connections that were closed because nothing came from them. */
  silenced: number;
  /** Whether a client has claimed the level-2 quotes. */
  level2: boolean;
  /** Calls that were taken, over HTTP and on both sockets; InitConnect is none. */
  callsTaken: number;
  faults: { armed: Fault[]; struck: Partial<Record<FaultKind, number>> };
}

/** A running platform. */
export interface SimulatedPlatform extends AsyncDisposable, Omit<Core, "seed"> {
  readonly info: PlatformInfo;
  /** Where it stands now. */
  state(): PlatformState;
  /** Settles orders and pushes what has changed; the timer does the same. */
  round(): void;
  /** Closes all ports and every connection. */
  close(): Promise<void>;
}

const HOUR = 3_600_000;
const MIB = 1024 * 1024;

/**
 * Starts a simulated platform and resolves when its three ports are open.
 *
 * @throws {Deno.errors.AddrInUse} When a port is taken.
 */
export function startPlatform(options: PlatformOptions): Promise<SimulatedPlatform> {
  return openPlatform(makeCore(options), options);
}

/**
 * Opens the platform's ports in front of a broker that may have other doors.
 *
 * @param view What the control routes show and move; this platform alone by default.
 */
export async function openPlatform(
  { seed, clock, broker, faults }: Core,
  options: PlatformPortOptions,
  view?: ControlView,
): Promise<SimulatedPlatform> {
  const { hostname = "127.0.0.1", pushIntervalMs = 1000, heartbeatIntervalSec = 30 } = options;
  const { onError = (error: unknown) => reportError(error), bodyLimit = MIB } = options;
  const { silenceLimitMs = 3000 * heartbeatIntervalSec } = options;
  const login = { ...platformCredentials(seed), ...given(options) };
  const { tradePassword = simulatedCredentials(seed).tradePassword } = options;
  const { developer, platform } = simulatedKeys(seed);
  const { names, controlToken = crypto.randomUUID() } = options;
  const startedAt = clock.now();
  const closing = new AbortController();
  const sleep = (ms: number) => sleepUntil(ms, closing.signal);

  const tokens = new Tokens({ seed, clock, lifeMs: options.tokenLifeMs ?? 3 * HOUR });
  const { allowedIps, boundDevices } = options;
  const access = new Access({ ...login, privateKey: platform.privateKey, allowedIps, boundDevices });
  const bodies = await PushBodies.load(clock);
  let taken = 0;
  let sessions = 0;
  const session: SessionOptions = {
    broker,
    faults,
    clock,
    tokens,
    access,
    bodies,
    envelopes: await loadEnvelopes(),
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
  const open = <Door extends { close(): Promise<void> }>(door: Door): Door => {
    opened.push(door);
    return door;
  };
  const closeDoors = () => Promise.all(opened.map((door) => door.close()));
  const http = new PlatformHttp({
    broker,
    faults,
    tokens,
    access,
    sleep,
    onError,
    developerKey: developer.publicKey,
    servers: () => ({ tradeServer: addressOf(tradeDoor), quoteServer: addressOf(quoteDoor) }),
  });
  const addressOf = ({ port }: { port: number }) => `${host}:${port}`;
  const round = () => {
    broker.settle();
    for (const each of [...tradeDoor.live, ...quoteDoor.live]) each.round();
  };
  const state = (): PlatformState => {
    const [trade] = tradeDoor.live;
    return {
      clock: toHongKongIso(clock.now()),
      token: tokens.state,
      tradeLogin: trade?.tradeLogin ?? "out",
      orderPushes: trade?.orderPushes ?? false,
      subscriptions: quoteDoor.live.reduce((sum, { subscriptions }) => sum + subscriptions, 0),
      tradeConnections: tradeDoor.connections,
      quoteConnections: quoteDoor.connections,
      silenced: tradeDoor.silenced + quoteDoor.silenced,
      level2: http.level2,
      callsTaken: taken + http.taken,
      faults: { armed: faults.armed, struck: faults.counts },
    };
  };
  const control = isLoopback(hostname)
    ? new Control({ faults, clock, view: view ?? { state, round }, token: controlToken })
    : undefined;

  const socket = { hostname, bodyLimit, silenceLimitMs, session };
  let tradeDoor: SocketDoor;
  let quoteDoor: SocketDoor;
  let httpDoor: HttpDoor;
  try {
    tradeDoor = open(new SocketDoor({ ...socket, kind: "trade", port: options.tradePort ?? 0 }));
    quoteDoor = open(new SocketDoor({ ...socket, kind: "quote", port: options.hqPort ?? 0 }));
    const explain = ({ status, reason }: { status: number; reason: string }) =>
      answerOf(status, "1010", reason);
    httpDoor = open(
      new HttpDoor(
        { hostname, names, port: options.platformPort ?? 0, bodyLimit, explain, now: () => clock.now() },
        (request) =>
          control !== undefined && request.path.startsWith("/control/")
            ? control.answer(request)
            : http.answer(request),
      ),
    );
  } catch (error) {
    await closeDoors();
    throw error;
  }
  const stopOrderPushes = broker.onOrderPush((push) => {
    const receivers = tradeDoor.live.filter(({ orderPushes }) => orderPushes);
    if (receivers.length === 0) return;
    const body = bodies.order(push);
    for (const each of receivers) each.pushOrder(body);
  });
  const stopTimer = repeat(pushIntervalMs, round, onError);

  let closed: Promise<unknown> | undefined;
  const close = async () => {
    stopTimer();
    stopOrderPushes();
    closing.abort();
    await (closed ??= closeDoors());
  };
  const info: PlatformInfo = {
    authUrl: `http://${host}:${httpDoor.port}`,
    tradeServer: addressOf(tradeDoor),
    hqServer: addressOf(quoteDoor),
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

/** The credentials among the options. */
function given({ countryCode, mobile, loginPassword }: PlatformPortOptions): Partial<PlatformCredentials> {
  return {
    ...countryCode !== undefined && { countryCode },
    ...mobile !== undefined && { mobile },
    ...loginPassword !== undefined && { loginPassword },
  };
}

/** The key of a session, 16 bytes; it follows from the seed and protects nothing. */
function sessionKey(seed: number, count: number): Uint8Array<ArrayBuffer> {
  const digest = createHash("sha256").update(`session ${count} of simulator ${seed}`).digest();
  return new Uint8Array(digest).slice(0, 16);
}
