/**
 * Sets up a world with its broker, programs, people and faults. Starts, stops and restarts the programs.
 *
 * @module
 */
import type { Decimal } from "../decimal.ts";
import { BrokerError } from "../errors.ts";
import type { CompiledRecipe } from "../recipes/mod.ts";
import type { ScriptEntry } from "../simulator/mod.ts";
import { randomFrom } from "../time.ts";
import { SqliteError } from "./disk.ts";
import type { Pace } from "./pace.ts";
import { People } from "./people.ts";
import type { Network } from "./pipes.ts";
import { type ProgramDeps, schedule, trade } from "./programs.ts";
import { Strikes } from "./strikes.ts";
import { Truth } from "./truth.ts";
import type { Process, World } from "./world.ts";

const MINUTE = 60_000;

/** A program on its own machine. The machine restarts the program after it has died. */
interface Program {
  name: string;
  process: Process | undefined;
  main: (process: Process, deps: ProgramDeps) => Promise<void>;
  /** The program is not started again before this time, Unix milliseconds. */
  notBefore: number;
}

/** Options of {@linkcode Swarm}. */
export interface SwarmOptions {
  world: World;
  network: Network;
  /** Folder of the store. */
  folder: string;
  seed: number;
  /** The sessions of the world's days, Unix milliseconds. */
  sessions: readonly { openAt: number; closeAt: number }[];
  recipes: readonly CompiledRecipe[];
  /** Number of schedulers. */
  schedulers: number;
  /** Whether the programs use the direct transport. */
  isDirect: boolean;
  /** Whether a scheduler is the only program. */
  isSole: boolean;
  /** Number of lots above which the broker splits an order. @default the broker's own maximum */
  mostLots: number | undefined;
  /** Whether the broker's lists still show orders as open after they have ended with the market's day. */
  hidesLapses: boolean;
  /** How much happens in the world, and when. */
  pace: Pace;
  /** The recipes that rebalance. */
  rebalancing: readonly Rebalancing[];
}

/** A recipe that rebalances, as a seed draws it. */
export interface Rebalancing {
  recipe: CompiledRecipe;
  /** When the recipe may write, Unix milliseconds. */
  windows: readonly { from: number; to: number }[];
  /** Price moves and trading halts around the executions. */
  script: readonly ScriptEntry[];
}

/** The system under test and its surroundings. */
export class Swarm {
  readonly world: World;
  /** Path of the store. */
  readonly store: string;
  readonly truth: Truth;
  readonly people: People;
  readonly strikes: Strikes;
  /** Errors that no code has handled. */
  readonly unhandled: unknown[] = [];
  /** When each recipe may write, by the recipe's name; Unix milliseconds. */
  readonly windows: ReadonlyMap<string, readonly { from: number; to: number }[]>;
  /** Limits of the values of an order and of a day. The invariants check them independently of the desk. */
  readonly caps: { readonly order: Decimal; readonly day: Decimal };
  readonly #options: SwarmOptions;
  readonly #programs: Program[] = [];
  readonly #random: () => number;
  readonly #shared: ProgramDeps;

