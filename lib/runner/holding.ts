/**
 * What a process may do while it holds a run: every write into the ledger stands under the claim.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import type { Claim } from "./claims.ts";
import { releaseLease, renewLease } from "./leases.ts";
import type { Ledger } from "./ledger.ts";
import type { RunState } from "./run_rows.ts";

/** The lease of a run ran out and somebody else may have it: stop at once, write nothing more. */
export class LeaseLostError extends BrokerError {
  override readonly name: string = "LeaseLostError";
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
