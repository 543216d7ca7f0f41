/**
 * Which requests an HTTP port answers. A web page can make a browser send requests to this machine: directly, or
 * through a name of its own that resolves to this machine (DNS rebinding). Such a request carries a host name or an
 * origin that is not the port's own, so the port refuses it. Programs other than browsers send neither.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";
import { HttpProblem, type HttpRequest } from "./http_input.ts";

/** The names by which clients may call a port. */
export interface OwnNames {
  /** Address that the port listens on. */
  hostname: string;
  /** Further names, such as that of a service in a container network. @default none */
  names?: readonly string[];
}

/**
 * Refuses a request whose `Host` is not a name of this port, or which a page of another origin sends.
 *
 * @throws {HttpProblem} 400 without a usable `Host`, 403 for a foreign one and for a foreign origin.
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

/** A host in lower case, without its port; undefined when the text is not a host. */
function nameOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url === null || url.pathname !== "/" || url.username !== "" ? undefined : bare(url.hostname);
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, "").toLowerCase();

/** Whether a name belongs to a port. No page can own a bare address, so an open port accepts every address. */
function isOwnName(name: string, { hostname, names = [] }: OwnNames): boolean {
  if ([hostname, ...names].some((own) => own.toLowerCase() === name)) return true;
  if (isLoopback(name)) return isLoopback(hostname) || isEveryAddress(hostname);
  return isEveryAddress(hostname) && (name.includes(":") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name));
}

const isEveryAddress = (hostname: string) => hostname === "0.0.0.0" || hostname === "::";
