/**
 * Schedules recipes: writes slots into the store, decides about late runs, claims due runs and runs them.
 *
 * Several schedulers may share a store. If one dies, the others take over its runs.
 *
 * @module
 */
import { messageOf } from "../../errors.ts";
import { RECONCILE_MS } from "../../desk/reconcile.ts";
import { withSharedClock } from "../../store/store.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import {
  type BlockedRun,
  claimNext,
  endLeftPlans,
  recoverExpired,
  resolveOutcome,
} from "../claims/claims.ts";
import {
  noteFiles,
  noteFreshFiles,
  pauseMissing,
  RecipeSet,
  resumeReturned,
  type Served,
} from "./recipe_set.ts";
import type { Machine } from "../../time.ts";
import { drawTraceId } from "./plan_run.ts";
import {
  applyMisfirePolicy,
  decideOverlaps,
  type ListingOptions,
  listSchedules,
  type Skipped,
} from "./listing.ts";
import type { NoticeEvent } from "../notify/notify.ts";
import { Runner, type RunnerOptions } from "../runner.ts";
import { executeRun, type RunOutcome } from "../run/run.ts";
import { defaultRetention, Pruner, type Retention } from "../queries/retention.ts";
import { allSchedules } from "../queries/schedules.ts";
import { type NewRun, type SkipReason, tracesOf } from "../queries/runs.ts";
import { firstLeaseEnd, nextDue, runsToRecover } from "../queries/claims.ts";

/** Options of a scheduler; times in milliseconds. */
export interface SchedulerOptions extends Omit<RunnerOptions, "recipes" | "stop" | "onNotice"> {
  recipes: readonly CompiledRecipe[];
  /** Where the recipes come from. Without it, a recipe counts as missing only if a reload omits the recipe. */
  served?: Served;
  /** Slots older than this get no row. @default 14 days */
  lookbackMs?: number;
  /** Maximum number of runs at a time. @default 4 */
  maxRuns?: number;
  /** Longest time between two passes over all schedules. @default 60 s */
  tickMs?: number;
  /** How long to wait before a due run that could not be claimed is tried again. @default 1 s */
  pollMs?: number;
  /**
   * How long the store keeps old runs and logs, and how many of them; with `"everything"`, it keeps all of them.
   * @default 400 days and 100,000 runs of each recipe; logs 90 days
   */
  retention?: Retention | "everything";
  /**
   * Finds the outcome of an interrupted run's writes, in place of the order desk. If it returns `"unknown"`, the
   * scheduler records that as the outcome; if it returns `undefined`, the scheduler asks again later.
   *
   * @default the order desk finds the outcome
   */
  recover?(runKey: string): Promise<"ok" | "failed" | "unknown" | undefined>;
  onSchedulerEvent?(event: SchedulerEvent): void;
}

/** An event of the scheduler itself, distinguished by `type`. Events of runs are separate. */
export type SchedulerEvent =
  & { /** Trace of the run that the event is about. */ traceId?: string }
  & (
    | { type: "tick"; at: number; listed: number; tookMs: number; full: boolean }
    | ({ type: "skipped"; at: number } & Skipped)
    | { type: "asked"; at: number; runKey: string }
    | ({ type: "held"; at: number } & BlockedRun)
    | { type: "recovered"; at: number; runKey: string; state: string }
    | { type: "resolved"; at: number; runKey: string; because: string }
    | { type: "clock-jump"; at: number; byMs: number }
    | { type: "reloaded"; at: number; recipes: number }
    | { type: "recipe-missing"; at: number; recipe: string }
    | ({ type: "notice"; at: number } & NoticeEvent)
    | { type: "error"; at: number; error: unknown }
  );

const DAY_MS = 86_400_000;
/**
 * Time between the first two searches for the outcome of an interrupted write. It doubles after each search, up to
 * `RECONCILE_MS`: if several searches did not find the outcome, a person probably has to resolve the write.
 */
const PROVE_AGAIN_MS = 20_000;
/** Maximum number of runs that one batch removes; this takes a few milliseconds. */
const PRUNE_AT_A_TIME = 200;
/** Maximum number of batches in one pass. Together they remove more runs than a store gains in a minute. */
const PRUNE_PARTS = 10;
const PRUNE_EVERY_MS = 3_600_000;
/** If passes keep failing for the same reason, such as a full disk, the error is reported only this often. */
const ERROR_AGAIN_MS = 60_000;

