/**
 * Days as the markets see them: which have a session, which are over, and which may still be the broker's own.
 *
 * @module
 */
import {
  CalendarUnknownError,
  calendarZone,
  type Mic,
  previousSession,
  type Session,
  sessionOn,
} from "../calendars/mod.ts";
import type { DayBookMarket } from "./types.ts";

/** Calendar that a market keeps. The futures account trades in Hong Kong. */
export const calendarOfMarket: Readonly<Record<DayBookMarket, Mic>> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
  futures: "XHKG",
};

/** A day of one market at a certain time. */
export interface MarketDay {
  market: DayBookMarket;
  day: string;
  /** Hours of the session; `unknown` outside the held calendars. */
  session: Session | "closed" | "unknown";
  /** The date that it is in the market. */
  runningDay: string;
  /** It is that date or an earlier one. */
  hasBegun: boolean;
  /** Its session is over, or its date where there is none. */
  isOver: boolean;
  /**
   * The broker may still show it in the lists of today: it is the running day, or the last session before it. A
   * broker starts a new day in its own time.
   */
  isRecent: boolean;
}

/** Days after which a day is believed to be over though nothing tells the broker's time. */
const DAYS_WITHOUT_WITNESS = 7;

/**
 * Returns whether a day is over by more than this machine's clock: something told the broker's time, a quote of the
 * broker shows that its clock is past the session, or the day is over for more than a week.
 */
export function isOverForSure(
  { market, day, runningDay }: MarketDay,
  { last, quoted }: { last: unknown; quoted: number | undefined },
): boolean {
  if (last !== undefined) return true;
  if (quoted !== undefined && marketDay(market, day, quoted).isOver) return true;
  return Temporal.PlainDate.from(day).until(runningDay).days > DAYS_WITHOUT_WITNESS;
}

/** Days before the running one that count as recent where the calendar says nothing. */
const RECENT_DAYS_UNKNOWN = 4;

/** Returns the date that it is in a market. */
export function dateIn(market: DayBookMarket, now: number): string {
  const zone = calendarZone[calendarOfMarket[market]];
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/** Returns what a day is to a market at a certain time. */
export function marketDay(market: DayBookMarket, day: string, now: number): MarketDay {
  const mic = calendarOfMarket[market];
  const runningDay = dateIn(market, now);
  const session = sessionOn(mic, day);
  return {
    market,
    day,
    session,
    runningDay,
    hasBegun: day <= runningDay,
    isOver: day < runningDay || (typeof session === "object" && session.closeAt <= now),
    isRecent: day <= runningDay && day >= firstRecent(mic, runningDay),
  };
}

function firstRecent(mic: Mic, runningDay: string): string {
  try {
    return previousSession(mic, runningDay).date;
  } catch (error) {
    if (!(error instanceof CalendarUnknownError)) throw error;
    return Temporal.PlainDate.from(runningDay).subtract({ days: RECENT_DAYS_UNKNOWN }).toString();
  }
}

/** Tells whether a day gets a folder even when it has no rows: it has a session, or may have one. */
export function mayTrade({ session, day }: MarketDay): boolean {
  if (session !== "unknown") return session !== "closed";
  return Temporal.PlainDate.from(day).dayOfWeek <= 5;
}

/** Returns all dates from one to another, both included. */
export function datesBetween(from: string, to: string): string[] {
  const dates: string[] = [];
  for (let date = Temporal.PlainDate.from(from); date.toString() <= to; date = date.add({ days: 1 })) {
    dates.push(date.toString());
  }
  return dates;
}

/** Writes the session for a summary, such as `09:30-16:00`. */
export function sessionText({ session }: MarketDay): string {
  if (typeof session === "string") return session;
  return `${session.open}-${session.close}${session.halfDay ? " (half day)" : ""}`;
}
