/**
 * Runs a recipe under its row in the store. Every step is recorded before and after it runs, so that another process
 * knows what is left to do.
 *
 * @module
 */
import { BrokerError, DisplacedError, LoginRefusedError } from "../../errors.ts";
import type { CompiledRecipe, CompiledStep, StepScope } from "../../recipes/compiled.ts";
import { refusingGuard, tellSent, WriteGuard } from "../../recipes/guarded_client.ts";
import { type Claim, endRun, LeaseKeeper, LeaseLostError, renewClaim } from "../claims/claim.ts";
import {
  holdLogin,
  holdRefusedLogin,
  LOGIN_TAKEN_OVER,
  loginRefusalIn,
  noteLoginWorked,
  PASSWORD_REFUSED,
} from "../claims/login_holds.ts";
import {
  Halt,
  isWorthRetrying,
  mayHaveWritten,
  outcomeOf,
  retryWait,
  runOnce,
  type RunOutcome,
} from "./run_step.ts";
import { wait } from "../../time.ts";
import { isPassing } from "../../store/store_error.ts";
import { noteLoginEnd, noteSlowness } from "./end_warnings.ts";
import { WRITE_SENT } from "../queries/events.ts";
import { pauseRecipe } from "../claims/decisions.ts";
import { type BareRunEvent, RunReport, type StepState } from "./report.ts";
import type { RunDeps } from "../deps.ts";
import { findRun, type RunRow } from "../queries/runs.ts";
import {
  type Attempt,
  beginAttempt,
  endAttempt,
  lastAttempts,
  skipStep,
  type StepRow,
} from "../queries/steps.ts";
import { contextOf, type RunScope, scopeOf } from "./step_context.ts";
import { whyNoWrites, whyOutside } from "./write_conditions.ts";

/** Wait before a locked store is tried again. */
const ASK_STORE_MS = 1_000;

/** A write was not sent: its window has closed, or writing is not safe. */
class WriteWithheldError extends BrokerError {
  override readonly name: string = "WriteWithheldError";
}

/** Runs a claimed run to its end, or until the stop signal is aborted. */
export async function executeRun(
  recipe: CompiledRecipe,
  claim: Claim,
  deps: RunDeps,
  stop?: AbortSignal,
): Promise<RunOutcome> {
  const row = (await findRun(deps.store, claim.runKey))!; // it was just claimed
  return await new Execution(recipe, { claim, row, deps, stop }).execute();
}

function reportsFailure(output: unknown): boolean {
  return typeof output === "object" && output !== null && "ok" in output && output.ok === false;
}

class Execution {
  readonly #recipe: CompiledRecipe;
  readonly #claim: Claim;
  readonly #deps: RunDeps;
  readonly #row: RunRow;
  readonly #keeper: LeaseKeeper;
  readonly #report: RunReport;
  readonly #outputs: Record<string, unknown> = {};
  readonly #states = new Map<string, StepState>();
  /** What each step that writes has sent. */
  readonly #guards = new Map<string, WriteGuard>();
  #startedAt = 0;
  /** Records and reports how the last attempt ended. */
  #toClose: (() => Promise<void>) | undefined;
  /** Why a step did not write although all steps before it succeeded. */
  #withheld: "window" | "unsafe" | undefined;
  #takenOver = false;
  /** The login that the broker refused, if it did. */
  #loginRefusal: ReturnType<typeof loginRefusalIn>;

