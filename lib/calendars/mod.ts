/**
 * Looks up the trading sessions of exchanges: which days trade, and when they open and close.
 *
 * Outside the covered days, {@linkcode Calendars.sessionOn} returns `"unknown"`, and the methods of
 * {@linkcode Calendars} that search for sessions throw. None of them assumes that a weekday is open.
 * {@linkcode tradingDay} and {@linkcode neighbourDay} count a weekday outside the covered days as a session with the
 * usual hours, and mark it as assumed. Mainland days after the last published notice are projected;
 * {@linkcode Calendars.coverage} returns the first projected day.
 *
 * A {@linkcode Calendars} object also contains the updates and overrides that a user installed. Code that depends on
 * trading days gets such an object as an argument.
 *
 * @example Find the next session in New York
 * ```ts
 * import { builtInCalendars } from "./mod.ts";
 * if (builtInCalendars.nextSession("XNYS", "2025-07-03").date !== "2025-07-07") throw new Error("expected 2025-07-07");
 * ```
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import {
  type Book,
  fingerprint,
  isNeedless,
  makeSession,
  northboundBook,
  type Override,
  readBook,
  type Session,
  southboundBook,
  withOverrides,
} from "./book.ts";
import { type CalendarData, compareVersions, type ConnectData } from "./records.ts";

import connectDays from "./data/CONNECT.json" with { type: "json" };
import hongKong from "./data/XHKG.json" with { type: "json" };
import newYork from "./data/XNYS.json" with { type: "json" };
import shanghai from "./data/XSHG.json" with { type: "json" };

export { extendedPeriod } from "./book.ts";
export type { ExtendedPeriod, ExtendedSession, Session, SessionBreak } from "./book.ts";
export type { Override } from "./book.ts";

/**
 * The market identifier code of an exchange, or hsgate's name of a Stock Connect link: `CONNECT_` and the market in
 * which its orders trade.
 */
export type Mic = "XHKG" | "XNYS" | "XSHG" | "XSHE" | "CONNECT_SH" | "CONNECT_SZ" | "CONNECT_HK";

/**
 * A market with its own data, which can be updated. Shenzhen has Shanghai's days. The days of a link follow from its
 * two markets and, until 2023, from a built-in list of days on which only the link was closed.
 */
export type DataMic = "XHKG" | "XNYS" | "XSHG";

/** Thrown if the calendar does not cover a requested day. */
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
  CONNECT_HK: "Asia/Hong_Kong",
};

/** A user's changes to the built-in calendars: updates of whole markets, and overrides of single days. */
export interface LocalCalendars {
  /** Updated data by market. It is used only if it is newer than the built-in data. */
  calendars?: Partial<Record<DataMic, CalendarData>>;
  overrides?: readonly Override[];
}

/** The built-in data. */
// The cast is needed because the type of a JSON import has the years as members and no index signature.
export const builtInData = { XHKG: hongKong, XNYS: newYork, XSHG: shanghai } as Readonly<
  Record<DataMic, CalendarData>
>;

// The cast is needed because the type of a JSON import has the years as members, and `string` as the type of `mic`.
const connectData = connectDays as unknown as ConnectData;

/** The built calendar of one market. */
interface MarketCalendar {
  /** The calendar without the overrides of this market. For a link, it includes the overrides of its two markets. */
  plain: Book;
  /** The calendar with overrides. */
  book: Book;
  overrides: ReadonlyMap<string, Override>;
  sessions: Map<string, Session | "closed">;
}

/** The two markets of each link. */
const ends: Partial<Record<Mic, readonly Mic[]>> = {
  CONNECT_SH: ["XHKG", "XSHG"],
  CONNECT_SZ: ["XHKG", "XSHE"],
  CONNECT_HK: ["XHKG", "XSHG"],
};

const isCovered = ({ from, through }: Book, date: string): boolean => date >= from && date <= through;

/** Parses a date. Throws unless it is an existing date in the form `"YYYY-MM-DD"`. */
function readDate(date: string): Temporal.PlainDate {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    throw new TypeError(`Cannot read "${date}" as a date: write it like "2025-08-15"`);
  }
  return Temporal.PlainDate.from(date);
}

/** The days that a calendar covers. */
export interface Coverage {
  /** First covered day; it may be on a weekend. */
  from: string;
  /** Last day. */
  through: string;
  /** First day that is projected because the exchange has not announced its year yet. */
  projectedFrom?: string;
}

/**
 * The calendars of all markets: the built-in data with a user's updates and overrides. Objects of this class never
 * change.
 */
export class Calendars {
  readonly #local: LocalCalendars;
  /** Calendars that were built already. */
  readonly #markets = new Map<Mic, MarketCalendar>();

  /** Creates calendars from the built-in data and the given updates and overrides. */
  constructor(local: LocalCalendars = {}) {
    this.#local = local;
  }

