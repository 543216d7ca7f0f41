/**
 * Lists all built-in steps other than the operations of the catalogue. A step is loaded only when a recipe uses it,
 * because loading all steps takes longer than a run.
 *
 * @module
 */
import type { StepKind } from "./kind.ts";
import { lazily } from "../../lazy.ts";

/** A step with any parameters. */
// deno-lint-ignore no-explicit-any -- parameters are contravariant: only `any` allows all steps in one table
export type AnyStepKind = StepKind<any, unknown>;

const loaders: ReadonlyMap<string, () => Promise<AnyStepKind>> = new Map(Object.entries({
  "export-day-book": lazily(async () => (await import("./export_day_book.ts")).exportDayBookStep),
  "keep-login": lazily(async () => (await import("./keep_login.ts")).keepLogin),
  "wait-for": lazily(async () => (await import("./wait_for.ts")).waitFor),
  "snapshot": lazily(async () => (await import("./snapshot.ts")).snapshot),
  "watch": lazily(async () => (await import("./watch.ts")).watch),
  "cancel-open-orders": lazily(async () => (await import("./cancel_open_orders.ts")).cancelOpenOrders),
  "rebalance": lazily(async () => (await import("./rebalance.ts")).rebalanceStep),
  "convert-report": lazily(async () => (await import("./convert_report.ts")).convertReport),
  "notify": lazily(async () => (await import("./notify.ts")).notify),
  "run": lazily(async () => (await import("./run_recipe.ts")).runRecipeStep),
}));

/** Names of the steps. */
export const stepNames: readonly string[] = [...loaders.keys()];

/** Loads a step; `undefined` if no step has this name. */
export async function findStepKind(name: string): Promise<AnyStepKind | undefined> {
  return await loaders.get(name)?.();
}

/** Loads all steps. */
export async function allStepKinds(): Promise<AnyStepKind[]> {
  return await Promise.all([...loaders.values()].map((load) => load()));
}
