/**
 * Computes quotes, ticks and the time-share data (one row per minute) of a day from one state.
 *
 * The turnover rate uses 250 days of average volume as the number of tradable shares, because the real
 * numbers are not available.
 *
 * @module
 */
import type { Market } from "../../facts/listings.ts";
import type { OptionTerms } from "../../operations/option_code.ts";
import type { Asset } from "./asset.ts";
import { optionGreeks, type OptionInputs } from "./black_scholes.ts";
import { toDecimal, toDouble, UNITS } from "./grid.ts";
import { daysBetween } from "./option_chain.ts";
import { toUnits } from "./packing.ts";
import { addTicks, type Tick } from "./path.ts";
import { type AssetState, type Days, ticksUntil } from "./state.ts";
import { localMinute, localTime, minuteStart, type TradingDay } from "./timeline.ts";
import type { OptionView, QuoteView, SessionView, TickView, TimeShareView } from "./views.ts";

/** Converts a turnover in price units (units per share × shares) to money, as a double. */
const money = (turnover: number, multiplier: string) => turnover / UNITS * Number(multiplier);

/** Returns the session of an asset's prices. Only prices in the United States have a session. */
function sessionOf({ session }: Pick<Asset, "session">, market: Market): SessionView {
  return market !== "us" || session === "night" ? "unset" : session ?? "regular";
}

const SIDES = ["flat", "buy", "sell"] as const;

/** Returns a local time in the format of quotes, `yyyyMMddHHmmss`. */
const quoteTime = (day: TradingDay, at: number) => localTime(day, at).replace(/\D/g, "");

const percent = (part: number, whole: number) => Math.round(10_000 * part / whole) / 100;

/** Returns the ticks up to an instant, newest last; before the open those of the previous day. */
export function latestTicks(state: AssetState, days: Days, at: number, limit: number): Tick[] {
  const before = state.minute < 0;
  const index = before ? state.day.index - 1 : state.day.index;
  if (index < 0) return [];
  const { path } = days.full(state.asset, index);
  let ticks: Tick[] = [];
  for (
    let minute = before ? path.day.minutes - 1 : state.minute;
    minute >= 0 && ticks.length < limit;
    minute--
  ) {
    ticks = [...ticksUntil(path, minute, at), ...ticks];
  }
  return ticks.slice(-limit);
}

/** Returns ticks with the local time of their market. */
export function showTicks(ticks: readonly Tick[], asset: Asset): TickView[] {
  const { timeline } = asset;
  const { multiplier, market } = asset.describe(timeline.day(0).date);
  return ticks.map(({ at, price, volume, side }) => ({
    time: localTime(timeline.day(timeline.indexAt(at)), at).slice(11),
    side: SIDES[side],
    price: toDouble(price),
    volume: String(volume),
    turnover: money(price * volume, multiplier),
    tickType: 0,
    session: sessionOf(asset, market),
    timestamp: String(at),
  }));
}

/** Returns the quote at an instant; for an option also its sensitivities, which follow from its pricing inputs. */
export function makeQuote(
  state: AssetState,
  { at, days, option }: {
    at: number;
    days: Days;
    option?: { contract: OptionTerms; inputs: OptionInputs };
  },
): QuoteView {
  const { asset, day, totals, last, previousClose } = state;
  const { lotSize, multiplier, market, future } = asset.describe(day.date);
  const [lastTick] = latestTicks(state, days, at, 1);
  const traded = totals?.volume ?? 0;
  return {
    isSuspended: asset.isHalted?.(at) ?? false,
    openPrice: totals === undefined ? 0 : toDouble(asset.bar(day.index).open),
    highPrice: toDouble(totals?.high ?? 0),
    lowPrice: toDouble(totals?.low ?? 0),
    lastPrice: toDouble(last),
    previousClose: toDouble(previousClose),
    priceStep: toDouble(asset.grid(day.date).tick(last)),
    volume: String(traded),
    volumeText: String(traded),
    turnover: money(totals?.turnover ?? 0, multiplier),
    turnoverRate: percent(traded, asset.outstanding),
    amplitude: totals === undefined ? 0 : percent(totals.high - totals.low, previousClose),
    securityStatus: 0,
    lotSize,
    tradeTime: lastTick === undefined ? "" : quoteTime(day, lastTick.at),
    marketTime: quoteTime(day, at),
    session: sessionOf(asset, market),
    ...(future === undefined ? {} : {
      future: {
        expiry: future.lastTradingDay,
        daysToExpiry: Math.max(0, daysBetween(localTime(day, at).slice(0, 10), future.lastTradingDay)),
        multiplier,
        previousSettlement: toDecimal(previousClose, asset.places),
        openInterest: String(asset.outstanding),
      },
    }),
    ...(option === undefined ? {} : { option: showOption(option.contract, option.inputs, state, at) }),
  };
}

function showOption(
  { strike, expiry, optionType: type }: OptionTerms,
  inputs: OptionInputs,
  { asset, day, last }: AssetState,
  at: number,
): OptionView {
  const greeks = optionGreeks(inputs);
  const spot = Math.round(inputs.spot * UNITS);
  const intrinsic = Math.max(0, type === "call" ? spot - toUnits(strike) : toUnits(strike) - spot);
  const toBreakEven = type === "call" ? toUnits(strike) + last - spot : spot - toUnits(strike) + last;
  return {
    strikePrice: toDecimal(toUnits(strike)),
    openInterest: String(asset.outstanding),
    expiry,
    premium: (100 * toBreakEven / spot).toFixed(2),
    intrinsicValue: toDecimal(intrinsic),
    timeValue: toDecimal(Math.max(0, last - intrinsic)),
    daysToExpiry: String(Math.max(0, daysBetween(localTime(day, at).slice(0, 10), expiry))),
    impliedVolatility: inputs.volatility.toFixed(4),
    leverage: (greeks.delta * spot / last).toFixed(4),
    delta: greeks.delta.toFixed(4),
    gamma: greeks.gamma.toFixed(4),
    vega: greeks.vega.toFixed(4),
    theta: greeks.theta.toFixed(4),
    rho: greeks.rho.toFixed(4),
  };
}

/** Returns the minutes of the day so far, including the running one. */
export function makeTimeShare(state: AssetState, days: Days, at: number): TimeShareView[] {
  const { asset, day, minute: last, previousClose } = state;
  if (last < 0) return [];
  const { multiplier } = asset.describe(day.date);
  const { path, totals } = days.full(asset, day.index);
  return Array.from({ length: last + 1 }, (_, minute) => {
    const before = totals[minute - 1];
    const sum = minute < last ? totals[minute] : addTicks(before, ticksUntil(path, minute, at));
    const volume = (sum?.volume ?? 0) - (before?.volume ?? 0);
    const turnover = (sum?.turnover ?? 0) - (before?.turnover ?? 0);
    return {
      time: localMinute(day, minuteStart(day, minute)),
      price: toDouble(sum?.last ?? previousClose),
      previousClose: toDouble(previousClose),
      averagePrice: Math.round((sum?.turnover ?? 0) / (sum?.volume ?? 1)) / UNITS,
      volume: String(volume),
      turnover: money(turnover, multiplier),
    };
  });
}