  constructor(
    recipe: CompiledRecipe,
    { claim, row, deps, stop }: { claim: Claim; row: RunRow; deps: RunDeps; stop?: AbortSignal },
  ) {
    this.#recipe = recipe;
    this.#claim = claim;
    this.#deps = deps;
    this.#row = row;
    this.#report = new RunReport(this.#row, deps);
    this.#keeper = new LeaseKeeper({
      host: deps.host,
      everyMs: claim.leaseMs / 3,
      leaseMs: claim.leaseMs,
      timeoutMs: recipe.timeoutMs,
      renew: async () => await renewClaim(deps.store, claim, deps.host.now()),
      stop,
    });
  }

  async execute(): Promise<RunOutcome> {
    try {
      return await this.#report.run(() => this.#execute());
    } finally {
      this.#keeper.end();
      await this.#report.flush();
    }
  }

  async #execute(): Promise<RunOutcome> {
    const { host } = this.#deps;
    this.#startedAt = host.monotonic();
    try {
      this.#tell({
        type: "run-started",
        attempt: this.#row.attempt,
        lateMs: Math.max(0, host.now() - this.#row.due_at),
        steps: this.#recipe.steps.map(({ id }) => id),
      });
      const stored = await this.#whenFree(async () =>
        await lastAttempts(this.#deps.store, this.#row.run_key, this.#row.round)
      );
      for (const step of this.#recipe.steps) {
        if (this.#keeper.halt.aborted) break;
        await this.#take(step, stored.get(step.id));
      }
      const halt = this.#keeper.halt.aborted ? this.#keeper.halt.reason : undefined;
      const outcome = outcomeOf(this.#recipe.steps, {
        states: this.#states,
        halt: halt instanceof Halt ? halt : undefined,
        whenStopped: this.#deps.whenStopped ?? "due",
        isTakenOver: this.#takenOver,
        isLoginRefused: this.#loginRefusal !== undefined,
        withheld: this.#withheld,
      });
      return await this.#whenFree(async () => await this.#end(outcome));
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      return this.#lost();
    }
  }

  /** Runs a step, or records why it is skipped. */
  async #take(step: CompiledStep, stored: StepRow | undefined): Promise<void> {
    if (stored?.state === "ok" && (!step.fresh || step.effect === "write")) {
      this.#outputs[step.id] = JSON.parse(stored.output ?? "null");
      this.#states.set(step.id, "ok");
      return this.#tell({ type: "step-reused", step: step.id });
    }
    if (step.effect === "write" && stored !== undefined) {
      // An attempt was interrupted or failed: a write step never begins a second time.
      this.#states.set(step.id, stored.state === "begun" ? "unknown" : stored.state);
      return;
    }
    const attempt = { step, round: this.#row.round, attempt: (stored?.attempt ?? 0) + 1 };
    let reason: string | undefined;
    try {
      reason = await this.#whyNot(step);
    } catch (error) {
      await this.#begin(attempt);
      this.#close(attempt, { state: "failed", error: this.#describe(error) }, 0);
      return await this.#flush();
    }
    if (reason === undefined) return await this.#attempt(attempt, step);
    const why = reason;
    await this.#whenFree(async () =>
      await skipStep(this.#deps.store, this.#claim, attempt, why, this.#deps.host.now())
    );
    this.#states.set(step.id, "skipped");
    this.#tell({ type: "step-ended", step: step.id, state: "skipped", tookMs: 0, reason });
  }

  async #whyNot(step: CompiledStep): Promise<string | undefined> {
    const missing = step.needs.find((id) => this.#states.get(id) !== "ok");
    if (missing !== undefined) return `needs "${missing}"`;
    const failed = [...this.#states.values()].some((state) => state === "failed" || state === "unknown");
    // After a failure, a person must check before anything more is written.
    if (step.effect === "write" && failed) return "an earlier step failed";
    if (step.condition !== undefined && !step.condition(this.#scope())) return "condition";
    return step.effect === "write" ? await this.#whyNoWrite() : undefined;
  }

  /** Checks right before each write is sent, because a process that was suspended may have lost its run. */
  async #checkWrite(): Promise<void> {
    await this.#keeper.renewOrThrow();
    const reason = await this.#whyNoWrite();
    if (reason === undefined) return;
    throw new WriteWithheldError(`Cannot write now: ${reason}`, { code: this.#withheld ?? "unsafe" });
  }

  /** Checks again what was checked when the run began, because earlier reads may have taken long. */
  async #whyNoWrite(): Promise<string | undefined> {
    const { store, host } = this.#deps;
    const outside = whyOutside(this.#recipe, this.#row.slot_at, host.now());
    const unsafe = outside === undefined ? await whyNoWrites(store, host.now()) : undefined;
    if (outside !== undefined) this.#withheld = "window";
    else if (unsafe !== undefined) this.#withheld = "unsafe";
    return outside ?? unsafe;
  }

  async #attempt(first: Attempt, step: CompiledStep): Promise<void> {
    const { host } = this.#deps;
    const { id, uses, effect } = step;
    const most = effect === "write" ? 1 : step.retry?.attempts ?? 1;
    for (let count = 1;; count++) {
      const attempt = { ...first, attempt: first.attempt + count - 1 };
      const about = { step: id, uses, effect, attempt: attempt.attempt };
      const failure = await this.#report.step(about, () => this.#once(attempt, step));
      if (failure === undefined || count >= most || this.#keeper.halt.aborted) return;
      if (!isWorthRetrying(failure.error)) return;
      const waitMs = retryWait(step.retry?.waitMs ?? 0, count);
      this.#tell({
        type: "step-retry",
        step: id,
        attempt: attempt.attempt,
        waitMs,
        error: this.#describe(failure.error),
      });
      // A halt while waiting ends the step as its last attempt did.
      if (!await wait(host, waitMs, this.#keeper.halt).then(() => true, () => false)) return;
    }
  }

  /** Makes one attempt at a step; resolves to the error that it threw, if any. */
  async #once(attempt: Attempt, step: CompiledStep): Promise<{ error: unknown } | undefined> {
    const { host, redactor } = this.#deps;
    const began = host.monotonic();
    const guard = this.#guardFor(step);
    await this.#begin(attempt);
    this.#tell({
      type: "step-started",
      step: step.id,
      uses: step.uses,
      effect: step.effect,
      attempt: attempt.attempt,
    });
    try {
      // From here on, the mark shows if the store loses this write.
      if (step.effect === "write") await this.#deps.store.mark();
      const context = contextOf(step, {
        scope: this.#scope(),
        attempt: attempt.attempt,
        claim: this.#claim,
        recipe: this.#recipe,
        deps: this.#deps,
        guard,
        halt: this.#keeper.halt,
        tell: (event) => this.#tell(event),
      });
      const { halt, lost } = this.#keeper;
      const result = await runOnce(step, context, { host, halt, lost });
      const output = redactor.json(result);
      const stored = this.#outputs[step.id] = JSON.parse(output);
      const open = guard.unresolvedError;
      if (open !== undefined) {
        // The step returned although the outcome of one of its writes is unknown.
        const end = { state: "unknown" as const, output, error: this.#describe(open), errorName: open.name };
        this.#close(attempt, end, host.monotonic() - began);
        return { error: open };
      }
      // The step worked and reported a problem; a retry would report the same.
      const amiss = reportsFailure(stored)
        ? { state: "failed" as const, error: 'the step reported a problem: its output has "ok": false' }
        : undefined;
      this.#close(attempt, { state: "ok", ...amiss, output }, host.monotonic() - began);
      return undefined;
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      this.#noteLogin(error);
      // A custom step may rethrow the error of its call as another error.
      const unknown = step.effect === "write" && mayHaveWritten(error, guard);
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#close(
        attempt,
        { state: unknown ? "unknown" : "failed", error: this.#describe(error), errorName },
        host.monotonic() - began,
      );
      return { error };
    } finally {
      guard.close();
      await this.#flush();
    }
  }

  #guardFor(step: CompiledStep): WriteGuard {
    const onError = (error: unknown) => this.#noteLogin(error);
    if (step.effect !== "write") return refusingGuard(step, { onError });
    const guard = new WriteGuard({
      onError,
      check: async () => await this.#checkWrite(),
      // Before the write itself, so that a person knows where to look after a crash.
      onSend: async ({ operation, lists }) => {
        const { store, host } = this.#deps;
        try {
          await store.event(host.now(), WRITE_SENT, { step: step.id, operation, lists }, this.#row.run_key);
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new WriteWithheldError(`Cannot write now: the store could not keep it first (${reason})`, {
            code: "store",
            cause: error,
          });
        }
      },
    });
    this.#guards.set(step.id, guard);
    return guard;
  }

  async #begin(attempt: Attempt): Promise<void> {
    await this.#whenFree(async () =>
      await beginAttempt(this.#deps.store, this.#claim, attempt, this.#deps.host.now())
    );
  }

  /**
   * Runs work in the store. While another process keeps the store locked, this tries again until the lease is lost, so
   * that the result of a step, such as an order, is not forgotten.
   */
  async #whenFree<T>(work: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      await wait(this.#deps.host, ASK_STORE_MS, this.#keeper.lost);
    }
  }

  /** Records how an attempt ended. An error here does not change how it ended. */
  async #flush(): Promise<void> {
    const write = this.#toClose;
    this.#toClose = undefined;
    if (write !== undefined) await this.#whenFree(write);
  }

  /** Sets how an attempt ended; {@linkcode #flush} records it. */
  #close(
    attempt: Attempt,
    { errorName, ...end }: { state: StepState; output?: string; error?: string; errorName?: string },
    tookMs: number,
  ): void {
    this.#states.set(attempt.step.id, end.state);
    const now = this.#deps.host.now();
    this.#toClose = async () => {
      await endAttempt(this.#deps.store, this.#claim, attempt, { ...end, now });
      this.#tell({
        type: "step-ended",
        step: attempt.step.id,
        state: end.state,
        tookMs,
        reason: end.error,
        ...errorName !== undefined && { errorName },
      });
    };
  }

  async #end({ state, reason }: RunOutcome): Promise<RunOutcome> {
    if (state === "lost") return this.#lost();
    const { store, host, onEnd } = this.#deps;
    const now = host.now();
    const warnings = await store.transaction(async () => {
      await endRun(store, this.#claim, { state, reason, now });
      if (this.#takenOver) await this.#holdLogin(now);
      const refused = await this.#noteRefusedLogin(state, now);
      // The person who stopped it needs no warning.
      if (state === "due" || (state === "cancelled" && reason === "stopped")) return [];
      const row = (await findRun(store, this.#row.run_key))!; // it is still there
      const found = [
        refused,
        await noteSlowness(store, this.#recipe, row, now),
        await noteLoginEnd(store, this.#recipe, row, now),
      ];
      await onEnd?.(this.#recipe, row);
      return found;
    });
    if (this.#takenOver) {
      this.#tell({
        type: "warning",
        message: `${LOGIN_TAKEN_OVER}: no requests go out until you run: hsgate resume ${this.#recipe.name}`,
      });
    }
    for (const message of warnings) if (message !== undefined) this.#tell({ type: "warning", message });
    return this.#ended({ state, reason });
  }

  /** Keeps what an error of a call says about the login, even if the step continues after it. */
  #noteLogin(error: unknown): void {
    if (error instanceof DisplacedError) this.#takenOver = true;
    this.#loginRefusal ??= loginRefusalIn(error);
  }

  /** Blocks a refused login for every process of the store; returns a warning. */
  async #noteRefusedLogin(state: RunOutcome["state"], now: number): Promise<string | undefined> {
    const { store, host, passwordMarkOf } = this.#deps;
    const account = this.#row.account ?? "default";
    const error = this.#loginRefusal;
    if (error === undefined) {
      if (state === "ok" && this.#recipe.needsAccount) await noteLoginWorked(store, account);
      return undefined;
    }
    const runKey = this.#row.run_key;
    const markOf = (salt: string) => passwordMarkOf?.(this.#recipe, salt);
    const told = await holdRefusedLogin(store, error, { account, runKey, now, salt: host.id(), markOf });
    if (told !== undefined && error instanceof LoginRefusedError && error.reason === "password") {
      const { name, schedules } = this.#recipe;
      await pauseRecipe(store, name, { why: PASSWORD_REFUSED, now, schedules });
    }
    return told;
  }

  /** Blocks a login that was taken over: the next run would log in again and take it back. */
  async #holdLogin(now: number): Promise<void> {
    const { store } = this.#deps;
    await holdLogin(store, { account: this.#row.account ?? "default", runKey: this.#row.run_key, now });
    const { name, schedules } = this.#recipe;
    await pauseRecipe(store, name, { why: LOGIN_TAKEN_OVER, now, schedules });
  }

  /** Ends the run without writing to its row, which belongs to another process; warns of what this run had sent. */
  #lost(): RunOutcome {
    const guards = [...this.#guards];
    const sent = guards.filter(([, guard]) => guard.sent.length > 0)
      .map(([step, guard]) => `step "${step}" had sent ${tellSent(guard.sent)}`);
    const lists = new Set(guards.flatMap(([, { sent: writes }]) => writes.flatMap((write) => write.lists)));
    this.#tell({
      type: "warning",
      message: `lost the lease to another process; ${
        sent.length > 0 ? `before that, ${sent.join("; ")}` : "this run sent nothing"
      }${lists.size === 0 ? "" : `; look in ${[...lists].join(", ")}`}`,
    });
    return this.#ended({ state: "lost", reason: guards.length === 0 ? "lease" : "write" });
  }

  #ended(outcome: RunOutcome): RunOutcome {
    const tookMs = this.#deps.host.monotonic() - this.#startedAt;
    this.#tell({ type: "run-ended", ...outcome, tookMs });
    return outcome;
  }

  #scope(): RunScope & StepScope {
    return { ...scopeOf(this.#recipe, this.#row, this.#deps.within), outputs: this.#outputs };
  }

  #describe(error: unknown): string {
    return this.#deps.redactor.text(error instanceof Error ? error.message : String(error));
  }

  #tell(event: BareRunEvent): void {
    this.#report.tell(event);
  }
}
