/**
 * Builds the result of a rehearsal from its store.
 *
 * @module
 */
import { allScheduledRuns } from "../runner/queries/run_lookups.ts";
import { unusualAttempts } from "../runner/queries/steps.ts";
import { type Calendars, calendarZone, dateAt, type Mic, showInstant } from "../calendars/mod.ts";
import { clockChangeSlots } from "../runner/schedule/schedule_checks.ts";
import type { Store } from "../store/store.ts";
import { calendarOf, zoneOf } from "../recipes/engine/step_context.ts";
import type { RunRow } from "../runner/queries/runs.ts";
import type { SchedulerEvent } from "../runner/schedule/scheduler.ts";
import type { CompiledRecipe } from "../recipes/mod.ts";
import type { UnsentMessage } from "./simulated_recipe.ts";

/** Numbers of slots of one recipe. */
export interface RecipeTally {
  /** Name of the recipe. */
  recipe: string;
  /** Number of slots. */
  slots: number;
  /** Slots whose run succeeded, late or not. */
  ok: number;
  /** Slots whose run failed, was cancelled, waits for a person, or has a write with an unknown outcome. */
  failed: number;
  /** Slots that were skipped. */
  skipped: number;
  /** Skipped slots by reason. */
  reasons: Record<string, number>;
  /** Slots whose run was due or running when the rehearsal ended. */
  open: number;
}

/** A slot that did not simply succeed: it failed, was skipped, was late, was caught up, or needed a second attempt. */
export interface RehearsalException {
  /** Key of the run. */
  runKey: string;
  /** Name of the recipe. */
  recipe: string;
  /** Name of the schedule. */
  schedule: string;
  /** Day of the session, or of the slot in the schedule's zone. */
  day: string;
  /** State of the slot at the end. */
  state: string;
  /** Why the slot was skipped or its run did not succeed. */
  reason?: string;
  /** Id of the failed step. */
  step?: string;
  /** Text of the error that ended the failed step, without the addresses of the simulator. */
  error?: string;
  /** Delay of the start, milliseconds; absent if it is at most one minute. */
  lateMs?: number;
  /** Set if the run caught up a missed slot. */
  madeUp?: true;
  /** Number of attempts of the run, or of its step with the most attempts; absent if there was only one. */
  attempts?: number;
}

/** A message that a real run would have sent. */
export interface WouldHaveSent {
  /** ISO 8601 in UTC. */
  at: string;
  /** Name of the recipe. */
  recipe: string;
  /** Key of the run. */
  runKey: string;
  /** Channels of the message. */
  by: string[];
  /** Text of the message. */
  text?: string;
}

/** A half-day or a clock change during the rehearsal. */
export type SpecialDay =
  | { day: string; what: "half-day"; exchange: Mic; closes: string }
  | { day: string; what: "clock-change"; zone: string; byMs: number; slots: ClockChange[] };

/** A slot affected by a clock change. */
export interface ClockChange {
  /** Name of the recipe. */
  recipe: string;
  /** Name of the schedule. */
  schedule: string;
  /** `gap` if the local time does not exist, `fold` if it exists twice. */
  kind: "gap" | "fold";
  /** Local time, `2025-03-09T02:30`. */
  wall: string;
  /** Times of the runs, ISO 8601 in UTC. */
  runsAt: string[];
}

/** An event that the scheduler reported: a clock jump, or the takeover of a dead process's run. */
export interface RehearsalEvent {
  /** ISO 8601 in UTC. */
  at: string;
  /** What happened. */
  what: "clock-jump" | "recovered";
  /** Size of the clock jump, milliseconds. */
  byMs?: number;
  /** Key of the run that was taken over. */
  runKey?: string;
  /** State of that run. */
  state?: string;
}

