/**
 * Runs a claimed run. The engine runs the steps; this file records them in the store under the claim, keeps the lease
 * alive, decides how the run ended, and warns.
 *
 * @module
 */
import { narrowedLimits } from "../../client/limits.ts";
import { Desk, type DeskOptions } from "../../desk/desk.ts";
import { guardsOf } from "../../desk/guards/rules.ts";
import type { Client } from "../../client/client.ts";
import { BrokerError, DisplacedError, LoginRefusedError, messageOf } from "../../errors.ts";
import type { CompiledRecipe, CompiledStep, StepDesk } from "../../recipes/compiled.ts";
import { type Halt, scopeOf } from "../../recipes/engine/step_context.ts";
import {
  modes,
  type PlannedState,
  type PlannedStep,
  type Recorder,
  StepEngine,
  type StepEvent,
  type StepState,
} from "../../recipes/engine/engine.ts";
import { whyPlan } from "../../recipes/live.ts";
import { describeSent } from "../../recipes/engine/guarded_client.ts";
import { isTemporary } from "../../store/store_error.ts";
import { onceMore } from "../../store/store.ts";
import { wait } from "../../time.ts";
import {
  type Claim,
  claimedTransaction,
  endRun,
  LeaseKeeper,
  LeaseLostError,
  renewClaim,
} from "../claims/claim.ts";
import { pauseRecipe } from "../claims/decisions.ts";
import {
  holdLogin,
  holdRefusedLogin,
  LOGIN_TAKEN_OVER,
  loginRefusalIn,
  noteLoginWorked,
  PASSWORD_REFUSED,
} from "../claims/login_holds.ts";
import type { RunDeps } from "../deps.ts";
import { eventDataOf, TRADING, WRITE_SENT } from "../queries/events.ts";
import { findRun, paramsOf, type RunRow, type RunState, slotOf } from "../queries/runs.ts";
import {
  beginAttempt,
  endAttempt,
  lastAttempts,
  outputIn,
  recordArtifact,
  skipStep,
} from "../queries/steps.ts";
import { noteLoginEnd, noteSlowness, RunReport } from "./report.ts";
import { endLeftPlans, whyNoWrites } from "../claims/claims.ts";
import { whyOutside } from "../schedule/plan_run.ts";

/** Wait before the next try, while the store is locked or cannot be reached. */
const ASK_STORE_MS = 1_000;

/**
 * A write was not sent, because its window is not open, live trading is off now, writing is not safe, or the store
 * could not record the write.
 */
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
  const trading = await tradingOf(recipe, row, deps);
  return await new Execution(recipe, { claim, row, deps, stop, trading }).execute();
}

/** Why a write was not sent: the window of the run, live trading that is off, or a problem that may be temporary. */
type Withheld = "window" | "plan" | "unsafe";

/** Whether a round of a run may send writes. */
interface Trading {
  /** Set if the round is a plan: why it sends nothing, and only records what it would send. */
  plan?: string;
  /** Set if the round sends nothing more: it began live, and live trading is off now. */
  stopped?: string;
}

/**
 * Decides whether a round of a run is live or a plan. The decision is made and recorded once, at the first start of the
 * round.
 */
async function tradingOf(recipe: CompiledRecipe, row: RunRow, deps: RunDeps): Promise<Trading> {
  const { store, machine, limits } = deps;
  const why = whyPlan(recipe, limits);
  if (recipe.class !== "write" || limits === undefined) return {};
  const { run_key: runKey, round } = row;
  const before = (await eventDataOf(store, runKey, TRADING)).find((each) => each.round === round);
  if (before?.plan !== undefined) return { plan: before.plan };
  if (before !== undefined) return why === undefined ? {} : { stopped: why };
  await onceMore(() =>
    store.event(machine.now(), TRADING, { round, ...why !== undefined && { plan: why } }, runKey)
  );
  return why === undefined ? {} : { plan: why };
}

/** Returns the log text of a step that is only planned. */
function plannedText({ state, plan, dependsOn = [] }: PlannedStep): string {
  if (plan !== undefined) return `plan: ${JSON.stringify(plan)}`;
  if (state === "not-done") return "plan: not done";
  return dependsOn.length === 0 ? "plan: it would write" : `plan: it depends on ${dependsOn.join(", ")}`;
}

