/**
 * Applies faults to calls over HTTP: before a call is executed, and to its answer.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import { Refusal } from "../contract.ts";
import type { Fault, Faults } from "./faults.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";

/** Options of {@linkcode HttpFaults}. */
export interface HttpFaultsOptions {
  faults: Faults;
  /** Waits; returns early when the port closes. */
  sleep: (ms: number) => Promise<void>;
  /** Ends the login that calls at this port need. */
  expire: () => void;
}

/** Thrown when a fault answers instead of the operation. */
export class Answered extends Error {
  constructor(readonly answer: HttpAnswer) {
    super("a fault answered");
  }
}

const encoder = new TextEncoder();
const HUGE_BYTES = 32 * 1024 * 1024;
const HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>";
/** An answer without any bytes: the connection only closes. */
const UNANSWERED: HttpAnswer = { status: 200, body: new Uint8Array(0), cutAfter: 0 };

/** The faults of an HTTP port. */
export class HttpFaults {
  readonly #options: HttpFaultsOptions;

  constructor(options: HttpFaultsOptions) {
    this.#options = options;
  }

  /**
   * Applies faults before a call is executed.
   *
   * @throws {Answered | Refusal} If a fault answers instead of the operation.
   */
  async before(operation: AnyOperation): Promise<void> {
    const { faults, expire, sleep } = this.#options;
    const late = faults.strikeCall("delay", operation, ({ when }) => when === "request");
    if (late !== undefined) await sleep(late.ms!);
    if (faults.strikeCall("lost-request", operation) !== undefined) throw new Answered(UNANSWERED);
    const failed = faults.strikeCall("http-error", operation);
    if (failed !== undefined) {
      const body = encoder.encode("The gateway is not available");
      throw new Answered({ status: failed.status ?? 503, body, contentType: "text/plain" });
    }
    const busy = faults.strikeCall("busy", operation);
    if (busy !== undefined) throw refusalOf(busy, ["1011", "busy, retry later"]);
    const expired = faults.strikeCall("expired-login", operation);
    if (expired !== undefined) {
      expire();
      throw refusalOf(expired, ["1014", "login timeout"]);
    }
  }

  /** Applies faults to an answer. */
  async after(operation: AnyOperation, answer: HttpAnswer): Promise<HttpAnswer> {
    const { faults, sleep } = this.#options;
    const late = faults.strikeCall("delay", operation, ({ when = "answer" }) => when === "answer");
    if (late !== undefined) await sleep(late.ms!);
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

/** Returns the rejection of a fault. */
export function refusalOf({ code, text }: Fault, [usualCode, usualText]: [string, string]): Refusal {
  return new Refusal(code ?? usualCode, text ?? usualText);
}

/** Adds a member with padding to an envelope, so that only the size of the answer is wrong. */
function pad(answer: HttpAnswer, { bytes = HUGE_BYTES, chunked = false }: Fault): HttpAnswer {
  const start = answer.body.subarray(0, -1);
  const [before, after] = [encoder.encode(',"padding":"'), encoder.encode('"}')];
  const body = new Uint8Array(start.length + before.length + bytes + after.length).fill(0x2e);
  body.set(start);
  body.set(before, start.length);
  body.set(after, body.length - after.length);
  return { ...answer, body, chunked };
}
