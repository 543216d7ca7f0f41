/**
 * What a step is handed in a run that stands in the ledger: whatever it says or makes passes the redactor and is
 * written down under the claim.
 *
 * @module
 */
import type { CompiledRecipe, CompiledStep, StepContext, StepScope } from "../steps/compiled.ts";
import type { WriteGuard } from "../steps/guarded_client.ts";
import type { CallingStep, Claim } from "./claims.ts";
import type { Surroundings } from "./run.ts";
import type { BareRunEvent } from "./run_events.ts";
import { stepKeyOf } from "./run_key.ts";
import { recordArtifact } from "./step_rows.ts";

/** What the context of one attempt is made of. */
export interface ContextParts {
  scope: StepScope & Pick<StepContext, "day">;
  attempt: number;
  claim: Claim;
  recipe: CompiledRecipe;
  around: Surroundings;
  /** Checks each write of the step and keeps what became of it. */
  guard: WriteGuard;
  /** Given when the run is to end before its time. */
  halt: AbortSignal;
  tell(event: BareRunEvent): void;
}

/** Makes the context; its signal and its way to wait belong to the attempt. */
export function contextOf(
  step: CompiledStep,
  { scope, attempt, claim, recipe, around, guard, halt, tell }: ContextParts,
): Omit<StepContext, "signal" | "sleep"> {
  const { ledger, host, out, redactor, client, secret, runRecipe } = around;
  const calling: CallingStep = { ...claim, step: step.id, calls: new Map(), halt };
  return {
    ...scope,
    stepKey: stepKeyOf(claim.runKey, step.id),
    attempt,
    out,
    now: around.timeOf?.(recipe) ?? (() => host.now()),
    client: async () => guard.guard(await client(recipe)),
    proven: (error, outcome) => guard.prove(error, outcome),
    log: (level, message, data) => tell({ type: "log", step: step.id, level, message, data }),
    progress: (event) => tell({ type: "step-progress", step: step.id, ...event }),
    artifact: (file) => {
      redactor.checkFile(file.path);
      const path = redactor.text(file.path);
      const made = { ...file, path, businessDay: file.businessDay ?? scope.day.date };
      const recorded = recordArtifact(ledger, claim, made, host.now());
      tell({ type: "artifact", step: step.id, dataset: file.dataset, path, ...recorded });
    },
    secret: async (name) => {
      const value = await secret(name);
      redactor.add(value, `secret "${name}"`);
      return value;
    },
    runRecipe: async (name, params) => {
      if (runRecipe === undefined) {
        throw new TypeError(`Cannot run recipe "${name}": not within this program`);
      }
      return await runRecipe(calling, name, params);
    },
  };
}
