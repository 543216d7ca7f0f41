/**
 * Declares what defines a kind of step: its parameters, its effect, and its implementation.
 *
 * @module
 */
import type * as z from "zod";
import type { Issue } from "../../errors.ts";
import type { AsOfNow, StepContext, StepEffect, StepReach } from "../compiled.ts";
import type { Type } from "../expressions/value_types.ts";

/** A kind of step. `P` are its checked parameters; `O` is its output, plain JSON data. */
export interface StepKind<P = unknown, O = unknown> {
  /** Name that recipes use. */
  readonly name: string;
  /** Summary in one line. */
  readonly summary: string;
  /** Effect of the step, which decides whether it may run again. */
  readonly effect: StepEffect;
  /** Whether the step uses the trade login. */
  readonly needsAccount: (params: P) => boolean;
  /**
   * Returns the present data that the step reads. Parameters that are expressions may still be text. `run` rejects a
   * slot whose day is over.
   */
  readonly asOfNow?: (params: P) => AsOfNow | undefined;
  /**
   * Set if a step that writes may begin again after it was interrupted. Such a step reads from the store what it has
   * already sent, and the order desk limits what it can send. It ends early if its run must stop.
   */
  readonly resumes?: true;
  /** Set if the step only keeps a login alive. */
  readonly keepAlive?: true;
  /** Hosts and paths that the parameters name, as the recipe wrote them; they are not checked yet. */
  readonly reaches?: (given: Readonly<Record<string, unknown>>) => readonly StepReach[];
  /** Longest interval between two runs at which the step still works, milliseconds; members may still be expressions. */
  readonly mostEveryMs?: (params: P) => number | undefined;
  /** The parameter that a run needs if its slot has no session; absent if it needs no such parameter. */
  readonly needsSession?: (params: P) => { path: Issue["path"]; instead: string } | undefined;
  /** Schema of the parameters, without transforms, so that JSON Schema can express it. */
  readonly params: z.ZodType<P>;
  /** Type of the output, which expressions are checked against. Absent if another recipe determines it. */
  readonly output?: z.ZodType<O>;
  /**
   * Checks the types of parameters that are expressions.
   *
   * @param typeOf Returns the known type of a parameter; `undefined` for an omitted parameter.
   */
  readonly checkTypes?: (
    params: P,
    typeOf: (path: Issue["path"]) => Type | undefined,
    wrong: (path: Issue["path"], expected: string) => void,
  ) => void;
  /** Checks several parameters together; members that are expressions may still be text. */
  readonly check?: (params: P, wrong: (path: Issue["path"], expected: string) => void) => void;
  /** Checks the parameters as the recipe wrote them, before expressions are evaluated. */
  readonly checkWritten?: (
    given: Readonly<Record<string, unknown>>,
    wrong: (path: Issue["path"], expected: string) => void,
  ) => void;
  /** Members that must be references to secrets, because a recipe never contains a secret. */
  readonly secretParams?: readonly Issue["path"][];
  /**
   * Runs the step.
   *
   * @param typeOf See `checkTypes`.
   */
  run(params: P, context: StepContext, typeOf: (path: Issue["path"]) => Type | undefined): Promise<O>;
  /** Returns what the step would do, for a dry run. */
  plan?(params: P, context: StepContext): Promise<unknown>;
}

/** Returns its argument. The call makes TypeScript infer the types of a kind. */
export function stepKind<P, O>(kind: StepKind<P, O>): StepKind<P, O> {
  return kind;
}
