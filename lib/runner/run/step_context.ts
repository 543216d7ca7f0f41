/**
 * Makes the context of a step: the slot, session and day of its run, and functions. Their texts pass the redactor, and
 * their rows are written under the claim.
 *
 * @module
 */
import { calendarZone, type Mic } from "../../calendars/mod.ts";
import type { RunDay } from "../../recipes/as_of_now.ts";
import type { CompiledRecipe, CompiledStep, StepContext, StepScope } from "../../recipes/compiled.ts";
import type { WriteGuard } from "../../recipes/guarded_client.ts";
import type { CallingStep, Claim } from "../claims/claim.ts";
import type { RunRow } from "../queries/runs.ts";
import { recordArtifact } from "../queries/steps.ts";
import type { BareRunEvent } from "./report.ts";
import type { RunDeps } from "../deps.ts";
import { businessDayOf, calendarOf, zoneOf } from "../schedule/plan_run.ts";
import { stepKeyOf } from "../schedule/run_key.ts";
import { dateAt, neighbourDay, showInstant, type TradingDay, tradingDay } from "../schedule/session_times.ts";

/** What the context of one attempt is made of. */
interface ContextParts {
  scope: StepScope & Pick<StepContext, "day">;
  attempt: number;
  claim: Claim;
  recipe: CompiledRecipe;
  deps: RunDeps;
  /** Checks each write of the step and keeps its outcome. */
  guard: WriteGuard;
  /** Aborted when the run must end early. */
  halt: AbortSignal;
  tell(event: BareRunEvent): void;
}

/** Makes the context of one attempt, except for its signal and its `sleep`. */
export function contextOf(
  step: CompiledStep,
  { scope, attempt, claim, recipe, deps, guard, halt, tell }: ContextParts,
): Omit<StepContext, "signal" | "sleep"> {
  const { store, host, out, redactor, client, secret, runRecipe } = deps;
  const calling: CallingStep = { ...claim, step: step.id, calls: new Map(), halt };
  return {
    ...scope,
    stepKey: stepKeyOf(claim.runKey, step.id),
    attempt,
    out,
    now: deps.timeOf?.(recipe) ?? (() => host.now()),
    client: async () => guard.guard(await client(recipe)),
    proven: (error, outcome) => guard.prove(error, outcome),
    log: (level, message, data) => tell({ type: "log", step: step.id, level, message, data }),
    progress: (event) => tell({ type: "step-progress", step: step.id, ...event }),
    artifact: async (file) => {
      redactor.checkFile(file.path);
      const path = redactor.text(file.path);
      const made = { ...file, path, businessDay: file.businessDay ?? scope.day.date };
      const recorded = await recordArtifact(store, claim, made, host.now());
      tell({ type: "artifact", step: step.id, dataset: file.dataset, path, ...recorded });
    },
    secret: async (name) => {
      const value = await secret(name);
      redactor.add(value, `secret "${name}"`);
      return value;
    },
    runRecipe: async (name, params) => {
      if (runRecipe === undefined) {
        throw new TypeError(`Cannot run recipe "${name}": this program cannot run recipes as steps`);
      }
      return await runRecipe(calling, name, params);
    },
  };
}

type SessionScope = NonNullable<StepScope["session"]>;

/** The fields of a run's row that its steps see. */
type ScopeRow = Pick<RunRow, "run_key" | "schedule_id" | "slot_at" | "business_day" | "params">;

/** The data that the steps of a run see before any of them has run. */
export type RunScope = Omit<StepScope, "outputs"> & { day: RunDay };

/**
 * Makes the scope of a run, without outputs.
 *
 * @param outer The day of the run that this one is a step of: a recipe without a calendar of its own follows it.
 */
export function scopeOf(recipe: CompiledRecipe, row: ScopeRow, outer?: RunDay): RunScope {
  const day = dayOf(recipe, row, outer);
  const { calendar: mic, date } = day;
  const session = mic === undefined || row.business_day === null ? undefined : tradingDay(mic, date);
  return {
    recipe: recipe.name,
    runKey: row.run_key,
    ...(row.schedule_id === "" ? {} : { scheduleId: row.schedule_id }),
    slot: showInstant(row.slot_at),
    ...(mic !== undefined && typeof session === "object" ? { session: describe(mic, session) } : {}),
    ...(mic !== undefined && session !== undefined
      ? { previousSession: describe(mic, neighbourDay(mic, date, -1)) }
      : {}),
    // This program wrote it from a recipe's parameters.
    params: JSON.parse(row.params) as Record<string, unknown>,
    day,
  };
}

/** Returns the day and the sessions of a manual run at an instant, for a run without a store. */
export function manualScope(
  recipe: CompiledRecipe,
  at: number,
  outer?: RunDay,
): Pick<RunScope, "day" | "session" | "previousSession"> {
  return scopeOf(recipe, {
    run_key: "",
    schedule_id: "",
    slot_at: at,
    business_day: outer?.date ?? businessDayOf(recipe, at) ?? null,
    params: "{}",
  }, outer);
}

/** Returns the day that a run belongs to. */
export function dayOf(
  recipe: Pick<CompiledRecipe, "schedules" | "window">,
  { schedule_id, slot_at, business_day }: Pick<ScopeRow, "schedule_id" | "slot_at" | "business_day">,
  outer?: RunDay,
): RunDay {
  // A manual run has no slot; its day is a day of the exchange that the recipe follows.
  const schedule = schedule_id === ""
    ? recipe.schedules[0]
    : recipe.schedules.find(({ id }) => id === schedule_id);
  const calendar = calendarOf(recipe, schedule) ?? outer?.calendar;
  const zone = calendar !== undefined
    ? calendarZone[calendar]
    : outer?.zone ?? (schedule === undefined ? "UTC" : zoneOf(schedule));
  return {
    date: business_day ?? dateAt(slot_at, zone),
    zone,
    ...calendar !== undefined && { calendar },
    ...schedule_id !== "" && schedule?.form === "every" && { isOneOfMany: true },
  };
}

/** Formats open and close as instants with the exchange's offset: `2025-08-15T09:30:00+08:00`. */
function describe(mic: Mic, { date, openAt, closeAt, halfDay }: TradingDay): SessionScope {
  const show = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: calendarZone[mic] });
  return { date, open: show(openAt), close: show(closeAt), halfDay };
}
