/**
 * A recipe's dry run: what reads is done, what writes is planned, and nothing is changed anywhere.
 *
 * @module
 */
import type { CompiledRecipe, CompiledStep, StepContext, StepEffect } from "./compiled.ts";

/** What became of a step in a dry run. */
export type DryState =
  /** It was done, as it only reads. */
  | "read"
  /** It was planned: `plan` says what it would do. */
  | "planned"
  /** What it would do depends on the outcome of earlier steps that were not done. */
  | "open"
  /** A run would leave it out, `reason` says why. */
  | "left-out"
  /** Nothing that is written depends on it, or it would leave something behind; a run would do it. */
  | "not-done"
  | "failed";

/** One step of a dry run. */
export interface DryStep {
  id: string;
  uses: string;
  effect: StepEffect;
  state: DryState;
  plan?: unknown;
  /** Earlier steps whose outcome it depends on. */
  dependsOn?: readonly string[];
  reason?: string;
  /** What it read. */
  output?: unknown;
}

/** Something that a run would write at the broker. */
export interface PlannedWrite {
  /** Its place among the writes, from 1. */
  order: number;
  step: string;
  uses: string;
  /** What it would do; absent where that depends on earlier steps. */
  plan?: unknown;
  dependsOn?: readonly string[];
  /** Its parameters as they are written, where they could not be filled. */
  written?: unknown;
}

/** What a dry run found. */
export interface DryRun {
  name: string;
  ok: boolean;
  steps: DryStep[];
  /** In the order in which they would be sent. */
  writes: PlannedWrite[];
  /** What ended it early. */
  error?: unknown;
}

/** What a dry run is handed: everything of a step's context that does not differ from step to step. */
export type DryContext =
  & Omit<StepContext, "stepKey" | "attempt" | "outputs" | "artifact" | "runRecipe" | "progress" | "log">
  & {
    /** Told when a step begins and when it is over. */
    onStep?(step: { id: string; index: number; steps: number; done?: DryStep }): void;
  };

/**
 * Goes through a recipe without writing. A recipe that writes nothing is not run at all; of one that writes, the steps
 * that read are run up to the last write, as each of them could keep that from happening.
 *
 * The client of `context` should refuse writes by itself; no step that writes is run in any case.
 */
export async function dryRunRecipe(recipe: CompiledRecipe, context: DryContext): Promise<DryRun> {
  return await new Rehearsal(recipe, context).go();
}

class Rehearsal {
  readonly #recipe: CompiledRecipe;
  readonly #context: DryContext;
  readonly #outputs: Record<string, unknown> = {};
  readonly #done = new Map<string, DryStep>();
  readonly #writes: PlannedWrite[] = [];
  readonly #lastWrite: number;
  #failed: string | undefined;
  #error: unknown;

  constructor(recipe: CompiledRecipe, context: DryContext) {
    this.#recipe = recipe;
    this.#context = context;
    this.#lastWrite = recipe.steps.findLastIndex(({ effect }) => effect === "write");
  }

  async go(): Promise<DryRun> {
    const { name, steps } = this.#recipe;
    for (const [index, step] of steps.entries()) {
      const { id, uses, effect } = step;
      this.#context.signal.throwIfAborted();
      this.#context.onStep?.({ id, index, steps: steps.length });
      const done = { id, uses, effect, ...await this.#look(step, index) };
      this.#done.set(id, done);
      if (effect === "write" && (done.state === "planned" || done.state === "open")) {
        this.#writes.push(this.#writeOf(step, done));
      }
      this.#context.onStep?.({ id, index, steps: steps.length, done });
    }
    const ok = this.#failed === undefined;
    return {
      name,
      ok,
      steps: [...this.#done.values()],
      writes: this.#writes,
      ...this.#error !== undefined && { error: this.#error },
    };
  }

  #writeOf({ id, uses, written }: CompiledStep, { plan, dependsOn }: DryStep): PlannedWrite {
    return {
      order: this.#writes.length + 1,
      step: id,
      uses,
      ...plan === undefined ? { written } : { plan },
      ...dependsOn !== undefined && { dependsOn },
    };
  }

  async #look(step: CompiledStep, index: number): Promise<Omit<DryStep, "id" | "uses" | "effect">> {
    const gone = step.needs.find((id) => ["left-out", "failed"].includes(this.#done.get(id)?.state ?? ""));
    if (gone !== undefined) return { state: "left-out", reason: `needs "${gone}"` };
    if (this.#failed !== undefined) {
      return step.effect === "write"
        ? { state: "left-out", reason: `step "${this.#failed}" failed` }
        : { state: "not-done" };
    }
    if (this.#lastWrite < 0) return { state: "not-done" };
    const missing = (step.reads ?? []).filter((id) => !(id in this.#outputs));
    if (missing.length > 0) return { state: "open", dependsOn: missing };
    try {
      return await this.#do(step, index);
    } catch (error) {
      if (this.#context.signal.aborted) throw error;
      this.#failed = step.id;
      this.#error = error;
      return { state: "failed", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  async #do(step: CompiledStep, index: number): Promise<Omit<DryStep, "id" | "uses" | "effect">> {
    const context = this.#contextOf(step);
    if (step.condition !== undefined && !step.condition(context)) {
      return { state: "left-out", reason: "condition" };
    }
    if (step.plan !== undefined) return { state: "planned", plan: plainOf(await step.plan(context)) };
    if (step.effect === "write") return { state: "open", dependsOn: [] };
    if (step.effect === "local" || index > this.#lastWrite) return { state: "not-done" };
    const output = this.#outputs[step.id] = plainOf(await step.run(context));
    if (typeof output === "object" && output !== null && "ok" in output && output.ok === false) {
      this.#failed = step.id;
      return { state: "failed", reason: "something does not add up", output };
    }
    return { state: "read", output };
  }

  #contextOf(step: CompiledStep): StepContext {
    const { onStep: _, ...shared } = this.#context;
    const limit = step.timeoutMs === undefined ? undefined : AbortSignal.timeout(step.timeoutMs);
    return {
      ...shared,
      ...limit !== undefined && { signal: AbortSignal.any([shared.signal, limit]) },
      stepKey: `${shared.runKey}#${step.id}`,
      attempt: 1,
      outputs: this.#outputs,
      keepWithin: true,
      log: () => {},
      progress: () => {},
      artifact: () => {},
      runRecipe: (name) => Promise.reject(new TypeError(`Cannot run recipe "${name}": this is a dry run`)),
    };
  }
}

/** What later steps see, as the ledger would have kept it. */
function plainOf(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_key, each) => typeof each === "bigint" ? `${each}` : each),
  );
}
