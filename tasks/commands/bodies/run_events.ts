/**
 * Events of a run under the ledger, for the tree that shows it.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import { findRun } from "../../../lib/runner/run_rows.ts";
import { lastAttempts } from "../../../lib/runner/step_rows.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import { shortResult } from "./run_result.ts";
import type { TreeEvent } from "./run_tree.ts";

/** Events of a run for its tree; what a step answered with stands in the ledger. */
export function treeEventsOf(
  event: RunEvent,
  { ledger, recipes }: { ledger: Ledger; recipes: ReadonlyMap<string, CompiledRecipe> },
): TreeEvent[] {
  const run = event.runKey;
  switch (event.type) {
    case "run-started": {
      const steps = recipes.get(event.recipe)?.steps ?? [];
      const known = new Map(steps.map(({ id, uses }) => [id, uses]));
      const named = event.steps.map((id) => ({ id, uses: known.get(id) ?? "" }));
      return [{ type: "run-started", run, recipe: event.recipe, steps: named }];
    }
    case "step-started":
    case "step-reused":
    case "step-progress":
    case "step-retry":
    case "artifact":
      return [{ ...event, run }];
    case "step-ended": {
      const output = event.state === "ok" ? outputOf(ledger, run, event.step) : undefined;
      return [{ ...event, run, result: shortResult(output) }];
    }
    case "run-ended":
      return [{ ...event, run }];
    default:
      return [];
  }
}

/** A line for a person, such as where a run is connected to, as one of the lines that a program reads. */
export function noteEvent(line: string, at: number): Readonly<Record<string, unknown>> {
  const message = line.replace(/^hsgate: /, "");
  const [warning] = /^warning: /.exec(message) ?? [""];
  return {
    at: showInstant(at),
    level: warning === "" ? "info" : "warn",
    type: warning === "" ? "note" : "warning",
    message: message.slice(warning.length),
  };
}

function outputOf(ledger: Ledger, runKey: string, step: string): unknown {
  const round = findRun(ledger, runKey)?.round ?? 0;
  return JSON.parse(lastAttempts(ledger, runKey, round).get(step)?.output ?? "null");
}
