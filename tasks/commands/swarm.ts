/** Description of `hsgate swarm`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";

const flags = {
  seeds: { type: "string", value: "N", text: "how many seeds to run (20)" },
  "from-seed": { type: "string", value: "S", text: "the first seed (1)" },
  seed: { type: "string", value: "S", text: "run only this seed, and show its whole plan of faults" },
  days: { type: "string", value: "N", text: "trading days of each seed (1)" },
  log: { type: "boolean", text: "with --seed: print every event" },
  "no-shrink": { type: "boolean", text: "show the whole plan of faults of a seed that fails" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type SwarmInput = Input<typeof flags>;

/** Runs the whole system under random faults, which a seed determines. */
export const swarm = command({
  name: "swarm",
  summary: "test the whole system under random faults, on virtual time",
  usage: "[--seeds N] [--from-seed S]",
  args: [0, 0],
  details: `Each seed is a separate simulation of a program that trades, schedulers with recipes,
the order desk, the store, the client, the transport and the simulated broker. All of
them run in one process, on virtual time. The seed determines a plan of faults: lost and
late answers, cut connections, processes that die at any statement, a full disk, clocks
that jump, and more. After every event that changed something, the command compares the
store with what the broker has executed. Nothing leaves the machine.

If a seed fails, the command runs it again with fewer and fewer faults. It prints the
shortest plan that still fails. The same seed of the same version always gives the same
events. Ctrl-C ends the command with what it has found so far.

--json prints { seeds, days, events, failures: [{ seed, invariant, what, at, faults }], coverage,
neverSeen, unreachable: [{ state, reason }], plans }. coverage counts how often each kind of fault
happened in each state of an intent. neverSeen lists the kinds that can happen in a state and did not;
unreachable says in which states no fault can happen. plans counts the rebalancing plans by state.`,
  flags,
  without: unconnected,
  calendars: false,
  exits: [[1, "a check failed: the store and the broker disagree, or hsgate broke one of its rules"]],
  examples: [
    "swarm --seeds 50",
    "swarm --seeds 200 --from-seed 20250818 --json",
    "swarm --seed 4711 --log",
  ],
});
