/**
 * Computes when a lost or silent connection is replaced: pauses, attempts and limits.
 *
 * @module
 */

/** Default silence after which the connection to the gateway's push port is replaced, in milliseconds. */
export const DEFAULT_PUSH_IDLE_MS = 300_000;
/** Largest allowed value for the limit on silence: a day. */
export const MAX_PUSH_IDLE_MS = 86_400_000;

/**
 * Checks a limit on silence and returns it.
 *
 * @throws {RangeError} If the value is neither 0 (no limit) nor between 1 ms and a day.
 */
export function checkedIdleMs(limitMs: number): number {
  if (Number.isInteger(limitMs) && limitMs >= 0 && limitMs <= MAX_PUSH_IDLE_MS) return limitMs;
  throw new RangeError(
    `Cannot use pushIdleMs ${limitMs}: write milliseconds from 1 to ${MAX_PUSH_IDLE_MS}, or 0 for no limit`,
  );
}

/** Options for reconnecting after a loss. */
export interface ReconnectOptions {
  /** Shortest wait. @default {500} */
  minMs?: number;
  /** Longest wait. @default {30_000} */
  maxMs?: number;
  /** Number of consecutive failed attempts after which the stream stops. @default {Infinity} */
  attempts?: number;
  /** Maximum number of attempts within an hour; further ones are delayed. @default {120} */
  perHour?: number;
}

const HOUR_MS = 3_600_000;

/** Limits the attempts per hour. Successful attempts count too, because the connection may break again soon. */
export class HourlyLimit {
  readonly #most: number;
  /** Times of the attempts, oldest first. */
  readonly #due: number[] = [];

  constructor(most = 120) {
    if (!Number.isInteger(most) || most < 1) {
      throw new RangeError(`Cannot use reconnect.perHour ${most}: write a whole number of at least 1`);
    }
    this.#most = most;
  }

  /**
   * Records an attempt that is planned after `waitMs`. Returns the milliseconds to wait before it: `waitMs`, or more if
   * the limit requires it.
   */
  wait(now: number, waitMs: number): number {
    const oldest = this.#due.length < this.#most ? -Infinity : this.#due.shift()!;
    const allowedMs = Math.max(waitMs, oldest + HOUR_MS - now);
    this.#due.push(now + allowedMs);
    return allowedMs;
  }
}

/**
 * Returns the wait before an attempt: a random time between the shortest wait and a ceiling that doubles with each
 * attempt. So programs that lost the same gateway do not all reconnect at the same time.
 *
 * @param attempt Number of the attempt, from 1.
 * @param random Random number, at least 0 and below 1.
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

/** Returns the longest wait of these options, in milliseconds. */
export function longestPause(options: ReconnectOptions | false | undefined): number {
  return (options || {}).maxMs ?? 30_000;
}
