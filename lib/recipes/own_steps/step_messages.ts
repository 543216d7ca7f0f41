/**
 * Defines the messages between the process of a step and the runner, one JSON object per line.
 *
 * @module
 */
import type { StepPermissions } from "../compiled.ts";
import type { OwnStepContext, StepOutput, StepParam } from "../define.ts";

/**
 * Prefix of each message line, which distinguishes messages from the step's own output. A step that prints the prefix
 * itself harms only its own recipe.
 */
export const MESSAGE_MARK = "\u0001hsgate ";

/** Messages to the step's process. */
export type ToStep =
  | { type: "describe" }
  | {
    type: "run";
    params: Record<string, unknown>;
    context: Omit<OwnStepContext, "call" | "proven" | "log" | "progress">;
  }
  | { type: "answer"; id: number; value: unknown }
  | { type: "refusal"; id: number; message: string };

/** Messages from the step's process. */
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

/** Properties of a step that are known before it runs. */
export interface StepDescription {
  summary: string;
  effect: "read" | "local" | "write";
  permissions: StepPermissions;
  params: Record<string, StepParam>;
  /** Members of its output; absent if the file declares none. */
  outputs?: Record<string, StepOutput>;
}
