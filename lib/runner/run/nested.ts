/**
 * Runs a recipe as a step of another recipe. The inner run has its own row; its key contains the key of the outer run.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import { nodeCrypto } from "../../std/node_crypto.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { checkTogether } from "../../recipes/engine/engine.ts";
import { recipeRunBy, versionOf } from "../../recipes/powers.ts";
import { type Claimer, claimRun, mutexOf, recoverRun, type Refusal } from "../claims/claims.ts";
import { type CallingStep, type Claim, claimedTransaction } from "../claims/claim.ts";
import { drawTraceId } from "../schedule/plan_run.ts";
import type { Recipes } from "../schedule/listing.ts";
import { executeRun } from "./run.ts";
import type { RunDeps } from "../deps.ts";
import { cancelDue, findRun, reopenRun, type RunRow, type RunState, slotOf } from "../queries/runs.ts";
import { addManualRun } from "../schedule/starts.ts";
import { dayOf } from "../../recipes/engine/step_context.ts";
import { lastAttempts, outputIn } from "../queries/steps.ts";

/** What is needed to run a recipe as a step of another recipe. */
interface NestedOptions {
  recipes: Recipes;
  deps: RunDeps;
  claimer: Claimer;
  stop: AbortSignal;
}

/**
 * Runs a recipe within a run and resolves to the outputs of the recipe's steps. When the outer run is resumed, an
 * interrupted inner run continues. An inner run that succeeded is run again only if its recipe has changed.
 *
 * @throws {TypeError} For a recipe that does not exist or that writes.
 * @throws {BrokerError} When the inner run did not succeed.
 */
export async function runNested(
  parent: CallingStep,
  { name, params }: { name: string; params: Readonly<Record<string, unknown>> },
  { recipes, deps, claimer, stop }: NestedOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const outerRecipe = parent.recipe;
  const found = recipeRunBy(outerRecipe, name, recipes);
  if (found.class === "write") {
    throw new TypeError(`Cannot run recipe "${name}" as a step: it writes, so it needs its own slot`);
  }
  const { store, machine } = deps;
  const outer = await findRun(store, parent.runKey);
  checkTogether(outerRecipe, found);
  // If both runs use the same account, the outer run's mutex covers the inner run.
  const isHeld = parent.mutex !== undefined && parent.mutex === mutexOf(claimer.accountOf(found));
  const recipe = isHeld ? { ...found, needsAccount: false } : found;
  const id = nestedId(parent, { name, params, round: outer?.round ?? 0 });
  const { runKey, claim } = await claimedTransaction(
    store,
    parent,
    machine.now(),
    async () => await claimNested(recipe, { id, params, outer }, { ...deps, claimer }),
  );
  let state: string = claim as string; // replaced below if the run was claimed
  if (typeof claim !== "string") {
    const within = outer && dayOf(outerRecipe, slotOf(outer), deps.within);
    const innerDeps = {
      ...deps,
      ...parent.work && { work: parent.work },
      ...within !== undefined && { within },
    };
    const ended = await executeRun(recipe, claim, innerDeps, AbortSignal.any([stop, parent.halt]));
    state = ended.state;
    // The inner run continues only together with the outer run.
    if (state === "due") await cancelDue(store, runKey, "stopped", machine.now());
  }
  if (state !== "ok") {
    throw new BrokerError(`Cannot run recipe "${name}" as a step: it ended as "${state}"`, {
      code: "nested",
    });
  }
  const outputs: Record<string, unknown> = {};
  for (
    const [step, attempt] of await lastAttempts(
      store,
      runKey,
      (await findRun(store, runKey))?.round ?? 0,
    )
  ) {
    outputs[step] = outputIn(attempt);
  }
  return outputs;
}

/**
 * Returns the id of an inner run: the key of the outer run and the step. If the outer run has started over, its round
 * is between them. A call with parameters adds a hash of the recipe's name and the parameters. If a step makes the same
 * call again, the second call gets the number 2, and so on. So a step that continues after a stop finds its inner runs
 * again.
 */
function nestedId(
  { runKey, step, calls }: CallingStep,
  { name, params, round }: { name: string; params: Readonly<Record<string, unknown>>; round: number },
): string {
  const asked = JSON.stringify([name, params]);
  const count = (calls.get(asked) ?? 0) + 1;
  calls.set(asked, count);
  const hash = nodeCrypto().createHash("sha256").update(asked).digest("hex").slice(0, 8);
  const which = [step, ...isEmpty(params) ? [] : [hash], ...count > 1 ? [count] : []];
  // If the outer run starts over, its inner runs start over too.
  return [runKey, ...round > 0 ? [round] : [], which.join(".")].join("/");
}

const isEmpty = (params: object) => Object.keys(params).length === 0;

/**
 * Writes the row of an inner run if it does not exist, and claims the run. Returns the claim, or why the run cannot be
 * claimed, or how the run has already ended.
 */
async function claimNested(
  recipe: CompiledRecipe,
  { id, params, outer }: { id: string; params: Readonly<Record<string, unknown>>; outer?: RunRow },
  { store, machine, calendars, claimer }:
    & Pick<RunDeps, "store" | "machine" | "calendars">
    & Pick<NestedOptions, "claimer">,
): Promise<{ runKey: string; claim: Claim | Refusal | RunState }> {
  const now = machine.now();
  const runKey = await addManualRun(store, recipe, {
    id,
    params,
    // The inner run belongs to the day of the outer run, even if it runs later.
    ...outer !== undefined && { slotAt: outer.slot_at, businessDay: outer.business_day ?? undefined },
    now,
    drawTraceId: () => drawTraceId(machine),
    calendars: calendars(),
  });
  const row = (await findRun(store, runKey))!; // written above, or there before
  // The process that holds the outer run also holds its inner runs. So if an inner run is still marked as running, the
  // process that ran it has lost both runs.
  let state = row.state === "running" ? await recoverRun(store, row, now) : row.state;
  const isOfOther = state === "ok" && row.recipe_sha !== versionOf(recipe);
  if (state === "failed" || state === "cancelled" || isOfOther) {
    // The outer run was resumed, so the inner run continues where it stopped, and starts over if its recipe has
    // changed.
    await reopenRun(store, { runKey, kind: "manual", freshRound: isOfOther, now });
    state = "due";
  }
  if (state !== "due") return { runKey, claim: state };
  const claim = await claimRun(store, recipe, runKey, claimer, now);
  // No other process may run the inner run later.
  if (typeof claim === "string") await cancelDue(store, runKey, claim, now);
  return { runKey, claim };
}
