/**
 * Runs a recipe under its row in the ledger: everything is written down before and after it is done, so that
 * another process can tell what is left.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { BrokerError, DisplacedError, LoginRefusedError } from "../errors.ts";
import type { RunDay } from "../steps/as_of_now.ts";
import type { CompiledRecipe, CompiledStep, StepScope } from "../steps/compiled.ts";
import { refusingGuard, tellSent, WriteGuard } from "../steps/guarded_client.ts";
import type { CallingStep, Claim } from "./claims.ts";
import { endRun, LeaseLostError, renewClaim } from "./holding.ts";
import { DISPLACED, holdLogin } from "./displaced.ts";
import { Halt } from "./halt.ts";
import { type Host, wait } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import { isBusy } from "./ledger_damage.ts";
import { LeaseKeeper } from "./lease_keeper.ts";
import { noteLoginEnd } from "./login_end.ts";
import { WRITE_SENT } from "./open_write.ts";
import { outcomeOf, type RunOutcome } from "./outcome.ts";
import { pauseRecipe } from "./pausing.ts";
import type { Redactor } from "../redact.ts";
import { holdRefusedLogin, loginRefusalIn, noteLoginWorked, PASSWORD_REFUSED } from "./refused_login.ts";
import type { BareRunEvent, StepState } from "./run_events.ts";
import { findRun, type RunRow } from "./run_rows.ts";
import { isWorthRetrying, mayHaveWritten, retryWait, runOnce } from "./run_step.ts";
import { RunTelling, type TellingOptions } from "./run_telling.ts";
import { type Attempt, beginAttempt, endAttempt, lastAttempts, skipStep, type StepRow } from "./step_rows.ts";
import { noteSlowness } from "./slowness.ts";
import { contextOf } from "./step_context.ts";
import { type RunScope, scopeOf } from "./step_scope.ts";
import { whyNoWrites } from "./write_guard.ts";
import { whyOutside } from "./write_window.ts";

/** What runs stand on. */
export interface Surroundings extends Pick<TellingOptions, "tracer" | "onEvent" | "logLevel"> {
  ledger: Ledger;
  host: Host;
  /** Folder for files. */
  out: string;
  redactor: Redactor;
  /** The client for a recipe, connected on first use. */
  client(recipe: CompiledRecipe): Promise<Client>;
  /** What time it is for the steps of a recipe, where that is not the host's: its simulator's. */
  timeOf?(recipe: CompiledRecipe): (() => number) | undefined;
  /** The value of a secret by its reference. */
  secret(name: string): Promise<string>;
  /** A mark of the password that a recipe logs in with, made with a salt; see `markPassword`. @default none */
  passwordMarkOf?(recipe: CompiledRecipe, salt: string): string | undefined;
  /** What becomes of a run that is stopped while it reads: whoever looks next goes on with it, or it is over. @default "due" */
  whenStopped?: "due" | "cancelled";
  /** The day of the run that these runs are steps of. @default none: each has its own */
  within?: RunDay;
  /** Called in the transaction that ends a run, unless somebody stopped it. */
  onEnd?(recipe: CompiledRecipe, row: RunRow): void;
  /** Runs another recipe as a step of this one. */
  runRecipe?(parent: CallingStep, name: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** How soon a ledger that is locked is asked again. */
const ASK_LEDGER_MS = 1_000;

/** A write that a step was about to send was kept back: its window has closed, or the clock is off. */
export class WriteWithheldError extends BrokerError {
  override readonly name: string = "WriteWithheldError";
}

/** Runs a claimed run to its end, or until the signal to stop is given. */
export async function executeRun(
  recipe: CompiledRecipe,
  claim: Claim,
  surroundings: Surroundings,
  stop?: AbortSignal,
): Promise<RunOutcome> {
  return await new Execution(recipe, claim, surroundings, stop).execute();
}

function isAmiss(output: unknown): boolean {
  return typeof output === "object" && output !== null && "ok" in output && output.ok === false;
}

class Execution {
  readonly #recipe: CompiledRecipe;
  readonly #claim: Claim;
  readonly #around: Surroundings;
  readonly #row: RunRow;
  readonly #keeper: LeaseKeeper;
  readonly #telling: RunTelling;
  readonly #outputs: Record<string, unknown> = {};
  readonly #states = new Map<string, StepState>();
  /** What each step that writes has sent. */
  readonly #guards = new Map<string, WriteGuard>();
  #startedAt = 0;
  /** Writes down how the last attempt ended, and tells it. */
  #toClose: (() => void) | undefined;
  /** Why a step did not write though everything before it went well. */
  #withheld: "window" | "unsafe" | undefined;
  #displaced = false;
  /** The login that the broker refused, if it did. */
  #loginRefusal: ReturnType<typeof loginRefusalIn>;

  constructor(recipe: CompiledRecipe, claim: Claim, around: Surroundings, stop?: AbortSignal) {
    this.#recipe = recipe;
    this.#claim = claim;
    this.#around = around;
    this.#row = findRun(around.ledger, claim.runKey)!; // it was just claimed
    this.#telling = new RunTelling(this.#row, around);
    this.#keeper = new LeaseKeeper({
      host: around.host,
      everyMs: claim.leaseMs / 3,
      leaseMs: claim.leaseMs,
      timeoutMs: recipe.timeoutMs,
      renew: () => renewClaim(around.ledger, claim, around.host.now()),
      stop,
    });
  }

