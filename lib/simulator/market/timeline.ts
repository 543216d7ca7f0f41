/**
 * Lists the trading days of one market, and the minutes of continuous trading in each.
 *
 * The days run from the first stored bar to the end of the calendar. Auctions do not count: a stock day in Hong Kong
 * has 330 minutes, 09:30 to 12:00 and 13:00 to 16:00. The sessions outside the regular hours have timelines of their
 * own.
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

/** The first day of the market, which is the day of the first stored bar. */
export const FIRST_DATE = "2024-08-16";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Hour of the local day at which dividends and splits are booked to the account. On an ex-date, quotes show the new day
 * from this hour.
 */
export const ACTIONS_HOUR = 4;

/** A period of trading without a break, epoch milliseconds, the end excluded. */
export interface Segment {
  /** Start of the period. */
  from: number;
  /** End of the period. */
  to: number;
}

/** One trading day. */
export interface TradingDay {
  /** Index of the day, from 0. */
  index: number;
  /** Local date, `yyyy-MM-dd`. */
  date: string;
  /** Periods of trading. */
  segments: readonly Segment[];
  /** Minutes of trading. */
  minutes: number;
  /** When trading starts, epoch milliseconds. */
  openAt: number;
  /** When trading ends, epoch milliseconds. */
  closeAt: number;
  /** When quotes switch to this day, epoch milliseconds; before that they show the previous day. */
  startsAt: number;
  /** Local time minus UTC, milliseconds. */
  offset: number;
  /** Whether the market closes early. */
  halfDay: boolean;
}

/**
 * The exchange whose trading days a timeline lists, or a session outside the regular hours. `HKFUT` is the day session
 * of Hong Kong's index futures.
 */
export type TimelineName = "XHKG" | "XNYS" | "XSHG" | "HKFUT" | ExtendedSession;

/**
 * How long before a day's open the quotes begin to show this day: the order input or pre-market hours of each market.
 */
const LEAD_MS: Record<Exclude<TimelineName, ExtendedSession>, number> = {
  XHKG: 30 * MINUTE_MS,
  XNYS: 330 * MINUTE_MS,
  XSHG: 15 * MINUTE_MS,
  HKFUT: 30 * MINUTE_MS,
};

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Minutes from the close of the stocks to the close of the index futures. */
const FUTURE_TAIL = 30;

/** Index futures start 15 minutes before the stocks and end 30 minutes after them, half-days included. */
function futureHours(session: Session): { open: number; close: number } {
  return { open: minutesOf(session.open) - 15, close: minutesOf(session.close) + FUTURE_TAIL };
}

/** The exchange whose calendar a timeline follows, for each timeline that is not named after its exchange. */
const MICS: Partial<Record<TimelineName, Mic>> = {
  "HKFUT": "XHKG",
  "pre-market": "XNYS",
  "after-hours": "XNYS",
  "night": "XHKG",
};

/** Local time minus UTC, milliseconds. */
const offsetOf = ({ date, open, openAt }: Session) => Date.parse(`${date}T${open}:00Z`) - openAt;

const isExtended = (name: TimelineName): name is ExtendedSession =>
  name === "pre-market" || name === "after-hours" || name === "night";

/** Returns the day of a session outside the regular hours; `undefined` if it is not held on that day. */
function makeExtended(session: Session, index: number, name: ExtendedSession): TradingDay | undefined {
  const period = extendedPeriod(name, session);
  if (period === undefined) return undefined;
  const { from, to } = period;
  return {
    index,
    date: session.date,
    segments: [period],
    minutes: (to - from) / MINUTE_MS,
    openAt: from,
    closeAt: to,
    startsAt: from,
    offset: offsetOf(session),
    halfDay: session.halfDay,
  };
}

function makeDay(session: Session, index: number, name: Exclude<TimelineName, ExtendedSession>): TradingDay {
  const stock = { open: minutesOf(session.open), close: minutesOf(session.close) };
  const { open, close } = name === "HKFUT" ? futureHours(session) : stock;
  // Counted from the open, because the calendar's epoch times include the time zone and its changes.
  const at = (minute: number) => session.openAt + (minute - stock.open) * MINUTE_MS;
  const stops = [open, ...session.breaks.flatMap(({ from, to }) => [minutesOf(from), minutesOf(to)]), close];
  const segments: Segment[] = [];
  for (let stop = 0; stop < stops.length; stop += 2) {
    segments.push({ from: at(stops[stop] ?? open), to: at(stops[stop + 1] ?? close) });
  }
  return {
    index,
    date: session.date,
    segments,
    minutes: segments.reduce((sum, { from, to }) => sum + (to - from) / MINUTE_MS, 0),
    openAt: at(open),
    closeAt: at(close),
    startsAt: at(open) - LEAD_MS[name],
    offset: offsetOf(session),
    halfDay: session.halfDay,
  };
}

