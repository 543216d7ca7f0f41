/**
 * Kills a program of twenty order writes at every point where the program waits, and starts it again until it ends.
 * Each process is a real one, killed with SIGKILL; the broker is the simulator in this process, behind its real ports.
 * At the end, the broker has each order once, and the store says the same as the broker.
 *
 * In one run, the program is killed at most once in each of its steps, and is started again after each kill. So twenty
 * kills need twenty-one processes. These processes together are one run of the program.
 *
 * Run: `deno run -A test/desk/crash_points.ts [--transport gateway|direct] [--store sqlite|postgres] [--points all|N]
 * [--seed S]`. Prints the counts as JSON.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parseArgs } from "@std/cli";
import { connect } from "../../lib/client/connect.ts";
import { compare } from "../../lib/decimal.ts";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { IntentState } from "../../lib/desk/states.ts";
import { ManualClock, randomFrom } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { temporarySchema } from "../support/postgres.ts";
import { postgres } from "../support/stores.ts";
import {
  type CrashPoint,
  program,
  type ProgramJob,
  type ProgramLine,
  type Step,
} from "./crash_points_program.ts";

/** What to run. */
export interface CrashOptions {
  transport: "gateway" | "direct";
  store: "sqlite" | "postgres";
  /** All points, or how many. @default all */
  points?: "all" | number;
  /** Seed of the sample. @default 1 */
  seed?: number;
  /** Called after each run of the program. */
  onProgress?: (counts: CrashCounts) => void;
}

/** What happened. */
export interface CrashCounts {
  transport: string;
  store: string;
  seed: number;
  /** Waits of a run that is not killed. */
  points: number;
  /** Processes that were killed at these waits. */
  killed: number;
  /** Processes that were killed while they looked for what an earlier process had left. */
  killedAgain: number;
  /** Points that a process did not reach, because its run had fewer waits. */
  notReached: number;
  /** Runs of the program to its end. */
  runs: number;
  /** Writes that no list could prove, so that a person looked at the broker's app; see {@linkcode unprovable}. */
  decidedByPerson: number;
}

const MORNING = Date.parse("2025-08-15T09:45:00+08:00");
/**
 * What hsgate reports as missing to prove the outcome of a write: a later order, or an order with the new terms of an
 * amendment.
 */
const unprovable = [
  "an order of yours in the same lists that was sent later",
  "a person's decision, or an order with the new terms in the lists",
];
/** Time between the kill of a process and the start of the next one. */
const PAUSE_MS = 20_000;

/** The kills of one run of the program. */
interface CrashRun {
  /** At most one kill in each step. */
  kills: readonly CrashPoint[];
  /**
   * One more kill. `after` is the number of kills before its process starts, and `at` is the number of the wait in this
   * process.
   */
  again?: { at: number; after: number };
}

