/**
 * Converts events of a run with a store into events for the tree that shows it.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import type { RunEvent } from "../../../lib/runner/run/report.ts";
import { findRun } from "../../../lib/runner/queries/runs.ts";
import { lastAttempts, outputIn } from "../../../lib/runner/queries/steps.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { shortResult } from "./summaries.ts";
import type { TreeEvent } from "./tree.ts";

/**
 * Returns the events for the tree. Events of a run contain no outputs, so this function reads the output of a finished
 * step from the store and shortens it.
 */
export async function treeEventsOf(
  event: RunEvent,
  { store, recipes }: { store: Store; recipes: ReadonlyMap<string, CompiledRecipe> },
): Promise<TreeEvent[]> {
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
      const output = event.state === "ok" ? await outputOf(store, run, event.step) : undefined;
      return [{ ...event, run, result: shortResult(output) }];
    }
    case "run-ended":
      return [{ ...event, run }];
    default:
      return [];
  }
}

/** Returns a note, such as the note about a run's connection, as the data of a JSON line. */
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

async function outputOf(store: Store, runKey: string, step: string): Promise<unknown> {
  const round = (await findRun(store, runKey))?.round ?? 0;
  const attempt = (await lastAttempts(store, runKey, round)).get(step);
  return attempt === undefined ? null : outputIn(attempt);
}
