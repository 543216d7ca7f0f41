/**
 * Answers HTTP requests to operations. Checks each request, and applies the injected faults before and after the call.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import { Refusal, refusalOfCode } from "../contract.ts";
import type { Calls } from "../endpoints/calls.ts";
import type { Faults } from "../endpoints/faults.ts";
import type { ShapedAnswers } from "../endpoints/shaped.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";
import { Answered, HttpFaults } from "../endpoints/http_faults.ts";
import { type HttpRequest, mediaTypeOf } from "../../endpoints/http_input.ts";
import { spoilPage } from "../endpoints/page_faults.ts";
import { okAnswer, pickOperation, problemAnswer, routes } from "../../endpoints/gateway_http.ts";
import type { TradeLogin } from "../endpoints/trade_login.ts";

/** Options of {@linkcode OperationEndpoint}. */
interface OperationEndpointOptions {
  calls: Calls;
  faults: Faults;
  /** Shapes of a real broker's answers. A call that has one gets an invented answer of this shape. @default none */
  shapedAnswers?: ShapedAnswers;
  login: TradeLogin;
  /** Waits; returns early when the gateway closes. */
  sleep: (ms: number) => Promise<void>;
  /** Called with errors of the simulator itself, which are not rejections. */
  onError: (error: unknown) => void;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Answers requests to operations. */
export class OperationEndpoint {
  readonly #options: OperationEndpointOptions;
  readonly #strikes: HttpFaults;
  #count = 0;

  constructor(options: OperationEndpointOptions) {
    this.#options = options;
    const { faults, sleep, login } = options;
    this.#strikes = new HttpFaults({ faults, sleep, expire: () => login.expire() });
  }

  /** Number of executed calls, including logins and subscriptions. */
  get taken(): number {
    return this.#count;
  }

  /** Answers a request to `/<group>/<Name>`. */
  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const route = routes.get(request.path);
    if (route === undefined) return problemAnswer(404, "1009 no such operation");
    if (request.method !== "POST") {
      return { ...problemAnswer(405, "1010 the gateway accepts only POST"), headers: { allow: "POST" } };
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
    const { calls, faults, shapedAnswers } = this.#options;
    const wire = readBody(body);
    const operation = pickOperation(route, wire);
    await this.#strikes.before(operation);
    const params = calls.read(operation, wire);
    const seen = shapedAnswers?.http("gateway", operation, params);
    if (seen !== undefined) return await this.#strikes.after(operation, seen);
    const result = calls.answer(operation, params);
    this.#count += 1;
    const again = (other: unknown) => calls.answer(operation, other);
    const shown = spoilPage(faults, { operation, params, result, answer: again });
    const answer = okAnswer(shown === null ? null : operation.response.encode(shown));
    return await this.#strikes.after(operation, answer);
  }
}

/** Parses the body of a request (API document 2.1) and returns its `params`; an empty object if they are missing. */
function readBody(bytes: Uint8Array): unknown {
  let body: unknown;
  try {
    body = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Answered(problemAnswer(400, "1010 the body is not JSON"));
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw refusalOfCode("illegal-request", "the body must be an object with timeout_sec and params");
  }
  const { timeout_sec: timeout, params }: { timeout_sec?: unknown; params?: unknown } = body;
  if (timeout !== undefined && !(Number.isSafeInteger(timeout) && Number(timeout) > 0)) {
    throw refusalOfCode("invalid-parameter", "timeout_sec: expected a whole number of seconds above zero");
  }
  return params ?? {};
}

/** Returns a rejection with HTTP 200. It begins with the code and the code's documented text, if there are any. */
function refusedAnswer({ code, text, documented }: Refusal): HttpAnswer {
  const said = documented === undefined ? text : `${documented}: ${text}`;
  return problemAnswer(200, code === undefined ? said : `${code} ${said}`);
}
