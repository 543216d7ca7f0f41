/**
 * Connects the parts of a process that runs recipes: steps that run other recipes, the recovery of interrupted writes,
 * the comparison of open orders with the broker's lists, and notices about how runs end.
 *
 * @module
 */
import { reasonOf } from "../credentials.ts";
import { isOfEarlierDay } from "../desk/follow.ts";
import { needsReading, OLD_ORDERS_MS } from "../desk/reconcile.ts";
import type { Intent } from "../desk/intent.ts";
import { openAccounts, openIntents } from "../desk/queries.ts";
import { BrokerError, DisplacedError } from "../errors.ts";
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { versionOf } from "../recipes/powers.ts";
import { type Claimer, mutexOf, resolveOutcome } from "./claims/claims.ts";
import {
  holdLogin,
  holdRefusedLogin,
  loginRefusalIn,
  refusedLoginOn,
  takenOverBy,
} from "./claims/login_holds.ts";
import type { RunDeps } from "./deps.ts";
import { noticeChannel } from "./notify/notice_step.ts";
import { type Channel, NoticeDelivery, type NoticeEvent, queueNotices } from "./notify/notify.ts";
import { continueRun, leaseHolder } from "./queries/claims.ts";
import { latestRunKey } from "./queries/run_lookups.ts";
import { findRun, findRuns, isStarterOnly } from "./queries/runs.ts";
import { lastStepOf } from "./queries/steps.ts";
import { proveSteps } from "./run/recover_run.ts";
import { deskOf } from "./run/run.ts";
import { withSharedClock } from "../store/store.ts";
import { runNested } from "./run/nested.ts";
import type { Recipes } from "./schedule/listing.ts";

/** Options of a runner. */
export interface RunnerOptions extends Omit<RunDeps, "runRecipe" | "onEnd" | "whenStopped" | "within"> {
  /** Returns the recipes as they are now, by name. */
  recipes(): Recipes;
  /** A name that is unique among processes. */
  holder: string;
  /** The account that a recipe acts on. @default "default" for every recipe */
  accountOf?(recipe: CompiledRecipe): string;
  /** How long a claim lasts without being renewed. @default 30 s */
  leaseMs?: number;
  /** Aborted when runs must stop. */
  stop: AbortSignal;
  /** Channels that replace the steps that recipes declare for their notices. */
  channels?: Readonly<Record<string, Channel>>;
  /**
   * Returns whether a login for the recipe ends all other logins of its account. The runner then does not log in merely
   * to follow orders. @default false
   */
  isSoleLogin?(recipe: CompiledRecipe): boolean;
  /**
   * Called when a recipe loses its login, or its login is refused, outside of a run: the recipe's client must be
   * replaced.
   */
  onLoginLost?(recipe: CompiledRecipe): void;
  /** Called after each try to send a notice. */
  onNotice?(event: NoticeEvent): void | Promise<void>;
}

/** Name of the order desk in the record of who resolved a write. */
const DESK = "order desk";

/** Runs the recipes of one process and delivers their notices. */
export class Runner {
  /** How this process claims runs. */
  readonly claimer: Claimer;
  /** The dependencies of each run. */
  readonly deps: RunDeps;
  /** Aborted when runs must stop. */
  readonly stop: AbortSignal;
  readonly #options: RunnerOptions;
  readonly #delivery: NoticeDelivery;
  /** By account: the monotonic time of the next comparison that includes old intents. */
  readonly #followOldAt = new Map<string, number>();

