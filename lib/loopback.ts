/**
 * Recognizes addresses of this machine, and requests that other machines could read.
 *
 * @module
 */

/** Returns whether a host name always means this machine: `localhost`, 127/8, `::1`. */
export function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** Explains the risk of plain HTTP to another machine, and how a person can allow it. */
export const PLAIN_HTTP_HINT =
  "anyone on the network path can read and change it; use an address of this machine (127.0.0.1, a tunnel), or allow " +
  "it with plainHttp: allow, HSGATE_PLAIN_HTTP=allow or --plain-http";

/** Returns whether others on the network can read and change a request: plain HTTP to another machine. */
export function isOpenToOthers(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

/** Other names that usually mean this machine: many systems list them in their hosts file. */
const usualNames = [
  "0.0.0.0",
  "localhost.localdomain",
  "localhost4",
  "localhost6",
  "localhost4.localdomain4",
  "localhost6.localdomain6",
  "ip6-localhost",
  "ip6-loopback",
];

/**
 * Returns whether the host of a URL means this machine. Requests to such a host must never use a proxy. Includes
 * addresses that {@linkcode isLoopback} excludes: `localhost.`, names below it and names such as `ip6-localhost`, which
 * a name server may resolve to another machine; `0.0.0.0` and `::`, which also mean all addresses; and IPv4 addresses
 * written as IPv6. Does not recognize this machine's own name or its addresses in a network.
 */
export function isWithoutProxy(hostname: string): boolean {
  const bare = hostname.replace(/\.$/, "").toLowerCase();
  if (isLoopback(bare) || bare.endsWith(".localhost") || usualNames.includes(bare)) return true;
  return /^\[::(ffff:(7f[\da-f]{2}:[\da-f]{1,4}|0:0))?\]$/.test(bare);
}

/** Ends of names that networks and container programs give to machines nearby, such as `host.docker.internal`. */
const NEARBY = /\.(local|localdomain|localhost|internal|lan|home|corp|intranet|private|home\.arpa)$/;

/**
 * Returns whether the host of a URL may mean this machine, although {@linkcode isWithoutProxy} does not recognize it:
 * an address, a name without a dot, and a name of the local network. A hosts file or a name server can give any other
 * name to this machine too. Both are not read, because a check reads no file outside the folder and connects to nothing.
 */
export function mayMeanThisMachine(hostname: string): boolean {
  const bare = hostname.replace(/\.$/, "").toLowerCase();
  if (isWithoutProxy(bare) || bare.startsWith("[") || !bare.includes(".")) return true;
  return /^\d+(\.\d+){3}$/.test(bare) || NEARBY.test(bare);
}

const proxyVariables = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((
  name,
) => [name, name.toLowerCase()]);

/**
 * Returns whether `fetch` may send requests through a proxy.
 *
 * The runtime uses `HTTP_PROXY` for loopback addresses too, even if the program has no permission to read that
 * variable. A proxy on another machine could then read the account and answer instead of the gateway.
 */
export function mayUseProxy(): boolean {
  return proxyVariables.some((variable) =>
    Deno.permissions.querySync({ name: "env", variable }).state !== "granted" ||
    Deno.env.get(variable) !== undefined
  );
}
