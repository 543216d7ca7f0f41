/**
 * Requests that wait for their answer, by id.
 *
 * @module
 */
import { wireError } from "./faults.ts";

/** Calls that were sent and are not answered yet. */
export class Outstanding<Call> {
  readonly #calls = new Map<string, Call>();

  /** How many wait. */
  get size(): number {
    return this.#calls.size;
  }

  /** The call that waits when there is exactly one: what an answer with the id `"0"` can only be about. */
  get only(): Call | undefined {
    return this.#calls.size === 1 ? this.#calls.values().next().value : undefined;
  }

  /**
   * Notes a call that is about to be sent.
   *
   * @throws {TypeError} When its id is in use, or is `"0"`, which the broker uses for answers to nobody.
   */
  add(id: string, call: Call): void {
    if (id === "" || id === "0" || this.#calls.has(id)) {
      throw new TypeError(`Cannot send request "${id}": every request needs an id of its own`);
    }
    this.#calls.set(id, call);
  }

  /**
   * Returns the call that an answer belongs to, which then no longer waits.
   *
   * @throws {ProtocolError} With code `answer-unasked` when no such request waits.
   */
  take(id: string): Call {
    const call = this.#calls.get(id);
    if (call === undefined) {
      throw wireError("answer-unasked", `Cannot take answer: no request "${id.slice(0, 40)}" waits for one`);
    }
    this.#calls.delete(id);
    return call;
  }

  /** Forgets a call that nobody waits for any more; tells whether it was there. */
  forget(id: string): boolean {
    return this.#calls.delete(id);
  }

  /** Hands out all calls and forgets them: the connection is gone. */
  takeAll(): Call[] {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    return calls;
  }
}
