/**
 * Adapts recipes to a rehearsal: the same steps run with the simulator and in virtual time. The rehearsal
 * records messages instead of sending them.
 *
 * @module
 */
import { isCompiled } from "../recipes/powers.ts";
import type { CompiledRecipe, CompiledStep, StepContext } from "../recipes/compiled.ts";

/** A message that a real run would have sent. */
export interface UnsentMessage {
  /** Unix milliseconds. */
  at: number;
  recipe: string;
  runKey: string;
  /** Channels: `chat`, `mail`, `webhook`, or the file of a custom step. */
  by: string[];
  /** Text of the message; absent for a custom step, whose message is not known. */
  text?: string;
}

/** Runs the steps of recipes in a rehearsal. */
export interface StepRunner {
  /** Runs a step. */
  runStep(step: CompiledStep, context: StepContext): Promise<unknown>;
  /** Records a message. */
  recordMessage(message: Omit<UnsentMessage, "at">): void;
}

/** Returns a recipe whose steps the rehearsal runs. */
export function simulatedRecipe(recipe: CompiledRecipe, runner: StepRunner): CompiledRecipe {
  const simulated = (step: CompiledStep, isNotice: boolean): CompiledStep => {
    const inner = sends(step, isNotice) ? recorded(step, runner) : step;
    const { runs } = step;
    return {
      ...step,
      ...typeof runs === "object" && isCompiled(runs) && { runs: simulatedRecipe(runs, runner) },
      run: (context) => runner.runStep(inner, context),
    };
  };
  return {
    ...recipe,
    // The rehearsal uses its own gateway, and monitoring services must not get pings.
    connect: undefined,
    ping: undefined,
    steps: recipe.steps.map((step) => simulated(step, false)),
    ...recipe.notify !== undefined && {
      notify: recipe.notify.map(({ channels: _, ...notice }) => ({
        ...notice,
        step: simulated(notice.step, true),
      })),
    },
  };
}

/** Returns whether a step sends a message. A custom step counts as such a step only in a notice. */
function sends({ uses }: CompiledStep, isNotice: boolean): boolean {
  return uses === "notify" || (isNotice && uses.endsWith(".ts"));
}

/** Returns a step that records its message instead of sending it. */
function recorded(step: CompiledStep, runner: StepRunner): CompiledStep {
  return {
    ...step,
    async run(context) {
      const { recipe, runKey } = context;
      // The plan of `notify` contains the message and its channels.
      const plan = await step.plan?.(context) as { tell: string; by: string[] } | undefined;
      const by = plan?.by ?? [step.uses];
      runner.recordMessage({ recipe, runKey, by, ...plan !== undefined && { text: plan.tell } });
      return { ok: true, sent: by };
    },
  };
}
