/**
 * One step: its attempts, its time, and what may be said of how it ended.
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
import { PastSlotError } from "../steps/as_of_now.ts";
import { ENDED_UNTOLD, mayHaveHappened, type WriteGuard } from "../steps/guarded_client.ts";
import type { CompiledStep, StepContext } from "../steps/compiled.ts";
import { Halt } from "./halt.ts";
import { type Host, wait } from "./host.ts";

/** Longest wait between two attempts. */
const MOST_WAIT_MS = 5 * 60_000;
/** How long a write step that was told to stop may take to say what came of it. */
const WRITE_GRACE_MS = 10_000;

/** A step took longer than it may. */
export class StepTimeoutError extends BrokerError {
  override readonly name: string = "StepTimeoutError";
}

/**
 * Runs a step once and resolves to what it returns. A read that does not heed its signal is left behind; a write is
 * not broken off by a stop or a cancel, and when its own time is up, or its lease is lost, it is heard out for a while.
 */
export async function runOnce(
  step: CompiledStep,
  context: Omit<StepContext, "signal" | "sleep">,
  { host, halt, lost }: { host: Host; halt: AbortSignal; /** The lease is. */ lost: AbortSignal },
): Promise<unknown> {
  const timer = new AbortController();
  const isWrite = step.effect === "write";
  const cancel = step.timeoutMs === undefined ? undefined : host.setTimer(step.timeoutMs, () => {
    timer.abort(
      new StepTimeoutError(`Cannot finish step "${step.id}": it took more than ${step.timeoutMs} ms`, {
        code: "timeout",
      }),
    );
  });
  const signal = AbortSignal.any([timer.signal, isWrite ? lost : halt]);
  const patience = new AbortController();
  try {
    signal.throwIfAborted();
    // A write that sleeps between its orders is woken by its own time and a lost lease alone, as its signal is.
    const sleep = (ms: number) => wait(host, ms, signal);
    const work = Promise.resolve().then(() => step.run({ ...context, signal, sleep }));
    return await Promise.race([work, givenUp(signal, isWrite ? WRITE_GRACE_MS : 0, host, patience.signal)]);
  } finally {
    cancel?.();
    patience.abort();
  }
}

/** Rejects some time after a signal was given. */
function givenUp(signal: AbortSignal, graceMs: number, host: Host, done: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = () => {
      if (graceMs === 0) return reject(signal.reason);
      wait(host, graceMs, done).then(() => reject(signal.reason), () => {});
    };
    signal.addEventListener("abort", give, { once: true });
    done.addEventListener("abort", () => signal.removeEventListener("abort", give), { once: true });
  });
}

/** Tells whether another attempt could end otherwise. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof Halt || error instanceof InvalidParamsError || error instanceof UnmappedError ||
    error instanceof DisplacedError || error instanceof LoginRefusedError || error instanceof PastSlotError);
}

/** How long to wait after an attempt: twice as long each time. */
export function retryWait(waitMs: number, attempt: number): number {
  return Math.min(waitMs * 2 ** (attempt - 1), MOST_WAIT_MS);
}

/**
 * Returns whether nobody knows what a step that writes and threw has written: as for its writes, when its time was up,
 * and when its process ended after a write without a word on how far it came.
 */
export function mayHaveWritten(error: unknown, guard: WriteGuard): boolean {
  if (guard.isOpen || mayHaveHappened(error) || error instanceof StepTimeoutError) return true;
  const hasWritten = guard.sent.some(({ outcome }) => outcome !== "refused");
  return hasWritten && error instanceof BrokerError && error.code === ENDED_UNTOLD;
}
