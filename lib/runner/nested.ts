/**
 * A recipe as a step of another one: a run of its own, under a key that follows from the run it belongs to.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { BrokerError } from "../errors.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { type CallingStep, type Claim, type Claimer, claimRun, mutexOf, type Refusal } from "./claims.ts";
import { underClaim } from "./holding.ts";
import { recoverRun } from "./recovery.ts";
import { drawTraceId } from "./host.ts";
import type { Recipes } from "./judging.ts";
import { executeRun, type Surroundings } from "./run.ts";
import { cancelDue, findRun, reopenRun, type RunRow, type RunState } from "./run_rows.ts";
import { addManualRun } from "./starts.ts";
import { dayOf } from "./step_scope.ts";
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
 * that ended well is not run again, and one that was broken off goes on.
 *
 * @throws {TypeError} For a recipe that is not there, or that writes.
 * @throws {BrokerError} When it did not end well.
 */
export async function runNested(
  parent: CallingStep,
  { name, params }: { name: string; params: Readonly<Record<string, unknown>> },
  { recipes, surroundings, claimer, stop }: NestedOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const found = recipes.get(name);
  if (found === undefined) throw new TypeError(`Cannot run recipe "${name}": there is none of that name`);
  if (found.class === "write") {
    throw new TypeError(`Cannot run recipe "${name}" as a step: it writes, and needs a slot of its own`);
  }
  const { ledger, host } = surroundings;
  const outer = findRun(ledger, parent.runKey);
  const outerRecipe = recipes.get(outer?.recipe ?? "");
  if (outerRecipe !== undefined) checkTogether(outerRecipe, found);
  // The outer run's mutex does for both where both are at the same account.
  const isHeld = parent.mutex !== undefined && parent.mutex === mutexOf(claimer.accountOf(found));
  const recipe = isHeld ? { ...found, needsAccount: false } : found;
  const id = nestedId(parent, { name, params, round: outer?.round ?? 0 });
  const { runKey, claim } = underClaim(
    ledger,
    parent,
    host.now(),
    () => claimNested(recipe, { id, params, outer }, { ledger, host, claimer }),
  );
  let state: string = claim as string; // unless it was claimed
  if (typeof claim !== "string") {
    const within = outer && outerRecipe && dayOf(outerRecipe, outer, surroundings.within);
    const around = { ...surroundings, ...within !== undefined && { within } };
    const ended = await executeRun(recipe, claim, around, AbortSignal.any([stop, parent.halt]));
    state = ended.state;
    // It goes on with the outer run, and never by itself.
    if (state === "due") cancelDue(ledger, runKey, "stopped", host.now());
  }
  if (state !== "ok") {
    throw new BrokerError(`Cannot run recipe "${name}" as a step: it ended as "${state}"`, {
      code: "nested",
    });
  }
  const outputs: Record<string, unknown> = {};
  for (const [step, { output }] of lastAttempts(ledger, runKey, findRun(ledger, runKey)?.round ?? 0)) {
    outputs[step] = JSON.parse(output ?? "null");
  }
  return outputs;
}

/**
 * Names an inner run within its outer one: by the step that asks for it, by what it asks for, and by how often it has
 * asked for the same, so that a step that goes on after a stop meets its own runs and no others.
 */
function nestedId(
  { runKey, step, calls }: CallingStep,
  { name, params, round }: { name: string; params: Readonly<Record<string, unknown>>; round: number },
): string {
  const asked = JSON.stringify([name, params]);
  const count = (calls.get(asked) ?? 0) + 1;
  calls.set(asked, count);
  const hash = createHash("sha256").update(asked).digest("hex").slice(0, 8);
  const which = [step, ...isEmpty(params) ? [] : [hash], ...count > 1 ? [count] : []];
  // An outer run that is done anew from the start has its inner ones done anew too.
  return [runKey, ...round > 0 ? [round] : [], which.join(".")].join("/");
}

const isEmpty = (params: object) => Object.keys(params).length === 0;

/** Writes the row of an inner run, if there is none, and claims it; says what stands in the way, or how it ended. */
function claimNested(
  recipe: CompiledRecipe,
  { id, params, outer }: { id: string; params: Readonly<Record<string, unknown>>; outer?: RunRow },
  { ledger, host, claimer }: Pick<Surroundings, "ledger" | "host"> & Pick<NestedOptions, "claimer">,
): { runKey: string; claim: Claim | Refusal | RunState } {
  const now = host.now();
  const runKey = addManualRun(ledger, recipe, {
    id,
    params,
    // It is part of the outer run, and so for the same day as that one, whenever it is done.
    ...outer !== undefined && { slotAt: outer.slot_at, businessDay: outer.business_day ?? undefined },
    now,
    drawTraceId: () => drawTraceId(host),
  });
  const row = findRun(ledger, runKey)!; // just written, if it was not there
  // Whoever has the outer run has its inner ones: another process that had this one had that one too, and lost it.
  let state = row.state === "running" ? recoverRun(ledger, row, now) : row.state;
  if (state === "failed" || state === "cancelled") {
    // The outer run is resumed where it failed, which is here.
    reopenRun(ledger, { runKey, kind: "manual", freshRound: false, now });
    state = "due";
  }
  if (state !== "due") return { runKey, claim: state };
  const claim = claimRun(ledger, recipe, runKey, claimer, now);
  // Nobody else may take it up.
  if (typeof claim === "string") cancelDue(ledger, runKey, claim, now);
  return { runKey, claim };
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
