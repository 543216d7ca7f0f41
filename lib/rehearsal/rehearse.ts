/**
 * Runs a rehearsal: the schedules of recipes over a range of days, with the real scheduler and the simulated broker.
 * The virtual clock jumps from one event to the next.
 *
 * @module
 */
import { builtInCalendars, type Calendars } from "../calendars/mod.ts";
import { countRuns } from "../runner/queries/run_lookups.ts";
import { setImmediate } from "node:timers";
import { catalogue } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { drawTraceId } from "../runner/schedule/plan_run.ts";
import { loadAll } from "../lazy.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { pauseRecipe, resumeRecipe } from "../runner/claims/decisions.ts";
import type { SchedulerEvent } from "../runner/schedule/scheduler.ts";
import { Refusal } from "../simulator/contract.ts";
import { FIRST_DATE } from "../simulator/market/timeline.ts";
import type { ScriptSource } from "../simulator/script.ts";
import { type CompiledRecipe, loadRecipe } from "../recipes/mod.ts";
import { ownerActionsBetween } from "./account.ts";
import { type Outage, type PlannedOutage, planOutages, readOutages } from "./outages.ts";
import { RehearsedProcess } from "./rehearsed_process.ts";
import { type RehearsalResult, resultOf } from "./result.ts";
import { scratchFolder } from "./scratch.ts";
import { Script } from "./script.ts";
import { GatewaySwitch } from "./simulated_gateway.ts";
import type { UnsentMessage } from "./simulated_recipe.ts";
import { VirtualMachine } from "./virtual_machine.ts";
import { recipesOfFolder } from "../recipes/files/recipe_files.ts";
import { isDate } from "../time.ts";

/** Options of a rehearsal. */
export interface RehearseOptions {
  /** A folder of recipes, a recipe file, or a list of recipe files and compiled recipes. */
  recipes: string | URL | readonly (string | URL | CompiledRecipe)[];
  /** First day, `yyyy-MM-dd`. Days are whole days in UTC. */
  from: string;
  /** Last day, `yyyy-MM-dd`. */
  to: string;
  /** Outages: a list, or the text of a script in YAML with its file name for messages. */
  outages?: readonly Outage[] | { text: string; fileName: string };
  /** Price moves, halts and outages of the broker, as for the simulator. @default none */
  script?: ScriptSource;
  /** Seed of prices, fills and other random numbers. @default 1 */
  seed?: number;
  /** Trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /** Folder for the files that steps write. @default a temporary folder, which is removed */
  out?: string;
  /** File that the store is copied to at the end; it must not exist yet. @default none */
  store?: string;
  /** Whether the account's owner trades a little on every Hong Kong trading day. @default true */
  trades?: boolean;
  /** Called at the beginning of each month. */
  onProgress?: (event: RehearsalProgress) => void;
  /** Aborts the rehearsal. */
  signal?: AbortSignal;
}

