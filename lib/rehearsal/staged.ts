/**
 * Recipes as a rehearsal runs them: the same steps, connected to the simulator, on virtual time. What would leave the
 * machine is written down in its place.
 *
 * @module
 */
import type { CompiledRecipe, CompiledStep, StepContext } from "../steps/compiled.ts";

/** A message that a recipe would have sent. */
export interface Told {
  /** Epoch milliseconds. */
  at: number;
  recipe: string;
  runKey: string;
  /** Ways: `chat`, `mail`, `webhook`, or the file of a step. */
  by: string[];
  /** What it says; nothing when a step of one's own would have said it. */
  text?: string;
}

/** What runs the steps of staged recipes. */
export interface Stage {
  /** Runs a step's work, and knows when it only waits. */
  perform(step: CompiledStep, context: StepContext): Promise<unknown>;
  /** Takes down a message. */
  tell(told: Omit<Told, "at">): void;
}

/** Puts a recipe on the stage. */
export function staged(recipe: CompiledRecipe, stage: Stage): CompiledRecipe {
  const play = (step: CompiledStep, isNotice: boolean): CompiledStep => {
    const inner = sends(step, isNotice) ? noted(step, stage) : step;
    return { ...step, run: (context) => stage.perform(inner, context) };
  };
  return {
    ...recipe,
    // Neither a gateway of its own nor a service that minds whether it runs.
    connect: undefined,
    ping: undefined,
    steps: recipe.steps.map((step) => play(step, false)),
    ...recipe.notify !== undefined && {
      notify: recipe.notify.map(({ channels: _, ...notice }) => ({
        ...notice,
        step: play(notice.step, true),
      })),
    },
  };
}

/** Tells whether a step is a message: nobody else knows what a step of one's own sends, so as a notice it is one. */
function sends({ uses }: CompiledStep, isNotice: boolean): boolean {
  return uses === "notify" || (isNotice && uses.endsWith(".ts"));
}

/** A step that writes its message down. */
function noted(step: CompiledStep, stage: Stage): CompiledStep {
  return {
    ...step,
    async run(context) {
      const { recipe, runKey } = context;
      // The plan of `notify` says what it would tell, and by which ways.
      const plan = await step.plan?.(context) as { tell: string; by: string[] } | undefined;
      const by = plan?.by ?? [step.uses];
      stage.tell({ recipe, runKey, by, ...plan !== undefined && { text: plan.tell } });
      return { ok: true, sent: by };
    },
  };
}
