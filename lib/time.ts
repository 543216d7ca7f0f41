/**
 * Provides clocks, timers and random numbers. Code that needs one of them gets it as an argument, so that a test or a
 * rehearsal can replace it.
 *
 * @module
 */

/** A source of the current time. */
export interface Clock {
  /** Now, Unix milliseconds; may jump. */
  now(): number;
}

/** Clocks, timers, random numbers and unique ids. */
export interface Machine extends Clock {
  /** Milliseconds from a clock that never jumps. */
  monotonic(): number;
  /** A random number, at least 0 and below 1. */
  random(): number;
  /** A unique id, such as a ULID or a UUID. */
  id(): string;
  /** Calls `callback` once after `ms` milliseconds. Returns a function that cancels the timer. */
  setTimer(ms: number, callback: () => void, options?: TimerOptions): () => void;
}

/** Options of a timer. */
export interface TimerOptions {
  /** Whether the process may end before the timer fires. @default false */
  isBackground?: boolean;
}

/** The real clocks, timers and random numbers of this machine. */
export const systemMachine: Readonly<Machine> = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  id: () => crypto.randomUUID(),
  setTimer(ms, callback, { isBackground = false } = {}) {
    const timer = setTimeout(callback, ms);
    if (isBackground) Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};

/** Returns the real machine with some of its members replaced. */
export function machineWith(parts: Partial<Machine> = {}): Machine {
  const names = Object.keys(systemMachine) as (keyof Machine)[]; // `systemMachine` has no other members
  return Object.fromEntries(
    names.map((name) => [name, parts[name]?.bind(parts) ?? systemMachine[name]]),
  ) as unknown as Machine; // one entry for each member
}

/** Waits for `ms` milliseconds. Rejects with the signal's reason as soon as the signal is aborted. */
export function wait(machine: Pick<Machine, "setTimer">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = machine.setTimer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    const onAbort = () => {
      cancel();
      reject(signal!.reason); // only ever called by the signal
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Waits for `ms` milliseconds, or until the signal is aborted. Resolves to whether the whole time passed. */
export function waitUnlessAborted(
  machine: Pick<Machine, "setTimer">,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  return wait(machine, ms, signal).then(() => true, () => false);
}

/**
 * Resolves or rejects like the promise, but rejects with the signal's reason if the signal is aborted first. A
 * rejection of the promise after that is ignored.
 */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return settled;
}

/** Returns a random number generator with a seed (mulberry32): numbers at least 0 and below 1. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A clock that starts at a given instant and advances with real time. */
export class ShiftedClock implements Clock {
  readonly #start: number;
  readonly #began = performance.now();

  /** Creates the clock at a time, Unix milliseconds. */
  constructor(start: number) {
    this.#start = start;
  }

  now(): number {
    return this.#start + Math.floor(performance.now() - this.#began);
  }
}

/** A clock that changes only when `advance` or `set` is called. */
export class ManualClock implements Clock {
  #now: number;

  /** Creates the clock with a start, Unix milliseconds. */
  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** Moves the clock by milliseconds; a negative number moves it back. */
  advance(ms: number): void {
    this.#now += ms;
  }

  /** Jumps to an instant. */
  set(instant: number): void {
    this.#now = instant;
  }
}

/** Milliseconds of the units in which people write durations. */
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Description of the format of a duration, for messages. */
export const durationExpected = 'a span of time such as "45m", "1h30m" or "90s"';

/**
 * Returns whether a value is an existing date such as `"2025-08-15"`. `Date.parse` alone reads the 30th of February as
 * the 2nd of March.
 */
export function isDate(value: unknown): value is string {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

const INSTANT =
  /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Parses an ISO 8601 time with its offset from UTC, such as `"2025-08-15T10:30:00+08:00"`.
 *
 * @returns Unix milliseconds; `undefined` if the time does not exist, or if it has no offset and so would depend on the
 * time zone of the machine.
 */
export function readInstant(text: string): number | undefined {
  return INSTANT.test(text) && isDate(text.slice(0, 10)) ? Date.parse(text) : undefined;
}

/** The format of a duration: one or more whole numbers with units, largest unit first. */
export const durationPattern = /^(?=\d)(\d{1,6}d)?(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}s)?(\d{1,9}ms)?$/;

/** Parses a duration. Returns it in milliseconds; `undefined` if the text is not a duration. */
export function readDuration(text: string): number | undefined {
  if (!durationPattern.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[dhms])/g)) ms += Number(count) * unitMs[unit!]!;
  return ms;
}

/** Returns a duration that a schema has already accepted, in milliseconds. */
export function durationOf(text: string): number {
  const ms = readDuration(text);
  if (ms === undefined) throw new RangeError(`Cannot read "${text}": expected ${durationExpected}`);
  return ms;
}

/** Formats a duration of whole milliseconds in the largest units that fit, such as `1h30m`. */
export function showDuration(ms: number): string {
  if (ms === 0) return "0s";
  let rest = Math.abs(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const count = Math.floor(rest / unitMs[unit]!);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs[unit]!;
  }
  return ms < 0 ? `-${text}` : text;
}
