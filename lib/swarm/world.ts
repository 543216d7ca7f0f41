/**
 * Runs a simulated world: one virtual time, one queue of events, and processes that start and die in it.
 *
 * The world runs the earliest event; the seed decides the order of events at the same instant. An event runs in the
 * context of its process, and then all promises that are ready continue. No real time passes between two events. The
 * same seed gives the same events in the same order.
 *
 * A process is a context of asynchronous calls: `process.run(work)` runs work in it, and everything that the work
 * starts belongs to it. `ambient.ts` replaces clocks, timers, sockets and random numbers for code in a process, and
 * `disk.ts` replaces the database. When a process is killed, none of its timers, connections or statements ever
 * continues.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { nextTick } from "node:process";
import type { DatabaseSync } from "node:sqlite";
import { randomFrom } from "../time.ts";

/** Work that runs at an instant. */
interface Event {
  at: number;
  tie: number;
  seq: number;
  process: Process | undefined;
  what: string;
  run: () => void;
}

const context = new AsyncLocalStorage<Process | undefined>();

/** Returns the process whose code is running; `undefined` outside of every world. */
export function currentProcess(): Process | undefined {
  return context.getStore();
}

/**
 * Runs work outside of every process. The runtime may start an unrelated task in the context of a process. So a program
 * calls this function before it runs a world.
 */
export function outside<T>(work: () => T): T {
  return context.run(undefined, work);
}

/** Returns a promise that never resolves, for the code of a dead process. */
export const forever = (): Promise<never> => new Promise(() => {});

/** A process in a world. */
export class Process {
  isAlive = true;
  /** The difference of its wall clock from the true time, milliseconds. */
  wallAheadMs = 0;
  /** Called when it dies, to close the resources that its machine would close. */
  readonly atDeath = new Set<() => void>();
  /** Number of database statements that it has executed. */
  statements = 0;
  /** Called before and after each database statement. Throws to make the statement fail. May kill the process. */
  onStatement: ((sql: string, when: "before" | "after", db: DatabaseSync) => void) | undefined;
  /**
   * Called before each transaction. Returns the milliseconds for which the process stops there; `undefined` if it does
   * not stop.
   */
  onTransaction: (() => number | undefined) | undefined;
  /** The process is stopped until this time: its events run only after that. */
  stoppedUntil = -Infinity;
  /** Number of open timers, including those of connections that are being opened. */
  open = 0;
  readonly random: () => number;
  #ids = 0;

  constructor(readonly world: World, readonly name: string, readonly number: number) {
    this.random = randomFrom(world.seed * 31 + number * 7919);
  }

  /** Runs work in this process. */
  run<T>(work: () => T): T {
    return context.run(this, work);
  }

  /** Time of its wall clock, Unix milliseconds. */
  now(): number {
    return this.world.now + this.wallAheadMs;
  }

  /** Returns a new id in the form of a UUID. */
  id(): string {
    const text = `${this.number.toString(16).padStart(4, "0")}${(++this.#ids).toString(16).padStart(8, "0")}`;
    return `00000000-0000-4000-8000-${text}`;
  }

  /** Calls a function after a virtual delay in milliseconds. Returns a function that cancels the timer. */
  after(ms: number, callback: () => void, what = "timer"): () => void {
    if (!this.isAlive) return () => {};
    this.open++;
    let isOver = false;
    const end = () => {
      if (!isOver) this.open--;
      isOver = true;
    };
    const cancel = this.world.schedule(this.world.now + Math.max(0, Math.trunc(ms)), this, what, () => {
      end();
      callback();
    });
    return () => {
      end();
      cancel();
    };
  }

  /**
   * Stops the process for a time in the middle of an event. Code that awaits the promise continues before the later
   * events of the process.
   */
  pause(ms: number): Promise<void> {
    const until = this.stoppedUntil = Math.max(this.stoppedUntil, this.world.now + ms);
    return new Promise((resolve) => void this.world.schedule(until, this, "continue", resolve));
  }

  /** Kills the process like SIGKILL: none of its code ever continues. */
  kill(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    for (const end of this.atDeath) end();
    this.atDeath.clear();
    this.world.note(this, "killed");
  }
}

/** A world of one seed. */
export class World {
  /** The true time, Unix milliseconds. The broker and the exchanges use it. */
  now: number;
  /** Number of events so far. */
  events = 0;
  /** Whether an event is running: code outside of every process must not use the real machine during an event. */
  isStepping = false;
  /** Uses of the real machine during events, which are errors. */
  readonly leaks: string[] = [];
  /** Random numbers of the world itself, such as latencies. */
  readonly random: () => number;
  /** Called with each line of the log: time, process, event. */
  onLog: ((line: string) => void) | undefined;
  /** Called after each event. Nothing may happen in the world before its promise resolves: events never overlap. */
  onEvent: (() => Promise<void>) | undefined;
  readonly processes: Process[] = [];
  /**
   * A text that differs between two runs of a seed, such as the path of a temporary folder. It is removed from the log.
   */
  hidden = "";
  readonly #queue: Event[] = [];
  #seq = 0;
  #hash = 0x811c9dc5;
  #real: Promise<void> | undefined;

