/**
 * Checks that the cash, holdings, fees and fund journal of each day agree to the cent. It uses the broker's lists of
 * the following night.
 *
 * @module
 */
import { add, compare, type Decimal, multiply, subtract, sumOf } from "../decimal.ts";
import { corporateActions } from "../facts/corporate_actions.ts";
import type { Broker } from "../simulator/broker/broker.ts";
import type { Truth } from "./truth.ts";

/** The fields of a fill that the sums need. */
interface FillRow {
  cursor: string;
  orderId: string;
  symbol: string;
  side: string;
  filledQuantity: Decimal;
  fillAmount: Decimal;
  fees?: Readonly<Record<string, Decimal>>;
}

/** Cash and holdings of the account. */
interface Account {
  cash: Decimal;
  /** Quantities by symbol. */
  holdings: ReadonlyMap<string, Decimal>;
}

/** Follows the account from one night to the next night. */
export class MoneyCheck {
  readonly #truth: Pick<Truth, "broker" | "fills">;
  /** Ids of the fills of all days that were checked. */
  readonly #known: Set<string>;
  #before: Account;
  /** The last day that was checked. */
  #last: string | undefined;

  /** Starts with the current state of the account, before the first order of a day. */
  constructor(truth: Pick<Truth, "broker" | "fills">) {
    this.#truth = truth;
    this.#known = new Set(truth.fills.keys());
    this.#before = accountOf(truth.broker);
  }

  /**
   * Returns what does not agree on a day; `undefined` if everything agrees. Call it when the broker's clock is in the
   * following night: the fees are then known, no order is open, and the next day's dividends and splits are not booked
   * yet.
   *
   * @param date The day, such as `2025-08-15`.
   */
  check(date: string): string | undefined {
    const { broker } = this.#truth;
    const [before, after] = [this.#before, accountOf(broker)];
    this.#before = after;
    const splits = corporateActions.filter(({ exDate }) => (this.#last ?? date) < exDate && exDate <= date);
    this.#last = date;
    const day = { market: "hk", from: date, to: date };
    const fills = allRows<FillRow>(broker, "fills.history", day);
    const journal = allRows<{ cursor: string; amount: Decimal; type: string }>(
      broker,
      "fundJournal.history",
      day,
    );

    for (const { orderId, fees = {} } of fills) {
      const { total = "0", ...each } = fees;
      const sum = sumOf(Object.values(each));
      if (compare(sum, total) !== 0) {
        return `the fees of order ${orderId} add up to ${sum}, and their total is ${total}`;
      }
    }
    const pushed = [...this.#truth.fills].filter(([id]) => !this.#known.has(id)).map(([id, fill]) => {
      this.#known.add(id);
      return fill;
    });
    for (const orderId of new Set([...pushed, ...fills].map((each) => each.orderId))) {
      const own = pushed.filter((fill) => fill.orderId === orderId);
      const rows = fills.filter((row) => row.orderId === orderId);
      const [quantity, amount] = [
        sumOf(own.map((fill) => fill.quantity)),
        sumOf(own.map((fill) => multiply(fill.price, fill.quantity))),
      ];
      const listed = [
        sumOf(rows.map((row) => row.filledQuantity)),
        sumOf(rows.map((row) => row.fillAmount)),
      ] as const;
      if (compare(quantity, listed[0]) !== 0 || compare(amount, listed[1]) !== 0) {
        return `order ${orderId}: its pushes have ${quantity} for ${amount}, and the list of fills ${
          listed.join(" for ")
        }`;
      }
    }
    const booked = sumOf(journal.map(({ amount }) => amount));
    const trades = sumOf(journal.filter(({ type }) => tradeTypes.includes(type)).map(({ amount }) => amount));
    const traded = sumOf(fills.map(cashOf));
    if (compare(trades, traded) !== 0) {
      return `the fund journal of ${date} has ${trades} for trades, and fills less fees add up to ${traded}`;
    }
    const change = subtract(after.cash, before.cash);
    if (compare(change, booked) !== 0) {
      return `the cash of ${date} changed by ${change}, and the fund journal adds up to ${booked}`;
    }
    for (const symbol of new Set([...before.holdings.keys(), ...after.holdings.keys()])) {
      const rows = fills.filter((row) => row.symbol === symbol);
      const moved = rows.map(({ side, filledQuantity }) =>
        side === "buy" ? filledQuantity : `-${filledQuantity}`
      );
      let had = BigInt(before.holdings.get(symbol) ?? "0");
      for (const { symbol: of, newShares, oldShares } of splits) {
        if (of === symbol) had = had * BigInt(newShares) / BigInt(oldShares);
      }
      const wanted = add(String(had), ...moved);
      const held = after.holdings.get(symbol) ?? "0";
      if (compare(wanted, held) !== 0) {
        return `the account holds ${held} of ${symbol}, and its fills lead to ${wanted}`;
      }
    }
    return undefined;
  }
}

/** Types of the lines for trades in the fund journal. */
const tradeTypes = ["buy-securities", "sell-securities"];

/** Returns the cash effect of a fill, net of fees. */
function cashOf({ side, fillAmount, fees }: FillRow): Decimal {
  return subtract(side === "buy" ? `-${fillAmount}` : fillAmount, fees?.total ?? "0");
}

/** Reads a list of the broker to its end. */
function allRows<Row extends { cursor: string }>(
  broker: Broker,
  name: "fills.history" | "fundJournal.history",
  params: object,
): Row[] {
  const rows: Row[] = [];
  for (;;) {
    const cursor = rows.at(-1)?.cursor;
    // The simulator answers with the records of these operations.
    const page = broker.call(name, { ...params, ...cursor !== undefined && { cursor } }) as unknown as Row[];
    rows.push(...page);
    if (page.length === 0) return rows;
  }
}

function accountOf(broker: Broker): Account {
  // The simulator answers with the records of these operations.
  const funds = broker.call("account.funds", { market: "hk" }) as unknown as Record<string, Decimal>;
  const rows = broker.call("account.holdings", { market: "hk" }) as unknown as {
    symbol: string;
    quantity: Decimal;
  }[];
  return {
    // Money that is reserved for open orders and for the fees of the day belongs to the account. `frozen` contains
    // both.
    cash: add(funds.available!, funds.frozen!),
    holdings: new Map(rows.map(({ symbol, quantity }) => [symbol, quantity])),
  };
}
