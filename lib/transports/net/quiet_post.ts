/**
 * Posts to webhook addresses without leaking them. An address is a secret: anyone who knows it can post to the chat.
 *
 * @module
 */
import { isLoopback, isOpenToOthers, PLAIN_HTTP_HINT } from "../../loopback.ts";
import { isTracing, postOnce, postRouted, serverOf } from "./post_once.ts";

/** Headers and body of a post. */
interface QuietPost {
  /** @default none */
  headers?: Readonly<Record<string, string>>;
  /** @default nothing */
  body?: string;
  signal: AbortSignal;
}

/** Maximum size of the head of an answer, in bytes. */
const MOST_BYTES = 65_536;

let isPlainAllowed = false;

/** Allows or forbids posts to other machines over plain HTTP. They are forbidden by default. */
export function allowPlainPosts(isAllowed: boolean): void {
  isPlainAllowed = isAllowed;
}

/**
 * Returns why posts to an address are forbidden, without naming the address.
 *
 * @returns `undefined` if posts are allowed.
 */
export function refusalOf(url: string): string | undefined {
  if (isPlainAllowed || !URL.canParse(url) || !isOpenToOthers(new URL(url))) return undefined;
  return `its address is plain HTTP to another machine: ${PLAIN_HTTP_HINT}`;
}

/** Returns why mail without encryption to a server is forbidden; `undefined` if it is allowed. */
export function plainMailRefusal(hostname: string): string | undefined {
  if (isPlainAllowed || isLoopback(hostname)) return undefined;
  return `"tls: none" sends the mail and its password unencrypted to another machine: ${PLAIN_HTTP_HINT}`;
}

/**
 * Posts without following redirects, and resolves to the HTTP status of the answer.
 *
 * With tracing on, this function does not use `fetch`, because `fetch` would record a span with the whole address.
 *
 * @throws {TypeError} When the address is plain HTTP to another machine and this is not allowed; nothing was sent.
 */
export async function postQuietly(url: string, post: QuietPost): Promise<number> {
  post.signal.throwIfAborted();
  const target = new URL(url);
  const refused = refusalOf(url);
  if (refused !== undefined) throw new TypeError(`Cannot post to ${target.host}: ${refused}`);
  const send = isTracing() ? postOnce : postRouted;
  const { headers = {}, body = "", signal } = post;
  try {
    const to = { server: serverOf(target), path: target.pathname + target.search };
    return (await send({ ...to, headers, body, signal, maxBytes: MOST_BYTES, onlyStatus: true })).status;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
