/**
 * Computes the broker's days: when a market trades, when its day is cleared, and which currency it uses.
 *
 * A trading day lasts until it is cleared, some hours after the close. Until then its orders, fills and journal lines
 * are in today's lists. Clearing computes the fees, merges Hong Kong's fills, and moves everything into the history
 * lists. After that, today's lists contain only futures orders that stay valid after that day. The day of the futures
 * is cleared before the night session begins, because the night session belongs to the next day.
 *
 * @module
 */
import {
  type Calendars,
  extendedPeriod,
  type ExtendedSession,
  type Mic,
  type Session,
} from "../../calendars/mod.ts";
import type { Market } from "../../operations/public_types.ts";

/** Orders are kept in separate books: one for each of the four markets, and one for the futures account. */
export type Book = Market | "futures";

/** Currencies of the account. */
export type AccountCurrency = "HKD" | "USD" | "CNY";

/** All books, in the order in which their events are processed. */
export const books: readonly Book[] = ["hk", "us", "shanghai", "shenzhen", "futures"];

/** All markets, in the order in which their events are processed. */
export const markets: readonly Market[] = ["hk", "us", "shanghai", "shenzhen"];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** From the close of the stocks to the close of the index futures. */
const FUTURE_TAIL = 30 * MINUTE_MS;

interface BookRules {
  mic: Mic;
  currency: AccountCurrency;
  /** Hours from the close of the stocks to clearing, for futures too. */
  clearingHours: number;
  /** First digit of order numbers. */
  digit: number;
}

/** Rules of each book. */
export const bookRules: Readonly<Record<Book, BookRules>> = {
  hk: { mic: "XHKG", currency: "HKD", clearingHours: 3, digit: 1 },
  us: { mic: "XNYS", currency: "USD", clearingHours: 4, digit: 2 },
  shanghai: { mic: "CONNECT_SH", currency: "CNY", clearingHours: 3, digit: 3 },
  shenzhen: { mic: "CONNECT_SZ", currency: "CNY", clearingHours: 3, digit: 4 },
  futures: { mic: "XHKG", currency: "HKD", clearingHours: 1.25, digit: 5 },
};

/** A trading day of a book; instants are epoch milliseconds. */
export interface BookDay {
  /** Local date, `yyyy-MM-dd`. */
  date: string;
  openAt: number;
  closeAt: number;
  /** When the day is cleared and the next day starts. */
  clearingAt: number;
  /** Local time minus UTC, milliseconds. */
  offset: number;
  /** Periods of trading without a break. */
  segments: readonly { from: number; to: number }[];
  /**
   * Sessions of the day outside the regular hours, in order of time. The night session of futures begins the evening
   * before.
   */
  extended: readonly { from: number; to: number }[];
}

/** Cached days, by the calendars that they come from. */
const known = new WeakMap<Calendars, Map<string, BookDay>>();

function makeDay(calendars: Calendars, book: Book, session: Session): BookDay {
  let days = known.get(calendars);
  if (days === undefined) known.set(calendars, days = new Map());
  const key = `${book} ${session.date}`;
  let day = days.get(key);
  if (day === undefined) days.set(key, day = build(calendars, book, session));
  return day;
}

function build(calendars: Calendars, book: Book, session: Session): BookDay {
  // Index futures start a quarter of an hour before the stocks and end half an hour after them.
  const isFutures = book === "futures";
  const openAt = session.openAt - (isFutures ? 15 * MINUTE_MS : 0);
  const closeAt = session.closeAt + (isFutures ? FUTURE_TAIL : 0);
  const offset = Date.parse(`${session.date}T${session.open}:00Z`) - session.openAt;
  const at = (time: string) => Date.parse(`${session.date}T${time}:00Z`) - offset;
  const stops = [openAt, ...session.breaks.flatMap(({ from, to }) => [at(from), at(to)]), closeAt];
  const segments = [];
  for (let index = 0; index < stops.length; index += 2) {
    segments.push({ from: stops[index] ?? openAt, to: stops[index + 1] ?? closeAt });
  }
  const clearingAt = session.closeAt + bookRules[book].clearingHours * HOUR_MS;
  const extended = extendedOf(calendars, book, session);
  return { date: session.date, openAt, closeAt, clearingAt, offset, segments, extended };
}

