/** Tests of `hsgate swarm`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cli } from "./runner_support.ts";

Deno.test("hsgate swarm --json prints what it ran, what failed, and which faults struck in which state", async () => {
  const { code, out } = await cli(["swarm", "--seeds", "1", "--from-seed", "9", "--json"]);
  const { seeds, days, events, failures, coverage } = JSON.parse(out);
  assertEquals([code, seeds, days, failures], [0, 1, 1, []]);
  assert(events > 1_000, String(events));
  assert(Object.keys(coverage).length > 2, JSON.stringify(coverage));
});

Deno.test("hsgate swarm rejects flags that do not fit together", async () => {
  for (
    const [words, text] of [
      [["--seed", "1", "--seeds", "2"], "it runs one seed"],
      [["--log"], "name one with --seed"],
      [["--seed", "1", "--log", "--json"], "both write to the output"],
      [["--seeds", "0"], "whole number"],
    ] as const
  ) {
    const { code, err } = await cli(["swarm", ...words]);
    assertEquals(code, 2, words.join(" "));
    assertStringIncludes(err, text);
  }
});
