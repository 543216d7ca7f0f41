/**
 * Runs the world of one seed: days of trading with a plan of faults. The invariants are checked after every event.
 *
 * @module
 */
import { builtInCalendars } from "../calendars/mod.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { loadAll } from "../lazy.ts";
import { plansOf } from "../rebalance/queries.ts";
import type { CompiledRecipe } from "../recipes/mod.ts";
import { randomFrom } from "../time.ts";
import { ambient } from "./ambient.ts";
import { Disk } from "./disk.ts";
import { drawPlan, type FaultName, type PlannedFault } from "./faults.ts";
import { Checker, leakOf, missingSlot, quietInvariants } from "./invariants.ts";
import { MoneyCheck } from "./money.ts";
import { Network } from "./pipes.ts";
import { Swarm } from "./processes.ts";
import { badEnding, drawRebalancing } from "./rebalancing.ts";
import { outside, World } from "./world.ts";

/** Options of {@linkcode runSeed}. */
export interface SeedOptions {
  seed: number;
  /** Trading days. @default 1 */
  days?: number;
  /** Folder for the stores; in memory if possible. */
  folder: string;
  /** The plan of faults. @default drawn from the seed */
  plan?: readonly PlannedFault[];
  recipes: readonly CompiledRecipe[];
  /** Called with each line of the log. */
  onLog?: (line: string) => void;
  /** Called after each event. The seed fails if something happens in the world before the returned promise resolves. */
  onEvent?: () => Promise<void>;
  signal?: AbortSignal;
}

/** How many times each fault struck in each state of an intent, with keys such as `unknown lost-answer`. */
export type Coverage = Map<string, number>;

/** Result of a seed. */
export interface SeedResult {
  seed: number;
  days: number;
  events: number;
  /** A hash of every event. */
  hash: string;
  plan: readonly PlannedFault[];
  /** The first invariant that did not hold. */
  failure?: { invariant: string; what: string; at: string };
  coverage: Coverage;
  /** Number of plans of rebalancing, by their states in the evening. */
  plans: Record<string, number>;
  /** Number of orders that the broker executed. */
  orders: number;
}

const MINUTE = 60_000;
/** No fault strikes in this time before the close, so that the world is quiet for a while with the market open. */
const QUIET_MS = 35 * MINUTE;
/** The world continues for this long after the close. */
const AFTER_MS = 60 * MINUTE;
/**
 * At this time after the close, the broker has booked the day and its fees, but no dividends or splits of the next day.
 */
const NIGHT_MS = 11 * 60 * MINUTE;

/**
 * Intervals between two readings of the trader; a seed draws one. With the shortest interval, a day takes several times
 * as long to simulate.
 */
const reconcileTimes = [3 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE];
/** Intervals between two rounds of pushes of the broker. */
const roundTimes = [MINUTE / 2, MINUTE, 3 * MINUTE, 5 * MINUTE];

/** In this fraction of the evenings, a person decides about the intents that the lists could not resolve. */
const DECIDES = 0.7;

/** Programs that were ended or suspended for the night start this long before the market opens. */
const WAKE_MS = 40 * MINUTE;

/** Returns consecutive sessions of Hong Kong, beginning on a day that the seed draws. */
function sessionsOf(seed: number, days: number): { date: string; openAt: number; closeAt: number }[] {
  const found: { date: string; openAt: number; closeAt: number }[] = [];
  const first = Temporal.PlainDate.from("2025-01-06").add({ days: Math.floor(randomFrom(seed)() * 500) });
  for (let date = first; found.length < days; date = date.add({ days: 1 })) {
    const session = builtInCalendars.sessionOn("XHKG", date.toString());
    if (typeof session === "string") continue;
    found.push({ date: date.toString(), openAt: session.openAt, closeAt: session.closeAt });
  }
  return found;
}

/** Runs a seed. */
export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  return await outside(() => run(options));
}