/** The result of a rehearsal: plain data, identical at every repetition. */
export interface RehearsalResult {
  /** First day, `yyyy-MM-dd`. */
  from: string;
  /** Last day, `yyyy-MM-dd`. */
  to: string;
  /** Number that determines the simulator's data. */
  seed: number;
  /** Numbers of slots by recipe. */
  recipes: RecipeTally[];
  /** Slots that did not simply succeed, ordered by the time of the slot. */
  exceptions: RehearsalException[];
  /** Half-days and clock changes during the rehearsal. */
  specialDays: SpecialDay[];
  /** Messages that real runs would have sent. */
  wouldHaveSent: WouldHaveSent[];
  /** Events of the scheduler. */
  events: RehearsalEvent[];
}

interface ResultOptions {
  store: Store;
  recipes: readonly CompiledRecipe[];
  calendars: Calendars;
  from: string;
  to: string;
  seed: number;
  messages: readonly UnsentMessage[];
  events: readonly SchedulerEvent[];
}

/** A run counts as late above this delay. */
const LATE_MS = 60_000;

/** Resolves to the result of a finished rehearsal. */
export async function resultOf(options: ResultOptions): Promise<RehearsalResult> {
  const { store, recipes, from, to, seed, messages } = options;
  const rows = await allScheduledRuns(store);
  const byName = new Map(recipes.map((recipe) => [recipe.name, recipe]));
  const steps = await stepsOf(store);
  const exceptions = rows.flatMap((row) => exceptionOf(row, byName.get(row.recipe), steps.get(row.run_key)));
  return {
    from,
    to,
    seed,
    recipes: recipes.filter(({ schedules }) => schedules.length > 0)
      .map(({ name }) => tallyOf(name, rows.filter(({ recipe }) => recipe === name)))
      .sort((a, b) => a.recipe < b.recipe ? -1 : 1),
    exceptions,
    specialDays: specialDaysOf(options),
    wouldHaveSent: messages.map(({ at, ...rest }) => ({ at: showInstant(at), ...rest })),
    events: options.events.flatMap((event): RehearsalEvent[] => {
      if (event.type === "clock-jump") {
        return [{ at: showInstant(event.at), what: "clock-jump", byMs: event.byMs }];
      }
      if (event.type !== "recovered") return [];
      const { runKey, state } = event;
      return [{ at: showInstant(event.at), what: "recovered", runKey, state }];
    }),
  };
}

function tallyOf(recipe: string, rows: readonly RunRow[]): RecipeTally {
  const tally: RecipeTally = {
    recipe,
    slots: rows.length,
    ok: 0,
    failed: 0,
    skipped: 0,
    reasons: {},
    open: 0,
  };
  for (const { state, reason } of rows) {
    if (state === "ok") tally.ok++;
    else if (state === "skipped") {
      tally.skipped++;
      const why = reason ?? "";
      tally.reasons[why] = (tally.reasons[why] ?? 0) + 1;
    } else if (state === "due" || state === "running") tally.open++;
    else tally.failed++;
  }
  tally.reasons = Object.fromEntries(Object.entries(tally.reasons).sort(([a], [b]) => a < b ? -1 : 1));
  return tally;
}

/** Attempts and failure of the steps of a run. */
interface StepsOfRun {
  attempts: number;
  failed?: { step: string; error: string };
}

async function stepsOf(store: Store): Promise<Map<string, StepsOfRun>> {
  const found = new Map<string, StepsOfRun>();
  const rows = await unusualAttempts(store);
  for (const { run_key, step_id: step, attempt, error } of rows) {
    const run = found.get(run_key) ?? { attempts: 1 };
    run.attempts = Math.max(run.attempts, attempt);
    if (error !== null) run.failed = { step, error: withoutMachine(error) };
    found.set(run_key, run);
  }
  return found;
}

/** Removes ports and the operating system's reasons from an error, because they differ between repetitions. */
function withoutMachine(error: string): string {
  return error.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "the gateway").replaceAll(/ ?\(os error \d+\)/g, "")
    .replaceAll(/(no connection to the gateway) \([^)]*\)/g, "$1");
}

