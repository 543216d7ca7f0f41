/**
 * Computes how much of a plan's order the broker's cash and holdings cover: cash above the buffer, and shares that can
 * be sold.
 *
 * @module
 */
import { calendarZone, dateAt } from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  normalize,
  subtract,
  sumOf,
  toStep,
} from "../../decimal.ts";
import { isSameSymbol } from "../../desk/broker_lists.ts";
import {
  currencyOf,
  estimateFees,
  type FeeTerms,
  least,
  mics,
  pendingStates,
} from "../../desk/guards/order.ts";
import type { Intent } from "../../desk/intent.ts";
import { usedOf } from "../../desk/plan_caps.ts";
import { intentsOfPlan, openIntents } from "../../desk/queries.ts";
import { termsOf } from "../../desk/terms.ts";
import { Market } from "../../dictionaries/market.ts";
import type { Store } from "../../store/store.ts";
import type { Plan, PlannedTrade } from "../solver/plan.ts";
import { currencyOfMarket } from "../input/plan_file.ts";
import { mostCovered } from "./pricing.ts";

/** After a purchase, the broker's cash may stay unchanged for up to this time. */
const CASH_LAG_MS = 30_000;

/** Thrown if the fee rates of an order's day are unknown. The cost of the order is then unknown, too. */
class UnknownFees extends Error {
  constructor({ symbol, date }: FeeTerms) {
    super(`the fees of "${symbol}" on ${date} are unknown, so the cash above the buffer is unknown`);
  }
}

/** @throws {UnknownFees} If no rates are known for the day. */
function feesOf(terms: FeeTerms): Decimal {
  const fees = estimateFees(terms);
  if (fees === undefined) throw new UnknownFees(terms);
  return fees;
}

/** What {@linkcode Cover} needs. */
export interface CoverDeps {
  store: Store;
  account: string;
  reader: Client;
  now(): number;
  /** The broker's clock minus this machine's. */
  aheadMs(): number;
  signal: AbortSignal | undefined;
}

/** Computes how much of each order the broker's cash and holdings cover, during one execution of a plan. */
export class Cover {
  readonly #plan: Plan;
  readonly #deps: CoverDeps;
  /** By currency: the broker's cash at an earlier time. */
  readonly #figures = new Map<string, { at: number; amount: Decimal }>();

  constructor(plan: Plan, deps: CoverDeps) {
    this.#plan = plan;
    this.#deps = deps;
  }

