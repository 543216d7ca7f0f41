/**
 * Reads and writes the rows of notices: queued, tried, sent, given up.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";

/** The row of a notice, which is sent by one channel. */
export interface StoredNotice {
  /** Two notices with the same key are the same notice. */
  dedupe_key: string;
  channel: string;
  body: string;
  tries: number;
  next_try: number;
  sent_at: number | null;
  run_key: string | null;
  created_at: number | null;
  last_error: string | null;
  given_up_at: number | null;
}

/** Inserts a notice that is due now, unless its key exists; returns whether it did. */
export async function insertNotice(
  store: Store,
  { dedupeKey, channel, body, runKey }: { dedupeKey: string; channel: string; body: string; runKey?: string },
  now: number,
): Promise<boolean> {
  return await store.run(
    `insert into outbox (dedupe_key, channel, body, next_try, run_key, created_at) values (?, ?, ?, ?, ?, ?)
      on conflict (dedupe_key) do nothing`,
    dedupeKey,
    channel,
    body,
    now,
    runKey,
    now,
  ) === 1;
}

/** Returns due notices, up to a limit. */
export async function dueNotices(store: Store, now: number, most: number): Promise<StoredNotice[]> {
  // The limit is part of the text for the same reason as in `duePage`.
  return await store.all(
    `select * from outbox where sent_at is null and given_up_at is null and next_try <= ?
      order by next_try limit ${most}`,
    now,
  );
}

/** Returns the keys and channels of unsent notices that are still tried, oldest first. */
export async function queuedNotices(store: Store): Promise<{ notice: string; channel: string }[]> {
  return await store.all(
    `select dedupe_key as notice, channel from outbox where sent_at is null and given_up_at is null
      order by created_at, dedupe_key`,
  );
}

/** Records the start of a try to send a notice. Returns `false` if another process has started that try. */
export async function beginTry(
  store: Store,
  { dedupe_key, tries }: Pick<StoredNotice, "dedupe_key" | "tries">,
  nextTryAt: number,
): Promise<boolean> {
  return await store.run(
    `update outbox set tries = tries + 1, next_try = ?
      where dedupe_key = ? and tries = ? and sent_at is null and given_up_at is null`,
    nextTryAt,
    dedupe_key,
    tries,
  ) === 1;
}

/** Records that a notice was sent. */
export async function noteSent(store: Store, key: string, now: number): Promise<void> {
  await store.run("update outbox set sent_at = ?, last_error = null where dedupe_key = ?", now, key);
}

/** Records why a notice was not sent, and whether it is given up. */
export async function noteUnsent(
  store: Store,
  key: string,
  { error, givenUpAt }: { error: string; givenUpAt: number | null },
): Promise<void> {
  await store.run(
    "update outbox set last_error = ?, given_up_at = ? where dedupe_key = ? and sent_at is null",
    error,
    givenUpAt,
    key,
  );
}

/** Returns the notices of a run, oldest first. */
export async function noticeRowsOf(store: Store, runKey: string): Promise<StoredNotice[]> {
  return await store.all("select * from outbox where run_key = ? order by created_at, dedupe_key", runKey);
}

/** Returns unsent notices with at least this many tries, oldest first. */
export async function unsentRows(store: Store, leastTries: number, most: number): Promise<StoredNotice[]> {
  return await store.all(
    `select * from outbox where sent_at is null and tries >= ? order by created_at, dedupe_key limit ?`,
    leastTries,
    most,
  );
}

/** Counts the notices that were tried and not sent. */
export async function countUnsentRows(store: Store): Promise<{ failed: number; given_up: number }> {
  return await store.get<{ failed: number; given_up: number }>(
    `select count(*) filter (where given_up_at is null) as failed,
        count(*) filter (where given_up_at is not null) as given_up
      from outbox where sent_at is null and tries > 0`,
  ) ?? { failed: 0, given_up: 0 };
}

/** Makes an unsent notice due again, even if it was given up. */
export async function makeDue(store: Store, key: string, now: number): Promise<void> {
  // The first try queued the fallbacks, so `tries` stays at least 1.
  await store.run(
    `update outbox set next_try = ?, tries = case when tries > 1 then 1 else tries end,
      given_up_at = null
      where dedupe_key = ? and sent_at is null`,
    now,
    key,
  );
}

/** Removes an unsent notice and returns it; `undefined` if it was sent in the meantime. */
export async function removeUnsent(store: Store, key: string): Promise<StoredNotice | undefined> {
  const row = await store.get<StoredNotice>(
    "select * from outbox where dedupe_key = ? and sent_at is null",
    key,
  );
  if (row !== undefined) await store.run("delete from outbox where dedupe_key = ?", key);
  return row;
}
