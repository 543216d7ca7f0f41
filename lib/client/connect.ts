/**
 * Creates a client from addresses and secrets.
 *
 * @module
 */
import type { DirectOptions, DirectTransport } from "../transports/direct/mod.ts";
import { gateway, type GatewayOptions } from "../transports/gateway.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";
import { lazily } from "../lazy.ts";

const loadDirect = lazily(() => import("../transports/direct/mod.ts"));

/** Options of {@linkcode connect} for the local gateway. */
export interface ConnectOptions extends ClientOptions {
  /** Address of the local gateway, such as `http://127.0.0.1:11111`, or its options. */
  gateway: string | GatewayOptions;
  /** Key that encrypts the trade password, Base64 of 16, 24 or 32 bytes; required if `tradePassword` is set. */
  tradePasswordKey?: string;
}

/** Options of {@linkcode connect} for a direct connection to the platform. */
export interface DirectConnectOptions extends ClientOptions {
  /** The account, the keys, and connection settings. */
  direct: DirectOptions;
}

/** A client over the direct transport, which reports the states of its connections. */
export type DirectClient = Client & { readonly transport: DirectTransport };

/**
 * Resolves to a client of the local gateway or of the platform itself. Over the gateway, nothing is sent before the
 * first call.
 *
 * @throws {TypeError} If an address or a key is invalid, or if the gateway is on another machine and `plainHttp` is not
 * set.
 * @example Print the funds of the Hong Kong account
 * ```ts ignore
 * import { connect } from "hsgate";
 *
 * await using client = await connect({ gateway: "http://127.0.0.1:11111" });
 * console.log(await client.account.funds({ market: "hk" }));
 * ```
 */
export function connect(options: ConnectOptions): Promise<Client>;
export function connect(options: DirectConnectOptions): Promise<DirectClient>;
export function connect(options: ConnectOptions | DirectConnectOptions): Promise<Client>;
export async function connect(options: ConnectOptions | DirectConnectOptions): Promise<Client> {
  if ("direct" in options) return await connectDirect(options);
  const { gateway: address, tradePasswordKey, ...rest } = options;
  const gatewayOptions = typeof address === "string" ? { url: address } : address;
  const keyed = tradePasswordKey === undefined ? gatewayOptions : { tradePasswordKey, ...gatewayOptions };
  return createClient(gateway(keyed), rest);
}

async function connectDirect({ direct: own, ...rest }: DirectConnectOptions): Promise<DirectClient> {
  const { tradePassword, machine } = rest;
  const { direct } = await loadDirect();
  const transport = await direct({
    ...tradePassword !== undefined && { tradePassword },
    ...machine !== undefined && { machine },
    ...own,
  });
  return createClient(transport, rest) as DirectClient; // its transport has the members of the given one
}
