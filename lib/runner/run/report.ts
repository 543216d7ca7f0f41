/**
 * Reports the progress of a run to the log in the store, to spans, and to listeners. Every report passes the redactor
 * first. At the end of a run, warns if runs take longer than the time to the next slot, or if a login is about to
 * expire.
 *
 * @module
 */
import {
  countLogLines,
  hasEventSince,
  insertLogLine,
  type LogLevel,
  logLevels,
  type LogLine,
} from "../queries/events.ts";
import type { StepEvent } from "../../recipes/engine/engine.ts";
import type { Redactor } from "../../redact.ts";
import type { Machine } from "../../time.ts";
import { durationsOf, type RunRow, type RunState, setTrace } from "../queries/runs.ts";
import type { OpenSpan, RunTracer, StepAbout } from "./tracing.ts";
import { type Calendars, showInstant } from "../../calendars/mod.ts";
import type { Store } from "../../store/store.ts";
import { isBusy } from "../../store/store_error.ts";
import { lastLoginOutput } from "../queries/steps.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { eachSlot } from "../schedule/slots.ts";

/** The fields that all events of a run have. */
interface RunEventHead {
  runKey: string;
  recipe: string;
  /** 32 hex digits, the same for every line of the run. */
  traceId: string;
  /** The span of the run or of the step, 16 hex digits; absent when the run is not traced. */
  spanId?: string;
  /** Epoch milliseconds. */
  at: number;
}

/** An event of a run, distinguished by `type`. */
export type RunEvent =
  & RunEventHead
  & (
    | { type: "run-started"; attempt: number; lateMs: number; steps: readonly string[] }
    | Exclude<StepEvent, { type: "step-ended" | "step-planned" }>
    | Omit<Extract<StepEvent, { type: "step-ended" }>, "thrown" | "output">
    /** A warning about the run as a whole. */
    | { type: "warning"; message: string }
    | { type: "artifact"; step: string; dataset: string; path: string; revision: number; isNew: boolean }
    | { type: "run-ended"; state: RunState | "lost"; reason?: string; tookMs: number }
  );

/** An event without the fields that all events have. */
type BareRunEvent = RunEvent extends infer E ? E extends RunEvent ? Omit<E, keyof RunEventHead> : never
  : never;

/** Options of a report. */
export interface ReportOptions {
  store: Store;
  machine: Pick<Machine, "now">;
  redactor: Redactor;
  /** Lines below this level are not kept in the store. @default "debug" */
  logLevel?: LogLevel;
  tracer?: RunTracer;
  onEvent?(event: RunEvent): void;
}

/** A tracer that records nothing. */
const untraced: RunTracer = {
  run: (_about, _first, work) => work(none),
  step: (_about, work) => work(none),
};

const none: OpenSpan = { event: () => {}, outcome: () => {} };

/** Reports one attempt at a run. */
export class RunReport {
  readonly #options: ReportOptions;
  readonly #row: RunRow;
  readonly #log: RunLog;
  #traceId: string;
  #runSpan: OpenSpan | undefined;
  #stepSpan: OpenSpan | undefined;

  constructor(row: RunRow, options: ReportOptions) {
    this.#options = options;
    this.#row = row;
    this.#log = new RunLog(options.store, row.run_key, options.logLevel);
    this.#traceId = row.trace_id;
  }

  /** Runs the work of the run within its span. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { machine, tracer = untraced } = this.#options;
    const { recipe, run_key: runKey, slot_at, kind, attempt, due_at, trace_id, span_id } = this.#row;
    const lateMs = Math.max(0, machine.now() - due_at);
    const about = { recipe, runKey, slot: showInstant(slot_at), kind, attempt, lateMs };
    const first = span_id === null ? undefined : { traceId: trace_id, spanId: span_id };
    return await tracer.run(about, first, async (span) => {
      this.#runSpan = span;
      await this.#adopt(span);
      return await work();
    });
  }

  /** Runs one attempt at a step within its span. */
  async step<T>(about: Omit<StepAbout, "recipe" | "runKey">, work: () => Promise<T>): Promise<T> {
    const { recipe, run_key: runKey } = this.#row;
    const { tracer = untraced } = this.#options;
    return await tracer.step({ recipe, runKey, ...about }, async (span) => {
      this.#stepSpan = span;
      try {
        return await work();
      } finally {
        this.#stepSpan = undefined;
      }
    });
  }

  /** Resolves when every reported line is in the log or has failed to be written. */
  async flush(): Promise<void> {
    await this.#log.flush();
  }