  constructor(options: SwarmOptions) {
    const { world, network, seed, pace, rebalancing, folder } = options;
    this.#options = options;
    this.world = world;
    const store = this.store = `${folder}/hsgate.db`;
    this.caps = { order: pace.orderCap, day: pace.dayCap };
    this.#random = randomFrom(seed ^ 0x5eed);
    const [buys, cancels] = [
      options.sessions.map(({ openAt }) => ({ from: openAt + 29 * MINUTE, to: openAt + 32 * MINUTE })),
      options.sessions.map(({ closeAt }) => ({ from: closeAt - 16 * MINUTE, to: closeAt - 10 * MINUTE })),
    ];
    this.windows = new Map([
      ...Object.entries({ "buy-early": buys, "cancel-late": cancels }).filter(([name]) =>
        options.recipes.some((recipe) => recipe.name === name)
      ),
      ...rebalancing.map(({ recipe, windows }) => [recipe.name, windows] as const),
    ]);
    const { unhandled } = this;
    const recipes = [...options.recipes, ...rebalancing.map(({ recipe }) => recipe)];
    const truth = this.truth = new Truth({
      ...options,
      roundMs: pace.roundMs,
      keepsCash: rebalancing.length > 0,
      script: rebalancing.flatMap(({ script }) => script),
      onError: (error) => unhandled.push(error),
    });
    const people = this.people = new People({
      world,
      truth,
      store,
      recipes: recipes.map(({ name }) => name),
      unhandled,
    });
    const strikes = this.strikes = new Strikes({
      world,
      network,
      truth,
      people,
      store,
      alive: () => this.#programs.flatMap(({ process }) => process?.isAlive ? [process] : []),
      startAhead: (ms) => this.#startAhead(ms),
    });
    this.#shared = {
      world,
      truth,
      pace,
      store,
      folder,
      recipes,
      isQuiet: () => strikes.isQuiet,
      onLoginLost: () => people.resumeLater(),
      unhandled,
    };
  }

  /** Starts the broker, then the programs. */
  async begin(): Promise<void> {
    await this.truth.open();
    const [first] = this.#options.pace.awake.flat();
    const delayMs = Math.max(0, first!.from - this.world.now); // each day has a period in which the programs run
    if (!this.#options.isSole) this.#launch("trader", trade, delayMs + 2_000);
    for (let number = 1; number <= this.#options.schedulers; number++) {
      this.#launch(`scheduler-${number}`, schedule, delayMs + 3_000 * number);
    }
  }

  /** Ends all faults and prevents new ones. */
  quieten(): void {
    this.strikes.quieten();
    for (const { process } of this.#programs) {
      if (process === undefined) continue;
      process.wallAheadMs = 0;
      process.stoppedUntil = -Infinity;
    }
  }

  /**
   * Does what a person does with the programs in the evening: ends them until the morning, suspends the computer, or
   * lets them run. If they run, a night has many times more events than a day, although nothing changes at the broker.
   *
   * @param size A random number, at least 0 and below 1, which selects one of the three.
   * @param morning When the programs run again, Unix milliseconds.
   */
  passNight(size: number, morning: number): void {
    if (size > 0.85) return;
    if (size >= 0.45) return this.suspend(morning);
    for (const program of this.#programs) {
      program.notBefore = morning;
      program.process?.kill();
    }
  }

  /** Suspends the computers of the programs until an instant. */
  suspend(until: number): void {
    for (const { process } of this.#programs) {
      if (process !== undefined) process.stoppedUntil = Math.max(process.stoppedUntil, until);
    }
  }

  /** Starts a program on its own machine, and starts it again some time after it has died. */
  #launch(name: string, main: Program["main"], afterMs: number): void {
    const program: Program = { name, process: undefined, main, notBefore: -Infinity };
    this.#programs.push(program);
    const start = () => {
      const process = this.world.process(name);
      program.process = process;
      process.atDeath.add(() => {
        this.world.schedule(
          Math.max(this.world.now, program.notBefore) + 1_000 + Math.floor(this.#random() * 5 * MINUTE),
          undefined,
          `start ${name}`,
          start,
        );
      });
      this.#begin(process, main);
    };
    this.world.schedule(this.world.now + afterMs, undefined, `start ${name}`, start);
  }

  #startAhead(ms: number): void {
    const { world } = this;
    const other = world.process("scheduler-ahead");
    other.wallAheadMs = ms;
    this.#begin(other, schedule);
    world.schedule(world.now + MINUTE, undefined, "end scheduler-ahead", () => other.kill());
  }

  #begin(process: Process, main: Program["main"]): void {
    this.strikes.watch(process);
    process.run(() =>
      void main(process, this.#shared).catch((error) => {
        // A program ends if it cannot start, for example because the disk is full.
        this.world.note(process, `ended: ${error instanceof Error ? error.message : error}`);
        if (!(error instanceof BrokerError) && !(error instanceof SqliteError)) this.unhandled.push(error);
        process.kill();
      })
    );
  }
}
