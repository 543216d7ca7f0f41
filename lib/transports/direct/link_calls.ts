/**
 * Tracks the calls of one connection: calls that are not sent yet, calls that wait for an answer, and given-up calls. A
 * given-up call has timed out or was aborted, but may still be answered. Each call has limits: a timeout and a signal.
 *
 * @module
 */
import { type BrokerError, DisplacedError } from "../../errors.ts";
import type { Machine } from "../../time.ts";
import type { Payload, Response } from "../../wire/messages.ts";
import { wireError } from "../../wire/faults.ts";
import { type CallContext, shortenedId, unanswered, undelivered } from "../outcome.ts";
import type { CallOptions } from "../transport.ts";

/** A request to send. */
export interface LinkRequest {
  /** Type number of the request. */
  readonly type: number;
  readonly payload?: Payload;
  /** Session token. A secret. */
  readonly token: string;
  readonly context: CallContext;
  readonly limits: CallLimits;
  /** Called right before the first byte. If it throws, nothing is sent, and the call fails with the error. */
  readonly beforeFirstByte?: (() => void) | undefined;
  /** Called with an answer that arrived after the call had timed out or was aborted. */
  readonly onLate: (requestId: string, response: Response) => void;
}

/** One call. */
export interface LinkCall extends LinkRequest {
  readonly id: string;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
  /** Whether any bytes of the request may have left this machine. */
  sent: boolean;
}

/** Maximum number of given-up calls to remember, to match late answers. The oldest calls are forgotten first. */
const MOST_GIVEN_UP = 4096;
/** Maximum number of ids of earlier calls to remember, to recognize repeated answers. */
const MOST_ISSUED = 65_536;

/** Tracks the calls of one connection. */
export class LinkCalls {
  /** Calls that are not written yet, in order. */
  readonly #unsent: LinkCall[] = [];
  readonly #outstanding = new Outstanding<LinkCall>();
  readonly #givenUp = new Map<string, LinkCall>();
  readonly #issued = new Set<string>();

  /** Number of calls waiting for an answer, written or not. */
  get size(): number {
    return this.#outstanding.size;
  }

  /** Whether calls are waiting to be written. */
  get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  /** Adds a call. Resolves to its answer; rejects at a timeout, an abort or the end of the connection. */
  add(id: string, request: LinkRequest): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const call: LinkCall = { ...request, id, resolve, reject, sent: false };
    this.#outstanding.add(id, call);
    this.issue(id);
    this.#unsent.push(call);
    request.limits.onEnd((ending) => this.#giveUp(call, ending));
    return promise;
  }

