/**
 * A clock on top of another one, so that the simulator's time can be moved from outside while it runs on.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

const HONG_KONG_MS = 8 * 3_600_000;

/** Runs as the clock underneath, at a distance that can be changed. */
export class MovableClock implements Clock {
  readonly #inner: Clock;
  #offset = 0;

  constructor(inner: Clock) {
    this.#inner = inner;
  }

  now(): number {
    return this.#inner.now() + this.#offset;
  }

  /** Moves on, or back, by milliseconds. */
  advance(ms: number): void {
    this.#offset += ms;
  }

  /** Jumps to an instant, Unix milliseconds. */
  set(instant: number): void {
    this.#offset = instant - this.#inner.now();
  }
}

/** An instant in the time of Hong Kong, which has no summer time: `2025-08-16T12:00:00+08:00`. */
export function toHongKongIso(instant: number): string {
  return `${new Date(instant + HONG_KONG_MS).toISOString().slice(0, 19)}+08:00`;
}
