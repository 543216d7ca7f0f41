/**
 * Reads and writes leases. A lease has one holder until it expires; the fence number distinguishes holders.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";

/** A request for a lease. */
interface LeaseRequest {
  name: string;
  holder: string;
  now: number;
  /** When it expires unless it is renewed, epoch milliseconds. */
  until: number;
}

/** Takes or renews a lease; returns its fence, or `undefined` while another process holds it. */
export async function takeLease(
  store: Store,
  { name, holder, now, until }: LeaseRequest,
): Promise<number | undefined> {
  return (await store.get<{ fence: number }>(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until,
        fence = lease.fence + case when lease.holder = excluded.holder then 0 else 1 end
      where lease.holder = excluded.holder or lease.until <= ? returning fence`,
    name,
    holder,
    until,
    now,
  ))?.fence;
}

/** Extends a lease that is still held. */
export async function renewLease(
  store: Store,
  { name, holder, until }: Omit<LeaseRequest, "now">,
): Promise<boolean> {
  return await store.run("update lease set until = ? where name = ? and holder = ?", until, name, holder) ===
    1;
}

/** Releases a lease. The row stays, so that the fence keeps increasing. */
export async function releaseLease(store: Store, name: string, holder: string): Promise<void> {
  await store.run("update lease set until = 0, holder = '' where name = ? and holder = ?", name, holder);
}

/** Returns the current holder of a lease. */
export async function leaseHolder(store: Store, name: string, now: number): Promise<string | undefined> {
  return (await store.get<{ holder: string }>(
    "select holder from lease where name = ? and until > ?",
    name,
    now,
  ))
    ?.holder;
}

/** Returns a hold, even if it has expired; `undefined` if it was ended. */
export async function findHold(
  store: Store,
  name: string,
): Promise<{ holder: string; until: number } | undefined> {
  return await store.get("select holder, until from lease where name = ? and until > 0", name);
}

/** Begins a hold in the name of a run; replaces an existing one. */
export async function setHold(
  store: Store,
  { name, runKey, until }: { name: string; runKey: string; until: number },
): Promise<void> {
  await store.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1`,
    name,
    runKey,
    until,
  );
}

/** Begins a hold in the name of a run, unless one exists. */
export async function setFirstHold(
  store: Store,
  { name, runKey, until }: { name: string; runKey: string; until: number },
): Promise<void> {
  await store.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1
      where lease.until = 0`,
    name,
    runKey,
    until,
  );
}

/** Ends a hold. */
export async function endHold(store: Store, name: string): Promise<void> {
  await store.run("update lease set until = 0 where name = ? and until > 0", name);
}

/** Returns whether a run of a recipe began a login hold that has not ended. */
export async function hasLoginHold(store: Store, recipe: string): Promise<boolean> {
  return await store.get(
    `select 1 as there from lease join run on run_key = lease.holder
      where (name like 'displaced:%' or name like 'login:%') and until > 0 and recipe = ?`,
    recipe,
  ) !== undefined;
}

/** Ends every login hold that a run of a recipe began; returns how many. */
export async function endLoginHolds(store: Store, recipe: string): Promise<number> {
  return await store.run(
    `update lease set until = 0 where (name like 'displaced:%' or name like 'login:%') and until > 0
      and exists (select 1 from run where run_key = lease.holder and recipe = ?)`,
    recipe,
  );
}
