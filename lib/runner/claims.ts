/**
 * Who runs what: claims with a lease and a fence, the account's mutex, and what becomes of a dead process's runs.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { asksBroker, displacedBy } from "./displaced.ts";
import type { Recipes } from "./judging.ts";
import { leaseHolder, releaseLease, renewLease, takeLease } from "./leases.ts";
import type { Ledger } from "./ledger.ts";
import { pauseOf } from "./paused.ts";
import { type Because, findRun, holdRun, type RunRow, type RunState, skipRun } from "./run_rows.ts";
import { whyNoWrites } from "./write_guard.ts";

/** The lease of a run ran out and somebody else may have it: stop at once, write nothing more. */
export class LeaseLostError extends BrokerError {
  override readonly name: string = "LeaseLostError";
}

/** A process that claims runs. */
export interface Claimer {
  /** A name that no other process has. */
  holder: string;
  leaseMs: number;
  /** The account that a recipe acts on; the mutex of its trade login is named after it. */
  accountOf(recipe: CompiledRecipe): string;
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

/** Tells whether a run belongs to the process that began it, and to nobody else. */
export const isOwned = ({ kind }: Pick<RunRow, "kind">): boolean => kind === "manual" || kind === "dry";

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
        and kind not in ('manual', 'dry') group by recipe order by first`,
      now,
    );
    for (const { recipe: name } of names) {
      const recipe = recipes.get(name);
      const row = recipe && ledger.get<RunRow>(
        `select * from run where recipe = ? and state = 'due' and due_at <= ?
          and kind not in ('manual', 'dry') order by due_at, run_key limit 1`,
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
    `update run set holder = ?, lease_until = ? where run_key = ? and state = 'due' and kind in ('manual', 'dry')
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
  { holder, leaseMs, accountOf, onHeld }: Claimer,
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

/** The run of which it is open what it wrote on the account. */
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

/** Tells whether a claim still holds, read within the transaction that relies on it. */
export function holds(ledger: Ledger, { runKey, holder, fence }: Claim, now: number): boolean {
  return ledger.get(
    `select 1 as there from run where run_key = ? and holder = ? and fence = ? and state = 'running'
      and lease_until >= ?`,
    runKey,
    holder,
    fence,
    now,
  ) !== undefined;
}

/** Does something under a claim, in one transaction. @throws {LeaseLostError} When it does not hold any more. */
export function underClaim<T>(ledger: Ledger, claim: Claim, now: number, work: () => T): T {
  return ledger.transaction(() => {
    if (!holds(ledger, claim, now)) {
      throw new LeaseLostError(`Cannot go on with run "${claim.runKey}": its lease is lost`, {
        code: "lease-lost",
      });
    }
    return work();
  });
}

/** Prolongs a claim and its mutex; tells whether somebody asked to cancel. @throws {LeaseLostError} */
export function renewClaim(ledger: Ledger, claim: Claim, now: number): { cancelAsked?: string } {
  const { runKey, holder, fence, leaseMs, mutex } = claim;
  return ledger.transaction(() => {
    const row = ledger.get<{ cancel_asked: string | null }>(
      `update run set lease_until = ? where run_key = ? and holder = ? and fence = ? and state = 'running'
        returning cancel_asked`,
      now + leaseMs,
      runKey,
      holder,
      fence,
    );
    const kept = mutex === undefined ||
      renewLease(ledger, { name: mutex, holder: `${holder} ${runKey}`, until: now + leaseMs });
    if (row === undefined || !kept) {
      throw new LeaseLostError(`Cannot go on with run "${runKey}": its lease is lost`, {
        code: "lease-lost",
      });
    }
    return { cancelAsked: row.cancel_asked ?? undefined };
  });
}

/** Ends a claimed run. @throws {LeaseLostError} */
export function endRun(
  ledger: Ledger,
  claim: Claim,
  { state, reason, now }: { state: RunState; reason?: string; now: number },
): void {
  underClaim(ledger, claim, now, () => {
    ledger.run(
      `update run set state = ?, reason = ?, holder = null, lease_until = null, cancel_asked = null,
        finished_at = ? where run_key = ?`,
      state,
      reason,
      state === "due" || state === "waiting_recovery" ? undefined : now,
      claim.runKey,
    );
    if (claim.mutex !== undefined) releaseLease(ledger, claim.mutex, `${claim.holder} ${claim.runKey}`);
    ledger.event(now, state === "due" ? "released" : "ended", { state, reason }, claim.runKey);
  });
}

/**
 * Takes runs from processes that died. Those that only read go back; those that had begun to write wait until it is
 * known what came of it, and never run again by themselves. One by hand is over, whatever it had come to: nobody else
 * knows where it was to go.
 */
export function recoverExpired(ledger: Ledger, now: number): { runKey: string; state: RunState }[] {
  return ledger.transaction(() =>
    ledger.all<RunRow>(
      `select * from run where lease_until < ? and (state = 'running'
        or (state = 'due' and kind in ('manual', 'dry')))`,
      now,
    ).map((row) => ({ runKey: row.run_key, state: recoverRun(ledger, row, now) }))
  );
}

/** Takes one run from the process that had it, and returns what it is now. Within a transaction. */
export function recoverRun(ledger: Ledger, row: RunRow, now: number): RunState {
  const { run_key: runKey, holder, account, fence } = row;
  const state = hasWritten(ledger, runKey) ? "waiting_recovery" : isOwned(row) ? "cancelled" : "due";
  ledger.run(
    `update run set state = ?, reason = ?, finished_at = ?, holder = null, lease_until = null, cancel_asked = null
      where run_key = ?`,
    state,
    state === "cancelled" ? whyOver(row) : row.reason,
    state === "cancelled" ? now : row.finished_at,
    runKey,
  );
  if (account !== null && holder !== null) releaseLease(ledger, mutexOf(account), `${holder} ${runKey}`);
  ledger.event(now, "recovered", { state, fence }, runKey);
  // A pause holds for what would begin again, too.
  const isPaused = state === "due" && (row.kind === "live" || row.kind === "catchup") &&
    pauseOf(ledger, row.recipe) !== undefined;
  return isPaused && skipRun(ledger, runKey, "paused", now) ? "skipped" : state;
}

/** Tells whether a step that writes was begun. */
export function hasWritten(ledger: Ledger, runKey: string): boolean {
  return ledger.get(
    "select 1 as there from step_run where run_key = ? and effect = 'write' and state <> 'skipped' limit 1",
    runKey,
  ) !== undefined;
}

/** Says why a run by hand is over that nobody ended, and what to do. */
function whyOver({ run_key: runKey, recipe, class: kind }: RunRow): string {
  // Its key names the run that it is part of.
  const isNested = runKey.slice(`${recipe}/m/`.length).includes("/");
  if (isNested) return "its process died; it goes on with the run that it is part of";
  return kind === "write"
    ? "its process died before it wrote anything"
    : `its process died; to go on with it: hsgate rerun ${runKey}`;
}

/** Settles a run whose writes were open, by what the order journal or a person says came of them. */
export function settleRun(
  ledger: Ledger,
  { runKey, state, actor, because, now }: {
    runKey: string;
    state: "ok" | "failed" | "unknown";
    actor: string;
    /** What the actor saw. */
    because?: string;
    now: number;
  },
): boolean {
  return ledger.transaction(() => {
    const settled = ledger.run(
      `update run set state = ?, reason = 'settled', finished_at = ? where run_key = ?
        and state in ('waiting_recovery', 'unknown')`,
      state,
      now,
      runKey,
    ) === 1;
    if (!settled) return false;
    if (state !== "unknown") {
      ledger.run(
        `update step_run set state = ?, finished_at = coalesce(finished_at, ?) where run_key = ?
          and effect = 'write' and state in ('begun', 'unknown')`,
        state,
        now,
        runKey,
      );
    }
    ledger.event(now, "settled", { state, actor, because }, runKey);
    return true;
  });
}

/** Returns which run holds an account's trade login now. */
export function accountHolder(ledger: Ledger, account: string, now: number): string | undefined {
  // The name of a process may have spaces in it, a key has none.
  return leaseHolder(ledger, mutexOf(account), now)?.split(" ").at(-1);
}
