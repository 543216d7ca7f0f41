/**
 * Counts the writes of each account, so that a store which has lost some of them is noticed.
 *
 * @module
 */
import type { Store } from "./store.ts";

/**
 * Counts a write in the transaction that begins it. {@linkcode Store.mark} then records it outside of the store.
 *
 * @param write.runKey Key of the run, or id of the intent.
 */
export async function countWrite(
  store: Store,
  { account, runKey, step, at }: { account: string; runKey: string; step: string; at: number },
): Promise<void> {
  await store.run(
    `insert into account_write (account, number, run_key, step_id, at) values (?, 1, ?, ?, ?)
      on conflict (account) do update set number = account_write.number + 1, run_key = excluded.run_key,
        step_id = excluded.step_id, at = excluded.at`,
    account,
    runKey,
    step,
    at,
  );
}
