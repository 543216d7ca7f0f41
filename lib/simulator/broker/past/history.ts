/**
 * Provides the history lists of one market: orders, fills with their fees, and the fund journal.
 *
 * These rules hold to the cent, for any market and any range of days:
 *
 * - A day is in history, completely, once it is cleared (`sessions.ts` says when).
 * - `fillAmount` is `fillPrice` times `filledQuantity`, for US options times 100, rounded to the cent. Only
 *   the mean price of a merged Hong Kong row can need the rounding.
 * - Hong Kong has one fill row per order and day; the other markets have one row per fill. Charges per order
 *   are in the order's first row of the day. `fees.total` is the sum of the other members.
 * - The journal has exactly one line per fill row: `buy-securities` with `-(fillAmount + fees.total)` or
 *   `sell-securities` with `fillAmount - fees.total`. No other line has one of these types. So for any
 *   days, the sum of these lines follows from the fill rows of the same days: it is the amounts of the sales, minus the
 *   amounts of the purchases, minus the fees.
 * - Every account starts at zero: the sum of all journal lines, today's included, is the cash of the currency.
 *   Both mainland markets share one cash account, so the lines of both journals add up to its cash.
 * - The holdings are the bought minus the sold quantities of all fill rows, including today's. A split
 *   changes the quantity that is held on its ex-date, without a fill or a journal line. An option that
 *   expires in the account has no fill; it has a journal line of type `option-expiry` or
 *   `option-auto-exercise`.
 * - The lines of a day begin with the lines without a fill. The lines of the fills follow in the order of the fill
 *   rows. Times are local, `yyyy-MM-dd HH:mm:ss`. Two different rows may be identical except for their cursors.
 *
 * @module
 */
import { type FeeItems, feesOf, type Tariff } from "../../../facts/fees.ts";
import { listing } from "../../../facts/listings.ts";
import type { Fill } from "../../../operations/fills.ts";
import type { JournalEntry } from "../../../operations/fund_journal.ts";
import type { Order } from "../../../operations/orders.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { DayList } from "./day_list.ts";
import { amountOf, readCents, writePrice } from "../account/money.ts";
import { type Past, pastStatuses } from "./past.ts";
import { fillRow, journalRow, type OrderFacts, orderRow } from "../rows.ts";
import { clockText, orderNumber } from "../sessions.ts";

/** Returns the details of a symbol that rows need. */
export type Describe = (symbol: string) => { name: string; multiplier: bigint; isOption: boolean };

/** Returns a {@linkcode Describe} that caches its results. */
export function describing(market: SimulatedMarket): Describe {
  const known = new Map<string, ReturnType<Describe>>();
  return (symbol) => {
    let found = known.get(symbol);
    if (found === undefined) {
      const instrument = market.instrument(symbol);
      found = {
        name: instrument?.name ?? symbol,
        multiplier: BigInt(instrument?.multiplier ?? "1"),
        isOption: instrument?.kind === "option",
      };
      known.set(symbol, found);
    }
    return found;
  };
}

/** The history of one market. */
export class MarketHistory {
  readonly orders: DayList<Order>;
  readonly fills: DayList<Fill>;
  readonly journal: DayList<JournalEntry>;
  readonly #past: Past;
  readonly #describe: Describe;
  readonly #tariff: Tariff;
  /** Positions of each day's first journal line, first movement and first fill. */
  readonly #starts: { journal: number; movement: number; fill: number }[] = [];

