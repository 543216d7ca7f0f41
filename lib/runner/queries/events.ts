/**
 * Reads and writes events of runs and schedules, log lines, and the rows of notices.
 *
 * @module
 */
import { rowsValue, type Store } from "../../store/store.ts";

/** The row of an event; its data is JSON. */
interface EventRow {
  at: number;
  kind: string;
  data: string;
}

/** Kind of the event that is written right before a step sends a write. */
export const WRITE_SENT = "write_sent";

/** Kind of the event that says whether a round of a run is live or a plan. */
export const TRADING = "trading";

/** Records events of one kind at one instant, in this order. */
export async function insertEvents(
  store: Store,
  { at, kind }: { at: number; kind: string },
  events: readonly { data: Readonly<Record<string, unknown>>; runKey?: string }[],
): Promise<void> {
  if (events.length === 0) return;
  await store.run(
    `insert into event (at, run_key, kind, data)
      select cast(? as bigint), given.value ->> 0, cast(? as text), given.value ->> 1 from json_each(?) as given
      order by given.key`,
    at,
    kind,
    rowsValue(events.map(({ data, runKey }) => [runKey, JSON.stringify(data)])),
  );
}

/** Returns the events of a run, oldest first. */
export async function eventsOf(store: Store, runKey: string): Promise<EventRow[]> {
  return await store.all("select at, kind, data from event where run_key = ? order by seq", runKey);
}

/** Returns the data of a run's events of one kind, oldest first. */
export async function eventDataOf(store: Store, runKey: string, kind: string): Promise<string[]> {
  return (await store.all<{ data: string }>(
    "select data from event where run_key = ? and kind = ? order by seq",
    runKey,
    kind,
  )).map(({ data }) => data);
}

/** Returns the data of a run's last event of one kind. */
export async function lastEventData(
  store: Store,
  runKey: string,
  kind: string,
): Promise<string | undefined> {
  return (await store.get<{ data: string }>(
    "select data from event where run_key = ? and kind = ? order by seq desc limit 1",
    runKey,
    kind,
  ))?.data;
}

/** Returns whether a run has an event of this kind with these data. */
export async function hasEvent(store: Store, runKey: string, kind: string, data: object): Promise<boolean> {
  return await store.get(
    "select 1 as there from event where run_key = ? and kind = ? and data = ? limit 1",
    runKey,
    kind,
    JSON.stringify(data),
  ) !== undefined;
}

/** Returns whether a run of a recipe, with a slot after an instant, has an event of this kind. */
export async function hasEventSince(
  store: Store,
  { recipe, kind, slotAfter }: { recipe: string; kind: string; slotAfter: number },
): Promise<boolean> {
  return await store.get(
    `select 1 as there from event e join run r on r.run_key = e.run_key
      where r.recipe = ? and r.slot_at > ? and e.kind = ? limit 1`,
    recipe,
    slotAfter,
    kind,
  ) !== undefined;
}

/** Returns a pattern for `like` that matches event data whose first field is the name of a recipe. */
const aboutRecipe = (recipe: string) => `{"recipe":${JSON.stringify(recipe).replaceAll(/[!%_]/g, "!$&")},%`;

/** Returns when a recipe was paused last; `undefined` if it never was. */
export async function lastPauseAt(store: Store, recipe: string): Promise<number | undefined> {
  return (await store.get<{ at: number | null }>(
    `select max(at) as at from event where run_key is null and kind = 'paused' and data like ? escape '!'`,
    aboutRecipe(recipe),
  ))?.at ?? undefined;
}

/** Returns the event of a recipe's last pause up to an instant. */
export async function pauseBefore(
  store: Store,
  recipe: string,
  until: number | null,
): Promise<{ at: number; data: string } | undefined> {
  return await store.get(
    `select at, data from event where run_key is null and kind = 'paused' and at <= ? and data like ? escape '!'
      order by at desc, seq desc limit 1`,
    until,
    aboutRecipe(recipe),
  );
}

/** Returns when the file of a recipe was last found missing. */
export async function lastMissingAt(store: Store, recipe: string): Promise<number | undefined> {
  return (await store.get<{ at: number }>(
    `select at from event where run_key is null and kind = 'recipe_missing' and data = ?
      order by at desc, seq desc limit 1`,
    JSON.stringify({ recipe }),
  ))?.at;
}

/** Returns the events that explain why a schedule has no row for a slot; of all schedules, oldest first. */
export async function scheduleBeginnings(store: Store): Promise<EventRow[]> {
  return await store.all(
    `select at, kind, data from event where run_key is null
      and kind in ('schedule_new', 'schedule_edited', 'schedule_back', 'passed_over') order by at, seq`,
  );
}

/** Returns the first three jumps of the clock between two instants. */
export async function clockJumps(
  store: Store,
  from: number,
  until: number,
): Promise<{ at: number; data: string }[]> {
  return await store.all(
    `select at, data from event where run_key is null and kind = 'clock_jump' and at between ? and ?
      order by at, seq limit 3`,
    from,
    until,
  );
}

/** Levels of log lines, the least important first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** Level of a log line. */
export type LogLevel = typeof logLevels[number];

/** A line of a run's log. */
export interface LogLine {
  /** Epoch milliseconds. */
  at: number;
  level: LogLevel;
  step: string | null;
  text: string;
}

/** Returns how many lines the log of a run has. */
export async function countLogLines(store: Store, runKey: string): Promise<number> {
  return (await store.get<{ n: number }>("select count(*) as n from log where run_key = ?", runKey))?.n ?? 0;
}

/** Writes a line of a log. */
export async function insertLogLine(
  store: Store,
  runKey: string,
  { at, level, step, text }: LogLine,
): Promise<void> {
  await store.run(
    "insert into log (run_key, at, level, step, text) values (?, ?, ?, ?, ?)",
    runKey,
    at,
    level,
    step,
    text,
  );
}

/** Returns the log of a run, oldest line first. */
export async function logOf(store: Store, runKey: string): Promise<LogLine[]> {
  return await store.all<LogLine>(
    "select at, level, step, text from log where run_key = ? order by seq",
    runKey,
  );
}

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

/** Inserts a notice that is due now, unless its key exists; returns whether the notice is new. */
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
