/**
 * From addresses and secrets to a client.
 *
 * @module
 */
import { gateway, type GatewayOptions } from "../transports/gateway.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";

/** Options of {@linkcode connect}. */
export interface ConnectOptions extends ClientOptions {
  /** Address of the local gateway, such as `http://127.0.0.1:11111`, or its options. */
  gateway: string | GatewayOptions;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes; needed together with `tradePassword`. */
  tradePasswordKey?: string;
}

/**
 * Resolves to a client of the local gateway. Nothing is sent before the first call.
 *
 * @throws {TypeError} When an address cannot be read.
 * @example Print the funds of the Hong Kong account
 * ```ts ignore
 * import { connect } from "hsgate";
 *
 * await using client = await connect({ gateway: "http://127.0.0.1:11111" });
 * console.log(await client.account.funds({ market: "hk" }));
 * ```
 */
export function connect(options: ConnectOptions): Promise<Client> {
  const { gateway: address, tradePasswordKey, ...rest } = options;
  const gatewayOptions = typeof address === "string" ? { url: address } : address;
  const keyed = tradePasswordKey === undefined ? gatewayOptions : { tradePasswordKey, ...gatewayOptions };
  // A promise although nothing is awaited yet: other transports open a connection here.
  return Promise.resolve(createClient(gateway(keyed), rest));
}
