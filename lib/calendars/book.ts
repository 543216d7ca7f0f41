/**
 * The days of one market, read from the held data once and then looked up.
 *
 * @module
 */
import { type CalendarData, readHours, spellDays } from "./records.ts";

/** A break within a session, local `"HH:MM"`. */
export interface SessionBreak {
  from: string;
  to: string;
}

/** One day's trading, auctions before and after it left out. */
export interface Session {
  /** Local date, `"2025-08-15"`. */
  date: string;
  /** Local `"HH:MM"`. */
  open: string;
  /** Local `"HH:MM"`. */
  close: string;
  /** Lunch breaks; empty when trading goes through. */
  breaks: SessionBreak[];
  /** The exchange announced a short day. A day that weather cut short is not one. */
  halfDay: boolean;
  /** Epoch milliseconds, UTC. */
  openAt: number;
  /** Epoch milliseconds, UTC. */
  closeAt: number;
}

/** What is known of one market's days. */
export interface Book {
  zone: string;
  from: string;
  through: string;
  /** First day that rests on a projection instead of a notice. */
  projectedFrom: string | undefined;
  /** Versions of the data that it stands on. */
  versions: readonly string[];
  /** Hours of an ordinary day, `"09:30-12:00 13:00-16:00"`. */
  regular: string;
  /** Hours of a day that was announced as short; `null` when there are none. */
  halfDay: string | null;
  /** Hours of a covered weekday, or `undefined` when it is closed. */
  hoursOn(date: string): string | undefined;
  isHalfDay(date: string): boolean;
  /** Hours that weather left of the day, if it did. */
  unplannedOn(date: string): string | undefined;
}

/** Makes the book of an exchange from its held data. */
export function readBook(data: CalendarData): Book {
  const closed = new Set(spellDays(data.closed));
  const halfDays = new Set(spellDays(data.halfDays));
  const { zone, from, through, projectedFrom, regular, halfDay, version } = data;
  return {
    zone,
    from,
    through,
    projectedFrom,
    versions: [version],
    regular,
    halfDay,
    hoursOn(date) {
      if (closed.has(date)) return undefined;
      return data.unplanned[date] ?? (halfDays.has(date) && halfDay ? halfDay : regular);
    },
    isHalfDay: (date) => halfDays.has(date),
    unplannedOn: (date) => data.unplanned[date],
  };
}

/** Spells a day's hours out as a session. It is shared between callers, hence frozen. */
export function makeSession(book: Book, date: string, hours: string): Session {
  const stretches = readHours(hours);
  const open = hours.slice(0, 5);
  const close = hours.slice(-5);
  const breaks = stretches.slice(1).map((stretch, i) =>
    Object.freeze({ from: stretches[i]!.to, to: stretch.from }) // i counts from the stretch before
  );
  Object.freeze(breaks);
  const day = Temporal.PlainDate.from(date);
  const at = (time: string) =>
    day.toZonedDateTime({ timeZone: book.zone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
  const halfDay = book.isHalfDay(date);
  return Object.freeze({ date, open, close, breaks, halfDay, openAt: at(open), closeAt: at(close) });
}
