/**
 * When a login that is kept alive is about to run out: said while there is time to do something about it, and once.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import type { RunRow } from "./run_rows.ts";
import { eachSlot, showInstant } from "./slots.ts";

const REACH_MS = 35 * 86_400_000;

/**
 * Writes down that a login ends before the query after the next, when a query has failed, and returns what to tell.
 * Within the transaction that ends the run.
 */
export function noteLoginEnd(
  ledger: Ledger,
  recipe: Pick<CompiledRecipe, "name" | "class" | "schedules">,
  row: RunRow,
  now: number,
): string | undefined {
  if (recipe.class !== "keep-alive" || row.state !== "failed") return undefined;
  const last = ledger.get<{ slot_at: number; output: string }>(
    `select r.slot_at, s.output from run r join step_run s on s.run_key = r.run_key
      where r.recipe = ? and r.state = 'ok' and s.output like '%"holdsUntil"%' order by r.slot_at desc limit 1`,
    recipe.name,
  );
  if (last === undefined) return undefined;
  // Written by the step `keep-login`.
  const { holdsUntil } = JSON.parse(last.output) as { holdsUntil: string };
  const endsAt = Date.parse(holdsUntil);
  const periodMs = periodAfter(recipe, row, now);
  // One more query may still come; if that fails too, the login is gone before the one after it.
  if (endsAt - now > 1.5 * periodMs) return undefined;
  const told = ledger.get(
    `select 1 as there from event e join run r on r.run_key = e.run_key
      where r.recipe = ? and r.slot_at > ? and e.kind = 'login_expiring' limit 1`,
    recipe.name,
    last.slot_at,
  );
  if (told !== undefined) return undefined;
  ledger.event(now, "login_expiring", { holdsUntil }, row.run_key);
  return endsAt <= now
    ? `the login ran out at ${showInstant(endsAt)}, as no query came through`
    : `the login runs out at ${showInstant(endsAt)} unless a query comes through`;
}

function periodAfter({ schedules }: Pick<CompiledRecipe, "schedules">, row: RunRow, now: number): number {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined) return 0;
  if (schedule.form === "every") return schedule.everyMs;
  const { value } = eachSlot(schedule, now, now + REACH_MS).next();
  return value === undefined ? 0 : value.at - now;
}
