/**
 * How long a call may take, and who may give it up.
 *
 * @module
 */
import { type CallContext, undelivered } from "../outcome.ts";
import type { CallOptions } from "../transport.ts";
import type { Timers } from "./options.ts";

/** Why a call ended before its answer. */
export type Ending = "timeout" | "aborted";

/** The limits of one call, from its start to its answer. Dispose of them with the call. */
export class CallLimits implements Disposable {
  readonly timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  readonly #onAbort = () => this.#end("aborted");
  #ending: Ending | undefined;
  #listener: ((ending: Ending) => void) | undefined;

  constructor(timers: Timers, timeoutMs: number, { signal }: CallOptions) {
    this.timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#cancelTimer = timers.after(timeoutMs, () => this.#end("timeout"));
    signal?.addEventListener("abort", this.#onAbort);
    if (signal?.aborted) this.#end("aborted");
  }

  /** Why it ended, if it has. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** What the caller gave as its reason. */
  get reason(): unknown {
    return this.#signal?.reason;
  }

  /** Calls back when the call ends early, at once if it has; replaces an earlier listener. */
  onEnd(listener: (ending: Ending) => void): void {
    if (this.#ending !== undefined) listener(this.#ending);
    else this.#listener = listener;
  }

  /** Waits for a preparation. Nothing has been sent yet, so the error of an early end says so. */
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

  /** What a caller is told whose call ended before anything was sent. */
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
