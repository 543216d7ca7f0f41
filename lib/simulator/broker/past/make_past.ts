/**
 * Generates the history of an account in one market from a seed: orders, fills, fees, cash movements.
 *
 * Cash never falls below zero, and the account sells only what it holds. If cash does not cover a purchase, there is a
 * deposit earlier on that day. On the mainland, the account sells only shares that it held at the start of the day.
 *
 * @module
 */
import type { Market } from "../../../dictionaries/market.ts";
import type { FundJournalType } from "../../../dictionaries/fund_journal_type.ts";
import { type FeeInput, feesOf, type Tariff } from "../../../facts/fees.ts";
import { gridOf } from "../../market/grid.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { toUnits } from "../../market/packing.ts";
import { hashText, mix, type Stream } from "../../market/random.ts";
import { randomFrom } from "../../../time.ts";
import {
  ACTIONS_SECOND,
  actionsBetween,
  applyExDate,
  DIVIDEND_TYPE,
  takeDue,
} from "../account/corporate_actions.ts";
import { amountOf, readCents, writePrice } from "../account/money.ts";
import { type Holding, Past } from "./past.ts";
import { type DayPrice, drawPrice, pricesOn, toGridUnits, toPrice } from "./past_prices.ts";
import type { BookDay } from "../sessions.ts";

/** Input of the generated history. */
interface PastOptions {
  market: Market;
  days: readonly BookDay[];
  fillsPerDay: number;
  simulated: SimulatedMarket;
  seed: number;
  tariff: Tariff;
  /** Currency exchanges, by date; the amounts are signed. */
  exchanges: ReadonlyMap<string, bigint>;
}

/**
 * Possible numbers of lots (US: shares) of an order. A Hong Kong row can have the weighted mean of two neighbouring
 * prices. These numbers have no prime factors except 2 and 5, so such a mean has a finite number of decimals.
 */
const LOTS = [1, 2, 4, 5, 8, 10, 16, 20];
const SHARES = [1, 5, 10, 20, 25, 40, 50, 80, 100, 200];

/** Approximate largest amount of an order in history, in the market's currency. */
const MOST: Record<Market, number> = { hk: 120_000, us: 20_000, shanghai: 90_000, shenzhen: 90_000 };

/** Size of a deposit, in cents. The first deposit grows with the number of fills. */
const DEPOSIT: Record<Market, bigint> = {
  hk: 200_000_000n,
  us: 30_000_000n,
  shanghai: 150_000_000n,
  shenzhen: 150_000_000n,
};

const BEFORE_OPEN = 8 * 3600;
const UNITS_PER_ONE = 10_000;

/** Generates the history of a market. */
export function makePast(options: PastOptions): Past {
  const past = new Past(options.market, options.days, options.fillsPerDay);
  new PastMaker(options, past).make();
  return past;
}

interface Trade {
  price: DayPrice;
  isSell: boolean;
  fills: { units: bigint; quantity: number }[];
  multiplier: bigint;
  feeMarket: FeeInput["market"];
}

class PastMaker {
  readonly #options: PastOptions;
  readonly #past: Past;
  readonly #places = new Map<string, number>();
  /** Quantities that may still be sold today, in a market where shares bought today may not be sold. */
  #sellable = new Map<string, bigint>();
  #heldSymbols: string[] = [];

  constructor(options: PastOptions, past: Past) {
    this.#options = options;
    this.#past = past;
  }

