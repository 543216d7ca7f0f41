/**
 * Runs the world of one seed: days of trading with a plan of faults. The invariants are checked after every event.
 *
 * @module
 */
import { builtInCalendars } from "../calendars/mod.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Intent } from "../desk/intent.ts";
import { unresolvedStates } from "../desk/states.ts";
import type { Store } from "../store/store.ts";
import { loadAll } from "../lazy.ts";
import { plansOf } from "../rebalance/queries.ts";
import type { CompiledRecipe } from "../recipes/mod.ts";
import { randomFrom } from "../time.ts";
import { ambient } from "./ambient.ts";
import { Disk, writeStore } from "./disk.ts";
import { drawPlan, type FaultName, faultText, type PlannedFault } from "./faults.ts";
import { Checker, leakOf, missingSlot, quietInvariants } from "./invariants.ts";
import { MoneyCheck } from "./money.ts";
import { drawPace, isShortWorld, QUIET_MS } from "./pace.ts";
import { Network } from "./pipes.ts";
import { Swarm } from "./processes.ts";
import { badEnding, drawRebalancing } from "./rebalancing.ts";
import { isMistakenFor } from "./undecided.ts";
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

/** How many times each fault struck while an intent was in each state, with keys such as `unknown lost-answer`. */
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
  /** Number of order writes (place, amend, cancel) that reached the broker, including the owner's. */
  orders: number;
}

const MINUTE = 60_000;
/** The world continues for this long after the close; a short world for a third of it. */
const AFTER_MS = 60 * MINUTE;
/**
 * At this time after the close, the broker has booked the day and its fees, but no dividends or splits of the next day.
 */
const NIGHT_MS = 11 * 60 * MINUTE;

/**
 * In some short worlds nobody cancels the open orders in the evening. In this fraction of them, the lists never show
 * that an order has ended with its day. The desk counts such an order as expired some days later.
 */
const HIDES_LAPSES = 0.6;

/** In this fraction of the evenings, a person decides about the intents that the lists could not resolve. */
const DECIDES = 0.7;

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
  const nights = randomFrom(seed * 7 + 2);
  const start = sessions[0]!.openAt - 15 * MINUTE;
  const random = randomFrom(seed * 7 + 1);
  // The account allows only one connection of the direct transport, so either the trader uses it or one scheduler.
  const isDirect = random() < 0.25;
  const isSole = isDirect && randomFrom(seed * 7 + 6)() < 0.4;
  const schedulers = isSole ? 1 : isDirect ? 0 : random() < 0.5 ? 1 : 2;
  const mostLots = random() < 0.3 ? 1 : undefined;
  const isShort = isShortWorld(seed);
  const rebalancing = schedulers === 0 ? [] : await drawRebalancing(seed, sessions, { isShort, isSole });
  const windows = rebalancing.flatMap((each) => each.windows);
  const pace = drawPace(seed, sessions, { isShort, schedulers, windows });
  const hidesLapses = isShort && !pace.cancelsAtEnd && randomFrom(seed * 7 + 9)() < HIDES_LAPSES;
  const plan = options.plan ?? drawPlan(random, pace.faults, { start, isDirect, schedulers });
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
    recipes: hidesLapses ? recipes.filter(({ name }) => name !== "cancel-late") : recipes,
    schedulers,
    isDirect,
    isSole,
    mostLots,
    hidesLapses,
    pace,
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
    for (const fault of plan) {
      world.schedule(
        start + fault.atMs,
        undefined,
        faultText(fault),
        () => void (swarm.strikes.isQuiet || swarm.strikes.strike(fault)),
      );
    }
    swarm.strikes.onStruck = cover;
    swarm.strikes.has = (state) => checker.intents.some((each) => each.state === state);
    let [writes, changes, unhandledCount] = [0, 0, 0];
    const step = async () => {
      if (swarm.strikes.torn !== undefined) {
        // Every program is dead. SQLite itself must find out which commits the write-ahead log still contains.
        await store![Symbol.asyncDispose](); // opened when the world started
        writeStore(swarm.store, swarm.strikes.torn);
        swarm.strikes.torn = undefined;
        store = await openSqlite(swarm.store, { mark: "leave" });
        disk.forget();
      }
      if (
        disk.deskWrites === writes && swarm.truth.changes === changes &&
        swarm.unhandled.length === unhandledCount &&
        world.leaks.length === 0
      ) return;
      [writes, changes, unhandledCount] = [disk.deskWrites, swarm.truth.changes, swarm.unhandled.length];
      fail(await checker.check(store!, { changed: disk.takeChanged() })); // opened when the world started
      swarm.strikes.strikeWaiting();
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
    for (const [day, { date, openAt, closeAt }] of sessions.entries()) {
      await until(openAt - 10 * MINUTE);
      money ??= new MoneyCheck(swarm.truth);
      const awake = pace.awake[day]!; // `pace.awake` has a list for each session
      for (const [index, { to }] of awake.entries()) {
        await until(to);
        swarm.suspend(awake[index + 1]?.from ?? closeAt - QUIET_MS);
      }
      await until(closeAt - QUIET_MS);
      swarm.quieten();
      await until(closeAt + (isShort ? AFTER_MS / 3 : AFTER_MS));
      if (failure !== undefined || signal?.aborted) break;
      fail(await checker.check(store, { table: quietInvariants }));
      const keys = sessions.filter((each) => each.closeAt <= closeAt).flatMap(({ date }) =>
        [...swarm.windows.keys()].map((name) => `${name}/s1/${date}`)
      );
      const missing = schedulers === 0 ? undefined : await missingSlot(store, keys, swarm);
      if (missing !== undefined) fail({ invariant: "slots", what: missing });
      const leak = leakOf(world, network.pipes);
      if (leak !== undefined) fail({ invariant: "leaks", what: leak });
      const plansWith = (isSuch: (intent: Intent) => boolean) =>
        new Set(checker.intents.flatMap((intent) => isSuch(intent) ? intent.why.plan ?? [] : []));
      const unresolved = plansWith(({ state }) => unresolvedStates.includes(state));
      const mistaken = plansWith((intent) =>
        isMistakenFor(intent, { swarm, claims: checker.claims, late: checker.late })
      );
      for (const each of await plansOf(store, { account: swarm.truth.account, limit: 100 })) {
        if (known.has(each.hash)) continue;
        // Do not check a plan with a mistaken order: its report counts the fills of an order of the owner.
        const what = mistaken.has(each.hash) ? undefined : badEnding(each, checker.planOrders, unresolved);
        if (what !== undefined) fail({ invariant: "plan-ending", what });
        if (each.state !== "running") known.add(each.hash);
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
        if (nights() < DECIDES) {
          swarm.people.decide(checker.claims);
          await until(world.now + MINUTE);
        }
        swarm.passNight(nights(), pace.awake[day + 1]![0]!.from); // each session has at least one period
        await until(night);
      }
      const difference = failure === undefined && !signal?.aborted ? money.check(date) : undefined;
      if (difference !== undefined) fail({ invariant: "money", what: difference });
      if (failure !== undefined) break;
      swarm.strikes.isQuiet = false;
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
    orders: swarm.truth.executed.length,
  };
}
