/**
 * One life of the scheduler's process: the real scheduler on virtual time, until it is stopped or killed.
 *
 * @module
 */
import { type Client, createClient } from "../client/client.ts";
import { wait } from "../runner/host.ts";
import type { Ledger } from "../runner/ledger.ts";
import { Redactor } from "../redact.ts";
import { Scheduler, type SchedulerEvent } from "../runner/scheduler.ts";
import type { CompiledRecipe, CompiledStep, StepContext } from "../steps/compiled.ts";
import type { PushStream } from "../transports/push.ts";
import { Baton, Work } from "./baton.ts";
import { Line } from "./line.ts";
import type { GatewaySwitch } from "./simulated_gateway.ts";
import { type Stage, staged, type Told } from "./staged.ts";
import { numbersFrom, type VirtualMachine, type VirtualProcess } from "./virtual_machine.ts";

/** What a process finds on its machine. */
export interface ProcessOptions {
  machine: VirtualMachine;
  broker: GatewaySwitch;
  ledger: Ledger;
  recipes: readonly CompiledRecipe[];
  /** A name that no process before it had. */
  holder: string;
  seed: number;
  /** Folder for files. */
  out: string;
  /** How long an answer takes at this moment, milliseconds. */
  slowMs: () => number;
  /** Longest time between two looks of the scheduler at this moment, milliseconds. */
  tickMs: () => number;
  /** How soon it looks again at this moment when what is due cannot be claimed, milliseconds. */
  pollMs: () => number;
  onTold(told: Told): void;
  onEvent(event: SchedulerEvent): void;
}

/** A stream that was broken tries again after a second or two. */
const NOTICE_MS = 15_000;
const LOOK_MS = 5;

const forever = () => new Promise<never>(() => {});

/** A scheduler, alive or dead. */
export class RehearsedProcess implements Stage {
  readonly #options: ProcessOptions;
  readonly #process: VirtualProcess;
  readonly #baton = new Baton();
  readonly #scheduler: Scheduler;
  readonly #clients = new Set<Client>();
  readonly #died = Promise.withResolvers<void>();
  /** Calls that are really under way. */
  readonly #calls = new Set<Promise<unknown>>();
  #streams: PushStream[] = [];
  #isDoomed = false;

  constructor(options: ProcessOptions) {
    const { machine, ledger, recipes, holder, out, onEvent, tickMs, pollMs } = options;
    this.#options = options;
    this.#process = machine.startProcess();
    this.#scheduler = new Scheduler({
      ledger,
      host: this.#process,
      holder,
      recipes: recipes.map((recipe) => staged(recipe, this)),
      out,
      redactor: new Redactor(),
      client: () => Promise.reject(new TypeError("Cannot connect: steps have their clients from the stage")),
      secret: (name) => Promise.resolve(placeholderOf(name)),
      onSchedulerEvent: onEvent,
      // Read at each turn, as the script decides how closely to look.
      get tickMs() {
        return tickMs();
      },
      get pollMs() {
        return pollMs();
      },
    });
  }

  get isAlive(): boolean {
    return this.#process.isAlive;
  }

  start(): void {
    this.#scheduler.start();
  }

  /** Stops in order; resolves once everything has ended. */
  async stop(): Promise<void> {
    await this.#scheduler.stop();
    this.#process.kill();
  }

  /** Dies in the middle of the run that is under way, or of the next one. */
  doom(): void {
    this.#isDoomed = true;
    if (this.#scheduler.running.length > 0) this.#die();
  }

  /** Resolves when nothing is under way that takes real time. */
  async idle(): Promise<void> {
    await Promise.race([this.#baton.free(), this.#died.promise]);
    if (this.isAlive) return;
    await Promise.allSettled(this.#calls);
    for (const client of this.#clients) await client.close();
    this.#clients.clear();
  }

  get isIdle(): boolean {
    return this.#baton.isFree || (!this.isAlive && this.#calls.size === 0 && this.#clients.size === 0);
  }

  /** Resolves when streams of pushes have noticed that the gateway is there, or gone; that takes real time. */
  async noticed(isOn: boolean): Promise<void> {
    this.#streams = this.#streams.filter(({ state }) => state !== "closed");
    const isAware = ({ state }: PushStream) => state === "closed" || (state === "connected") === isOn;
    for (let left = NOTICE_MS; left > 0 && !this.#streams.every(isAware); left -= LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async perform(step: CompiledStep, context: StepContext): Promise<unknown> {
    const work = new Work(this.#baton);
    let client: Client | undefined;
    const play: StepContext = {
      ...context,
      sleep: (ms) => work.idle(() => context.sleep!(ms)), // the runner hands its own to every step
      client: () => Promise.resolve(client ??= this.#connect(work)),
      runRecipe: (name, params) => work.idle(() => context.runRecipe(name, params)),
    };
    try {
      return await work.do(async () => {
        try {
          return await step.run(play);
        } finally {
          if (client !== undefined) {
            this.#clients.delete(client);
            await client.close();
          }
          await this.#dieIfDoomed();
        }
      });
    } finally {
      if (!this.isAlive) await forever();
    }
  }

  tell(told: Omit<Told, "at">): void {
    this.#options.onTold({ at: this.#options.machine.trueTime, ...told });
  }

  #connect(work: Work): Client {
    const { broker, machine, seed, slowMs } = this.#options;
    const line = new Line({
      transport: broker.transport,
      work,
      isOn: () => broker.isOn,
      slowMs,
      sleep: (ms, signal) => wait(this.#process, ms, signal),
      onAnswer: () => this.#dieIfDoomed(),
      onStream: (stream) => void this.#streams.push(stream),
      track: (call) => {
        const done = call.finally(() => this.#calls.delete(done)).catch(() => {});
        this.#calls.add(done);
      },
    });
    const client = createClient(line, {
      tradePassword: broker.tradePassword,
      retry: { waitMs: 1 },
      random: numbersFrom(seed),
      now: () => machine.wallTime,
      monotonic: () => this.#process.monotonic(),
    });
    this.#clients.add(client);
    return client;
  }

  async #dieIfDoomed(): Promise<void> {
    if (this.isAlive && this.#isDoomed) this.#die();
    if (!this.isAlive) await forever();
  }

  #die(): void {
    this.#process.kill();
    this.#died.resolve();
  }
}

/** Something in the place of a secret: an address, as most secrets of recipes are one, and a text in any case. */
export const placeholderOf = (name: string): string => `https://secret.invalid/${name}`;
