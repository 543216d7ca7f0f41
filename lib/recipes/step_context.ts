/**
 * Creates the context of a step: the slot, session and day of its run, and the functions that the step may call. Used for
 * every run, with or without a store, dry or real, and for steps that send notices.
 *
 * @module
 */
import { type Calendars, calendarZone, type Mic } from "../calendars/mod.ts";
import { dateAt, neighbourDay, showInstant, type TradingDay, tradingDay } from "../calendars/trading_days.ts";
import type { Client } from "../client/client.ts";
import type { Redactor } from "../redact.ts";
import { type Machine, wait } from "../time.ts";
import type { RunDay } from "./as_of_now.ts";
import type { CompiledRecipe, CompiledSchedule, StepContext, StepScope } from "./compiled.ts";
import type { WriteGuard } from "./guarded_client.ts";

/** The data of a run that all its steps see; the outputs of earlier steps are added later. */
export type RunScope = Omit<StepScope, "outputs"> & { day: RunDay };

/** Values that the steps of a run share besides its data. */
export interface StepDeps {
  machine: Machine;
  /** Returns the trading days of the exchanges, as they are now. */
  calendars(): Calendars;
  /** Folder for files. */
  out: string;
  redactor: Redactor;
  /** Returns the time that steps see, Unix milliseconds. @default the time of the machine */
  now?: () => number;
  /** Waits; replace it for a virtual clock. @default waits on the machine's timers until the step's signal is aborted */
  sleep?(ms: number): Promise<void>;
  /** The client for a step, connected on first use. */
  client(step: string): Promise<Client>;
  /** The value of a secret by its reference. */
  secret(name: string): Promise<string>;
}

/** What differs from one attempt at a step to the next. */
interface ContextParts extends Pick<StepContext, "signal" | "log"> {
  scope: RunScope & Pick<StepScope, "outputs" | "outcome">;
  deps: StepDeps;
  /** @default 1 */
  attempt?: number;
  /** Checks each write of the step. @default none, for notices */
  guard?: WriteGuard;
  /** @default reports nothing */
  progress?: StepContext["progress"];
  /** @default records nothing */
  artifact?: StepContext["artifact"];
  /** @default throws */
  runRecipe?: StepContext["runRecipe"];
  testText?: string;
  keepWithin?: boolean;
}

/** Returns the context of one attempt at a step. */
export function stepContext(step: string, parts: ContextParts): StepContext {
  const { scope, deps, attempt = 1, signal, guard, testText, keepWithin } = parts;
  const { machine, calendars, out, redactor, client, secret } = deps;
  return {
    ...scope,
    ...testText !== undefined && { testText },
    ...keepWithin !== undefined && { keepWithin },
    stepKey: stepKeyOf(scope.runKey, step),
    attempt,
    signal,
    calendars: calendars(),
    out,
    now: deps.now ?? (() => machine.now()),
    sleep: deps.sleep ?? ((ms) => wait(machine, ms, signal)),
    client: async () => guard === undefined ? await client(step) : await guard.guard(await client(step)),
    ...guard !== undefined && { proven: (error, outcome) => guard.prove(error, outcome) },
    log: parts.log,
    progress: parts.progress ?? (() => {}),
    artifact: parts.artifact ?? (() => {}),
    secret: async (name) => {
      const value = await secret(name);
      redactor.add(value, `secret "${name}"`);
      return value;
    },
    hasSecret: (path) => redactor.isInFile(path),
    runRecipe: parts.runRecipe ??
      ((name) => Promise.reject(new TypeError(`Cannot run recipe "${name}": this run has no other recipes`))),
  };
}

/** Returns the idempotency key for what a step does outside of hsgate. */
export function stepKeyOf(runKey: string, step: string): string {
  return `${runKey}#${step}`;
}

/** The slot that a run is for. */
export interface RunSlot {
  /** Id of the recipe's schedule; empty for a manual run. */
  scheduleId: string;
  /** Epoch milliseconds. */
  slotAt: number;
  /** Date of the slot's session; absent for a recipe without a calendar. */
  businessDay?: string;
}

