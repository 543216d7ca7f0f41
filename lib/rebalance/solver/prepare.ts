/**
 * Converts a rebalance file and an account into the problem that the solver solves, in integers: lots, and money and
 * weights in units small enough to be exact.
 *
 * @module
 */
import { compare, type Decimal, multiply, normalize, round } from "../../decimal.ts";
import { bareCode } from "../../desk/broker_lists.ts";
import { typeOf } from "../../desk/guards/order.ts";
import type { Market } from "../../dictionaries/market.ts";
import { InvalidParamsError, type Issue } from "../../errors.ts";
import { type FeeMeter, feeMeter } from "../../facts/fees.ts";
import { listing } from "../../facts/listings.ts";
import type { Account, Instrument } from "../input/account.ts";
import type { Band, RebalanceFile } from "../input/plan_file.ts";
import type { Item, Problem, Range } from "./problem.ts";
import { checkedRows, isExcluded, MOST_LOTS, type Row } from "../input/rows.ts";

/**
 * Maximum number of symbols that a plan may trade. The time of a plan grows with the square of this number, and nothing
 * else runs in the process meanwhile.
 */
const MOST_TRADED = 1_000;

/** A symbol that is held or named. */
export interface Position {
  market: Market;
  symbol: string;
  currency: string;
  quantity: Decimal;
  price: Decimal;
  lot: Decimal;
  sellable: Decimal;
  target: Decimal;
  /** Weight minus target before the plan, in units in which {@linkcode Problem.unit} is a weight of 1. */
  start: bigint;
  /** The target, in the same units. */
  targetParts: bigint;
  /** Why the position is not traded at all. */
  fixed?: string;
  /** Why nothing of the position is bought, or nothing is sold. */
  noBuys?: string;
  noSells?: string;
  item?: Item;
}

/** A problem, with the data that describe its solution. */
export interface Prepared {
  problem: Problem;
  /** Every symbol held or named, in the order of markets and symbols. */
  positions: Position[];
  /** The position of each of the problem's items. */
  traded: Position[];
  /** Currencies of the plan. The index of a currency is the number of its pool. */
  currencies: string[];
  /** Excluded symbols that are neither held nor a target. */
  idle: string[];
  scales: { amount: number; base: number };
  /** Smallest value of a trade in the base currency. */
  minTrade: Decimal;
  /** Returns the quantities and fees of the orders of a trade. */
  ordersOf(position: Position, lots: number): { quantity: Decimal; fees: Decimal }[];
  /** Returns how a trade changes the weight, in the same units as the target. */
  weightOf(position: Position, lots: number): bigint;
}

/** Returns how many decimals a value needs. */
const placesOf = (value: Decimal) => normalize(value).split(".")[1]?.length ?? 0;

/** Returns a decimal as an integer of units of `10 ** -places`. */
export const integerOf = (value: Decimal, places: number): bigint =>
  BigInt(round(normalize(value), places, "exact").replace(".", ""));

/**
 * A maximum turnover up to this number is a fraction of the account's value: selling everything and buying it again is
 * 2. A larger number is an amount in the base currency.
 */
const LARGEST_FRACTION = "2";

/** Returns the largest integer of units of `10 ** -places` that is not above an amount. */
const moneyFloor = (amount: Decimal, places: number): bigint =>
  BigInt(round(normalize(amount), places, "down").replace(".", ""));

const ten = (places: number) => 10n ** BigInt(places);
const floor = (a: bigint, b: bigint) => a / b; // `a` is not negative, and `b` is above zero
const ceiling = (a: bigint, b: bigint) => (a + b - 1n) / b;

/**
 * Prepares a plan.
 *
 * @throws {InvalidParamsError} If the file or the account has a mistake, the account has no value, or the plan is too
 * large. Lists every mistake of the first check that fails.
 */
