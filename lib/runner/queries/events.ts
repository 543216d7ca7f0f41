/**
 * Reads and writes events of runs and schedules, and log lines.
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

/** Returns whether a run of a recipe after an instant has an event of this kind. */
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

/** Returns the first jumps of the clock between two instants. */
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
