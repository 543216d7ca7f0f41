/**
 * Finds the trading days of a market and the times of their sessions. On days that the calendar does not cover, a
 * weekday counts as a session with the usual hours and is marked as assumed.
 *
 * @module
 */
import { type Calendars, calendarZone, type Mic, type Session } from "./mod.ts";

/** A day on which a market trades, or would have if it were not a holiday. */
export interface TradingDay {
  /** Local date. */
  date: string;
  /** Epoch milliseconds. */
  openAt: number;
  /** Epoch milliseconds, end of continuous trading. */
  closeAt: number;
  halfDay: boolean;
  /** Whether the calendar does not cover the day. */
  assumed: boolean;
  /**
   * Whether the calendar projects the day, which the exchange has not announced. Recipes that write do not run on
   * such a day.
   */
  projected: boolean;
}

/** Returns the hours of the last full session that the market's calendar covers. */
function hoursOf(calendars: Calendars, mic: Mic): { open: string; close: string } {
  let date = Temporal.PlainDate.from(calendars.coverage(mic).through);
  let session: Session | string = "closed";
  while (typeof session === "string" || session.halfDay) {
    session = calendars.sessionOn(mic, date.toString());
    date = date.subtract({ days: 1 });
  }
  return session;
}

/**
 * Converts a wall-clock time to epoch milliseconds. A time that a clock change skips becomes the first instant after the
 * change; a time that occurs twice becomes its first occurrence.
 */
export function wallInstant(date: string, time: string, zone: string): number {
  const local = Temporal.PlainDateTime.from(`${date}T${time}`);
  const [earlier, later] = [
    local.toZonedDateTime(zone, { disambiguation: "earlier" }),
    local.toZonedDateTime(zone, { disambiguation: "later" }),
  ];
  if (earlier.toPlainDateTime().equals(local)) return earlier.epochMilliseconds;
  // In a gap, one instant is before the change and one after it.
  return later.getTimeZoneTransition("previous")?.epochMilliseconds ?? later.epochMilliseconds;
}

/** Formats an instant as in run keys: `2025-08-15T08:45:00Z`. */
export function showInstant(at: number): string {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/** Returns the local date of an instant. */
export function dateAt(at: number, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/** Returns the date some days later. */
export function addDays(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString();
}

const isWeekend = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek > 5;

/** Returns a day with the usual hours, without regard to the calendar. */
export function usualDay(calendars: Calendars, mic: Mic, date: string): TradingDay {
  const { open, close } = hoursOf(calendars, mic);
  const at = (time: string) => wallInstant(date, time, calendarZone[mic]);
  return { date, openAt: at(open), closeAt: at(close), halfDay: false, assumed: true, projected: false };
}

/** Returns the trading day on a date, `"weekend"`, or `"holiday"` for a weekday without trading. */
export function tradingDay(calendars: Calendars, mic: Mic, date: string): TradingDay | "holiday" | "weekend" {
  const session = calendars.sessionOn(mic, date);
  if (typeof session !== "string") {
    const { openAt, closeAt, halfDay } = session;
    return { date, openAt, closeAt, halfDay, assumed: false, projected: calendars.isProjected(mic, date) };
  }
  if (isWeekend(date)) return "weekend";
  return session === "closed" ? "holiday" : usualDay(calendars, mic, date);
}

/** Returns the nearest trading day before (`-1`) or after (`1`) a date. */
export function neighbourDay(calendars: Calendars, mic: Mic, date: string, step: 1 | -1): TradingDay {
  let day: TradingDay | string;
  do {
    date = addDays(date, step);
    day = tradingDay(calendars, mic, date);
  } while (typeof day === "string");
  return day;
}
