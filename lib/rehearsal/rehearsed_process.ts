/**
 * Simulates one scheduler process: the real scheduler in virtual time, until it is stopped or killed. Sends the calls
 * of its recipes to the simulated gateway over real sockets, with delays in virtual time.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Calendars } from "../calendars/mod.ts";
import { type Client, createClient } from "../client/client.ts";
import { randomFrom, systemMachine, wait } from "../time.ts";
import type { Store } from "../store/store.ts";
import { Redactor } from "../redact.ts";
import { Scheduler, type SchedulerEvent } from "../runner/schedule/scheduler.ts";
import type { CompiledRecipe, CompiledStep, StepContext } from "../recipes/compiled.ts";
import { CountedStream } from "./counted_stream.ts";
import type { GatewaySwitch } from "./simulated_gateway.ts";
import { simulatedRecipe, type StepRunner, type UnsentMessage } from "./simulated_recipe.ts";
import { Turn, Work } from "./turn.ts";
import type { VirtualMachine, VirtualProcess } from "./virtual_machine.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { lost } from "../transports/outcome.ts";
import type { PushHooks, PushStream } from "../transports/push/stream.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";

/** Options of a {@linkcode RehearsedProcess}. */
interface ProcessOptions {
  machine: VirtualMachine;
  broker: GatewaySwitch;
  store: Store;
  recipes: readonly CompiledRecipe[];
  calendars: Calendars;
  /** A unique name of the process. */
  holder: string;
  seed: number;
  /** Folder for files. */
  out: string;
  /** Returns the current delay of answers, milliseconds. */
  slowMs: () => number;
  /** Returns the current longest interval between two scheduler passes, milliseconds. */
  tickMs: () => number;
  /** Returns the current interval for retrying to claim a due run, milliseconds. */
  pollMs: () => number;
  onMessage(message: UnsentMessage): void;
  onEvent(event: SchedulerEvent): void;
}

/**
 * Longest wait until push streams notice that the gateway was started or stopped. Streams reconnect after one or two
 * seconds.
 */
const NOTICE_MS = 15_000;
const LOOK_MS = 5;
/** Longest wait for the pushes that the gateway sent. They usually take a millisecond. */
const ARRIVAL_MS = 60_000;
const ARRIVAL_LOOK_MS = 1;

const forever = () => new Promise<never>(() => {});

/** The work that is running, and its client. */
interface Current {
  work: Work;
  client?: Client;
}

/** A simulated scheduler process, alive or dead. */
export class RehearsedProcess implements StepRunner {
  readonly #options: ProcessOptions;
  readonly #process: VirtualProcess;
  readonly #turn = new Turn();
  readonly #scheduler: Scheduler;
  readonly #clients = new Set<Client>();
  /** The step that runs now. */
  readonly #current = new AsyncLocalStorage<Current>();
  /** The work of the scheduler itself at the broker, such as finding the outcomes of interrupted writes. */
  readonly #background: Current;
  readonly #died = Promise.withResolvers<void>();
  /** Calls in progress. */
  readonly #calls = new Set<Promise<unknown>>();
  #streams: CountedStream[] = [];
  #isDoomed = false;