/** Runs the program to its end with the given kills, and checks the result. Resolves to what happened. */
async function runOnce({ transport, store: kind }: CrashOptions, { kills, again }: CrashRun) {
  const clock = new ManualClock(MORNING);
  const quiet = { pushIntervalMs: 0, loginLifeMs: 1e12 };
  await using simulator = await startSimulator({
    seed: 7,
    clock,
    days: 2,
    fillsPerDay: 2,
    gateway: quiet,
    platform: quiet,
  });
  const { info } = simulator;
  await using watcher = await connect({
    gateway: { url: info.gatewayUrl, push: info.pushAddress, tradePasswordKey: info.tradePasswordKey },
    tradePassword: info.tradePassword,
  });
  const rows = async (): Promise<Row[]> => [
    ...await watcher.orders.today({ market: "hk", limit: 99 }).toArray(),
    ...(await watcher.conditionalOrders.today({ market: "hk" }).toArray()).map((row) => ({
      ...row,
      isConditional: true,
    })),
  ];
  const earlier = new Set((await rows()).map(({ orderId }) => orderId));
  const ours = async () => (await rows()).filter(({ orderId }) => !earlier.has(orderId));
  await using parent = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/executed") {
      const step = program.find(({ id }) => id === searchParams.get("step"))!;
      return new Response(String((await ours()).some((row) => shows(row, step))));
    }
    clock.advance(Number(searchParams.get("ms")));
    simulator.round();
    return new Response(String(clock.now()));
  });
  await using place = await newStore(kind);
  const job = { transport, store: place.where, info, parentUrl: `http://127.0.0.1:${parent.addr.port}` };
  const what = `${transport}, ${kind}, kills ${JSON.stringify({ kills, again })}`;
  const left = new Set(kills);
  let killedAgain = 0;
  for (;;) {
    const killed = kills.length - left.size;
    const isDue = again !== undefined && killedAgain === 0 && killed >= again.after;
    const line = await runProcess({
      ...job,
      kills: [...left, ...isDue ? [{ step: "again", at: again.at }] : []],
      isAgain: killed > 0,
    }, what);
    if ("done" in line) {
      assertBooksMatch(await ours(), { intents: await intentsIn(place), what });
      assertEquals(line.foreign.filter((id) => !earlier.has(id)), [], `${what}: orders without an intent`);
      for (const asked of line.askedAbout) {
        assert(unprovable.some((each) => asked.endsWith(each)), `${what}: ${asked}`);
      }
      return { points: line.points, killed, killedAgain, askedAbout: line.askedAbout.length };
    }
    if (line.killed.step === "again") killedAgain++;
    for (const kill of left) {
      if (kill.step === line.killed.step && kill.at === line.killed.at) left.delete(kill);
    }
    clock.advance(PAUSE_MS);
    simulator.round();
  }
}