async function run(options: SeedOptions): Promise<SeedResult> {
  await loadAll(); // loading a module during the simulation would take real time
  const { seed, days = 1, folder, recipes, signal } = options;
  const sessions = sessionsOf(seed, days);
  const drawn = await drawRebalancing(seed, sessions);
  const nights = randomFrom(seed * 7 + 2);
  const start = sessions[0]!.openAt - 15 * MINUTE;
  const random = randomFrom(seed * 7 + 1);
  // The account allows only one trade connection, so a trader on the direct transport runs without schedulers.
  const isDirect = random() < 0.25;
  const schedulers = isDirect ? 0 : random() < 0.5 ? 1 : 2;
  const rebalancing = schedulers === 0 ? [] : drawn;
  const mostLots = random() < 0.3 ? 1 : undefined;
  const paces = randomFrom(seed * 7 + 3);
  const one = (times: readonly number[]) => times[Math.floor(paces() * times.length)]!; // below their number
  const [reconcileEveryMs, roundMs] = [one(reconcileTimes), one(roundTimes)];
  const periods = sessions.map(({ openAt, closeAt }) => ({
    fromMs: openAt - start - 5 * MINUTE,
    toMs: closeAt - QUIET_MS - start,
  }));
  const plan = options.plan ?? drawPlan(random, periods, { isDirect, schedulers });
  const own = Deno.makeTempDirSync({ dir: folder, prefix: "seed-" });
  const world = new World(seed, start);
  world.onLog = options.onLog;
  world.onEvent = options.onEvent;
  world.hidden = own;
  const network = new Network(world);
  const unhandled = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    swarm.unhandled.push(event.reason);
  };
  const swarm = new Swarm({
    world,
    network,
    folder: own,
    seed,
    sessions,
    recipes,
    schedulers,
    isDirect,
    mostLots,
    reconcileEveryMs,
    roundMs,
    rebalancing,
  });
  const coverage: Coverage = new Map();
  const plans: Record<string, number> = {};
  let failure: SeedResult["failure"];
  let store: Store | undefined;
  globalThis.addEventListener("unhandledrejection", unhandled);
  const disk = new Disk();
  const checker = new Checker(swarm, disk.writers);
  const replaced = ambient(world, network);
  try {
    store = await openSqlite(`${own}/hsgate.db`, { mark: "leave" });
    const fail = (found: { invariant: string; what: string } | undefined) => {
      // After an abort, the program outside the world may use the real machine: that is not a failure.
      if (found === undefined || failure !== undefined || signal?.aborted) return;
      failure = { ...found, at: new Date(world.now).toISOString() };
      world.note(undefined, `invariant ${found.invariant}: ${found.what}`);
    };
    const cover = (kind: FaultName) => {
      for (const state of new Set(checker.intents.map(({ state }) => state))) {
        const cell = `${state} ${kind}`;
        coverage.set(cell, (coverage.get(cell) ?? 0) + 1);
      }
    };
    await swarm.begin();
    for (const { atMs, kind, size } of plan) {
      world.schedule(start + atMs, undefined, `fault ${kind} ${size.toFixed(3)}`, () => {
        if (swarm.isQuiet) return;
        swarm.strike(kind, size);
      });
    }
    swarm.onStruck = cover;
    let [writes, changes, unhandledCount] = [0, 0, 0];
    const step = async () => {
      swarm.countStruck();
      if (
        disk.deskWrites === writes && swarm.changes === changes &&
        swarm.unhandled.length === unhandledCount &&
        world.leaks.length === 0
      ) return;
      [writes, changes, unhandledCount] = [disk.deskWrites, swarm.changes, swarm.unhandled.length];
      fail(await checker.check(store!, { changed: disk.takeChanged() })); // opened when the world started
    };
    /** Runs until an instant, and checks the invariants after each event. */
    const until = async (at: number) => {
      while (failure === undefined && !signal?.aborted) {
        if (!await world.step(at)) break;
        await step();
      }
    };
    const known = new Set<string>();
    let money: MoneyCheck | undefined;
    for (const { date, openAt, closeAt } of sessions) {
      await until(openAt - 10 * MINUTE);
      money ??= new MoneyCheck(swarm);
      await until(closeAt - QUIET_MS);
      swarm.quieten();
      await until(closeAt + AFTER_MS);
      if (failure !== undefined || signal?.aborted) break;
      fail(await checker.check(store, { table: quietInvariants }));
      const keys = sessions.filter((each) => each.closeAt <= closeAt).flatMap(({ date }) =>
        [...swarm.windows.keys()].map((name) => `${name}/s1/${date}`)
      );
      const missing = schedulers === 0 ? undefined : await missingSlot(store, keys, swarm);
      if (missing !== undefined) fail({ invariant: "slots", what: missing });
      const leak = leakOf(world, network.pipes);
      if (leak !== undefined) fail({ invariant: "leaks", what: leak });
      for (const each of await plansOf(store, { account: swarm.account, limit: 100 })) {
        if (known.has(each.hash)) continue;
        const what = badEnding(each, checker.planOrders);
        if (what !== undefined) fail({ invariant: "plan-ending", what });
        known.add(each.hash);
        world.note(
          undefined,
          `the plan ${each.hash.slice(0, 12)} is "${each.state}", reason ${each.reason ?? "none"}`,
        );
        plans[each.state] = (plans[each.state] ?? 0) + 1;
      }
      const night = closeAt + NIGHT_MS;
      // After the last day, the programs have nothing left to do.
      if (closeAt === sessions.at(-1)!.closeAt) {
        world.end();
        world.now = night;
      } else {
        const next = sessions.find((each) => each.openAt > closeAt)!; // the last day never gets here
        if (nights() < DECIDES) {
          swarm.decide(checker.claims);
          await until(world.now + MINUTE);
        }
        swarm.passNight(nights(), next.openAt - WAKE_MS);
        await until(night);
      }
      const untied = failure === undefined && !signal?.aborted ? money.check(date) : undefined;
      if (untied !== undefined) fail({ invariant: "money", what: untied });
      if (failure !== undefined) break;
      swarm.isQuiet = false;
    }
  } finally {
    world.end();
    replaced[Symbol.dispose]();
    disk[Symbol.dispose]();
    globalThis.removeEventListener("unhandledrejection", unhandled);
    await store?.[Symbol.asyncDispose]();
    Deno.removeSync(own, { recursive: true });
  }
  const { events, hash } = world;
  return {
    seed,
    days,
    events,
    hash,
    plan,
    ...failure !== undefined && { failure },
    coverage,
    plans,
    orders: swarm.executed.length,
  };
}
