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
  /** Hours of a covered weekday, `"09:30-12:00 13:00-16:00"`, or `undefined` when it is closed. */
  hoursOn(date: string): string | undefined;
  isHalfDay(date: string): boolean;
  /** Hours that weather left of the day, if it did. */
  unplannedOn(date: string): string | undefined;
}

/** Makes the book of an exchange from its held data. */
export function readBook(data: CalendarData): Book {
  const closed = new Set(spellDays(data.closed));
  const halfDays = new Set(spellDays(data.halfDays));
  return {
    zone: data.zone,
    from: data.from,
    through: data.through,
    hoursOn(date) {
      if (closed.has(date)) return undefined;
      return data.unplanned[date] ?? (halfDays.has(date) && data.halfDay ? data.halfDay : data.regular);
    },
    isHalfDay: (date) => halfDays.has(date),
    unplannedOn: (date) => data.unplanned[date],
  };
}

/** Since this day northbound trading is held whenever both markets trade. */
const CONNECT_FROM = "2023-04-24";

/**
 * Makes the book of a Stock Connect northbound link: days on which Hong Kong and the mainland both trade,
 * with the mainland's hours. A Hong Kong half-day does not shorten it, weather in Hong Kong does.
 *
 * Before 2023-04-24 days without money settlement in Hong Kong were closed too. Those are not recorded,
 * so coverage starts there.
 */
export function connectBook(hongKong: Book, mainland: Book): Book {
  return {
    zone: mainland.zone,
    from: [CONNECT_FROM, hongKong.from, mainland.from].sort().at(-1)!, // three entries
    through: hongKong.through < mainland.through ? hongKong.through : mainland.through,
    hoursOn(date) {
      const hours = mainland.hoursOn(date);
      if (hours === undefined || hongKong.hoursOn(date) === undefined) return undefined;
      const weather = hongKong.unplannedOn(date);
      return weather === undefined ? hours : shorten(hours, weather);
    },
    isHalfDay: (date) => mainland.isHalfDay(date),
    unplannedOn: (date) => mainland.unplannedOn(date) ?? hongKong.unplannedOn(date),
  };
}

/** Keeps what lies between the first and the last minute of other hours; `undefined` when nothing does. */
function shorten(hours: string, within: string): string | undefined {
  const [first, last] = [within.slice(0, 5), within.slice(-5)];
  const kept = readHours(hours)
    .map(({ from, to }) => ({ from: from > first ? from : first, to: to < last ? to : last }))
    .filter(({ from, to }) => from < to);
  return kept.length === 0 ? undefined : kept.map(({ from, to }) => `${from}-${to}`).join(" ");
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
