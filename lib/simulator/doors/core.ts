/**
 * What all front doors of one simulated broker share: the broker, its clock, and the armed faults.
 *
 * @module
 */
import { Broker } from "../broker/broker.ts";
import type { Clock } from "../clock.ts";
import { Faults } from "./faults.ts";
import { MovableClock } from "./movable_clock.ts";

/** How a simulated broker is made. */
export interface CoreOptions {
  /** What prices, past fills and the default credentials follow from. */
  seed: number;
  /** Time of the simulation. The control routes move it at a distance; the clock itself is left alone. */
  clock: Clock;
  /** Trading days of history per market. */
  days?: number;
  /** Fills per market on each of those days. */
  fillsPerDay?: number;
}

/** A simulated broker before any port is open. */
export interface Core {
  readonly seed: number;
  readonly broker: Broker;
  readonly faults: Faults;
  /** The clock that the broker sees. */
  readonly clock: MovableClock;
}

/** Makes a broker for front doors. */
export function makeCore({ seed, clock: inner, days, fillsPerDay }: CoreOptions): Core {
  const clock = new MovableClock(inner);
  return { seed, clock, broker: new Broker({ seed, clock, days, fillsPerDay }), faults: new Faults() };
}

/** A host as it stands in an address. */
export function hostOf(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Waits for a time, or until the signal comes, whatever is first. */
export function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake);
  });
}

/** Does something again and again in real time; 0 for never. Returns what stops it. */
export function repeat(
  everyMs: number,
  work: () => void,
  onError: (error: unknown) => void,
): () => void {
  if (everyMs === 0) return () => {};
  const timer = setInterval(() => {
    try {
      work();
    } catch (error) {
      onError(error);
    }
  }, everyMs);
  return () => clearInterval(timer);
}
