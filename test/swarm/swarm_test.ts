/** Tests of the swarm: its worlds are the same each time, use no real machine, and find wrong programs. */
import { assert, assertEquals } from "@std/assert";
import { faultNames, swarm } from "../../lib/swarm/mod.ts";
import { shrink } from "../../lib/swarm/shrink.ts";
import { swarmRecipes } from "../../lib/swarm/processes.ts";
import { runSeed } from "../../lib/swarm/run.ts";

async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-swarm-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("a seed gives the same events each time, whatever ran before it", async () => {
  await using place = await folder();
  const recipes = await swarmRecipes();
  const run = (seed: number) => runSeed({ seed, folder: place.path, recipes });
  const first = await run(7);
  const other = await run(23);
  const again = await run(7);
  assertEquals([again.hash, again.events, again.orders], [first.hash, first.events, first.orders]);
  assert(other.hash !== first.hash);
  assert(first.orders > 5 && first.events > 1_000, `${first.orders} orders, ${first.events} events`);
});

Deno.test("a world leaves the clocks, timers and sockets of the program around it as they were", async () => {
  const before = [Date, setTimeout, Deno.connect, Deno.listen, AbortSignal.timeout, crypto.randomUUID];
  const result = await swarm({ seeds: 1, fromSeed: 3 });
  assertEquals(result.failures, []);
  assertEquals(
    [Date, setTimeout, Deno.connect, Deno.listen, AbortSignal.timeout, crypto.randomUUID].map((each, at) =>
      each === before[at]
    ),
    before.map(() => true),
  );
});

Deno.test("a plan without faults ends every order as the broker ended it", async () => {
  await using place = await folder();
  const recipes = await swarmRecipes();
  const result = await runSeed({ seed: 5, folder: place.path, recipes, plan: [] });
  assertEquals(result.failure, undefined);
  assert(result.orders > 5);
});

Deno.test("shrinking keeps exactly the faults that the failure needs", async () => {
  const plan = faultNames.slice(0, 20).map((kind, atMs) => ({ kind, atMs, size: 0.5 }));
  const wanted = [plan[3]!, plan[11]!];
  let runs = 0;
  const shortest = await shrink(plan, (fewer) => {
    runs++;
    return Promise.resolve(wanted.every((fault) => fewer.includes(fault)));
  });
  assertEquals(shortest, wanted);
  assert(runs <= 60);
});
