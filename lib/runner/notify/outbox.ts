/**
 * Lists notices by their state, and sends them again or dismisses them.
 *
 * @module
 */
import {
  countUnsentRows,
  makeDue,
  noticeRowsOf,
  removeUnsent,
  type StoredNotice,
  unsentRows,
} from "../queries/events.ts";
import type { Store } from "../../store/store.ts";
import { bodyOf } from "./notify.ts";

/** State of a notice: `waiting` was not tried yet, `failed` is tried again, `given up` is not tried again. */
export type NoticeState = "waiting" | "failed" | "given up" | "sent";

/** A notice for one channel, with its state. */
export interface NoticeRow {
  /** Key of the row. */
  key: string;
  /** The run that the notice reports; absent if it reports none. */
  runKey?: string;
  recipe?: string;
  /** Number of the notice in the recipe, from 1. */
  notice?: number;
  channel: string;
  state: NoticeState;
  tries: number;
  /** Why the last try failed. */
  error?: string;
  /** Epoch milliseconds, like the other instants. */
  createdAt?: number;
  sentAt?: number;
  givenUpAt?: number;
  /** When the notice is tried again; absent if it is not tried again. */
  nextTryAt?: number;
}

/** Returns the notices of a run, oldest first. */
export async function noticesOf(store: Store, runKey: string): Promise<NoticeRow[]> {
  return (await noticeRowsOf(store, runKey)).map(rowOf);
}

/** Which unsent notices to list. */
interface UnsentOptions {
  /** Omits notices that were not tried yet. */
  failedOnly?: boolean;
  /** Maximum number of rows. @default 1000 */
  limit?: number;
}

/** Returns notices that were not sent, oldest first. */
export async function unsentNotices(store: Store, options: UnsentOptions = {}): Promise<NoticeRow[]> {
  const { failedOnly = false, limit = 1000 } = options;
  return (await unsentRows(store, failedOnly ? 1 : 0, limit)).map(rowOf);
}

/** Counts of notices that were not sent. */
interface UnsentCount {
  /** Not tried yet. */
  queued: number;
  /** Tried; another try is planned. */
  failed: number;
  /** Tried; no further try is planned. */
  givenUp: number;
}

/** Counts the notices that were not sent. */
export async function countUnsent(store: Store): Promise<UnsentCount> {
  const { queued, failed, given_up: givenUp } = await countUnsentRows(store);
  return { queued, failed, givenUp };
}

/** Returns a text that says how many notices could not be sent, and what to do; `undefined` if none failed. */
export function unsentText({ failed, givenUp }: UnsentCount): string | undefined {
  const all = failed + givenUp;
  if (all === 0) return undefined;
  const what = all === 1 ? "1 notice was not sent" : `${all} notices were not sent`;
  const given = givenUp === 0
    ? ""
    : givenUp === all
    ? ", and hsgate does not try again"
    : `, ${givenUp} of them given up`;
  return `${what}${given}: "hsgate notices" lists them, and "hsgate notices --send" sends them again`;
}

/** Makes the unsent notices with these keys due now, even if they were given up. */
export async function retryNotices(store: Store, keys: readonly string[], now: number): Promise<void> {
  await store.transaction(async () => {
    for (const key of keys) await makeDue(store, key, now);
  });
}

/** Deletes the unsent notices with these keys. An event for each deleted notice records who dismissed it. */
export async function dismissNotices(
  store: Store,
  keys: readonly string[],
  { actor, now }: { actor: string; now: number },
): Promise<void> {
  await store.transaction(async () => {
    for (const key of keys) {
      const row = await removeUnsent(store, key);
      if (row === undefined) continue; // another process has sent it meanwhile
      const { channel, tries, last_error: error, run_key } = row;
      await store.event(
        now,
        "notice_dismissed",
        { dedupeKey: key, channel, tries, error, actor },
        run_key ?? undefined,
      );
    }
  });
}

function rowOf(row: StoredNotice): NoticeRow {
  const { dedupe_key: key, channel, tries, sent_at, given_up_at, last_error, created_at } = row;
  const { run, notice } = bodyOf(row.body);
  const runKey = row.run_key ?? run?.runKey;
  const state: NoticeState = sent_at !== null
    ? "sent"
    : given_up_at !== null
    ? "given up"
    : tries === 0
    ? "waiting"
    : "failed";
  return {
    key,
    ...runKey !== undefined && { runKey },
    ...run !== undefined && { recipe: run.recipe },
    ...notice !== undefined && { notice: notice + 1 },
    channel,
    state,
    tries,
    ...last_error !== null && { error: last_error },
    ...created_at !== null && { createdAt: created_at },
    ...sent_at !== null && { sentAt: sent_at },
    ...given_up_at !== null && { givenUpAt: given_up_at },
    ...(state === "waiting" || state === "failed") && { nextTryAt: row.next_try },
  };
}
