/**
 * Names the account that a connection belongs to, for the rows of a store. All connections of an account must use the
 * same name, so that a query by this name finds all runs, halts and orders of the account.
 *
 * @module
 */
import { lazily } from "../lazy.ts";

const loadKeys = lazily(() => import("../wire/keys.ts"));
const loadLease = lazily(() => import("../transports/direct/lease.ts"));

/** Matches host names and addresses that lead to a server on 127.0.0.1. */
const LOOPBACK = /^((.*\.)?localhost|0\.0\.0\.0|\[::1?\]|\[::ffff:(7f00:1|0:0)\])$/;

/**
 * Returns the name of the account behind a gateway. Two spellings of one address get the same name. Otherwise an order
 * with an unknown outcome could be sent again under the other spelling.
 */
export function gatewayAccount(url: string): string {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(gatewayPlace(url)) ?? [];
  const bare = host.replace(/\.$/, ""); // `host.` and `host` are the same name
  return `gateway ${LOOPBACK.test(bare) ? "127.0.0.1" : bare}:${port}`;
}

/**
 * Returns host and port of a gateway's address, to decide which gateway gets a password. `localhost`,
 * `127.0.0.1` and `[::1]` count as one host, because only this machine answers them. Other names stay as they are.
 */
export function gatewayPlace(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname === "localhost" || hostname === "[::1]" ? "127.0.0.1" : hostname;
  return `${host}:${port || (protocol === "https:" ? "443" : "80")}`;
}

/**
 * Returns the name of a developer key's account: `direct` and a digest of the public key, which also names the lease
 * file. Without a key, or if it is unreadable, the name is only `direct`.
 */
export async function directAccount(privateKey: string | undefined): Promise<string> {
  if (privateKey === undefined) return "direct";
  const [{ exportPublicKey, publicKeyOf, readPrivateKey }, { leaseName }] = await Promise.all([
    loadKeys(),
    loadLease(),
  ]);
  try {
    return `direct ${await leaseName(exportPublicKey(publicKeyOf(readPrivateKey(privateKey))))}`;
  } catch {
    return "direct"; // connecting reports what is wrong with the key
  }
}