/**
 * Returns the scope of a run, without outputs.
 *
 * @param outer The day of the outer run, if this run is nested. A recipe without a calendar uses that day.
 */
export function scopeOf(
  calendars: Calendars,
  recipe: CompiledRecipe,
  run: RunSlot & { runKey: string; params: Readonly<Record<string, unknown>> },
  outer?: RunDay,
): RunScope {
  const { runKey, scheduleId, slotAt, businessDay, params } = run;
  const day = dayOf(recipe, run, outer);
  const { calendar: mic, date } = day;
  const session = mic === undefined || businessDay === undefined
    ? undefined
    : tradingDay(calendars, mic, date);
  return {
    recipe: recipe.name,
    runKey,
    ...scheduleId !== "" && { scheduleId },
    slot: showInstant(slotAt),
    ...mic !== undefined && typeof session === "object" && { session: sessionScope(mic, session) },
    ...mic !== undefined && session !== undefined &&
      { previousSession: sessionScope(mic, neighbourDay(calendars, mic, date, -1)) },
    params,
    day,
  };
}

/** Returns the scope of a run that a person starts, without outputs. The slot is the given time. */
export function manualScope(
  calendars: Calendars,
  recipe: CompiledRecipe,
  run: { runKey: string; at: number; params: Readonly<Record<string, unknown>> },
  outer?: RunDay,
): RunScope {
  const { runKey, at, params } = run;
  const businessDay = outer?.date ?? businessDayOf(recipe, at);
  return scopeOf(calendars, recipe, { runKey, scheduleId: "", slotAt: at, businessDay, params }, outer);
}

/** Returns the day that a run belongs to. */
export function dayOf(
  recipe: Pick<CompiledRecipe, "schedules" | "window">,
  { scheduleId, slotAt, businessDay }: RunSlot,
  outer?: RunDay,
): RunDay {
  // A manual run has no schedule, so its day follows the exchange of the recipe's first schedule.
  const schedule = scheduleId === ""
    ? recipe.schedules[0]
    : recipe.schedules.find(({ id }) => id === scheduleId);
  const calendar = calendarOf(recipe, schedule) ?? outer?.calendar;
  const zone = calendar !== undefined
    ? calendarZone[calendar]
    : outer?.zone ?? (schedule === undefined ? "UTC" : zoneOf(schedule));
  return {
    date: businessDay ?? dateAt(slotAt, zone),
    zone,
    ...calendar !== undefined && { calendar },
    ...scheduleId !== "" && schedule?.form === "every" && { isOneOfMany: true },
  };
}

/** Returns the market whose calendar a schedule or its recipe uses; `undefined` if it uses none. */
export function calendarOf(
  recipe: Pick<CompiledRecipe, "window">,
  schedule?: CompiledSchedule,
): Mic | undefined {
  return (schedule && micOf(schedule)) ?? recipe.window?.mic;
}

/** Returns the market that a schedule itself names; `undefined` if it names none. */
export function micOf(schedule: CompiledSchedule): Mic | undefined {
  if (schedule.form === "calendar") return schedule.mic;
  return schedule.form === "cron" ? schedule.onlyIn : schedule.while?.mic;
}

/** Returns the time zone of a schedule's days. */
export function zoneOf(schedule: CompiledSchedule): string {
  if (schedule.form === "cron") return schedule.timezone;
  const mic = micOf(schedule);
  return mic === undefined ? "UTC" : calendarZone[mic];
}

/** Returns the date of an instant at the exchange that a recipe follows; `undefined` if it follows none. */
export function businessDayOf(recipe: CompiledRecipe, at: number): string | undefined {
  const mic = calendarOf(recipe, recipe.schedules[0]);
  return mic === undefined ? undefined : dateAt(at, calendarZone[mic]);
}

/** Formats open and close as instants with the exchange's offset: `2025-08-15T09:30:00+08:00`. */
function sessionScope(
  mic: Mic,
  { date, openAt, closeAt, halfDay }: TradingDay,
): NonNullable<StepScope["session"]> {
  const show = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: calendarZone[mic] });
  return { date, open: show(openAt), close: show(closeAt), halfDay };
}
