/**
 * Calendars for people: their names, days that were set by hand, and what is not certain.
 *
 * @module
 */
import {
  coverage,
  isOverrideNeedless,
  type Mic,
  mics,
  type Override,
  overridesOf,
} from "../../../lib/calendars/mod.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/** Days before the end of a calendar from which on it is told that it ends. */
const WARNING_DAYS = 60;

/** Finds a calendar by its name. @throws {UsageError} With the nearest. */
export function micOf(given: string): Mic {
  const found = mics.find((name) => name === given.toUpperCase());
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot use calendar "${given}": there are ${mics.join(", ")}${didYouMean(given.toUpperCase(), mics)}`,
  );
}

/** Tells a day that was set by hand, and whether it is still needed. */
export function overrideLine(override: Override): string {
  const { mic, date, hours, halfDay, because, setAt } = override;
  const needless = isOverrideNeedless(override)
    ? `; not needed any more, as the calendar says so itself: "calendar unset ${mic} ${date}" takes it back`
    : "";
  return `${mic} ${date} was set by hand on ${setAt.slice(0, 10)}: ${hours}${
    halfDay === true ? ", a half-day" : ""
  }, because ${because}${needless}`;
}

/** Tells what is special about a span of days. */
export function notesOf(mic: Mic, { from, to, now }: { from: string; to: string; now: number }): string[] {
  const { projectedFrom } = coverage(mic);
  const set = overridesOf(mic).filter(({ date }) => date >= from && date <= to);
  return [
    ...set.map(overrideLine),
    ...projectedFrom !== undefined && to >= projectedFrom ? [projectionLine(mic, projectedFrom)] : [],
    ...endOf(mic, now),
  ];
}

/** Tells what a recipe that goes by a calendar should know: it ends soon, its next days are a guess, or it needs care. */
export function warningsOf(mic: Mic, now: number): string[] {
  const { projectedFrom } = coverage(mic);
  return [
    ...endOf(mic, now),
    ...projectedFrom !== undefined && projectedFrom <= soon(now) ? [projectionLine(mic, projectedFrom)] : [],
    ...overridesOf(mic).filter(isOverrideNeedless).map(overrideLine),
  ];
}

/** The day up to which one looks ahead. */
const soon = (now: number): string =>
  Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO("UTC").toPlainDate()
    .add({ days: WARNING_DAYS }).toString();

/** Tells that days are a guess. */
function projectionLine(mic: Mic, projectedFrom: string): string {
  return `${mic} is a projection from ${projectedFrom} on, as its days are not announced yet: ` +
    `what reads goes on, what writes stops there; "calendar update FILE" installs the announced ones`;
}

/** Tells that a calendar ends soon, or has ended. */
function endOf(mic: Mic, now: number): string[] {
  const { through } = coverage(mic);
  if (through >= soon(now)) return [];
  return [
    `${mic} ends ${through}: after that what reads goes on as if every weekday were a session, ` +
    `and what writes stops; "calendar update FILE" installs a newer one`,
  ];
}
