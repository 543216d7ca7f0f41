/**
 * Reads and writes events of runs and schedules, log lines, and the rows of notices.
 *
 * @module
 */
import { isMap, isMaybeText, isText, isTexts } from "../../foreign_values.ts";
import { readJson, rowsValue, type Store } from "../../store/store.ts";

/** Kind of the event that is written right before a step sends a write. */
export const WRITE_SENT = "write_sent";

/** Kind of the event that says whether a round of a run is live or a plan. */
export const TRADING = "trading";

/** Data of the kinds of events that this program reads. */
interface EventDataByKind {
  [WRITE_SENT]: {
    step: string;
    operation: string;
    /** Operations that list what the write created or changed. */
    lists: readonly string[];
  };
  [TRADING]: {
    round: number;
    /** Why the round is a plan; absent if it is live. */
    plan?: string;
  };
  held: { because: BlockReason; by?: string };
  login_refused: {
    account: string;
    reason: "password" | "temporary";
    /** Number of refusals in a row. */
    count: number;
    /** Whether this was the platform login, which every call needs. Otherwise it was the trade login. */
    isPlatform: boolean;
    salt?: string;
    mark?: string;
  };
  paused: { recipe: string; why: string };
  clock_jump: { byMs: number };
  key_taken: { slot: string; by: string };
  schedule_new: OfSchedule;
  schedule_edited: OfSchedule;
  schedule_back: OfSchedule;
  passed_over: OfSchedule;
}

interface OfSchedule {
  recipe: string;
  schedule: string;
}

type EventKind = keyof EventDataByKind;

/** Data of a kind of event. */
export type EventData<Kind extends EventKind> = EventDataByKind[Kind];

const blockReasons = ["recovery", "account", "unsafe", "displaced", "password", "login"] as const;
/** Why a due run is blocked. */
export type BlockReason = (typeof blockReasons)[number];

const isInstant = (value: unknown) => isText(value) && !Number.isNaN(Date.parse(value));
const isOfSchedule = (value: unknown) => isMap(value) && isText(value.recipe) && isText(value.schedule);

/** Checks the data of each kind of event. */
const checks: Readonly<Record<EventKind, (value: unknown) => boolean>> = {
  [WRITE_SENT]: (value) =>
    isMap(value) && isText(value.step) && isText(value.operation) && isTexts(value.lists),
  [TRADING]: (value) => isMap(value) && Number.isInteger(value.round) && isMaybeText(value.plan),
  held: (value) =>
    isMap(value) && blockReasons.some((each) => each === value.because) && isMaybeText(value.by),
  login_refused: (value) =>
    isMap(value) && isText(value.account) && (value.reason === "password" || value.reason === "temporary") &&
    Number.isInteger(value.count) && typeof value.isPlatform === "boolean" && isMaybeText(value.salt) &&
    isMaybeText(value.mark),
  paused: (value) => isMap(value) && isText(value.recipe) && isText(value.why),
  clock_jump: (value) => isMap(value) && Number.isFinite(value.byMs),
  key_taken: (value) => isMap(value) && isInstant(value.slot) && isInstant(value.by),
  schedule_new: isOfSchedule,
  schedule_edited: isOfSchedule,
  schedule_back: isOfSchedule,
  passed_over: isOfSchedule,
};

type ScheduleEvent = "schedule_new" | "schedule_edited" | "schedule_back" | "passed_over";

/** An event of any kind. */
export interface StoredEvent {
  at: number;
  kind: string;
  data: Readonly<Record<string, unknown>>;
}

interface EventRow {
  seq: number;
  at: number;
  data: string;
}

function dataOf<Kind extends EventKind>(kind: Kind, { seq, data }: Omit<EventRow, "at">): EventData<Kind> {
  return readJson(data, checks[kind], { table: "event", column: "data", row: seq });
}

