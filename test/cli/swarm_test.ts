/** Tests of `hsgate swarm`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { intentStates } from "../../lib/desk/states.ts";
import { faultNames } from "../../lib/swarm/mod.ts";
import { linesOf } from "../../tasks/commands/swarm/body.ts";
import { cli } from "./runner_support.ts";

Deno.test("hsgate swarm --json prints what it ran, what failed, and which faults struck in which state", async () => {
  const { code, out } = await cli(["swarm", "--seeds", "1", "--from-seed", "7", "--json"]);
  const { seeds, days, events, failures, coverage, neverSeen, unreachable } = JSON.parse(out);
  assertEquals([code, seeds, days, failures], [0, 1, 1, []]);
  assert(events > 1_000, String(events));
  assert(Object.keys(coverage).length > 2, JSON.stringify(coverage));
  // Each pair of a state and a fault has struck, has not struck, or cannot strike.
  const cannot = unreachable.map(({ state }: { state: string }) => state);
  for (const state of Object.keys(intentStates)) {
    const seen = Object.keys(coverage[state] ?? {});
    const all = [...seen, ...neverSeen[state] ?? []].sort();
    assertEquals(all, cannot.includes(state) ? [] : [...faultNames].sort(), state);
  }
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
  const neverSeen = { sent: ["stop", "halt"], approved: ["kill", "stop", "halt"] } as const;
  const lines = linesOf({
    seeds: 1,
    days: 1,
    events: 10,
    failures: [],
    coverage,
    neverSeen: { sent: [...neverSeen.sent], approved: [...neverSeen.approved] },
    unreachable: [{ state: "expired", reason: "it is too early" }],
    plans: { done: 2, stopped: 1 },
  }, 2);
  const text = lines.join("\n");
  assertStringIncludes(text, "  kill: sent 2, unknown 1\n  stop: unknown 3\n");
  assertStringIncludes(text, "and did not:\n  sent: stop\n  approved: no fault at all\n");
  assertStringIncludes(text, "No fault can strike in the state expired: it is too early\n");
  assertStringIncludes(text, "Rebalancing plans in the evening: done 2, stopped 1\n");
  assertStringIncludes(text, "Faults that never struck: lost-answer, ");
  assertEquals(
    lines.at(-1),
    "1 seed, 1 trading day, 10 events in 2.0 s (0.5 days a second): every invariant held",
  );
});
