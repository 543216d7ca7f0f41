/**
 * Tests the whole system in one process, on virtual time, under random faults that a seed determines.
 *
 * A seed determines the trading days, the number of schedulers and a plan of faults. The swarm then runs a program that
 * trades with `connect({ store })`, and schedulers with recipes. They use the client, the transport down to the bytes,
 * the simulated broker and the real store. After every event the swarm compares the store with the true state of the
 * broker. If a seed fails, the same seed fails again at the same event. The swarm then searches for the shortest plan
 * that still fails.
 *
 * | File | What it is |
 * |---|---|
 * | `world.ts` | virtual time, the queue of events, starting and killing processes |
 * | `ambient.ts` | replaces clocks, timers, sockets and random numbers for code in a process |
 * | `rsa.ts` | RSA whose padding comes from the seed, and whose signatures take no real time |
 * | `pace.ts` | how much happens in a world, and when |
 * | `pipes.ts` | the connections: connections that are slow, cut or half-open, or deliver bytes twice |
 * | `disk.ts` | the database: statements that fail, databases that close when a process dies |
 * | `truth.ts` | the broker, and what it truly executed |
 * | `programs.ts` | the programs: a trader, and schedulers |
 * | `people.ts` | people who halt, resume, decide, and trade in the broker's app |
 * | `processes.ts` | starts the broker and the programs, and restarts programs |
 * | `faults.ts` | every kind of fault, in one table |
 * | `strikes.ts` | causes the faults |
 * | `rebalancing.ts` | what a seed draws for its plans of rebalancing, and what must hold for them |
 * | `invariants.ts` | what must hold after every event, and after the faults have ended |
 * | `undecided.ts` | what the lists cannot prove, so that a person may have to decide |
 * | `money.ts` | cash, holdings, fees and the fund journal of a day, to the cent |
 * | `run.ts` | one seed from its first to its last event |
 * | `shrink.ts` | the shortest plan that still fails |
 *
 * To add a fault, add an entry to the table in `faults.ts`. To add an invariant, add an entry to a list in
 * `invariants.ts`. No other folder of `lib` imports this one.
 *
 * @module
 */
import { scratchFolder } from "../rehearsal/scratch.ts";
import { intentStates } from "../desk/states.ts";
import {
  type FaultName,
  faultNames,
  faultTable,
  type PlannedFault,
  type Unreachable,
  unreachableStates,
} from "./faults.ts";
import { swarmRecipes } from "./programs.ts";
import { runSeed, type SeedResult } from "./run.ts";
import { shrink } from "./shrink.ts";
import { outside } from "./world.ts";

/** Options of {@linkcode swarm}. */
export interface SwarmRunOptions {
  /** Number of seeds. */
  seeds: number;
  /** The first seed. @default 1 */
  fromSeed?: number;
  /** Trading days of each seed. @default 1 */
  days?: number;
  /** Whether the plan of a seed that fails is shrunk. @default true */
  shrinks?: boolean;
  /** Called after each seed. */
  onSeed?: (result: SeedResult) => void;
  /** Called with each line of the log of each seed. */
  onLog?: (line: string) => void;
  /** Ends the swarm after the current event. */
  signal?: AbortSignal;
}

/** A seed that failed. */
export interface SwarmFailure {
  seed: number;
  /** Name of the invariant. */
  invariant: string;
  /** What was wrong. */
  what: string;
  /** Virtual time of the event, ISO 8601. */
  at: string;
  /** The plan, shrunk if requested. */
  faults: PlannedFault[];
}

/** What a swarm found. */
export interface SwarmResult {
  /** Number of seeds that were run. */
  seeds: number;
  days: number;
  events: number;
  failures: SwarmFailure[];
  /** How many times each kind of fault struck while an intent was in a state: `coverage[state][kind]`. */
  coverage: Record<string, Record<string, number>>;
  /** Kinds of faults that can strike in a state, but did not with these seeds: `neverSeen[state]`. */
  neverSeen: Record<string, FaultName[]>;
  /** States in which no fault can strike, with the reason. */
  unreachable: Unreachable[];
  /** Number of rebalancing plans, by their states in the evening. */
  plans: Record<string, number>;
}

/** Runs seeds one after the other. */
export async function swarm(options: SwarmRunOptions): Promise<SwarmResult> {
  return await outside(() => runAll(options));
}

async function runAll(options: SwarmRunOptions): Promise<SwarmResult> {
  const { seeds, fromSeed = 1, days = 1, shrinks = true, onSeed, onLog, signal } = options;
  const result: SwarmResult = {
    seeds: 0,
    days: 0,
    events: 0,
    failures: [],
    coverage: {},
    neverSeen: {},
    unreachable: unreachableStates(days),
    plans: {},
  };
  await using folder = await scratchFolder();
  const recipes = await swarmRecipes();
  for (let seed = fromSeed; seed < fromSeed + seeds && !signal?.aborted; seed++) {
    const run = (plan?: readonly PlannedFault[], isShown = false) =>
      runSeed({
        seed,
        days,
        folder: folder.path,
        recipes,
        ...plan !== undefined && { plan },
        ...isShown && onLog !== undefined && { onLog },
        ...signal !== undefined && { signal },
      });
    const found = await run(undefined, true);
    result.seeds++;
    result.days += days;
    result.events += found.events;
    for (const [cell, count] of found.coverage) {
      const [state = "", kind = ""] = cell.split(" ");
      const row = result.coverage[state] ??= {};
      row[kind] = (row[kind] ?? 0) + count;
    }
    for (const [state, count] of Object.entries(found.plans)) {
      result.plans[state] = (result.plans[state] ?? 0) + count;
    }
    const { failure } = found;
    if (failure !== undefined) {
      const faults = !shrinks ? found.plan : await shrink(
        found.plan,
        async (plan) => (await run(plan)).failure?.invariant === failure.invariant && !signal?.aborted,
      );
      result.failures.push({ seed, ...failure, faults: [...faults] });
    }
    onSeed?.(found);
  }
  result.neverSeen = neverSeenIn(result);
  return result;
}

/** Returns the faults that can strike in a state, but did not. */
function neverSeenIn({ coverage, unreachable }: SwarmResult): SwarmResult["neverSeen"] {
  const missing: SwarmResult["neverSeen"] = {};
  for (const state of Object.keys(intentStates)) {
    if (unreachable.some((each) => each.state === state)) continue;
    const kinds = faultNames.filter((kind) => coverage[state]?.[kind] === undefined);
    if (kinds.length > 0) missing[state] = kinds;
  }
  return missing;
}

export { faultNames, faultTable };
export type { SeedResult };
