/**
 * Trading days of the exchanges: when a session opens and closes, and what is not known.
 *
 * Outside the covered years the answer is `"unknown"`, never "a weekday, so open". Days of the mainland
 * exchanges after the last published notice are a projection; the data file's `projectedFrom` says since when.
 *
 * @example When the next session in New York opens
 * ```ts
 * import { nextSession } from "./mod.ts";
 * if (nextSession("XNYS", "2025-07-03").date !== "2025-07-07") throw new Error("the fourth of July");
 * ```
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { type Book, connectBook, makeSession, readBook, type Session } from "./book.ts";
import hongKong from "./data/XHKG.json" with { type: "json" };
import newYork from "./data/XNYS.json" with { type: "json" };
import shanghai from "./data/XSHG.json" with { type: "json" };

export type { Session, SessionBreak } from "./book.ts";

/** An exchange by its market identifier code, or a northbound link of Stock Connect. */
export type Mic = "XHKG" | "XNYS" | "XSHG" | "XSHE" | "CONNECT_SH" | "CONNECT_SZ";

/** A day was asked for that the held calendars say nothing about. */
export class CalendarUnknownError extends BrokerError {
  override readonly name: string = "CalendarUnknownError";
}

/** IANA time zone of each market's dates and hours. */
export const calendarZone: Record<Mic, string> = {
  XHKG: "Asia/Hong_Kong",
  XNYS: "America/New_York",
  XSHG: "Asia/Shanghai",
  XSHE: "Asia/Shanghai",
  CONNECT_SH: "Asia/Shanghai",
  CONNECT_SZ: "Asia/Shanghai",
};

interface Shelf {
  book: Book;
  sessions: Map<string, Session | "closed">;
}

const shelves = new Map<Mic, Shelf>();

/** Shenzhen keeps Shanghai's days, so the two share one book. */
const makers: Record<Mic, () => Shelf> = {
  XHKG: () => ({ book: readBook(hongKong), sessions: new Map() }),
  XNYS: () => ({ book: readBook(newYork), sessions: new Map() }),
  XSHG: () => ({ book: readBook(shanghai), sessions: new Map() }),
  XSHE: () => shelfOf("XSHG"),
  CONNECT_SH: () => ({ book: connectBook(shelfOf("XHKG").book, shelfOf("XSHG").book), sessions: new Map() }),
  CONNECT_SZ: () => shelfOf("CONNECT_SH"),
};

function shelfOf(mic: Mic): Shelf {
  let shelf = shelves.get(mic);
  if (shelf === undefined) shelves.set(mic, shelf = makers[mic]());
  return shelf;
}

/** Reads a date and refuses anything but an existing `"YYYY-MM-DD"`. */
function readDate(date: string): Temporal.PlainDate {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    throw new TypeError(`Cannot read "${date}" as a date: write it like "2025-08-15"`);
  }
  return Temporal.PlainDate.from(date);
}

/** Returns the day's session, `"closed"`, or `"unknown"` outside the covered days. */
export function sessionOn(mic: Mic, date: string): Session | "closed" | "unknown" {
  const { book, sessions } = shelfOf(mic);
  const seen = sessions.get(date);
  if (seen !== undefined) return seen;
  const weekend = readDate(date).dayOfWeek > 5;
  if (date < book.from || date > book.through) return "unknown";
  const hours = weekend ? undefined : book.hoursOn(date);
  const answer = hours === undefined ? "closed" : makeSession(book, date, hours);
  sessions.set(date, answer);
  return answer;
}

function refuse(mic: Mic, date: string): CalendarUnknownError {
  const { from, through } = coverage(mic);
  return new CalendarUnknownError(
    `Cannot tell whether ${mic} trades on ${date}: the calendar covers ${from} to ${through}`,
    { code: "calendar-unknown" },
  );
}

const addDays = (date: string, days: number): string => readDate(date).add({ days }).toString();

/**
 * Returns the sessions from one day to another, both included, oldest first.
 *
 * @throws {CalendarUnknownError} When either day lies outside the covered days.
 */
export function sessionsBetween(mic: Mic, from: string, to: string): Session[] {
  for (const end of [from, to]) if (sessionOn(mic, end) === "unknown") throw refuse(mic, end);
  const sessions: Session[] = [];
  for (let date = from; date <= to; date = addDays(date, 1)) {
    const session = sessionOn(mic, date);
    if (typeof session !== "string") sessions.push(session);
  }
  return sessions;
}

function walk(mic: Mic, date: string, step: 1 | -1): Session {
  let day = addDays(date, step);
  let session = sessionOn(mic, day);
  while (session === "closed") {
    day = addDays(day, step);
    session = sessionOn(mic, day);
  }
  if (session === "unknown") throw refuse(mic, day);
  return session;
}

/**
 * Returns the last session strictly before a day, whether or not the day itself trades.
 *
 * @throws {CalendarUnknownError} When the way there leaves the covered days.
 */
export function previousSession(mic: Mic, date: string): Session {
  return walk(mic, date, -1);
}

/**
 * Returns the first session strictly after a day, whether or not the day itself trades.
 *
 * @throws {CalendarUnknownError} When the way there leaves the covered days.
 */
export function nextSession(mic: Mic, date: string): Session {
  return walk(mic, date, 1);
}

/** Returns the first and the last day that the calendar speaks of, weekends included. */
export function coverage(mic: Mic): { from: string; through: string } {
  const { from, through } = shelfOf(mic).book;
  return { from, through };
}