  /** Reports an event. If the log cannot be written, the run continues. */
  emit(bare: BareRunEvent): void {
    const { machine, redactor, onEvent } = this.#options;
    const { run_key: runKey, recipe } = this.#row;
    const spanId = (this.#stepSpan ?? this.#runSpan)?.ids?.spanId;
    const head = {
      runKey,
      recipe,
      traceId: this.#traceId,
      ...spanId !== undefined && { spanId },
      at: machine.now(),
    };
    // The redactor changes texts, but not the shape.
    const event: RunEvent = { ...head, ...redactor.data(bare) as BareRunEvent };
    this.#mark(event);
    this.#log.note(event);
    onEvent?.(event);
  }

  /** Stores the trace id and the span id of an attempt with the run, unless the run already has this trace. */
  async #adopt({ ids }: OpenSpan): Promise<void> {
    if (ids === undefined) return;
    const { run_key: runKey, span_id: known } = this.#row;
    if (known !== null && ids.traceId === this.#traceId) return;
    this.#traceId = ids.traceId;
    const { store } = this.#options;
    try {
      await setTrace(store, runKey, ids);
    } catch (error) {
      if (!isBusy(error)) throw error; // a run without a recorded trace is better than a failed run
    }
  }

  #mark(event: RunEvent): void {
    switch (event.type) {
      case "run-ended":
        return this.#runSpan?.outcome(event.state, reasonOf(event.state, event.reason));
      case "step-ended":
        if (this.#stepSpan !== undefined) {
          return this.#stepSpan.outcome(
            event.state,
            event.errorName === undefined ? {} : { "error.type": event.errorName },
          );
        }
        return this.#runSpan?.event(`hsgate.step.${event.state}`, { "hsgate.step": event.step });
      case "step-reused":
        return this.#runSpan?.event("hsgate.step.reused", { "hsgate.step": event.step });
      case "step-retry":
        return this.#runSpan?.event("hsgate.step.retry", {
          "hsgate.step": event.step,
          "hsgate.wait_ms": event.waitMs,
        });
    }
  }
}

/** Returns the reason as an attribute, unless a person may have written it. */
function reasonOf(state: string, reason: string | undefined): Readonly<Record<string, string>> {
  return reason === undefined || state === "cancelled" ? {} : { "hsgate.reason": reason };
}