  constructor(readonly seed: number, start: number) {
    this.now = start;
    this.random = randomFrom(seed);
  }

  /** A hash of every event so far. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** Starts a process. */
  process(name: string): Process {
    const process = new Process(this, name, this.processes.length + 1);
    this.processes.push(process);
    return process;
  }

  /** Adds an event. Returns a function that removes the event. */
  schedule(at: number, process: Process | undefined, what: string, run: () => void): () => void {
    const seq = ++this.#seq;
    // Events of one process at the same instant keep their order. The seed decides the order between processes.
    const tie = mix(this.seed, at, process?.number ?? 0);
    const event: Event = { at: Math.max(at, this.now), tie, seq, process, what, run };
    push(this.#queue, event);
    return () => {
      event.run = nothing;
    };
  }

  /** Adds a line to the log and to the hash. */
  note(process: Process | undefined, what: string): void {
    if (this.hidden !== "" && what.includes(this.hidden)) what = what.replaceAll(this.hidden, "");
    let hash = this.#hash;
    const line = `${this.now} ${process?.name ?? "world"} ${what}`;
    for (let at = 0; at < line.length; at++) hash = Math.imul(hash ^ line.charCodeAt(at), 0x01000193);
    this.#hash = hash;
    if (this.onLog !== undefined) {
      this.onLog(`${new Date(this.now).toISOString()} ${process?.name ?? "world"}: ${what}`);
    }
  }

  /**
   * Runs the next event, and lets all promises that are ready continue.
   *
   * @returns False if there is no event up to the instant; the time is then set to that instant.
   */
  async step(until: number): Promise<boolean> {
    for (let event = this.#queue[0]; event !== undefined && event.at <= until; event = this.#queue[0]) {
      pop(this.#queue);
      const { process } = event;
      if (event.run === nothing || process !== undefined && !process.isAlive) continue;
      if (process !== undefined && process.stoppedUntil > event.at) {
        // The events of a stopped process leave the queue in order and are added again in the same order.
        event.at = process.stoppedUntil;
        event.tie = mix(this.seed, event.at, process.number);
        event.seq = ++this.#seq;
        push(this.#queue, event);
        continue;
      }
      this.now = Math.max(this.now, event.at);
      this.events++;
      this.note(process, event.what);
      this.isStepping = true;
      if (process === undefined) event.run();
      else process.run(event.run);
      await this.#turn();
      if (this.onEvent !== undefined) {
        const before = `${this.#seq} ${this.#hash}`;
        await this.onEvent();
        if (`${this.#seq} ${this.#hash}` !== before || this.#real !== undefined) {
          this.leaks.push(`after "${event.what}", something waited for the real machine`);
        }
      }
      this.isStepping = false;
      return true;
    }
    this.now = Math.max(this.now, until);
    return false;
  }

  /**
   * Waits in real time for work that cannot be simulated, such as Web Crypto. The work takes no virtual time, and
   * results arrive in the order of the calls.
   */
  real<T>(work: Promise<T>): Promise<T> {
    const process = currentProcess();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#real = (this.#real ?? Promise.resolve()).then(async () => {
      try {
        const value = await work;
        if (process?.isAlive !== false) resolve(value);
      } catch (error) {
        if (process?.isAlive !== false) reject(error);
      }
    });
    return promise;
  }

  /** Ends the world: no code of it ever continues. */
  end(): void {
    for (const process of this.processes) process.kill();
    this.#queue.length = 0;
  }

  /** Lets all promises that are ready continue. */
  async #turn(): Promise<void> {
    for (;;) {
      // A `nextTick` callback runs when no promise is ready, and costs half as much as a turn of the event loop. The
      // runtime reports unhandled errors and receives signals only in a turn of the event loop.
      await new Promise<void>(this.events % TURN_EVERY === 0 ? endOfTurn : nextTick);
      if (this.#real === undefined) return;
      const real = this.#real;
      await real;
      if (this.#real === real) this.#real = undefined;
    }
  }
}

const nothing = () => {};
/** The event loop gets a turn after this many events. */
const TURN_EVERY = 64;
/** Calls back when no promise is ready any more. This is the real function: a world replaces only the global one. */
const endOfTurn = setImmediate as unknown as (resolve: () => void) => void;

/** Returns a hash of three numbers, with which the seed decides the order of events at the same instant. */
function mix(seed: number, at: number, number: number): number {
  let mixed = Math.imul((seed ^ at) | 0, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);
  mixed ^= mixed >>> 15;
  return Math.imul(mixed, 0xc2b2ae35) >>> 0;
}

function isBefore(one: Event, other: Event): boolean {
  if (one.at !== other.at) return one.at < other.at;
  if (one.tie !== other.tie) return one.tie < other.tie;
  return one.seq < other.seq;
}

/** Adds an event to a heap. */
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    if (!isBefore(event, heap[up]!)) break;
    heap[at] = heap[up]!;
    at = up;
  }
  heap[at] = event;
}

/** Removes the first event of a heap. */
function pop(heap: Event[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let down = 2 * at + 1;
    if (down >= heap.length) break;
    if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down++;
    if (!isBefore(heap[down]!, last)) break;
    heap[at] = heap[down]!;
    at = down;
  }
  heap[at] = last;
}
