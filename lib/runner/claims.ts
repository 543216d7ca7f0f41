/**
 * Who runs what: claims with a lease and a fence, and the account's mutex.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import { asksBroker, displacedBy } from "./displaced.ts";
import type { Recipes } from "./judging.ts";
import { leaseHolder, takeLease } from "./leases.ts";
import type { Ledger } from "./ledger.ts";
import { refusedLoginOn } from "./refused_login.ts";
import { type Because, findRun, holdRun, isOwned, ownedKinds, type RunRow, skipRun } from "./run_rows.ts";
import { whyNoWrites } from "./write_guard.ts";

/** A process that claims runs. */
export interface Claimer {
  /** A name that no other process has. */
  holder: string;
  leaseMs: number;
  /** The account that a recipe acts on; the mutex of its trade login is named after it. */
  accountOf(recipe: CompiledRecipe): string;
  /** A mark of the password that a recipe logs in with, made with a salt; see `markPassword`. @default none */
  passwordMarkOf?(recipe: CompiledRecipe, salt: string): string | undefined;
  /** Told once for each thing that stands in the way of a run that is due. */
  onHeld?(held: Held): void;
}

/** A run that is due and may not begin. */
export interface Held {
  runKey: string;
  because: Because;
  /** The run, or the circumstance, that stands in its way. */
  by?: string;
}

/** A run that this process holds. */
export interface Claim {
  runKey: string;
  holder: string;
  fence: number;
  leaseMs: number;
  /** Name of the mutex that came with it. */
  mutex?: string;
}

/** A step that runs another recipe, in a run that this process holds. */
export interface CallingStep extends Claim {
  step: string;
  /** How often this attempt at the step has asked for the same, by what it asked for. */
  calls: Map<string, number>;
  /** Given when the run is to end. */
  halt: AbortSignal;
}

/** Why a run could not be claimed now; `owned` when it belongs to another process. */
export type Refusal = "not-due" | "overlap" | "deadline" | "owned" | Because;

/** Name of the mutex of an account's trade login. */
export const mutexOf = (account: string): string => `account:${account}`;

/**
 * Claims the run that has been due the longest and that nothing stands in the way of. Never one by hand: whoever
 * started it told it where to go, and waits for it.
 */
export function claimNext(
  ledger: Ledger,
  recipes: Recipes,
  claimer: Claimer,
  now: number,
): Claim | undefined {
  return ledger.transaction(() => {
    const names = ledger.all<{ recipe: string }>(
      `select recipe, min(due_at) as first from run where state = 'due' and due_at <= ?
        and kind not in ${ownedKinds} group by recipe order by first`,
      now,
    );
    for (const { recipe: name } of names) {
      const recipe = recipes.get(name);
      const row = recipe && ledger.get<RunRow>(
        `select * from run where recipe = ? and state = 'due' and due_at <= ?
          and kind not in ${ownedKinds} order by due_at, run_key limit 1`,
        name,
        now,
      );
      if (recipe === undefined || row === undefined) continue;
      const claim = tryClaim(ledger, recipe, row, claimer, now);
      if (typeof claim !== "string") return claim;
    }
    return undefined;
  });
}

/** Claims one run, or says why not. */
export function claimRun(
  ledger: Ledger,
  recipe: CompiledRecipe,
  runKey: string,
  claimer: Claimer,
  now: number,
): Claim | Refusal {
  return ledger.transaction(() => {
    const row = findRun(ledger, runKey);
    if (row?.state !== "due" || row.due_at > now) return "not-due";
    if (isOwned(row) && row.holder !== null && row.holder !== claimer.holder) return "owned";
    return tryClaim(ledger, recipe, row, claimer, now);
  });
}

/**
 * Makes a run by hand that is due this process's own until a time, or prolongs that; tells whether it is. One that was
 * made, or made due again, a moment ago has no owner yet.
 */
export function ownRun(
  ledger: Ledger,
  { runKey, holder, until }: { runKey: string; holder: string; until: number },
): boolean {
  return ledger.run(
    `update run set holder = ?, lease_until = ? where run_key = ? and state = 'due' and kind in ${ownedKinds}
      and (holder is null or holder = ?)`,
    holder,
    until,
    runKey,
    holder,
  ) === 1;
}