/** Progress of a rehearsal. */
export interface RehearsalProgress {
  /** `YYYY-MM` */
  month: string;
  /** Number of runs in the store so far, including skipped ones. */
  runs: number;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Longest interval between passes of the scheduler when no outage is near. Slots have their own timers. */
const CALM_TICK_MS = 60 * MINUTE_MS;
/** For this long after an outage or the start of a process, the scheduler makes a pass every minute, as in reality. */
const WATCHFUL_MS = 15 * MINUTE_MS;

/**
 * Rehearses recipes and resolves to the outcome of each of their slots. No data leaves the machine, except from
 * custom steps with permission to use the network: other steps call a simulator over loopback, messages are recorded
 * instead of sent, and secrets are placeholders.
 *
 * @throws {RecipeError} When a recipe or the list of outages is wrong.
 * @throws {ScriptError} When the broker's script is wrong.
 * @throws {TypeError} If there are no recipes.
 * @throws {CalendarUnknownError} If a calendar does not cover a day.
 * @throws {RangeError} If the days are invalid, or the simulator has no prices for them.
 */
export async function rehearse(options: RehearseOptions): Promise<RehearsalResult> {
  const { from, to, outages = [], seed = 1, calendars = builtInCalendars } = options;
  const span = { from: readDay(from), to: readDay(to) + DAY_MS - 1 };
  if (span.to < span.from) {
    throw new RangeError(`Cannot rehearse from ${from} to ${to}: the last day is before the first`);
  }
  if (from < FIRST_DATE) {
    throw new RangeError(`Cannot rehearse from ${from}: the simulator has prices since ${FIRST_DATE}`);
  }
  const recipes = await loadRecipes(options.recipes, { at: span.from, calendars });
  const names = recipes.map(({ name }) => name);
  const planned = "text" in outages
    ? readOutages(outages.text, outages.fileName, { recipes: names, ...span })
    : planOutages(outages, { recipes: names, ...span });
  await loadAll(); // virtual time does not wait for modules
  await using scratch = options.out === undefined ? await scratchFolder() : undefined;
  const out = scratch?.path ?? options.out ?? "";
  await using store = await openSqlite(":memory:");
  await using rehearsal = new Rehearsal({
    ...options,
    ...span,
    seed,
    calendars,
    out,
    store,
    recipes,
    planned,
  });
  await rehearsal.play();
  if (options.store !== undefined) await store.copyTo(options.store);
  const { messages, events } = rehearsal;
  return await resultOf({ store, recipes, calendars, from, to, seed, messages, events });
}

function readDay(text: string): number {
  if (isDate(text)) return Date.parse(`${text}T00:00:00Z`);
  throw new RangeError(`Cannot read "${text}" as a day: write a day that exists, such as "2025-01-01"`);
}

interface RehearsalSetup {
  from: number;
  to: number;
  seed: number;
  calendars: Calendars;
  out: string;
  store: Store;
  recipes: readonly CompiledRecipe[];
  planned: readonly PlannedOutage[];
  trades?: boolean;
  script?: ScriptSource;
  onProgress?: (event: RehearsalProgress) => void;
  signal?: AbortSignal;
}

class Rehearsal implements AsyncDisposable {
  readonly messages: UnsentMessage[] = [];
  readonly events: SchedulerEvent[] = [];
  readonly #setup: RehearsalSetup;
  readonly #machine: VirtualMachine;
  readonly #broker: GatewaySwitch;
  readonly #script = new Script();
  readonly #ownerActions: Script;
  #process: RehearsedProcess | undefined;
  #isDown = false;
  #processes = 0;
  #slowMs = 0;
  #isAsleep = false;
  #watchfulUntil = -Infinity;
  /** Time from the death of a killed process to its restart. */
  #restartMs: number | undefined;
  #month = "";
  /** An internal error of the scheduler. The rehearsal throws it. */
  #fault: { error: unknown } | undefined;

  constructor(setup: RehearsalSetup) {
    const { from, to, seed, calendars, planned, trades = true, script } = setup;
    this.#setup = setup;
    this.#machine = new VirtualMachine(from, seed);
    this.#broker = new GatewaySwitch({ seed, now: () => this.#machine.trueTime, calendars, script });
    // `map` returns two dates for two instants.
    const [first, last] = [from, to].map((at) => new Date(at).toISOString().slice(0, 10)) as [string, string];
    const { broker } = this.#broker.core;
    const actions = trades ? ownerActionsBetween(calendars, first, last) : [];
    this.#ownerActions = new Script(
      actions.map((action) => ({
        at: action.at,
        do: () => {
          try {
            action.do(broker);
          } catch (error) {
            // A script may have halted the stock, or a recipe may have used the cash or the shares that the owner
            // needs.
            if (!(error instanceof Refusal)) throw error;
          }
        },
      })),
    );
    for (const outage of planned) this.#script.add({ at: outage.at, do: () => this.#startOutage(outage) });
  }

