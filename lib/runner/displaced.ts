/**
 * When another device has taken the login over: nothing of the account is asked any more, by any process that shares
 * the ledger, until a person says so. Logging in again by ourselves would start a fight.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";

/** Why a recipe stands still after that. */
export const DISPLACED = "another device took over the login";

const NAME = "displaced:";
/** The last instant that there is. */
const FOREVER = 8.64e15;

/** Tells whether a recipe needs a login at all; one that only tells people something goes on. */
export function asksBroker({ steps }: Pick<CompiledRecipe, "steps">): boolean {
  return steps.some(({ effect }) => effect !== "local");
}

/** Holds back everything on an account. Within the last transaction of the run that found out. */
export function holdLogin(
  ledger: Ledger,
  { account, runKey, now }: { account: string; runKey: string; now: number },
): void {
  ledger.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1
      where lease.until = 0`,
    `${NAME}${account}`,
    runKey,
    FOREVER,
  );
  ledger.event(now, "displaced", { account }, runKey);
}

/** Returns the run that found the login taken over, while nobody has said that it may be used again. */
export function displacedBy(ledger: Ledger, account: string): string | undefined {
  return ledger.get<{ holder: string }>(
    "select holder from lease where name = ? and until > 0",
    `${NAME}${account}`,
  )?.holder;
}

/** Returns whether a recipe is the one that found a login taken over, or refused. */
export function holdsLogin(ledger: Ledger, recipe: string): boolean {
  return ledger.get(
    `select 1 as there from lease join run on run_key = lease.holder
      where (name like 'displaced:%' or name like 'login:%') and until > 0 and recipe = ?`,
    recipe,
  ) !== undefined;
}

/** Lets an account be used again when this recipe found its login taken over or refused; returns whether it was held. */
export function releaseLogin(ledger: Ledger, recipe: string, now: number): boolean {
  const freed = ledger.run(
    `update lease set until = 0 where (name like 'displaced:%' or name like 'login:%') and until > 0
      and exists (select 1 from run where run_key = lease.holder and recipe = ?)`,
    recipe,
  );
  if (freed > 0) ledger.event(now, "login_released", { recipe });
  return freed > 0;
}
