/**
 * Rows of notices: queued, tried, sent, given up.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";

/** A notice by one channel as the store holds it. */
export interface StoredNotice {
  /** Two notices with the same key are one. */
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

/** Writes a notice that is due now unless there is one of that key, and returns whether it did. */
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

/** Returns the notices that are due, at most so many. */
export async function dueNotices(store: Store, now: number, most: number): Promise<StoredNotice[]> {
  return await store.all(
    `select * from outbox where sent_at is null and given_up_at is null and next_try <= ?
      order by next_try limit ?`,
    now,
    most,
  );
}

/** Returns the keys and channels of the notices that are still to be sent, oldest first. */
export async function queuedNotices(store: Store): Promise<{ notice: string; channel: string }[]> {
  return await store.all(
    `select dedupe_key as notice, channel from outbox where sent_at is null and given_up_at is null
      order by created_at, dedupe_key`,
  );
}

/** Counts a try that begins, and returns whether it is this process's: no other has begun one meanwhile. */
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

/** Notes that a notice was sent. */
export async function noteSent(store: Store, key: string, now: number): Promise<void> {
  await store.run("update outbox set sent_at = ?, last_error = null where dedupe_key = ?", now, key);
}

/** Notes why a notice was not sent, and whether it is given up. */
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

/** Returns notices that were not sent and were tried so often at least, oldest first. */
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

/** Makes a notice that was not sent due again, given up or not. */
export async function makeDue(store: Store, key: string, now: number): Promise<void> {
  // Of its first try a notice has queued its fallbacks, so that it stays one that was tried.
  await store.run(
    `update outbox set next_try = ?, tries = min(tries, 1), given_up_at = null
      where dedupe_key = ? and sent_at is null`,
    now,
    key,
  );
}

/** Removes a notice that was not sent, and returns it; nothing when it was sent meanwhile. */
export async function removeUnsent(store: Store, key: string): Promise<StoredNotice | undefined> {
  const row = await store.get<StoredNotice>(
    "select * from outbox where dedupe_key = ? and sent_at is null",
    key,
  );
  if (row !== undefined) await store.run("delete from outbox where dedupe_key = ?", key);
  return row;
}