/** Returns the sessions of a day outside the regular hours. */
function extendedOf(calendars: Calendars, book: Book, session: Session): BookDay["extended"] {
  const periods = (of: Session, ...names: ExtendedSession[]) =>
    names.flatMap((name) => extendedPeriod(name, of) ?? []);
  if (book === "us") return periods(session, "pre-market", "after-hours");
  return book === "futures" ? periods(calendars.previousSession("XHKG", session.date), "night") : [];
}

/**
 * Returns when a future closes on a day. On its last trading day, it closes with the stocks, half an hour before other
 * futures.
 */
export function futureCloseAt({ date, closeAt }: BookDay, lastTradingDay: string | undefined): number {
  return closeAt - (lastTradingDay === date ? FUTURE_TAIL : 0);
}

/** Returns whether an instant is in a session of a day outside the regular hours. */
export function isExtendedAt({ extended }: BookDay, at: number): boolean {
  return extended.some(({ from, to }) => at >= from && at < to);
}

/** Returns the first day of a book that is not yet cleared at an instant. */
export function dayAt(calendars: Calendars, book: Book, at: number): BookDay {
  const { mic } = bookRules[book];
  for (let day = at - 2 * DAY_MS;; day += DAY_MS) {
    const date = new Date(day).toISOString().slice(0, 10);
    const session = calendars.sessionOn(mic, date);
    if (session === "unknown") {
      throw new RangeError(`Cannot find the trading day of ${mic}: its calendar does not cover ${date}`);
    }
    if (session === "closed") continue;
    const found = makeDay(calendars, book, session);
    if (found.clearingAt > at) return found;
  }
}

/** Returns the last `count` trading days before a date, oldest first. Returns fewer near the start of the calendar. */
export function daysBefore(calendars: Calendars, book: Book, date: string, count: number): BookDay[] {
  const { mic } = bookRules[book];
  const { from } = calendars.coverage(mic);
  const days: BookDay[] = [];
  let before = date;
  // `previousSession` throws if it must look before the calendar. No holiday is longer than a fortnight, so stop 14
  // days after the calendar's start.
  const first = new Date(Date.parse(`${from}T00:00:00Z`) + 14 * DAY_MS).toISOString().slice(0, 10);
  while (days.length < count && before > first) {
    const session = calendars.previousSession(mic, before);
    days.push(makeDay(calendars, book, session));
    before = session.date;
  }
  return days.reverse();
}

/** Caches local times as text, because lists return the same orders repeatedly. */
const localTimes = new Map<number, string>();
const MOST_TIMES = 10_000;

/** Returns an instant as the local time of a day, `yyyy-MM-dd HH:mm:ss`. */
export function localTime(day: BookDay, at: number): string {
  const local = at + day.offset;
  let text = localTimes.get(local);
  if (text === undefined) {
    text = new Date(local).toISOString().slice(0, 19).replace("T", " ");
    if (localTimes.size >= MOST_TIMES) localTimes.clear();
    localTimes.set(local, text);
  }
  return text;
}

/** Returns seconds of a local day as `HH:mm:ss`. */
export function clockText(seconds: number): string {
  const two = (value: number) => value < 10 ? `0${value}` : String(value);
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** Returns an order number made of book, date and position in the day. */
export function orderNumber(book: Book, date: string, place: number): string {
  return `${bookRules[book].digit}${date.slice(2).replaceAll("-", "")}${String(place).padStart(6, "0")}`;
}

export { DAY_MS, HOUR_MS, MINUTE_MS };
