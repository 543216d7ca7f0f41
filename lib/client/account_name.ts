/**
 * Names the account that a connection belongs to, for the rows of a store. Two connections of one account must have one
 * name, so that runs, halts and orders of the account find each other.
 *
 * @module
 */

/** Returns the name of the account behind a gateway. Two spellings of one address are one account. */
export function gatewayAccount(url: string): string {
  return `gateway ${gatewayPlace(url)}`;
}

/** Returns host and port of a gateway's address; every name of this machine's loopback is one host. */
export function gatewayPlace(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname === "localhost" || hostname === "[::1]" ? "127.0.0.1" : hostname;
  return `${host}:${port || (protocol === "https:" ? "443" : "80")}`;
}

/** Returns the name of the account of a developer key: a digest of its public key, like its trade connection's lease. */
export async function directAccount(privateKey: string | undefined): Promise<string> {
  if (privateKey === undefined) return "direct";
  const [{ exportPublicKey, publicKeyOf, readPrivateKey }, { leaseName }] = await Promise.all([
    import("../wire/keys.ts"),
    import("../transports/direct/lease.ts"),
  ]);
  try {
    return `direct ${await leaseName(exportPublicKey(publicKeyOf(readPrivateKey(privateKey))))}`;
  } catch {
    return "direct"; // connecting reports what is wrong with the key
  }
}
