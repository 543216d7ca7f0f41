/**
 * A recipe as a step of another one: a run of its own, under a key that follows from the run it belongs to.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { type Claim, type Claimer, claimRun, mutexOf } from "./claims.ts";
import { drawTraceId } from "./host.ts";
import type { Recipes } from "./judging.ts";
import { executeRun, type Surroundings } from "./run.ts";
import { findRun, reopenRun } from "./run_rows.ts";
import { addManualRun } from "./starts.ts";
import { lastAttempts } from "./step_rows.ts";

/** What running a recipe within another one stands on. */
export interface NestedOptions {
  recipes: Recipes;
  surroundings: Surroundings;
  claimer: Claimer;
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
  { recipes, surroundings, claimer, stop }: NestedOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const found = recipes.get(name);
  if (found === undefined) throw new TypeError(`Cannot run recipe "${name}": there is none of that name`);
  if (found.class === "write") {
    throw new TypeError(`Cannot run recipe "${name}" as a step: it writes, and needs a slot of its own`);
  }
  const { ledger, host } = surroundings;
  const outerRow = findRun(ledger, parent.runKey);
  const outer = recipes.get(outerRow?.recipe ?? "");
  if (outer !== undefined) checkTogether(outer, found);
  // The outer run's mutex does for both where both are at the same account.
  const isHeld = parent.mutex !== undefined && parent.mutex === mutexOf(claimer.accountOf(found));
  const recipe = isHeld ? { ...found, needsAccount: false } : found;
  const round = outerRow?.round ?? 0;
  const runKey = addManualRun(ledger, recipe, {
    // An outer run that is done anew from the start has its inner ones done anew too.
    id: round === 0 ? parent.runKey : `${parent.runKey}/${round}`,
    params,
    // It is part of the outer run, and so for the same day as that one, whenever it is done.
    ...outerRow !== undefined && {
      slotAt: outerRow.slot_at,
      businessDay: outerRow.business_day ?? undefined,
    },
    now: host.now(),
    drawTraceId: () => drawTraceId(host),
  });
  if (["failed", "cancelled"].includes(findRun(ledger, runKey)?.state ?? "")) {
    // The outer run is resumed where it failed, which is here.
    reopenRun(ledger, { runKey, kind: "manual", freshRound: false, now: host.now() });
  }
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

/**
 * Keeps what is simulated and what is real apart: neither may run the other as a step, as its outputs would go on
 * from there.
 *
 * @throws {TypeError} When one recipe is meant for the simulator and the other is not.
 */
export function checkTogether(outer: CompiledRecipe, inner: CompiledRecipe): void {
  const isSimulated = ({ connect }: CompiledRecipe) => connect?.to === "simulator";
  if (isSimulated(outer) === isSimulated(inner)) return;
  const [meant, other] = isSimulated(inner) ? [inner, outer] : [outer, inner];
  throw new TypeError(
    `Cannot run recipe "${inner.name}" as a step of "${outer.name}": "${meant.name}" is meant for the simulator ` +
      `and "${other.name}" is not`,
  );
}
