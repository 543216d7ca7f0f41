/**
 * Runs the steps of a recipe, one after the other. Every run uses this engine: with a store or without one, dry or
 * real. The caller gives a recorder, which records what happens, and a mode, which says what the run may do.
 *
 * @module
 */
import { reasonOf } from "../../credentials.ts";
import { BrokerError } from "../../errors.ts";
import { wait } from "../../time.ts";
import type { CompiledRecipe, CompiledStep, RunWork, StepContext, StepEffect } from "../compiled.ts";
import { refusingGuard, type SentWrite, WriteGuard } from "./guarded_client.ts";
import {
  isWorthRetrying,
  mayHaveWritten,
  REPORTED_PROBLEM,
  reportsProblem,
  type RunScope,
  stepContext,
  type StepDeps,
  withinTimeLimit,
} from "./step_context.ts";

/** How a step ended. */
export type StepState = "ok" | "failed" | "skipped" | "unknown";

/** State that a dry run gives to a step that it does not run. */
export type PlannedState =
  /** `plan` describes what the step would do. */
  | "planned"
  /** Unknown: the step cannot describe what it would do, or this depends on earlier steps that did not run. */
  | "open"
  /** Not run: no later step writes, the step is local and cannot describe its work, or an earlier step has failed. */
  | "not-done";

/** Rules for a run. */
interface RunMode {
  /** Whether steps that write, and local steps, are only planned. */
  isDry: boolean;
  /** Whether a failed step ends the run with its error. Otherwise, steps that do not need the failed step still run. */
  endsAtError: boolean;
  /** Whether a failed step is tried again, as its recipe says. */
  retries: boolean;
}

/** Modes of a run. */
export const modes = {
  /** Runs under a store. */
  stored: { isDry: false, endsAtError: false, retries: true },
  /** Runs once, without a store. */
  once: { isDry: false, endsAtError: true, retries: false },
  /** For a run under a store while live trading is off: plans the writes, as `dry` does, but repeats failed reads. */
  plan: { isDry: true, endsAtError: false, retries: true },
  /** Runs each reading step that comes before the last write and has no plan. Plans or lists all other steps. */
  dry: { isDry: true, endsAtError: false, retries: false },
} as const satisfies Record<string, RunMode>;

/** One attempt at a step. */
interface StepAttempt {
  step: CompiledStep;
  /** From 1. */
  attempt: number;
}

/** The last attempt at a step, from an earlier start of the same run. */
export interface EarlierAttempt {
  state: "begun" | StepState;
  attempt: number;
  /** JSON. */
  output: string | null;
}

/** How an attempt ended. */
interface AttemptEnd {
  state: StepState;
  /** JSON, without secrets. */
  output?: string;
  /** Text of the error, without secrets. */
  error?: string;
}

/** A file that a step made. */
type StepFile = Parameters<StepContext["artifact"]>[0];

/** Records what happens in a run. If a method throws, the run ends with that error unless the method says otherwise. */
export interface Recorder {
  /** Returns the last attempt at each step, from earlier starts of this run. */
  earlier(): Promise<ReadonlyMap<string, EarlierAttempt>>;
  /** Does the work of one attempt, for example within a span. */
  within<T>(attempt: StepAttempt, work: () => Promise<T>): Promise<T>;
  begin(attempt: StepAttempt): Promise<void>;
  end(attempt: StepAttempt, end: AttemptEnd): Promise<void>;
  skip(attempt: StepAttempt, reason: string): Promise<void>;
  /** Records a step that is only planned. @default records nothing */
  plan?(attempt: StepAttempt, planned: PlannedStep): Promise<void>;
  /** Called before a write step starts. If it throws, the step fails. */
  beforeWriteStep(): Promise<void>;
  /** Called right before a write is sent. If it throws, the write is not sent. */
  beforeSend(step: CompiledStep, write: SentWrite): Promise<void>;
  /** Records a file that a step made. If it throws, the step's own call throws too. */
  artifact(step: CompiledStep, file: StepFile & { businessDay: string }): Promise<void>;
}

