/** Runs a fixed set of seeds of the swarm. `.ci/run` adds seeds of the day. */
import { assert, assertEquals } from "@std/assert";
import { swarm } from "../../lib/swarm/mod.ts";

// A simulated process that is killed does not close its ciphers. They stay until garbage collection.
const sanitizeResources = false;

Deno.test("one day of each seed from 1 to 60, over both transports, ends without a failure", {
  sanitizeResources,
}, async () => {
  const { seeds, failures, coverage, plans } = await swarm({ seeds: 60, fromSeed: 1, shrinks: false });
  assertEquals(failures, []);
  assertEquals(seeds, 60);
  // These seeds reach what the swarm is for: faults while an outcome is unknown.
  const kinds = Object.keys(coverage.unknown ?? {});
  assert(kinds.length >= 8, kinds.join(", "));
  assert(plans.done !== undefined && plans.stopped !== undefined, JSON.stringify(plans));
});

Deno.test(
  "two days of a seed end without a failure, and the cash, holdings and fund journal of each day agree",
  { sanitizeResources },
  async () => {
    const { days, failures } = await swarm({ seeds: 1, fromSeed: 7_002, days: 2, shrinks: false });
    assertEquals([days, failures], [2, []]);
  },
);
