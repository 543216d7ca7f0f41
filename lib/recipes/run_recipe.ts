/**
 * Runs a recipe in this process without a store, for scripts, demonstrations and tests. Also makes dry runs.
 *
 * @module
 */
import { builtInCalendars, type Calendars } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { Redactor } from "../redact.ts";
import { machineWith } from "../time.ts";
import type { CompiledRecipe, RunDay, StepContext, StepEffect, StepScope } from "./compiled.ts";
import { modes, noRecorder, type PlannedState, StepEngine, type StepEvent } from "./engine/engine.ts";
import type { RunScope } from "./engine/step_context.ts";

/** Context of a run without a store. */
export interface RecipeContext {
  /** Client for the operations of the steps. */
  client: Client;
  /** Returns the time, Unix milliseconds. */
  now: () => number;
  /** Trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /** Base of relative folders in the recipe. @default the current folder */
  out?: string;
  /** Aborting it stops the run. */
  signal?: AbortSignal;
  /** Values of all parameters, as `bindParams` returns them; not checked again. @default the recipe's defaults */
  params?: Readonly<Record<string, unknown>>;
  /** Slot of the run, ISO 8601. @default now */
  slot?: string;
  /** The session of the slot. */
  session?: StepScope["session"];
  /** The last session before the day of the run. */
  previousSession?: StepScope["previousSession"];
  /** Day of the run. @default the day of the session, or of the slot in UTC */
  day?: RunDay;
  /** Returns the value of a secret. @default throws */
  secret?: (name: string) => Promise<string>;
  /** Removes secrets from outputs. @default removes only the secrets that the run reads */
  redactor?: Redactor;
  /** Waits; replace it for a virtual clock. @default waits in real time */
  sleep?: (ms: number) => Promise<void>;
  /** Runs another recipe. @default throws */
  runRecipe?: StepContext["runRecipe"];
  /** Called with each event of the run. */
  onProgress?: (event: RecipeEvent) => void;
  /**
   * Allows a recipe to write. The run does not check the window, and does not prevent a second run at the same
   * time. The runner, which has a store, does both.
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
  /** Name of the step. */
  id: string;
  /** The step of hsgate, the operation, or the file. */
  uses: string;
  /** Whether the step was skipped, or succeeded and reported no problem. */
  ok: boolean;
  /**
   * Set if the condition was false, or if a needed step was skipped or reported a problem. For a step that writes, also
   * set if any earlier step reported a problem.
   */
  skipped?: true;
  /** Output of the step. */
  output: unknown;
}

/** Result of a run. */
export interface RecipeResult {
  /** Name of the recipe. */
  name: string;
  /** Results of the steps, in their order. */
  steps: StepResult[];
  /** Whether every step was ok. */
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
  const { now, out = "", signal = new AbortController().signal, session, previousSession } = context;
  const slot = context.slot ?? Temporal.Instant.fromEpochMilliseconds(now()).toString();
  const emit = (event: RecipeEvent) => context.onProgress?.(event);
  const engine = new StepEngine(recipe, {
    scope: {
      recipe: recipe.name,
      runKey: `${recipe.name}/manual/${slot}`,
      slot,
      ...session !== undefined && { session },
      ...previousSession !== undefined && { previousSession },
      params: context.params ?? recipe.params,
      day: context.day ?? dayOfSlot(slot, session),
    },
    deps: {
      machine: machineWith({ now }),
      calendars: () => context.calendars ?? builtInCalendars,
      out,
      redactor: context.redactor ?? new Redactor(),
      ...context.sleep !== undefined && { sleep: context.sleep },
      client: () => Promise.resolve(context.client),
      secret: context.secret ?? refuseSecret,
    },
    mode: modes.once,
    recorder: {
      ...noRecorder,
      artifact: ({ id: step }, { dataset, path, final }) =>
        Promise.resolve(emit({ type: "artifact", step, dataset, path, final })),
    },
    halt: signal,
    onEvent(event) {
      for (const each of recipeEvents(recipe, event)) emit(each);
    },
    ...context.runRecipe !== undefined && {
      runRecipe: (_call, name, params) => context.runRecipe!(name, params), // the condition above has checked it
    },
  });
  if (!await engine.run()) throw signal.reason;
  const steps = recipe.steps.map(({ id, uses }): StepResult => {
    const state = engine.states.get(id);
    const isSkipped = state === "skipped";
    return {
      id,
      uses,
      ok: state === "ok" || isSkipped,
      ...isSkipped && { skipped: true },
      output: engine.outputs[id],
    };
  });
  return { name: recipe.name, steps, ok: steps.every(({ ok }) => ok) };
}

/** Converts an event of the engine for listeners of a run without a store. */
function recipeEvents({ steps }: CompiledRecipe, event: StepEvent): RecipeEvent[] {
  const { step } = event;
  const index = steps.findIndex(({ id }) => id === step);
  const place = { step, index, steps: steps.length };
  switch (event.type) {
    case "step-started":
      return [{ type: "step-started", ...place }];
    case "step-progress":
      // The engine reports only steps of the recipe.
      return [{ ...event, type: "progress", uses: steps[index]!.uses }];
    case "log":
      return [{ type: "log", step, level: event.level, message: event.message }];
    case "step-ended":
      if (event.state === "skipped") return [{ type: "step-skipped", ...place }];
      if ("thrown" in event) return [{ type: "step-failed", ...place, error: event.thrown }];
      return [{ type: "step-done", ...place, ok: event.state === "ok", output: event.output }];
    default:
      return [];
  }
}