  async execute(): Promise<RunOutcome> {
    try {
      return await this.#telling.run(() => this.#execute());
    } finally {
      this.#keeper.end();
    }
  }

  async #execute(): Promise<RunOutcome> {
    const { host } = this.#around;
    this.#startedAt = host.monotonic();
    try {
      this.#tell({
        type: "run-started",
        attempt: this.#row.attempt,
        lateMs: Math.max(0, host.now() - this.#row.due_at),
        steps: this.#recipe.steps.map(({ id }) => id),
      });
      const stored = await this.#whenFree(() =>
        lastAttempts(this.#around.ledger, this.#row.run_key, this.#row.round)
      );
      for (const step of this.#recipe.steps) {
        if (this.#keeper.halt.aborted) break;
        await this.#take(step, stored.get(step.id));
      }
      const halt = this.#keeper.halt.aborted ? this.#keeper.halt.reason : undefined;
      const outcome = outcomeOf(this.#recipe.steps, {
        states: this.#states,
        halt: halt instanceof Halt ? halt : undefined,
        whenStopped: this.#around.whenStopped ?? "due",
        isDisplaced: this.#displaced,
        isLoginRefused: this.#loginRefusal !== undefined,
        withheld: this.#withheld,
      });
      return await this.#whenFree(() => this.#end(outcome));
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      return this.#lost();
    }
  }

  /** Does a step, or says why not. */
  async #take(step: CompiledStep, stored: StepRow | undefined): Promise<void> {
    if (stored?.state === "ok" && (!step.fresh || step.effect === "write")) {
      this.#outputs[step.id] = JSON.parse(stored.output ?? "null");
      this.#states.set(step.id, "ok");
      return this.#tell({ type: "step-reused", step: step.id });
    }
    if (step.effect === "write" && stored !== undefined) {
      // Begun by an attempt that did not live to see the end, or ended badly: never a second time.
      this.#states.set(step.id, stored.state === "begun" ? "unknown" : stored.state);
      return;
    }
    const attempt = { step, round: this.#row.round, attempt: (stored?.attempt ?? 0) + 1 };
    let reason: string | undefined;
    try {
      reason = this.#whyNot(step);
    } catch (error) {
      await this.#begin(attempt);
      this.#close(attempt, { state: "failed", error: this.#describe(error) }, 0);
      return await this.#flush();
    }
    if (reason === undefined) return await this.#attempt(attempt, step);
    const why = reason;
    await this.#whenFree(() =>
      skipStep(this.#around.ledger, this.#claim, attempt, why, this.#around.host.now())
    );
    this.#states.set(step.id, "skipped");
    this.#tell({ type: "step-ended", step: step.id, state: "skipped", tookMs: 0, reason });
  }

  #whyNot(step: CompiledStep): string | undefined {
    const missing = step.needs.find((id) => this.#states.get(id) !== "ok");
    if (missing !== undefined) return `needs "${missing}"`;
    const failed = [...this.#states.values()].some((state) => state === "failed" || state === "unknown");
    // What goes wrong is looked at before anything more is written.
    if (step.effect === "write" && failed) return "an earlier step failed";
    if (step.condition !== undefined && !step.condition(this.#scope())) return "condition";
    return step.effect === "write" ? this.#whyNoWrite() : undefined;
  }

  /** Called right before each write of a step goes out: a process that was asleep may have lost its run by now. */
  #checkWrite(): void {
    this.#keeper.hold();
    const reason = this.#whyNoWrite();
    if (reason === undefined) return;
    throw new WriteWithheldError(`Cannot write now: ${reason}`, { code: this.#withheld ?? "unsafe" });
  }

  /** Reads before it may have taken long, so that what held when the run began is looked at again. */
  #whyNoWrite(): string | undefined {
    const { ledger, host } = this.#around;
    const outside = whyOutside(this.#recipe, this.#row.slot_at, host.now());
    const unsafe = outside === undefined ? whyNoWrites(ledger, host.now()) : undefined;
    if (outside !== undefined) this.#withheld = "window";
    else if (unsafe !== undefined) this.#withheld = "unsafe";
    return outside ?? unsafe;
  }

  async #attempt(first: Attempt, step: CompiledStep): Promise<void> {
    const { host } = this.#around;
    const { id, uses, effect } = step;
    const most = effect === "write" ? 1 : step.retry?.attempts ?? 1;
    for (let count = 1;; count++) {
      const attempt = { ...first, attempt: first.attempt + count - 1 };
      const about = { step: id, uses, effect, attempt: attempt.attempt };
      const failure = await this.#telling.step(about, () => this.#once(attempt, step));
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

  /** Makes one attempt at a step; resolves to what was thrown. */
  async #once(attempt: Attempt, step: CompiledStep): Promise<{ error: unknown } | undefined> {
    const { host, redactor } = this.#around;
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
      // A ledger that loses this write from here on is known to have lost it.
      if (step.effect === "write") this.#around.ledger.mark();
      const context = contextOf(step, {
        scope: this.#scope(),
        attempt: attempt.attempt,
        claim: this.#claim,
        recipe: this.#recipe,
        around: this.#around,
        guard,
        halt: this.#keeper.halt,
        tell: (event) => this.#tell(event),
      });
      const { halt, lost } = this.#keeper;
      const result = await runOnce(step, context, { host, halt, lost });
      const output = redactor.json(result);
      const stored = this.#outputs[step.id] = JSON.parse(output);
      const open = guard.openError;
      if (open !== undefined) {
        // A step that returns all the same has not heard, or does not say, what became of a write.
        const end = { state: "unknown" as const, output, error: this.#describe(open), errorName: open.name };
        this.#close(attempt, end, host.monotonic() - began);
        return { error: open };
      }
      // The step did its work and found that something is amiss; doing it again would find the same.
      const amiss = isAmiss(stored)
        ? { state: "failed" as const, error: "something does not add up" }
        : undefined;
      this.#close(attempt, { state: "ok", ...amiss, output }, host.monotonic() - began);
      return undefined;
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      this.#noteLogin(error);
      // A step of one's own says in its own words what its call has thrown.
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
      check: () => this.#checkWrite(),
      // Before the write itself, so that whoever looks after a kill knows where to look.
      onSend: ({ operation, lists }) => {
        const { ledger, host } = this.#around;
        try {
          ledger.event(host.now(), WRITE_SENT, { step: step.id, operation, lists }, this.#row.run_key);
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new WriteWithheldError(`Cannot write now: the ledger could not keep it first (${reason})`, {
            code: "ledger",
            cause: error,
          });
        }
      },
    });
    this.#guards.set(step.id, guard);
    return guard;
  }

  async #begin(attempt: Attempt): Promise<void> {
    await this.#whenFree(() =>
      beginAttempt(this.#around.ledger, this.#claim, attempt, this.#around.host.now())
    );
  }

  /**
   * Does something in the ledger. While another process keeps it locked, this asks again for as long as the lease lasts:
   * what a step did, an order above all, must not be forgotten over it.
   */
  async #whenFree<T>(work: () => T): Promise<T> {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      await wait(this.#around.host, ASK_LEDGER_MS, this.#keeper.lost);
    }
  }

  /** Writes down how an attempt ended. Nothing that goes wrong here changes how it ended. */
  async #flush(): Promise<void> {
    const write = this.#toClose;
    this.#toClose = undefined;
    if (write !== undefined) await this.#whenFree(write);
  }

  /** Says how an attempt ended; {@linkcode #flush} writes it down. */
  #close(
    attempt: Attempt,
    { errorName, ...end }: { state: StepState; output?: string; error?: string; errorName?: string },
    tookMs: number,
  ): void {
    this.#states.set(attempt.step.id, end.state);
    const now = this.#around.host.now();
    this.#toClose = () => {
      endAttempt(this.#around.ledger, this.#claim, attempt, { ...end, now });
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

  #end({ state, reason }: RunOutcome): RunOutcome {
    if (state === "lost") return this.#lost();
    const { ledger, host, onEnd } = this.#around;
    const now = host.now();
    const warnings = ledger.transaction(() => {
      endRun(ledger, this.#claim, { state, reason, now });
      if (this.#displaced) this.#holdLogin(now);
      const refused = this.#noteRefusedLogin(state, now);
      // Whoever stopped it knows.
      if (state === "due" || (state === "cancelled" && reason === "stopped")) return [];
      const row = findRun(ledger, this.#row.run_key)!; // it is still there
      const found = [
        refused,
        noteSlowness(ledger, this.#recipe, row, now),
        noteLoginEnd(ledger, this.#recipe, row, now),
      ];
      onEnd?.(this.#recipe, row);
      return found;
    });
    if (this.#displaced) {
      this.#tell({ type: "warning", message: `${DISPLACED}: nothing is asked until "resume"` });
    }
    for (const message of warnings) if (message !== undefined) this.#tell({ type: "warning", message });
    return this.#ended({ state, reason });
  }

  /** Keeps what an error of a call says about the login, also when the step goes on after it. */
  #noteLogin(error: unknown): void {
    if (error instanceof DisplacedError) this.#displaced = true;
    this.#loginRefusal ??= loginRefusalIn(error);
  }

  /** Every process of the ledger waits after a refused login; returns what to tell of it. */
  #noteRefusedLogin(state: RunOutcome["state"], now: number): string | undefined {
    const { ledger, host, passwordMarkOf } = this.#around;
    const account = this.#row.account ?? "default";
    const error = this.#loginRefusal;
    if (error === undefined) {
      if (state === "ok" && this.#recipe.needsAccount) noteLoginWorked(ledger, account);
      return undefined;
    }
    const runKey = this.#row.run_key;
    const markOf = (salt: string) => passwordMarkOf?.(this.#recipe, salt);
    const told = holdRefusedLogin(ledger, error, { account, runKey, now, salt: host.id(), markOf });
    if (told !== undefined && error instanceof LoginRefusedError && error.reason === "password") {
      const { name, schedules } = this.#recipe;
      pauseRecipe(ledger, name, { why: PASSWORD_REFUSED, now, schedules });
    }
    return told;
  }

  /** Whatever becomes of this run: whoever asks next would log in again, and fight for the login. */
  #holdLogin(now: number): void {
    const { ledger } = this.#around;
    holdLogin(ledger, { account: this.#row.account ?? "default", runKey: this.#row.run_key, now });
    const { name, schedules } = this.#recipe;
    pauseRecipe(ledger, name, { why: DISPLACED, now, schedules });
  }

  /** Nothing may be written into the run's row any more; what went out under it must not be forgotten. */
  #lost(): RunOutcome {
    const guards = [...this.#guards];
    const sent = guards.filter(([, guard]) => guard.sent.length > 0)
      .map(([step, guard]) => `step "${step}" had sent ${tellSent(guard.sent)}`);
    const lists = new Set(guards.flatMap(([, { sent: writes }]) => writes.flatMap((write) => write.lists)));
    this.#tell({
      type: "warning",
      message: `the lease was lost, somebody else has the run; ${
        sent.length > 0 ? sent.join("; ") : "nothing was sent"
      } before that, and nothing after it${lists.size === 0 ? "" : `; look in ${[...lists].join(", ")}`}`,
    });
    return this.#ended({ state: "lost", reason: guards.length === 0 ? "lease" : "write" });
  }

  #ended(outcome: RunOutcome): RunOutcome {
    const tookMs = this.#around.host.monotonic() - this.#startedAt;
    this.#tell({ type: "run-ended", ...outcome, tookMs });
    return outcome;
  }

  #scope(): RunScope & StepScope {
    return { ...scopeOf(this.#recipe, this.#row, this.#around.within), outputs: this.#outputs };
  }

  #describe(error: unknown): string {
    return this.#around.redactor.text(error instanceof Error ? error.message : String(error));
  }

  #tell(event: BareRunEvent): void {
    this.#telling.tell(event);
  }
}
