/**
 * Runs a recipe without writing: steps that read run, steps that write are only planned.
 *
 * @module
 */
import type { CompiledRecipe, CompiledStep, StepContext, StepEffect } from "./compiled.ts";

/** Result of a step in a dry run. */
export type DryState =
  /** It ran, because it only reads. */
  | "read"
  /** It was planned: `plan` describes what it would do. */
  | "planned"
  /** Its action depends on earlier steps that did not run. */
  | "open"
  /** A run would skip it; `reason` says why. */
  | "left-out"
  /** It did not run, because no write depends on it or because it would leave files behind. A real run would run it. */
  | "not-done"
  | "failed";

/** One step of a dry run. */
export interface DryStep {
  id: string;
  uses: string;
  effect: StepEffect;
  state: DryState;
  plan?: unknown;
  /** Earlier steps on which it depends. */
  dependsOn?: readonly string[];
  reason?: string;
  /** Its output. */
  output?: unknown;
}

/** A write at the broker that a run would make. */
export interface PlannedWrite {
  /** Its position among the writes, from 1. */
  order: number;
  step: string;
  uses: string;
  /** Description of the write; absent if it depends on earlier steps. */
  plan?: unknown;
  dependsOn?: readonly string[];
  /** Its parameters as written in the recipe, if their values are unknown. */
  written?: unknown;
}

/** Result of a dry run. */
export interface DryRun {
  name: string;
  ok: boolean;
  steps: DryStep[];
  /** In the order in which they would be sent. */
  writes: PlannedWrite[];
  /** Error that ended it early. */
  error?: unknown;
}

/** Context of a dry run: the parts of a step context that are the same for all steps. */
type DryContext =
  & Omit<StepContext, "stepKey" | "attempt" | "outputs" | "artifact" | "runRecipe" | "progress" | "log">
  & {
    /** Called when a step starts and when it ends. */
    onStep?(step: { id: string; index: number; steps: number; done?: DryStep }): void;
  };

/**
 * Runs a recipe without writing. It runs nothing of a recipe that only reads. For a recipe that writes, it runs the
 * reading steps before the last write, because each could prevent that write.
 *
 * The client of `context` should also reject writes; in any case no step that writes runs.
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
      return { state: "failed", reason: 'the step reported a problem: its output has "ok": false', output };
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

/** Returns the output for later steps, in the form that the store would keep. */
function plainOf(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_key, each) => typeof each === "bigint" ? `${each}` : each),
  );
}