function makeDays(calendars: Calendars, name: TimelineName): TradingDay[] {
  // Every name without an entry is the code of an exchange.
  const mic = MICS[name] ?? name as Mic;
  const days: TradingDay[] = [];
  for (const session of calendars.sessionsBetween(mic, FIRST_DATE, calendars.coverage(mic).through)) {
    const { length } = days;
    const day = isExtended(name) ? makeExtended(session, length, name) : makeDay(session, length, name);
    if (day !== undefined) days.push(day);
  }
  return days;
}

/** Returns a day with the earlier close of the stocks. An index future has this close on its last trading day. */
function endWithStocks(day: TradingDay): TradingDay {
  const closeAt = day.closeAt - FUTURE_TAIL * MINUTE_MS;
  const segments = day.segments.map(({ from, to }) => ({ from, to: Math.min(to, closeAt) }));
  return { ...day, segments, minutes: day.minutes - FUTURE_TAIL, closeAt };
}

/** The days of one market. */
export class Timeline {
  readonly days: readonly TradingDay[];
  readonly #byDate: Map<string, TradingDay>;

  constructor(days: readonly TradingDay[]) {
    this.days = days;
    this.#byDate = new Map(this.days.map((day) => [day.date, day]));
  }

  /** Returns a day by its index. @throws {RangeError} If the index is outside the calendar. */
  day(index: number): TradingDay {
    const day = this.days[index];
    if (day === undefined) {
      throw new RangeError(`Cannot find trading day ${index}: this index is outside the calendar`);
    }
    return day;
  }

  /** Returns a day by its date, or `undefined` if the market does not trade. */
  on(date: string): TradingDay | undefined {
    return this.#byDate.get(date);
  }

  /** Returns the index of the last day that has started by an instant, or -1 before the first. */
  indexAt(at: number): number {
    let [low, high] = [0, this.days.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.days[middle]?.startsAt ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Returns the index of the last day on or before a date, or -1. */
  indexOn(date: string): number {
    let [low, high] = [0, this.days.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.days[middle]?.date ?? "9") <= date) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Returns when the dividends and splits of a day are booked. */
export function actionsAt({ openAt, offset }: Pick<TradingDay, "openAt" | "offset">): number {
  const midnight = Math.floor((openAt + offset) / DAY_MS) * DAY_MS - offset;
  return midnight + ACTIONS_HOUR * 60 * MINUTE_MS;
}

/** Returns the index of the latest minute of trading that has begun at or before an instant; -1 before the open. */
export function minuteAt(day: TradingDay, at: number): number {
  let before = 0;
  let minute = -1;
  for (const { from, to } of day.segments) {
    if (at < from) break;
    minute = before + Math.floor((Math.min(at, to - 1) - from) / MINUTE_MS);
    before += (to - from) / MINUTE_MS;
  }
  return minute;
}

/** Returns the last instant up to `at` at which the market trades; before the open, the open. */
export function lastOpenInstant(day: TradingDay, at: number): number {
  let last = day.openAt;
  for (const { from, to } of day.segments) {
    if (at < from) break;
    last = Math.min(at, to);
  }
  return last;
}

/** Returns when a minute of a day begins, epoch milliseconds. */
export function minuteStart(day: TradingDay, minute: number): number {
  let left = minute;
  for (const { from, to } of day.segments) {
    const length = (to - from) / MINUTE_MS;
    if (left < length) return from + left * MINUTE_MS;
    left -= length;
  }
  throw new RangeError(`Cannot find minute ${minute} of ${day.date}: the day has ${day.minutes} minutes`);
}

/**
 * Returns an instant in the local time of a day as `yyyy-MM-ddTHH:mm:ss.sssZ`, where the `Z` does not mean
 * UTC.
 */
const localIso = (day: TradingDay, at: number) => new Date(at + day.offset).toISOString();

/** Returns the local `HH:mm` of an instant. */
export function localMinute(day: TradingDay, at: number): string {
  return localIso(day, at).slice(11, 16);
}

/** Returns the local `yyyy-MM-dd HH:mm:ss` of an instant. */
export function localTime(day: TradingDay, at: number): string {
  return localIso(day, at).slice(0, 19).replace("T", " ");
}

/** Cached timelines, by the calendars that they come from. A future with a last trading day has its own timeline. */
const timelines = new WeakMap<Calendars, Map<string, Timeline>>();

function cached(calendars: Calendars, key: string, make: () => readonly TradingDay[]): Timeline {
  let known = timelines.get(calendars);
  if (known === undefined) timelines.set(calendars, known = new Map());
  let timeline = known.get(key);
  if (timeline === undefined) known.set(key, timeline = new Timeline(make()));
  return timeline;
}

/** Returns the days of a market; built once for the same calendars. */
export function timelineOf(calendars: Calendars, name: TimelineName): Timeline {
  return cached(calendars, name, () => makeDays(calendars, name));
}

/** Returns the days of an index future: on its last trading day, it closes half an hour earlier than the others. */
export function futureTimeline(calendars: Calendars, lastTradingDay: string): Timeline {
  return cached(
    calendars,
    `HKFUT ${lastTradingDay}`,
    () =>
      timelineOf(calendars, "HKFUT").days.map((day) =>
        day.date === lastTradingDay ? endWithStocks(day) : day
      ),
  );
}
