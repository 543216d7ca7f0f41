/**
 * A program of twenty order writes, in its own process, which kills itself at chosen points. Started again, it
 * continues with the same store until every order is placed, amended or cancelled once. See `crash_points.ts`.
 *
 * @module
 */
import { connect } from "../../lib/client/connect.ts";
import type { Client } from "../../lib/client/client.ts";
import type { Desk } from "../../lib/desk/desk.ts";
import type { Intent } from "../../lib/desk/intent.ts";
import { BrokerError } from "../../lib/errors.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { unresolvedStates } from "../../lib/desk/states.ts";
import { openTrading } from "../../lib/desk/trading.ts";
import { openPostgres, PostgresStore } from "../../lib/store/postgres.ts";
import { openSqlite, SqliteStore } from "../../lib/store/sqlite.ts";
import { type Machine, systemMachine } from "../../lib/time.ts";
import { directAccount, gatewayAccount } from "../../lib/client/account_name.ts";
import type { SimulatorInfo } from "../../lib/simulator/mod.ts";
import { directOptions } from "../support/direct_client.ts";

/** One point of the program: the n-th wait of a step, counted from 0. */
export interface CrashPoint {
  /**
   * Id of a step. Before its first step, the first process is in `start`, and a later process in `again`. After each
   * step, until the next one begins, the process is in `end`.
   */
  step: string;
  at: number;
}

/** What the process is given, as JSON in its only argument. */
export interface ProgramJob {
  transport: "gateway" | "direct";
  /** Path or URL of the store. */
  store: string;
  info: SimulatorInfo;
  /** Address of the parent process, see `ParentProcess`. */
  parentUrl: string;
  /** Points at which this process kills itself. */
  kills: readonly CrashPoint[];
  /** Whether an earlier process was killed. */
  isAgain: boolean;
}

/** The line that the process prints before it kills itself, or when every step is done. */
export type ProgramLine =
  | { killed: CrashPoint; points: Readonly<Record<string, number>> }
  | {
    done: true;
    points: Readonly<Record<string, number>>;
    foreign: readonly string[];
    askedAbout: readonly string[];
  };

/** One order write of the program. The price identifies the order, because the broker returns no id of ours. */
export interface Step {
  id: string;
  kind: "place" | "amend" | "cancel";
  /** Price after the write. */
  price: string;
  isConditional: boolean;
  /** The step that placed the order. */
  of?: string;
}

const place = (id: string, price: string): Step => ({ id, kind: "place", price, isConditional: false });
const conditional = (id: string, price: string): Step => ({ id, kind: "place", price, isConditional: true });
const amend = (id: string, { id: of, isConditional }: Step, price: string): Step => ({
  id,
  kind: "amend",
  price,
  isConditional,
  of,
});
const cancel = (id: string, { id: of, isConditional }: Step, price: string): Step => ({
  id,
  kind: "cancel",
  price,
  isConditional,
  of,
});

const p1 = place("p1", "201");
const p2 = place("p2", "202");
const p3 = place("p3", "203");
const p4 = place("p4", "204");
const p5 = place("p5", "205");
const p6 = place("p6", "206");
const q1 = conditional("q1", "301");
const q2 = conditional("q2", "302");

/**
 * The program. It ends with new orders. No order follows them, so the lists cannot prove that they were not placed.
 */
export const program: readonly Step[] = [
  p1,
  p2,
  amend("a1", p1, "211"),
  q1,
  p3,
  cancel("c2", p2, "202"),
  q2,
  amend("a3", p3, "213"),
  p4,
  amend("qa1", q1, "311"),
  p5,
  amend("a4", p4, "214"),
  conditional("q3", "303"),
  cancel("c5", p5, "205"),
  p6,
  amend("a6", p6, "216"),
  cancel("qc2", q2, "302"),
  conditional("q4", "304"),
  cancel("c6", p6, "216"),
  place("p7", "207"),
];

/** Counts the waits of this process, and kills it at the planned ones. */
export class CrashPlan {
  readonly #kills: readonly CrashPoint[];
  readonly #points: Record<string, number> = {};
  #step: string;

  constructor({ kills, isAgain }: Pick<ProgramJob, "kills" | "isAgain">) {
    this.#kills = kills;
    this.#step = isAgain ? "again" : "start";
  }

  get points(): Readonly<Record<string, number>> {
    return this.#points;
  }

  /** Begins to count the waits of another step. */
  begin(step: string): void {
    this.#step = step;
  }

