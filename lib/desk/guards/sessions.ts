/**
 * Guard rails about time: whether the market accepts the order now, and whether its quote is current.
 *
 * @module
 */
import {
  addDays,
  calendarZone,
  dateAt,
  extendedPeriod,
  type Mic,
  type Session,
  wallInstant,
} from "../../calendars/mod.ts";
import { futureContract } from "../../facts/contracts.ts";
import type { Quote } from "../../operations/quotes.ts";
import type { Check, Rule } from "./check.ts";
import { auctionTypes, marketTypes, mics, type Order, typeOf } from "./order.ts";

const MINUTE_MS = 60_000;

/** A period in which a market accepts an order, Unix milliseconds. */
interface Period {
  from: number;
  to: number;
}

/**
 * Requires that the market accepts the order now. Conditional orders pass, because the broker keeps them until they are
 * triggered.
 */
export const session: Rule = {
  name: "session",
  about:
    "an order that the market does not accept now: holidays, half days, lunch, auction orders outside auctions, " +
    "extended hours that the order does not request, suspended listings",
  async check(check) {
    const { order } = check;
    if (order.isConditional) return;
    checkOpen(check, order);
    if ((await check.quoteOf(order))?.isSuspended !== true) return;
    throw check.refuse(
      "session",
      `"${order.symbol}" is suspended from trading`,
      "wait until it trades again",
    );
  },
};

function checkOpen(check: Check, order: Order): void {
  if (order.orderType === "dark-pool") return;
  const [now, mic] = [check.now, mics[order.market]];
  const zone = calendarZone[mic];
  const today = dateAt(now, zone);
  let next: number | undefined;
  // Begin with yesterday: after midnight, the night session of futures still belongs to the day before. No holiday is
  // longer than two weeks, so 15 days are enough.
  for (let day = -1; day < 15 && next === undefined; day++) {
    const periods = periodsOf(check, order, mic, addDays(today, day));
    if (periods.some(({ from, to }) => from <= now && now < to)) return;
    next = periods.find(({ from }) => from > now)?.from;
  }
  const timeText = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime().toString({
      smallestUnit: "minute",
    }).replace("T", " ");
  throw check.refuse(
    "session",
    `${mic} accepts no "${order.orderType}" order${order.isExtended ? " of extended hours" : ""} at ${
      timeText(now)
    } (${zone})`,
    next === undefined
      ? "the calendar has no later session"
      : `${mic} accepts such orders from ${timeText(next)}`,
  );
}

/** Returns the periods of continuous trading of a session, without its breaks, oldest first. */
export function openPeriods({ date, openAt, closeAt, breaks }: Session, mic: Mic): Period[] {
  const at = (time: string) => wallInstant(date, time, calendarZone[mic]);
  const open: Period[] = [];
  let from = openAt;
  for (const rest of breaks) {
    open.push({ from, to: at(rest.from) });
    from = at(rest.to);
  }
  return [...open, { from, to: closeAt }];
}

/** Returns the periods of a day in which a market accepts an order, oldest first. */
function periodsOf(
  check: Check,
  { market, symbol, orderType, isExtended }: Pick<Order, "market" | "symbol" | "orderType" | "isExtended">,
  mic: Mic,
  date: string,
): Period[] {
  const hours = check.deps.calendars().sessionOn(mic, date);
  if (hours === "closed") return [];
  if (hours === "unknown") {
    throw check.refuse(
      "session",
      `the calendar of ${mic} does not cover ${date}`,
      "update it with: hsgate calendar update",
    );
  }
  const { openAt, closeAt } = hours;
  const open = openPeriods(hours, mic);
  switch (market) {
    case "hk":
      return auctionTypes.includes(orderType)
        // The auctions before the open and after the close.
        ? [
          { from: openAt - 30 * MINUTE_MS, to: openAt - 8 * MINUTE_MS },
          { from: closeAt + MINUTE_MS, to: closeAt + 10 * MINUTE_MS },
        ]
        : open;
    case "us":
      // Options have no extended hours, and an order without a limit does not trade in them.
      return isExtended && !marketTypes.includes(orderType) && typeOf(symbol) !== "us-option"
        ? [extendedPeriod("pre-market", hours) ?? [], open, extendedPeriod("after-hours", hours) ?? []].flat()
        : open;
    case "shanghai":
    case "shenzhen":
      // Orders that arrive in the minutes before an opening wait for the opening.
      return open.map(({ from, to }, index) => ({ from: from - (index === 0 ? 15 : 5) * MINUTE_MS, to }));
    case "futures": {
      // On its last trading day, a contract stops half an hour before the other contracts, and has no night session.
      const lastDay = futureContract(symbol)?.lastTradingDay;
      if (lastDay !== undefined && date > lastDay) return [];
      const isLast = date === lastDay;
      const day = open.map(({ from, to }, index) => ({
        from: from - (index === 0 ? 45 : 30) * MINUTE_MS,
        to: to + (index === open.length - 1 && !isLast ? 30 * MINUTE_MS : 0),
      }));
      return isExtended && !isLast ? [...day, extendedPeriod("night", hours) ?? []].flat() : day;
    }
  }
}

/** Returns the time of a quote, Unix milliseconds; `undefined` if it has none. */
export function quoteInstant(quote: Quote | undefined, mic: Mic): number | undefined {
  const text = quote?.marketTime || quote?.tradeTime;
  const [, date, hours, minutes, seconds] = /^(\d{8})(\d{2})(\d{2})(\d{2})/.exec(text ?? "") ?? [];
  if (date === undefined) return undefined;
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
  return wallInstant(day, `${hours}:${minutes}:${seconds}`, calendarZone[mic]);
}

/** Requires that the quote that the order is compared with is current. */
export const quoteMaxAge: Rule = {
  name: "quoteMaxAge",
  about:
    "age of the quote that an order is compared with; while the market is closed, its last quote is current",
  async check(check) {
    const { order, limits: { quoteMaxAge } } = check;
    if (quoteMaxAge === undefined || order.isConditional) return;
    const quote = await check.quoteOf(order);
    const quotedAt = quoteInstant(quote, mics[order.market]);
    if (quotedAt === undefined) {
      throw check.unquoted("quoteMaxAge", `the broker gave no quote of "${order.symbol}" with a time`);
    }
    // While the market is closed, its last quote is current.
    const [tooOld, tooNew] = [lastTrading(check, order) - quotedAt, quotedAt - check.now];
    if (tooOld <= quoteMaxAge && tooNew <= quoteMaxAge) return;
    const secondsText = (ms: number) => `${Math.round(ms / 1000)} s`;
    throw check.refuse(
      "quoteMaxAge",
      tooOld > quoteMaxAge
        ? `the quote of "${order.symbol}" is ${secondsText(tooOld)} old`
        : `the quote of "${order.symbol}" is ${secondsText(tooNew)} ahead of the broker's clock`,
      `at most ${secondsText(quoteMaxAge)} are allowed`,
    );
  },
};

/**
 * Returns the latest instant, up to now, at which the market accepted limit orders; now if there was none in 15 days.
 */
function lastTrading(check: Check, { market, symbol, isExtended }: Order): number {
  const [now, mic] = [check.now, mics[market]];
  const today = dateAt(now, calendarZone[mic]);
  for (let day = 0; day > -15; day--) {
    const periods = periodsOf(
      check,
      { market, symbol, orderType: "limit", isExtended },
      mic,
      addDays(today, day),
    );
    const ends = periods.filter(({ from }) => from <= now).map(({ to }) => Math.min(to, now));
    if (ends.length > 0) return Math.max(...ends);
  }
  return now;
}