/** A recorder that records nothing. */
export const noRecorder: Recorder = {
  earlier: () => Promise.resolve(new Map()),
  within: (_attempt, work) => work(),
  begin: () => Promise.resolve(),
  end: () => Promise.resolve(),
  skip: () => Promise.resolve(),
  beforeWriteStep: () => Promise.resolve(),
  beforeSend: () => Promise.resolve(),
  artifact: () => Promise.resolve(),
};

/** Decides whether the run may write now. */
interface WriteConditions {
  /** Returns why a step that writes is skipped; `undefined` if it runs. */
  whyNot(): Promise<string | undefined>;
  /** Returns why the run may not write any more; `undefined` if it may, or if the reason may be temporary. */
  whyEnded(): Promise<string | undefined>;
  /** Called right before each write. Throws if the write must not be sent. */
  check(): Promise<void>;
}

/** An event of a step, distinguished by `type`. */
export type StepEvent =
  | { type: "step-started"; step: string; uses: string; effect: StepEffect; attempt: number }
  | { type: "step-reused"; step: string }
  | { type: "step-progress"; step: string; done?: number; total?: number; text: string; detail?: unknown }
  | { type: "step-retry"; step: string; attempt: number; waitMs: number; error: string }
  | { type: "log"; step: string; level: "debug" | "info" | "warn" | "error"; message: string; data?: unknown }
  | {
    type: "step-ended";
    step: string;
    state: StepState;
    tookMs: number;
    reason?: string;
    /** Class of the error that ended the step. */
    errorName?: string;
    /** The error itself, with secrets. */
    thrown?: unknown;
    output?: unknown;
  }
  /** A dry run has planned the step instead of running it. */
  | {
    type: "step-planned";
    step: string;
    state: PlannedState;
    plan?: unknown;
    dependsOn?: readonly string[];
  };

/** A call by which a step runs another recipe. */
export interface StepCall {
  step: string;
  /** How many times this attempt has already made the same call, by the text of the call. */
  calls: Map<string, number>;
  /** Aborted when the run must end early. */
  halt: AbortSignal;
  /** The work that the expressions of the outer and the inner run may still do together. @default that of a new run */
  work?: RunWork;
}

