/**
 * Shared parts of the runner's tests: example recipes, a machine with a controlled clock, and stores in its time.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { setImmediate } from "node:timers";
import { type Machine, randomFrom } from "../../lib/time.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { Redactor } from "../../lib/redact.ts";
import type { RunEvent } from "../../lib/runner/run/report.ts";
import {
  Scheduler,
  type SchedulerEvent,
  type SchedulerOptions,
} from "../../lib/runner/schedule/scheduler.ts";
import type {
  CalendarSchedule,
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
} from "../../lib/recipes/compiled.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const at = (text: string): number => Date.parse(text);
export const iso = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z");

/** A machine whose time changes only when a test changes it. Timers fire when their time is reached. */
export class TestMachine implements Machine {
  #wall: number;
  #monotonic = 0;
  /** Ids are unique among all machines of a test, which may share a store. */
  static #ids = 0;
  #timers = new Set<{ at: number; callback: () => void }>();
  readonly random: () => number;

  constructor(start: number, seed = 1) {
    this.#wall = start;
    this.random = randomFrom(seed);
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  id(): string {
    return `id-${++TestMachine.#ids}`;
  }

  setTimer(ms: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** The wall clock jumps; no time passes. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** The machine sleeps: only the wall clock advances. */
  sleep(ms: number): void {
    this.#wall += ms;
  }

  /** Advances the time, timer by timer, and waits after each timer for the work that it started. */
  async pass(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#wall += next.at - this.#monotonic;
      this.#monotonic = next.at;
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#wall += end - this.#monotonic;
    this.#monotonic = end;
  }
}

/** Work in progress that {@linkcode settle} waits for. */
const underWay = new Set<Promise<unknown>>();

/** Lets everything that is ready continue, and waits for queries in progress. */
export async function settle(): Promise<void> {
  for (;;) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (underWay.size === 0) return;
    await Promise.allSettled(underWay);
  }
}

/** Lets {@linkcode settle} wait for work that goes over a socket. */
export async function track<T>(work: Promise<T>): Promise<T> {
  underWay.add(work);
  try {
    return await work;
  } finally {
    underWay.delete(work);
  }
}

let open: () => Promise<Store> = () => openSqlite(":memory:");
/** Times between the passes of a test's schedulers. Empty: the scheduler's defaults. */
let pace: Pick<SchedulerOptions, "tickMs" | "pollMs"> = {};

/** Opens the store of a test: SQLite in memory, unless the test runs with another kind. */
export async function openStore(): Promise<Store> {
  return await open();
}

/** Returns the store without the clock of its database, so that only the test's own clock counts. */
export function inTestTime<S extends Store>(store: S): S {
  store.now = () => undefined;
  Object.defineProperty(store, "clockFault", { value: undefined });
  for (const name of ["get", "all", "run", "transaction"] as const) {
    const original = store[name] as (...args: unknown[]) => Promise<never>;
    store[name] = (...args: unknown[]) => track(original.apply(store, args));
  }
  return store;
}

/** Runs a test with stores of another kind. */
export async function withStores(opener: () => Promise<Store>, run: () => Promise<void>): Promise<void> {
  const usual = open;
  // A pass each second of a simulated day is a hundred thousand commits of a real database.
  pace = { tickMs: 15 * MINUTE, pollMs: 20_000 };
  open = async () => inTestTime(await opener());
  try {
    await run();
  } finally {
    open = usual;
    pace = {};
  }
}

export const close45: { id: string } & CalendarSchedule = {
  id: "s1",
  form: "calendar",
  mic: "XHKG",
  days: "every-session",
  at: { anchor: "close", offsetMs: 45 * MINUTE },
  halfDays: "run",
};

export function step(given: Partial<CompiledStep> = {}): CompiledStep {
  return {
    id: "one",
    uses: "test",
    effect: "read",
    needs: [],
    fresh: false,
    run: () => Promise.resolve(null),
    ...given,
  };
}

export function recipe(given: Partial<CompiledRecipe> = {}): CompiledRecipe {
  return {
    name: "eod",
    file: "eod.yaml",
    sha256: "00",
    class: "read",
    schedules: [close45],
    misfire: { graceMs: 15 * MINUTE, action: "all", max: 10 },
    overlap: "queue",
    timeoutMs: HOUR,
    needsAccount: false,
    params: {},
    steps: [step()],
    ...given,
  };
}

export const every = (everyMs: number, jitterMs = 0): CompiledSchedule => ({
  id: "s1",
  form: "every",
  everyMs,
  jitterMs,
});

/** A scheduler on a virtual machine, with all its events. */
export interface Bench extends AsyncDisposable {
  store: Store;
  machine: TestMachine;
  scheduler: Scheduler;
  events: RunEvent[];
  told: SchedulerEvent[];
  redactor: Redactor;
  /** Another scheduler on the same store and clock. */
  another(holder: string, given?: Partial<SchedulerOptions>): Scheduler;
}

export async function bench(
  { start, recipes, ...given }: { start: string; recipes: CompiledRecipe[] } & Partial<SchedulerOptions>,
): Promise<Bench> {
  const machine = new TestMachine(at(start));
  const store = given.store ?? await openStore();
  const events: RunEvent[] = [];
  const told: SchedulerEvent[] = [];
  const redactor = new Redactor();
  const make = (holder: string, more: Partial<SchedulerOptions> = {}) =>
    new Scheduler({
      calendars: () => builtInCalendars,
      store,
      machine,
      holder,
      recipes,
      out: "out",
      redactor,
      client: () => Promise.reject(new TypeError("no client in this test")),
      // The test's clock may not advance while a step works, so a step must not wait for this clock.
      resolveMs: 0,
      secret: (name) => Promise.resolve(`value-of-${name}`),
      onEvent: (event) => void events.push(event),
      onSchedulerEvent(event) {
        if (event.type === "error") throw event.error;
        told.push(event);
      },
      ...pace,
      ...given,
      ...more,
    });
  return {
    store,
    machine,
    scheduler: make("p1"),
    events,
    told,
    redactor,
    another: make,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Returns key, state, reason and kind of each run in the store. */
export async function runsOf(store: Store): Promise<string[]> {
  return (await store.all<{ line: string }>(
    "select run_key || ' ' || state || coalesce(' ' || reason, '') || ' ' || kind as line from run order by slot_at, run_key",
  )).map(({ line }) => line);
}

/** A temporary folder of a test. */
export function temporaryFolder(): { path: string } & Disposable {
  const path = Deno.makeTempDirSync({ prefix: "hsgate-runner-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

/** A recipe that writes half an hour after the open; its window ends ten minutes before the close. */
export function orders(began: string[], given: Partial<CompiledRecipe> = {}): CompiledRecipe {
  return recipe({
    name: "orders",
    class: "write",
    needsAccount: true,
    overlap: "skip",
    misfire: { graceMs: 5 * MINUTE, action: "skip", max: 0 },
    schedules: [{ ...close45, at: { anchor: "open", offsetMs: 30 * MINUTE } }],
    window: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: 0 },
      to: { anchor: "close", offsetMs: -10 * MINUTE },
    },
    steps: [step({ effect: "write", run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)) })],
    ...given,
  });
}
