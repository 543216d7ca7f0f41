/**
 * Guards a run by its claim. Checks the claim before every write to the store, renews the claim's lease while the run
 * continues, and ends the run if the lease is lost.
 *
 * @module
 */
import { closeRun, isHeldBy, releaseLease, renewLease, renewRun, type RunHolder } from "../queries/claims.ts";
import { BrokerError } from "../../errors.ts";
import type { Machine } from "../../time.ts";
import { type RunState } from "../queries/runs.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { Halt } from "../../recipes/engine/step_context.ts";
import { type StepCall } from "../../recipes/engine/engine.ts";
import type { Store } from "../../store/store.ts";

/** A run that this process holds. */
export interface Claim extends RunHolder {
  leaseMs: number;
  /** Name of the account mutex that was taken with the claim. */
  mutex?: string;
}

/** A step that runs another recipe, in a run that this process holds. */
export interface CallingStep extends Claim, StepCall {
  /** The recipe of the run, as it was compiled for the run. */
  recipe: CompiledRecipe;
}

/**
 * Thrown if this process has lost the lease of a run. Another process may run that run now: stop immediately, and write
 * nothing more.
 */
export class LeaseLostError extends BrokerError {
  override readonly name: string = "LeaseLostError";
}

/** Runs work in one transaction, if the claim is still valid. @throws {LeaseLostError} When the claim is lost. */
export async function claimedTransaction<T>(
  store: Store,
  claim: Claim,
  now: number,
  work: () => T | Promise<T>,
): Promise<T> {
  return await store.transaction(async () => {
    if (!await isHeldBy(store, claim, now)) {
      throw new LeaseLostError(`Cannot continue run "${claim.runKey}": this process lost its lease`, {
        code: "lease-lost",
      });
    }
    return await work();
  });
}

/**
 * Extends a claim and its mutex. Returns the reason of a request to cancel the run, if any.
 *
 * @throws {LeaseLostError}
 */
export async function renewClaim(
  store: Store,
  claim: Claim,
  now: number,
): Promise<{ cancelAsked?: string }> {
  const { runKey, holder, leaseMs, mutex } = claim;
  return await store.transaction(async () => {
    const row = await renewRun(store, claim, now + leaseMs);
    const kept = mutex === undefined ||
      await renewLease(store, { name: mutex, holder: `${holder} ${runKey}`, until: now + leaseMs });
    if (row === undefined || !kept) {
      throw new LeaseLostError(`Cannot continue run "${runKey}": this process lost its lease`, {
        code: "lease-lost",
      });
    }
    return { cancelAsked: row.cancel_asked ?? undefined };
  });
}

/** Ends a claimed run. @throws {LeaseLostError} */
export async function endRun(
  store: Store,
  claim: Claim,
  { state, reason, now }: { state: RunState; reason?: string; now: number },
): Promise<void> {
  await claimedTransaction(store, claim, now, async () => {
    await closeRun(store, claim.runKey, { state, reason, now });
    if (claim.mutex !== undefined) await releaseLease(store, claim.mutex, `${claim.holder} ${claim.runKey}`);
    await store.event(now, state === "due" ? "released" : "ended", { state, reason }, claim.runKey);
  });
}

/** Options of the keeper. */
interface LeaseKeeperOptions {
  machine: Machine;
  everyMs: number;
  leaseMs: number;
  /** How long the run may take. */
  timeoutMs: number;
  renew(): Promise<{ cancelAsked?: string }>;
  /** Aborted when this process must stop. */
  stop?: AbortSignal;
}

/**
 * Renews the lease of a run until {@linkcode LeaseKeeper.end} is called. Halts the run if it is stopped or cancelled,
 * exceeds its time limit, or loses its lease.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #controller = new AbortController();
  readonly #lost = new AbortController();
  readonly #cancelTimeout: () => void;
  #cancelRenewal: () => void = () => {};
  #renewedAt: number;
  #hasEnded = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    const { machine, timeoutMs, stop } = options;
    this.#renewedAt = machine.monotonic();
    this.#cancelTimeout = machine.setTimer(
      timeoutMs,
      () => this.#halt(new Halt("timeout", `the run took more than ${timeoutMs} ms`)),
    );
    if (stop?.aborted) this.#stopped();
    stop?.addEventListener("abort", this.#stopped, { once: true });
    this.#schedule();
  }

  /** Aborted with a {@linkcode Halt} when the run must end early. */
  get halt(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborted when the lease is lost, even after another halt. A write ignores `halt`, but not this signal. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Renews the lease now, before a write is sent. A process that was suspended may have lost its lease before its
   * timers noticed.
   *
   * @throws {LeaseLostError} When this process has lost the lease.
   * @throws {BrokerError} When the store does not answer.
   */
  async renewOrThrow(): Promise<void> {
    this.#lost.signal.throwIfAborted();
    try {
      await this.#renewNow();
    } catch (error) {
      if (error instanceof LeaseLostError) {
        this.#lose(error);
        throw error;
      }
      this.#lost.signal.throwIfAborted();
      throw new BrokerError(
        "Cannot write now: the store did not confirm that this process still holds the run's lease",
        {
          code: "store",
          cause: error,
        },
      );
    }
  }

  /** Stops renewing; the run has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#cancelTimeout();
    this.#cancelRenewal();
    this.#options.stop?.removeEventListener("abort", this.#stopped);
  }

  readonly #stopped = () => this.#halt(new Halt("stopped", "the runner is stopping"));

  #halt(reason: Halt): void {
    this.#controller.abort(reason);
  }

  #schedule(): void {
    this.#cancelRenewal = this.#options.machine.setTimer(this.#options.everyMs, async () => {
      if (await this.#renew() && !this.#hasEnded) this.#schedule();
    });
  }

  async #renewNow(): Promise<void> {
    const { machine, renew } = this.#options;
    // The lease begins when the renewal is requested, because the answer may arrive late.
    const askedAt = machine.monotonic();
    const { cancelAsked } = await renew();
    this.#renewedAt = askedAt;
    if (cancelAsked !== undefined) this.#halt(new Halt("cancelled", cancelAsked));
  }

  async #renew(): Promise<boolean> {
    const { machine, leaseMs } = this.#options;
    try {
      await this.#renewNow();
      return true;
    } catch (error) {
      if (this.#hasEnded) return false;
      // After any other error, such as a busy store, the next renewal tries again until the lease has expired.
      const isLost = error instanceof LeaseLostError || machine.monotonic() - this.#renewedAt > leaseMs;
      if (isLost) this.#lose(error);
      return !isLost;
    }
  }

  #lose(error: unknown): void {
    this.#lost.abort(
      error instanceof LeaseLostError
        ? error
        : new LeaseLostError("Cannot continue the run: its lease could not be renewed in time", {
          code: "lease-lost",
          cause: error,
        }),
    );
    this.#halt(new Halt("lost", "the lease is lost"));
  }
}
