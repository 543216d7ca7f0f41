/**
 * Rehearses recipes: runs them over days, months or a year of virtual time within seconds. Schedules, misfire policies,
 * calendars and steps are the real ones; the broker is the simulator.
 *
 * @example Test your own recipes
 * ```ts
 * import { rehearse, reportLines } from "hsgate/rehearsal";
 *
 * const recipe = await Deno.makeTempFile({ suffix: ".yaml" });
 * await Deno.writeTextFile(recipe, `
 * name: funds
 * schedule: { calendar: XHKG, at: close+45m }
 * steps:
 *   - { id: funds, uses: account.funds, with: { market: hk } }
 * `);
 * const result = await rehearse({
 *   recipes: [recipe],
 *   from: "2025-12-22",
 *   to: "2025-12-26",
 *   outages: [{ at: "2025-12-23T16:40+08:00", for: "20m", what: "gateway-down" }],
 * });
 * const funds = result.recipes[0];
 * if (funds?.ok !== 2 || funds.failed !== 1 || funds.reasons.holiday !== 2) {
 *   throw new Error(reportLines(result).join("\n"));
 * }
 * await Deno.remove(recipe);
 * ```
 *
 * @module
 */
export { differences } from "./golden.ts";
export { outageKinds } from "./outages.ts";
export { rehearse } from "./rehearse.ts";
export { reportLines, summaryLine } from "./report.ts";

export type { Outage, OutageKind } from "./outages.ts";
export type { RehearsalProgress, RehearseOptions } from "./rehearse.ts";
export type {
  ClockChange,
  RecipeTally,
  RehearsalEvent,
  RehearsalException,
  RehearsalResult,
  SpecialDay,
  WouldHaveSent,
} from "./result.ts";