  make(): void {
    const { days, market, seed } = this.#options;
    const next = randomFrom(mix(seed, hashText(`past:${market}`)));
    days.forEach((day, index) => this.#makeDay(day, index, next));
  }

  #makeDay(day: BookDay, index: number, next: Stream): void {
    const { fillsPerDay, market, simulated } = this.#options;
    this.#applyActions(day, index);
    this.#moveCash(day, index);
    this.#heldSymbols = [...this.#past.holdings.keys()];
    this.#sellable = new Map([...this.#past.holdings].map(([symbol, { quantity }]) => [symbol, quantity]));
    const prices = pricesOn(simulated, market, day.date);
    const seconds = tradingSeconds(day);
    const [step, drift] = [seconds / (fillsPerDay + 1), next()];
    const secondAt = (place: number) => toSecond(day, Math.floor((place + drift) * step));
    for (let done = 0; done < fillsPerDay;) {
      const second = secondAt(done);
      const option = market === "us" && index % 10 === 4 && done < 2 && fillsPerDay > 2;
      const trade = (option ? this.#optionTrade(day, index, done === 1) : undefined) ??
        this.#trade(prices, fillsPerDay - done, next);
      this.#book(trade, { day: index, date: day.date, second }, next);
      done += trade.fills.length;
      if (next() < 0.12) this.#addUnfilled(trade, index, second, next);
    }
  }

  /** Applies stock splits to the holdings, and pays dividends. */
  #applyActions({ date }: BookDay, index: number): void {
    const { days, market, simulated } = this.#options;
    const { holdings, entitlements } = this.#past;
    const after = days[index - 1]?.date ?? date; // nothing is held before the first day
    entitlements.push(...applyExDate(holdings, actionsBetween(simulated, market, { after, until: date })));
    for (const { cents } of takeDue(entitlements, date)) {
      this.#past.move({ day: index, second: ACTIONS_SECOND, type: DIVIDEND_TYPE, cents });
    }
  }

