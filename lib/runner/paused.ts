/**
 * Whether a recipe stands still. A pause is of the whole recipe, so that a schedule that it gets later stands still too.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";

/** Why the schedules of a recipe that is gone stand still; they go on when it comes back. */
export const GONE = "the recipe is gone";

/** Returns why a recipe is paused; nothing when nobody has paused it. */
export function pauseOf(ledger: Ledger, recipe: string): string | undefined {
  return ledger.get<{ why: string }>(
    `select paused_reason as why from schedule where recipe = ? and paused_reason is not null
      and paused_reason <> ? limit 1`,
    recipe,
    GONE,
  )?.why;
}
