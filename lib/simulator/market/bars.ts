/**
 * Computes bars of every interval, from minutes to years.
 *
 * Bars of several minutes count trading minutes from the open, so a bar may span the lunch break: the third
 * 60-minute bar of Hong Kong covers 11:30 to 12:00 and 13:00 to 13:30.
 *
 * @module
 */
import { barDayLimits } from "../../dictionaries/bar.ts";
import { type Asset, referenceClose } from "./asset.ts";
import { toDouble, UNITS } from "./grid.ts";
import { addTicks, type Totals } from "./path.ts";
import { type Days, ticksUntil } from "./state.ts";
import { localMinute, minuteAt, minuteStart, type TradingDay } from "./timeline.ts";
import type { BarView } from "./views.ts";

/** Intervals of whole days. */
export type DayInterval = "day" | "week" | "month" | "quarter" | "year";

/** Intervals within a day. */
export type MinuteInterval = "1m" | "3m" | "5m" | "15m" | "30m" | "60m" | "120m";

/** Parameters of {@linkcode makeBars}. */
export interface BarQuery {
  /** Interval of the bars. */
  interval: DayInterval | MinuteInterval;
  /** The current instant, epoch milliseconds. The result contains no later bar. */
  at: number;
  /** Where the query starts, `yyyy-MM-dd`. @default the day of `at`; for "newer" the first day */
  start?: string;
  /** Whether to return older or newer bars than the start. Both include the bar of the start. @default "older" */
  direction?: "older" | "newer";
  /**
   * Number of bars for intervals of days and longer; number of days for minute bars. @default 100 bars, or the maximum
   * number of days
   */
  limit?: number;
  /** Has no effect: the simulator does not adjust bars. @default "none" */
  adjustment?: "none" | "forward" | "backward";
}

/** Maximum number of bars in one answer (API document, limits). */
export const MOST_BARS = 1_500;

/** Minutes of each interval within a day. */
const MINUTES: Record<MinuteInterval, number> = {
  "1m": 1,
  "3m": 3,
  "5m": 5,
  "15m": 15,
  "30m": 30,
  "60m": 60,
  "120m": 120,
};

interface Piece extends Totals {
  open: number;
  date: string;
  time?: string;
  timestamp: number;
}

function join(pieces: readonly Piece[]): Piece | undefined {
  return pieces.reduce<Piece | undefined>((sum, piece) =>
    sum === undefined ? piece : {
      ...sum,
      date: piece.time === undefined ? piece.date : sum.date,
      last: piece.last,
      high: Math.max(sum.high, piece.high),
      low: Math.min(sum.low, piece.low),
      volume: sum.volume + piece.volume,
      turnover: sum.turnover + piece.turnover,
    }, undefined);
}

/** Returns bars as the answer shows them. `previous` is the close before the first bar. */
function viewsOf(pieces: readonly Piece[], previous: number, multiplier: number): BarView[] {
  let before = previous;
  return pieces.map(({ date, time, timestamp, open, high, low, last, volume, turnover }) => {
    const view: BarView = {
      date,
      ...(time === undefined ? {} : { time }),
      openPrice: toDouble(open),
      highPrice: toDouble(high),
      lowPrice: toDouble(low),
      closePrice: toDouble(last),
      previousClose: toDouble(before),
      volume: String(volume),
      turnover: turnover / UNITS * multiplier,
      timestamp: String(timestamp),
    };
    before = last;
    return view;
  });
}

/** Returns the bar of a day up to an instant, or `undefined` before the day's open. */
function dayPiece(asset: Asset, days: Days, day: TradingDay, at: number): Piece | undefined {
  const { date, openAt: timestamp, index } = day;
  const { open, high, low, close, volume } = asset.bar(index);
  if (at >= day.closeAt) {
    return { date, timestamp, open, high, low, last: close, volume, turnover: days.turnover(asset, index) };
  }
  const totals = days.totals(asset, index, minuteAt(day, at), at);
  return totals === undefined ? undefined : { ...totals, open, date, timestamp };
}

