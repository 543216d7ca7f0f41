/**
 * What the runner needs from the machine, handed in so that a test can be the machine.
 *
 * @module
 */

/** Time, chance and names. */
export interface Host {
  /** Wall clock, epoch milliseconds; may jump. */
  now(): number;
  /** A clock that never jumps, milliseconds. */
  monotonic(): number;
  /** From 0 up to 1. */
  random(): number;
  /** A name that nobody else has, such as a ULID or a UUID. */
  id(): string;
  /** Calls back once after a time; returns what calls it off. */
  setTimer(ms: number, callback: () => void): () => void;
}

/** Waits, or rejects with the signal's reason as soon as that is given. */
export function wait(host: Host, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = host.setTimer(ms, () => {
      signal?.removeEventListener("abort", give);
      resolve();
    });
    const give = () => {
      cancel();
      reject(signal!.reason); // only ever called by the signal
    };
    signal?.addEventListener("abort", give, { once: true });
  });
}

/** Draws a trace id as W3C has it: 32 hex digits, not all of them zero. */
export function drawTraceId(host: Pick<Host, "random">): string {
  const digits = Array.from({ length: 31 }, () => Math.floor(host.random() * 16).toString(16));
  return `1${digits.join("")}`;
}