  /** The time at the broker. */
  #brokerNow(): number {
    return this.#deps.now() + this.#deps.aheadMs();
  }

  /** Forgets the earlier cash of a currency, for example because a cancelled order gives cash back. */
  forget(currency: string): void {
    this.#figures.delete(currency);
  }

  /** Returns how much of a purchase the broker's cash covers above the plan's buffer. */
  async ofPurchase(
    trade: PlannedTrade,
    { price, wanted, lot }: { price: Decimal; wanted: Decimal; lot: Decimal },
  ): Promise<{ quantity: Decimal; why: string }> {
    const currency = currencyOf(trade.market, trade.symbol);
    let found: { cash: Decimal } | { why: string };
    try {
      found = await this.#spendable(currency, trade.market);
      this.#costOf(trade, price, lot);
    } catch (error) {
      if (!(error instanceof UnknownFees)) throw error;
      return { quantity: "0", why: error.message };
    }
    if ("why" in found) return { quantity: "0", why: found.why };
    const room = found.cash;
    const most = least(wanted, toStep(divide(room, price, 0, "down"), lot, "down"));
    const quantity = compare(room, "0") <= 0
      ? "0"
      : mostCovered(room, { most, lot, costOf: (quantity) => this.#costOf(trade, price, quantity) });
    const buffer = this.#plan.cashBuffer[currency] ?? "0";
    return {
      quantity,
      why: `the cash covers ${normalize(quantity)} of ${normalize(wanted)} shares: ${
        compare(room, "0") < 0 ? "0" : normalize(room)
      } ${currency} above the buffer of ${normalize(buffer)}`,
    };
  }

  /** Returns what a purchase costs, including its estimated fees. */
  #costOf(
    { market, symbol }: Pick<PlannedTrade, "market" | "symbol">,
    price: Decimal,
    quantity: Decimal,
  ): Decimal {
    if (isZero(quantity)) return "0";
    const date = dateAt(this.#brokerNow(), calendarZone[mics[market]]);
    return add(multiply(price, quantity), feesOf({ market, symbol, isBuy: true, price, quantity, date }));
  }

  /**
   * Returns the cash of a currency above the plan's buffer that no purchase uses yet, or why it is unknown.
   * The broker may not have deducted the newest purchases from its latest cash yet. So the purchases are also
   * subtracted from an earlier value of the cash, and the smaller result counts.
   */
  async #spendable(currency: string, market: Market): Promise<{ cash: Decimal } | { why: string }> {
    const { store, account, reader, signal } = this.#deps;
    const { cashBuffer, hash, proceeds } = this.#plan;
    const source = [market, ...Market.names].find((each) => currencyOfMarket[each] === currency);
    if (source === undefined) return { why: `no market has cash in ${currency}` };
    const { available, withdrawable, frozen = "0", frozenByOrders = frozen } = await reader.account
      .funds({ market: source }, { ...signal && { signal } });
    if (available === undefined) return { why: `the broker gave no cash in ${currency}` };
    // Proceeds that are not settled are available, but cannot be withdrawn yet.
    const figure = proceeds?.[market] === "later" && withdrawable !== undefined
      ? least(available, withdrawable)
      : available;
    const inCurrency = (intent: Intent) => {
      const { market, symbol } = termsOf(intent);
      return intent.kind === "place" && symbol !== undefined &&
        currencyOf(market as Market, symbol) === currency; // the operation's schema has checked the market
    };
    const isPurchase = (intent: Intent) => inCurrency(intent) && termsOf(intent).side === "buy";
    const costs = (intents: readonly Intent[], of: (intent: Intent) => Decimal) =>
      sumOf(intents.map((intent) => {
        const { market, symbol = "", price = "0" } = termsOf(intent);
        return this.#costOf({ market: market as Market, symbol }, price, of(intent));
      }));
    const pending = (await openIntents(store, account)).filter((intent) =>
      isPurchase(intent) && pendingStates.includes(intent.state)
    );
    const now = this.#deps.now();
    const own = await intentsOfPlan(store, account, hash);
    const sentSince = (at: number) =>
      own.filter((intent) => isPurchase(intent) && (intent.sentAt ?? 0) >= at);
    let before = this.#figures.get(currency);
    const isSettled = sentSince(now - CASH_LAG_MS).length === 0;
    // Keep the earlier value until the broker must have deducted every purchase from its cash. If this
    // machine's clock was set back, replace the earlier value: it would seem to be newer than purchases sent
    // since then.
    if (before === undefined || now < before.at || isSettled && now - before.at >= CASH_LAG_MS) {
      before = { at: isSettled ? now : now - CASH_LAG_MS, amount: figure };
      this.#figures.set(currency, before);
    }
    const since = sentSince(before.at);
    const others = pending.filter(({ id }) => !since.some((each) => each.id === id));
    const cash = least(
      subtract(figure, costs(pending, usedOf)),
      subtract(before.amount, costs([...since, ...others], usedOf)),
    );
    // The broker charges fees after the day. Cash that it has frozen, but not for orders, may already cover these fees.
    const fees = subtract(this.#feesOf(own.filter(inCurrency)), subtract(frozen, frozenByOrders));
    const kept = add(compare(fees, "0") > 0 ? fees : "0", cashBuffer[currency] ?? "0");
    return { cash: subtract(cash, kept) };
  }

  /** Returns the estimated fees of the quantities that the given intents have filled today. */
  #feesOf(intents: readonly Intent[]): Decimal {
    return sumOf(intents.map((intent) => {
      const { market, symbol = "", side, price = "0" } = termsOf(intent);
      const zone = calendarZone[mics[market as Market]];
      const date = dateAt(this.#brokerNow(), zone);
      if (isZero(intent.filled) || dateAt((intent.sentAt ?? 0) + this.#deps.aheadMs(), zone) !== date) {
        return "0";
      }
      const order = { market: market as Market, symbol, isBuy: side === "buy", price, date };
      return feesOf({ ...order, quantity: intent.filled });
    }));
  }

  /**
   * Returns how many shares of a sale can be sold: the number from the broker, minus the sales in the store that this
   * number may not reflect yet.
   */
  async ofSale(
    { market, symbol }: PlannedTrade,
    { wanted, lot }: { wanted: Decimal; lot: Decimal },
  ): Promise<{ quantity: Decimal; why: string }> {
    const { store, account, reader, signal } = this.#deps;
    const rows = await reader.account.holdings({ market }, { ...signal && { signal } });
    const held = rows.find((row) => isSameSymbol(row.symbol, symbol))?.sellableQuantity ?? "0";
    const pending = (await openIntents(store, account)).filter((intent) =>
      pendingStates.includes(intent.state) && intent.kind === "place" &&
      termsOf(intent).side === "sell" && isSameSymbol(termsOf(intent).symbol, symbol)
    );
    const free = subtract(held, sumOf(pending.map(usedOf)));
    const most = compare(free, "0") > 0 ? toStep(free, lot, "down") : "0";
    return {
      quantity: least(wanted, most),
      why: `only ${normalize(most)} of ${normalize(wanted)} shares can be sold`,
    };
  }
}
