/**
 * Keeps a run's lease while it goes on, and turns whatever should end it into one signal.
 *
 * @module
 */
import { LeaseLostError } from "./claims.ts";
import { Halt } from "./halt.ts";
import type { Host } from "./host.ts";

/** What the keeper needs. */
export interface LeaseKeeperOptions {
  host: Host;
  everyMs: number;
  leaseMs: number;
  /** How long the run may take. */
  timeoutMs: number;
  renew(): { cancelAsked?: string };
  /** Given when the process is to end. */
  stop?: AbortSignal;
}

/** Renews until it is told to end. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #controller = new AbortController();
  readonly #cancelTimeout: () => void;
  #cancelRenewal: () => void = () => {};
  #renewedAt: number;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    const { host, timeoutMs, stop } = options;
    this.#renewedAt = host.monotonic();
    this.#cancelTimeout = host.setTimer(
      timeoutMs,
      () => this.#halt(new Halt("timeout", `the run took more than ${timeoutMs} ms`)),
    );
    if (stop?.aborted) this.#stopped();
    stop?.addEventListener("abort", this.#stopped, { once: true });
    this.#schedule();
  }

  /** Given with a {@linkcode Halt} when the run is to end before its time. */
  get halt(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops renewing; the run has ended. */
  end(): void {
    this.#cancelTimeout();
    this.#cancelRenewal();
    this.#options.stop?.removeEventListener("abort", this.#stopped);
  }

  readonly #stopped = () => this.#halt(new Halt("stopped", "the runner is stopping"));

  #halt(reason: Halt): void {
    this.#controller.abort(reason);
  }

  #schedule(): void {
    this.#cancelRenewal = this.#options.host.setTimer(this.#options.everyMs, () => {
      if (this.#renew()) this.#schedule();
    });
  }

  #renew(): boolean {
    const { host, leaseMs, renew } = this.#options;
    try {
      const { cancelAsked } = renew();
      this.#renewedAt = host.monotonic();
      if (cancelAsked !== undefined) this.#halt(new Halt("cancelled", cancelAsked));
      return true;
    } catch (error) {
      // A ledger that is busy for a moment is asked again while the lease lasts.
      const lost = error instanceof LeaseLostError || host.monotonic() - this.#renewedAt > leaseMs;
      if (lost) this.#halt(new Halt("lost", "the lease is lost"));
      return !lost;
    }
  }
}
