/**
 * Computes the state of a date in each market: whether it has a session, is over, or may still change at the broker.
 *
 * @module
 */
import {
  type Calendars,
  CalendarUnknownError,
  calendarZone,
  type Mic,
  type Session,
} from "../calendars/mod.ts";
import type { DayBookMarket } from "./types.ts";

/** Calendar of each market. The futures account trades in Hong Kong. */
export const calendarOfMarket: Readonly<Record<DayBookMarket, Mic>> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
  futures: "XHKG",
};

/** A day of one market, seen at one instant. */
export interface MarketDay {
  market: DayBookMarket;
  day: string;
  /** Hours of the session; `unknown` outside the installed calendars. */
  session: Session | "closed" | "unknown";
  /** Today's date in the market. */
  runningDay: string;
  /** Whether the day is today in the market, or earlier. */
  hasBegun: boolean;
  /** Whether the session is over, or the whole date if it has no session. */
  isOver: boolean;
  /**
   * Whether the broker may still show the day in today's lists: it is today, the last session before today, or a day
   * between them. A broker may start its new day later than the exchange.
   */
  isRecent: boolean;
}

/** After this number of days, a day counts as over even if the broker's time is unknown. */
const DAYS_WITHOUT_BROKER_TIME = 7;

/**
 * Returns whether another clock confirms that a day is over, because this machine's clock may be wrong. True in three
 * cases: an answer contained the broker's time, a quote shows that the session has ended, or the day ended over a week
 * ago.
 */
export function isOverForSure(
  { market, day, session, runningDay }: MarketDay,
  { last, quoteTime }: { last: unknown; quoteTime: number | undefined },
): boolean {
  if (last !== undefined) return true;
  if (quoteTime !== undefined && isOverAt(market, { day, session }, quoteTime)) return true;
  return Temporal.PlainDate.from(day).until(runningDay).days > DAYS_WITHOUT_BROKER_TIME;
}

/** Number of days before today that count as recent if the calendar does not cover them. */
const RECENT_DAYS_UNKNOWN = 4;

/** Returns today's date in a market. */
export function dateIn(market: DayBookMarket, now: number): string {
  const zone = calendarZone[calendarOfMarket[market]];
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate().toString();
}

function isOverAt(
  market: DayBookMarket,
  { day, session }: Pick<MarketDay, "day" | "session">,
  at: number,
): boolean {
  return day < dateIn(market, at) || (typeof session === "object" && session.closeAt <= at);
}

/** Returns the state of a day in a market at an instant. */
export function marketDay(calendars: Calendars, market: DayBookMarket, day: string, now: number): MarketDay {
  const mic = calendarOfMarket[market];
  const runningDay = dateIn(market, now);
  const session = calendars.sessionOn(mic, day);
  return {
    market,
    day,
    session,
    runningDay,
    hasBegun: day <= runningDay,
    isOver: isOverAt(market, { day, session }, now),
    isRecent: day <= runningDay && day >= firstRecent(calendars, mic, runningDay),
  };
}

function firstRecent(calendars: Calendars, mic: Mic, runningDay: string): string {
  try {
    return calendars.previousSession(mic, runningDay).date;
  } catch (error) {
    if (!(error instanceof CalendarUnknownError)) throw error;
    return Temporal.PlainDate.from(runningDay).subtract({ days: RECENT_DAYS_UNKNOWN }).toString();
  }
}

/**
 * Returns whether a day gets a folder even without rows: it has a session, or it is a weekday that the calendar does
 * not cover.
 */
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

/** Returns the session as text for a summary: `09:30-16:00`, `09:30-13:00 (half day)`, `closed` or `unknown`. */
export function sessionText({ session }: MarketDay): string {
  if (typeof session === "string") return session;
  return `${session.open}-${session.close}${session.halfDay ? " (half day)" : ""}`;
}
