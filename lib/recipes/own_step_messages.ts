/**
 * What the process of a step and the process of the runner say to each other: one JSON object a line.
 *
 * @module
 */
import type { OwnStepContext, StepOutput, StepParam, StepPermissions } from "./define_step.ts";

/**
 * Begins each line that `serve` writes, so that what a step writes to stdout by itself is told from it. A step that
 * writes it by itself deceives nobody but its own recipe.
 */
export const MESSAGE_MARK = "\u0001hsgate ";

/** What the step's process is told. */
export type ToStep =
  | { type: "describe" }
  | {
    type: "run";
    params: Record<string, unknown>;
    context: Omit<OwnStepContext, "call" | "proven" | "log" | "progress">;
  }
  | { type: "answer"; id: number; value: unknown }
  | { type: "refusal"; id: number; message: string };

/** What the step's process tells. */
export type FromStep =
  | { type: "described"; about: StepDescription }
  | { type: "call"; id: number; operation: string; params: Record<string, unknown> }
  | { type: "proven"; id: number; outcome: "ok" | "refused" }
  | {
    type: "log";
    level: "debug" | "info" | "warn" | "error";
    message: string;
    data?: Record<string, unknown>;
  }
  | { type: "progress"; event: { done?: number; total?: number; text: string } }
  | { type: "done"; output: unknown }
  | { type: "exported"; value: unknown }
  | { type: "failed"; message: string };

/** What is known of a step before it runs. */
export interface StepDescription {
  summary: string;
  effect: "read" | "local" | "write";
  permissions: StepPermissions;
  params: Record<string, StepParam>;
  /** Members of its output; absent when the file declares none. */
  outputs?: Record<string, StepOutput>;
}
