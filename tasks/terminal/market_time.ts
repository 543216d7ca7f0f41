/**
 * Formats market times for people, in the broker's time zone, and reads times of any zone.
 *
 * @module
 */

/** The broker's time zone. Tables show all times of quotes, fills and bars in it. */
const ZONE = "Asia/Hong_Kong";

/** Short name of the time zone, for titles and lines. */
export const ZONE_NAME = "HKT";

/**
 * Returns the time of day of an instant in Hong Kong. If the instant's date is not the date of `now`, the date comes
 * first.
 */
export function clockText(at: number, now: number = at): string {
  const localText = (instant: number) =>
    Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(ZONE).toPlainDateTime().toString({
      smallestUnit: "second",
    });
  const [date = "", time = ""] = localText(at).split("T");
  return localText(now).startsWith(date) ? time : `${date} ${time}`;
}

/** Returns the instant of a date and a time of day in a zone; `undefined` if one of them is incomplete or invalid. */
export function instantIn(
  zone: string,
  date: string | undefined,
  time: string | undefined,
): number | undefined {
  const [, year, month, day] = /^(\d{4})-?(\d{2})-?(\d{2})$/.exec(date ?? "") ?? [];
  const [, hour, minute, second = "00"] = /^(\d{2}):?(\d{2})(?::?(\d{2}))?/.exec(time ?? "") ?? [];
  if (year === undefined || hour === undefined) return undefined;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  try {
    return Temporal.PlainDateTime.from(text, { overflow: "reject" }).toZonedDateTime(zone).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // no such date or time of day
    throw error;
  }
}

/** Returns an instant for programs, ISO 8601 in UTC; `undefined` for an absent one. */
export const utcText = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : Temporal.Instant.fromEpochMilliseconds(at).toString();
