/**
 * What a step is: one file that tells its parameters, what it may do, and how it is done.
 *
 * @module
 */
import type * as z from "zod";
import type { Issue } from "../../errors.ts";
import type { AsOfNow } from "../as_of_now.ts";
import type { StepContext, StepEffect, StepReach } from "../compiled.ts";
import type { Type } from "../expressions/value_types.ts";

/** A kind of step. `P` are its parameters once they are checked, `O` its output: plain data that JSON can hold. */
export interface StepKind<P = unknown, O = unknown> {
  /** Name that recipes use. */
  readonly name: string;
  /** What it does, in a line. */
  readonly summary: string;
  /** What running it again could do. */
  readonly effect: StepEffect;
  /** Whether it touches the trade login. */
  readonly needsAccount: (params: P) => boolean;
  /**
   * What it reads that answers as of now; members that are expressions may still be text. Its `run` refuses a slot
   * whose day is over.
   */
  readonly asOfNow?: (params: P) => AsOfNow | undefined;
  /** It does nothing but keep a login alive. */
  readonly keepAlive?: true;
  /** Hosts and paths that the parameters name, as they are written; they were not checked. */
  readonly reaches?: (given: Readonly<Record<string, unknown>>) => readonly StepReach[];
  /** The longest time between two runs at which it still does its work, ms; members may still be expressions. */
  readonly mostEveryMs?: (params: P) => number | undefined;
  /** Which parameter to give to a run whose slot has no session; nothing when it does without one. */
  readonly needsSession?: (params: P) => { path: Issue["path"]; instead: string } | undefined;
  /** The form of the parameters; free of transforms, so that JSON Schema can hold it. */
  readonly params: z.ZodType<P>;
  /** What it answers with: expressions are checked against it. Left out where another recipe decides. */
  readonly output?: z.ZodType<O>;
  /**
   * Finds what the types of parameters show that are expressions.
   *
   * @param typeOf What is known of a parameter; nothing for one that is left out.
   */
  readonly checkTypes?: (
    params: P,
    typeOf: (path: Issue["path"]) => Type | undefined,
    wrong: (path: Issue["path"], expected: string) => void,
  ) => void;
  /** Finds what only several parameters together show; members that are expressions may still be text. */
  readonly check?: (params: P, wrong: (path: Issue["path"], expected: string) => void) => void;
  /** Finds what must not stand in a recipe as it was written; what holes are filled with later is not asked. */
  readonly checkWritten?: (
    given: Readonly<Record<string, unknown>>,
    wrong: (path: Issue["path"], expected: string) => void,
  ) => void;
  /** Members that must be references to secrets, as a recipe never holds one. */
  readonly secretParams?: readonly Issue["path"][];
  /**
   * Does it.
   *
   * @param typeOf As for `checkTypes`.
   */
  run(params: P, context: StepContext, typeOf: (path: Issue["path"]) => Type | undefined): Promise<O>;
  /** What it would do, for a dry run. */
  plan?(params: P, context: StepContext): Promise<unknown>;
}

/** Keeps the types of a kind together while it is written. */
export function stepKind<P, O>(kind: StepKind<P, O>): StepKind<P, O> {
  return kind;
}
