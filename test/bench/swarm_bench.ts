/**
 * Measures the swarm: the time of a simulated trading day, compared with the time of the same number of events that do
 * nothing. With `--short`, runs fewer seeds.
 *
 * @module
 */
import { swarm } from "../../lib/swarm/mod.ts";
import { outside, World } from "../../lib/swarm/world.ts";
import { report, rounded } from "./harness.ts";

const seeds = Deno.args.includes("--short") ? 3 : 100;
await swarm({ seeds: 1 }); // loads the code
const began = performance.now();
const { days, events, failures } = await swarm({ seeds, shrinks: false });
const oursMs = (performance.now() - began) / days;
const floorMs = await outside(() => emptyEvents(events)) / days;
report({
  name: "swarm/day",
  unit: "ms; the floor is the same number of events that do nothing",
  floor: rounded(floorMs),
  ours: rounded(oursMs),
  ratio: rounded(oursMs / floorMs),
  target: "at least a day in 2 s; the aim is 20 days a second",
  ok: oursMs <= 2_000,
  daysPerSecond: rounded(1_000 / oursMs),
  eventsPerDay: Math.round(events / days),
  failures: failures.length,
});

/** Resolves to the time of events that do nothing, in milliseconds. */
async function emptyEvents(count: number): Promise<number> {
  const world = new World(1, 0);
  const process = world.process("one");
  for (let at = 0; at < count; at++) world.schedule(at, process, "event", () => {});
  const start = performance.now();
  while (await world.step(count));
  const took = performance.now() - start;
  world.end();
  return took;
}
