/**
 * Sends HTTP requests to the platform: parameters as a form or as a query, `{data, respCode}` as the answer. Errors do
 * not contain parameters, because these are phone numbers, passwords and tokens. Only values of one or two characters
 * are not removed.
 *
 * @see API document 4.7
 * @module
 */
import { InvalidParamsError, messageOf } from "../../errors.ts";
import { type CallContext, rejection, unanswered, undelivered, unreadable } from "../outcome.ts";
import { isTracing, NotConnectedError, type PostAnswer, postRouted, serverOf } from "../net/post_once.ts";
import { refuseTooLarge } from "../envelope.ts";
import type { CallOptions } from "../transport.ts";
import { platformUrl } from "./options.ts";

/** Options of {@linkcode PlatformHttp}. */
interface PlatformHttpOptions {
  url: string;
  parameters?: "form" | "query";
  caCerts?: string[];
  timeoutMs: number;
}

/** Limits of one request. */
export interface PostLimits {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Called with the answer before it is checked. */
  onWire?: CallOptions["onWire"];
}

const FORM = "application/x-www-form-urlencoded";
const HIDDEN = "[hidden]";

/** Maximum size of an answer in bytes. */
const MOST_BYTES = 1024 * 1024;

/** Sends requests to the platform. */
export class PlatformHttp {
  readonly #base: string;
  readonly #asQuery: boolean;
  readonly #timeoutMs: number;
  readonly #caCerts: string[] | undefined;

  /** @throws {InvalidParamsError} If parameters in addresses would be recorded in the runtime's traces. */
  constructor({ url, parameters = "form", caCerts, timeoutMs }: PlatformHttpOptions) {
    if (parameters === "query" && isTracing()) throw tracedQuery();
    this.#base = platformUrl(url);
    this.#asQuery = parameters === "query";
    this.#timeoutMs = timeoutMs;
    this.#caCerts = caCerts;
  }

  /**
   * Posts parameters and resolves to `data`.
   *
   * @throws {RejectedError} If the platform rejected the request. The error has the platform's text, without
   * parameters.
   * @throws {TransportError} If the request was not delivered, or a read got no answer.
   * @throws {OutcomeUnknownError} If a write got no readable answer.
   * @throws {ProtocolError} If the answer to a read is not an envelope.
   */
  async post(
    context: CallContext,
    path: string,
    members: Readonly<Record<string, unknown>>,
    { signal, timeoutMs = this.#timeoutMs, onWire }: PostLimits = {},
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
      const reason = hide(messageOf(error));
      // Do not keep the error itself, because the runtime writes the whole address into it.
      throw error instanceof NotConnectedError
        ? undelivered(context, `no connection to ${this.#base} (${reason})`, "not-connected")
        : unanswered(context, `the connection to ${this.#base} broke (${reason})`, "connection-lost");
    }
    onWire?.({ over: "platform", status: answer.status, text: answer.text });
    if (answer.status !== 200) throw httpError(context, answer.status);
    return openEnvelope(context, answer.text, hide);
  }

  async #send(path: string, form: string, signal: AbortSignal): Promise<PostAnswer> {
    const url = new URL(`${this.#base}${path}${this.#asQuery ? `?${form}` : ""}`);
    return await postRouted({
      server: serverOf(url),
      path: url.pathname + url.search,
      body: this.#asQuery ? "" : form,
      headers: { "content-type": FORM, accept: "application/json", "accept-encoding": "identity" },
      ...this.#caCerts !== undefined && { caCerts: this.#caCerts },
      signal,
      maxBytes: MOST_BYTES,
    });
  }
}

/**
 * Returns the error for parameters in a query while tracing is on: each `fetch` would record the whole address with
 * phone number, password and token.
 */
function tracedQuery(): InvalidParamsError {
  const expected = '"form" while OTEL_DENO is set, because traces would record addresses with passwords';
  return new InvalidParamsError("use the direct transport", [
    { path: ["parameterStyle (HSGATE_PARAMETER_STYLE)"], value: "query", expected },
  ], { code: "traced-query" });
}

/**
 * Returns a function that removes the parameters from a text, in each encoding in which they may appear. Values of one
 * or two characters stay.
 */
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

function httpError(context: CallContext, status: number): unknown {
  return status >= 300 && status < 500
    ? rejection(context, { text: `HTTP ${status}`, code: `http-${status}` })
    : unanswered(context, `HTTP ${status}`, `http-${status}`);
}

function openEnvelope(context: CallContext, text: string, hide: (text: string) => string): unknown {
  refuseTooLarge(context, text);
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
  // The member for the text is not documented; similar platforms use these names.
  const members = new Map(Object.entries(envelope));
  const said = ["respMsg", "respDesc", "message", "msg"].map((name) => members.get(name)).find((value) =>
    typeof value === "string"
  );
  throw rejection(context, { text: hide(typeof said === "string" ? said : ""), code: String(respCode) });
}