  /** Chooses a trade: quantity, listing, side and prices. */
  #trade(prices: readonly DayPrice[], room: number, next: Stream): Trade {
    const { market } = this.#options;
    const sale = next() < 0.48 ? this.#chooseHeld(prices, next) : undefined;
    const price = sale?.price ?? pick(prices, next);
    const units = drawPrice(price, next);
    const counts = market === "us" ? SHARES : LOTS;
    const affordable = MOST[market] * UNITS_PER_ONE / (units * price.lot);
    const wanted = counts.filter((count) => count <= affordable);
    let lots = wanted.length === 0 ? 1 : pick(wanted, next);
    if (sale !== undefined && sale.lots < lots) {
      lots = counts.findLast((count) => count <= sale.lots) ?? sale.lots;
    }
    const shared = { price, isSell: sale !== undefined, multiplier: 1n, feeMarket: market };
    const upper = units + price.grid.tick(units + 1);
    const other = toPrice(upper <= price.high ? upper : units);
    const [first, quantity] = [toPrice(units), lots * price.lot];
    if (market === "hk") {
      // One row per order and day: its price may be the mean of two prices.
      const share = BigInt(next() < 0.5 ? 0 : Math.floor(next() * lots));
      return { ...shared, fills: [{ units: first + (other - first) * share / BigInt(lots), quantity }] };
    }
    const kind = next();
    if (kind < 0.2 && room >= 3 && lots >= 3) {
      // The second and third fill are identical, because real fills of the same second may be identical.
      const part = Math.floor(lots / 3);
      const parts = [lots - 2 * part, part, part];
      return {
        ...shared,
        fills: parts.map((each, at) => ({ units: at === 0 ? other : first, quantity: each * price.lot })),
      };
    }
    if (kind < 0.45 && room >= 2 && lots >= 2) {
      const part = Math.floor(lots / 2);
      const parts = [lots - part, part];
      return {
        ...shared,
        fills: parts.map((each, at) => ({ units: at === 0 ? first : other, quantity: each * price.lot })),
      };
    }
    return { ...shared, fills: [{ units: first, quantity }] };
  }

  #chooseHeld(prices: readonly DayPrice[], next: Stream): { price: DayPrice; lots: number } | undefined {
    for (let attempt = 0; attempt < 4 && this.#heldSymbols.length > 0; attempt++) {
      const symbol = pick(this.#heldSymbols, next);
      const price = prices.find((each) => each.symbol === symbol);
      if (price === undefined) continue;
      const lots = Number(this.#sellableOf(symbol)) / price.lot;
      if (lots >= 1) return { price, lots: Math.floor(lots) };
    }
    return undefined;
  }

  #sellableOf(symbol: string): bigint {
    const held = this.#past.holdings.get(symbol)?.quantity ?? 0n;
    if (!isMainland(this.#options.market)) return held;
    const left = this.#sellable.get(symbol) ?? 0n;
    return left < held ? left : held;
  }

  /** Returns the purchase or the sale of a call option that the account buys and sells within the day. */
  #optionTrade(day: BookDay, index: number, isSell: boolean): Trade | undefined {
    const { simulated } = this.#options;
    const underlying = ["AAPL", "MSFT", "AMZN", "GOOGL"][index % 4] ?? "AAPL";
    const expiry = simulated.optionExpiries(underlying, day.openAt)[2];
    if (expiry === undefined) return undefined;
    const filter = { inOut: "out-of-the-money", type: "call" } as const;
    const symbol = simulated.optionCodes(underlying, expiry, filter, day.openAt)[1];
    const bar = symbol === undefined ? undefined : simulated.dayBar(symbol, day.date);
    if (symbol === undefined || bar === undefined) return undefined;
    const grid = gridOf("us", day.date, "option");
    const [low, high, close] = [toUnits(bar.low), toUnits(bar.high), toUnits(bar.close)];
    const price = { symbol, instrument: "stock" as const, lot: 1, low, high, close, grid };
    const units = toPrice(grid.snap(isSell ? high : close));
    return { price, isSell, multiplier: 100n, feeMarket: "us-option", fills: [{ units, quantity: 2 }] };
  }

  /** Records a trade: order, fills, fees, cash, holdings. */
  #book(trade: Trade, at: { day: number; date: string; second: number }, next: Stream): void {
    const past = this.#past;
    const { price: { symbol, instrument, lot, grid }, isSell, fills, multiplier, feeMarket } = trade;
    const { perFill } = feesOf({
      market: feeMarket,
      date: at.date,
      side: isSell ? "sell" : "buy",
      instrument,
      fills: fills.map(({ units, quantity }) => ({ price: writePrice(units), quantity: String(quantity) })),
    }, this.#options.tariff);
    const fees = perFill.map(({ total }) => readCents(total));
    const amounts = fills.map(({ units, quantity }) => amountOf(units, BigInt(quantity), multiplier));
    const sum = (values: readonly bigint[]) => values.reduce((all, value) => all + value, 0n);
    const quantity = fills.reduce((all, fill) => all + fill.quantity, 0);
    const [amount, fee] = [sum(amounts), sum(fees)];
    const change = isSell ? amount - fee : -amount - fee;
    this.#cover(-change, at.day);

    const prices = fills.map(({ units }) => units);
    const limit = prices.reduce((a, b) => (isSell ? b < a : b > a) ? b : a);
    const onGrid = limit % toPrice(grid.tick(toGridUnits(limit))) === 0n ? limit : limitOfMean(limit, trade);
    const isPart = next() < 0.1;
    past.addOrder({
      day: at.day,
      symbol: this.#placeOf(symbol),
      isSell,
      quantity: isPart ? quantity + lot : quantity,
      price: onGrid,
      second: at.second,
      status: isPart ? "part-filled-cancelled" : "filled",
    });
    fills.forEach((fill, place) =>
      past.addFill({
        quantity: fill.quantity,
        price: fill.units,
        second: at.second,
        feeCents: fees[place] ?? 0n,
      })
    );
    past.cash += change;
    this.#changeHolding(symbol, isSell ? -BigInt(quantity) : BigInt(quantity), amount + fee);
  }

  #changeHolding(symbol: string, change: bigint, costCents: bigint): void {
    const { holdings } = this.#past;
    const held = holdings.get(symbol);
    if (changeHolding(holdings, symbol, change, costCents)) this.#heldSymbols = [...holdings.keys()];
    else if (held === undefined) this.#heldSymbols.push(symbol);
    if (change < 0n) this.#sellable.set(symbol, (this.#sellable.get(symbol) ?? 0n) + change);
  }

  #addUnfilled({ price, isSell }: Trade, day: number, second: number, next: Stream): void {
    this.#past.addOrder({
      day,
      symbol: this.#placeOf(price.symbol),
      isSell,
      quantity: price.lot * (1 + Math.floor(next() * 4)),
      price: toPrice(price.grid.snap(isSell ? price.high : price.low)),
      second,
      status: next() < 0.8 ? "cancelled" : "rejected",
    });
  }

  #placeOf(symbol: string): number {
    let place = this.#places.get(symbol);
    if (place === undefined) {
      place = this.#past.symbols.push(symbol) - 1;
      this.#places.set(symbol, place);
    }
    return place;
  }

  /** Records deposits, currency exchanges, fees and rebates that belong to no fill. */
  #moveCash(day: BookDay, index: number): void {
    const { market, fillsPerDay, exchanges, days } = this.#options;
    const move = (type: FundJournalType, cents: bigint, second = BEFORE_OPEN) =>
      this.#past.move({ day: index, second, type, cents });
    if (index === 0) move("funds-deposit", DEPOSIT[market] * BigInt(1 + Math.floor(fillsPerDay / 20)));
    const isMonthStart = index > 0 && days[index - 1]?.date.slice(0, 7) !== day.date.slice(0, 7);
    if (isMonthStart) {
      const fee = market === "us" ? 1_500n : 38_000n;
      this.#cover(fee, index);
      move("market-data-fee-charged", -fee, BEFORE_OPEN + 60);
      move("interest-or-penalty-adjustment", 12_34n, BEFORE_OPEN + 120);
      // Two rebates in the same second are two identical lines.
      for (let line = 0; line < 2; line++) move("platform-fee-rebate", 15_00n, BEFORE_OPEN + 180);
    }
    const exchanged = exchanges.get(day.date);
    if (exchanged !== undefined) {
      if (exchanged < 0n) this.#cover(-exchanged, index);
      move(exchanged < 0n ? "fx-out" : "fx-in", exchanged, BEFORE_OPEN + 240);
    }
  }

  /** Ensures that cash covers a payment, with a deposit if needed. */
  #cover(cents: bigint, day: number): void {
    if (cents <= this.#past.cash) return;
    const deposit = DEPOSIT[this.#options.market];
    const times = (cents - this.#past.cash) / deposit + 1n;
    const last = this.#past.movements.at(-1);
    const second = last?.day === day ? last.second : BEFORE_OPEN;
    this.#past.move({ day, second, type: "deposit", cents: deposit * times });
  }
}

/**
 * Changes the holding of a listing. A sale reduces the cost in proportion.
 *
 * @returns Whether the holding is now empty.
 */
export function changeHolding(
  holdings: Map<string, Holding>,
  symbol: string,
  change: bigint,
  costCents: bigint,
): boolean {
  const held = holdings.get(symbol) ?? { quantity: 0n, costCents: 0n };
  const quantity = held.quantity + change;
  if (quantity < 0n) {
    throw new RangeError(`Cannot sell ${-change} of "${symbol}": the account holds ${held.quantity}`);
  }
  if (quantity === 0n) {
    holdings.delete(symbol);
    return true;
  }
  const cost = change >= 0n ? held.costCents + costCents : held.costCents * quantity / held.quantity;
  holdings.set(symbol, { quantity, costCents: cost });
  return false;
}

/** Returns whether a market is a mainland market, where shares bought today cannot be sold today. */
function isMainland(market: string): boolean {
  return market === "shanghai" || market === "shenzhen";
}

/**
 * Returns a limit price for a mean price: the grid price above the mean for a purchase, and below it for a sale.
 */
function limitOfMean(price: bigint, { isSell, price: { grid } }: Trade): bigint {
  const below = toGridUnits(price);
  const tick = grid.tick(below + 1);
  const step = Math.floor(below / tick) * tick;
  return toPrice(isSell ? step : step + tick);
}

function tradingSeconds({ segments }: BookDay): number {
  return segments.reduce((sum, { from, to }) => sum + (to - from) / 1000, 0);
}

/** Converts seconds of trading time to the second of the local day. */
function toSecond(day: BookDay, tradingSecond: number): number {
  const midnight = Date.parse(`${day.date}T00:00:00Z`) - day.offset;
  let left = tradingSecond * 1000;
  for (const { from, to } of day.segments) {
    if (left < to - from) return (from + left - midnight) / 1000;
    left -= to - from;
  }
  return (day.closeAt - midnight) / 1000 - 1;
}

function pick<T>(values: readonly T[], next: Stream): T {
  const value = values[Math.floor(next() * values.length)];
  if (value === undefined) throw new RangeError("Cannot choose a value: the list is empty");
  return value;
}