  /** Returns the data that a market uses: the installed update if it is newer than the built-in data. */
  dataOf(mic: DataMic): CalendarData {
    const [builtIn, installed] = [builtInData[mic], this.#local.calendars?.[mic]];
    return installed !== undefined && compareVersions(installed.version, builtIn.version) > 0
      ? installed
      : builtIn;
  }

  /** Returns the day's session, `"closed"`, or `"unknown"` outside the covered days. */
  sessionOn(mic: Mic, date: string): Session | "closed" | "unknown" {
    const { book, sessions } = this.#marketOf(mic);
    const seen = sessions.get(date);
    if (seen !== undefined) return seen;
    const weekend = readDate(date).dayOfWeek > 5;
    if (date < book.from || date > book.through) return "unknown";
    const hours = weekend ? undefined : book.hoursOn(date);
    const answer = hours === undefined ? "closed" : makeSession(book, date, hours);
    sessions.set(date, answer);
    return answer;
  }

  /**
   * Returns the sessions from one day to another, both included, oldest first.
   *
   * @throws {CalendarUnknownError} When the calendar does not cover one of the two days.
   */
  sessionsBetween(mic: Mic, from: string, to: string): Session[] {
    for (const end of [from, to]) if (this.sessionOn(mic, end) === "unknown") throw this.#refuse(mic, end);
    const sessions: Session[] = [];
    for (let date = from; date <= to; date = addDays(date, 1)) {
      const session = this.sessionOn(mic, date);
      if (typeof session !== "string") sessions.push(session);
    }
    return sessions;
  }

  /**
   * Returns the last session strictly before a day, whether or not the day itself trades.
   *
   * @throws {CalendarUnknownError} When the calendar does not cover the days in between.
   */
  previousSession(mic: Mic, date: string): Session {
    return this.#walk(mic, date, -1);
  }

  /**
   * Returns the first session strictly after a day, whether or not the day itself trades.
   *
   * @throws {CalendarUnknownError} When the calendar does not cover the days in between.
   */
  nextSession(mic: Mic, date: string): Session {
    return this.#walk(mic, date, 1);
  }

  /** Returns the first and the last day that the calendar covers, and its first projected day. */
  coverage(mic: Mic): Coverage {
    const { from, through, projectedFrom } = this.#marketOf(mic).book;
    return { from, through, ...projectedFrom !== undefined && { projectedFrom } };
  }

  /** Returns whether a day is projected: the exchange has not announced it, and it has no override. */
  isProjected(mic: Mic, date: string): boolean {
    const { book: { projectedFrom, through } } = this.#marketOf(mic);
    if (projectedFrom === undefined || date < projectedFrom || date > through) return false;
    return this.overridesOn(mic, date).length === 0;
  }

  /** Returns the overrides that affect a day: those of the market itself and, for a link, of its two markets. */
  overridesOn(mic: Mic, date: string): Override[] {
    return [mic, ...ends[mic] ?? []].flatMap((each) => this.#marketOf(each).overrides.get(date) ?? []);
  }

  /** Returns the overrides of a market and, for a link, of its two markets, sorted by date. */
  overridesOf(mic: Mic): Override[] {
    return [mic, ...ends[mic] ?? []].flatMap((each) => [...this.#marketOf(each).overrides.values()])
      .sort((a, b) => a.date < b.date ? -1 : a.date > b.date ? 1 : 0);
  }

  /** Returns the standard hours of the exchange's half-days; `null` if it has none. */
  halfDayHours(mic: Mic): string | null {
    return this.#marketOf(mic).book.halfDay;
  }

  /** Returns whether an override is no longer needed because the data now says the same. */
  isOverrideNeedless(override: Override): boolean {
    const mic = mics.find((each) => each === override.mic);
    return mic !== undefined && isNeedless(override, this.#marketOf(mic).plain);
  }

  /**
   * Returns the version of a market's calendar, to store with decisions that depend on the calendar. It is the version
   * of the data, such as `"2026.11.2"`. For a link, it is the versions of its own data and of its two markets,
   * separated by `/`. Equal versions appear once. With overrides, the version also contains their number and a hash:
   * `"2026.11.2+1.8c5f3a02"`.
   */
  version(mic: Mic): string {
    const versions = this.#marketOf(mic).book.versions.join("/");
    const overrides = this.overridesOf(mic);
    return overrides.length === 0 ? versions : `${versions}+${fingerprint(overrides)}`;
  }

  #marketOf(mic: Mic): MarketCalendar {
    let market = this.#markets.get(mic);
    if (market === undefined) {
      // Build a link from the overridden calendars of its two markets: the overrides of these markets apply to the
      // link, too.
      const plain = this.#build(mic, (end) => this.#marketOf(end).book);
      const overrides = new Map(
        (this.#local.overrides ?? []).filter((each) => each.mic === mic && isCovered(plain, each.date))
          .map((each) => [each.date, each]),
      );
      market = { plain, book: withOverrides(plain, overrides), overrides, sessions: new Map() };
      this.#markets.set(mic, market);
    }
    return market;
  }

  #build(mic: Mic, book: (mic: Mic) => Book): Book {
    switch (mic) {
      case "XHKG":
      case "XNYS":
      case "XSHG":
        return readBook(this.dataOf(mic));
      case "XSHE":
        return readBook(this.dataOf("XSHG"));
      case "CONNECT_SH":
        return northboundBook(book("XHKG"), book("XSHG"), connectData);
      case "CONNECT_SZ":
        return northboundBook(book("XHKG"), book("XSHE"), connectData);
      case "CONNECT_HK":
        // Southbound orders go through either mainland exchange; both have the same days.
        return southboundBook(book("XHKG"), book("XSHG"), connectData);
    }
  }

  #walk(mic: Mic, date: string, step: 1 | -1): Session {
    let day = addDays(date, step);
    let session = this.sessionOn(mic, day);
    while (session === "closed") {
      day = addDays(day, step);
      session = this.sessionOn(mic, day);
    }
    if (session === "unknown") throw this.#refuse(mic, day);
    return session;
  }

  #refuse(mic: Mic, date: string): CalendarUnknownError {
    const { from, through } = this.coverage(mic);
    return new CalendarUnknownError(
      `Cannot look up whether ${mic} trades on ${date}: the calendar covers ${from} to ${through}`,
      { code: "calendar-unknown" },
    );
  }
}

/** The calendars without a user's updates and overrides. */
export const builtInCalendars = new Calendars();

/** Returns the Stock Connect links that include a market. */
export function linksOf(mic: Mic): Mic[] {
  return mics.filter((each) => ends[each]?.includes(mic));
}

/** Every market. */
// `calendarZone` has each of them as a key, so the cast is safe.
export const mics = Object.keys(calendarZone) as Mic[];

/** A day on which a market trades, is assumed to trade, or would have traded if it were not a holiday. */
export interface TradingDay {
  /** Local date. */
  date: string;
  /** Epoch milliseconds. */
  openAt: number;
  /** Epoch milliseconds, end of continuous trading. */
  closeAt: number;
  halfDay: boolean;
  /** Whether the hours are the usual ones, because the calendar does not cover the day or has no session on it. */
  assumed: boolean;
  /**
   * Whether the calendar projects the day, which the exchange has not announced. Recipes that write do not run on
   * such a day.
   */
  projected: boolean;
}

/** Returns the usual hours: those of the last covered session that is not a half-day. */
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
 * Converts a wall-clock time to epoch milliseconds. A time that a clock change skips becomes the first instant after
 * the change; a time that occurs twice becomes its first occurrence.
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

/** The local clock of a zone changes its date and its offset only at whole quarters of an hour. */
const QUARTER_MS = 15 * 60_000;
/** The last computed date of each zone: most calls ask about the same quarter of an hour. */
const lastDates = new Map<string, { quarter: number; date: string }>();

/** Returns the local date of an instant. */
export function dateAt(at: number, zone: string): string {
  const quarter = Math.floor(at / QUARTER_MS);
  const last = lastDates.get(zone);
  if (last?.quarter === quarter) return last.date;
  const date = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString();
  // Do not cache dates before 1970, because many of their offsets were not whole quarters of an hour.
  if (quarter > 0) lastDates.set(zone, { quarter, date });
  return date;
}

/** Returns the date a number of days later, or earlier if the number is negative. */
export function addDays(date: string, days: number): string {
  return readDate(date).add({ days }).toString();
}

const isWeekend = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek > 5;

/** Returns a day with the usual hours, whether or not the calendar has a session on it. */
export function usualDay(calendars: Calendars, mic: Mic, date: string): TradingDay {
  const { open, close } = hoursOf(calendars, mic);
  const at = (time: string) => wallInstant(date, time, calendarZone[mic]);
  return { date, openAt: at(open), closeAt: at(close), halfDay: false, assumed: true, projected: false };
}

/**
 * Returns the trading day on a date, `"weekend"`, or `"holiday"` for a weekday without trading. A weekday that the
 * calendar does not cover is a trading day with the usual hours.
 */
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

/** A time relative to a session: a named moment and an offset. */
export interface SessionTime {
  /** `close` is the end of continuous trading; `auction-close` is the end of the closing auction, if there is one. */
  anchor: "open" | "close" | "auction-close";
  /** Elapsed time from the anchor; negative before it. */
  offsetMs: number;
}

/**
 * How long the closing auction lasts after continuous trading. In Hong Kong the auction ends at a random time between
 * 16:08 and 16:10, and on half-days between 12:08 and 12:10. Other exchanges hold it before the close.
 */
const auctionMs: Partial<Record<Mic, number>> = { XHKG: 10 * 60_000, CONNECT_HK: 10 * 60_000 };

/** Returns the instant of a time relative to a session, Unix milliseconds. */
export function sessionTimeOf(
  mic: Mic,
  { openAt, closeAt }: Pick<Session, "openAt" | "closeAt">,
  { anchor, offsetMs }: SessionTime,
): number {
  if (anchor === "open") return openAt + offsetMs;
  return closeAt + offsetMs + (anchor === "auction-close" ? auctionMs[mic] ?? 0 : 0);
}
