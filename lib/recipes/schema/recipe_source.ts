/**
 * Describes a recipe as a person writes it: the types of the schema, written out for editors and for `deno doc`. A test
 * compares them with the schema.
 *
 * @module
 */
import type { Mic } from "../../calendars/mod.ts";

/** A schedule by the sessions of an exchange. */
export interface CalendarSource {
  /** Name of the schedule; part of the key of each of its runs. */
  id?: string | undefined;
  /** Exchange, by its market identifier code, such as `XHKG`. */
  calendar: Mic;
  /** Sessions that have a slot. @default every session */
  days?:
    | "every-session"
    | "first-session-of-week"
    | "last-session-of-week"
    | "first-session-of-month"
    | "last-session-of-month"
    | "first-session-of-quarter"
    | "last-session-of-quarter"
    | undefined;
  /** Session time, such as `close+45m`, or time of day, such as `09:25`. */
  at: string;
  /** Whether half-days have a slot. @default run */
  halfDays?: "run" | "skip" | "only" | undefined;
}

/** A schedule by a cron pattern. */
export interface CronSource {
  /** Name of the schedule; part of the key of each of its runs. */
  id?: string | undefined;
  /** Minute, hour, day of the month, month, day of the week. */
  cron: string;
  /** Name of the time zone, such as `Asia/Hong_Kong`. */
  timezone: string;
  /** The schedule has slots only on days on which this exchange has a session. */
  onlyIn?: Mic | undefined;
}

/** A schedule at a fixed interval. */
export interface EverySource {
  /** Name of the schedule; part of the key of each of its runs. */
  id?: string | undefined;
  /** Interval between slots, counted from 1970-01-01 UTC, such as `50m`. */
  every: string;
  /** Part of the session that has slots, such as `XHKG.open-30m..XHKG.close+2h`. */
  while?: string | undefined;
  /** Largest delay that hsgate adds to a slot, such as `2m`. */
  jitter?: string | undefined;
}

/** A schedule as a person writes it. */
export type ScheduleSource = CalendarSource | CronSource | EverySource;

/** A step as a person writes it. */
export interface StepSource {
  /** Name of the step; no two steps have the same name. */
  id: string;
  /** A step of hsgate, an operation, or a TypeScript file in the recipe's folder. */
  uses: string;
  /** Parameters of the step; `${{ … }}` contains an expression. */
  with?: Record<string, unknown> | undefined;
  /** Steps that must have succeeded before this step. */
  needs?: string | string[] | undefined;
  /** Expression; hsgate skips the step if the expression is false. */
  if?: string | boolean | undefined;
  /**
   * Retries of a step that does not write: the number of attempts in all, and the wait before the second one, such as
   * `10s`. The wait doubles for each further attempt, up to `5m`.
   */
  retry?: { attempts: number; wait?: string | undefined } | undefined;
  /** Longest time of one attempt, such as `5m`. */
  timeout?: string | undefined;
  /** If a run is resumed, run this read-only step again instead of reusing its stored output. */
  fresh?: boolean | undefined;
}

/** A notice of a recipe as a person writes it. */
export interface NoticeSource {
  /** Result of a run for which hsgate sends the notice. */
  on: "success" | "failure" | "skip" | "always";
  /** Step that sends the notice. @default notify */
  uses?: string | undefined;
  /** Parameters of that step. */
  with: Record<string, unknown>;
  /** Notice that hsgate sends as soon as a channel of this notice fails. */
  fallback?: { uses?: string | undefined; with: Record<string, unknown> } | undefined;
}

/** A parameter of a recipe as a person writes it: only its default, or its type and possibly a default. */
export type ParamSource = string | number | boolean | unknown[] | {
  /** Type of the value. */
  type: "text" | "number" | "integer" | "boolean" | "decimal" | "date" | "list";
  /** Value, unless a run sets another value. */
  default?: unknown;
  /** Meaning of the parameter. */
  description?: string | undefined;
};

/** What the scheduler does with missed slots. */
export type MisfireAction = "skip" | "latest" | "all" | "ask";

/** A recipe as a person writes it. Durations are text such as `45m`, `1h30m` or `90s`. */
export interface RecipeSource {
  /** Address of the JSON Schema, for editors. */
  $schema?: string | undefined;
  /** Name of the recipe; part of the key of each run. */
  name: string;
  /** One line that says what the recipe does. */
  description?: string | undefined;
  /** When the recipe runs: one schedule, or a list of schedules that each have an id. */
  schedule?: ScheduleSource | ScheduleSource[] | undefined;
  /** What the scheduler does with missed slots, when a slot counts as missed, and how many missed slots `all` runs. */
  misfire?:
    | MisfireAction
    | { action?: MisfireAction | undefined; grace?: string | undefined; max?: number | undefined }
    | undefined;
  /** What happens to a slot while the previous run is still running. */
  overlap?: "skip" | "queue" | "cancel" | "parallel" | undefined;
  /** Longest time of a run. */
  timeout?: string | undefined;
  /** Longest time from a slot to the start of its run, such as `1h`; hsgate skips the slot if its run is later. */
  deadline?: string | undefined;
  /** Time of day in which a slot may start and the recipe may write, such as `XHKG.open+5m..XHKG.close-10m`. */
  window?: string | undefined;
  /** Limits of the recipe's orders; they may be stricter than the limits of the settings, never looser. */
  limits?: Record<string, string | number | undefined> | undefined;
  /**
   * Whether runs may write at the broker, if the setting `liveTrading` allows it too. Without it, a run of a recipe that
   * writes is a plan, and sends nothing.
   */
  live?: boolean | undefined;
  /** Connection to the broker; without it, the settings decide. */
  connect?:
    | "gateway"
    | "direct"
    | "simulator"
    | { gateway?: string | undefined }
    | { simulator: { seed?: number | undefined; at?: string | undefined } }
    | undefined;
  /** Values for expressions; `hsgate run --param` can set other values for one run. */
  params?: Record<string, ParamSource> | undefined;
  /** Where hsgate reads each secret; a recipe must not contain secrets. */
  secrets?: Record<string, { env: string } | { file: string } | { command: string[] }> | undefined;
  /** Steps of the recipe, in the order in which they run. */
  steps: StepSource[];
  /** Messages that hsgate sends when a run has ended. */
  notify?: NoticeSource[] | undefined;
  /** Address of a monitoring service, to which hsgate reports the start, success and failure of each run. */
  ping?: string | undefined;
}