/** Runs a process until it is killed or has done every step. */
async function runProcess(job: ProgramJob, what: string): Promise<ProgramLine> {
  const script = new URL("crash_points_program.ts", import.meta.url).pathname;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", script, JSON.stringify(job)],
    stdin: "null",
  }).output();
  const [line] = new TextDecoder().decode(stdout).split("\n");
  if (line === undefined || line === "") throw new Error(`${what}: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(line); // what the program prints
}

/** An order in the broker's lists. */
interface Row {
  orderId?: string;
  price?: string;
  status?: string;
  isConditional?: boolean;
}

/** Returns whether a row of the broker shows that a step was executed. */
function shows(row: Row, { kind, price, isConditional }: Step): boolean {
  if (row.price === undefined || compare(row.price, price) !== 0) return false;
  return (row.isConditional === true) === isConditional && (kind !== "cancel" || isCancelled(row));
}

const isCancelled = ({ status }: Row) => status === "cancelled" || status === "deleted";

/** Checks that the broker has each order once in its final form, and that the store says the same. */
function assertBooksMatch(
  rows: readonly Row[],
  { intents, what }: { intents: readonly IntentRow[]; what: string },
): void {
  const orders = program.filter(({ kind }) => kind === "place").map((placed) => {
    const later = program.filter(({ of }) => of === placed.id);
    const cancelled = later.some(({ kind }) => kind === "cancel");
    return `${placed.id} ${later.at(-1)?.price ?? placed.price} ${cancelled ? "cancelled" : "open"}`;
  });
  const owners = new Map(
    intents.filter(({ kind, state }) => kind === "place" && state !== "abandoned")
      .flatMap(({ step, order_ids: ids }) => (JSON.parse(ids) as string[]).map((id) => [id, step])),
  );
  assertEquals(
    rows.map((row) =>
      `${owners.get(row.orderId!) ?? "nobody's"} ${Number(row.price)} ${
        isCancelled(row) ? "cancelled" : "open"
      }`
    ).sort(),
    orders.sort(),
    `${what}: orders at the broker`,
  );
  const kept = intents.filter(({ state }) => state !== "abandoned");
  const expected = program.map(({ id, kind, of }) => {
    const isOver = kind === "cancel" ||
      program.some((each) => each.kind === "cancel" && each.of === (of ?? id));
    return `${id} ${isOver ? "cancelled" : "working"}`;
  });
  assertEquals(kept.map(({ step, state }) => `${step} ${state}`).sort(), expected.sort(), `${what}: intents`);
}

/** An intent, as it is in the store. */
interface IntentRow {
  step: string;
  kind: string;
  state: IntentState;
  order_ids: string;
}

async function intentsIn({ where, open }: StorePlace): Promise<IntentRow[]> {
  await using store = await open(where);
  const rows = await store.all<IntentRow & { why: string }>("select why, kind, state, order_ids from intent");
  return rows.map((row) => ({ ...row, step: JSON.parse(row.why).step }));
}

type StorePlace = Awaited<ReturnType<typeof newStore>>;

async function newStore(kind: CrashOptions["store"]) {
  if (kind === "postgres") {
    if (postgres === undefined) throw new TypeError("Cannot use PostgreSQL: no server answers");
    const schema = temporarySchema(postgres);
    return {
      where: schema.url,
      open: (where: string) => openPostgres(where),
      [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
    };
  }
  const folder = await Deno.makeTempDir({ prefix: "hsgate-crash-" });
  return {
    where: `${folder}/hsgate.db`,
    open: (where: string) => openSqlite(where),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Kills the program at its points, and checks the end of each run. */
export async function crashPoints(options: CrashOptions): Promise<CrashCounts> {
  const { transport, store, points: wanted = "all", seed = 1, onProgress } = options;
  const clean = await runOnce(options, { kills: [] });
  const every = Object.entries(clean.points).filter(([step]) => step !== "end")
    .flatMap(([step, count]) => Array.from({ length: count }, (_, at): CrashPoint => ({ step, at })));
  const counts: CrashCounts = {
    ...{ transport, store, seed, points: every.length },
    ...{ killed: 0, killedAgain: 0, notReached: 0, runs: 0, decidedByPerson: 0 },
  };
  const random = randomFrom(seed);
  const plans = plansOf(wanted === "all" ? every : sample(every, wanted, random));
  // The order is random. So if a person stops the test early, it has already tried early and late points of the steps.
  const order = [...plans.entries()].map((entry) => ({ entry, at: random() })).sort((a, b) => a.at - b.at);
  for (const { entry: [index, kills] } of order) {
    // `index` is below the largest number of waits of a step. Before its first step, a restarted process waits at least
    // as often as any step does. So it reaches each `index`.
    const at = wanted === "all" ? index : Math.floor(random() * 40);
    const again = { at, after: 1 + Math.floor(random() * (kills.length - 1)) };
    const { killed, killedAgain, askedAbout } = await runOnce(options, { kills, again });
    counts.killed += killed;
    counts.killedAgain += killedAgain;
    counts.notReached += kills.length - killed;
    counts.runs++;
    counts.decidedByPerson += askedAbout;
    onProgress?.(counts);
  }
  return counts;
}

/** Returns one random point of each equal part of all points. */
function sample(points: readonly CrashPoint[], count: number, random: () => number): CrashPoint[] {
  const size = points.length / count;
  return Array.from({ length: count }, (_, part) => points[Math.floor((part + random()) * size)]!);
}

/** Groups points so that each run of the program is killed at most once in each step. */
function plansOf(points: readonly CrashPoint[]): CrashPoint[][] {
  const plans: CrashPoint[][] = [];
  for (const point of points) {
    const plan = plans.find((each) => each.every(({ step }) => step !== point.step));
    if (plan === undefined) plans.push([point]);
    else plan.push(point);
  }
  return plans;
}

if (import.meta.main) {
  const { transport, store, points = "all", seed = "1" } = parseArgs(Deno.args, {
    string: ["transport", "store", "points", "seed"],
  });
  for (const way of ["gateway", "direct"] as const) {
    for (const kind of ["sqlite", "postgres"] as const) {
      if ((transport ?? way) !== way || (store ?? kind) !== kind) continue;
      const counts = await crashPoints({
        transport: way,
        store: kind,
        points: points === "all" ? "all" : Number(points),
        seed: Number(seed),
        // deno-lint-ignore no-console -- a program that is started by hand
        onProgress: (now) => console.error(JSON.stringify(now)),
      });
      // deno-lint-ignore no-console -- a program that is started by hand
      console.log(JSON.stringify(counts));
    }
  }
}