  /** Records an id as used by this connection. */
  issue(id: string): void {
    this.#issued.add(id);
    if (this.#issued.size > MOST_ISSUED) this.#issued.delete(this.#issued.keys().next().value!);
  }

  /** Returns whether this connection has used the id for a request, with any outcome. */
  isIssued(id: string): boolean {
    return this.#issued.has(id);
  }

  /** Removes and returns the next call to write, and marks it as sent. */
  takeUnsent(): LinkCall | undefined {
    const call = this.#unsent.shift();
    if (call !== undefined) call.sent = true;
    return call;
  }

  /** Ends a call with an error, because its request could not be written. */
  fail(call: LinkCall, error: unknown): void {
    if (this.#outstanding.forget(call.id)) call.reject(error);
  }

  /**
   * Passes an answer to its call.
   *
   * @throws {ProtocolError} With code `answer-unasked` if no call matches.
   */
  answer(response: Response): void {
    const late = this.#givenUp.get(response.id);
    if (late !== undefined) {
      this.#givenUp.delete(response.id);
      return late.onLate(late.id, response);
    }
    this.#outstanding.take(response.id).resolve(response);
  }

  /**
   * Removes and returns the waiting call if there is exactly one and it was sent. An answer with an unknown id can only
   * belong to that call. If an answer with the call's own id arrives after that, it counts as a late answer, so that an
   * order id in it is not lost.
   */
  takeOnly(): LinkCall | undefined {
    const only = this.#outstanding.only;
    if (only === undefined || !only.sent) return undefined;
    this.#outstanding.forget(only.id);
    this.#keepGivenUp(only);
    return only;
  }

  /** Ends every call, because the connection has ended. */
  end(error: BrokerError): void {
    this.#unsent.length = 0;
    this.#givenUp.clear();
    for (const call of this.#outstanding.takeAll()) call.reject(lost(call, error));
  }

  #giveUp(call: LinkCall, ending: Ending): void {
    if (!this.#outstanding.forget(call.id)) return;
    if (!call.sent) {
      this.#unsent.splice(this.#unsent.indexOf(call), 1);
      return call.reject(call.limits.unsent(call.context, ending));
    }
    this.#keepGivenUp(call);
    call.reject(
      ending === "timeout"
        ? unanswered(call.context, `no answer within ${call.limits.timeoutMs} ms`, "timeout")
        : call.context.operation.effect === "write"
        ? unanswered(call.context, "it was aborted after it was sent", "aborted", call.limits.reason)
        // An aborted read fails with the caller's reason.
        : call.limits.reason,
    );
  }

  #keepGivenUp(call: LinkCall): void {
    this.#givenUp.set(call.id, call);
    if (this.#givenUp.size > MOST_GIVEN_UP) this.#givenUp.delete(this.#givenUp.keys().next().value!);
  }
}

/** Returns the error of a call whose connection has ended. */
function lost({ context, sent }: LinkCall, error: BrokerError): unknown {
  const isWrite = context.operation.effect === "write";
  if (error instanceof DisplacedError && !(isWrite && sent)) return error;
  const reason = `the connection broke (${error.message})`;
  return sent
    ? unanswered(context, reason, "connection-lost", error)
    : undelivered(context, reason, "not-connected", error);
}

/** Calls that wait for their answer, written or not, by id. */
export class Outstanding<Call> {
  readonly #calls = new Map<string, Call>();

  /** Number of calls. */
  get size(): number {
    return this.#calls.size;
  }

  /** The waiting call if there is exactly one. An answer with the id `"0"` can only belong to that call. */
  get only(): Call | undefined {
    return this.#calls.size === 1 ? this.#calls.values().next().value : undefined;
  }

  /**
   * Adds a call.
   *
   * @throws {TypeError} If its id is in use, empty, or `"0"`, which the broker uses for answers without a request.
   */
  add(id: string, call: Call): void {
    if (id === "" || id === "0" || this.#calls.has(id)) {
      throw new TypeError(`Cannot send request "${id}": every request needs its own id`);
    }
    this.#calls.set(id, call);
  }

  /**
   * Removes and returns the call that an answer belongs to.
   *
   * @throws {ProtocolError} With code `answer-unasked` if no call with this id waits.
   */
  take(id: string): Call {
    const call = this.#calls.get(id);
    if (call === undefined) {
      throw wireError(
        "answer-unasked",
        `Cannot accept an answer: no request with the id "${shortenedId(id)}" waits for it`,
      );
    }
    this.#calls.delete(id);
    return call;
  }

  /** Removes a call whose caller has stopped waiting. Returns whether the call was waiting. */
  forget(id: string): boolean {
    return this.#calls.delete(id);
  }

  /** Removes and returns all calls, because the connection has ended. */
  takeAll(): Call[] {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    return calls;
  }
}

/** Why a call ended before its answer. */
type Ending = "timeout" | "aborted";

/** The limits of one call: its timeout and its signal. Dispose them with the call. */
export class CallLimits implements Disposable {
  readonly timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  readonly #onAbort = () => this.#end("aborted");
  #ending: Ending | undefined;
  #listener: ((ending: Ending) => void) | undefined;

  constructor(machine: Pick<Machine, "setTimer">, timeoutMs: number, { signal }: CallOptions) {
    this.timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#cancelTimer = machine.setTimer(timeoutMs, () => this.#end("timeout"));
    signal?.addEventListener("abort", this.#onAbort);
    if (signal?.aborted) this.#end("aborted");
  }

  /** Why the call ended, if it has. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** The abort reason that the caller gave. */
  get reason(): unknown {
    return this.#signal?.reason;
  }

  /**
   * Registers the callback for a timeout or an abort. It replaces an earlier callback. If the limits have already ended
   * the call, the callback is called immediately.
   */
  onEnd(listener: (ending: Ending) => void): void {
    if (this.#ending !== undefined) listener(this.#ending);
    else this.#listener = listener;
  }

  /**
   * Waits for a preparation within the limits. At a timeout, throws an error that says that nothing was sent.
   */
  async guard<T>(context: CallContext, preparation: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.onEnd((ending) => reject(this.unsent(context, ending)));
    preparation.then(resolve, reject);
    try {
      return await promise;
    } finally {
      this.#listener = undefined;
    }
  }

  /** Returns the error of a call that ended before anything was sent. */
  unsent(context: CallContext, ending: Ending): unknown {
    return ending === "aborted"
      ? this.reason
      : undelivered(context, `no connection within ${this.timeoutMs} ms`, "timeout");
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#listener = undefined;
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#listener?.(ending);
  }
}