export function prepare(file: RebalanceFile, account: Account): Prepared {
  const { rows, currencies, rates, idle } = checkedRows(file, account);
  const mostPlaces = (values: readonly Decimal[]) =>
    values.reduce((all, each) => Math.max(all, placesOf(each)), 0);
  const priced = rows.map(({ quote }) => quote.price!); // each row has a price
  const lotOf = ({ quote }: Row) => quote.lot ?? "1";
  const quantityPlaces = mostPlaces(rows.flatMap((row) => [row.quantity, row.sellable, lotOf(row)]));
  const pricePlaces = mostPlaces(priced);
  const amountPlaces = Math.max(
    2,
    quantityPlaces + pricePlaces,
    mostPlaces(currencies.flatMap((currency) => [
      account.cash[currency] ?? "0",
      account.reserved[currency] ?? "0",
      file.cashBuffer[currency] ?? "0",
    ])),
  );
  const ratePlaces = Math.max(mostPlaces([...rates.values()]), placesOf(file.minTrade) - amountPlaces, 0);
  const basePlaces = amountPlaces + ratePlaces;
  const targetPlaces = mostPlaces(rows.map(({ target }) => target));
  const rateParts = currencies.map((currency) => integerOf(rates.get(currency)!, ratePlaces));
  const amountOf = (price: Decimal, quantity: Decimal) => integerOf(multiply(price, quantity), amountPlaces);

  let value = currencies.reduce(
    (sum, currency, pool) => sum + integerOf(account.cash[currency] ?? "0", amountPlaces) * rateParts[pool]!,
    0n,
  );
  const held = rows.map((row, index) => {
    const pool = currencies.indexOf(row.currency);
    return amountOf(priced[index]!, row.quantity) * rateParts[pool]!;
  });
  for (const each of held) value += each;
  if (value <= 0n) {
    throw new InvalidParamsError("plan", [{
      path: ["account"],
      value: `${round(`${value}e-${basePlaces}`, 2, "half-even")} ${file.base}`,
      expected: "cash and holdings with a value above zero: check the markets of the plan",
    }]);
  }
  const unit = value * ten(targetPlaces);
  const budgets = currencies.map((currency) =>
    integerOf(account.cash[currency] ?? "0", amountPlaces) -
    integerOf(account.reserved[currency] ?? "0", amountPlaces) -
    integerOf(file.cashBuffer[currency] ?? "0", amountPlaces)
  );

  const meters = new Map<Position, Record<"buy" | "sell", FeeMeter>>();
  const positions = rows.map((row, index): Position => {
    const { quote: { market, symbol, instrument } } = row;
    const targetParts = integerOf(row.target, targetPlaces) * value;
    const position: Position = {
      market,
      symbol,
      currency: row.currency,
      quantity: normalize(row.quantity),
      price: priced[index]!,
      lot: lotOf(row),
      sellable: row.sellable,
      target: normalize(row.target),
      start: held[index]! * ten(targetPlaces) - targetParts,
      targetParts,
    };
    const meter = (side: "buy" | "sell") =>
      feeMeter({
        market,
        date: account.dates?.[market] ?? account.date,
        side,
        instrument: instrument ?? instrumentOf(symbol),
        price: position.price,
      });
    meters.set(position, { buy: meter("buy"), sell: meter("sell") });
    return position;
  });

  excludeUntraded(positions, rows, file, unit);
  const ordersOf = (position: Position, lots: number) => {
    const lot = integerOf(position.lot, quantityPlaces);
    const whole = integerOf(position.quantity, quantityPlaces);
    const isClosing = position.item?.closing?.lots === lots;
    const parts = isClosing ? [floor(whole, lot) * lot, whole % lot] : [BigInt(Math.abs(lots)) * lot];
    const meter = meters.get(position)![lots > 0 ? "buy" : "sell"];
    return parts.filter((part) => part > 0n).map((part) => ({
      quantity: normalize(`${part}e-${quantityPlaces}`),
      fees: round(`${meter.cents(part, quantityPlaces)}e-2`, 2, "exact"),
      cents: meter.cents(part, quantityPlaces),
    }));
  };

  const minTrade = integerOf(file.minTrade, basePlaces);
  const issues: Issue[] = [];
  for (const [index, position] of positions.entries()) {
    if (position.fixed !== undefined) continue;
    const pool = currencies.indexOf(position.currency);
    const rate = rateParts[pool]!;
    const lot = integerOf(position.lot, quantityPlaces);
    const cash = amountOf(position.price, position.lot);
    const base = cash * rate;
    const step = base * ten(targetPlaces);
    if (file.cashFlowOnly) {
      if (budgets[pool]! < 0n) position.noBuys = "cash-flow only: the cash is below its buffer";
      else position.noSells = "cash-flow only: nothing is sold while the cash covers its buffer";
    }
    const least = Number(ceiling(minTrade > base ? minTrade : base, base));
    const item: Item = {
      pool,
      start: position.start,
      step,
      cash,
      base,
      salesPay: file.proceeds[position.market] !== "later",
      fee: () => 0n,
      feeHint: () => 0,
    };
    const meter = meters.get(position)!;
    const lotHint = Number(position.lot);
    const partsOfCash = 10 ** amountPlaces;
    item.fee = memoized((lots) =>
      ordersOf(position, lots).reduce((sum, { cents }) => sum + cents, 0n) * ten(amountPlaces - 2)
    );
    item.feeHint = (lots) =>
      (lots > 0 ? meter.buy.estimate(lots * lotHint) : meter.sell.estimate(-lots * lotHint)) * partsOfCash;
    position.item = item;
    // A purchase beyond the target uses more cash and makes the drift larger, so the range ends with the first lot that
    // reaches the target.
    if (position.noBuys === undefined && position.start < 0n) {
      item.buys = { least, most: Math.max(least, Number(ceiling(-position.start, step))) };
      if (item.buys.most > MOST_LOTS) {
        issues.push({
          path: [...rows[index]!.path, "price"],
          value: position.price,
          expected: `a price at which a trade of "${position.symbol}" has at most ${MOST_LOTS} lots: ` +
            "correct it, or exclude the symbol",
        });
      }
    }
    const sellable = integerOf(position.sellable, quantityPlaces);
    const quantity = integerOf(position.quantity, quantityPlaces);
    const most = Number(floor(sellable < quantity ? sellable : quantity, lot));
    if (position.noSells === undefined) {
      if (least <= most) item.sells = possibleSales(item, { least, most });
      const odd = quantity % lot;
      const closingCash = amountOf(position.price, position.quantity);
      if (
        file.oddLots === "sell" && odd > 0n && sellable >= quantity && closingCash * rate >= minTrade
      ) {
        item.closing = {
          lots: -(most + 1),
          step: closingCash * rate * ten(targetPlaces),
          cash: closingCash,
          base: closingCash * rate,
        };
        if (!item.salesPay && item.fee(item.closing.lots) > closingCash) delete item.closing;
      }
    }
  }
  if (issues.length > 0) throw new InvalidParamsError("plan", issues);
  const traded = positions.filter(({ item }) =>
    item !== undefined && (item.buys ?? item.sells ?? item.closing) !== undefined
  );
  if (traded.length > MOST_TRADED) {
    throw new InvalidParamsError("plan", [{
      path: ["account"],
      value: `${traded.length} symbols`,
      expected:
        `at most ${MOST_TRADED} symbols that the plan may trade: exclude symbols, or set a wider band`,
    }]);
  }
  const problem: Problem = {
    items: traded.map(({ item }) => item!),
    budgets,
    rates: rateParts,
    value,
    unit,
    ...file.maxTurnover !== undefined && {
      turnover: compare(file.maxTurnover, LARGEST_FRACTION) > 0
        ? moneyFloor(file.maxTurnover, basePlaces)
        : integerOf(file.maxTurnover, placesOf(file.maxTurnover)) * value / ten(placesOf(file.maxTurnover)),
    },
  };
  return {
    problem,
    positions,
    traded,
    currencies,
    idle,
    scales: { amount: amountPlaces, base: basePlaces },
    minTrade: file.minTrade,
    ordersOf: (position, lots) => ordersOf(position, lots).map(({ quantity, fees }) => ({ quantity, fees })),
    weightOf: ({ item }, lots) => {
      if (item === undefined || lots === 0) return 0n;
      return item.closing?.lots === lots ? -item.closing.step : BigInt(lots) * item.step;
    },
  };
}