/** Runs recipes when they are due. */
export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions;
  readonly #runner: Runner;
  readonly #set: RecipeSet;
  readonly #clock: ClockWatch;
  readonly #pruner: Pruner | undefined;
  readonly #running = new Map<string, Promise<RunOutcome | void>>();
  readonly #stop = new AbortController();
  /** The searches in progress for the outcomes of interrupted writes, by run. */
  readonly #recovering = new Map<string, Promise<void>>();
  /**
   * By run: the monotonic time of the next search for the outcome of its writes, and the current wait between searches.
   */
  readonly #proveAgain = new Map<string, { at: number; waitMs: number }>();
  /** The comparison of open orders with the broker's lists that is in progress. */
  #following: Promise<void> | undefined;
  /** Monotonic time of the next comparison. */
  #followAt = -Infinity;
  #cancelTimer: () => void = () => {};
  #started = false;
  /** Whether a further pass is queued. */
  #hasNext = false;
  /** Resolves when the last pass has ended. */
  #last: Promise<void> = Promise.resolve();
  #fullAt = -Infinity;
  #pruneAt = -Infinity;
  /** Whether the next pass must list the slots of every schedule. */
  #mustTickFully = false;
  /** Why passes fail, and when the reason was last reported; `undefined` while passes succeed. */
  #failing: { reason: string; reportedAt: number } | undefined;

  constructor(given: SchedulerOptions) {
    const machine = withSharedClock(given.machine, given.store);
    // Keep the given object if possible, because its members may change while the scheduler runs, for example `pollMs`.
    const options: SchedulerOptions = machine === given.machine ? given : { ...given, machine };
    this.#options = options;
    this.#set = new RecipeSet(options.recipes, options.machine.now());
    this.#clock = new ClockWatch(options.machine);
    const { retention = defaultRetention } = options;
    this.#pruner = retention === "everything" ? undefined : new Pruner(options.store, retention, {
      limit: PRUNE_AT_A_TIME,
    });
    this.#runner = new Runner({
      ...options,
      recipes: () => this.#set.recipes,
      stop: this.#stop.signal,
      onNotice: async (event) => await this.#emit({ type: "notice", at: options.machine.now(), ...event }),
    });
  }

  /** Keys of the runs that this process is running. */
  get running(): string[] {
    return [...this.#running.keys()];
  }

  /** Makes a first pass now, and further passes whenever a run may be due. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#queuePass();
  }

  /** Lists new slots, decides about late runs, and recovers runs of dead processes, in one transaction. */
  async tick({ full = true } = {}): Promise<void> {
    await this.#inOrder(() => this.#tick({ full }));
  }

  async #tick({ full }: { full: boolean }): Promise<void> {
    const { store, machine, lookbackMs = 14 * DAY_MS, served } = this.#options;
    const began = machine.monotonic();
    const jump = this.#clock.jump();
    const now = machine.now();
    if (jump !== undefined) await this.#emit({ type: "clock-jump", at: now, byMs: jump });
    const whole = full || jump !== undefined;
    const listing: ListingOptions = {
      now,
      loadedAt: this.#set.loadedAt,
      lookbackMs,
      drawTraceId: () => drawTraceId(machine),
      calendars: this.#options.calendars(),
    };
    const { missing, listed, skipped, asked, recovered } = await store.transaction(async () => {
      if (jump !== undefined) await store.event(now, "clock_jump", { byMs: jump });
      const missing = whole ? await this.#pauseMissingRecipes(now) : [];
      const cursors = this.#set.cursors.filter((cursor) => whole || cursor.next <= now);
      const rows = whole ? await allSchedules(store) : undefined;
      const listed = await listSchedules(store, cursors, { ...listing, rows });
      if (rows !== undefined && served !== undefined) {
        await noteFiles(store, this.#set.recipes, { served, isFresh: this.#fullAt === -Infinity, rows });
      }
      const recovered = await recoverExpired(store, now);
      await endLeftPlans(store, now);
      const decided = await applyMisfirePolicy(store, this.#set.recipes, now);
      const skipped = [
        ...decided.skipped,
        ...await decideOverlaps(store, this.#set.recipes, now, decided.waiting),
        ...skippedAtOnce(listed),
      ];
      const reported = [
        ...skipped.filter(({ recipe }) => this.#set.recipes.get(recipe)?.notify !== undefined),
        ...recovered,
      ];
      await this.#runner.queueNotices([...reported.map(({ runKey }) => runKey), ...decided.asked], now);
      return { missing, listed, skipped, asked: decided.asked, recovered };
    });
    for (const recipe of missing) await this.#emit({ type: "recipe-missing", at: now, recipe });
    if (whole) {
      this.#fullAt = machine.monotonic();
      await this.#prune(now);
    }
    await this.#emit(
      ...skipped.map((each) => ({ type: "skipped", at: now, ...each }) as const),
      ...asked.map((runKey) => ({ type: "asked", at: now, runKey }) as const),
      ...recovered.map((each) => ({ type: "recovered", at: now, ...each }) as const),
      { type: "tick", at: now, listed: listed.length, tookMs: machine.monotonic() - began, full: whole },
    );
  }

  /**
   * Replaces the whole set of recipes. First lists the slots of the old set up to now. Then pauses recipes that the new
   * set lacks, and resumes recipes that have returned; their slots before now are not listed.
   */
  async reload(recipes: readonly CompiledRecipe[]): Promise<void> {
    await this.#inOrder(() => this.#reload(recipes));
    if (this.#started) await this.#queuePass();
    else await this.tick();
  }

  async #reload(recipes: readonly CompiledRecipe[]): Promise<void> {
    await this.#tick({ full: true });
    const { store, machine, served } = this.#options;
    const now = machine.now();
    const missing = await store.transaction(async () => {
      const missing = await this.#set.swap(store, recipes, { served, now });
      if (served !== undefined) await noteFreshFiles(store, this.#set.recipes, served);
      return missing;
    });
    for (const recipe of missing) await this.#emit({ type: "recipe-missing", at: now, recipe });
    await this.#emit({ type: "reloaded", at: now, recipes: recipes.length });
  }

  /** Deletes some batches of old rows; when no old row is left, tries again after an hour. */
  async #prune(now: number): Promise<void> {
    if (this.#pruner === undefined) return;
    const { machine } = this.#options;
    if (machine.monotonic() < this.#pruneAt) return;
    for (let parts = 0; parts < PRUNE_PARTS && !this.#stop.signal.aborted; parts++) {
      if ((await this.#pruner.part(now)).hasMore) continue;
      this.#pruneAt = machine.monotonic() + PRUNE_EVERY_MS;
      return;
    }
  }

  /** Pauses recipes whose files are missing, and resumes recipes whose files are back. Returns the missing ones. */
  async #pauseMissingRecipes(now: number): Promise<string[]> {
    const { store, served } = this.#options;
    await resumeReturned(store, this.#set.recipes, now);
    return served === undefined ? [] : await pauseMissing(store, this.#set.recipes, served, now);
  }

  /** Runs all due runs, and resolves when no further run can begin. */
  async drain(): Promise<void> {
    const claim = () => this.#inOrder(() => this.#claim());
    for (await claim(); this.#running.size > 0; await claim()) await Promise.race(this.#running.values());
  }

  /**
   * Stops: claims no further run, aborts reads, lets a write end, and releases leases.
   *
   * @returns Whether all runs ended in time. If a run did not, another process recovers it when its lease expires.
   */
  async stop({ timeoutMs = 25_000 } = {}): Promise<boolean> {
    this.#started = false;
    this.#cancelTimer();
    this.#stop.abort();
    // A pass that is in progress may begin one more run.
    const ended = this.#inOrder(() => Promise.resolve())
      .then(() =>
        Promise.all([
          ...this.#running.values(),
          ...this.#recovering.values(),
          this.#following,
          this.#runner.end(),
        ])
      )
      .then(() => true);
    let cancel: () => void = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = this.#options.machine.setTimer(timeoutMs, () => resolve(false));
    });
    try {
      return await Promise.race([ended, late]);
    } finally {
      cancel();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Makes one pass: lists slots, claims runs, and sets the timer for the next pass. In the background it sends notices,
   * searches for the outcomes of interrupted writes, and compares open orders. After an error the next pass tries
   * again.
   */
  async #queuePass(): Promise<void> {
    // A queued pass that has not begun does everything that this pass would do.
    if (this.#hasNext) return;
    this.#hasNext = true;
    await this.#inOrder(async () => {
      this.#hasNext = false;
      await this.#makePass();
    });
  }

  async #makePass(): Promise<void> {
    this.#cancelTimer();
    if (!this.#started) return;
    const { machine, tickMs = 60_000, pollMs = 1_000 } = this.#options;
    let waitMs = pollMs;
    try {
      await this.#tick({ full: this.#mustTickFully || machine.monotonic() - this.#fullAt >= tickMs });
      this.#mustTickFully = false;
      await this.#claim();
      this.#deliver();
      await this.#recover();
      this.#follow();
      waitMs = await this.#untilNext();
      this.#failing = undefined;
    } catch (error) {
      // The cursors may have moved past slots that the failed transaction did not save.
      this.#mustTickFully = true;
      await this.#reportError(error);
    }
    if (this.#started) this.#cancelTimer = machine.setTimer(waitMs, () => void this.#queuePass());
  }

  /** Runs work after all work that was queued before it. */
  async #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(() => {}, () => {});
    return await done;
  }

  /** Reports why a pass failed, the same reason at most once a minute. */
  async #reportError(error: unknown): Promise<void> {
    const { machine } = this.#options;
    const reason = messageOf(error);
    const now = machine.monotonic();
    if (this.#failing?.reason === reason && now - this.#failing.reportedAt < ERROR_AGAIN_MS) return;
    this.#failing = { reason, reportedAt: now };
    await this.#emit({ type: "error", at: machine.now(), error });
  }

  async #untilNext(): Promise<number> {
    const { store, machine, tickMs = 60_000, pollMs = 1_000 } = this.#options;
    const now = machine.now();
    let next = this.#fullAt - machine.monotonic() + now + tickMs;
    for (const cursor of this.#set.cursors) {
      next = Math.min(next, cursor.next > now ? cursor.next : now + pollMs);
    }
    // A due run that could not be claimed is tried again after `pollMs`; a later run begins when it is due.
    const { isAnyDue, laterAt } = await nextDue(store, now);
    if (isAnyDue) next = Math.min(next, now + pollMs);
    next = Math.min(next, laterAt ?? Infinity);
    // A search in progress starts a pass itself when it ends.
    for (const [runKey, { at }] of this.#proveAgain) {
      if (!this.#recovering.has(runKey)) next = Math.min(next, at - machine.monotonic() + now);
    }
    const lease = await firstLeaseEnd(store);
    if (lease !== undefined) next = Math.min(next, Math.max(lease + 1, now + pollMs));
    return Math.max(0, Math.min(next - now, tickMs));
  }

  async #claim(): Promise<void> {
    const { store, machine, maxRuns = 4 } = this.#options;
    while (this.#running.size < maxRuns && !this.#stop.signal.aborted) {
      const now = machine.now();
      const onBlocked = async (blocked: BlockedRun) =>
        await this.#emit({ type: "held", at: now, ...blocked });
      const claim = await claimNext(store, this.#set.recipes, { ...this.#runner.claimer, onBlocked }, now);
      if (claim === undefined) return;
      this.#begin(claim);
    }
  }

  #begin({ recipe, ...claim }: Claimed): void {
    const work = executeRun(recipe, claim, this.#runner.deps, this.#stop.signal)
      .catch(async (error) => await this.#emit({ type: "error", at: this.#options.machine.now(), error }))
      .finally(() => {
        this.#running.delete(claim.runKey);
        if (this.#started) void this.#queuePass();
      });
    this.#running.set(claim.runKey, work);
  }

  /** Sends the due notices in the background. */
  #deliver(): void {
    this.deliver().catch(async (error) =>
      await this.#emit({ type: "error", at: this.#options.machine.now(), error })
    );
  }

  /** Sends the notices that are due; resolves when each was sent or has failed. */
  async deliver(): Promise<void> {
    await this.#runner.deliverNotices();
  }

  /** Searches in the background for the outcomes of interrupted writes. Each run has at most one search in progress. */
  async #recover(): Promise<void> {
    const { store, machine } = this.#options;
    const runs = await runsToRecover(store);
    // Forget the runs that a person or another process has resolved since.
    const keys = new Set(runs.map(({ run_key }) => run_key));
    for (const runKey of this.#proveAgain.keys()) if (!keys.has(runKey)) this.#proveAgain.delete(runKey);
    for (const { run_key: runKey, recipe: name } of runs) {
      const recipe = this.#set.recipes.get(name);
      const last = this.#proveAgain.get(runKey);
      const isSoon = last !== undefined && machine.monotonic() < last.at;
      if (recipe === undefined || isSoon || this.#recovering.has(runKey)) continue;
      const waitMs = last === undefined ? PROVE_AGAIN_MS : Math.min(2 * last.waitMs, RECONCILE_MS);
      this.#proveAgain.set(runKey, { at: machine.monotonic() + waitMs, waitMs });
      const work = this.#outcomeOf(runKey, recipe).then(async (because) => {
        if (because === undefined) return;
        this.#proveAgain.delete(runKey);
        await this.#emit({ type: "resolved", at: machine.now(), runKey, because });
      }).catch(async (error) => await this.#emit({ type: "error", at: machine.now(), error }))
        .finally(() => {
          this.#recovering.delete(runKey);
          const again = this.#proveAgain.get(runKey);
          if (again !== undefined) again.at = machine.monotonic() + again.waitMs;
          if (this.#started) void this.#queuePass();
        });
      this.#recovering.set(runKey, work);
    }
  }

  /** While intents are open, compares them with the broker's lists in the background, every few minutes. */
  #follow(): void {
    const { machine } = this.#options;
    if (this.#following !== undefined || machine.monotonic() < this.#followAt) return;
    this.#followAt = machine.monotonic() + RECONCILE_MS;
    this.#following = this.#runner.followOrders()
      .catch(async (error) => await this.#emit({ type: "error", at: machine.now(), error }))
      .finally(() => this.#following = undefined);
  }

  /** Resolves the writes of a run if their outcome can be found out. Returns what proves it. */
  async #outcomeOf(runKey: string, recipe: CompiledRecipe): Promise<string | undefined> {
    const { store, machine, recover } = this.#options;
    if (recover === undefined) return await this.#runner.recover(runKey, recipe);
    const state = await recover(runKey);
    if (state === undefined) return undefined;
    await resolveOutcome(store, { runKey, state, actor: "recover", now: machine.now() });
    return state;
  }

  async #emit(...events: SchedulerEvent[]): Promise<void> {
    const { store, onSchedulerEvent } = this.#options;
    if (onSchedulerEvent === undefined) return;
    const isTraced = (event: SchedulerEvent) => event.traceId !== undefined;
    const untraced = events.flatMap((event) => "runKey" in event && !isTraced(event) ? [event.runKey] : []);
    const traces = await tracesOf(store, untraced);
    for (const event of events) {
      const traceId = "runKey" in event && !isTraced(event) ? traces.get(event.runKey) : undefined;
      onSchedulerEvent(traceId === undefined ? event : { ...event, traceId });
    }
  }
}

type Claimed = NonNullable<Awaited<ReturnType<typeof claimNext>>>;

/** Returns the slots that were skipped when they were listed: holidays, pauses, duplicates. */
function skippedAtOnce(listed: readonly NewRun[]): Skipped[] {
  return listed.flatMap(({ runKey, recipe, state, reason, traceId }) =>
    // The reason of a skipped row is always a `SkipReason`.
    state === "skipped" ? [{ runKey, recipe, reason: reason as SkipReason, traceId }] : []
  );
}

/** How much the wall clock and the monotonic clock may differ between two checks. */
const CLOCK_TOLERANCE_MS = 30_000;

/**
 * Detects jumps of the wall clock by comparing it with the monotonic clock. A machine may sleep, or its clock may be
 * set.
 */
class ClockWatch {
  readonly #machine: Pick<Machine, "now" | "monotonic">;
  #last: { wall: number; monotonic: number };

  constructor(machine: Pick<Machine, "now" | "monotonic">) {
    this.#machine = machine;
    this.#last = { wall: machine.now(), monotonic: machine.monotonic() };
  }

  /** Returns by how many milliseconds the wall clock jumped since the last check; `undefined` if it did not. */
  jump(): number | undefined {
    const [wall, monotonic] = [this.#machine.now(), this.#machine.monotonic()];
    const drift = wall - this.#last.wall - (monotonic - this.#last.monotonic);
    const back = wall < this.#last.wall;
    this.#last = { wall, monotonic };
    return back || Math.abs(drift) > CLOCK_TOLERANCE_MS ? Math.round(drift) : undefined;
  }
}
