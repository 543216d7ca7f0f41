/**
 * Serves the control routes: tests and demos in other processes use them to set faults and the clock. The real broker
 * has no such routes.
 *
 * | Route | Body | Does |
 * |---|---|---|
 * | `GET /control/state` | | returns the simulator's state, with the fills, queues and pauses of today |
 * | `POST /control/faults` | a fault, or a list of them | arms them |
 * | `DELETE /control/faults` | | disarms all faults except those of a script; the counts are kept |
 * | `POST /control/clock` | `{"set": ISO}` or `{"advanceMs": n}` | moves the clock, processes orders and pushes |
 *
 * Every request needs the header `authorization: Bearer TOKEN` with the token from the start of the simulator.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { okAnswer, problemAnswer } from "../../endpoints/gateway_http.ts";
import { checkFault, type Fault, type Faults } from "./faults.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";
import { HttpProblem, type HttpRequest, mediaTypeOf } from "../../endpoints/http_input.ts";
import type { MovableClock } from "./core.ts";
import { readInstant } from "../../time.ts";

/** How the control routes read the simulator's state and process its events. */
export interface ControlView {
  /** Returns the simulator's state for the answer. */
  state: () => object;
  /** Processes orders and pushes after the clock was moved. */
  round: () => void;
}

/** Options of {@linkcode Control}. */
interface ControlOptions {
  faults: Faults;
  clock: MovableClock;
  view: ControlView;
  /** Token that every request must contain. */
  token: string;
}

/** Answers the control routes. */
export class Control {
  readonly #options: ControlOptions;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  /** Answers a request to `/control/…`. */
  answer(request: HttpRequest): HttpAnswer {
    try {
      demandToken(request, this.#options.token);
    } catch (error) {
      if (error instanceof HttpProblem) return problemAnswer(error.status, error.reason);
      throw error;
    }
    const route = this.#routes[`${request.method} ${request.path}`];
    if (route === undefined) return problemAnswer(404, `no control route ${request.method} ${request.path}`);
    try {
      return okAnswer(route(request));
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError) {
        return problemAnswer(400, error.message);
      }
      throw error;
    }
  }

  readonly #routes: Readonly<Record<string, (request: HttpRequest) => unknown>> = {
    "GET /control/state": () => this.#options.view.state(),
    "POST /control/faults": (request) => {
      const body = readJson(request);
      const faults: unknown[] = Array.isArray(body) ? body : [body];
      // The whole list is checked before the first fault is armed.
      for (const fault of faults) {
        checkFault(fault);
      }
      for (const fault of faults) this.#options.faults.arm(fault as Fault); // checked above
      return this.#options.view.state();
    },
    "DELETE /control/faults": () => {
      this.#options.faults.clear();
      return this.#options.view.state();
    },
    "POST /control/clock": (request) => {
      moveClock(this.#options.clock, readJson(request));
      this.#options.view.round();
      return this.#options.view.state();
    },
  };
}

/**
 * Rejects a request to a control route without the token.
 *
 * @throws {HttpProblem} 403 if `authorization: Bearer TOKEN` is missing or wrong.
 */
function demandToken({ headers }: HttpRequest, token: string): void {
  const given = /^Bearer (\S+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? "";
  if (!timingSafeEqual(digestOf(given), digestOf(token))) {
    throw new HttpProblem(
      403,
      "the control routes need the header `authorization: Bearer TOKEN`; " +
        "the simulator prints its controlToken when it starts",
    );
  }
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Parses a JSON body. A web page cannot send this content type without permission, so it cannot change
 * anything here.
 */
function readJson(request: HttpRequest): unknown {
  if (mediaTypeOf(request) !== "application/json") {
    throw new TypeError("Cannot read request: the content type must be application/json");
  }
  return JSON.parse(new TextDecoder().decode(request.body));
}

function moveClock(clock: MovableClock, body: unknown): void {
  const given: { set?: unknown; advanceMs?: unknown } = typeof body === "object" && body !== null ? body : {};
  const instant = typeof given.set === "string" ? readInstant(given.set) : undefined;
  if (instant !== undefined) clock.set(instant);
  else if (Number.isSafeInteger(given.advanceMs)) clock.advance(Number(given.advanceMs));
  else {
    throw new TypeError(
      'Cannot move clock: expected {"set": "2025-08-18T09:30:00+08:00"} or {"advanceMs": 60000}',
    );
  }
}
