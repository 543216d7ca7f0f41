/**
 * Decides which requests an HTTP port answers. A web page can make a browser send requests to this machine. The owner
 * of the page can also let a host name of the page resolve to this machine (DNS rebinding). Such a request has a
 * foreign `Host` or `Origin` header, so the port rejects it. Other programs send the port's own `Host` and no `Origin`.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";
import { HttpProblem, type HttpRequest } from "./http_input.ts";

/** The names by which clients may call a port. */
export interface OwnNames {
  /** Address that the port listens on. */
  hostname: string;
  /** Further names, such as the name of a service in a container network. @default none */
  names?: readonly string[];
}

/**
 * Rejects a request whose `Host` is not a name of this port, and a request from a web page of another origin.
 *
 * @throws {HttpProblem} 400 if there is no usable `Host`; 403 if the `Host` or the origin is foreign.
 */
export function demandOwnCaller({ headers }: Pick<HttpRequest, "headers">, own: OwnNames): void {
  const host = headers.get("host");
  const name = host === undefined ? undefined : nameOf(`http://${host}`);
  if (name === undefined) throw new HttpProblem(400, "the request needs a Host header");
  if (!isOwnName(name, own)) {
    throw new HttpProblem(403, "the Host header is not a name of this port; call it by its address");
  }
  const origin = headers.get("origin");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host!.toLowerCase()}`) {
    throw new HttpProblem(403, "this port does not answer web pages of another origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new HttpProblem(403, "this port does not answer web pages of another origin");
  }
}

/** Returns the host of an origin in lower case, without its port; `undefined` if the text contains no host. */
function nameOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url === null || url.pathname !== "/" || url.username !== "" ? undefined : bare(url.hostname);
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, "").toLowerCase();

/**
 * Returns whether a name belongs to a port. A port that listens on every address also accepts every bare IP address,
 * because DNS rebinding needs a host name.
 */
function isOwnName(name: string, { hostname, names = [] }: OwnNames): boolean {
  if ([hostname, ...names].some((own) => own.toLowerCase() === name)) return true;
  if (isLoopback(name)) return isLoopback(hostname) || isEveryAddress(hostname);
  return isEveryAddress(hostname) && (name.includes(":") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name));
}

const isEveryAddress = (hostname: string) => hostname === "0.0.0.0" || hostname === "::";
