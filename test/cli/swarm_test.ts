/** Tests of `hsgate swarm`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { linesOf } from "../../tasks/commands/swarm/body.ts";
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

Deno.test("hsgate swarm prints which faults struck in which states, and which pairs did not occur", () => {
  const coverage = { sent: { kill: 2 }, unknown: { kill: 1, stop: 3 } };
  const lines = linesOf({ seeds: 1, days: 1, events: 10, failures: [], coverage }, 2);
  const text = lines.join("\n");
  assertStringIncludes(text, "  kill: sent 2, unknown 1\n  stop: unknown 3\n");
  assertStringIncludes(text, "never while an intent was in the state:\n  sent: stop\n");
  assertStringIncludes(text, "States in which no intent was when a fault struck: planned, approved, ");
  assertStringIncludes(text, "Faults that never struck: lost-answer, ");
  assertEquals(
    lines.at(-1),
    "1 seed, 1 trading day, 10 events in 2.0 s (0.5 days a second): every invariant held",
  );
});
