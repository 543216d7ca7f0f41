/**
 * Defines recipes and custom steps in TypeScript. A custom step is a file beside the recipe. It runs in its own process
 * with only the permissions that it names.
 *
 * @module
 */
import type { StepPermissions } from "./compiled.ts";
import type { RecipeSource } from "./schema/recipe_source.ts";

/**
 * Returns its argument; an editor completes the recipe and checks its types.
 *
 * @example A recipe in TypeScript, as the default export of its file
 * ```ts
 * import { defineRecipe } from "hsgate/recipes";
 *
 * export default defineRecipe({
 *   name: "morning",
 *   schedule: { calendar: "XHKG", at: "open-10m" },
 *   steps: [{ id: "funds", uses: "account.funds", with: { market: "hk" } }],
 * });
 * ```
 */
export function defineRecipe(recipe: RecipeSource): RecipeSource {
  return recipe;
}

/** Type of a step's parameter. */
export interface StepParam {
  /** Type of the value. */
  type: "text" | "number" | "integer" | "boolean" | "decimal" | "date" | "list";
  /** Value if the recipe omits the parameter; without a default, the recipe must give a value. */
  default?: unknown;
  /** Meaning of the parameter. */
  description?: string;
}

/** Type of a member of a step's output. */
export interface StepOutput {
  /** Type of the value. */
  type: StepParam["type"];
  /** Meaning of the output. */
  description?: string;
}

/** The value of each type of parameter. */
export interface ParamValues {
  /** A text. */
  text: string;
  /** A number. */
  number: number;
  /** A whole number. */
  integer: number;
  /** True or false. */
  boolean: boolean;
  /** An exact decimal number as text. */
  decimal: string;
  /** A date, `yyyy-MM-dd`. */
  date: string;
  /** A list of values. */
  list: unknown[];
}

/** The values of a step's parameters. */
export type StepParams<S extends Readonly<Record<string, StepParam>>> = {
  [K in keyof S]: ParamValues[S[K]["type"]];
};

/** Context of a custom step. */
export interface OwnStepContext {
  /** Name of the recipe. */
  recipe: string;
  /** Key of the run. */
  runKey: string;
  /** Key of the step in the run. */
  stepKey: string;
  /** The slot of the run, ISO 8601 in UTC. */
  slot: string;
  /** The session of the slot; open and close are ISO 8601 with the exchange's UTC offset. */
  session?: { date: string; open: string; close: string; halfDay: boolean };
  /** The last session before the day of the run. */
  previousSession?: { date: string; open: string; close: string; halfDay: boolean };
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Folder for files. The step may write there only if its permissions name the folder. */
  out: string;
  /**
   * Calls an operation of the catalogue with the run's client; returns complete lists. A step with the effect `read` or
   * `local` may call only reads.
   */
  call(operation: string, params?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /**
   * Reports what the broker's lists show about a write with an unknown outcome. Before this report, the step can send
   * no other write. One exception: after an unresolved cancellation, it can send further cancellations. Without the
   * report the run ends as `unknown`, even if the step catches the error.
   *
   * @param error The error that `call` threw.
   * @param outcome `ok` if the write was executed, `refused` if it was not executed and no longer can be.
   */
  proven(error: unknown, outcome: "ok" | "refused"): void;
  /** Writes a line to the log of the run. */
  log(
    level: "debug" | "info" | "warn" | "error",
    message: string,
    data?: Readonly<Record<string, unknown>>,
  ): void;
  /** Reports progress for displays. */
  progress(event: { done?: number; total?: number; text: string }): void;
}

/** A custom step. */
export interface OwnStep<S extends Readonly<Record<string, StepParam>>, O> {
  /** One line that says what the step does. */
  summary?: string;
  /** Effect of the step, which decides whether it may run again. `local` is for a step that calls no operation. */
  effect: "read" | "local" | "write";
  /** Permissions that the step's process needs. @default none */
  permissions?: StepPermissions;
  /** Parameters that recipes may give. @default none */
  params?: S;
  /**
   * Members of the output that recipes may use; the compiler rejects expressions with other members. A member may be
   * null or absent. `ok` is always a member.
   *
   * @default expressions may use any member, unchecked
   */
  outputs?: Readonly<Record<string, StepOutput>>;
  /** Runs the step; the output is plain JSON data. */
  run(params: StepParams<S>, context: OwnStepContext): Promise<O> | O;
}

/**
 * Returns its argument; an editor completes the step and infers its parameter types.
 *
 * @example A step that counts the fills of today, as the default export of its file
 * ```ts
 * import { defineStep } from "hsgate/recipes";
 *
 * export default defineStep({
 *   effect: "read",
 *   params: { market: { type: "text", default: "hk" } },
 *   async run({ market }, { call }) {
 *     const fills = await call("fills.today", { market });
 *     return { ok: true, fills: Array.isArray(fills) ? fills.length : 0 };
 *   },
 * });
 * ```
 */
export function defineStep<const S extends Readonly<Record<string, StepParam>>, O>(
  step: OwnStep<S, O>,
): OwnStep<S, O> {
  return step;
}
