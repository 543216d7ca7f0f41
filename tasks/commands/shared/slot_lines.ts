/**
 * Formats slots for tables and JSON.
 *
 * @module
 */
import { type Calendars, showInstant } from "../../../lib/calendars/mod.ts";
import { calendarOf, zoneOf } from "../../../lib/recipes/engine/step_context.ts";
import type { CompiledRecipe, NamedSlot } from "../../../lib/recipes/mod.ts";
import { type Limits, limitsIfKnown } from "../../../lib/client/limits.ts";
import type { Host } from "../../terminal/host.ts";
import { loadSettingsOf } from "./session.ts";

/** A slot for `--json`. */
export interface ShownSlot {
  schedule: string;
  /** UTC. */
  at: string;
  /** Wall-clock time in `zone`, with its offset. */
  local: string;
  zone: string;
  /** Date of the session. */
  session?: string;
  /** Code of the reason why the slot is skipped. */
  skipped?: string;
  /** Set if the calendar does not cover the day. */
  assumed?: true;
  /** Set if the exchange has not announced the day. */
  projected?: true;
  /** Override of the day, and its reason. */
  setByHand?: string;
}

const reasons: Readonly<Record<string, string>> = {
  holiday: "nothing to do: the exchange is closed",
  half_day: "nothing to do: it is a half-day",
};

/** Returns a slot of a recipe for display. */
export function shownSlot(
  calendars: Calendars,
  recipe: CompiledRecipe,
  { at, session, skipped, assumed, scheduleId }: NamedSlot & { scheduleId: string },
): ShownSlot {
  const schedule = recipe.schedules.find(({ id }) => id === scheduleId);
  const zone = schedule === undefined ? "UTC" : zoneOf(schedule);
  const mic = calendarOf(recipe, schedule);
  const date = session ?? localTime(at, zone).slice(0, 10);
  const [override] = mic === undefined ? [] : calendars.overridesOn(mic, date);
  return {
    schedule: scheduleId,
    at: showInstant(at),
    local: localTime(at, zone),
    zone,
    ...session !== undefined && { session },
    ...skipped !== undefined && { skipped },
    ...assumed && { assumed },
    ...mic !== undefined && calendars.isProjected(mic, date) && { projected: true },
    ...override !== undefined && {
      setByHand: `${override.mic} is ${override.hours}, because ${override.because}`,
    },
  };
}

/**
 * Returns the limits of the settings. They decide whether the run of a slot will be only a plan. Returns `undefined` if
 * the settings cannot be used.
 */
export const limitsShown = (
  flags: Parameters<typeof loadSettingsOf>[0],
  host: Host,
): Promise<Limits | undefined> => limitsIfKnown(() => loadSettingsOf(flags, host));

/** Returns the local time of an instant in a time zone: `2025-08-15T16:45:00+08:00`. */
export function localTime(at: number, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
    .toString({ timeZoneName: "never", fractionalSecondDigits: at % 1000 === 0 ? 0 : 3 });
}

/** The precision of shown times. */
export type Precision = "minutes" | "seconds" | "milliseconds";

/** Returns the lowest precision that shows these local times completely. */
export function precisionOf(locals: readonly string[]): Precision {
  if (locals.some((local) => local[19] === ".")) return "milliseconds";
  return locals.some((local) => local.slice(17, 19) !== "00") ? "seconds" : "minutes";
}

/** Returns a local time for a table: weekday, date and time. */
export function readable(local: string, precision: Precision = "minutes"): string {
  const day = [
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun",
  ][Temporal.PlainDate.from(local.slice(0, 10)).dayOfWeek - 1];
  const rest = local[19] === "." ? local.slice(19, 23) : ".000";
  const time = precision === "minutes"
    ? local.slice(11, 16)
    : `${local.slice(11, 19)}${precision === "seconds" ? "" : rest}`;
  return `${day} ${local.slice(0, 10)} ${time}`;
}

/** Returns the note of a slot. */
export function noteOf({ session, skipped, assumed, projected, setByHand, local }: ShownSlot): string {
  const set = setByHand === undefined ? [] : [`override: ${setByHand}`];
  if (skipped !== undefined) return [reasons[skipped] ?? `nothing to do: ${skipped}`, ...set].join("; ");
  const notes: string[] = [];
  if (session !== undefined && session !== local.slice(0, 10)) notes.push(`session of ${session}`);
  if (assumed) notes.push("assumed: the calendar does not cover the day; recipes that write do not run");
  if (projected) {
    notes.push("projected: the exchange has not announced the day; recipes that write do not run");
  }
  return [...notes, ...set].join("; ");
}
