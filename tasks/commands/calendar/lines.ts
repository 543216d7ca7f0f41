/**
 * Formats calendars for commands: names, overrides, and days that are not certain.
 *
 * @module
 */
import { type Calendars, type Mic, mics, type Override } from "../../../lib/calendars/mod.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/** hsgate warns about a calendar that ends within this number of days. */
const WARNING_DAYS = 60;

/**
 * Returns the calendar that a user's text names, in upper or lower case. @throws {UsageError} If there is no such
 * calendar. The message names the nearest one.
 */
export function micOf(given: string): Mic {
  const found = mics.find((name) => name === given.toUpperCase());
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot use calendar "${given}": there are ${mics.join(", ")}${didYouMean(given.toUpperCase(), mics)}`,
  );
}

/** Describes an override, and says if it is no longer needed. */
export function overrideLine(calendars: Calendars, override: Override): string {
  const { mic, date, hours, halfDay, because, setAt } = override;
  const needless = calendars.isOverrideNeedless(override)
    ? `; no longer needed, because the calendar now says the same: "calendar unset ${mic} ${date}" removes it`
    : "";
  return `${mic} ${date} was overridden on ${setAt.slice(0, 10)}: ${hours}${
    halfDay === true ? ", a half-day" : ""
  }, because ${because}${needless}`;
}

/** Returns notes about a range of days: overrides, projected days, the end of the calendar. */
export function notesOf(
  calendars: Calendars,
  mic: Mic,
  { from, to, now }: { from: string; to: string; now: number },
): string[] {
  const { projectedFrom } = calendars.coverage(mic);
  const set = calendars.overridesOf(mic).filter(({ date }) => date >= from && date <= to);
  return [
    ...set.map((each) => overrideLine(calendars, each)),
    ...projectedFrom !== undefined && to >= projectedFrom ? [projectionLine(mic, projectedFrom)] : [],
    ...endOf(calendars, mic, now),
  ];
}

/**
 * Returns warnings about a calendar that recipes use: it ends soon, its next days are projected, or an override is no
 * longer needed.
 */
export function warningsOf(calendars: Calendars, mic: Mic, now: number): string[] {
  const { projectedFrom } = calendars.coverage(mic);
  return [
    ...endOf(calendars, mic, now),
    ...projectedFrom !== undefined && projectedFrom <= soon(now) ? [projectionLine(mic, projectedFrom)] : [],
    ...calendars.overridesOf(mic).filter((each) => calendars.isOverrideNeedless(each))
      .map((each) => overrideLine(calendars, each)),
  ];
}

/** Returns the last day of the period that warnings are about. */
const soon = (now: number): string =>
  Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO("UTC").toPlainDate()
    .add({ days: WARNING_DAYS }).toString();

/** Describes a projection. */
function projectionLine(mic: Mic, projectedFrom: string): string {
  return `${mic} is projected from ${projectedFrom} on, because the exchange has not announced those days: ` +
    `read-only recipes use the projection, recipes that write do not run; "calendar update FILE" installs the announced days`;
}

/** Returns a warning for a calendar that ends soon or has ended. */
function endOf(calendars: Calendars, mic: Mic, now: number): string[] {
  const { through } = calendars.coverage(mic);
  if (through >= soon(now)) return [];
  return [
    `${mic} ends ${through}: after that, read-only recipes treat every weekday as a session, ` +
    `and recipes that write do not run; "calendar update FILE" installs a newer calendar`,
  ];
}