  constructor(given: RunnerOptions) {
    // Leases use the clock that all users of the store share.
    const options = { ...given, machine: withSharedClock(given.machine, given.store) };
    this.#options = options;
    this.stop = options.stop;
    const { holder, leaseMs = 30_000, accountOf = () => "default", passwordMarkOf } = options;
    this.claimer = {
      holder,
      leaseMs,
      accountOf,
      passwordMarkOf,
      onEnd: async (runKey) => await this.queueNotices([runKey]),
    };
    const deps: RunDeps = {
      ...options,
      onEnd: async (_recipe, row) => await this.queueNotices([row.run_key]),
    };
    this.deps = {
      ...deps,
      runRecipe: (parent, name, params) =>
        runNested(parent, { name, params }, {
          recipes: options.recipes(),
          deps,
          claimer: this.claimer,
          stop: this.stop,
        }),
    };
    const { store, machine, redactor, channels, onNotice } = options;
    this.#delivery = new NoticeDelivery({
      store,
      machine,
      channelOf: async (notice) =>
        channels?.[notice.channel] ?? await noticeChannel(options.recipes(), this.deps, notice),
      redact: (text) => reasonOf(text, redactor),
      onNotice,
    });
  }

  /**
   * Finds the outcome of the writes of an interrupted run. If the order desk and the broker's lists prove it,
   * the run continues with its other steps; a manual run ends.
   *
   * @returns The proof; `undefined` if there is none yet.
   */
  async recover(runKey: string, recipe: CompiledRecipe): Promise<string | undefined> {
    const { store, machine } = this.#options;
    const mayReadLists = (account: string) => this.#mayReadLists(recipe, account);
    const steps = await proveSteps(recipe, runKey, { ...this.deps, mayReadLists });
    const row = await findRun(store, runKey);
    if (steps === undefined || row === undefined) return undefined;
    const because = steps.length === 0
      ? "the outcome of every step that writes is recorded"
      : steps.map((step) => `step "${step.id}": ${step.because}`).join("; ");
    const state = steps.every((step) => step.state === "ok") ? "ok" : "failed";
    const now = machine.now();
    if (isStarterOnly(row)) {
      // No process may continue a manual run, so the steps that it had not begun are never run.
      const ranEveryStep = steps.length > 0 && row.recipe_sha === versionOf(recipe) &&
        await lastStepOf(store, runKey) === recipe.steps.at(-1)?.id;
      const end = state === "ok" && ranEveryStep ? "ok" : "failed";
      return await resolveOutcome(store, { runKey, state: end, actor: DESK, because, now })
        ? because
        : undefined;
    }
    return await store.transaction(async () => {
      if (!await continueRun(store, runKey, steps, now)) return undefined;
      // A step that may begin again has not failed.
      const isAgain = state === "failed" && steps.every((step) => step.state !== "failed");
      await store.event(
        now,
        "resolved",
        { state: isAgain ? "again" : state, actor: DESK, because },
        runKey,
      );
      return because;
    });
  }

  /**
   * Compares the open intents of every account that a recipe uses with the broker's lists. This includes intents of
   * commands and of runs that have ended. If a reading fails, nothing is concluded from it, and the lists are read
   * again later.
   */
  async followOrders(): Promise<void> {
    const { store, machine, recipes, stop, isSoleLogin } = this.#options;
    for (const account of await openAccounts(store)) {
      const recipe = [...recipes().values()].find((each) =>
        each.needsAccount && this.claimer.accountOf(each) === account
      );
      if (recipe === undefined || isSoleLogin?.(recipe) || !await this.#mayReadLists(recipe, account)) {
        continue;
      }
      const intents = await openIntents(store, account);
      const now = machine.now();
      const withOld = machine.monotonic() >= (this.#followOldAt.get(account) ?? -Infinity);
      if (withOld) this.#followOldAt.set(account, machine.monotonic() + OLD_ORDERS_MS);
      // Old intents are compared only once in `OLD_ORDERS_MS`, because the history must be read for them.
      else if (intents.every((intent) => isOfEarlierDay(intent, now))) continue;
      try {
        await deskOf(this.deps, account, await this.deps.client(recipe)).reconcile({
          signal: stop,
          leavesOut: (intent) => !needsReading(intent, { now, withOld }),
        });
      } catch (error) {
        const isLost = await this.#noteLogin(recipe, { account, intents, error });
        if (!stop.aborted && (isLost || !(error instanceof BrokerError))) throw error;
      }
    }
  }

  /**
   * If an error says that the login was taken over or refused, blocks the login for every process of the store.
   * Otherwise two programs would keep taking the login from each other, or too many wrong passwords would lock the
   * account. Returns whether the error says so.
   */
  async #noteLogin(
    recipe: CompiledRecipe,
    { account, intents, error }: { account: string; intents: readonly Intent[]; error: unknown },
  ): Promise<boolean> {
    const refusal = loginRefusalIn(error);
    const isTakenOver = error instanceof DisplacedError;
    if (refusal === undefined && !isTakenOver) return false;
    const { store, machine, onLoginLost } = this.#options;
    onLoginLost?.(recipe);
    // A block belongs to a run, so that a person can end it by resuming the run's recipe. The open orders may all be
    // from commands; then the block belongs to a run of the recipe whose login was used.
    const runKey = intents.find(({ why }) => why.runKey !== undefined)?.why.runKey ??
      await latestRunKey(store, recipe.name);
    if (runKey === undefined) return true;
    const markOf = (salt: string) => this.claimer.passwordMarkOf?.(recipe, salt);
    const given = { account, runKey, now: machine.now(), salt: machine.id(), markOf };
    await store.transaction(async () => {
      if (isTakenOver) await holdLogin(store, given);
      else if (refusal !== undefined) await holdRefusedLogin(store, refusal, given);
    });
    return true;
  }

  /**
   * Returns whether a recipe's connection may read the lists of an account. The recipe must use this account, the login
   * must not be blocked, and no run of another process may be using the account: a second login could end the login of
   * that run.
   */
  async #mayReadLists(recipe: CompiledRecipe, account: string): Promise<boolean> {
    const { store, machine } = this.#options;
    const { holder, accountOf, passwordMarkOf } = this.claimer;
    if (accountOf(recipe) !== account || await takenOverBy(store, account) !== undefined) return false;
    const user = await leaseHolder(store, mutexOf(account), machine.now());
    if (user !== undefined && !user.startsWith(`${holder} `)) return false;
    const markOf = (salt: string) => passwordMarkOf?.(recipe, salt);
    const needed = { now: machine.now(), needsAccount: true, markOf };
    return await refusedLoginOn(store, account, needed) === undefined;
  }

  /** Queues the notices that recipes declare for how their runs ended or why they were skipped. */
  async queueNotices(runKeys: readonly string[], now = this.#options.machine.now()): Promise<void> {
    const { store, redactor, recipes } = this.#options;
    for (const row of await findRuns(store, runKeys)) {
      const recipe = recipes().get(row.recipe);
      if (recipe?.notify === undefined) continue;
      await queueNotices(store, recipe, row, { now, redact: (value) => redactor.json(value) });
    }
  }

  /** Sends the notices that are due; resolves when each was sent or has failed. */
  async deliverNotices(): Promise<void> {
    await this.#delivery.deliver();
  }

  /** Starts no more deliveries; resolves when no notice is being sent. */
  async end(): Promise<void> {
    await this.#delivery.end();
  }
}
