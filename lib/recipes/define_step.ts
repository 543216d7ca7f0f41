/**
 * Steps of one's own: a TypeScript file beside the recipe, run in a process of its own with the permissions that it
 * names.
 *
 * @module
 */

/** What a parameter of a step may hold. */
export interface StepParam {
  type: "text" | "number" | "integer" | "boolean" | "decimal" | "date" | "list";
  /** Used where the recipe leaves it out; without one the recipe must give it. */
  default?: unknown;
  description?: string;
}

/** What a member of a step's output holds. */
export interface StepOutput {
  type: StepParam["type"];
  description?: string;
}

interface TypeOf {
  text: string;
  number: number;
  integer: number;
  boolean: boolean;
  decimal: string;
  date: string;
  list: unknown[];
}

/** The parameters that such a description stands for. */
export type StepParams<S extends Readonly<Record<string, StepParam>>> = {
  [K in keyof S]: TypeOf[S[K]["type"]];
};

/** What the process of a step may reach; nothing that is not named. */
export interface StepPermissions {
  /** Hosts, such as `api.example.com` or `127.0.0.1:8080`. */
  net?: readonly string[];
  /** Files and folders, from the folder of the step's file. */
  read?: readonly string[];
  /** Files and folders, from the folder of the step's file. */
  write?: readonly string[];
  /** Environment variables by name; the process has no others but those that Deno itself needs. */
  env?: readonly string[];
  /** Programs. */
  run?: readonly string[];
}

/** What a step of one's own is handed. */
export interface OwnStepContext {
  recipe: string;
  runKey: string;
  stepKey: string;
  /** ISO 8601 in UTC. */
  slot: string;
  session?: { date: string; open: string; close: string; halfDay: boolean };
  previousSession?: { date: string; open: string; close: string; halfDay: boolean };
  attempt: number;
  /** Folder for files. Writing there takes the permission. */
  out: string;
  /**
   * Calls an operation of the catalogue through the client of the run; lists come whole. A step with the effect
   * `read` or `local` may call what reads alone.
   */
  call(operation: string, params?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /**
   * Says what the broker's lists showed of a write whose outcome was unknown. Until then the run sends no other write,
   * and without it the run ends as `unknown`, even when the step catches the error.
   *
   * @param error What `call` threw.
   * @param outcome `ok` when the write was executed, `refused` when it was not and cannot be any more.
   */
  proven(error: unknown, outcome: "ok" | "refused"): void;
  log(
    level: "debug" | "info" | "warn" | "error",
    message: string,
    data?: Readonly<Record<string, unknown>>,
  ): void;
  progress(event: { done?: number; total?: number; text: string }): void;
}

/** A step of one's own. */
export interface OwnStep<S extends Readonly<Record<string, StepParam>>, O> {
  summary?: string;
  /** What running it again could do: `local` touches nothing of the broker. */
  effect: "read" | "local" | "write";
  /** @default none */
  permissions?: StepPermissions;
  /** What recipes may give. @default none */
  params?: S;
  /**
   * Members of the output that recipes may read; expressions are checked against them, and others are mistakes there.
   * A member may be null or left out. `ok` is always one of them.
   *
   * @default expressions may read any member, unchecked
   */
  outputs?: Readonly<Record<string, StepOutput>>;
  /** Does it; the output is plain data that JSON can hold. */
  run(params: StepParams<S>, context: OwnStepContext): Promise<O> | O;
}

/**
 * Returns a step as it was given: an editor completes it and types its parameters.
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