/** Options of a {@linkcode StepEngine}. */
interface EngineOptions {
  scope: RunScope;
  deps: StepDeps;
  mode: RunMode;
  recorder: Recorder;
  /** When the run may write. @default always */
  writes?: WriteConditions;
  /** Aborted when the run must end early: reads stop, and no further step begins. */
  halt: AbortSignal;
  /**
   * Aborted when another process has the run. The caller aborts `halt` then too. This signal stops the steps that write
   * and cannot resume, because they ignore `halt`.
   *
   * @default never
   */
  lost?: AbortSignal;
  /** Returns whether an error means that another process has the run. The run then ends immediately. @default never */
  isLost?(error: unknown): boolean;
  /** Called with each error of a call, even if the step catches it, and with the error of each failed attempt. */
  onError?(error: unknown): void;
  onEvent?(event: StepEvent): void;
  /** For a nested run: the work that the expressions of the outer run may still do. @default the work of a new run */
  work?: RunWork;
  /** Runs another recipe as a step of this one. @default throws */
  runRecipe?(call: StepCall, name: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** A step runs only if each step in its `needs` has one of these states. */
const usable: ReadonlySet<string | undefined> = new Set(["ok", "planned", "open", "not-done"]);

/** Evaluation steps for the expressions of a run and of the runs that its steps start: about ten seconds. */
const MOST_WORK = 50_000_000;

/** Longest wait between two attempts. */
const MOST_WAIT_MS = 5 * 60_000;

/** Decision about the next step. */
type Turn = { run: true } | { skip: string } | PlannedStep;

/** A step that is planned instead of run. */
export type PlannedStep = Omit<Extract<StepEvent, { type: "step-planned" }>, "type" | "step">;

/** Runs the steps of one recipe once. */
export class StepEngine {
  /** States of the steps that were reached, by their ids. */
  readonly states = new Map<string, StepState | PlannedState>();
  /** Outputs of the steps that ran, by their ids, as plain JSON without secrets. */
  readonly outputs: Record<string, unknown> = {};
  /** The guard of each step that writes, by the step's id; its `sent` lists the writes. */
  readonly guards = new Map<string, WriteGuard>();
  readonly #recipe: CompiledRecipe;
  readonly #options: EngineOptions;
  readonly #lost: AbortSignal;
  readonly #work: RunWork;
  readonly #lastWrite: number;

  constructor(recipe: CompiledRecipe, options: EngineOptions) {
    this.#recipe = recipe;
    this.#options = options;
    this.#work = options.work ?? { most: MOST_WORK, left: MOST_WORK };
    this.#lost = options.lost ?? new AbortController().signal;
    this.#lastWrite = recipe.steps.findLastIndex(({ effect }) => effect === "write");
  }

  /**
   * Runs the steps until the last one, or until the run is halted. Resolves to `false` if some steps did not run
   * because of a halt.
   */
  async run(): Promise<boolean> {
    const earlier = await this.#options.recorder.earlier();
    for (const [index, step] of this.#recipe.steps.entries()) {
      if (this.#options.halt.aborted) return false;
      await this.#handle(step, index, earlier.get(step.id));
    }
    return true;
  }

  /** Runs a step, plans it, or records why it is skipped. */
  async #handle(step: CompiledStep, index: number, earlier: EarlierAttempt | undefined): Promise<void> {
    const { recorder, mode } = this.#options;
    const { id, effect } = step;
    if (earlier?.state === "ok" && (!step.fresh || effect === "write")) {
      this.outputs[id] = JSON.parse(earlier.output ?? "null");
      this.states.set(id, "ok");
      return this.#emit({ type: "step-reused", step: id });
    }
    if (effect === "write" && earlier !== undefined && !(step.resumes && earlier.state === "skipped")) {
      // A write step does not begin a second time. One exception: a step with `resumes`, for which the recovery has
      // stored "skipped". Such a step may begin again, because the order desk limits what it sends.
      this.states.set(id, earlier.state === "begun" ? "unknown" : earlier.state);
      return;
    }
    const attempt = { step, attempt: (earlier?.attempt ?? 0) + 1 };
    let turn: Turn;
    try {
      turn = await this.#decide(step, index);
    } catch (error) {
      await recorder.begin(attempt);
      await this.#end(attempt, { state: "failed", error: this.#describe(error) }, { thrown: error });
      if (mode.endsAtError) throw error;
      return;
    }
    if ("run" in turn) return await this.#tryRepeatedly(attempt);
    if ("skip" in turn) {
      await recorder.skip(attempt, turn.skip);
      this.states.set(id, "skipped");
      return this.#emit({ type: "step-ended", step: id, state: "skipped", tookMs: 0, reason: turn.skip });
    }
    await recorder.plan?.(attempt, turn);
    this.states.set(id, turn.state);
    this.#emit({ type: "step-planned", step: id, ...turn });
  }

  async #decide(step: CompiledStep, index: number): Promise<Turn> {
    const { mode, writes } = this.#options;
    const isWrite = step.effect === "write";
    const missing = step.needs.find((id) => !usable.has(this.states.get(id)));
    if (missing !== undefined) return { skip: `needs "${missing}"` };
    const [failed] = [...this.states].find(([, state]) => state === "failed" || state === "unknown") ?? [];
    if (mode.isDry) {
      if (failed !== undefined) return isWrite ? { skip: `step "${failed}" failed` } : { state: "not-done" };
      // A recipe that only reads has nothing to plan.
      if (this.#lastWrite < 0) return { state: "not-done" };
      const unread = (step.reads ?? []).filter((id) => !(id in this.outputs));
      if (unread.length > 0) return { state: "open", dependsOn: unread };
    }
    // After a failure, no more is written until a person has checked.
    if (isWrite && failed !== undefined) return { skip: "an earlier step failed" };
    if (step.condition !== undefined && !step.condition(this.#scope())) return { skip: "condition" };
    if (mode.isDry) return await this.#plan(step, index);
    const reason = isWrite ? await writes?.whyNot() : undefined;
    return reason === undefined ? { run: true } : { skip: reason };
  }

  /**
   * Plans a step in a dry run. A step without a plan runs only if it reads before the last write, because it could
   * prevent that write.
   */
  async #plan(step: CompiledStep, index: number): Promise<Turn> {
    const { plan } = step;
    if (plan !== undefined) {
      const planned = await this.#runWithinLimit(
        { step, attempt: 1 },
        this.#guardFor(step),
        (context) => plan(context),
      );
      return { state: "planned", plan: JSON.parse(this.#options.deps.redactor.json(planned)) };
    }
    if (step.effect === "write") return { state: "open", dependsOn: [] };
    return step.effect === "local" || index > this.#lastWrite ? { state: "not-done" } : { run: true };
  }

  /** Tries a step as often as its recipe says. */
  async #tryRepeatedly(first: StepAttempt): Promise<void> {
    const { recorder, mode, halt, deps: { machine } } = this.#options;
    const { step } = first;
    const most = mode.retries && step.effect !== "write" ? step.retry?.attempts ?? 1 : 1;
    for (let count = 1;; count++) {
      const attempt = { step, attempt: first.attempt + count - 1 };
      const failure = await recorder.within(attempt, () => this.#makeAttempt(attempt));
      if (failure === undefined) return;
      if (mode.endsAtError) throw failure.error;
      if (count >= most || halt.aborted || !isWorthRetrying(failure.error)) return;
      const waitMs = Math.min((step.retry?.waitMs ?? 0) * 2 ** (count - 1), MOST_WAIT_MS);
      const error = this.#describe(failure.error);
      this.#emit({ type: "step-retry", step: step.id, attempt: attempt.attempt, waitMs, error });
      // If a halt ended the wait, the step keeps the result of its last attempt.
      if (!await wait(machine, waitMs, halt).then(() => true, () => false)) return;
    }
  }

  /** Makes one attempt at a step. Resolves to the error that ended the attempt, if any. */
  async #makeAttempt(attempt: StepAttempt): Promise<{ error: unknown } | undefined> {
    const { recorder, isLost, onError, deps: { machine, redactor } } = this.#options;
    const { step } = attempt;
    const { id, uses, effect } = step;
    const isWrite = effect === "write";
    const began = machine.monotonic();
    const guard = this.#guardFor(step);
    await recorder.begin(attempt);
    this.#emit({ type: "step-started", step: id, uses, effect, attempt: attempt.attempt });
    let end: AttemptEnd & { errorName?: string };
    let failure: { error: unknown } | undefined;
    try {
      if (isWrite) await recorder.beforeWriteStep();
      const result = await this.#runWithinLimit(attempt, guard, (context) => step.run(context));
      const output = redactor.json(result);
      this.outputs[id] = JSON.parse(output);
      const error = guard.unresolvedError;
      if (error !== undefined) {
        // The step returned without an error, but the outcome of one of its writes is unknown.
        failure = { error };
        end = { state: "unknown", output, error: this.#describe(error), errorName: error.name };
      } else if (reportsProblem(this.outputs[id])) {
        // The step worked and reported a problem. A retry would report the same.
        end = { state: "failed", output, error: REPORTED_PROBLEM };
      } else end = { state: "ok", output };
    } catch (error) {
      if (isLost?.(error)) throw error;
      onError?.(error);
      failure = { error };
      end = {
        // A custom step may rethrow the error of its call as another error.
        state: isWrite && mayHaveWritten(error, guard) ? "unknown" : "failed",
        error: this.#describe(error),
        errorName: error instanceof Error ? error.name : "unknown",
      };
    } finally {
      guard.close();
    }
    await this.#end(attempt, end, {
      tookMs: machine.monotonic() - began,
      ...failure !== undefined && { thrown: failure.error },
    });
    return failure;
  }

  /** Records and reports how an attempt ended. */
  async #end(
    attempt: StepAttempt,
    { errorName, ...end }: AttemptEnd & { errorName?: string },
    { tookMs = 0, thrown }: { tookMs?: number; thrown?: unknown },
  ): Promise<void> {
    const { id } = attempt.step;
    this.states.set(id, end.state);
    await this.#options.recorder.end(attempt, end);
    this.#emit({
      type: "step-ended",
      step: id,
      state: end.state,
      tookMs,
      reason: end.error,
      ...errorName !== undefined && { errorName },
      ...thrown !== undefined && { thrown },
      ...id in this.outputs && { output: this.outputs[id] },
    });
  }

  #guardFor(step: CompiledStep): WriteGuard {
    const { onError, writes, recorder, mode } = this.#options;
    if (step.effect !== "write") return refusingGuard(step, { onError });
    if (mode.isDry) {
      return new WriteGuard({
        check() {
          throw new BrokerError(`Cannot write in step "${step.id}": this is a dry run`, { code: "dry-run" });
        },
      });
    }
    const guard = new WriteGuard({
      onError,
      check: async () => await writes?.check(),
      onSend: async (write) => await recorder.beforeSend(step, write),
    });
    this.guards.set(step.id, guard);
    return guard;
  }

  /** Does the work of a step within its time limit. */
  async #runWithinLimit(
    attempt: StepAttempt,
    guard: WriteGuard,
    work: (context: StepContext) => Promise<unknown>,
  ): Promise<unknown> {
    const { halt, deps: { machine } } = this.#options;
    const { step } = attempt;
    // A write step may wait between its orders. Only a timeout or a lost run ends such a wait; a stop or a cancellation
    // does not, unless the step can resume.
    const stop = step.effect === "write" && !step.resumes ? this.#lost : halt;
    return await withinTimeLimit(machine, step, {
      stop,
      work: (signal) => work(this.#context(attempt, guard, signal)),
    });
  }

  #context({ step, attempt }: StepAttempt, guard: WriteGuard, signal: AbortSignal): StepContext {
    const { scope, deps, recorder, mode, halt, writes, runRecipe } = this.#options;
    const { redactor } = deps;
    const call: StepCall = { step: step.id, calls: new Map(), halt, work: this.#work };
    return stepContext(step.id, {
      scope: this.#scope(),
      recipeFile: { file: this.#recipe.file, sha256: this.#recipe.sha256 },
      deps,
      attempt,
      signal,
      guard,
      ...writes !== undefined && { whyWritesEnded: () => writes.whyEnded() },
      ...mode.isDry && { keepWithin: true },
      log: (level, message, data) => this.#emit({ type: "log", step: step.id, level, message, data }),
      progress: (event) => this.#emit({ type: "step-progress", step: step.id, ...event }),
      artifact: async (file) => {
        await redactor.checkFile(file.path, signal);
        const businessDay = file.businessDay ?? scope.day.date;
        await recorder.artifact(step, { ...file, path: redactor.text(file.path), businessDay });
      },
      ...runRecipe !== undefined &&
        { runRecipe: async (name, params) => await runRecipe(call, name, params) },
    });
  }

  #scope() {
    return { ...this.#options.scope, outputs: this.outputs, work: this.#work };
  }

  #describe(error: unknown): string {
    return reasonOf(error, this.#options.deps.redactor);
  }

  #emit(event: StepEvent): void {
    this.#options.onEvent?.(event);
  }
}

/**
 * Keeps simulated and real recipes apart: neither may run the other as a step, because the outputs would mix.
 *
 * @throws {TypeError} When one recipe is meant for the simulator and the other is not.
 */
export function checkTogether(outer: CompiledRecipe, inner: CompiledRecipe): void {
  const isSimulated = ({ connect }: CompiledRecipe) => connect?.to === "simulator";
  if (isSimulated(outer) === isSimulated(inner)) return;
  const [meant, other] = isSimulated(inner) ? [inner, outer] : [outer, inner];
  throw new TypeError(
    `Cannot run recipe "${inner.name}" as a step of "${outer.name}": "${meant.name}" is meant for the simulator ` +
      `and "${other.name}" is not`,
  );
}
