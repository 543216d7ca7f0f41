/**
 * Handles the market data operations with views of the simulated market.
 *
 * @module
 */
import type { BarInterval } from "../../dictionaries/bar.ts";
import { SecurityType } from "../../dictionaries/security_type.ts";
import type { Decimal } from "../../decimal.ts";
import { listings } from "../../facts/listings.ts";
import { doubleText } from "../../operations/types.ts";
import type { BrokerName, Handlers } from "../contract.ts";
import type { BarQuery, Instrument, ViewOptions } from "../market/mod.ts";
import { invalid, refused } from "./orders/checks.ts";
import type { State } from "./state.ts";

type Names = Extract<BrokerName, `quotes.${string}`>;

/** Intervals for which the market has bars. */
const intervals: readonly BarInterval[] = [
  "day",
  "week",
  "month",
  "quarter",
  "year",
  "1m",
  "3m",
  "5m",
  "15m",
  "30m",
  "60m",
  "120m",
];

const hasBars = (interval: BarInterval): interval is BarQuery["interval"] => intervals.includes(interval);

/** Maximum number of ticks in one answer. */
const MOST_TICKS = 100;

interface Security {
  type: SecurityType;
  symbol: string;
}

/** Returns a view of the market with some doubles converted to decimal texts, because the answer contains texts. */
function withTexts<View extends object, Name extends keyof View>(
  view: View,
  ...names: Name[]
): Omit<View, Name> & Record<Name, Decimal> {
  const texts = Object.fromEntries(names.map((name) => [name, doubleText(Number(view[name]))]));
  // The same members, with texts for the given names.
  return { ...view, ...texts } as Omit<View, Name> & Record<Name, Decimal>;
}

/** Returns the handlers of the `quotes` family. */
export function quoteHandlers(state: State): Handlers<Names> {
  const { market } = state;
  const find = ({ symbol }: Security): Instrument => {
    const instrument = market.instrument(symbol);
    if (instrument === undefined) throw invalid(`unknown security "${symbol}"`);
    return instrument;
  };
  /** Returns the session that a query asks for; for a future, also the night session, which a query cannot name. */
  const viewOf = (security: Security, session: string | undefined): ViewOptions =>
    find(security).kind === "future" ? { extended: true } : session === undefined ? {} : { session };
  /** Returns a security with the symbol of the request and its actual kind. */
  const securityOf = (security: Security) => ({
    type: SecurityType.decode(find(security).dataType),
    symbol: security.symbol,
  });

  return {
    "quotes.latest": ({ securities, session }) =>
      securities.map((security) => {
        const { lotSize } = find(security);
        const quote = withTexts(
          market.quote(security.symbol, state.now, viewOf(security, session)),
          "openPrice",
          "highPrice",
          "lowPrice",
          "lastPrice",
          "previousClose",
          "priceStep",
          "turnover",
          "turnoverRate",
          "amplitude",
        );
        return { security: securityOf(security), ...quote, lotSize: quote.lotSize ?? lotSize };
      }),
    "quotes.brokers": ({ security }) => ({
      security: securityOf(security),
      ...market.brokers(security.symbol, state.now),
    }),
    "quotes.orderBook": ({ security, feed, session }) => {
      const answer = securityOf(security);
      const options = { ...feed !== undefined && { feed }, ...viewOf(security, session) };
      const book = withTexts(market.orderBook(security.symbol, state.now, options), "priceStep");
      const [asks, bids] = [book.asks, book.bids].map((side) =>
        side.map((level) => withTexts(level, "price"))
      );
      return { security: answer, ...book, asks: asks!, bids: bids! };
    },
    "quotes.ticks": ({ security, limit = MOST_TICKS, session }) => ({
      security: securityOf(security),
      ticks: market.ticks(security.symbol, state.now, Math.min(limit, MOST_TICKS), viewOf(security, session))
        .map((tick) => withTexts(tick, "price", "turnover")),
    }),
    "quotes.bars": ({ security, start, direction = "newer", adjustment = "none", interval, limit }) => {
      if (!hasBars(interval)) throw refused(`bars of "${interval}" are not available`);
      return {
        security: securityOf(security),
        bars: market.bars(security.symbol, { interval, at: state.now, start, direction, limit, adjustment })
          .map((bar) =>
            withTexts(bar, "openPrice", "highPrice", "lowPrice", "closePrice", "previousClose", "turnover")
          ),
      };
    },
    "quotes.timeShare": ({ security, session }) => ({
      security: securityOf(security),
      points: market.timeShare(security.symbol, state.now, viewOf(security, session))
        .map((point) => withTexts(point, "price", "previousClose", "averagePrice", "turnover")),
    }),
    "quotes.optionExpiries": ({ underlying }) => market.optionExpiries(underlying, state.now),
    "quotes.optionCodes": ({ underlying, expiry, moneyness, optionType }) =>
      market.optionCodes(underlying, expiry, {
        ...(moneyness === undefined ? {} : { inOut: moneyness }),
        ...(optionType === undefined ? {} : { type: optionType }),
      }, state.now),
    "quotes.overnightSymbols": () =>
      listings.filter((row) => row.market === "us").map(({ symbol }) => symbol),
  };
}