/** Records events of one kind at one instant, in the given order. */
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
export async function eventsOf(store: Store, runKey: string): Promise<StoredEvent[]> {
  const rows = await store.all<EventRow & { kind: string }>(
    "select seq, at, kind, data from event where run_key = ? order by seq",
    runKey,
  );
  return rows.map(({ seq, at, kind, data }) => ({
    at,
    kind,
    data: readJson(data, Object.hasOwn(checks, kind) ? checks[kind as EventKind] : isMap, {
      table: "event",
      column: "data",
      row: seq,
    }),
  }));
}

/** Returns the data of a run's events of one kind, oldest first. */
export async function eventDataOf<Kind extends EventKind>(
  store: Store,
  runKey: string,
  kind: Kind,
): Promise<EventData<Kind>[]> {
  return (await store.all<{ seq: number; data: string }>(
    "select seq, data from event where run_key = ? and kind = ? order by seq",
    runKey,
    kind,
  )).map((row) => dataOf(kind, row));
}

/** Returns the data of a run's last event of one kind. */
export async function lastEventData<Kind extends EventKind>(
  store: Store,
  runKey: string,
  kind: Kind,
): Promise<EventData<Kind> | undefined> {
  const row = await store.get<{ seq: number; data: string }>(
    "select seq, data from event where run_key = ? and kind = ? order by seq desc limit 1",
    runKey,
    kind,
  );
  return row && dataOf(kind, row);
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
): Promise<{ at: number; why: string } | undefined> {
  const row = await store.get<EventRow>(
    `select seq, at, data from event where run_key is null and kind = 'paused' and at <= ? and data like ? escape '!'
      order by at desc, seq desc limit 1`,
    until,
    aboutRecipe(recipe),
  );
  return row && { at: row.at, why: dataOf("paused", row).why };
}

/** Returns when the file of a recipe was last found missing. */
export async function lastMissingAt(store: Store, recipe: string): Promise<number | undefined> {
  return (await store.get<{ at: number }>(
    `select at from event where run_key is null and kind = 'recipe_missing' and data = ?
      order by at desc, seq desc limit 1`,
    JSON.stringify({ recipe }),
  ))?.at;
}

/** Returns, for all schedules, the events that explain why a slot has no row; oldest first. */
export async function scheduleBeginnings(
  store: Store,
): Promise<{ at: number; kind: ScheduleEvent; data: EventData<ScheduleEvent> }[]> {
  const rows = await store.all<EventRow & { kind: ScheduleEvent }>(
    `select seq, at, kind, data from event where run_key is null
      and kind in ('schedule_new', 'schedule_edited', 'schedule_back', 'passed_over') order by at, seq`,
  );
  return rows.map((row) => ({ at: row.at, kind: row.kind, data: dataOf(row.kind, row) }));
}

/** Returns the first three jumps of the clock between two instants. */
export async function clockJumps(
  store: Store,
  from: number,
  until: number,
): Promise<{ at: number; byMs: number }[]> {
  const rows = await store.all<EventRow>(
    `select seq, at, data from event where run_key is null and kind = 'clock_jump' and at between ? and ?
      order by at, seq limit 3`,
    from,
    until,
  );
  return rows.map((row) => ({ at: row.at, byMs: dataOf("clock_jump", row).byMs }));
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
  // The limit is part of the SQL text. With the limit as a parameter, SQLite would prepare the statement again each
  // time.
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

/** Counts the notices that were not sent. */
export async function countUnsentRows(
  store: Store,
): Promise<{ queued: number; failed: number; given_up: number }> {
  return await store.get<{ queued: number; failed: number; given_up: number }>(
    `select count(*) filter (where tries = 0) as queued,
        count(*) filter (where tries > 0 and given_up_at is null) as failed,
        count(*) filter (where tries > 0 and given_up_at is not null) as given_up
      from outbox where sent_at is null`,
  ) ?? { queued: 0, failed: 0, given_up: 0 };
}

/** Makes an unsent notice due again, even if it was given up. */
export async function makeDue(store: Store, key: string, now: number): Promise<void> {
  // For a notice that was tried, the count starts again from 1, not 0, so that the notice still counts as tried.
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
