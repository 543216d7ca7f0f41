/**
 * From addresses and secrets to a client.
 *
 * @module
 */
import type { DirectOptions, DirectTransport } from "../transports/direct.ts";
import { gateway, type GatewayOptions } from "../transports/gateway.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";

/** Options of {@linkcode connect} for the local gateway. */
export interface ConnectOptions extends ClientOptions {
  /** Address of the local gateway, such as `http://127.0.0.1:11111`, or its options. */
  gateway: string | GatewayOptions;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; needed together with `tradePassword`. */
  tradePasswordKey?: string;
}

/** Options of {@linkcode connect} for the platform itself. */
export interface DirectConnectOptions extends ClientOptions {
  /** The account, the keys, and how connections are kept. */
  direct: DirectOptions;
}

/** The same client, over a transport that tells about its connections. */
export type DirectClient = Client & { readonly transport: DirectTransport };

/**
 * Resolves to a client, of the local gateway or of the platform itself. Nothing is sent before the first call.
 *
 * @throws {TypeError} When an address or a key cannot be read.
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
  const { tradePassword, random, now } = rest;
  const { direct } = await import("../transports/direct.ts");
  const transport = await direct({
    ...tradePassword !== undefined && { tradePassword },
    ...random !== undefined && { random },
    ...now !== undefined && { now },
    ...own,
  });
  return Object.assign(createClient(transport, rest), { transport });
}