  constructor(options: ProcessOptions) {
    const { machine, store, recipes, calendars, holder, out, onEvent, tickMs, pollMs } = options;
    this.#options = options;
    this.#process = machine.startProcess();
    this.#background = { work: new Work(this.#turn) };
    // The scheduler waits for virtual time, except while it makes calls.
    this.#background.work.idle(forever);
    this.#scheduler = new Scheduler({
      store,
      machine: this.#process,
      calendars: () => calendars,
      holder,
      recipes: recipes.map((recipe) => simulatedRecipe(recipe, this)),
      out,
      redactor: new Redactor(),
      client: () => Promise.resolve(this.#clientOf(this.#current.getStore() ?? this.#background)),
      // A step that waits for its orders must let virtual time pass.
      deskMachine: {
        ...this.#process,
        setTimer: (ms, callback) => {
          const work = this.#current.getStore()?.work;
          return work === undefined
            ? this.#process.setTimer(ms, callback)
            : work.setTimer(this.#process, ms, callback);
        },
      },
      secret: (name) => Promise.resolve(placeholderOf(name)),
      onSchedulerEvent: onEvent,
      // Keep all runs, because the report counts them and the store is removed after the rehearsal.
      retention: "everything",
      // Use getters, because the scheduler reads these values at each pass and outages change them.
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

  async start(): Promise<void> {
    await this.#scheduler.start();
  }

  /** Stops the scheduler gracefully. Resolves when everything has ended. */
  async stop(): Promise<void> {
    await this.#scheduler.stop();
    this.#process.kill();
    await this.#closeClients();
  }

  /** Kills the process during the current run; if no run is in progress, during the next run. */
  doom(): void {
    this.#isDoomed = true;
    if (this.#scheduler.running.length > 0) this.#die();
  }

  /** Resolves when no real work is in progress. */
  async idle(): Promise<void> {
    await Promise.race([this.#turn.free(), this.#died.promise]);
    if (this.isAlive) return;
    await Promise.allSettled(this.#calls);
    await this.#closeClients();
  }

  async #closeClients(): Promise<void> {
    for (const client of this.#clients) await client.close();
    this.#clients.clear();
  }

  get isIdle(): boolean {
    return this.#turn.isFree || (!this.isAlive && this.#calls.size === 0 && this.#clients.size === 0);
  }

  /** Whether every push that the gateway sent has arrived and was handled. */
  get hasHandledPushes(): boolean {
    return this.#streams.length === 0 || (this.#havePushesArrived && !this.#isHandlingPushes);
  }

  get #havePushesArrived(): boolean {
    const { pushConnections, pushesSent } = this.#options.broker;
    // A client sees a connection as open before the gateway has accepted the connection and pushes to it.
    const connected = this.#streams.filter(({ state }) => state === "connected").length;
    const received = this.#streams.reduce((sum, { received }) => sum + received, 0);
    return connected <= pushConnections && received === pushesSent;
  }

  get #isHandlingPushes(): boolean {
    return this.#streams.some(({ isHandling }) => isHandling);
  }

  /**
   * Waits until every push that the gateway sent has arrived and was handled. Does not wait for a step that itself
   * waits for virtual time. This takes real time.
   */
  async awaitPushes(): Promise<void> {
    for (let left = ARRIVAL_MS; left > 0 && !this.hasHandledPushes; left -= ARRIVAL_LOOK_MS) {
      await wait(systemMachine, ARRIVAL_LOOK_MS);
      this.#streams = this.#streams.filter(({ state }) => state !== "closed");
    }
    if (this.#streams.length > 0 && !this.#havePushesArrived) {
      throw new Error("Cannot rehearse: pushes did not arrive over loopback");
    }
    // A step that waits for virtual time in the middle of an event cannot finish the event before time
    // passes.
    for (const stream of this.#streams) stream.giveUp();
  }

  /** Resolves when all push streams have noticed that the gateway is on or off. This takes real time. */
  async awaitNotice(isOn: boolean): Promise<void> {
    this.#streams = this.#streams.filter(({ state }) => state !== "closed");
    const isAware = ({ state }: CountedStream) => state === "closed" || (state === "connected") === isOn;
    for (let left = NOTICE_MS; left > 0 && !this.#streams.every(isAware); left -= LOOK_MS) {
      await wait(systemMachine, LOOK_MS);
    }
  }

  async runStep(step: CompiledStep, context: StepContext): Promise<unknown> {
    const work = new Work(this.#turn);
    const current: Current = { work };
    const simulated: StepContext = {
      ...context,
      sleep: (ms) => work.idle(() => context.sleep!(ms)), // the runner sets `sleep` for every step
      runRecipe: (name, params) => work.idle(() => this.#current.exit(() => context.runRecipe(name, params))),
    };
    try {
      return await work.do(async () => {
        try {
          return await this.#current.run(current, () => step.run(simulated));
        } finally {
          const { client } = current;
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

  recordMessage(message: Omit<UnsentMessage, "at">): void {
    this.#options.onMessage({ at: this.#options.machine.trueTime, ...message });
  }

  #clientOf(current: Current): Client {
    return current.client ??= this.#connect(current.work);
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
      // Without `setTimer`, the client uses real timers: it waits in real time, because its sockets are real.
      machine: {
        random: randomFrom(seed),
        now: () => machine.wallTime,
        monotonic: () => this.#process.monotonic(),
      },
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

/** Returns a placeholder for a secret. It is a URL, because most secrets of recipes are URLs. */
const placeholderOf = (name: string): string => `https://secret.invalid/${name}`;

/** How long a call waits for its answer, the same time as in the gateway transport. */
const TIMEOUT_MS = 10_000;

/** Options of a {@linkcode Line}. */
interface LineOptions {
  transport: Transport;
  work: Work;
  /** Returns whether the gateway is running. */
  isOn(): boolean;
  /** Returns the delay of an answer, milliseconds. */
  slowMs(): number;
  /** Waits in virtual time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Called after an answer arrived and before the caller gets it. Never resolves if the process has died. */
  onAnswer(): Promise<void>;
  /** Called for each new push stream. */
  onStream(stream: CountedStream): void;
  /** Called for each call that was sent to the gateway. */
  track(call: Promise<unknown>): void;
}

/** Carries the calls of one step, or those of the scheduler itself. */
export class Line implements Transport {
  readonly name: string;
  readonly #options: LineOptions;

  constructor(options: LineOptions) {
    this.name = options.transport.name;
    this.#options = options;
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const { transport } = this.#options;
    return await this.#callDelayed(operation, options, () => transport.call(operation, params, options));
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const { transport } = this.#options;
    const operation = { name: `${group}/${name}`, effect: "write" as const };
    return await this.#callDelayed(operation, options, () => transport.raw(group, name, params, options));
  }

  openPushes(hooks: PushHooks): Promise<PushStream> {
    const { transport, work, isOn, onStream } = this.#options;
    return work.call(async () => {
      // The gateway transport supports pushes; in the interface they are optional.
      const stream = new CountedStream(await transport.openPushes!(hooks), work);
      if (isOn()) await stream.connected().catch(() => {}); // the stream's own events report the failure
      onStream(stream);
      return stream;
    });
  }

  /** Does nothing: the rehearsal closes the transport. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #callDelayed(
    operation: Pick<AnyOperation, "name" | "effect">,
    options: CallOptions,
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    const { work, slowMs, sleep, onAnswer, track } = this.#options;
    const [slow, timeoutMs] = [slowMs(), options.timeoutMs ?? TIMEOUT_MS];
    // The call reaches the gateway immediately; only its answer is delayed.
    const result = await work.call(() => {
      const sent = send().then((value) => ({ value }), (error: unknown) => ({ error }));
      track(sent);
      return sent;
    });
    if (slow > 0) {
      await work.idle(() => sleep(Math.min(slow, timeoutMs), options.signal)).catch(() => {});
    }
    if (slow > timeoutMs || options.signal?.aborted) {
      throw lost({ operation, transport: this.name }, {
        isSent: true,
        peer: "the gateway",
        reason: "no answer",
        cause: undefined,
        ...options.signal !== undefined && { signal: options.signal },
        timeoutMs,
      });
    }
    await onAnswer();
    if ("error" in result) throw result.error;
    return result.value;
  }
}
