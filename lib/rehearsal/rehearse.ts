/**
 * A rehearsal: the schedules of recipes over a stretch of days, on a clock that is moved from one instant at which
 * something happens to the next, with the real scheduler against the real simulator.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { catalogue } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { drawTraceId } from "../runner/host.ts";
import { Ledger } from "../runner/ledger.ts";
import { pauseRecipe, resumeRecipe } from "../runner/pausing.ts";
import type { SchedulerEvent } from "../runner/scheduler.ts";
import { FIRST_DATE } from "../simulator/market/timeline.ts";
import type { CompiledRecipe } from "../steps/mod.ts";
import { deedsBetween } from "./account.ts";
import { loadRecipes } from "./load_recipes.ts";
import { type Outage, type PlannedOutage, planOutages, readOutages } from "./outages.ts";
import { RehearsedProcess } from "./rehearsed_process.ts";
import { type RehearsalResult, resultOf } from "./result.ts";
import { scratchFolder } from "./scratch.ts";
import { Script } from "./script.ts";
import { GatewaySwitch } from "./simulated_gateway.ts";
import type { Told } from "./staged.ts";
import { VirtualMachine } from "./virtual_machine.ts";

/** What is rehearsed. */
export interface RehearseOptions {
  /** A folder of recipes, files, or recipes that are ready to run. */
  recipes: string | URL | readonly (string | URL | CompiledRecipe)[];
  /** First and last day, `YYYY-MM-DD`; both whole, in UTC. */
  from: string;
  to: string;
  /** What goes wrong: a list, or the text of a script in YAML with its name for messages. */
  outages?: readonly Outage[] | { text: string; fileName: string };
  /** What prices, fills and jitter follow from. @default 1 */
  seed?: number;
  /** Folder that files are left in. @default a temporary one, which is removed */
  out?: string;
  /** File that the ledger is copied to at the end; it must not be there yet. @default none */
  ledger?: string;
  /** Whether the account trades a little on every day of Hong Kong. @default true */
  trades?: boolean;
  /** Told at the beginning of each month. */
  onProgress?: (event: RehearsalProgress) => void;
  /** Ends it before its time. */
  signal?: AbortSignal;
}

/** How far a rehearsal is. */
export interface RehearsalProgress {
  /** `YYYY-MM` */
  month: string;
  /** Runs that the ledger knows so far, the skipped ones too. */
  runs: number;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** How closely the scheduler looks when nothing out of order is near; its slots have alarms of their own. */
const CALM_TICK_MS = 60 * MINUTE_MS;
/** How long it looks every minute after something out of order, as it does in reality. */
const WATCHFUL_MS = 15 * MINUTE_MS;

/**
 * Rehearses recipes and resolves to what became of each of their slots. Nothing leaves the machine: steps talk to a
 * simulator over loopback, messages are written down, secrets are placeholders.
 *
 * @throws {RecipeError} When a recipe or the script is wrong.
 * @throws {RangeError} For days that calendars or prices do not cover.
 */
export async function rehearse(options: RehearseOptions): Promise<RehearsalResult> {
  const { from, to, outages = [], seed = 1 } = options;
  const span = { from: readDay(from), to: readDay(to) + DAY_MS - 1 };
  if (span.to < span.from) throw new RangeError(`Cannot rehearse from ${from} to ${to}: the end comes first`);
  if (from < FIRST_DATE) {
    throw new RangeError(`Cannot rehearse from ${from}: the simulator has prices since ${FIRST_DATE}`);
  }
  const recipes = await loadRecipes(options.recipes, span.from);
  const names = recipes.map(({ name }) => name);
  const planned = "text" in outages
    ? readOutages(outages.text, outages.fileName, { recipes: names, ...span })
    : planOutages(outages, { recipes: names, ...span });
  await using scratch = options.out === undefined ? await scratchFolder() : undefined;
  const out = scratch?.path ?? options.out ?? "";
  using ledger = new Ledger(":memory:");
  await using rehearsal = new Rehearsal({ ...options, ...span, seed, out, ledger, recipes, planned });
  await rehearsal.play();
  if (options.ledger !== undefined) await ledger.copyTo(options.ledger);
  return resultOf({ ledger, recipes, from, to, seed, told: rehearsal.told, events: rehearsal.events });
}

function readDay(text: string): number {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  if (!Number.isNaN(at)) return at;
  throw new RangeError(`Cannot read "${text}" as a day: write it like "2025-01-01"`);
}

interface Stretch {
  from: number;
  to: number;
  seed: number;
  out: string;
  ledger: Ledger;
  recipes: readonly CompiledRecipe[];
  planned: readonly PlannedOutage[];
  trades?: boolean;
  onProgress?: (event: RehearsalProgress) => void;
  signal?: AbortSignal;
}

class Rehearsal implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly events: SchedulerEvent[] = [];
  readonly #stretch: Stretch;
  readonly #machine: VirtualMachine;
  readonly #broker: GatewaySwitch;
  readonly #script = new Script();
  readonly #deeds: Script;
  #process: RehearsedProcess | undefined;
  #processes = 0;
  #slowMs = 0;
  #isAsleep = false;
  #watchfulUntil = -Infinity;
  /** When a process that was killed starts anew, counted from its death. */
  #restartMs: number | undefined;
  #month = "";
  /** A mistake of the scheduler itself, which no report should hide. */
  #fault: { error: unknown } | undefined;