  /** Called at each point where the process waits for the store, the broker or a timer. */
  reach(): void {
    const step = this.#step;
    const at = this.#points[step] ?? 0;
    this.#points[step] = at + 1;
    if (!this.#kills.some((kill) => kill.step === step && kill.at === at)) return;
    print({ killed: { step, at }, points: this.#points });
    // SIGKILL cannot be caught, so nothing is cleaned up.
    Deno.kill(Deno.pid, "SIGKILL");
  }

  /** Counts every statement of stores, everything that a socket sends or receives, and every call of `fetch`. */
  watch(): void {
    for (const store of [SqliteStore, PostgresStore]) {
      // The parts of a store that wait for its file or its server. They are protected, so only a cast gives access
      // to them.
      const parts = store.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
      for (const name of ["begin", "execute", "executeAlone", "commit", "mark"]) {
        const original = parts[name]!;
        const reach = () => this.reach();
        parts[name] = function (...args) {
          reach();
          return original.apply(this, args);
        };
      }
    }
    const { connect } = Deno;
    const watched = async (...args: Parameters<typeof connect>) => {
      this.reach();
      const socket = await connect(...args);
      for (const name of ["write", "read"] as const) {
        const original = socket[name].bind(socket);
        socket[name] = async (bytes: Uint8Array) => {
          this.reach();
          const count = await original(bytes as Uint8Array<ArrayBuffer>);
          this.reach();
          return count as number;
        };
      }
      return socket;
    };
    Object.assign(Deno, { connect: watched });
    const { fetch } = globalThis;
    globalThis.fetch = async (...args: Parameters<typeof fetch>) => {
      this.reach();
      const response = await fetch(...args);
      this.reach();
      return response;
    };
  }
}

export function print(line: object): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/** The parent process: it has the clock of the simulator, and acts as a person who looks at the broker's app. */
export class ParentProcess {
  readonly #address: string;
  readonly #fetch = globalThis.fetch;
  now = 0;

  constructor(address: string) {
    this.#address = address;
  }

  async #ask(path: string): Promise<string> {
    return await (await this.#fetch(`${this.#address}/${path}`)).text();
  }

  /** Advances the simulated time. */
  async pass(ms: number): Promise<void> {
    this.now = Number(await this.#ask(`pass?ms=${ms}`));
  }

  /** Resolves to whether the broker has executed a step. */
  async isExecuted(step: string): Promise<boolean> {
    return await this.#ask(`executed?step=${step}`) === "true";
  }

  /** A machine in simulated time: each wait advances the time. */
  machine(plan: CrashPlan): Machine {
    return {
      ...systemMachine,
      now: () => this.now,
      monotonic: () => this.now,
      setTimer: (ms, callback, { isBackground = false } = {}) => {
        // The desk's regular reading of the lists sets its timer again and again, so time would never stop.
        if (isBackground) return () => {};
        let isCancelled = false;
        plan.reach();
        this.pass(ms).then(() => isCancelled || callback());
        return () => void (isCancelled = true);
      },
    };
  }
}

/** Returns the steps that the broker executed according to their intents, and the steps with an unknown outcome. */
function outcomesOfSteps(
  intents: readonly Intent[],
): { done: Map<string, Intent>; unresolved: Map<string, Intent> } {
  const done = new Map<string, Intent>();
  const unresolved = new Map<string, Intent>();
  for (const intent of intents) {
    const { step = "" } = intent.why;
    if (unresolvedStates.includes(intent.state)) unresolved.set(step, intent);
    else if (!["planned", "approved", "abandoned", "rejected"].includes(intent.state)) done.set(step, intent);
  }
  return { done, unresolved };
}

const HK = { market: "hk", symbol: "00700.HK" } as const;

async function write(client: Client, step: Step, orderId: string): Promise<unknown> {
  const conditionalTerms = { triggerValue: "310", validDays: 1, orderType: "take-profit-limit" } as const;
  const terms = step.isConditional ? conditionalTerms : { orderType: "limit" } as const;
  const { price } = step;
  switch (step.kind) {
    case "place":
      return await client.orders.place({ ...HK, ...terms, price, quantity: "100", side: "buy" });
    case "amend":
      return await client.orders.amend({
        ...HK,
        ...step.isConditional && terms,
        orderId,
        quantity: "100",
        price,
      });
    case "cancel":
      return await client.orders.cancel({
        ...HK,
        orderId,
        ...step.isConditional && terms.orderType && { orderType: terms.orderType },
      });
  }
}

/** Time after which an unsent intent is no longer planned, and a sent intent no longer waits for its answer. */
const LONG_MS = 11 * 60_000;
const TURN_MS = 40_000;
/** Number of readings of the broker's lists before a person looks at the broker's app. */
const MOST_TURNS = 6;

async function runProgram(job: ProgramJob): Promise<void> {
  const plan = new CrashPlan(job);
  const parent = new ParentProcess(job.parentUrl);
  await parent.pass(0);
  plan.watch();
  const machine = parent.machine(plan);
  const { info } = job;
  // A busy machine must not turn an answer into a lost one.
  const timeoutMs = 120_000;
  const { tradePassword } = info;
  const options = job.transport === "direct"
    ? { direct: { ...directOptions(info), timeoutMs }, tradePassword }
    : {
      gateway: {
        url: info.gatewayUrl,
        push: info.pushAddress,
        tradePasswordKey: info.tradePasswordKey,
        timeoutMs,
      },
      tradePassword,
    };
  // The connection itself uses real time: its heartbeats would otherwise advance the simulated time.
  const connected = () => "direct" in options ? connect(options) : connect(options);
  await using client = await openTrading(connected, { ...options, machine }, {
    store: job.store,
    limits: {
      liveTrading: "allow",
      priceCollar: "off",
      quoteMaxAge: "off",
      maxVolumeShare: "off",
      maxOrdersPerMinute: "off",
    },
  });
  await using store = await (job.store.startsWith("postgres:") ? openPostgres : openSqlite)(job.store);
  const { desk } = client;
  const account = job.transport === "direct"
    ? await directAccount(info.developerPrivateKey)
    : gatewayAccount(info.gatewayUrl);
  const intents = () => recentIntents(store, account, { limit: 1_000 });
  const askedAbout: string[] = [];
  // The desk reads the broker's lists before its first write. This first write is refused, because its price is not a
  // multiple of the tick size.
  const refused = await write(desk.client({ step: "refused" }), { ...program[0]!, price: "201.01" }, "")
    .catch((error) => error);
  if (!(refused instanceof BrokerError)) throw new Error(`not refused: ${refused}`);
  for (let turn = 0;; turn++) {
    await runSteps();
    plan.begin("end");
    if (outcomesOfSteps(await intents()).done.size === program.length) break;
    if (turn === 1) await parent.pass(LONG_MS); // an interrupted call waits for its answer until then
    await parent.pass(TURN_MS);
    const { unresolved } = await desk.reconcile();
    if (turn < MOST_TURNS) continue;
    for (const { intent, missing } of unresolved) {
      askedAbout.push(`${await decided(desk, intent)}: ${missing}`);
    }
    turn = 0;
  }
  // Intents that were planned and never sent become abandoned, and every order is followed to its state.
  await parent.pass(LONG_MS);
  await desk.reconcile();
  const { foreign, unresolved } = await desk.reconcile({ markets: ["hk"] });
  if (unresolved.length > 0) throw new Error(`unresolved: ${JSON.stringify(unresolved)}`);
  print({ done: true, points: plan.points, foreign: foreign.map(({ orderId }) => orderId), askedAbout });

  /** Writes each remaining step, except a step with an unknown outcome and a step that waits for another step. */
  async function runSteps(): Promise<void> {
    for (const step of program) {
      const { done, unresolved } = outcomesOfSteps(await intents());
      const placed = step.of === undefined ? undefined : done.get(step.of);
      const isReady = step.of === undefined || placed !== undefined && !unresolved.has(step.of);
      // An amendment or a cancellation waits until all earlier changes of the same order are done.
      const before = program.slice(0, program.indexOf(step)).filter(({ of }) =>
        of !== undefined && of === step.of
      );
      if (
        done.has(step.id) || unresolved.has(step.id) || !isReady || !before.every(({ id }) => done.has(id))
      ) {
        continue;
      }
      await parent.pass(1_000);
      plan.begin(step.id);
      await write(desk.client({ step: step.id, by: "the program" }), step, placed?.orderIds.at(-1) ?? "");
      plan.begin("end");
    }
  }

  /** Acts as a person who looks at the broker's app and resolves an intent. Resolves to the intent's step. */
  async function decided(desk: Desk, intent: Intent): Promise<string> {
    const { step = "" } = intent.why;
    if (await parent.isExecuted(step)) {
      throw new Error(`the lists do not show ${step}, although it was executed`);
    }
    await desk.decide(intent.id, { wasSent: false }, "a person");
    return step;
  }
}

if (import.meta.main) {
  await runProgram(JSON.parse(Deno.args[0]!));
  Deno.exit(0); // a link of the direct transport may still be open
}