function tryClaim(
  ledger: Ledger,
  recipe: CompiledRecipe,
  row: RunRow,
  { holder, leaseMs, accountOf, passwordMarkOf, onHeld }: Claimer,
  now: number,
): Claim | Refusal {
  if (row.deadline_at !== null && now > row.deadline_at) {
    skipRun(ledger, row.run_key, "deadline", now);
    return "deadline";
  }
  if (recipe.class === "write" && row.class !== "write") {
    // Its row knows no window, and what it was listed for was no order.
    skipRun(ledger, row.run_key, "recipe_changed", now);
    return "not-due";
  }
  if (isOverlapped(ledger, recipe, row)) return "overlap";
  const account = accountOf(recipe);
  const hold = (because: Because, by?: string): Because => {
    if (holdRun(ledger, { runKey: row.run_key, because, by, now })) {
      onHeld?.({ runKey: row.run_key, because, by });
    }
    return because;
  };
  const displaced = asksBroker(recipe) ? displacedBy(ledger, account) : undefined;
  if (displaced !== undefined) return hold("displaced", displaced);
  const markOf = (salt: string) => passwordMarkOf?.(recipe, salt);
  const refused = asksBroker(recipe)
    ? refusedLoginOn(ledger, account, { now, needsAccount: recipe.needsAccount, markOf })
    : undefined;
  if (refused !== undefined) return hold(refused.because, refused.by);
  if (recipe.class === "write") {
    const open = unsettledOn(ledger, account);
    if (open !== undefined) return hold("recovery", open);
    const unsafe = whyNoWrites(ledger, now);
    if (unsafe !== undefined) return hold("unsafe", unsafe);
    // Its lease may have run out a moment ago: until somebody has recovered it, it may still be writing.
    const other = writingOn(ledger, account);
    if (other !== undefined) return hold("account", other);
  }
  const until = now + leaseMs;
  const mutex = recipe.needsAccount ? mutexOf(account) : undefined;
  const owner = `${holder} ${row.run_key}`;
  if (mutex !== undefined && takeLease(ledger, { name: mutex, holder: owner, now, until }) === undefined) {
    return hold("account", accountHolder(ledger, account, now));
  }
  const claimed = ledger.get<{ fence: number }>(
    `update run set state = 'running', holder = ?, account = ?, lease_until = ?, fence = fence + 1,
      attempt = attempt + 1, recipe_sha = ?, started_at = coalesce(started_at, ?), reason = null
      where run_key = ? and state = 'due' returning fence`,
    holder,
    account,
    until,
    recipe.sha256,
    now,
    row.run_key,
  );
  if (claimed === undefined) return "not-due";
  ledger.event(now, "claimed", { holder, fence: claimed.fence, lateMs: now - row.due_at }, row.run_key);
  return { runKey: row.run_key, holder, fence: claimed.fence, leaseMs, mutex };
}

/** Runs that make up for missed ones come one at a time, whatever else may run beside each other. */
function isOverlapped(ledger: Ledger, { name, overlap }: CompiledRecipe, { kind }: RunRow): boolean {
  if (overlap === "parallel" && kind === "live") return false;
  const others = overlap === "parallel" ? "and kind in ('catchup', 'backfill')" : "";
  return ledger.get(
    `select 1 as there from run where recipe = ? and state = 'running' ${others} limit 1`,
    name,
  ) !== undefined;
}

/** Returns the run whose writes on the account have an unknown outcome. */
export function unsettledOn(ledger: Ledger, account: string): string | undefined {
  return ledger.get<{ run_key: string }>(
    `select run_key from run where class = 'write' and state in ('waiting_recovery', 'unknown')
      and account = ? order by slot_at limit 1`,
    account,
  )?.run_key;
}

function writingOn(ledger: Ledger, account: string): string | undefined {
  return ledger.get<{ run_key: string }>(
    "select run_key from run where class = 'write' and state = 'running' and account = ? limit 1",
    account,
  )?.run_key;
}

/** Returns which run holds an account's trade login now. */
export function accountHolder(ledger: Ledger, account: string, now: number): string | undefined {
  // The name of a process may have spaces in it, a key has none.
  return leaseHolder(ledger, mutexOf(account), now)?.split(" ").at(-1);
}
