/**
 * Runs a scheduler with one recipe in its own process, in simulated time, until the recipe's run has ended. A process
 * that is started again after a kill continues with the same store. See `rebalance_killed_test.ts`.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { createClient } from "../../lib/client/client.ts";
import { readLimits } from "../../lib/client/limits.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { Redactor } from "../../lib/redact.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import type { SimulatorInfo } from "../../lib/simulator/mod.ts";
import { PostgresStore } from "../../lib/store/postgres.ts";
import { isPostgresUrl, readPostgresUrl } from "../../lib/store/postgres_url.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Machine, systemMachine } from "../../lib/time.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import type { Transport } from "../../lib/transports/transport.ts";

/** What the process is given, as JSON in its only argument. */
export interface RebalanceJob {
  info: SimulatorInfo;
  /** Path or URL of the store. */
  store: string;
  /** Folder for the files of the run. */
  out: string;
  /** Text of the recipe. */
  recipe: string;
  /** Address of the clock, in the process of the test. */
  clockUrl: string;
  holder: string;
}

/** Maximum time that passes at once, so that the market and the process advance together. */
const STEP_MS = 1_000;

/** A PostgreSQL store that uses the clock of the test instead of the database's clock. */
class SharedClockPostgresStore extends PostgresStore {
  /** Does work during which the clock of the test must not advance. */
  withoutTime = <T>(work: () => Promise<T>): Promise<T> => work();

  override get clockFault(): undefined {
    return undefined;
  }

  override now(): undefined {
    return undefined;
  }

  override get<Row>(...given: Parameters<PostgresStore["get"]>): Promise<Row | undefined> {
    return this.withoutTime(() => super.get<Row>(...given));
  }

  override all<Row>(...given: Parameters<PostgresStore["all"]>): Promise<Row[]> {
    return this.withoutTime(() => super.all<Row>(...given));
  }

  override run(...given: Parameters<PostgresStore["run"]>): Promise<number> {
    return this.withoutTime(() => super.run(...given));
  }

  override transaction<T>(work: () => T | Promise<T>): Promise<T> {
    return this.withoutTime(() => super.transaction(work));
  }
}

/** Opens a store, at a path or at a URL of PostgreSQL, for processes that use the clock of the test. */
export async function openSharedClockStore(where: string, machine?: SharedClockMachine): Promise<Store> {
  if (!isPostgresUrl(where)) return await openSqlite(where);
  const store = new SharedClockPostgresStore(readPostgresUrl(where), {});
  if (machine !== undefined) store.withoutTime = (work) => machine.withoutTime(work);
  await store.prepare(() => crypto.randomUUID());
  return store;
}

/**
 * A machine whose clock is in the process of the test. The clock does not advance while an answer of the broker or the
 * store is missing.
 */
class SharedClockMachine implements Machine {
  readonly id = systemMachine.id;
  readonly random = systemMachine.random;
  /** Order writes sent so far. */
  orders = 0;
  readonly #clockUrl: string;
  readonly #holder: string;
  readonly #timers = new Set<{ at: number; callback: () => void }>();
  #now = 0;
  /** Number of calls that wait for an answer. */
  #calls = 0;

  constructor(clockUrl: string, holder: string) {
    this.#clockUrl = clockUrl;
    this.#holder = holder;
  }

  /** Does work during which the clock must not advance. */
  async withoutTime<T>(work: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await work();
    } finally {
      this.#calls--;
    }
  }

  /** Returns a transport whose calls take no time by this clock. */
  transport(inner: Transport): Transport {
    return {
      name: inner.name,
      ...inner.logins && { logins: inner.logins },
      call: (operation, params, options) => {
        if (operation.order !== undefined) this.orders++;
        return this.withoutTime(() => inner.call(operation, params, options));
      },
      raw: (...given) => this.withoutTime(() => inner.raw(...given)),
      [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    };
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimer(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Advances the clock up to the next timer, at most one step, and runs the timers that are due. */
  async pass(): Promise<void> {
    const ms = Math.min(STEP_MS, ...[...this.#timers].map(({ at }) => Math.max(0, at - this.#now)));
    const query = new URLSearchParams({
      ms: String(this.#now === 0 ? 0 : ms),
      holder: this.#holder,
      orders: String(this.orders),
    });
    this.#now = Number(await (await fetch(`${this.#clockUrl}/?${query}`)).text());
    for (const timer of [...this.#timers].filter(({ at }) => at <= this.#now)) {
      if (this.#timers.delete(timer)) timer.callback();
    }
    do {
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve));
    } while (this.#calls > 0);
  }
}

if (import.meta.main) {
  const { info, store: path, out, recipe: text, clockUrl, holder }: RebalanceJob = JSON.parse(Deno.args[0]!);
  const machine = new SharedClockMachine(clockUrl, holder);
  await machine.pass();
  // The connection itself runs in real time. The limit is long, so that a busy machine loses no answer.
  const { gatewayUrl: url, tradePasswordKey, tradePassword } = info;
  const client = createClient(
    machine.transport(gateway({ url, tradePasswordKey, timeoutMs: 120_000 })),
    { tradePassword },
  );
  const store = await openSharedClockStore(path, machine);
  const scheduler = new Scheduler({
    calendars: () => builtInCalendars,
    store,
    machine,
    holder,
    recipes: [await compileRecipe(text, "rebalance.yaml")],
    out,
    redactor: new Redactor(),
    client: () => Promise.resolve(client),
    secret: () => Promise.reject(new TypeError("no secrets")),
    limits: readLimits({ liveTrading: "allow" }),
    onSchedulerEvent(event) {
      // deno-lint-ignore no-console -- the parent shows it
      if (event.type === "error") console.error(event.error);
    },
  });
  const started = scheduler.start();
  const isOpen = async () =>
    (await store.get<{ n: number }>(
      "select count(*) as n from run where state not in ('due', 'running', 'waiting_recovery', 'unknown')",
    ))!.n === 0;
  while (await isOpen()) await machine.pass();
  await started;
  await client.close();
  Deno.exit(0);
}
