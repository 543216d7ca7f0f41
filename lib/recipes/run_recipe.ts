/**
 * Runs a recipe once in this process, without a store, for scripts, demonstrations and tests. The runner does the same
 * with a store.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { BrokerError } from "../errors.ts";
import type { RunDay } from "./as_of_now.ts";
import type { CompiledRecipe, CompiledStep, StepContext, StepScope } from "./compiled.ts";
import { refusingGuard, WriteGuard } from "./guarded_client.ts";

/** Context of a run without a store. */
export interface RecipeContext {
  client: Client;
  /** Returns the time, Unix milliseconds. */
  now: () => number;
  /** Base of relative folders in the recipe. @default the current folder */
  out?: string;
  signal?: AbortSignal;
  /** Parameters to use instead of the recipe's own; `bindParams` checks them. */
  params?: Readonly<Record<string, unknown>>;
  /** Slot of the run, ISO 8601. @default now */
  slot?: string;
  session?: StepScope["session"];
  previousSession?: StepScope["previousSession"];
  /** Day of the run. @default the day of the session, or of the slot in UTC */
  day?: RunDay;
  /** Returns the value of a secret. @default throws */
  secret?: (name: string) => Promise<string>;
  /** Waits; replace it for a virtual clock. @default waits in real time */
  sleep?: (ms: number) => Promise<void>;
  /** Runs another recipe. @default throws */
  runRecipe?: StepContext["runRecipe"];
  onProgress?: (event: RecipeEvent) => void;
  /**
   * Allows a recipe to write. This function does not check the window and does not prevent a second run at the same
   * time; only the runner and its store do.
   *
   * @default false
   */
  allowWrites?: boolean;
}

/** Event of a running recipe. */
export type RecipeEvent =
  | { type: "step-started"; step: string; index: number; steps: number }
  | {
    type: "progress";
    step: string;
    uses: string;
    text: string;
    done?: number;
    total?: number;
    detail?: unknown;
  }
  | { type: "log"; step: string; level: "debug" | "info" | "warn" | "error"; message: string }
  | { type: "artifact"; step: string; dataset: string; path: string; final: boolean }
  | { type: "step-skipped"; step: string; index: number; steps: number }
  | { type: "step-failed"; step: string; index: number; steps: number; error: unknown }
  | { type: "step-done"; step: string; index: number; steps: number; ok: boolean; output: unknown };

/** Result of one step. */
export interface StepResult {
  id: string;
  uses: string;
  /** Whether the step succeeded and reported no problem. */
  ok: boolean;
  /** Its condition was false, or a step that it needs was skipped. */
  skipped?: true;
  /** Output of the step. */
  output: unknown;
}

/** Result of a run. */
export interface RecipeResult {
  name: string;
  steps: StepResult[];
  ok: boolean;
}

/**
 * Runs the steps one after the other. The first error ends the run, without a retry.
 *
 * @throws {TypeError} If the recipe writes and the context does not allow it.
 */
export async function runRecipe(recipe: CompiledRecipe, context: RecipeContext): Promise<RecipeResult> {
  if (recipe.class === "write" && !context.allowWrites) {
    throw new TypeError(
      `Cannot run recipe "${recipe.name}" here: it writes, so it needs the runner and its store`,
    );
  }
  const { now, out = "", signal = new AbortController().signal } = context;
  const slot = context.slot ?? Temporal.Instant.fromEpochMilliseconds(now()).toString();
  const day = context.day ?? dayOf(slot, context.session);
  const outputs: Record<string, unknown> = {};
  const steps: StepResult[] = [];
  const scope: StepScope = {
    recipe: recipe.name,
    runKey: `${recipe.name}/manual/${slot}`,
    slot,
    ...context.session !== undefined && { session: context.session },
    ...context.previousSession !== undefined && { previousSession: context.previousSession },
    params: context.params ?? recipe.params,
    outputs,
  };
  for (const [index, step] of recipe.steps.entries()) {
    signal.throwIfAborted();
    const { id, uses } = step;
    const place = { step: id, index, steps: recipe.steps.length };
    const isWanted = step.needs.every((need) => need in outputs) && (step.condition?.(scope) ?? true);
    if (!isWanted) {
      steps.push({ id, uses, ok: true, skipped: true, output: undefined });
      context.onProgress?.({ type: "step-skipped", ...place });
      continue;
    }
    context.onProgress?.({ type: "step-started", ...place });
    const limit = step.timeoutMs === undefined ? undefined : AbortSignal.timeout(step.timeoutMs);
    const guard = step.effect === "write" ? new WriteGuard() : refusingGuard(step);
    const work = step.run({
      ...scope,
      day,
      stepKey: `${scope.runKey}/${id}`,
      attempt: 1,
      signal: limit === undefined ? signal : AbortSignal.any([signal, limit]),
      now,
      ...context.sleep !== undefined && { sleep: context.sleep },
      client: () => Promise.resolve(guard.guard(context.client)),
      proven: (error, outcome) => guard.prove(error, outcome),
      out,
      log: (level, message) => context.onProgress?.({ type: "log", step: id, level, message }),
      progress: (event) => context.onProgress?.({ type: "progress", step: id, uses, ...event }),
      artifact: ({ dataset, path, final }) =>
        context.onProgress?.({ type: "artifact", step: id, dataset, path, final }),
      secret: context.secret ?? refuseSecret,
      runRecipe: context.runRecipe ?? refuseRecipe,
    });
    const checked = work.then((value) => {
      if (guard.unresolvedError !== undefined) throw guard.unresolvedError;
      return value;
    });
    const output = await checked.finally(() => guard.close()).catch((thrown) => {
      const error = limit?.aborted && thrown === limit.reason ? tookTooLong(step) : thrown;
      context.onProgress?.({ type: "step-failed", ...place, error });
      throw error;
    });
    outputs[id] = output;
    const ok = !(typeof output === "object" && output !== null && "ok" in output && output.ok === false);
    steps.push({ id, uses, ok, output });
    context.onProgress?.({ type: "step-done", ...place, ok, output });
  }
  return { name: recipe.name, steps, ok: steps.every(({ ok }) => ok) };
}

/** Returns the scope of a session; its times have the offset of the exchange. */
function dayOf(slot: string, session: StepScope["session"]): RunDay {
  const date = session?.date ?? Temporal.Instant.from(slot).toString().slice(0, 10);
  return { date, zone: /[+-]\d\d:\d\d$/.exec(session?.open ?? "")?.[0] ?? "UTC" };
}

function tookTooLong({ id, timeoutMs }: CompiledStep): BrokerError {
  return new BrokerError(`Cannot finish step "${id}": it took more than ${timeoutMs} ms`, {
    code: "timeout",
  });
}

function refuseSecret(name: string): Promise<string> {
  return Promise.reject(new TypeError(`Cannot read secret "${name}": this run has no secrets`));
}

function refuseRecipe(name: string): Promise<unknown> {
  return Promise.reject(new TypeError(`Cannot run recipe "${name}": this run has no other recipes`));
}
