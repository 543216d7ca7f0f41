/**
 * Trading days of the exchanges: when a session opens and closes, and what is not known.
 *
 * Outside the covered years the answer is `"unknown"`, never "a weekday, so open". Days of the mainland
 * exchanges after the last published notice are a projection; {@linkcode coverage} says since when. What a person
 * knows better is laid over the data by {@linkcode useLocalCalendars}.
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
import { type Book, makeSession, readBook, type Session } from "./book.ts";
import { northboundBook, southboundBook } from "./connect_book.ts";
import connectDays from "./data/CONNECT.json" with { type: "json" };
import hongKong from "./data/XHKG.json" with { type: "json" };
import newYork from "./data/XNYS.json" with { type: "json" };
import shanghai from "./data/XSHG.json" with { type: "json" };
import { fingerprint, isNeedless, type Override, withOverrides } from "./overrides.ts";
import { type CalendarData, compareVersions, type ConnectData } from "./records.ts";

export type { Session, SessionBreak } from "./book.ts";
export type { Override } from "./overrides.ts";

/** An exchange by its market identifier code, or a link of Stock Connect by the market that it leads to. */
export type Mic = "XHKG" | "XNYS" | "XSHG" | "XSHE" | "CONNECT_SH" | "CONNECT_SZ" | "CONNECT_HK";

/** A market whose data can be replaced. Shenzhen keeps Shanghai's days, and the links have those of both ends. */
export type DataMic = "XHKG" | "XNYS" | "XSHG";

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
  CONNECT_HK: "Asia/Hong_Kong",
};

/** What a person laid over the held calendars: newer data of whole markets, and single days. */
export interface LocalCalendars {
  /** Data of markets that were updated; held data that is as new stays. */
  calendars?: Partial<Record<DataMic, CalendarData>>;
  overrides?: readonly Override[];
}

/** The data that the toolkit comes with. */
// A JSON import's type lists the years of every object, which no index signature takes.
export const heldData = { XHKG: hongKong, XNYS: newYork, XSHG: shanghai } as Readonly<
  Record<DataMic, CalendarData>
>;

const connectData = connectDays as unknown as ConnectData; // as above, and "mic" is widened

interface Shelf {
  /** What the data says. */
  plain: Book;
  /** The same with what was set by hand. */
  book: Book;
  overrides: ReadonlyMap<string, Override>;
  sessions: Map<string, Session | "closed">;
}

let shelves = new Map<Mic, Shelf>();
let local: LocalCalendars = {};

/**
 * Takes newer data and days that were set by hand from now on, in place of those that it was given before. The one
 * thing in this room that can change: a program calls it as it starts, and again when the file has changed.
 */
export function useLocalCalendars(calendars: LocalCalendars): void {
  local = calendars;
  shelves = new Map();
}

/** The data that a market goes by: what was installed when it is newer than what the toolkit comes with. */
export function dataOf(mic: DataMic): CalendarData {
  const [held, installed] = [heldData[mic], local.calendars?.[mic]];
  return installed !== undefined && compareVersions(installed.version, held.version) > 0 ? installed : held;
}

/** Where a market's days come from. */
const makers: Record<Mic, (book: (mic: Mic) => Book) => Book> = {
  XHKG: () => readBook(dataOf("XHKG")),
  XNYS: () => readBook(dataOf("XNYS")),
  XSHG: () => readBook(dataOf("XSHG")),
  XSHE: () => readBook(dataOf("XSHG")),
  CONNECT_SH: (book) => northboundBook(book("XHKG"), book("XSHG"), connectData),
  CONNECT_SZ: (book) => northboundBook(book("XHKG"), book("XSHE"), connectData),
  // Southbound orders go by way of either; the two close on the same days.
  CONNECT_HK: (book) => southboundBook(book("XHKG"), book("XSHG"), connectData),
};

/** Markets whose days a link's follow. */
const ends: Partial<Record<Mic, readonly Mic[]>> = {
  CONNECT_SH: ["XHKG", "XSHG"],
  CONNECT_SZ: ["XHKG", "XSHE"],
  CONNECT_HK: ["XHKG", "XSHG"],
};

function shelfOf(mic: Mic): Shelf {
  let shelf = shelves.get(mic);
  if (shelf === undefined) {
    // What is set for an end of a link holds for the link too.
    const plain = makers[mic]((end) => shelfOf(end).book);
    const overrides = new Map(
      (local.overrides ?? []).filter((each) => each.mic === mic && isCovered(plain, each.date))
        .map((each) => [each.date, each]),
    );
    shelf = { plain, book: withOverrides(plain, overrides), overrides, sessions: new Map() };
    shelves.set(mic, shelf);
  }
  return shelf;
}

const isCovered = ({ from, through }: Book, date: string): boolean => date >= from && date <= through;

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

/** What a calendar speaks of. */
export interface Coverage {
  /** First day, weekends included. */
  from: string;
  /** Last day. */
  through: string;
  /** First day that rests on a projection, as the exchange has not announced its year. */
  projectedFrom?: string;
}

/** Returns the first and the last day that the calendar speaks of, and from when on it is a projection. */
export function coverage(mic: Mic): Coverage {
  const { from, through, projectedFrom } = shelfOf(mic).book;
  return { from, through, ...projectedFrom !== undefined && { projectedFrom } };
}

/** Tells whether a day rests on a projection alone: nobody has announced it, and nobody has set it by hand. */
export function isProjected(mic: Mic, date: string): boolean {
  const { book: { projectedFrom, through } } = shelfOf(mic);
  if (projectedFrom === undefined || date < projectedFrom || date > through) return false;
  return overridesOn(mic, date).length === 0;
}

/** Returns what was set by hand that bears on a day: for the market itself, and for the ends of a link. */
export function overridesOn(mic: Mic, date: string): Override[] {
  return [mic, ...ends[mic] ?? []].flatMap((each) => shelfOf(each).overrides.get(date) ?? []);
}

/** Returns what was set by hand for a market or the ends of a link, by date. */
export function overridesOf(mic: Mic): Override[] {
  return [mic, ...ends[mic] ?? []].flatMap((each) => [...shelfOf(each).overrides.values()])
    .sort((a, b) => a.date < b.date ? -1 : a.date > b.date ? 1 : 0);
}

/** Returns the links of Stock Connect that a market is an end of. */
export function linksOf(mic: Mic): Mic[] {
  return mics.filter((each) => ends[each]?.includes(mic));
}

/** Returns the hours of a half-day that the exchange announces, `null` when it has none. */
export function halfDayHours(mic: Mic): string | null {
  return shelfOf(mic).book.halfDay;
}

/** Tells whether the data has come to say what was set by hand, so that it can be taken back. */
export function isOverrideNeedless(override: Override): boolean {
  const mic = mics.find((each) => each === override.mic);
  return mic !== undefined && isNeedless(override, shelfOf(mic).plain);
}

/**
 * Returns the version of a market's calendar, to be kept with whatever was decided by it: that of the data,
 * `"2026.11.2"`, and when days were set by hand their number and a hash, `"2026.11.2+1.8c5f3a02"`.
 */
export function calendarVersion(mic: Mic): string {
  const versions = shelfOf(mic).book.versions.join("/");
  const overrides = overridesOf(mic);
  return overrides.length === 0 ? versions : `${versions}+${fingerprint(overrides)}`;
}

/** Every market. */
// The table has every one of them as a key.
export const mics = Object.keys(calendarZone) as Mic[];
