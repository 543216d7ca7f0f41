/**
 * The platform over HTTP: parameters as a form or as a query, `{data, respCode}` back. No error holds a parameter:
 * they are phones, passwords and tokens.
 *
 * @see API document 4.7
 * @module
 */
import { InvalidParamsError } from "../../errors.ts";
import { mayBeProxied } from "../../loopback.ts";
import { isTracing } from "../../quiet_post.ts";
import { type CallContext, rejection, unanswered, undelivered, unreadable } from "../outcome.ts";
import { NotConnectedError, type PostAnswer, postOnce } from "../post_once.ts";
import { platformUrl } from "./options.ts";

/** Options of {@linkcode PlatformHttp}. */
export interface PlatformHttpOptions {
  url: string;
  parameters?: "form" | "query";
  caCerts?: string[];
  timeoutMs: number;
}

/** Limits of one request. */
export interface PostLimits {
  signal?: AbortSignal;
  timeoutMs?: number;
}

const FORM = "application/x-www-form-urlencoded";
const HIDDEN = "[hidden]";

/** Largest answer that is read, in bytes. */
const MOST_BYTES = 1024 * 1024;

/** Sends requests to the platform. */
export class PlatformHttp implements Disposable {
  readonly #base: string;
  readonly #asQuery: boolean;
  readonly #timeoutMs: number;
  readonly #client: Deno.HttpClient | undefined;

  /** @throws {InvalidParamsError} When parameters in addresses would end up in the traces of the runtime. */
  constructor({ url, parameters = "form", caCerts, timeoutMs }: PlatformHttpOptions) {
    if (parameters === "query" && isTracing()) throw tracedQuery();
    this.#base = platformUrl(url);
    this.#asQuery = parameters === "query";
    this.#timeoutMs = timeoutMs;
    this.#client = caCerts === undefined ? undefined : Deno.createHttpClient({ caCerts });
  }

  /**
   * Posts parameters and resolves to `data`.
   *
   * @throws {RejectedError} The platform said no; its text is kept, without the parameters in it.
   * @throws {TransportError} Not delivered, or unanswered.
   * @throws {ProtocolError} An answer that is no envelope.
   */
  async post(
    context: CallContext,
    path: string,
    members: Readonly<Record<string, unknown>>,
    { signal, timeoutMs = this.#timeoutMs }: PostLimits = {},
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const form = new URLSearchParams(
      Object.entries(members).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const hide = hiderOf(form);
    const timeout = AbortSignal.timeout(timeoutMs);
    let answer: PostAnswer;
    try {
      const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      answer = await this.#send(path, String(form), ended);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (timeout.aborted) throw unanswered(context, `no answer within ${timeoutMs} ms`, "timeout");
      const reason = hide(error instanceof Error ? error.message : String(error));
      // The error itself stays behind, as the runtime writes the whole address into it.
      const cause = error instanceof Error ? error.cause : undefined;
      const isConnect = error instanceof NotConnectedError ||
        cause instanceof Error && cause.message.includes("client error (Connect)");
      throw isConnect
        ? undelivered(context, `no connection to ${this.#base} (${reason})`, "not-connected")
        : unanswered(context, `the connection to ${this.#base} broke (${reason})`, "connection-lost");
    }
    if (answer.status !== 200) throw httpError(context, answer.status);
    return openEnvelope(context, answer.text, hide);
  }

  async #send(path: string, form: string, signal: AbortSignal): Promise<PostAnswer> {
    const url = new URL(`${this.#base}${path}${this.#asQuery ? `?${form}` : ""}`);
    const body = this.#asQuery ? "" : form;
    // Plain HTTP goes only to this machine, and no proxy may see the password.
    if (url.protocol === "http:" && mayBeProxied(url.hostname)) {
      const { port, pathname, search } = url;
      return await postOnce({
        hostname: url.hostname.replace(/^\[|\]$/g, ""),
        port: Number(port || 80),
        path: pathname + search,
        body,
        contentType: FORM,
        signal,
        maxBytes: MOST_BYTES,
      });
    }
    const response = await fetch(url, {
      method: "POST",
      ...this.#asQuery ? {} : { body, headers: { "content-type": FORM } },
      // Followed, a redirection would hand the password to whoever it names.
      redirect: "manual",
      signal,
      ...this.#client !== undefined && { client: this.#client },
    });
    return { status: response.status, text: await readText(response) };
  }

  [Symbol.dispose](): void {
    this.#client?.close();
  }
}

/** Each `fetch` leaves a span with the whole address: with the phone, the password and the token. */
function tracedQuery(): InvalidParamsError {
  const expected =
    '"form", or OTEL_DENO not set: with it every address would be in the traces, password and all';
  return new InvalidParamsError("use the direct transport", [
    { path: ["parameterStyle (HSGATE_PARAMETER_STYLE)"], value: "query", expected },
  ], { code: "traced-query" });
}

/** Makes a function that takes the parameters out of a text, in whatever spelling they travel. */
function hiderOf(form: URLSearchParams): (text: string) => string {
  const secrets = [...form].flatMap(([name, value]) => {
    const encoded = new URLSearchParams({ [name]: value }).toString().slice(name.length + 1);
    return [value, encoded, encodeURIComponent(value)];
  }).filter((value) => value.length > 2);
  return (text) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text).replaceAll(
      /\?[^\s)]*/g,
      `?${HIDDEN}`,
    );
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function httpError(context: CallContext, status: number): unknown {
  return status >= 300 && status < 500
    ? rejection(context, { text: `HTTP ${status}`, code: `http-${status}` })
    : unanswered(context, `HTTP ${status}`, `http-${status}`);
}

function openEnvelope(context: CallContext, text: string, hide: (text: string) => string): unknown {
  let envelope: unknown;
  try {
    envelope = JSON.parse(text);
  } catch {
    throw unreadable(context, "it is not JSON", "not-json");
  }
  if (typeof envelope !== "object" || envelope === null || !("respCode" in envelope)) {
    throw unreadable(context, 'it has no "respCode", so this is not the platform', "not-an-envelope");
  }
  const { respCode } = envelope;
  if (String(respCode) === "0000") return "data" in envelope ? envelope.data : undefined;
  // The member with the text is not documented; these are the names that such platforms use.
  const members = new Map(Object.entries(envelope));
  const told = ["respMsg", "respDesc", "message", "msg"].map((name) => members.get(name)).find((value) =>
    typeof value === "string"
  );
  throw rejection(context, { text: hide(typeof told === "string" ? told : ""), code: String(respCode) });
}
