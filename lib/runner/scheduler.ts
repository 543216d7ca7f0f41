/**
 * The scheduler: brings slots into the ledger, decides about late ones, claims what is due and runs it.
 *
 * Any number of processes may do so on one ledger. Whatever one of them holds when it dies the others take over.
 *
 * @module
 */
import type { Mic } from "../calendars/mod.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { type Claim, type Claimer, claimNext, type Held } from "./claims.ts";
import { recoverExpired, settleRun } from "./recovery.ts";
import { ClockWatch } from "./clock_watch.ts";
import { noteFiles, pauseGone, type Served, takeBack } from "./gone.ts";
import { drawTraceId } from "./host.ts";
import { judgeDue, settleOverlaps, type Skipped } from "./judging.ts";
import { type ListingOptions, listSchedule } from "./listing.ts";
import { runNested } from "./nested.ts";
import { type Channel, NoticeDelivery, type NoticeEvent, queueNotices } from "./notify.ts";
import { noticeChannel } from "./notice_step.ts";
import { RecipeSet } from "./recipe_set.ts";
import { executeRun, type Surroundings } from "./run.ts";
import type { RunOutcome } from "./outcome.ts";
import { defaultRetention, pruneLedger, type Retention } from "./retention.ts";
import { findRun, type NewRun, ownedKinds, type SkipReason } from "./run_rows.ts";

/** What a scheduler needs; times in milliseconds. */
export interface SchedulerOptions extends Omit<Surroundings, "runRecipe" | "onEnd"> {
  recipes: readonly CompiledRecipe[];
  /** Where they come from; without it a recipe is gone only when a reload leaves it out. */
  served?: Served;
  /** A name that no other process has. */
  holder: string;
  /** The account that a recipe acts on. @default "default" for every recipe */
  accountOf?(recipe: CompiledRecipe): string;
  /** How long a claim lasts without being renewed. @default 30 s */
  leaseMs?: number;
  /** Slots older than this get no row each. @default 14 days */
  lookbackMs?: number;
  /** Most runs at a time. @default 4 */
  maxRuns?: number;
  /** Longest time between two looks at every schedule. @default 60 s */
  tickMs?: number;
  /** How soon to look again when something is due and cannot be claimed. @default 1 s */
  pollMs?: number;
  /** How long the ledger keeps what has ended. @default 400 days, of logs 90 */
  retention?: Retention;
  calendarVersion?(mic: Mic): string | undefined;
  /** Channels that stand before the steps that recipes name for their notices. */
  channels?: Readonly<Record<string, Channel>>;
  /** Asks the order journal what came of a run that was broken off while it wrote; nothing when it cannot tell. */
  recover?(runKey: string): Promise<"ok" | "failed" | "unknown" | undefined>;
  onSchedulerEvent?(event: SchedulerEvent): void;
}

/** What a scheduler tells beside its runs, told apart by `type`. */
export type SchedulerEvent =
  & { /** Of the run that it is about. */ traceId?: string }
  & (
    | { type: "tick"; at: number; listed: number; tookMs: number; full: boolean }
    | ({ type: "skipped"; at: number } & Skipped)
    | { type: "asked"; at: number; runKey: string }
    | ({ type: "held"; at: number } & Held)
    | { type: "recovered"; at: number; runKey: string; state: string }
    | { type: "clock-jump"; at: number; byMs: number }
    | { type: "reloaded"; at: number; recipes: number }
    | { type: "gone"; at: number; recipe: string }
    | ({ type: "notice"; at: number } & NoticeEvent)
    | { type: "error"; at: number; error: unknown }
  );

const DAY_MS = 86_400_000;
/** Runs that are removed in one tick: a few milliseconds. */
const PRUNE_AT_A_TIME = 200;
const PRUNE_EVERY_MS = 3_600_000;
/** While a turn fails for the same reason, such as a full disk, it is said this often. */
const ERROR_AGAIN_MS = 60_000;

