/**
 * Waiting: between attempts to connect, for readers, and for whoever may be given up.
 *
 * @module
 */

/** Longest silence of the gateway's push port before the connection is replaced, where nobody sets another. */
export const DEFAULT_PUSH_IDLE_MS = 300_000;
/** Largest limit on silence that can be set: a day. */
export const MAX_PUSH_IDLE_MS = 86_400_000;

/**
 * Checks a limit on silence and returns it.
 *
 * @throws {RangeError} When it is neither 0, for none, nor from 1 ms to a day.
 */
export function checkedIdleMs(limitMs: number): number {
  if (Number.isInteger(limitMs) && limitMs >= 0 && limitMs <= MAX_PUSH_IDLE_MS) return limitMs;
  throw new RangeError(
    `Cannot use pushIdleMs ${limitMs}: write milliseconds from 1 to ${MAX_PUSH_IDLE_MS}, or 0 for no limit`,
  );
}

/** When a lost connection is tried again. */
export interface ReconnectOptions {
  /** Shortest wait. @default {500} */
  minMs?: number;
  /** Longest wait. @default {30_000} */
  maxMs?: number;
  /** Attempts in a row before the stream gives up. @default {Infinity} */
  attempts?: number;
  /** Most attempts within an hour; further ones wait for their turn. @default {120} */
  perHour?: number;
}

const HOUR_MS = 3_600_000;

/** Bounds the attempts of an hour, also where each one succeeds and breaks again soon after. */
export class HourlyLimit {
  readonly #most: number;
  /** When attempts are due, oldest first. */
  readonly #due: number[] = [];

  constructor(most = 120) {
    if (!Number.isInteger(most) || most < 1) {
      throw new RangeError(`Cannot use reconnect.perHour ${most}: write a whole number from 1 on`);
    }
    this.#most = most;
  }

  /** Counts an attempt that is to follow after a wait, and returns how long it has to wait. */
  wait(now: number, waitMs: number): number {
    const oldest = this.#due.length < this.#most ? -Infinity : this.#due.shift()!;
    const due = Math.max(now + waitMs, oldest + HOUR_MS);
    this.#due.push(due);
    return due - now;
  }
}

/**
 * Wait before an attempt: at random between the shortest wait and a ceiling that doubles from attempt to attempt,
 * so that several programs that lost the same gateway do not return in step.
 *
 * @param attempt Number of the attempt, counted from 1.
 * @param random From 0 up to 1.
 */
export function backoffMs(
  attempt: number,
  random: number,
  options: ReconnectOptions,
): number {
  const { minMs = 500 } = options;
  const ceiling = Math.min(longestPause(options), minMs * 2 ** attempt);
  return Math.round(minMs + random * Math.max(0, ceiling - minMs));
}

/** Longest wait of these options, milliseconds. */
export function longestPause(options: ReconnectOptions | false | undefined): number {
  return (options || {}).maxMs ?? 30_000;
}

/** Waits, or returns early once the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}

/** Resolves after one turn of the event loop, so after everything that was ready; costs about 2 µs. */
export function oneTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Settles as a promise does, or rejects once the signal is aborted; what the promise does later is not looked at. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return settled;
}
