/**
 * What a run tells while it goes on. Everything in it has passed the redactor.
 *
 * @module
 */
import type { StepEffect } from "../steps/compiled.ts";
import type { RunState } from "./run_rows.ts";

/** Which run, and when. */
export interface RunEventHead {
  runKey: string;
  /** 32 hex digits, the same for every line of the run. */
  traceId: string;
  /** Epoch milliseconds. */
  at: number;
}

/** How a step ended. */
export type StepState = "ok" | "failed" | "skipped" | "unknown";

/** Something that happened within a run, told apart by `type`. */
export type RunEvent =
  & RunEventHead
  & (
    | { type: "run-started"; recipe: string; attempt: number; lateMs: number; steps: readonly string[] }
    | { type: "step-started"; step: string; uses: string; effect: StepEffect; attempt: number }
    | { type: "step-reused"; step: string }
    | { type: "step-progress"; step: string; done?: number; total?: number; text: string }
    | { type: "step-retry"; step: string; attempt: number; waitMs: number; error: string }
    | { type: "step-ended"; step: string; state: StepState; tookMs: number; reason?: string }
    | {
      type: "log";
      step: string;
      level: "debug" | "info" | "warn" | "error";
      message: string;
      data?: unknown;
    }
    | { type: "artifact"; step: string; dataset: string; path: string; revision: number; isNew: boolean }
    | { type: "run-ended"; recipe: string; state: RunState | "lost"; reason?: string; tookMs: number }
  );

/** An event before it has its head. */
export type BareRunEvent = RunEvent extends infer E ? E extends RunEvent ? Omit<E, keyof RunEventHead> : never
  : never;
