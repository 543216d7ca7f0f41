/**
 * The control routes, for tests and demos in other processes: faults, state, clock. The real broker has none.
 *
 * | Route | Body | Does |
 * |---|---|---|
 * | `GET /control/state` | | tells where the simulator stands |
 * | `POST /control/faults` | a fault, or a list of them | arms them |
 * | `DELETE /control/faults` | | disarms all; the counts stay |
 * | `POST /control/clock` | `{"set": ISO}` or `{"advanceMs": n}` | moves the clock, settles and pushes |
 *
 * Every request needs the header `authorization: Bearer TOKEN` with the token of this start.
 *
 * @module
 */
import { demandToken } from "./callers.ts";
import { okAnswer, problemAnswer } from "./envelope.ts";
import { checkFault, type Fault, type Faults } from "./faults.ts";
import type { HttpAnswer } from "./http_door.ts";
import { HttpProblem, type HttpRequest, mediaTypeOf } from "./http_input.ts";
import type { MovableClock } from "./movable_clock.ts";

/** What the control routes show and move. */
export interface ControlView {
  /** Where the simulator stands, for the answer. */
  state: () => object;
  /** Settles and pushes after the clock was moved. */
  round: () => void;
}

/** What the control routes work with. */
export interface ControlOptions {
  faults: Faults;
  clock: MovableClock;
  view: ControlView;
  /** What a request must show. */
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
      // All or none: the list is checked before the first one is armed.
      for (const fault of faults) {
        checkFault(fault);
      }
      for (const fault of faults) this.#options.faults.arm(fault as Fault); // checked just above
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

/** A page in a browser cannot send this type without asking first, so it cannot move anything here. */
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

/** Reads an instant that names its offset; without one it would mean another time on another machine. */
export function readInstant(text: string): number | undefined {
  const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;
  const instant = pattern.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(instant) ? undefined : instant;
}
