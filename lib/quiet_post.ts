/**
 * Posts to addresses that are secrets themselves: whoever knows the webhook of a chat can write there.
 *
 * @module
 */
import { isOpenToOthers, mayBeProxied, PLAIN_HTTP_HINT } from "./loopback.ts";

/** What is posted. */
export interface QuietPost {
  /** @default none */
  headers?: Readonly<Record<string, string>>;
  /** @default nothing */
  body?: string;
  signal: AbortSignal;
}

let isPlainAllowed = false;

/** Lets posts go to other machines over plain HTTP, or no longer. They are refused until somebody says so. */
export function allowPlainPosts(isAllowed: boolean): void {
  isPlainAllowed = isAllowed;
}

/** Says why nothing is posted to an address, without the address; nothing when it may be. */
export function refusalOf(url: string): string | undefined {
  if (isPlainAllowed || !URL.canParse(url) || !isOpenToOthers(new URL(url))) return undefined;
  return `its address is plain HTTP to another machine, and ${PLAIN_HTTP_HINT}`;
}

/**
 * Posts, follows no redirection, and resolves to the status of the answer.
 *
 * While the runtime traces, each `fetch` leaves a span that holds the whole address. `fetch` may also send a request
 * for this machine through a proxy. In both cases the request goes over a connection of its own.
 *
 * @throws {TypeError} When the address is plain HTTP to another machine and nobody has allowed that; nothing was sent.
 */
export async function postQuietly(url: string, post: QuietPost): Promise<number> {
  post.signal.throwIfAborted();
  const target = new URL(url);
  const refused = refusalOf(url);
  if (refused !== undefined) throw new TypeError(`Cannot post to ${target.host}: ${refused}`);
  if (isTracing() || mayBeProxied(target.hostname)) return await postOverConnection(target, post);
  const { headers = {}, body = "", signal } = post;
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  await response.body?.cancel();
  return response.status;
}

/** Tells whether the runtime has registered a tracer. */
export function isTracing(): boolean {
  const registered: unknown = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1"));
  return typeof registered === "object" && registered !== null && "trace" in registered;
}

async function postOverConnection(url: URL, { headers = {}, body = "", signal }: QuietPost): Promise<number> {
  const isTls = url.protocol === "https:";
  const target = {
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (isTls ? 443 : 80)),
  };
  const connecting = isTls ? Deno.connectTls(target) : Deno.connect(target);
  const aborted = Promise.withResolvers<never>();
  const give = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", give, { once: true });
  try {
    const connection = await Promise.race([connecting, aborted.promise]);
    return await Promise.race([exchange(connection, url, { headers, body }), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", give);
    aborted.promise.catch(() => {});
    connecting.then((connection) => connection.close(), () => {});
  }
}

async function exchange(
  connection: Deno.Conn,
  { host, pathname, search }: URL,
  { headers, body }: Required<Omit<QuietPost, "signal">>,
): Promise<number> {
  const bytes = new TextEncoder().encode(body);
  const lines = [
    `POST ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    "connection: close",
    `content-length: ${bytes.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const request = new Uint8Array([...new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`), ...bytes]);
  for (let at = 0; at < request.length;) at += await connection.write(request.subarray(at));
  const buffer = new Uint8Array(1024);
  let text = "";
  while (!text.includes("\n") && text.length < 1024) {
    const count = await connection.read(buffer);
    if (count === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
  const status = /^HTTP\/1\.[01] (\d{3})\b/.exec(text)?.[1];
  if (status === undefined) throw new TypeError(`Cannot post to ${host}: the answer is not HTTP`);
  return Number(status);
}
