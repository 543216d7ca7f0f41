/**
 * Requests to operations: the checks around a call, and the faults before and after it.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import { Refusal } from "../contract.ts";
import type { Calls } from "./calls.ts";
import { okAnswer, problemAnswer, refusedAnswer } from "./envelope.ts";
import type { Fault, Faults } from "./faults.ts";
import type { HttpAnswer } from "./http_door.ts";
import { type HttpRequest, mediaTypeOf } from "./http_input.ts";
import { spoilPage } from "./page_faults.ts";
import { pickOperation, routes } from "./routes.ts";
import type { TradeLogin } from "./trade_login.ts";

/** What the door works with. */
export interface OperationDoorOptions {
  calls: Calls;
  faults: Faults;
  login: TradeLogin;
  /** Waits; rejects when the gateway closes. */
  sleep: (ms: number) => Promise<void>;
  /** Told about errors that are no refusals: mistakes of the simulator. */
  onError: (error: unknown) => void;
}

/** A fault that answers in the place of the operation. */
class Answered extends Error {
  constructor(readonly answer: HttpAnswer) {
    super("a fault answered");
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const HUGE_BYTES = 32 * 1024 * 1024;
const HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>";
/** Closed before the first byte. */
const UNANSWERED: HttpAnswer = { status: 200, body: new Uint8Array(0), cutAfter: 0 };

/** Answers requests to operations. */
export class OperationDoor {
  readonly #options: OperationDoorOptions;
  #count = 0;

  constructor(options: OperationDoorOptions) {
    this.#options = options;
  }

  /** How many calls the broker has taken. */
  get taken(): number {
    return this.#count;
  }

  /** Answers a request to `/<group>/<Name>`. */
  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const route = routes.get(request.path);
    if (route === undefined) return problemAnswer(404, "1009 no such operation");
    if (request.method !== "POST") {
      return { ...problemAnswer(405, "1010 the gateway takes POST alone"), headers: { allow: "POST" } };
    }
    if (mediaTypeOf(request) !== "application/json") {
      return problemAnswer(415, "1010 the content type must be application/json");
    }
    try {
      return await this.#call(route, request);
    } catch (error) {
      if (error instanceof Answered) return error.answer;
      if (error instanceof Refusal) return refusedAnswer(error);
      this.#options.onError(error);
      return problemAnswer(200, "1001 unknown system error");
    }
  }

  async #call(route: AnyOperation, { body }: HttpRequest): Promise<HttpAnswer> {
    const { calls, faults } = this.#options;
    const wire = readBody(body);
    const operation = pickOperation(route, wire);
    await this.#strikeBefore(operation);
    const params = calls.read(operation, wire);
    const result = calls.answer(operation, params);
    this.#count += 1;
    const answer = okAnswer(operation.response.encode(spoilPage(faults, { operation, params, result })));
    return await this.#strikeAfter(operation, answer);
  }

  async #strikeBefore(operation: AnyOperation): Promise<void> {
    const { faults, login } = this.#options;
    const late = faults.strikeCall("delay", operation, ({ when }) => when === "request");
    if (late !== undefined) await this.#options.sleep(late.ms!);
    if (faults.strikeCall("lost-request", operation) !== undefined) throw new Answered(UNANSWERED);
    const failed = faults.strikeCall("http-error", operation);
    if (failed !== undefined) {
      const body = encoder.encode("The gateway is not available");
      throw new Answered({ status: failed.status ?? 503, body, contentType: "text/plain" });
    }
    const busy = faults.strikeCall("busy", operation);
    if (busy !== undefined) throw refusal(busy, ["1011", "busy, retry later"]);
    const expired = faults.strikeCall("expired-login", operation);
    if (expired !== undefined) {
      login.expire();
      throw refusal(expired, ["1014", "login timeout"]);
    }
  }

  async #strikeAfter(operation: AnyOperation, answer: HttpAnswer): Promise<HttpAnswer> {
    const { faults } = this.#options;
    const late = faults.strikeCall("delay", operation, ({ when = "answer" }) => when === "answer");
    if (late !== undefined) await this.#options.sleep(late.ms!);
    if (faults.strikeCall("lost-answer", operation) !== undefined) return UNANSWERED;
    const reset = faults.strikeCall("reset-after", operation);
    if (reset !== undefined) return { ...answer, cutAfter: reset.bytes ?? Math.ceil(answer.body.length / 2) };
    if (faults.strikeCall("not-json", operation) !== undefined) {
      return { status: 200, body: encoder.encode(HTML), contentType: "text/html" };
    }
    const huge = faults.strikeCall("huge-body", operation);
    return huge === undefined ? answer : pad(answer, huge);
  }
}

const refusal = ({ code, text }: Fault, [usualCode, usualText]: [string, string]) =>
  new Refusal(code ?? usualCode, text ?? usualText);

/** Adds a member of padding to an envelope, so that its size alone is wrong with it. */
function pad(answer: HttpAnswer, { bytes = HUGE_BYTES, chunked = false }: Fault): HttpAnswer {
  const start = answer.body.subarray(0, -1);
  const [before, after] = [encoder.encode(',"padding":"'), encoder.encode('"}')];
  const body = new Uint8Array(start.length + before.length + bytes + after.length).fill(0x2e);
  body.set(start);
  body.set(before, start.length);
  body.set(after, body.length - after.length);
  return { ...answer, body, chunked };
}

/** Reads the members of a request's body (API document 2.1). */
function readBody(bytes: Uint8Array): unknown {
  let body: unknown;
  try {
    body = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Answered(problemAnswer(400, "1010 the body is no JSON"));
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refusal("1010", "the body must be an object with timeout_sec and params");
  }
  const { timeout_sec: timeout, params }: { timeout_sec?: unknown; params?: unknown } = body;
  if (timeout !== undefined && !(Number.isSafeInteger(timeout) && Number(timeout) > 0)) {
    throw new Refusal("1016", "timeout_sec: expected a whole number of seconds above zero");
  }
  return params ?? {};
}
