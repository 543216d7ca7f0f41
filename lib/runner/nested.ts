/**
 * A recipe as a step of another one: a run of its own, under a key that follows from the run it belongs to.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { type Claim, type Claimer, claimRun } from "./claims.ts";
import { drawTraceId } from "./host.ts";
import type { Recipes } from "./judging.ts";
import { executeRun, type Surroundings } from "./run.ts";
import { findRun } from "./run_rows.ts";
import { addManualRun } from "./starts.ts";
import { lastAttempts } from "./step_rows.ts";

/** What running a recipe within another one stands on. */
export interface NestedOptions {
  recipes: Recipes;
  surroundings: Surroundings;
  claimer: Claimer;
  /** The outer run has the account's mutex; the inner one needs none. */
  holdsAccount: boolean;
  stop: AbortSignal;
}

/**
 * Runs a recipe within a run and resolves to the outputs of its steps. When the outer run is resumed, an inner one
 * that ended well is not run again.
 *
 * @throws {TypeError} For a recipe that is not there, or that writes.
 * @throws {BrokerError} When it did not end well.
 */
export async function runNested(
  parent: Claim,
  { name, params }: { name: string; params: Readonly<Record<string, unknown>> },
  { recipes, surroundings, claimer, holdsAccount, stop }: NestedOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const found = recipes.get(name);
  if (found === undefined) throw new TypeError(`Cannot run recipe "${name}": there is none of that name`);
  if (found.class === "write") {
    throw new TypeError(`Cannot run recipe "${name}" as a step: it writes, and needs a slot of its own`);
  }
  const recipe = holdsAccount ? { ...found, needsAccount: false } : found;
  const { ledger, host } = surroundings;
  const runKey = addManualRun(ledger, recipe, {
    id: parent.runKey,
    params,
    now: host.now(),
    drawTraceId: () => drawTraceId(host),
  });
  const row = findRun(ledger, runKey);
  let state: string | undefined = row?.state;
  if (state !== "ok") {
    const claim = claimRun(ledger, recipe, runKey, claimer, host.now());
    state = typeof claim === "string" ? claim : (await executeRun(recipe, claim, surroundings, stop)).state;
  }
  if (state !== "ok") {
    throw new BrokerError(`Cannot run recipe "${name}" as a step: it ended as "${state}"`, {
      code: "nested",
    });
  }
  const outputs: Record<string, unknown> = {};
  for (const [step, { output }] of lastAttempts(ledger, runKey, row?.round ?? 0)) {
    outputs[step] = JSON.parse(output ?? "null");
  }
  return outputs;
}