  /** Runs the rehearsal from the first to the last instant. */
  async play(): Promise<void> {
    const { to, signal } = this.#setup;
    await this.#broker.on();
    await this.#startProcess();
    while (await this.#step(to)) signal?.throwIfAborted();
    await this.#stopProcess();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopProcess();
    await this.#broker[Symbol.asyncDispose]();
  }

  /** Moves to the next event and runs it. Returns whether there was one. */
  async #step(until: number): Promise<boolean> {
    await this.#settle();
    if (this.#fault !== undefined) throw this.#fault.error;
    const alarm = this.#isAsleep ? Infinity : this.#machine.nextAlarm;
    const next = Math.min(alarm, this.#script.next, this.#ownerActions.next);
    if (next > until) return false;
    await this.#moveTo(next);
    // The owner's actions and the script come before the scheduler: an outage at 9:00 affects a run at 9:00.
    const cue = this.#ownerActions.take(next) ?? this.#script.take(next);
    if (cue === undefined) this.#machine.ring();
    else await cue.do();
    return true;
  }

  async #moveTo(instant: number): Promise<void> {
    const { trueTime } = this.#machine;
    if (this.#isAsleep) this.#machine.sleep(Math.max(0, instant - trueTime));
    else this.#machine.moveTo(instant);
    // While push connections are open, the gateway pushes market data about once a minute.
    const isNewMinute = Math.floor(instant / MINUTE_MS) !== Math.floor(trueTime / MINUTE_MS);
    await this.#reportProgress();
    if (!isNewMinute || this.#broker.pushConnections === 0) return;
    this.#broker.round();
    // Without this wait, the recorded result would depend on the speed of the machine.
    await this.#settle();
  }

  /** Waits until no real work is in progress. Schedules a restart if the process has died. */
  async #settle(): Promise<void> {
    for (;;) {
      // This resolves after everything that was ready has run.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      const process = this.#process;
      if (process === undefined) break;
      if (!process.isIdle) await process.idle();
      else if (process.isAlive && !process.hasHandledPushes) await process.awaitPushes();
      else break;
    }
    if (this.#process !== undefined && !this.#process.isAlive) this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    this.#process = undefined;
    const at = this.#machine.trueTime + (this.#restartMs ?? 0);
    this.#restartMs = undefined;
    this.#script.add({ at, do: async () => this.#isDown ? undefined : await this.#startProcess() });
  }

  async #startProcess(): Promise<void> {
    const { store, recipes, calendars, seed, out } = this.#setup;
    this.#process = new RehearsedProcess({
      machine: this.#machine,
      broker: this.#broker,
      store,
      recipes,
      calendars,
      holder: `process ${++this.#processes}`,
      seed,
      out,
      slowMs: () => this.#slowMs,
      tickMs: () => this.#tickMs(),
      // Poll rarely when no outage is near: a run can be blocked for a week until a person decides.
      pollMs: () => this.#machine.trueTime < this.#watchfulUntil ? 1_000 : MINUTE_MS,
      onMessage: (message) => void this.messages.push(message),
      onEvent: (event) => {
        if (event.type === "error") this.#fault ??= { error: event.error };
        // Use the true time, because the wall clock may be wrong.
        const at = this.#machine.trueTime;
        if (event.type !== "tick" && event.type !== "skipped") this.events.push({ ...event, at });
      },
    });
    this.#watch();
    await this.#process.start();
  }

