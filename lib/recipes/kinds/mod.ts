/**
 * Lists all built-in steps other than the operations of the catalogue.
 *
 * @module
 */
import { cancelOpenOrders } from "./cancel_open_orders.ts";
import { convertReport } from "./convert_report.ts";
import { exportDayBookStep } from "./export_day_book.ts";
import { keepLogin } from "./keep_login.ts";
import type { StepKind } from "./kind.ts";
import { notify } from "./notify.ts";
import { runRecipeStep } from "./run_recipe.ts";
import { snapshot } from "./snapshot.ts";
import { waitFor } from "./wait_for.ts";
import { watch } from "./watch.ts";

/** A step with any parameters. */
// deno-lint-ignore no-explicit-any -- parameters are contravariant: only `any` allows all steps in one table
export type AnyStepKind = StepKind<any, unknown>;

/** Steps by their names. */
export const stepKinds: ReadonlyMap<string, AnyStepKind> = new Map(
  [
    exportDayBookStep,
    keepLogin,
    waitFor,
    snapshot,
    watch,
    cancelOpenOrders,
    convertReport,
    notify,
    runRecipeStep,
  ].map((kind: AnyStepKind) => [kind.name, kind]),
);
