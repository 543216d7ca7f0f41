/**
 * Wires the parts that running recipes needs: steps that run other recipes, notices about how runs end, and their
 * delivery.
 *
 * @module
 */
import { reasonOf } from "../credentials.ts";
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { versionOf } from "../recipes/powers.ts";
import { type Claimer, resolveOutcome } from "./claims/claims.ts";
import type { RunDeps } from "./deps.ts";
import { noticeChannel } from "./notify/notice_step.ts";
import { type Channel, NoticeDelivery, type NoticeEvent, queueNotices } from "./notify/notify.ts";
import { continueRun } from "./queries/claims.ts";
import { findRun, findRuns, isStarterOnly } from "./queries/runs.ts";
import { lastStepOf } from "./queries/steps.ts";
import { proveSteps } from "./run/recover_run.ts";
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
  /** Called after each try to send a notice. */
  onNotice?(event: NoticeEvent): void | Promise<void>;
}

/** Name of the order desk in the record of who resolved a write. */
const DESK = "order desk";

/** Runs the recipes of one process and delivers their notices. */
export class Runner {
  /** How this process claims runs. */
  readonly claimer: Claimer;
  /** What each run gets. */
  readonly deps: RunDeps;
  /** Aborted when runs must stop. */
  readonly stop: AbortSignal;
  readonly #options: RunnerOptions;
  readonly #delivery: NoticeDelivery;

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
   * Finds out what became of the writes of an interrupted run. If the order desk and the broker's lists prove that,
   * the run continues with its other steps; a manual run ends.
   *
   * @returns The proof; `undefined` if there is none yet.
   */
  async recover(runKey: string, recipe: CompiledRecipe): Promise<string | undefined> {
    const { store, machine } = this.#options;
    const steps = await proveSteps(recipe, runKey, this.deps);
    const row = await findRun(store, runKey);
    if (steps === undefined || row === undefined) return undefined;
    const because = steps.map((step) => `step "${step.id}": ${step.because}`).join("; ");
    const state = steps.every((step) => step.state === "ok") ? "ok" : "failed";
    const now = machine.now();
    if (isStarterOnly(row)) {
      // No process may continue a manual run, so the steps that it had not begun are never run.
      const isWhole = steps.length > 0 && row.recipe_sha === versionOf(recipe) &&
        await lastStepOf(store, runKey) === recipe.steps.at(-1)?.id;
      const end = state === "ok" && isWhole ? "ok" : "failed";
      return await resolveOutcome(store, { runKey, state: end, actor: DESK, because, now })
        ? because
        : undefined;
    }
    return await store.transaction(async () => {
      if (!await continueRun(store, runKey, steps, now)) return undefined;
      await store.event(now, "resolved", { state, actor: DESK, because }, runKey);
      return because;
    });
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

  /** Stops starting deliveries; resolves when nothing is being sent. */
  async end(): Promise<void> {
    await this.#delivery.end();
  }
}
