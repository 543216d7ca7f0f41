/**
 * Keeps a run's lease while it goes on, and turns whatever should end it into one signal.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { LeaseLostError } from "./holding.ts";
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
  readonly #lost = new AbortController();
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

  /** Given when the lease is lost, whatever else was to end the run before; not even a write goes on then. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Renews now, before something goes out that nobody can take back: the timers of a process that was asleep may not
   * have told it yet that its lease is lost.
   *
   * @throws {LeaseLostError} When somebody else has the run.
   * @throws {BrokerError} When the ledger does not answer.
   */
  hold(): void {
    this.#lost.signal.throwIfAborted();
    try {
      this.#renewNow();
    } catch (error) {
      if (error instanceof LeaseLostError) {
        this.#lose(error);
        throw error;
      }
      throw new BrokerError("Cannot write now: the ledger does not tell whether the run is still ours", {
        code: "ledger",
        cause: error,
      });
    }
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

  #renewNow(): void {
    const { host, renew } = this.#options;
    const { cancelAsked } = renew();
    this.#renewedAt = host.monotonic();
    if (cancelAsked !== undefined) this.#halt(new Halt("cancelled", cancelAsked));
  }

  #renew(): boolean {
    const { host, leaseMs } = this.#options;
    try {
      this.#renewNow();
      return true;
    } catch (error) {
      // A ledger that is busy for a moment is asked again while the lease lasts.
      const isLost = error instanceof LeaseLostError || host.monotonic() - this.#renewedAt > leaseMs;
      if (isLost) this.#lose(error);
      return !isLost;
    }
  }

  #lose(error: unknown): void {
    this.#lost.abort(
      error instanceof LeaseLostError
        ? error
        : new LeaseLostError("Cannot go on: the lease could not be renewed in time", {
          code: "lease-lost",
          cause: error,
        }),
    );
    this.#halt(new Halt("lost", "the lease is lost"));
  }
}