/** Runs recipes when they are due. */
export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions;
  readonly #claimer: Claimer;
  readonly #set: RecipeSet;
  readonly #clock: ClockWatch;
  readonly #running = new Map<string, Promise<RunOutcome | void>>();
  readonly #stop = new AbortController();
  readonly #settling = new Set<string>();
  readonly #delivery: NoticeDelivery;
  #cancelTimer: () => void = () => {};
  #started = false;
  #fullAt = -Infinity;
  #pruneAt = -Infinity;
  /** Why turns fail, and when that was last told; nothing while they do not. */
  #failing: { reason: string; toldAt: number } | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { holder, leaseMs = 30_000, accountOf = () => "default", passwordMarkOf } = options;
    this.#claimer = { holder, leaseMs, accountOf, passwordMarkOf };
    this.#set = new RecipeSet(options.recipes, options.host.now());
    this.#clock = new ClockWatch(options.host);
    const { ledger, host, channels, redactor } = options;
    this.#delivery = new NoticeDelivery({
      ledger,
      host,
      channelOf: (notice) =>
        channels?.[notice.channel] ?? noticeChannel(this.#set.recipes, this.#options, notice),
      redact: (text) => redactor.text(text),
      onNotice: (event) => this.#tell({ type: "notice", at: host.now(), ...event }),
    });
  }

  /** Keys of the runs that this process is at. */
  get running(): string[] {
    return [...this.#running.keys()];
  }

  /** Looks at everything now, and from now on whenever something may be due. */
  start(): void {
    this.#started = true;
    this.#turn();
  }

  /** Lists what is new, decides about what is late, takes over from the dead. One transaction. */
  tick({ full = true } = {}): void {
    const { ledger, host, lookbackMs = 14 * DAY_MS, calendarVersion, served } = this.#options;
    const began = host.monotonic();
    const jump = this.#clock.look();
    const now = host.now();
    if (jump !== undefined) this.#tell({ type: "clock-jump", at: now, byMs: jump });
    const whole = full || jump !== undefined;
    const listing: ListingOptions = {
      now,
      loadedAt: this.#set.loadedAt,
      lookbackMs,
      drawTraceId: () => drawTraceId(host),
      calendarVersion,
    };
    const { gone, listed, skipped, asked, recovered } = ledger.transaction(() => {
      if (jump !== undefined) ledger.event(now, "clock_jump", { byMs: jump });
      const gone = whole ? this.#lookForGone(now) : [];
      const listed = this.#set.cursors.filter((cursor) => whole || cursor.next <= now)
        .flatMap((cursor) => listSchedule(ledger, cursor, listing));
      if (whole && served !== undefined) {
        noteFiles(ledger, this.#set.recipes, served, this.#fullAt === -Infinity);
      }
      const recovered = recoverExpired(ledger, now);
      const judged = judgeDue(ledger, this.#set.recipes, now);
      const skipped = [...judged.skipped, ...settleOverlaps(ledger, this.#set.recipes, now)];
      for (
        const { runKey } of [
          ...skipped,
          ...listed.filter(({ state }) => state === "skipped"),
          ...recovered,
        ]
      ) {
        this.#queueNotices(runKey, now);
      }
      for (const runKey of judged.asked) this.#queueNotices(runKey, now);
      return { gone, listed, skipped, asked: judged.asked, recovered };
    });
    for (const recipe of gone) this.#tell({ type: "gone", at: now, recipe });
    if (whole) {
      this.#fullAt = host.monotonic();
      this.#prune(now);
    }
    for (const each of [...skipped, ...skippedAtOnce(listed)]) {
      this.#tell({ type: "skipped", at: now, ...each });
    }
    for (const runKey of asked) this.#tell({ type: "asked", at: now, runKey });
    for (const each of recovered) this.#tell({ type: "recovered", at: now, ...each });
    this.#tell({
      type: "tick",
      at: now,
      listed: listed.length,
      tookMs: host.monotonic() - began,
      full: whole,
    });
  }

  /**
   * Takes over a whole set of recipes at once. What the old set named up to now is listed first; recipes that are gone
   * are paused, and those that come back start from now.
   */
  reload(recipes: readonly CompiledRecipe[]): void {
    this.tick();
    const { ledger, host, served } = this.#options;
    const now = host.now();
    const gone = ledger.transaction(() => {
      const gone = this.#set.swap(ledger, recipes, { served, now });
      if (served !== undefined) noteFiles(ledger, this.#set.recipes, served, true);
      return gone;
    });
    for (const recipe of gone) this.#tell({ type: "gone", at: now, recipe });
    this.#tell({ type: "reloaded", at: now, recipes: recipes.length });
    if (this.#started) this.#turn();
    else this.tick();
  }

  /** Removes a part of what is too old, until nothing is left of it; then looks again after an hour. */
  #prune(now: number): void {
    const { ledger, host, retention = defaultRetention } = this.#options;
    if (host.monotonic() < this.#pruneAt) return;
    const { runs, logLines } = pruneLedger(ledger, { ...retention, now, limit: PRUNE_AT_A_TIME });
    if (runs + logLines === 0) this.#pruneAt = host.monotonic() + PRUNE_EVERY_MS;
  }

  /** What another process, or this one before it was started anew, had from files that are gone, or back. */
  #lookForGone(now: number): string[] {
    const { ledger, served } = this.#options;
    takeBack(ledger, this.#set.recipes, now);
    return served === undefined ? [] : pauseGone(ledger, this.#set.recipes, served, now);
  }

  /** Runs what is due, one after another as far as they must, and resolves when nothing more can begin. */
  async drain(): Promise<void> {
    for (this.#claim(); this.#running.size > 0; this.#claim()) await Promise.race(this.#running.values());
  }

  /**
   * Stops: claims nothing more, aborts reads, lets a write end, gives leases back.
   *
   * @returns Whether everything ended within the time. What did not is recovered by its lease.
   */
  async stop({ timeoutMs = 25_000 } = {}): Promise<boolean> {
    this.#started = false;
    this.#cancelTimer();
    this.#stop.abort();
    const ended = Promise.all([...this.#running.values(), this.#delivery.end()]).then(() => true);
    let cancel: () => void = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = this.#options.host.setTimer(timeoutMs, () => resolve(false));
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

  /** One turn: tick, claim, and set the alarm for the next. An error, such as a busy ledger, is tried again. */
  #turn(): void {
    this.#cancelTimer();
    if (!this.#started) return;
    const { host, tickMs = 60_000, pollMs = 1_000 } = this.#options;
    let waitMs = pollMs;
    try {
      this.tick({ full: host.monotonic() - this.#fullAt >= tickMs });
      this.#claim();
      this.#deliver();
      this.#settle();
      waitMs = this.#untilNext();
      this.#failing = undefined;
    } catch (error) {
      this.#tellError(error);
    }
    this.#cancelTimer = host.setTimer(waitMs, () => this.#turn());
  }

  /** A turn that fails is tried again and again; why it fails is said now and then. */
  #tellError(error: unknown): void {
    const { host } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    const now = host.monotonic();
    if (this.#failing?.reason === reason && now - this.#failing.toldAt < ERROR_AGAIN_MS) return;
    this.#failing = { reason, toldAt: now };
    this.#tell({ type: "error", at: host.now(), error });
  }

  #untilNext(): number {
    const { ledger, host, tickMs = 60_000, pollMs = 1_000 } = this.#options;
    const now = host.now();
    let next = this.#fullAt - host.monotonic() + now + tickMs;
    for (const cursor of this.#set.cursors) {
      next = Math.min(next, cursor.next > now ? cursor.next : now + pollMs);
    }
    // What is due and could not be claimed is asked for now and then; what is due later begins in its moment.
    const due = ledger.get<{ held: number | null; later: number | null }>(
      `select max(due_at <= ?) as held, min(case when due_at > ? then due_at end) as later
        from run where state = 'due' and kind not in ${ownedKinds}`,
      now,
      now,
    );
    if (due?.held === 1) next = Math.min(next, now + pollMs);
    next = Math.min(next, due?.later ?? Infinity);
    const lease = ledger.get<{ at: number | null }>(
      "select min(lease_until) as at from run where state = 'running'",
    )?.at;
    if (lease !== null && lease !== undefined) next = Math.min(next, Math.max(lease + 1, now + pollMs));
    return Math.max(0, Math.min(next - now, tickMs));
  }

  #claim(): void {
    const { ledger, host, maxRuns = 4 } = this.#options;
    while (this.#running.size < maxRuns && !this.#stop.signal.aborted) {
      const now = host.now();
      const onHeld = (held: Held) => this.#tell({ type: "held", at: now, ...held });
      const claim = claimNext(ledger, this.#set.recipes, { ...this.#claimer, onHeld }, now);
      if (claim === undefined) return;
      this.#begin(claim);
    }
  }

  #begin(claim: Claim): void {
    const recipe = this.#set.recipes.get(findRun(this.#options.ledger, claim.runKey)!.recipe)!; // just claimed
    const work = executeRun(recipe, claim, this.#surroundings(), this.#stop.signal)
      .catch((error) => this.#tell({ type: "error", at: this.#options.host.now(), error }))
      .finally(() => {
        this.#running.delete(claim.runKey);
        if (this.#started) this.#turn();
      });
    this.#running.set(claim.runKey, work);
  }

  #surroundings(): Surroundings {
    const surroundings: Surroundings = {
      ...this.#options,
      onEnd: (_recipe, row) => void this.#queueNotices(row.run_key, this.#options.host.now()),
    };
    return {
      ...surroundings,
      runRecipe: (parent, name, params) =>
        runNested(parent, { name, params }, {
          recipes: this.#set.recipes,
          surroundings,
          claimer: this.#claimer,
          stop: this.#stop.signal,
        }),
    };
  }

  #queueNotices(runKey: string, now: number): void {
    const { ledger, redactor } = this.#options;
    const row = findRun(ledger, runKey);
    const recipe = row && this.#set.recipes.get(row.recipe);
    if (row === undefined || recipe?.notify === undefined) return;
    queueNotices(ledger, recipe, row, { now, redact: (value) => redactor.json(value) });
  }

  /** Sends the notices that are due, beside everything else. */
  #deliver(): void {
    this.deliver().catch((error) => this.#tell({ type: "error", at: this.#options.host.now(), error }));
  }

  /** Sends the notices that are due; resolves when each was sent or has failed. */
  async deliver(): Promise<void> {
    await this.#delivery.deliver();
  }

  /** Asks what came of writes that were broken off; one question at a time for each run. */
  #settle(): void {
    const { ledger, host, recover } = this.#options;
    if (recover === undefined) return;
    const open = ledger.all<{ run_key: string }>("select run_key from run where state = 'waiting_recovery'");
    for (const { run_key: runKey } of open) {
      if (this.#settling.has(runKey)) continue;
      this.#settling.add(runKey);
      recover(runKey).then((state) => {
        if (state !== undefined) settleRun(ledger, { runKey, state, actor: "journal", now: host.now() });
      }).catch((error) => this.#tell({ type: "error", at: host.now(), error }))
        .finally(() => this.#settling.delete(runKey));
    }
  }

  #tell(event: SchedulerEvent): void {
    const { ledger, onSchedulerEvent } = this.#options;
    if (onSchedulerEvent === undefined) return;
    const row = "runKey" in event ? findRun(ledger, event.runKey) : undefined;
    onSchedulerEvent(row === undefined ? event : { ...event, traceId: row.trace_id });
  }
}

/** Slots that were passed over in the moment that they were listed: holidays, pauses, doubles. */
function skippedAtOnce(listed: readonly NewRun[]): Skipped[] {
  return listed.flatMap(({ runKey, recipe, state, reason }) =>
    // A row that is skipped has its reason, of the closed list.
    state === "skipped" ? [{ runKey, recipe, reason: reason as SkipReason }] : []
  );
}
