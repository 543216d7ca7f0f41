/**
 * Notices when the wall clock does not go as time does: sleep, a correction, a person with a keyboard.
 *
 * @module
 */
import type { Host } from "./host.ts";

/** How far the two clocks may drift apart between two looks. */
const TOLERANCE_MS = 30_000;

/** Compares the wall clock with one that never jumps. */
export class ClockWatch {
  readonly #host: Pick<Host, "now" | "monotonic">;
  #last: { wall: number; monotonic: number };

  constructor(host: Pick<Host, "now" | "monotonic">) {
    this.#host = host;
    this.#last = { wall: host.now(), monotonic: host.monotonic() };
  }

  /** Returns by how many milliseconds the wall clock jumped since the last look, when it did. */
  look(): number | undefined {
    const [wall, monotonic] = [this.#host.now(), this.#host.monotonic()];
    const drift = wall - this.#last.wall - (monotonic - this.#last.monotonic);
    const back = wall < this.#last.wall;
    this.#last = { wall, monotonic };
    return back || Math.abs(drift) > TOLERANCE_MS ? Math.round(drift) : undefined;
  }
}
