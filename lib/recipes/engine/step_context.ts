/**
 * Creates the context of a step: the slot, session and day of its run, and the functions that the step may call. Used
 * for every run, with or without a store, dry or real, and for steps that send notices. Also decides how a step ends:
 * its time limit, whether it failed, whether its writes have an unknown outcome, and whether another attempt could
 * succeed.
 *
 * @module
 */
import {
  type Calendars,
  calendarZone,
  dateAt,
  type Mic,
  neighbourDay,
  showInstant,
  type TradingDay,
  tradingDay,
} from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import type { Redactor } from "../../redact.ts";
import { type Machine, wait } from "../../time.ts";
import type {
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
  RunDay,
  StepContext,
  StepDesk,
  StepScope,
} from "../compiled.ts";
import { PastSlotError } from "./call_operation.ts";
import { ENDED_WITHOUT_RESULT, mayHaveHappened, type WriteGuard } from "./guarded_client.ts";
import {
  BrokerError,
  DisplacedError,
  InvalidParamsError,
  LoginRefusedError,
  UnmappedError,
} from "../../errors.ts";

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
  /**
   * Waits; replace it for a virtual clock. @default waits on the machine's timers until the step's signal is aborted
   */
  sleep?(ms: number): Promise<void>;
  /** The client for a step, connected on first use. */
  client(step: string): Promise<Client>;
  /** The order desk for a step. @default none */
  desk?(step: string): Promise<StepDesk>;
  /** Returns the value of a secret by its name. */
  secret(name: string): Promise<string>;
}

/** Parts from which the context of one attempt at a step is built. */
interface ContextParts extends Pick<StepContext, "signal" | "log" | "recipeFile"> {
  scope: RunScope & Pick<StepScope, "outputs" | "outcome">;
  deps: StepDeps;
  /** @default 1 */
  attempt?: number;
  /** Checks each write of the step. @default none, for notices */
  guard?: WriteGuard;
  /** @default the step gets no reason why writes are no longer allowed */
  whyWritesEnded?: StepContext["whyWritesEnded"];
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
  const { scope, recipeFile, deps, attempt = 1, signal, guard, whyWritesEnded, testText, keepWithin } = parts;
  const { machine, calendars, out, redactor, client, desk, secret } = deps;
  return {
    ...scope,
    ...testText !== undefined && { testText },
    ...keepWithin !== undefined && { keepWithin },
    recipeFile,
    stepKey: stepKeyOf(scope.runKey, step),
    attempt,
    signal,
    calendars: calendars(),
    out,
    now: deps.now ?? (() => machine.now()),
    sleep: deps.sleep ?? ((ms) => wait(machine, ms, signal)),
    client: async () => guard === undefined ? await client(step) : await guard.guard(await client(step)),
    ...desk !== undefined && guard !== undefined &&
      { desk: async () => await guard.guardDesk(await desk(step)) },
    ...guard !== undefined && { proven: (error, outcome) => guard.prove(error, outcome) },
    ...whyWritesEnded !== undefined && { whyWritesEnded },
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
  /** Date of the slot's session; for a manual run, its date at the recipe's exchange. Absent without an exchange. */
  businessDay?: string;
}

/**
 * Returns the scope of a run, without outputs.
 *
 * @param outer The day of the outer run, if this run is nested. A recipe without a calendar uses the calendar and time
 * zone of that day.
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

/** Returns the day to which a run belongs. */
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

/** Returns the exchange whose calendar a schedule or its recipe uses; `undefined` if it uses none. */
export function calendarOf(
  recipe: Pick<CompiledRecipe, "window">,
  schedule?: CompiledSchedule,
): Mic | undefined {
  return (schedule && micOf(schedule)) ?? recipe.window?.mic;
}

/** Returns the exchange that a schedule itself names; `undefined` if it names none. */
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

/**
 * Kind of a halt. `stopped`: the process ends. `cancelled`: a person or a newer run asked for the end. `timeout`: the
 * run took too long. `lost`: the lease is lost.
 */
export type HaltKind = "stopped" | "cancelled" | "timeout" | "lost";

/** The reason of an aborted signal: why a run must end early. */
export class Halt extends Error {
  override readonly name = "AbortError";
  readonly kind: HaltKind;

  constructor(kind: HaltKind, why: string) {
    super(`Cannot continue the run: ${why}`);
    this.kind = kind;
  }
}

/** How long a write step that must stop may take to report its outcome. */
const WRITE_GRACE_MS = 10_000;

/** A step exceeded its time limit. */
class StepTimeoutError extends BrokerError {
  override readonly name: string = "StepTimeoutError";
}

/**
 * Does the work of a step within its time limit. Does not wait for a read that ignores its signal. After a timeout or
 * `stop`, a write gets a grace period to report its outcome.
 */
export async function withinTimeLimit(
  machine: Pick<Machine, "setTimer">,
  { id, timeoutMs, effect }: Pick<CompiledStep, "id" | "timeoutMs" | "effect">,
  { stop, work }: {
    /** Aborted when the step must end before its time limit. */
    stop: AbortSignal;
    work: (signal: AbortSignal) => Promise<unknown>;
  },
): Promise<unknown> {
  const timer = new AbortController();
  const cancel = timeoutMs === undefined ? undefined : machine.setTimer(timeoutMs, () => {
    timer.abort(
      new StepTimeoutError(`Cannot finish step "${id}": it took more than ${timeoutMs} ms`, {
        code: "timeout",
      }),
    );
  });
  const signal = AbortSignal.any([timer.signal, stop]);
  const done = new AbortController();
  const givenUp = new Promise<never>((_resolve, reject) => {
    const giveUp = () => {
      if (effect !== "write") return reject(signal.reason);
      wait(machine, WRITE_GRACE_MS, done.signal).then(() => reject(signal.reason), () => {});
    };
    signal.addEventListener("abort", giveUp, { once: true });
    done.signal.addEventListener("abort", () => signal.removeEventListener("abort", giveUp), { once: true });
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([Promise.resolve().then(() => work(signal)), givenUp]);
  } finally {
    cancel?.();
    done.abort();
  }
}

/** Error text of a step whose output reports a problem. */
export const REPORTED_PROBLEM = 'the step reported a problem: its output has "ok": false';

/** Returns whether the output of a step reports a problem. */
export function reportsProblem(output: unknown): boolean {
  return typeof output === "object" && output !== null && "ok" in output && output.ok === false;
}

/** Returns whether another attempt could succeed. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof Halt || error instanceof InvalidParamsError || error instanceof UnmappedError ||
    error instanceof DisplacedError || error instanceof LoginRefusedError || error instanceof PastSlotError);
}

/**
 * Returns whether the outcome of a failed write step is unknown. It is unknown if one of its writes is unresolved, if
 * the error may have occurred after a write was sent ({@linkcode mayHaveHappened}), if the step timed out, or if its
 * process sent a write and ended without a result.
 */
export function mayHaveWritten(error: unknown, guard: WriteGuard): boolean {
  if (guard.isOpen || mayHaveHappened(error) || error instanceof StepTimeoutError) return true;
  const hasSent = guard.sent.some(({ outcome }) => outcome !== "refused");
  return hasSent && error instanceof BrokerError && error.code === ENDED_WITHOUT_RESULT;
}