/** Returns whether a level is at least as high as `least`. */
export const matters = (level: LogLevel, least: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(least);

/** After this many lines of a run, the log keeps only its warnings and errors. */
export const MOST_LINES = 1_000;
/** Maximum number of lines of a run, with the warnings and errors that are kept beyond {@linkcode MOST_LINES}. */
export const MOST_SEVERE_LINES = 1_200;
/** Maximum length of a line; a longer line is cut. */
const MOST_CHARACTERS = 2_000;
/** A step's progress lines are logged at most this often. A line with `done` equal to `total` is always logged. */
const PROGRESS_EVERY_MS = 10_000;

/** Writes the log of one run. */
export class RunLog {
  readonly #store: Store;
  readonly #runKey: string;
  readonly #least: LogLevel;
  /** How many lines the store has; `undefined` until it is read. */
  #count: number | undefined;
  #waiting: LogLine[] = [];
  #writing: Promise<void> | undefined;
  readonly #progressAt = new Map<string, number>();

  /** @param least Lines below this level are not kept. */
  constructor(store: Store, runKey: string, least: LogLevel = "debug") {
    this.#store = store;
    this.#runKey = runKey;
    this.#least = least;
  }

  /** Resolves when no line is waiting. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Adds an event to the log, if its type belongs there. The event has passed the redactor. */
  note(event: RunEvent): void {
    if (event.type === "log") {
      const data = event.data === undefined ? "" : ` ${JSON.stringify(event.data)}`;
      this.add({ at: event.at, level: event.level, step: event.step, text: `${event.message}${data}` });
    } else if (event.type === "step-progress") {
      const { at, step, done, total, text } = event;
      const isLast = done !== undefined && done === total;
      if (!isLast && at - (this.#progressAt.get(step) ?? -Infinity) < PROGRESS_EVERY_MS) return;
      this.#progressAt.set(step, at);
      const place = done === undefined || total === undefined ? "" : ` (${done} of ${total})`;
      this.add({ at, level: "info", step, text: `${text}${place}` });
    } else if (event.type === "step-retry") {
      const { at, step, waitMs, error } = event;
      this.add({ at, level: "warn", step, text: `trying again in ${waitMs / 1000} s: ${error}` });
    }
  }

  /** Adds a line while there is room; writes it in the background. */
  add(line: LogLine): void {
    if (!matters(line.level, this.#least)) return;
    this.#waiting.push(line);
    this.#writing ??= this.#write().finally(() => this.#writing = undefined);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#store.transaction(async () => {
          for (const line of lines) await this.#insert(line);
        });
      } catch {
        // These lines are lost. If the store stays unwritable, the run cannot record the end of its step either, so the
        // problem is noticed.
        this.#count = undefined;
      }
    }
  }

  async #insert({ at, level, step, text }: LogLine): Promise<void> {
    this.#count ??= await countLogLines(this.#store, this.#runKey);
    if (this.#count === MOST_LINES) {
      this.#count++;
      const full = `after ${MOST_LINES} lines, only warnings and errors are kept`;
      await insertLogLine(this.#store, this.#runKey, { at, level: "warn", step: null, text: full });
    }
    const most = level === "warn" || level === "error" ? MOST_SEVERE_LINES : MOST_LINES;
    if (this.#count >= most) return;
    this.#count++;
    const kept = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
    await insertLogLine(this.#store, this.#runKey, { at, level, step, text: kept });
  }
}

/** After this many slow runs in a row, a warning is given. */
const IN_A_ROW = 3;
/** How far ahead the next slot is searched. */
const LOOK_AHEAD_MS = 35 * 86_400_000;

/** How long the last run of a slow schedule took, and the time to the next slot. */
interface Slowness {
  recipe: string;
  schedule: string;
  tookMs: number;
  periodMs: number;
}

/**
 * Returns how slow a schedule is. It is slow if each of its last three runs took longer than the time to the next slot.
 *
 * @returns `isNew` is true only for the third slow run in a row, so that people are warned once. `undefined` if the
 * schedule is not slow.
 */
export async function slownessOf(
  store: Store,
  calendars: Calendars,
  recipe: string,
  schedule: CompiledSchedule,
): Promise<Slowness & { isNew: boolean } | undefined> {
  const rows = await durationsOf(store, recipe, schedule.id, IN_A_ROW + 1);
  // Checks the newest run first: if it is fast, the others need no check.
  const isSlow = ({ slot_at, took }: { slot_at: number; took: number }) =>
    took > periodAt(calendars, schedule, slot_at);
  const [last] = rows;
  if (last === undefined || rows.length < IN_A_ROW || !rows.slice(0, IN_A_ROW).every(isSlow)) {
    return undefined;
  }
  const before = rows[IN_A_ROW];
  return {
    recipe,
    schedule: schedule.id,
    tookMs: last.took,
    periodMs: periodAt(calendars, schedule, last.slot_at),
    isNew: before === undefined || !isSlow(before),
  };
}

/** Returns the time from a slot to the next, including nights and weekends. */
function periodAt(calendars: Calendars, schedule: CompiledSchedule, at: number): number {
  const { value } = eachSlot(calendars, schedule, at, at + LOOK_AHEAD_MS).next();
  return value === undefined ? Infinity : value.at - at;
}

/** Records the third slow run in a row, and returns a warning. Call it in the transaction that ends the run. */
export async function noteSlowness(
  store: Store,
  calendars: Calendars,
  { name, schedules }: Pick<CompiledRecipe, "name" | "schedules">,
  row: RunRow,
  now: number,
): Promise<string | undefined> {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined || row.kind !== "live") return undefined;
  const slow = await slownessOf(store, calendars, name, schedule);
  if (slow === undefined || !slow.isNew) return undefined;
  await store.event(now, "too_slow", { tookMs: slow.tookMs, periodMs: slow.periodMs }, row.run_key);
  return describeSlowness(slow);
}

/** Returns a warning that says how slow a schedule is. */
export function describeSlowness({ schedule, tookMs, periodMs }: Slowness): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return `schedule "${schedule}" is too slow: ${IN_A_ROW} runs in a row took longer than the time to the next slot (${
    seconds(tookMs)
  }; the next slot came after ${seconds(periodMs)})`;
}

/**
 * Checks, after a failed query of a recipe that keeps a login alive, whether the login has expired, or expires if the
 * next query fails too. If so, records this and returns a warning. Later failures give no warning until a query
 * succeeds. Call it in the transaction that ends the run.
 */
export async function noteLoginEnd(
  store: Store,
  calendars: Calendars,
  recipe: Pick<CompiledRecipe, "name" | "class" | "schedules">,
  row: RunRow,
  now: number,
): Promise<string | undefined> {
  if (recipe.class !== "keep-alive" || row.state !== "failed") return undefined;
  const last = await lastLoginOutput(store, recipe.name);
  if (last === undefined) return undefined;
  const { holdsUntil } = last;
  const endsAt = Date.parse(holdsUntil);
  const periodMs = periodAfter(calendars, recipe, row, now);
  // If the next query also fails, the login expires before the query after that.
  if (endsAt - now > 1.5 * periodMs) return undefined;
  if (await hasEventSince(store, { recipe: recipe.name, kind: "login_expiring", slotAfter: last.slot_at })) {
    return undefined;
  }
  await store.event(now, "login_expiring", { holdsUntil }, row.run_key);
  return endsAt <= now
    ? `the login expired at ${showInstant(endsAt)} because no query succeeded`
    : `the login expires at ${showInstant(endsAt)} unless a query succeeds`;
}

function periodAfter(
  calendars: Calendars,
  { schedules }: Pick<CompiledRecipe, "schedules">,
  row: RunRow,
  now: number,
): number {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined) return 0;
  if (schedule.form === "every") return schedule.everyMs;
  const { value } = eachSlot(calendars, schedule, now, now + LOOK_AHEAD_MS).next();
  return value === undefined ? 0 : value.at - now;
}
