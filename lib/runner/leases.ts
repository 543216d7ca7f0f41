/**
 * Named leases: one holder at a time, until a time; the fence tells holders apart.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";

/** What is wanted. */
export interface LeaseRequest {
  name: string;
  holder: string;
  now: number;
  /** When it runs out unless it is renewed, epoch milliseconds. */
  until: number;
}

/** Takes or renews a lease; returns its fence, or nothing while somebody else holds it. */
export function takeLease(ledger: Ledger, { name, holder, now, until }: LeaseRequest): number | undefined {
  return ledger.get<{ fence: number }>(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until,
        fence = lease.fence + case when lease.holder = excluded.holder then 0 else 1 end
      where lease.holder = excluded.holder or lease.until <= ? returning fence`,
    name,
    holder,
    until,
    now,
  )?.fence;
}

/** Prolongs a lease that is still held. */
export function renewLease(ledger: Ledger, { name, holder, until }: Omit<LeaseRequest, "now">): boolean {
  return ledger.run("update lease set until = ? where name = ? and holder = ?", until, name, holder) === 1;
}

/** Gives a lease back; the row stays, so that fences go on counting. */
export function releaseLease(ledger: Ledger, name: string, holder: string): void {
  ledger.run("update lease set until = 0, holder = '' where name = ? and holder = ?", name, holder);
}

/** Returns who holds a lease now. */
export function leaseHolder(ledger: Ledger, name: string, now: number): string | undefined {
  return ledger.get<{ holder: string }>("select holder from lease where name = ? and until > ?", name, now)
    ?.holder;
}
