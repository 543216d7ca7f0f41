/**
 * The calls of one connection: those that wait to be written, those that wait for their answer, and those that were
 * given up and may be answered all the same.
 *
 * @module
 */
import { type BrokerError, DisplacedError } from "../../errors.ts";
import type { Payload, Response } from "../../wire/envelope.ts";
import { Outstanding } from "../../wire/outstanding.ts";
import { type CallContext, unanswered, undelivered } from "../outcome.ts";
import type { CallLimits, Ending } from "./limits.ts";

/** What is to be sent. */
export interface LinkRequest {
  /** Number of the request. */
  readonly type: number;
  readonly payload?: Payload;
  /** Session token. A secret. */
  readonly token: string;
  readonly context: CallContext;
  readonly limits: CallLimits;
  /** Told of an answer that came after the call was given up. */
  readonly onLate: (requestId: string, response: Response) => void;
}

/** One call. */
export interface LinkCall extends LinkRequest {
  readonly id: string;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
  /** Whether bytes of it may have left. */
  sent: boolean;
}

/** Calls that were given up are remembered so that a late answer finds them; the oldest are forgotten first. */
const MOST_GIVEN_UP = 4096;
/** Ids are remembered beyond their calls, so that an answer that comes again is known as such. */
const MOST_ISSUED = 65_536;

/** Keeps the calls of one connection. */
export class LinkCalls {
  /** Calls that nothing was written of, in the order in which they came. */
  readonly #unsent: LinkCall[] = [];
  readonly #outstanding = new Outstanding<LinkCall>();
  readonly #givenUp = new Map<string, LinkCall>();
  readonly #issued = new Set<string>();

  /** Calls that wait for an answer, written or not. */
  get size(): number {
    return this.#outstanding.size;
  }

  /** Whether calls wait to be written. */
  get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  /** Takes a call; it ends by its answer, its limits or the end of the connection. */
  add(id: string, request: LinkRequest): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const call: LinkCall = { ...request, id, resolve, reject, sent: false };
    this.#outstanding.add(id, call);
    this.issue(id);
    this.#unsent.push(call);
    request.limits.onEnd((ending) => this.#giveUp(call, ending));
    return promise;
  }

  /** Notes an id as one of this connection's own. */
  issue(id: string): void {
    this.#issued.add(id);
    if (this.#issued.size > MOST_ISSUED) this.#issued.delete(this.#issued.keys().next().value!);
  }

  /** Whether this connection has given the id to a request, whatever became of that. */
  isIssued(id: string): boolean {
    return this.#issued.has(id);
  }

  /** Hands out the next call that is to be written and still wanted; from here on it counts as sent. */
  takeUnsent(): LinkCall | undefined {
    const call = this.#unsent.shift();
    if (call !== undefined) call.sent = true;
    return call;
  }

  /** Nothing of this call was written after all. */
  fail(call: LinkCall, error: unknown): void {
    if (this.#outstanding.forget(call.id)) call.reject(error);
  }

  /**
   * Finds the call that an answer belongs to.
   *
   * @throws {ProtocolError} With code `answer-unasked` when nobody asked.
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
   * The call that waits when there is exactly one and it was sent: what an answer to nobody can only be about. Should
   * its own answer come all the same, that is a late one, and the order id in it is not lost.
   */
  takeOnly(): LinkCall | undefined {
    const only = this.#outstanding.only;
    if (only === undefined || !only.sent) return undefined;
    this.#outstanding.forget(only.id);
    this.#keepGivenUp(only);
    return only;
  }

  /** The connection has ended: every call learns what that means for it. */
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
        ? unanswered(call.context, "it was given up after it was sent", "aborted", call.limits.reason)
        // A read that its caller gave up is the caller's own business.
        : call.limits.reason,
    );
  }

  #keepGivenUp(call: LinkCall): void {
    this.#givenUp.set(call.id, call);
    if (this.#givenUp.size > MOST_GIVEN_UP) this.#givenUp.delete(this.#givenUp.keys().next().value!);
  }
}

/** What the end of a connection means for one call. */
function lost({ context, sent }: LinkCall, error: BrokerError): unknown {
  const isWrite = context.operation.effect === "write";
  if (error instanceof DisplacedError && !(isWrite && sent)) return error;
  const reason = `the connection broke (${error.message})`;
  return sent
    ? unanswered(context, reason, "connection-lost", error)
    : undelivered(context, reason, "not-connected", error);
}
