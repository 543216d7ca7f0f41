/**
 * Runs one attempt at a step within its time limit, and decides how a run ended from the states of its steps.
 *
 * @module
 */
import {
  BrokerError,
  DisplacedError,
  InvalidParamsError,
  LoginRefusedError,
  UnmappedError,
} from "../../errors.ts";
import { PastSlotError } from "../../recipes/as_of_now.ts";
import type { CompiledStep, StepContext } from "../../recipes/compiled.ts";
import { ENDED_UNTOLD, mayHaveHappened, type WriteGuard } from "../../recipes/guarded_client.ts";
import { type Machine, wait } from "../../time.ts";
import type { RunState } from "../queries/runs.ts";
import type { StepState } from "./report.ts";

/** Longest wait between two attempts. */
const MOST_WAIT_MS = 5 * 60_000;
/** How long a write step that must stop may take to report its outcome. */
const WRITE_GRACE_MS = 10_000;

/** A step exceeded its time limit. */
class StepTimeoutError extends BrokerError {
  override readonly name: string = "StepTimeoutError";
}

/**
 * Runs a step once and resolves to its result. Does not wait for a read that ignores its signal. Stop and cancel never
 * interrupt a write; on its timeout or a lost lease, a write gets a grace period to report its outcome.
 */
export async function runOnce(
  step: CompiledStep,
  context: Omit<StepContext, "signal" | "sleep">,
  { host, halt, lost }: {
    host: Machine;
    halt: AbortSignal; /** Aborted when the lease is lost. */
    lost: AbortSignal;
  },
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
    // A write that waits between its orders is woken only by its timeout and a lost lease, like its signal.
    const sleep = (ms: number) => wait(host, ms, signal);
    const work = Promise.resolve().then(() => step.run({ ...context, signal, sleep }));
    return await Promise.race([work, givenUp(signal, isWrite ? WRITE_GRACE_MS : 0, host, patience.signal)]);
  } finally {
    cancel?.();
    patience.abort();
  }
}

/** Rejects a grace period after a signal is aborted. */
function givenUp(signal: AbortSignal, graceMs: number, host: Machine, done: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = () => {
      if (graceMs === 0) return reject(signal.reason);
      wait(host, graceMs, done).then(() => reject(signal.reason), () => {});
    };
    signal.addEventListener("abort", give, { once: true });
    done.addEventListener("abort", () => signal.removeEventListener("abort", give), { once: true });
  });
}

/** Returns whether another attempt could succeed. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof Halt || error instanceof InvalidParamsError || error instanceof UnmappedError ||
    error instanceof DisplacedError || error instanceof LoginRefusedError || error instanceof PastSlotError);
}

/** Returns the wait after an attempt: it doubles each time. */
export function retryWait(waitMs: number, attempt: number): number {
  return Math.min(waitMs * 2 ** (attempt - 1), MOST_WAIT_MS);
}

/**
 * Returns whether the outcome of a failed write step is unknown: one of its writes is unresolved, it timed out, or its
 * process ended after a write without reporting how far it came.
 */
export function mayHaveWritten(error: unknown, guard: WriteGuard): boolean {
  if (guard.isOpen || mayHaveHappened(error) || error instanceof StepTimeoutError) return true;
  const hasWritten = guard.sent.some(({ outcome }) => outcome !== "refused");
  return hasWritten && error instanceof BrokerError && error.code === ENDED_UNTOLD;
}

/** `stopped`: the process ends; `cancelled`: a person or a newer run asked for it; `timeout`: it took too long; `lost`: the lease is lost. */
export type HaltKind = "stopped" | "cancelled" | "timeout" | "lost";

/** The abort reason of a step. */
export class Halt extends Error {
  override readonly name = "AbortError";
  readonly kind: HaltKind;

  constructor(kind: HaltKind, why: string) {
    super(`Cannot continue the run: ${why}`);
    this.kind = kind;
  }
}

/**
 * How a run ended: `due` if it was released, `lost` if another process has it. The reason of `lost` is `write` if a write
 * step had begun, and `lease` otherwise.
 */
export interface RunOutcome {
  state: RunState | "lost";
  reason?: string;
}

/** What is known at the end of a run. */
export interface Ending {
  /** Steps that were reached, by their ids. */
  states: ReadonlyMap<string, StepState>;
  /** What ended the run early. */
  halt: Halt | undefined;
  /** State of a run that is stopped while it reads. */
  whenStopped: "due" | "cancelled";
  /** Another device took the login over. */
  isTakenOver: boolean;
  /** The broker refused a login. @default false */
  isLoginRefused?: boolean;
  /** Why a step did not write although all steps before it succeeded. */
  withheld: "window" | "unsafe" | undefined;
}

/** Decides how a run ended. An unknown write takes precedence over everything else. */
export function outcomeOf(
  steps: readonly Pick<CompiledStep, "id" | "effect">[],
  { states, halt, whenStopped, isTakenOver, isLoginRefused = false, withheld }: Ending,
): RunOutcome {
  const all = [...states.values()];
  if (all.includes("unknown")) return { state: "unknown", reason: "write" };
  const isWhole = steps.every(({ id }) => ["ok", "skipped"].includes(states.get(id) ?? ""));
  switch (halt?.kind) {
    case "lost":
      return { state: "lost", reason: "lease" };
    case "timeout":
      return { state: "failed", reason: "timeout" };
    case "cancelled":
      if (isWhole) break;
      return { state: "cancelled", reason: halt.message };
    case "stopped": {
      if (isWhole) break;
      const wrote = steps.some(({ id, effect }) =>
        effect === "write" && states.has(id) && states.get(id) !== "skipped"
      );
      return { state: wrote ? "waiting_recovery" : whenStopped, reason: "stopped" };
    }
  }
  if (isTakenOver) return { state: "failed", reason: "displaced" };
  if (all.includes("failed")) return { state: "failed", reason: isLoginRefused ? "login" : "step" };
  // An order that was not placed must not look like a success.
  if (withheld !== undefined) return { state: "failed", reason: withheld };
  const isEmpty = all.length > 0 && all.every((state) => state === "skipped");
  return isEmpty ? { state: "skipped", reason: "condition" } : { state: "ok" };
}