  async #stopProcess(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined) return;
    let isOver = false;
    const stopped = process.stop().finally(() => isOver = true);
    // Reads end immediately. A write may wait between its orders, so let virtual time pass until it ends.
    while (!isOver) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      if (!process.isIdle) await process.idle();
      else if (!isOver) {
        if (this.#machine.nextAlarm < Infinity) this.#machine.moveTo(this.#machine.nextAlarm);
        this.#machine.ring();
      }
    }
    await stopped;
  }

  #watch(): void {
    this.#watchfulUntil = this.#machine.trueTime + WATCHFUL_MS;
  }

  #tickMs(): number {
    const { trueTime } = this.#machine;
    if (trueTime < this.#watchfulUntil) return MINUTE_MS;
    return Math.min(CALM_TICK_MS, Math.max(MINUTE_MS, this.#script.next - trueTime));
  }

  async #reportProgress(): Promise<void> {
    const month = new Date(this.#machine.trueTime).toISOString().slice(0, 7);
    if (month === this.#month) return;
    this.#month = month;
    const runs = await countRuns(this.#setup.store);
    this.#setup.onProgress?.({ month, runs });
  }

  /** Starts an outage, and schedules its end if it has one. */
  async #startOutage(outage: PlannedOutage): Promise<void> {
    this.#watch();
    const over = await this.#applyOutage(outage);
    if (outage.forMs === undefined || over === undefined) return;
    this.#script.add({
      at: this.#machine.trueTime + outage.forMs,
      do: async () => {
        await over();
        this.#watch();
      },
    });
  }

  /** Applies an outage. Returns a function that ends the outage; `undefined` if it has no end. */
  async #applyOutage({ what, byMs = 0, forMs, recipe, catchUp }: PlannedOutage): Promise<
    (() => Promise<void> | void) | undefined
  > {
    switch (what) {
      case "scheduler-down":
        // A process that was killed just before must not start again before the end of this outage.
        this.#isDown = true;
        await this.#stopProcess();
        return async () => {
          this.#isDown = false;
          await this.#startProcess();
        };
      case "kill":
        this.#restartMs = forMs;
        this.#process?.doom();
        return;
      case "machine-asleep":
        this.#isAsleep = true;
        return () => void (this.#isAsleep = false);
      case "gateway-down":
        await this.#broker.off();
        await this.#process?.awaitNotice(false);
        return async () => {
          await this.#broker.on();
          await this.#process?.awaitNotice(true);
        };
      case "gateway-slow":
        this.#slowMs = byMs;
        return () => void (this.#slowMs = 0);
      case "clock-jump":
        this.#machine.setWall(byMs);
        return () => this.#machine.setWall(-byMs);
      case "busy":
        return this.#broker.core.faults.arm({ kind: "busy", times: Infinity });
      case "login-expired":
        return this.#loseLogin("1014", "login timeout", forMs !== undefined);
      case "displaced":
        return this.#loseLogin("1013", "logged in on another device", true);
      case "pause": // the script was checked: `pause` and `resume` have a recipe
        await pauseRecipe(this.#setup.store, recipe!, {
          why: "outage script",
          now: this.#machine.wallTime,
        });
        return;
      case "resume":
        await this.#resume(recipe!, catchUp);
        return;
    }
  }

  /** Makes the next call fail because the login is lost. If `isLasting`, every call that needs the login fails. */
  #loseLogin(code: string, text: string, isLasting: boolean): () => void {
    const { faults } = this.#broker.core;
    if (!isLasting) return faults.arm({ kind: "expired-login", code, text });
    const ends = needingLogin().map((operation) =>
      faults.arm({ kind: "expired-login", code, text, operation, times: Infinity })
    );
    return () => ends.forEach((end) => end());
  }

  async #resume(name: string, catchUp: boolean): Promise<void> {
    const { store, recipes } = this.#setup;
    const recipe = recipes.find((each) => each.name === name)!; // the script was checked: the recipe exists
    const now = this.#machine.wallTime;
    const random = () => 0.5;
    await resumeRecipe(store, recipe, {
      now,
      loadedAt: now,
      lookbackMs: 14 * DAY_MS,
      calendars: this.#setup.calendars,
      drawTraceId: () => drawTraceId({ random }),
      catchUp,
    });
  }
}

function needingLogin(): string[] {
  const operations = Object.values(catalogue).flatMap((family) => Object.values<AnyOperation>(family));
  return operations.filter(({ name, needs }) => needs === "trade-login" || name === "account.login")
    .map(({ name }) => name);
}

/** Loads recipes as of an instant, Unix milliseconds. Compiled recipes are returned as they are. */
export async function loadRecipes(
  given: string | URL | readonly (string | URL | CompiledRecipe)[],
  { at, calendars }: { at: number; calendars: Calendars },
): Promise<CompiledRecipe[]> {
  const list = typeof given === "string" || given instanceof URL ? await filesOf(pathOf(given)) : given;
  const recipes: CompiledRecipe[] = [];
  for (const each of list) {
    const isFile = typeof each === "string" || each instanceof URL;
    recipes.push(isFile ? await loadRecipe(pathOf(each), { now: () => at, calendars }) : each);
  }
  if (recipes.length === 0) throw new TypeError("Cannot rehearse: there are no recipes");
  return recipes;
}

const pathOf = (given: string | URL) =>
  given instanceof URL || given.startsWith("file:") ? decodeURIComponent(new URL(given).pathname) : given;

async function filesOf(path: string): Promise<string[]> {
  if (!(await Deno.stat(path)).isDirectory) return [path];
  return (await recipesOfFolder(path)).flatMap((file) => file.isOutside ? [] : [file.path]);
}
