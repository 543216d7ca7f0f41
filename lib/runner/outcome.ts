/**
 * How a run ended, from what its steps came to and what halted it: a pure decision.
 *
 * @module
 */
import type { CompiledStep } from "../steps/compiled.ts";
import type { Halt } from "./halt.ts";
import type { StepState } from "./run_events.ts";
import type { RunState } from "./run_rows.ts";

/**
 * How a run ended; `due` when it was given back, `lost` when somebody else has it. The reason of a lost one is `write`
 * when a step that writes had begun under it, and `lease` otherwise.
 */
export interface RunOutcome {
  state: RunState | "lost";
  reason?: string;
}

/** What is known at the end of a run. */
export interface Ending {
  /** Steps that were reached, by their ids. */
  states: ReadonlyMap<string, StepState>;
  /** What ended the run before its time. */
  halt: Halt | undefined;
  /** What becomes of a run that is stopped while it reads. */
  whenStopped: "due" | "cancelled";
  /** Another device took the login over. */
  isDisplaced: boolean;
  /** The broker refused a login. @default false */
  isLoginRefused?: boolean;
  /** Why a step did not write though everything before it went well. */
  withheld: "window" | "unsafe" | undefined;
}

/** Decides how a run ended; what may have been written comes before everything else. */
export function outcomeOf(
  steps: readonly Pick<CompiledStep, "id" | "effect">[],
  { states, halt, whenStopped, isDisplaced, isLoginRefused = false, withheld }: Ending,
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
  if (isDisplaced) return { state: "failed", reason: "displaced" };
  if (all.includes("failed")) return { state: "failed", reason: isLoginRefused ? "login" : "step" };
  // An order that was not placed must not look as if all were well.
  if (withheld !== undefined) return { state: "failed", reason: withheld };
  const isEmpty = all.length > 0 && all.every((state) => state === "skipped");
  return isEmpty ? { state: "skipped", reason: "condition" } : { state: "ok" };
}
