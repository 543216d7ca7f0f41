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
  recipe: string;
  /** 32 hex digits, the same for every line of the run. */
  traceId: string;
  /** The span of the run or of the step, 16 hex digits; absent when nothing is traced. */
  spanId?: string;
  /** Epoch milliseconds. */
  at: number;
}

/** How a step ended. */
export type StepState = "ok" | "failed" | "skipped" | "unknown";

/** Something that happened within a run, told apart by `type`. */
export type RunEvent =
  & RunEventHead
  & (
    | { type: "run-started"; attempt: number; lateMs: number; steps: readonly string[] }
    | { type: "step-started"; step: string; uses: string; effect: StepEffect; attempt: number }
    | { type: "step-reused"; step: string }
    | { type: "step-progress"; step: string; done?: number; total?: number; text: string }
    | { type: "step-retry"; step: string; attempt: number; waitMs: number; error: string }
    | {
      type: "step-ended";
      step: string;
      state: StepState;
      tookMs: number;
      reason?: string;
      /** Class of the error that ended it. */
      errorName?: string;
    }
    | {
      type: "log";
      step: string;
      level: "debug" | "info" | "warn" | "error";
      message: string;
      data?: unknown;
    }
    /** Something about the run as a whole that somebody should know. */
    | { type: "warning"; message: string }
    | { type: "artifact"; step: string; dataset: string; path: string; revision: number; isNew: boolean }
    | { type: "run-ended"; state: RunState | "lost"; reason?: string; tookMs: number }
  );

/** An event before it has its head. */
export type BareRunEvent = RunEvent extends infer E ? E extends RunEvent ? Omit<E, keyof RunEventHead> : never
  : never;