function exceptionOf(
  row: RunRow,
  recipe: CompiledRecipe | undefined,
  steps: StepsOfRun | undefined,
): RehearsalException[] {
  const { run_key: runKey, state, reason, schedule_id: schedule, started_at, due_at } = row;
  const lateMs = started_at === null ? 0 : started_at - due_at;
  const attempts = Math.max(row.attempt, steps?.attempts ?? 1);
  const isPlain = state === "ok" && lateMs <= LATE_MS && attempts <= 1 && row.kind === "live";
  if (isPlain) return [];
  const isBad = state !== "ok" && state !== "skipped";
  const zone = zoneOfSchedule(recipe, schedule);
  return [{
    runKey,
    recipe: row.recipe,
    schedule,
    day: row.business_day ?? dateAt(row.slot_at, zone),
    state,
    ...reason !== null && { reason },
    ...isBad && steps?.failed !== undefined && steps.failed,
    ...lateMs > LATE_MS && { lateMs },
    ...row.kind === "catchup" && { madeUp: true as const },
    ...attempts > 1 && { attempts },
  }];
}

function zoneOfSchedule(recipe: CompiledRecipe | undefined, id: string): string {
  const schedule = recipe?.schedules.find((each) => each.id === id);
  return schedule === undefined ? "UTC" : zoneOf(schedule);
}

function specialDaysOf({ recipes, calendars, from, to }: ResultOptions): SpecialDay[] {
  const mics = new Set<Mic>();
  const zones = new Set<string>();
  for (const recipe of recipes) {
    for (const schedule of recipe.schedules) {
      const mic = calendarOf(recipe, schedule);
      if (mic !== undefined) mics.add(mic);
      zones.add(zoneOf(schedule));
      if (mic !== undefined) zones.add(calendarZone[mic]);
    }
  }
  const halfDays = [...mics].flatMap((exchange) =>
    calendars.sessionsBetween(exchange, from, to).filter(({ halfDay }) => halfDay)
      .map(({ date, close }): SpecialDay => ({ day: date, what: "half-day", exchange, closes: close }))
  );
  const changes = [...zones].flatMap((zone) => clockChangesOf(zone, recipes, { from, to, calendars }));
  const nameOf = (day: SpecialDay) => day.what === "half-day" ? day.exchange : day.zone;
  const order = (day: SpecialDay) => `${day.day} ${nameOf(day)}`;
  return [...halfDays, ...changes].sort((a, b) => order(a) < order(b) ? -1 : 1);
}

function clockChangesOf(
  zone: string,
  recipes: readonly CompiledRecipe[],
  { from, to, calendars }: Pick<ResultOptions, "from" | "to" | "calendars">,
): SpecialDay[] {
  const days: SpecialDay[] = [];
  const start = Temporal.PlainDate.from(from).toZonedDateTime(zone);
  const months = Math.ceil(
    start.until(Temporal.PlainDate.from(to).add({ days: 1 }).toZonedDateTime(zone), {
      largestUnit: "months",
    }).total({ unit: "months", relativeTo: start }),
  );
  const met = recipes.flatMap((recipe) =>
    recipe.schedules.filter((schedule) => zoneOf(schedule) === zone).flatMap((schedule) =>
      clockChangeSlots(calendars, schedule, { after: start.epochMilliseconds, months })
        .map((slot) => ({ recipe: recipe.name, schedule: schedule.id, ...slot }))
    )
  );
  for (
    let change = start.getTimeZoneTransition("next");
    change !== null && change.toPlainDate().toString() <= to;
    change = change.getTimeZoneTransition("next")
  ) {
    const day = change.toPlainDate().toString();
    const byMs = (change.offsetNanoseconds - change.subtract({ nanoseconds: 1 }).offsetNanoseconds) / 1e6;
    const slots = met.filter(({ wall }) => wall.slice(0, 10) === day)
      .map(({ recipe, schedule, kind, wall, runsAt }) => ({
        recipe,
        schedule,
        kind,
        wall,
        runsAt: runsAt.map(showInstant),
      }));
    days.push({ day, what: "clock-change", zone, byMs, slots });
  }
  return days;
}
