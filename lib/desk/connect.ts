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
import type { Client } from "../client/client.ts";
import type { LimitTexts } from "../client/limits.ts";
import type { Trading } from "./trading.ts";
import { lazily } from "../lazy.ts";

const loadTrading = lazily(() => import("./trading.ts"));

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
   * Limits that guard rails check before an order is sent; needs a store. Names and texts are those of the settings.
   * Orders are refused without `liveTrading: "allow"`.
   * @default the defaults of the settings
   */
  limits?: LimitTexts;
}

const NO_STORE =
  'this client has no store to record the order in; give connect() a store, such as store: "hsgate.db"';

/**
 * Resolves to a client of the local gateway or of the platform itself. Nothing is sent before the first call, unless
 * the store has open intents: the desk then reads the broker's lists at once. With a store, guard rails check each
 * order, and each order write is recorded before it is sent. If the answer is lost, the desk searches for the order in
 * the broker's lists.
 *
 * @throws {InvalidParamsError} If a limit is unreadable.
 * @throws {TypeError} If an address or a key is unreadable.
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
  { store, by, limits, ...options }: (ConnectOptions | DirectConnectOptions) & StoreOptions,
): Promise<Client> {
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