/** Returns a text that identifies the period of a date. */
function periodOf(date: string, interval: DayInterval): string {
  if (interval === "day") return date;
  if (interval === "week") {
    const day = new Date(`${date}T00:00:00Z`);
    return new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
  }
  if (interval === "quarter") return `${date.slice(0, 4)}-${Math.ceil(Number(date.slice(5, 7)) / 3)}`;
  return date.slice(0, interval === "month" ? 7 : 4);
}

function longBars(
  asset: Asset,
  days: Days,
  query: BarQuery,
  interval: DayInterval,
  multiplier: number,
): BarView[] {
  const { at, start, direction = "older", limit = 100 } = query;
  const end = Math.min(asset.timeline.indexAt(at), asset.lastIndex);
  const periods = new Map<string, TradingDay[]>();
  for (const day of asset.timeline.days.slice(0, end + 1)) {
    if (day.openAt > at) break;
    const key = periodOf(day.date, interval);
    const period = periods.get(key);
    if (period === undefined) periods.set(key, [day]);
    else period.push(day);
  }
  const wanted = [...periods.values()].filter((group) => {
    const [first, last] = [group[0]?.date ?? "", group.at(-1)?.date ?? ""];
    return start === undefined || (direction === "older" ? first <= start : last >= start);
  });
  const most = Math.max(1, Math.min(limit, MOST_BARS));
  const chosen = direction === "older" ? wanted.slice(-most) : wanted.slice(0, most);
  const pieces = chosen.flatMap((group) =>
    join(group.flatMap((day) => dayPiece(asset, days, day, at) ?? [])) ?? []
  );
  return viewsOf(pieces, referenceClose(asset, chosen[0]?.[0]?.index ?? 0), multiplier);
}

/** Returns the bars of one day up to an instant, oldest first. */
function minutePieces(asset: Asset, days: Days, day: TradingDay, at: number, minutes: number): Piece[] {
  const last = minuteAt(day, at);
  if (last < 0) return [];
  const { path } = days.full(asset, day.index);
  const pieces: Piece[] = [];
  for (let first = 0; first <= last; first += minutes) {
    const parts: Piece[] = [];
    for (let minute = first; minute <= Math.min(last, first + minutes - 1); minute++) {
      const totals = addTicks(undefined, ticksUntil(path, minute, at));
      const timestamp = minuteStart(day, minute);
      if (totals === undefined) continue;
      parts.push({
        ...totals,
        open: path.open[minute] ?? 0,
        date: day.date,
        time: localMinute(day, timestamp),
        timestamp,
      });
    }
    const piece = join(parts);
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

function minuteBars(
  asset: Asset,
  days: Days,
  query: BarQuery,
  interval: MinuteInterval,
  multiplier: number,
): BarView[] {
  const mostDays = barDayLimits[interval] ?? 1;
  const { at, start, direction = "older", limit = mostDays } = query;
  const end = Math.min(asset.timeline.indexAt(at), asset.lastIndex);
  const wanted = asset.timeline.days.slice(0, end + 1).filter(({ date, openAt }) =>
    openAt <= at && (start === undefined || (direction === "older" ? date <= start : date >= start))
  );
  const most = Math.max(1, Math.min(limit, mostDays));
  const chosen = direction === "older" ? wanted.slice(-most) : wanted.slice(0, most);
  const bars = viewsOf(
    chosen.flatMap((day) => minutePieces(asset, days, day, at, MINUTES[interval])),
    referenceClose(asset, chosen[0]?.index ?? 0),
    multiplier,
  );
  return direction === "older" ? bars.slice(-MOST_BARS) : bars.slice(0, MOST_BARS);
}

const isMinutes = (interval: BarQuery["interval"]): interval is MinuteInterval => interval in MINUTES;

/** Returns bars, oldest first, at most {@linkcode MOST_BARS}. */
export function makeBars(asset: Asset, days: Days, query: BarQuery, multiplier: number): BarView[] {
  return isMinutes(query.interval)
    ? minuteBars(asset, days, query, query.interval, multiplier)
    : longBars(asset, days, query, query.interval, multiplier);
}
