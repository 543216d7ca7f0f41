/**
 * Creates a client whose order writes go through the order desk of a store, for scripts and notebooks.
 *
 * @module
 */
import {
  connect as connectOnly,
  type ConnectOptions,
  type DirectClient,
  type DirectConnectOptions,
} from "../client/connect.ts";
import { type Client, type ClientOptions, createClient as createBare } from "../client/client.ts";
import type { LimitTexts } from "../client/limits.ts";
import { shownLine } from "../shown_text.ts";
import type { DirectOptions } from "../transports/direct/mod.ts";
import type { GatewayOptions } from "../transports/gateway.ts";
import type { Transport } from "../transports/transport.ts";
import type { Trading } from "./trading.ts";
import { lazily } from "../lazy.ts";

const loadTrading = lazily(() => import("./trading.ts"));
const loadNames = lazily(() => import("../client/nearest.ts"));

/** Where a client records its order writes. */
export interface StoreOptions {
  /**
   * The store that records every order write: a file such as `hsgate.db`, or `postgres://…`. Without a store, the
   * client rejects order writes. With `false`, the client sends orders without a record: if an answer is lost, you must
   * find out yourself whether the broker has the order.
   */
  store?: string | false;
  /** Name of the person or program, for the record. @default "a script" */
  by?: string;
  /**
   * Limits that guard rails check before an order is sent; needs a store. Uses the same names and the same text values
   * as the settings file. Without `liveTrading: "allow"`, every order is refused.
   * @default the defaults of the settings
   */
  limits?: LimitTexts;
}

const NO_STORE =
  'this client has no store to record the order in; give connect() a store, such as store: "hsgate.db"';

/** Every option of {@linkcode connect}. The types of these three tables make sure that none is missing. */
const optionNames: Record<keyof (ConnectOptions & DirectConnectOptions & StoreOptions), true> = {
  gateway: true,
  direct: true,
  tradePassword: true,
  tradePasswordKey: true,
  fundAccounts: true,
  store: true,
  by: true,
  limits: true,
  retry: true,
  machine: true,
  noOrders: true,
  onWrite: true,
};
const gatewayNames: Record<keyof GatewayOptions, true> = {
  url: true,
  push: true,
  pushIdleMs: true,
  tradePasswordKey: true,
  plainHttp: true,
  timeoutMs: true,
  maxAnswerBytes: true,
  readOnly: true,
};
const directNames: Record<keyof DirectOptions, true> = {
  url: true,
  tradeServer: true,
  quoteServer: true,
  country: true,
  mobile: true,
  password: true,
  deviceId: true,
  privateKey: true,
  platformKey: true,
  tradePassword: true,
  readOnly: true,
  parameters: true,
  caCerts: true,
  trade: true,
  leaseFolder: true,
  program: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  heartbeatMs: true,
  keepLoginMs: true,
  probe: true,
  reconnect: true,
  claimLevel2: true,
  tokenMs: true,
  allowUnsigned: true,
  padding: true,
  renewAtSerial: true,
  machine: true,
  env: true,
};

/**
 * Throws if an option is unknown. A notebook does not check types. Without this check, a wrong name, such as
 * `readonly`, would leave a protection off, and nobody would notice.
 */
async function refuseUnknown(options: (ConnectOptions | DirectConnectOptions) & StoreOptions): Promise<void> {
  await refuseUnknownIn("", options, optionNames);
  const { gateway, direct } = options as Partial<ConnectOptions & DirectConnectOptions>;
  if (gateway !== undefined && direct !== undefined) {
    throw new TypeError("Cannot connect: the options name both a gateway and the direct transport; name one");
  }
  if (gateway !== undefined && typeof gateway !== "string") {
    await refuseUnknownIn("gateway.", gateway, gatewayNames);
  }
  if (direct !== undefined) await refuseUnknownIn("direct.", direct, directNames);
}

/** Throws if an object has an unknown member. The error does not show the value, which may be a secret. */
async function refuseUnknownIn(place: string, options: unknown, known: Record<string, true>): Promise<void> {
  if (typeof options !== "object" || options === null) {
    throw new TypeError('Cannot connect: the options must be an object, such as { gateway: "http://…" }');
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const { knownNames } = await loadNames();
  const what = `there is no option "${place}${unknown}"${knownNames(unknown, Object.keys(known))}`;
  throw new TypeError(`Cannot connect: ${shownLine(what)}`);
}

/**
 * Resolves to a client of the local gateway or of the platform itself. With a store, guard rails check each order, and
 * each order write is recorded before it is sent. If the answer to an order write is lost, hsgate searches for the
 * order in the broker's lists. Nothing is sent before the first call, with one exception: if the store contains orders
 * whose final state is not recorded yet, hsgate reads the broker's lists at once.
 *
 * @throws {InvalidParamsError} If a limit is unreadable.
 * @throws {TypeError} If an option is unknown, or an address or a key is unreadable.
 * @throws {StoreError} If the store cannot be used.
 * @example Print the funds of the Hong Kong account
 * ```ts ignore
 * import { connect } from "hsgate";
 *
 * await using client = await connect({ gateway: "http://127.0.0.1:11111" });
 * console.log(await client.account.funds({ market: "hk" }));
 * ```
 */
export function connect(
  options: ConnectOptions & StoreOptions & { store: string },
): Promise<Client & Trading>;
/** Creates a client over the direct transport, with a store for its order writes. */
export function connect(
  options: DirectConnectOptions & StoreOptions & { store: string },
): Promise<DirectClient & Trading>;
/** Creates a client over the gateway. It rejects order writes, or with `store: false` sends them without a record. */
export function connect(options: ConnectOptions & StoreOptions): Promise<Client>;
/** Creates a client over the direct transport. It treats order writes like the client over the gateway. */
export function connect(options: DirectConnectOptions & StoreOptions): Promise<DirectClient>;
export async function connect(
  given: (ConnectOptions | DirectConnectOptions) & StoreOptions,
): Promise<Client> {
  await refuseUnknown(given);
  const { store, by, limits, ...options } = given;
  const connected = (own: ConnectOptions | DirectConnectOptions) =>
    "direct" in own ? connectOnly(own) : connectOnly(own);
  if (store === false) return await connected(options);
  if (store === undefined) return await connected({ ...options, noOrders: NO_STORE });
  const { openTrading } = await loadTrading();
  return await openTrading(() => connected(options), options, {
    store,
    by,
    limits,
  });
}

/**
 * Creates a client over a transport, for example over a test's own endpoint.
 *
 * @param options With `store: false`, the client sends orders without a record. Otherwise it rejects order writes:
 * {@linkcode connect} creates a client that records them.
 */
export function createClient(
  transport: Transport,
  { store, ...options }: ClientOptions & { store?: false } = {},
): Client {
  return createBare(
    transport,
    store === false ? options : { ...options, noOrders: options.noOrders ?? NO_STORE },
  );
}