/**
 * Returns the numbers of lots that may be sold. If the proceeds are not available for purchases, leaves out sales whose
 * proceeds do not even cover their own fees.
 */
function possibleSales(item: Item, { least, most }: Range): Range | undefined {
  if (item.salesPay) return { least, most };
  let first = least;
  for (let fee; first <= most && (fee = item.fee(-first)) > BigInt(first) * item.cash;) {
    // Fees never fall when the quantity grows. So no quantity whose proceeds are below this fee covers its own fees.
    first = Number(ceiling(fee, item.cash));
  }
  return first <= most ? { least: first, most } : undefined;
}

/** Returns a function that computes each value only once. */
function memoized(of: (lots: number) => bigint): (lots: number) => bigint {
  const known = new Map<number, bigint>();
  return (lots) => known.getOrInsertComputed(lots, of);
}

function instrumentOf(symbol: string): Instrument {
  return listing(symbol)?.instrument ?? (typeOf(symbol)?.endsWith("-etf") ? "etf" : "stock");
}

/** Marks the positions that are not traded, and the sides on which positions are not traded. */
function excludeUntraded(
  positions: readonly Position[],
  rows: readonly Row[],
  file: RebalanceFile,
  unit: bigint,
): void {
  const size = (value: bigint) => value < 0n ? -value : value;
  const isInside = (start: bigint, target: bigint, { absolute, relative }: Band) => {
    if (absolute === undefined && relative === undefined) return false;
    const within = (limit: Decimal | undefined, of: bigint) =>
      limit === undefined ||
      size(start) * ten(placesOf(limit)) <= integerOf(limit, placesOf(limit)) * of;
    return within(absolute, unit) && within(relative, target);
  };
  const byCode = Map.groupBy(positions, ({ symbol }) => bareCode(symbol));
  const ofGroup = new Map<Position, string | undefined>();
  for (const [name, { symbols, drift }] of Object.entries(file.groups)) {
    if (drift === undefined) continue;
    const members = [...new Set(symbols.map(bareCode))].flatMap((code) => byCode.get(code) ?? []);
    const sum = (of: (position: Position) => bigint) => members.reduce((all, each) => all + of(each), 0n);
    const isInsideBand = isInside(sum(({ start }) => start), sum((each) => each.targetParts), drift);
    for (const each of members) {
      if (!ofGroup.has(each)) {
        ofGroup.set(each, isInsideBand ? `group ${name} is inside its band` : undefined);
      }
    }
  }
  const inside = positions.map((position) => {
    if (ofGroup.has(position)) return ofGroup.get(position);
    return isInside(position.start, position.targetParts, file.drift) ? "inside the band" : undefined;
  });
  const anyOutside = inside.some((each, index) =>
    each === undefined && !isExcluded(file, positions[index]!.symbol)
  );
  positions.forEach((position, index) => {
    if (isExcluded(file, position.symbol)) position.fixed = "excluded";
    else if (rows[index]!.quote.suspended) position.fixed = "trading is suspended";
    else if (rows[index]!.quote.hasOpenOrder) position.fixed = "it has an open order";
    else if (compare(position.quantity, "0") < 0) position.fixed = "a short position is not traded";
    else if (inside[index] !== undefined && !(file.trade === "all" && anyOutside)) {
      position.fixed = inside[index];
    }
    if (file.sellOnly) position.noBuys = "sell only";
  });
}