  constructor(past: Past, describe: Describe, tariff: Tariff) {
    this.#past = past;
    this.#describe = describe;
    this.#tariff = tariff;
    const counted = (counts: (day: number) => number) =>
      past.days.map(({ date }, day) => ({ date, count: counts(day) }));
    const [movements, fills] = [past.movementCounts, past.fillCounts];
    const both = (day: number) => (movements[day] ?? 0) + (fills[day] ?? 0);
    let [movement, fill] = [0, 0];
    past.days.forEach((_, day) => {
      this.#starts.push({ journal: movement + fill, movement, fill });
      movement += movements[day] ?? 0;
      fill += fills[day] ?? 0;
    });
    this.orders = new DayList(counted((day) => past.orderCounts[day] ?? 0), (at) => this.#order(at));
    this.fills = new DayList(counted((day) => fills[day] ?? 0), (at) => this.#fill(at));
    this.journal = new DayList(counted(both), (at) => this.#line(at));
  }

  /** Appends a day that has been cleared. */
  append(date: string, rows: { orders: Order[]; fills: Fill[]; journal: JournalEntry[] }): void {
    this.orders.append(date, rows.orders);
    this.fills.append(date, rows.fills);
    this.journal.append(date, rows.journal);
  }

  #facts(place: number): OrderFacts {
    const past = this.#past;
    const symbol = past.symbols[past.orderSymbol[place] ?? 0] ?? "";
    const { name, multiplier } = this.#describe(symbol);
    const date = past.days[past.orderDay[place] ?? 0]?.date ?? "";
    const [first, count] = [past.orderFirstFill[place] ?? 0, past.orderFillCount[place] ?? 0];
    let [filled, filledCents] = [0n, 0n];
    for (let fill = first; fill < first + count; fill++) {
      const quantity = BigInt(past.fillQuantity[fill] ?? 0);
      filled += quantity;
      filledCents += amountOf(past.fillPrice[fill] ?? 0n, quantity, multiplier);
    }
    const status = pastStatuses[past.orderStatus[place] ?? 0] ?? "filled";
    return {
      symbol,
      name,
      market: past.market,
      orderId: orderNumber(past.market, date, past.orderPlace[place] ?? 0),
      side: past.orderIsSell[place] === 1 ? "sell" : "buy",
      orderType: past.market === "hk" ? "enhanced-limit" : "limit",
      price: past.orderPrice[place] ?? 0n,
      quantity: BigInt(past.orderQuantity[place] ?? 0),
      filled,
      filledCents,
      multiplier,
      date,
      orderTime: clockText(past.orderSecond[place] ?? 0),
      ...(count === 0 ? {} : { fillTime: clockText(past.fillSecond[first + count - 1] ?? 0) }),
      status,
      ...(status === "rejected" ? { remark: "price too far from the market" } : {}),
    };
  }

  #order(place: number): Order {
    return orderRow(this.#facts(place));
  }

  #fill(place: number): Fill {
    const past = this.#past;
    const order = past.fillOrder[place] ?? 0;
    const facts = this.#facts(order);
    const first = past.orderFirstFill[order] ?? 0;
    const fills = Array.from({ length: past.orderFillCount[order] ?? 0 }, (_, at) => ({
      price: writePrice(past.fillPrice[first + at] ?? 0n),
      quantity: String(past.fillQuantity[first + at] ?? 0),
    }));
    const fees = this.#fees(facts, fills)[place - first];
    return fillRow(facts, {
      price: past.fillPrice[place] ?? 0n,
      quantity: BigInt(past.fillQuantity[place] ?? 0),
      time: clockText(past.fillSecond[place] ?? 0),
      ...(fees === undefined ? {} : { fees: { ...fees } }),
    });
  }

  #fees(
    { symbol, market, date, side }: OrderFacts,
    fills: { price: string; quantity: string }[],
  ): FeeItems[] {
    return chargesOf({ symbol, market, date, isSell: side === "sell", fills }, this.#describe, this.#tariff);
  }

  #line(place: number): JournalEntry {
    const past = this.#past;
    const day = dayOf(this.#starts, place);
    const { journal, movement, fill } = this.#starts[day] ?? { journal: 0, movement: 0, fill: 0 };
    const date = past.days[day]?.date ?? "";
    const moved = past.movementCounts[day] ?? 0;
    if (place - journal < moved) {
      const { type, cents, second } = past.movements[movement + place - journal]!; // counted above
      return journalRow(type, cents, `${date} ${clockText(second)}`);
    }
    const at = fill + place - journal - moved;
    const order = past.fillOrder[at] ?? 0;
    const { multiplier } = this.#describe(past.symbols[past.orderSymbol[order] ?? 0] ?? "");
    const amount = amountOf(past.fillPrice[at] ?? 0n, BigInt(past.fillQuantity[at] ?? 0), multiplier);
    const isSell = past.orderIsSell[order] === 1;
    const fees = past.fillFees[at] ?? 0n;
    return tradeLine(isSell, amount, fees, `${date} ${clockText(past.fillSecond[at] ?? 0)}`);
  }
}

/** Returns the journal line of a fill row: the amount net of fees. */
export function tradeLine(isSell: boolean, amount: bigint, fees: bigint, time?: string): JournalEntry {
  return isSell
    ? journalRow("sell-securities", amount - fees, time)
    : journalRow("buy-securities", -amount - fees, time);
}

/** Computes the fees of an order's fills of one day, fill by fill. */
export function chargesOf(
  { symbol, market, date, isSell, fills }: {
    symbol: string;
    market: Past["market"];
    date: string;
    isSell: boolean;
    fills: { price: string; quantity: string }[];
  },
  describe: Describe,
  tariff: Tariff,
): FeeItems[] {
  return feesOf({
    market: describe(symbol).isOption ? "us-option" : market,
    date,
    side: isSell ? "sell" : "buy",
    instrument: listing(symbol)?.instrument ?? "stock",
    fills,
  }, tariff).perFill;
}

/** Returns the sum of fee totals, in cents. */
export function totalOf(fees: readonly FeeItems[]): bigint {
  return fees.reduce((sum, { total }) => sum + readCents(total), 0n);
}

function dayOf(starts: readonly { journal: number }[], place: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle]?.journal ?? Infinity) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