  constructor(stretch: Stretch) {
    const { from, to, seed, planned, trades = true } = stretch;
    this.#stretch = stretch;
    this.#machine = new VirtualMachine(from, seed);
    this.#broker = new GatewaySwitch({ seed, now: () => this.#machine.trueTime });
    const [first, last] = [from, to].map((at) => new Date(at).toISOString().slice(0, 10)) as [string, string]; // two
    const { broker } = this.#broker.core;
    this.#deeds = new Script(
      trades ? deedsBetween(first, last).map((deed) => ({ at: deed.at, do: () => deed.do(broker) })) : [],
    );
    for (const outage of planned) this.#script.add({ at: outage.at, do: () => this.#strike(outage) });
  }

  /** Plays it from the first to the last instant. */
  async play(): Promise<void> {
    const { to, signal } = this.#stretch;
    await this.#broker.on();
    this.#begin();
    while (await this.#step(to)) signal?.throwIfAborted();
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.#broker[Symbol.asyncDispose]();
  }

  /** Goes on to the next instant at which something happens; tells whether there was one. */
  async #step(until: number): Promise<boolean> {
    await this.#settle();
    if (this.#fault !== undefined) throw this.#fault.error;
    const alarm = this.#isAsleep ? Infinity : this.#machine.nextAlarm;
    const next = Math.min(alarm, this.#script.next, this.#deeds.next);
    if (next > until) return false;
    await this.#moveTo(next);
    // The market and the script come first: what goes wrong at nine is wrong for the run of nine.
    const cue = this.#deeds.take(next) ?? this.#script.take(next);
    if (cue === undefined) this.#machine.ring();
    else await cue.do();
    return true;
  }

  async #moveTo(instant: number): Promise<void> {
    const { trueTime } = this.#machine;
    if (this.#isAsleep) this.#machine.sleep(Math.max(0, instant - trueTime));
    else this.#machine.moveTo(instant);
    // Whoever waits for pushes sees the market about once a minute.
    const isNewMinute = Math.floor(instant / MINUTE_MS) !== Math.floor(trueTime / MINUTE_MS);
    this.#tellProgress();
    if (!isNewMinute || this.#broker.pushConnections === 0) return;
    this.#broker.round();
    // Nobody says when a push has come: a moment of real time is enough for loopback, and no report depends on it.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  /** Waits until nothing goes on that takes real time, and takes note of a death. */
  async #settle(): Promise<void> {
    for (;;) {
      // All that is ready goes on before this comes back.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      const process = this.#process;
      if (process === undefined || process.isIdle) break;
      await process.idle();
    }
    if (this.#process !== undefined && !this.#process.isAlive) this.#bury();
  }

  #bury(): void {
    this.#process = undefined;
    const at = this.#machine.trueTime + (this.#restartMs ?? 0);
    this.#restartMs = undefined;
    this.#script.add({ at, do: () => this.#begin() });
  }

  #begin(): void {
    const { ledger, recipes, seed, out } = this.#stretch;
    this.#process = new RehearsedProcess({
      machine: this.#machine,
      broker: this.#broker,
      ledger,
      recipes,
      holder: `process ${++this.#processes}`,
      seed,
      out,
      slowMs: () => this.#slowMs,
      tickMs: () => this.#tickMs(),
      // What is held until a person comes is not asked for every second of a week.
      pollMs: () => this.#machine.trueTime < this.#watchfulUntil ? 1_000 : MINUTE_MS,
      onTold: (told) => void this.told.push(told),
      onEvent: (event) => {
        if (event.type === "error") this.#fault ??= { error: event.error };
        // A clock that was set wrong says nothing about when that was.
        const at = this.#machine.trueTime;
        if (event.type !== "tick" && event.type !== "skipped") this.events.push({ ...event, at });
      },
    });
    this.#watch();
    this.#process.start();
  }

  async #end(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined) return;
    let isOver = false;
    const stopped = process.stop().finally(() => isOver = true);
    // A write may sleep between its orders, and reads end at once.
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

  #tellProgress(): void {
    const month = new Date(this.#machine.trueTime).toISOString().slice(0, 7);
    if (month === this.#month) return;
    this.#month = month;
    const runs = this.#stretch.ledger.get<{ count: number }>("select count(*) as count from run")?.count ?? 0;
    this.#stretch.onProgress?.({ month, runs });
  }

  /** Something goes wrong, and perhaps right again later. */
  async #strike(outage: PlannedOutage): Promise<void> {
    this.#watch();
    const over = await this.#begins(outage);
    if (outage.forMs === undefined || over === undefined) return;
    this.#script.add({
      at: this.#machine.trueTime + outage.forMs,
      do: async () => {
        await over();
        this.#watch();
      },
    });
  }

  /** Begins it and returns what ends it, where it ends after a while. */
  async #begins({ what, byMs = 0, forMs, recipe, catchUp }: PlannedOutage): Promise<
    (() => Promise<void> | void) | undefined
  > {
    switch (what) {
      case "scheduler-down":
        await this.#end();
        return () => this.#begin();
      case "kill":
        this.#restartMs = forMs;
        this.#process?.doom();
        return;
      case "machine-asleep":
        this.#isAsleep = true;
        return () => void (this.#isAsleep = false);
      case "gateway-down":
        await this.#broker.off();
        await this.#process?.noticed(false);
        return async () => {
          await this.#broker.on();
          await this.#process?.noticed(true);
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
      case "pause":
        pauseRecipe(this.#stretch.ledger, recipe!, { why: "outage script", now: this.#machine.wallTime }); // checked
        return;
      case "resume":
        this.#resume(recipe!, catchUp); // checked
        return;
    }
  }

  /** The next call finds the login gone, or every call that needs one. */
  #loseLogin(code: string, text: string, isLasting: boolean): () => void {
    const { faults } = this.#broker.core;
    if (!isLasting) return faults.arm({ kind: "expired-login", code, text });
    const ends = needingLogin().map((operation) =>
      faults.arm({ kind: "expired-login", code, text, operation, times: Infinity })
    );
    return () => ends.forEach((end) => end());
  }

  #resume(name: string, catchUp: boolean): void {
    const { ledger, recipes } = this.#stretch;
    const recipe = recipes.find((each) => each.name === name)!; // the script was checked against them
    const now = this.#machine.wallTime;
    const random = () => 0.5;
    resumeRecipe(ledger, recipe, {
      now,
      loadedAt: now,
      lookbackMs: 14 * DAY_MS,
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
