/**
 * Decides whether a run of a recipe trades live, or is only a plan that sends nothing.
 *
 * @module
 */
import type { Limits } from "../client/limits.ts";
import type { CompiledRecipe } from "./compiled.ts";

/**
 * Returns why a run of a recipe would only be a plan; `undefined` if it may write. Live trading must be on in the settings
 * and in the recipe. A recipe that reads needs neither, and nothing is live at a simulator.
 *
 * @param limits The limits of the account; `undefined` if the run has no account, as in a rehearsal.
 */
export function whyPlan(
  { class: kind, connect, live }: Pick<CompiledRecipe, "class" | "connect" | "live">,
  limits: Pick<Limits, "liveTrading"> | undefined,
): string | undefined {
  if (kind !== "write" || connect?.to === "simulator" || limits === undefined) return undefined;
  const missing = [
    ...live === true ? [] : ['the recipe has no "live: true"'],
    ...limits.liveTrading ? [] : ['the setting liveTrading is "refuse"'],
  ];
  return missing.length === 0 ? undefined : missing.join(", and ");
}
