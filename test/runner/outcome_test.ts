/** Tests of how the end of a run follows from its steps. */
import { assertEquals } from "@std/assert";
import { Halt, type HaltKind } from "../../lib/recipes/engine/step_context.ts";
import { type StepState } from "../../lib/recipes/engine/engine.ts";
import { type Ending, outcomeOf } from "../../lib/runner/run/run.ts";
import type { StepEffect } from "../../lib/recipes/compiled.ts";

const pure = { permissions: "none" } as const;

/** `a` reads, `b` writes. */
const steps: { id: string; effect: StepEffect }[] = [{ id: "a", effect: "read" }, {
  id: "b",
  effect: "write",
}];

/** Returns how a run ended: state and reason. */
function ended(states: Record<string, StepState>, given: Partial<Ending> = {}, halted?: HaltKind): string {
  const { state, reason } = outcomeOf(steps, {
    states: new Map(Object.entries(states)),
    halt: halted === undefined ? undefined : new Halt(halted, "so it is"),
    whenStopped: "due",
    isTakenOver: false,
    withheld: undefined,
    ...given,
  });
  return reason === undefined ? state : `${state} (${reason})`;
}

Deno.test("outcomeOf() reports a write with an unknown outcome before everything else", pure, () => {
  for (const halted of [undefined, "stopped", "cancelled", "timeout", "lost"] as const) {
    const given = { isTakenOver: true, withheld: "unsafe" as const };
    assertEquals(ended({ a: "failed", b: "unknown" }, given, halted), "unknown (write)");
  }
});

Deno.test("outcomeOf() makes a stopped read due again, and leaves a stopped write to a person", pure, () => {
  assertEquals(ended({ a: "ok" }, {}, "stopped"), "due (stopped)");
  assertEquals(ended({ a: "ok" }, { whenStopped: "cancelled" }, "stopped"), "cancelled (stopped)");
  assertEquals(ended({ a: "ok", b: "failed" }, {}, "stopped"), "waiting_recovery (stopped)");
  assertEquals(ended({ a: "failed", b: "skipped" }, {}, "stopped"), "due (stopped)");
});

Deno.test(
  "outcomeOf() counts a run that was stopped after its last step as successful, but not a run that timed out or lost its lease",
  pure,
  () => {
    for (const halted of ["stopped", "cancelled"] as const) {
      assertEquals(ended({ a: "ok", b: "ok" }, {}, halted), "ok");
      assertEquals(ended({ a: "ok", b: "skipped" }, {}, halted), "ok");
    }
    assertEquals(ended({ a: "ok" }, {}, "cancelled"), "cancelled (Cannot continue the run: so it is)");
    assertEquals(ended({ a: "ok", b: "ok" }, {}, "timeout"), "failed (timeout)");
    assertEquals(ended({ a: "ok", b: "ok" }, {}, "lost"), "lost (lease)");
  },
);

Deno.test("outcomeOf() lets the next process continue a stopped step that may begin again", pure, () => {
  const given = {
    halt: new Halt("stopped", "so it is"),
    whenStopped: "due",
    isTakenOver: false,
    withheld: undefined,
  } as const;
  const states = new Map([["b", "unknown"], ["c", "unknown"]] as const);
  const [b, c] = ["b", "c"].map((id) => ({ id, effect: "write" as const, resumes: true as const }));
  assertEquals(outcomeOf([b!, c!], { ...given, states }), { state: "waiting_recovery", reason: "stopped" });
  assertEquals(outcomeOf([b!, { id: "c", effect: "write" }], { ...given, states }), {
    state: "unknown",
    reason: "write",
  });
  assertEquals(outcomeOf([b!, c!], { ...given, states, halt: undefined }), {
    state: "unknown",
    reason: "write",
  });
});

Deno.test(
  "outcomeOf() reports a taken-over login before a failed step, and a failed step before a withheld write",
  pure,
  () => {
    const withheld = "window" as const;
    assertEquals(ended({ a: "failed" }, { isTakenOver: true, withheld }), "failed (displaced)");
    assertEquals(ended({ a: "failed", b: "skipped" }, { withheld }), "failed (step)");
    assertEquals(ended({ a: "ok", b: "skipped" }, { withheld }), "failed (window)");
    assertEquals(ended({ a: "skipped", b: "skipped" }, { withheld }), "failed (window)");
    assertEquals(ended({ a: "skipped", b: "skipped" }), "skipped (condition)");
    assertEquals(ended({ a: "ok", b: "skipped" }), "ok");
    assertEquals(ended({}), "ok");
  },
);
