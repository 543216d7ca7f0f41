/**
 * Addresses of this machine itself, and requests to them.
 *
 * @module
 */

/** Tells whether a host is this machine, which no other machine can be asked under: `localhost`, 127/8, `::1`. */
export function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** How a person lets plain HTTP to another machine through. */
export const PLAIN_HTTP_HINT =
  "anybody on the way can read and change it; use an address of this machine (127.0.0.1, a tunnel), or allow it by " +
  "name: plainHttp: allow, HSGATE_PLAIN_HTTP=allow, --plain-http";

/** Tells whether others on the way can read and change what is sent to an address: plain HTTP to another machine. */
export function isOpenToOthers(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

const proxyVariables = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((
  name,
) => [name, name.toLowerCase()]);

/**
 * Tells whether `fetch` may send a request for this host through a proxy, although the host is this machine.
 *
 * The runtime obeys `HTTP_PROXY` for loopback addresses as well, even where the program may not read that variable.
 * A proxy elsewhere would then read the account, and could answer in the gateway's place.
 */
export function mayBeProxied(hostname: string): boolean {
  return isLoopback(hostname) &&
    proxyVariables.some((variable) =>
      Deno.permissions.querySync({ name: "env", variable }).state !== "granted" ||
      Deno.env.get(variable) !== undefined
    );
}