class Execution {
  readonly #recipe: CompiledRecipe;
  readonly #claim: Claim;
  readonly #deps: RunDeps;
  readonly #row: RunRow;
  readonly #keeper: LeaseKeeper;
  readonly #report: RunReport;
  readonly #engine: StepEngine;
  readonly #trading: Trading;
  #startedAt = 0;
  /** The order desk, and the client with which it sends. */
  #desk: { client: Client; desk: Desk } | undefined;
  /** Why a step did not write although all steps before it succeeded. */
  #withheld: Withheld | undefined;
  #takenOver = false;
  /** The login that the broker refused, if it did. */
  #loginRefusal: ReturnType<typeof loginRefusalIn>;

  constructor(
    recipe: CompiledRecipe,
    { claim, row, deps, stop, trading }: {
      claim: Claim;
      row: RunRow;
      deps: RunDeps;
      stop: AbortSignal | undefined;
      trading: Trading;
    },
  ) {
    const { machine, out, redactor, secret, client, timeOf, runRecipe, store, within, work } = deps;
    this.#recipe = recipe;
    this.#claim = claim;
    this.#deps = deps;
    this.#row = row;
    this.#trading = trading;
    this.#report = new RunReport(row, deps);
    this.#keeper = new LeaseKeeper({
      machine,
      everyMs: claim.leaseMs / 3,
      leaseMs: claim.leaseMs,
      timeoutMs: recipe.timeoutMs,
      renew: async () => await onceMore(() => renewClaim(store, claim, machine.now())),
      stop,
    });
    const now = timeOf?.(recipe);
    this.#engine = new StepEngine(recipe, {
      // The row's parameters are those of the recipe, with the values that were given for this run.
      scope: scopeOf(deps.calendars(), recipe, {
        ...slotOf(row),
        runKey: row.run_key,
        params: paramsOf(row),
      }, within),
      deps: {
        machine,
        calendars: deps.calendars,
        out,
        redactor,
        secret,
        client: async (step) => this.#throughDesk(await client(recipe), step),
        desk: async (step) => this.#deskOf(await client(recipe), step),
        ...now !== undefined && { now },
      },
      mode: trading.plan === undefined ? modes.stored : modes.plan,
      recorder: this.#recorder(),
      writes: {
        whyNot: async () => await this.#withhold(),
        whyEnded: async () => await this.#whyWritesEnded(),
        check: async () => await this.#checkWrite(),
      },
      halt: this.#keeper.halt,
      lost: this.#keeper.lost,
      isLost: (error) => error instanceof LeaseLostError,
      onError: (error) => this.#noteLogin(error),
      onEvent: (event) => this.#reportStep(event),
      ...work !== undefined && { work },
      ...runRecipe !== undefined && {
        runRecipe: (call, name, params) => runRecipe({ ...claim, ...call, recipe }, name, params),
      },
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
    const { machine, whenStopped = "due" } = this.#deps;
    const { steps } = this.#recipe;
    this.#startedAt = machine.monotonic();
    try {
      this.#report.emit({
        type: "run-started",
        attempt: this.#row.attempt,
        lateMs: Math.max(0, machine.now() - this.#row.due_at),
        steps: steps.map(({ id }) => id),
      });
      const { plan, stopped } = this.#trading;
      if (plan !== undefined) {
        this.#report.emit({ type: "warning", message: `this run is a plan, and sends nothing: ${plan}` });
      }
      if (stopped !== undefined) {
        this.#report.emit({ type: "warning", message: `this run sends nothing more: ${stopped}` });
      }
      await this.#engine.run();
      const { halt } = this.#keeper;
      const outcome = outcomeOf(steps, {
        states: this.#engine.states,
        halt: halt.aborted ? halt.reason : undefined,
        whenStopped,
        isTakenOver: this.#takenOver,
        isLoginRefused: this.#loginRefusal !== undefined,
        withheld: this.#withheld,
        isPlan: plan !== undefined,
      });
      return await this.#whenFree(async () => await this.#end(outcome));
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      return this.#lost();
    }
  }

  /** Records the steps in the store, each row under the claim. */
  #recorder(): Recorder {
    const { store, machine } = this.#deps;
    const { run_key: runKey, round } = this.#row;
    const claim = this.#claim;
    return {
      earlier: async () => {
        const attempts = await this.#whenFree(async () => await lastAttempts(store, runKey, round));
        // The engine parses these outputs. Fail before the first step if one of them cannot be read.
        for (const attempt of attempts.values()) outputIn(attempt);
        return attempts;
      },
      within: async ({ step: { id, uses, effect }, attempt }, work) =>
        await this.#report.step({ step: id, uses, effect, attempt }, work),
      begin: async (attempt) =>
        await this.#whenFree(async () =>
          await beginAttempt(store, claim, { ...attempt, round }, machine.now())
        ),
      end: async (attempt, end) => {
        const now = machine.now(); // read the time before using the store, which may take long
        await this.#whenFree(async () =>
          await endAttempt(store, claim, { ...attempt, round }, { ...end, now })
        );
      },
      skip: async (attempt, reason) =>
        await this.#whenFree(async () =>
          await skipStep(store, claim, { ...attempt, round }, reason, machine.now())
        ),
      plan: async (attempt, planned) =>
        await this.#whenFree(async () =>
          await skipStep(store, claim, { ...attempt, round }, plannedText(planned), machine.now())
        ),
      // From now on, if the store loses this write, its mark shows the loss.
      beforeWriteStep: async () => await store.mark(),
      // Recorded before the write is sent, so that a person knows where to look after a crash.
      beforeSend: async ({ id: step }, { operation, lists }) => {
        try {
          await onceMore(() => store.event(machine.now(), WRITE_SENT, { step, operation, lists }, runKey));
        } catch (error) {
          const reason = messageOf(error);
          throw new WriteWithheldError(
            `Cannot write now: the store could not record the write first (${reason})`,
            {
              code: "store",
              cause: error,
            },
          );
        }
      },
      artifact: async ({ id: step }, file) => {
        const recorded = await recordArtifact(store, claim, file, machine.now());
        this.#report.emit({ type: "artifact", step, dataset: file.dataset, path: file.path, ...recorded });
      },
    };
  }

  /** Returns a client whose order writes go through the order desk of the run's account. */
  #throughDesk(client: Client, step: string): Client {
    if (this.#recipe.class !== "write") return client; // the guards of the steps reject every write
    return this.#deskOf(client, step).client();
  }

  /** Returns the order desk of the run's account, which records the run and the step with each write. */
  #deskOf(client: Client, step: string): StepDesk {
    const { store } = this.#deps;
    const account = this.#row.account ?? "default";
    if (this.#desk?.client !== client) {
      const options = { ...this.#recipe, confirm: async () => await this.#confirmWrite() };
      this.#desk = { client, desk: deskOf(this.#deps, account, client, options) };
    }
    const { desk } = this.#desk;
    const own = { recipe: this.#recipe.name, runKey: this.#row.run_key, step };
    return {
      store,
      account,
      machine: desk.machine,
      client: (why = {}) => desk.client({ ...why, ...own }),
      reconcile: (options) => desk.reconcile(options),
      whyHalted: () => desk.whyHalted(),
    };
  }

  #reportStep(event: StepEvent): void {
    if (event.type === "step-planned") {
      const { type: _, step, ...planned } = event;
      const reason = plannedText(planned);
      return this.#report.emit({ type: "step-ended", step, state: "skipped", tookMs: 0, reason });
    }
    if (event.type !== "step-ended") return this.#report.emit(event);
    const { thrown: _, output: __, ...ended } = event;
    this.#report.emit(ended);
  }

  /** Checks right before each write is sent, because a process that was suspended may have lost its run. */
  async #checkWrite(): Promise<void> {
    await this.#keeper.renewOrThrow();
    await this.#refuseOutside();
  }

  /**
   * Checks again in the transaction that commits to a write: the process may have been suspended since it renewed its
   * lease.
   */
  async #confirmWrite(): Promise<void> {
    const { store, machine } = this.#deps;
    await claimedTransaction(store, this.#claim, machine.now(), () => this.#refuseOutside());
  }

  async #refuseOutside(): Promise<void> {
    const reason = await this.#withhold();
    if (reason === undefined) return;
    throw new WriteWithheldError(`Cannot write now: ${reason}`, { code: this.#withheld ?? "unsafe" });
  }

  /** Returns why no write may be sent now, and records that a write was withheld for this reason. */
  async #withhold(): Promise<string | undefined> {
    const found = await this.#whyNoWrite();
    if (found !== undefined) this.#withheld = found.code;
    return found?.reason;
  }

  /**
   * Returns why no write of this run may be sent any more; `undefined` if writes may be sent, or if the reason may be
   * temporary.
   */
  async #whyWritesEnded(): Promise<string | undefined> {
    const found = await this.#whyNoWrite();
    return found?.code === "unsafe" ? undefined : found?.reason;
  }

  /**
   * Returns why no write may be sent now; `undefined` if it may be sent. Repeats checks of the run's start, because
   * earlier steps may have taken long.
   */
  async #whyNoWrite(): Promise<{ code: Withheld; reason: string } | undefined> {
    const { store, machine } = this.#deps;
    const outside = whyOutside(this.#deps.calendars(), this.#recipe, this.#row.slot_at, machine.now());
    if (outside !== undefined) return { code: "window", reason: outside };
    const { stopped } = this.#trading;
    if (stopped !== undefined) return { code: "plan", reason: stopped };
    const unsafe = await whyNoWrites(store, machine.now());
    return unsafe === undefined ? undefined : { code: "unsafe", reason: unsafe };
  }

  /**
   * Runs work in the store. While the store is locked or cannot be reached, tries again until the lease is lost. So the
   * result of a step, such as an order, is recorded.
   */
  async #whenFree<T>(work: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isTemporary(error)) throw error;
      }
      await wait(this.#deps.machine, ASK_STORE_MS, this.#keeper.lost);
    }
  }

  async #end({ state, reason }: RunOutcome): Promise<RunOutcome> {
    if (state === "lost") return this.#lost();
    const { store, machine, onEnd } = this.#deps;
    const now = machine.now();
    const warnings = await store.transaction(async () => {
      await endRun(store, this.#claim, { state, reason, now });
      await endLeftPlans(store, now);
      if (this.#takenOver) await this.#holdLogin(now);
      const refused = await this.#noteRefusedLogin(state, now);
      // A run that continues later needs no warning yet, and a person who stopped a run needs none.
      if (state === "due" || (state === "cancelled" && reason === "stopped")) return [];
      const row = (await findRun(store, this.#row.run_key))!; // `endRun` has just updated this row
      const found = [
        refused,
        await noteSlowness(store, this.#deps.calendars(), this.#recipe, row, now),
        await noteLoginEnd(store, this.#deps.calendars(), this.#recipe, row, now),
      ];
      await onEnd?.(this.#recipe, row);
      return found;
    });
    if (this.#takenOver) {
      this.#report.emit({
        type: "warning",
        message:
          `${LOGIN_TAKEN_OVER}: no requests are sent until you run: hsgate resume ${this.#recipe.name}`,
      });
    }
    for (const message of warnings) {
      if (message !== undefined) this.#report.emit({ type: "warning", message });
    }
    return this.#ended({ state, reason });
  }

  /** Records what an error of a call says about the login, even if the step catches the error. */
  #noteLogin(error: unknown): void {
    if (error instanceof DisplacedError) this.#takenOver = true;
    this.#loginRefusal ??= loginRefusalIn(error);
  }

  /**
   * Blocks a refused login for every process of the store, and returns a warning. Pauses the recipe after a wrong
   * password. After a successful run that used the account, clears earlier refusals.
   */
  async #noteRefusedLogin(state: RunOutcome["state"], now: number): Promise<string | undefined> {
    const { store, machine, passwordMarkOf } = this.#deps;
    const account = this.#row.account ?? "default";
    const error = this.#loginRefusal;
    if (error === undefined) {
      if (state === "ok" && this.#recipe.needsAccount) await noteLoginWorked(store, account);
      return undefined;
    }
    const runKey = this.#row.run_key;
    const markOf = (salt: string) => passwordMarkOf?.(this.#recipe, salt);
    const warning = await holdRefusedLogin(store, error, {
      account,
      runKey,
      now,
      salt: machine.id(),
      markOf,
    });
    if (warning !== undefined && error instanceof LoginRefusedError && error.reason === "password") {
      const { name, schedules } = this.#recipe;
      await pauseRecipe(store, name, { why: PASSWORD_REFUSED, now, schedules });
    }
    return warning;
  }

  /** Blocks a login that was taken over, and pauses the recipe: its next run would log in and take the login back. */
  async #holdLogin(now: number): Promise<void> {
    const { store } = this.#deps;
    await holdLogin(store, { account: this.#row.account ?? "default", runKey: this.#row.run_key, now });
    const { name, schedules } = this.#recipe;
    await pauseRecipe(store, name, { why: LOGIN_TAKEN_OVER, now, schedules });
  }

  /**
   * Ends the run without writing to its row, because another process holds the run. The warning names the writes that
   * this run had sent.
   */
  #lost(): RunOutcome {
    const guards = [...this.#engine.guards];
    const sent = guards.filter(([, guard]) => guard.sent.length > 0)
      .map(([step, guard]) => `step "${step}" had sent ${describeSent(guard.sent)}`);
    const lists = new Set(guards.flatMap(([, { sent: writes }]) => writes.flatMap((write) => write.lists)));
    this.#report.emit({
      type: "warning",
      message: `lost the lease to another process; ${
        sent.length > 0 ? `before that, ${sent.join("; ")}` : "this run sent nothing"
      }${lists.size === 0 ? "" : `; look in ${[...lists].join(", ")}`}`,
    });
    return this.#ended({ state: "lost", reason: guards.length === 0 ? "lease" : "write" });
  }

  #ended(outcome: RunOutcome): RunOutcome {
    const tookMs = this.#deps.machine.monotonic() - this.#startedAt;
    this.#report.emit({ type: "run-ended", ...outcome, tookMs });
    return outcome;
  }
}

/**
 * How a run ended: `due` if it was released, `lost` if another process has it. The reason of `lost` is `write` if a
 * write step had begun, and `lease` otherwise.
 */
export interface RunOutcome {
  state: RunState | "lost";
  reason?: string;
}

/** The facts that decide how a run ended. */
export interface Ending {
  /** States of the steps that were reached, by step id. */
  states: ReadonlyMap<string, StepState | PlannedState>;
  /** Reason why the run was ended early. */
  halt: Halt | undefined;
  /** State that a run gets if it is stopped while it only reads. */
  whenStopped: "due" | "cancelled";
  /** Whether another device took the login over. */
  isTakenOver: boolean;
  /** Whether the broker refused a login. @default false */
  isLoginRefused?: boolean;
  /** Why a step did not write although all steps before it succeeded. */
  withheld: Withheld | undefined;
  /** Whether the run is a plan. @default false */
  isPlan?: boolean;
}

/** Decides how a run ended. An unknown write takes precedence over everything else. */
export function outcomeOf(
  steps: readonly Pick<CompiledStep, "id" | "effect" | "resumes">[],
  { states, halt, whenStopped, isTakenOver, isLoginRefused = false, withheld, isPlan = false }: Ending,
): RunOutcome {
  const all = [...states.values()];
  const unknown = steps.filter(({ id }) => states.get(id) === "unknown");
  // If a stopped step can resume, the next process continues it, after finding the outcomes of its orders.
  if (halt?.kind === "stopped" && unknown.length > 0 && unknown.every(({ resumes }) => resumes)) {
    return { state: "waiting_recovery", reason: "stopped" };
  }
  if (all.includes("unknown")) return { state: "unknown", reason: "write" };
  const allOkOrSkipped = steps.every(({ id }) => ["ok", "skipped"].includes(states.get(id) ?? ""));
  switch (halt?.kind) {
    case "lost":
      return { state: "lost", reason: "lease" };
    case "timeout":
      return { state: "failed", reason: "timeout" };
    case "cancelled":
      if (allOkOrSkipped) break;
      return { state: "cancelled", reason: halt.message };
    case "stopped": {
      if (allOkOrSkipped) break;
      const wrote = steps.some(({ id, effect }) =>
        !isPlan && effect === "write" && states.has(id) && states.get(id) !== "skipped"
      );
      return { state: wrote ? "waiting_recovery" : whenStopped, reason: "stopped" };
    }
  }
  if (isTakenOver) return { state: "failed", reason: "displaced" };
  if (all.includes("failed")) return { state: "failed", reason: isLoginRefused ? "login" : "step" };
  // A run whose order was not placed must not look like a success.
  if (withheld !== undefined) return { state: "failed", reason: withheld };
  if (isPlan) return { state: "skipped", reason: "plan" };
  const isEmpty = all.length > 0 && all.every((state) => state === "skipped");
  return isEmpty ? { state: "skipped", reason: "condition" } : { state: "ok" };
}

/**
 * Returns the desk of an account for the orders of a recipe. Each limit is the narrower one of the account's and the
 * recipe's.
 */
export function deskOf(
  deps: RunDeps,
  account: string,
  client: Client,
  { limits: own = {}, connect, confirm }:
    & Pick<CompiledRecipe, "limits" | "connect">
    & Pick<DeskOptions, "confirm"> = {},
): Desk {
  const { store, redactor, haltedByFile, limits: outer, calendars, resolveMs, timeoutMs } = deps;
  const { deskMachine: machine = deps.machine } = deps;
  const limits = outer && narrowedLimits(outer, own);
  const guard = limits && guardsOf(
    connect?.to === "simulator" ? { ...limits, liveTrading: true } : limits,
    { store, machine, account, calendars },
  );
  return new Desk({
    store,
    machine,
    account,
    client,
    redact: (text) => redactor.text(text),
    ...guard && { guard },
    ...haltedByFile && { haltedByFile },
    ...confirm && { confirm },
    ...resolveMs !== undefined && { resolveMs },
    ...timeoutMs !== undefined && { timeoutMs },
  });
}