/** Returns the day of a session in the exchange's time zone; without a session, the day of the slot in UTC. */
function dayOfSlot(slot: string, session: StepScope["session"]): RunDay {
  const date = session?.date ?? Temporal.Instant.from(slot).toString().slice(0, 10);
  return { date, zone: /[+-]\d\d:\d\d$/.exec(session?.open ?? "")?.[0] ?? "UTC" };
}

function refuseSecret(name: string): Promise<string> {
  return Promise.reject(new TypeError(`Cannot read secret "${name}": this run has no secrets`));
}

/** Result of a step in a dry run. */
export type DryState =
  /** The step ran, because it only reads. */
  | "read"
  /** A run would skip the step; `reason` says why. */
  | "left-out"
  | "failed"
  | PlannedState;

/** One step of a dry run. */
export interface DryStep {
  id: string;
  uses: string;
  effect: StepEffect;
  state: DryState;
  plan?: unknown;
  /** Earlier steps on which the step depends. */
  dependsOn?: readonly string[];
  reason?: string;
  /** Output of the step. */
  output?: unknown;
}

/** A write at the broker that a run would make. */
export interface PlannedWrite {
  /** Position among the writes, from 1. */
  order: number;
  step: string;
  uses: string;
  /** Description of the write; absent if it depends on earlier steps. */
  plan?: unknown;
  dependsOn?: readonly string[];
  /** The parameters as the recipe has them, if their values are unknown. */
  written?: unknown;
}

/** Result of a dry run. */
export interface DryRun {
  name: string;
  ok: boolean;
  steps: DryStep[];
  /** In the order in which they would be sent. */
  writes: PlannedWrite[];
  /** Error that ended the dry run early. */
  error?: unknown;
}

/** Context of a dry run. */
interface DryContext {
  scope: RunScope;
  /** Returns the time, Unix milliseconds. */
  now: () => number;
  calendars: Calendars;
  /** Folder for files. */
  out: string;
  signal: AbortSignal;
  client(): Promise<Client>;
  secret(name: string): Promise<string>;
  redactor: Redactor;
}

/**
 * Plans a recipe without writing. It runs nothing of a recipe that only reads. For a recipe that writes, it runs the
 * reading steps before the last write, because each could prevent that write. A reading step that has a plan, such as
 * `wait-for`, is only planned.
 *
 * The client of `context` should also reject writes; in any case no step that writes runs.
 */
export async function dryRunRecipe(recipe: CompiledRecipe, context: DryContext): Promise<DryRun> {
  const { scope, now, calendars, out, signal, client, secret, redactor } = context;
  const steps: DryStep[] = [];
  const errors: unknown[] = [];
  const engine = new StepEngine(recipe, {
    scope,
    deps: { machine: machineWith({ now }), calendars: () => calendars, out, redactor, client, secret },
    mode: modes.dry,
    recorder: noRecorder,
    halt: signal,
    onEvent(event) {
      if (event.type !== "step-ended" && event.type !== "step-planned") return;
      const { id, uses, effect } = recipe.steps.find(({ id }) => id === event.step)!; // the engine runs only these
      steps.push({ id, uses, effect, ...dryResult(event) });
      if (event.type === "step-ended" && "thrown" in event) errors.push(event.thrown);
    },
    runRecipe: (_call, name) => {
      throw new TypeError(`Cannot run recipe "${name}": this is a dry run`);
    },
  });
  const ranAll = await engine.run();
  const [error] = errors;
  // After an abort, an error may come from the abort and not from the recipe.
  if (signal.aborted && (!ranAll || error !== undefined)) throw error ?? signal.reason;
  const writes = steps.filter(({ effect, state }) =>
    effect === "write" && (state === "planned" || state === "open")
  ).map(({ id, uses, plan, dependsOn }, index): PlannedWrite => ({
    order: index + 1,
    step: id,
    uses,
    ...plan === undefined ? { written: recipe.steps.find((step) => step.id === id)?.written } : { plan },
    ...dependsOn !== undefined && { dependsOn },
  }));
  return {
    name: recipe.name,
    ok: steps.every(({ state }) => state !== "failed"),
    steps,
    writes,
    ...error !== undefined && { error },
  };
}

/** Returns the result of a step for the report of a dry run. */
function dryResult(
  event: Extract<StepEvent, { type: "step-ended" | "step-planned" }>,
): Omit<DryStep, "id" | "uses" | "effect"> {
  if (event.type === "step-planned") {
    const { type: _, step: __, ...planned } = event;
    return planned;
  }
  const { state, reason, output } = event;
  if (state === "ok") return { state: "read", output };
  if (state === "skipped") return { state: "left-out", reason };
  return { state: "failed", reason, ...output !== undefined && { output } };
}
