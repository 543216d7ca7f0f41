/**
 * Decides how a step ends: its time limit, whether it failed, whether its writes have an unknown outcome, and whether
 * another attempt could succeed.
 *
 * @module
 */
import {
  BrokerError,
  DisplacedError,
  InvalidParamsError,
  LoginRefusedError,
  UnmappedError,
} from "../errors.ts";
import { type Machine, wait } from "../time.ts";
import { PastSlotError } from "./as_of_now.ts";
import type { CompiledStep } from "./compiled.ts";
import { ENDED_UNTOLD, mayHaveHappened, type WriteGuard } from "./guarded_client.ts";

/**
 * Kind of a halt. `stopped`: the process ends. `cancelled`: a person or a newer run asked for the end. `timeout`: the
 * run took too long. `lost`: the lease is lost.
 */
export type HaltKind = "stopped" | "cancelled" | "timeout" | "lost";

/** Why a run must end early. It is the reason of the aborted signal. */
export class Halt extends Error {
  override readonly name = "AbortError";
  readonly kind: HaltKind;

  constructor(kind: HaltKind, why: string) {
    super(`Cannot continue the run: ${why}`);
    this.kind = kind;
  }
}

/** How long a write step that must stop may take to report its outcome. */
const WRITE_GRACE_MS = 10_000;

/** A step exceeded its time limit. */
class StepTimeoutError extends BrokerError {
  override readonly name: string = "StepTimeoutError";
}

/**
 * Does the work of a step within its time limit. Does not wait for a read that ignores its signal. After a timeout or
 * `stop`, a write gets a grace period to report its outcome.
 */
export async function withinTimeLimit(
  machine: Pick<Machine, "setTimer">,
  { id, timeoutMs, effect }: Pick<CompiledStep, "id" | "timeoutMs" | "effect">,
  { stop, work }: {
    /** Aborted when the step must end before its time limit. */
    stop: AbortSignal;
    work: (signal: AbortSignal) => Promise<unknown>;
  },
): Promise<unknown> {
  const timer = new AbortController();
  const cancel = timeoutMs === undefined ? undefined : machine.setTimer(timeoutMs, () => {
    timer.abort(
      new StepTimeoutError(`Cannot finish step "${id}": it took more than ${timeoutMs} ms`, {
        code: "timeout",
      }),
    );
  });
  const signal = AbortSignal.any([timer.signal, stop]);
  const done = new AbortController();
  const givenUp = new Promise<never>((_resolve, reject) => {
    const giveUp = () => {
      if (effect !== "write") return reject(signal.reason);
      wait(machine, WRITE_GRACE_MS, done.signal).then(() => reject(signal.reason), () => {});
    };
    signal.addEventListener("abort", giveUp, { once: true });
    done.signal.addEventListener("abort", () => signal.removeEventListener("abort", giveUp), { once: true });
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([Promise.resolve().then(() => work(signal)), givenUp]);
  } finally {
    cancel?.();
    done.abort();
  }
}

/** Error text of a step whose output reports a problem. */
export const REPORTED_PROBLEM = 'the step reported a problem: its output has "ok": false';

/** Returns whether the output of a step reports a problem. */
export function reportsProblem(output: unknown): boolean {
  return typeof output === "object" && output !== null && "ok" in output && output.ok === false;
}

/** Returns whether another attempt could succeed. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof Halt || error instanceof InvalidParamsError || error instanceof UnmappedError ||
    error instanceof DisplacedError || error instanceof LoginRefusedError || error instanceof PastSlotError);
}

/**
 * Returns whether the outcome of a failed write step is unknown. It is unknown if one of its writes is unresolved, if
 * the step timed out, or if its process ended after a write without a result.
 */
export function mayHaveWritten(error: unknown, guard: WriteGuard): boolean {
  if (guard.isOpen || mayHaveHappened(error) || error instanceof StepTimeoutError) return true;
  const hasSent = guard.sent.some(({ outcome }) => outcome !== "refused");
  return hasSent && error instanceof BrokerError && error.code === ENDED_UNTOLD;
}
