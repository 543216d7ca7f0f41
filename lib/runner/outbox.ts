/**
 * What became of notices: which were sent, which are waiting, and which reached nobody.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import { bodyOf } from "./notify.ts";

/** How far a notice is: `waiting` was not tried yet, `failed` is tried again, `given up` is not. */
export type NoticeState = "waiting" | "failed" | "given up" | "sent";

/** A notice by one channel, as it stands. */
export interface NoticeRow {
  /** Key of the row. */
  key: string;
  /** The run that it tells of; absent for one that tells of none. */
  runKey?: string;
  recipe?: string;
  /** Which notice of the recipe, counted from 1. */
  notice?: number;
  channel: string;
  state: NoticeState;
  tries: number;
  /** Why the last try failed. */
  error?: string;
  /** Epoch milliseconds, as the others are. */
  createdAt?: number;
  sentAt?: number;
  givenUpAt?: number;
  /** When it is tried again; absent once it is not. */
  nextTryAt?: number;
}

/** A row of the table. */
interface Stored {
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

/** Returns the notices of a run, oldest first. */
export function noticesOf(ledger: Ledger, runKey: string): NoticeRow[] {
  return ledger.all<Stored>(
    "select * from outbox where run_key = ? order by created_at, dedupe_key",
    runKey,
  ).map(rowOf);
}

/** Which notices are wanted. */
export interface UnsentOptions {
  /** Leaves out those that were not tried yet. */
  failedOnly?: boolean;
  /** Only those of this recipe. */
  recipe?: string;
  /** Most rows. @default 1000 */
  limit?: number;
}

/** Returns notices that were not sent, oldest first. */
export function unsentNotices(ledger: Ledger, options: UnsentOptions = {}): NoticeRow[] {
  const { failedOnly = false, recipe, limit = 1000 } = options;
  return ledger.all<Stored>(
    `select * from outbox where sent_at is null and tries >= ? order by created_at, dedupe_key limit ?`,
    failedOnly ? 1 : 0,
    limit,
  ).map(rowOf).filter((row) => recipe === undefined || row.recipe === recipe);
}

/** How many notices reached nobody yet, of those that were tried. */
export interface UnsentCount {
  /** Tried, and to be tried again. */
  failed: number;
  /** Not tried any more. */
  givenUp: number;
}

/** Counts the notices that were tried and not sent. */
export function countUnsent(ledger: Ledger): UnsentCount {
  const row = ledger.get<{ failed: number; given_up: number }>(
    `select count(*) filter (where given_up_at is null) as failed,
        count(*) filter (where given_up_at is not null) as given_up
      from outbox where sent_at is null and tries > 0`,
  );
  return { failed: row?.failed ?? 0, givenUp: row?.given_up ?? 0 };
}

/** Says that notices were not sent, and what to do; nothing when all were. */
export function unsentText({ failed, givenUp }: UnsentCount): string | undefined {
  const all = failed + givenUp;
  if (all === 0) return undefined;
  const what = all === 1 ? "1 notice was not sent" : `${all} notices were not sent`;
  const given = givenUp === 0
    ? ""
    : givenUp === all
    ? ", and not tried any more"
    : `, ${givenUp} of them given up`;
  return `${what}${given}: "hsgate notices" lists them and sends them again`;
}

/** Has notices tried again at once, given up or not, by the keys of their rows. */
export function retryNotices(ledger: Ledger, keys: readonly string[], now: number): void {
  ledger.transaction(() => {
    for (const key of keys) {
      // Of its first try a notice has queued its fallbacks, so that it stays one that was tried.
      ledger.run(
        `update outbox set next_try = ?, tries = min(tries, 1), given_up_at = null
          where dedupe_key = ? and sent_at is null`,
        now,
        key,
      );
    }
  });
}

/** Takes notices that were not sent off the list, by the keys of their rows; an event of each run keeps the reason. */
export function dismissNotices(
  ledger: Ledger,
  keys: readonly string[],
  { actor, now }: { actor: string; now: number },
): void {
  ledger.transaction(() => {
    for (const key of keys) {
      const row = ledger.get<Stored>("select * from outbox where dedupe_key = ? and sent_at is null", key);
      if (row === undefined) continue; // another process has sent it meanwhile
      const { channel, tries, last_error: error, run_key } = row;
      ledger.run("delete from outbox where dedupe_key = ?", key);
      ledger.event(
        now,
        "notice_dismissed",
        { dedupeKey: key, channel, tries, error, actor },
        run_key ?? undefined,
      );
    }
  });
}

function rowOf(row: Stored): NoticeRow {
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
