/**
 * Manages futures: orders, fills, positions, funds and margin.
 *
 * The broker does not publish its margins. Here the initial margin is a tenth of a contract's value, and the
 * maintenance margin is four fifths of the initial margin. The open orders of a contract and side share the position
 * that they close. What they would trade beyond it opens a position, and reserves the initial margin from the moment at
 * which the broker accepts the order.
 *
 * The night session belongs to the next trading day. It accepts only orders with the session `after-hours`. It rejects
 * a purchase more than 5% above the last price of the nearest contract's day session, and a sale more than 5% below it.
 * A day order of the night session expires when the session ends.
 *
 * @module
 */
import { SecurityType } from "../../../dictionaries/security_type.ts";
import type { FuturesFunds, FuturesHolding } from "../../../operations/futures.ts";
import type { BrokerName, Handlers } from "../../contract.ts";
import { NIGHT_PERCENT } from "../../market/extended.ts";
import type { Instrument } from "../../market/mod.ts";
import { checkHalt, checkPause, checkPrice, checkQuantity, CLOSED_TEXT, invalid, refused } from "./checks.ts";
import {
  type FuturesAccount,
  futuresRow,
  numbered,
  pageOf,
  points,
  type Position,
} from "../account/futures_account.ts";
import { filledOf, isOpen, type LiveFill, type LiveOrder, mostLeftOf } from "./live_order.ts";
import { amountOf, meanPrice, readPrice, writeCents } from "../account/money.ts";
import { addOrder, checkUnamended, findOpen, requestAmend, requestCancel } from "./orders.ts";
import { futureCloseAt, isExtendedAt, MINUTE_MS } from "../sessions.ts";
import type { State } from "../state.ts";
import type { Tape } from "../matching/tape.ts";

type Names = Extract<BrokerName, `futures.${string}`>;

const MARGIN_DIVISOR = 10n;
/** How many milliseconds before the open the broker begins to accept orders. */
const LEAD_MS = 30 * MINUTE_MS;
/** Maximum number of rows in today's lists. */
const MOST_ORDERS = 500;
const MOST_FILLS = 200;
const ZERO = "0.00";

const magnitude = (value: bigint) => value < 0n ? -value : value;

/** Handles the broker's futures. */
export class FuturesDesk {
  readonly #state: State;
  readonly #account: FuturesAccount;

  constructor(state: State, account: FuturesAccount) {
    this.#state = state;
    this.#account = account;
  }

  /** Handlers of the `futures` family. */
  readonly handlers: Handlers<Names> = {
    "futures.funds": () => ({ funds: this.#funds() }),
    "futures.holdings": () => ({ funds: this.#funds(), holdings: this.#holdings() }),
    "futures.maxQuantity": ({ symbol }) => {
      const { multiplier } = this.#find(symbol);
      const margin = this.#marginOf(symbol, BigInt(multiplier), 1n);
      const quantity = this.#account.positions.get(symbol)?.quantity ?? 0n;
      const free = this.#available();
      const opens = free > 0n ? free / margin : 0n;
      const closes = (isSell: boolean) => {
        const left = this.#closable(symbol, isSell) - this.#ordered(symbol, isSell);
        return left > 0n ? left : 0n;
      };
      return {
        position: quantity === 0n ? "no-position" : quantity > 0n ? "long" : "short",
        maxBuy: String(opens + closes(false)),
        maxSell: String(opens + closes(true)),
        initialMargin: writeCents(margin),
        currency: "HKD",
      };
    },
    "futures.products": ({ symbols }) =>
      symbols.map((symbol) => {
        const { future } = this.#find(symbol);
        return {
          symbol,
          series: future.product,
          lotSize: 1,
          priceDecimals: future.decimals,
          priceDecimalsText: String(future.decimals),
          contractSize: future.multiplier,
          expiry: future.lastTradingDay,
          afterHours: true,
        };
      }),
    "futures.place": (terms) => {
      const instrument = this.#find(terms.symbol);
      const extended = terms.session === "after-hours";
      this.#checkHours({ extended, instrument });
      checkHalt(this.#state, terms.symbol);
      const isSell = terms.side === "sell";
      const quantity = checkQuantity(terms.quantity, instrument, { isSell, orderType: "limit" });
      const isPriced = terms.orderType === "limit" || terms.orderType === "conditional";
      const price = isPriced ? checkPrice(this.#state, instrument, terms.price) : 0n;
      const multiplier = BigInt(instrument.multiplier);
      this.#checkNight(instrument, isSell, price);
      checkPause(this.#state, { instrument, isSell, orderType: "limit", price });
      this.#checkMargin(instrument, isSell, quantity);
      const { id } = addOrder(this.#state, {
        book: "futures",
        instrument,
        multiplier,
        day: this.#state.today.futures.day,
        isSell,
        orderType: "limit",
        price,
        frozenPrice: this.#tape.price(terms.symbol, this.#state.now) * 21n / 20n,
        quantity,
        extended,
        futures: {
          orderType: terms.orderType,
          validity: terms.validity,
          session: terms.session ?? "default",
          ...(terms.validUntil === undefined ? {} : { validUntil: terms.validUntil }),
        },
      });
      return { orderId: id };
    },
    "futures.amend": ({ orderId, symbol, price, quantity, side, validity, validUntil }) => {
      const order = findOpen(this.#state, orderId, (book) => book === "futures");
      checkUnamended(order);
      this.#checkHours(order);
      checkHalt(this.#state, symbol);
      if (order.instrument.symbol !== symbol || order.isSell !== (side === "sell")) {
        throw invalid(`order "${orderId}" is for another contract or side`);
      }
      const { isSell, instrument } = order;
      const wanted = checkQuantity(quantity, instrument, { isSell, orderType: "limit" });
      const filled = filledOf(order);
      if (wanted <= filled) throw refused(`the filled quantity of order "${orderId}" is already ${filled}`);
      const limit = order.price === 0n ? 0n : checkPrice(this.#state, instrument, price);
      this.#checkNight(instrument, isSell, limit);
      checkPause(this.#state, { instrument, isSell, orderType: "limit", price: limit });
      this.#checkMargin(instrument, isSell, wanted - filled, order);
      requestAmend(this.#state, order, {
        quantity: wanted,
        further: 0n,
        price: limit,
        frozenPrice: order.frozenPrice,
        futures: { validity, ...validUntil !== undefined && { validUntil } },
      });
      return { orderId };
    },
    "futures.cancel": ({ orderId, symbol }) => {
      const order = findOpen(this.#state, orderId, (book) => book === "futures");
      if (order.instrument.symbol !== symbol) throw invalid(`order "${orderId}" is for another contract`);
      requestCancel(this.#state, order);
      return { orderId };
    },
    "futures.ordersToday": () =>
      numbered(this.#state.today.futures.orders.map((order) => futuresRow(order))).slice(0, MOST_ORDERS),
    "futures.fillsToday": () =>
      numbered(
        this.#state.today.futures.fills.map(({ order, fill }) =>
          futuresRow(order, { ...fill, date: this.#date })
        ),
      )
        .slice(0, MOST_FILLS),
    "futures.ordersHistory": (query) => pageOf(this.#account.orders, query),
    "futures.fillsHistory": (query) => pageOf(this.#account.fills, query),
  };

  /** Records a fill. */
  fill(order: LiveOrder, { price, quantity }: LiveFill): void {
    const { date } = this.#state.today.futures.day;
    this.#account.trade({ symbol: order.instrument.symbol, date, isSell: order.isSell, price, quantity });
  }

  /** Moves the day into history, except orders that stay open after this day. */
  clear(): void {
    const today = this.#state.today.futures;
    const { day } = today;
    const { date } = day;
    const done = today.orders.filter((order) => !isOpen(order));
    this.#account.orders.append(date, done.map((order) => futuresRow(order)));
    this.#account.fills.append(
      date,
      today.fills.map(({ order, fill }) => futuresRow(order, { ...fill, date })),
    );
    this.#account.settle(date, (symbol) => this.#tape.price(symbol, futureCloseAt(day, date)));
    for (const { id } of done) this.#state.byId.delete(id);
  }

  #find(symbol: string): Instrument & { future: NonNullable<Instrument["future"]> } {
    const { date } = this.#state.today.futures.day;
    const instrument = this.#state.market.instrument(symbol, date);
    if (instrument?.future === undefined) throw invalid(`unknown contract "${symbol}"`);
    if (instrument.future.lastTradingDay < date) throw invalid(`contract "${symbol}" has expired`);
    return { ...instrument, future: instrument.future };
  }

  /** The prices of futures, including the prices of the night session. */
  get #tape(): Tape {
    return this.#state.tapeOf({ extended: true });
  }

  get #date(): string {
    return this.#state.today.futures.day.date;
  }

  #checkHours({ extended, instrument: { future } }: Pick<LiveOrder, "extended" | "instrument">): void {
    const { day, dateBefore } = this.#state.today.futures;
    // A contract has no night session after its last day.
    const hasNight = (future?.lastTradingDay ?? "") > dateBefore;
    if (extended && hasNight && isExtendedAt(day, this.#state.now)) return;
    const from = day.openAt - LEAD_MS;
    const until = futureCloseAt(day, future?.lastTradingDay);
    if (this.#state.now < from || this.#state.now >= until) throw refused(CLOSED_TEXT);
  }

  /** Rejects a price of the night session that is too far from the last price of the nearest contract's day session. */
  #checkNight({ future }: Instrument, isSell: boolean, price: bigint): void {
    const { market, now, today: { futures: { day } } } = this.#state;
    if (price === 0n || !isExtendedAt(day, now)) return;
    const spot =
      market.futureContracts(now).filter(({ product, lastTradingDay }) =>
        product === future?.product && lastTradingDay >= day.date
      ).toSorted((a, b) => a.lastTradingDay < b.lastTradingDay ? -1 : 1)[0];
    if (spot === undefined) return;
    const last = readPrice(market.previousClose(spot.symbol, now, { extended: true }));
    const room = last * BigInt(NIGHT_PERCENT) / 100n;
    if (isSell ? price >= last - room : price <= last + room) return;
    const limit = isSell ? `below ${points(last - room)}` : `above ${points(last + room)}`;
    throw refused(`price "${points(price)}" is ${limit}, the limit of the night session`);
  }

  #marginOf(symbol: string, multiplier: bigint, quantity: bigint): bigint {
    return amountOf(this.#tape.price(symbol, this.#state.now), quantity, multiplier) / MARGIN_DIVISOR;
  }

  /** Returns the margin for positions, and for the contracts with which open orders open positions. */
  #initialMargin(): bigint {
    const ordered = this.#state.openOrders("futures").map(({ instrument: { symbol } }) => symbol);
    let sum = 0n;
    for (const symbol of new Set([...this.#account.positions.keys(), ...ordered])) {
      const held = magnitude(this.#account.positions.get(symbol)?.quantity ?? 0n);
      const multiplier = BigInt(this.#state.market.instrument(symbol)?.multiplier ?? "1");
      const opens = [true, false].map((isSell) => this.#opens(symbol, isSell, this.#ordered(symbol, isSell)));
      sum += this.#marginOf(symbol, multiplier, opens.reduce((all, quantity) => all + quantity, held));
    }
    return sum;
  }

  /** Returns how many contracts the open orders of one side can still trade, all together. */
  #ordered(symbol: string, isSell: boolean, except?: LiveOrder): bigint {
    return this.#state.openOrders("futures")
      .filter((order) => order !== except && order.isSell === isSell && order.instrument.symbol === symbol)
      .reduce((sum, order) => sum + mostLeftOf(order), 0n);
  }

  /** Returns how many contracts of the position a side can close. */
  #closable(symbol: string, isSell: boolean): bigint {
    const held = this.#account.positions.get(symbol)?.quantity ?? 0n;
    return isSell === held > 0n ? magnitude(held) : 0n;
  }

  /** Returns how many contracts open a position if the orders of one side trade `quantity` contracts, all together. */
  #opens(symbol: string, isSell: boolean, quantity: bigint): bigint {
    const closes = this.#closable(symbol, isSell);
    return quantity > closes ? quantity - closes : 0n;
  }

  /**
   * Rejects an order, or an amendment of an order, if it opens more contracts than the free margin allows. Without free
   * margin, an order can still close the position.
   */
  #checkMargin(instrument: Instrument, isSell: boolean, quantity: bigint, amended?: LiveOrder): void {
    const { symbol } = instrument;
    const before = this.#opens(symbol, isSell, this.#ordered(symbol, isSell));
    const after = this.#opens(symbol, isSell, this.#ordered(symbol, isSell, amended) + quantity);
    if (after <= before) return;
    const margin = this.#marginOf(symbol, BigInt(instrument.multiplier), after - before);
    if (margin > this.#available()) throw refused("insufficient margin for this order");
  }

  #profitOf(symbol: string, { quantity, costCents }: Position): bigint {
    const multiplier = BigInt(this.#state.market.instrument(symbol)?.multiplier ?? "1");
    const value = amountOf(this.#tape.price(symbol, this.#state.now), magnitude(quantity), multiplier);
    return quantity > 0n ? value - costCents : costCents - value;
  }

  #positionProfit(): bigint {
    let sum = 0n;
    for (const [symbol, position] of this.#account.positions) sum += this.#profitOf(symbol, position);
    return sum;
  }

  #available(): bigint {
    return this.#account.cash + this.#positionProfit() - this.#initialMargin();
  }

  #funds(): FuturesFunds {
    const { cash, realised } = this.#account;
    const profit = this.#positionProfit();
    const [net, initial] = [cash + profit, this.#initialMargin()];
    const used = net <= 0n ? 1000n : initial * 100n / net;
    const { date } = this.#state.today.futures.day;
    return {
      netAssets: writeCents(net),
      available: writeCents(net - initial),
      marginCall: net < initial ? writeCents(initial - net) : ZERO,
      positionProfit: writeCents(profit),
      realisedProfit: writeCents(realised),
      cash: writeCents(cash),
      cashHkd: writeCents(cash),
      cashUsd: ZERO,
      cashCnh: ZERO,
      usdHkdRate: this.#state.market.currencyRates(date).USDHKD,
      initialMargin: writeCents(initial),
      maintenanceMargin: writeCents(initial * 4n / 5n),
      marginLevel: String(used),
      maxMargin: writeCents(net),
      marginStatus: used <= 80n
        ? "safe"
        : used <= 100n
        ? "warning"
        : used <= 125n
        ? "dangerous"
        : "liquidation",
      riskPercent: String(used),
      creditLimit: ZERO,
      controlLevel: "0",
      marginClass: "0",
      accountExecutive: "0",
    };
  }

  #holdings(): FuturesHolding[] {
    const { now, market, today } = this.#state;
    return [...this.#account.positions].filter(([, { quantity }]) => quantity !== 0n).map(
      ([symbol, position]) => {
        const { quantity, costCents, realisedCents } = position;
        const instrument = market.instrument(symbol);
        const multiplier = BigInt(instrument?.multiplier ?? "1");
        const sum = (isSell: boolean) =>
          today.futures.fills.filter(({ order }) =>
            order.isSell === isSell && order.instrument.symbol === symbol
          )
            .reduce(({ quantity, cents }, { fill }) => ({
              quantity: quantity + fill.quantity,
              cents: cents + amountOf(fill.price, fill.quantity, multiplier),
            }), { quantity: 0n, cents: 0n });
        const [bought, sold] = [sum(false), sum(true)];
        const net = bought.quantity - sold.quantity;
        const profit = writeCents(this.#profitOf(symbol, position));
        const last = this.#tape.price(symbol, now);
        const mean = (cents: bigint, count: bigint) =>
          points(meanPrice(magnitude(cents), magnitude(count), multiplier));
        const previousClose = market.previousClose(symbol, now, { extended: true });
        return {
          symbol,
          name: instrument?.name ?? symbol,
          securityType: SecurityType.decode(instrument?.dataType ?? 10010),
          quantity: String(quantity),
          costPrice: mean(costCents, quantity),
          previousQuantity: String(quantity - net),
          previousPrice: previousClose,
          depositedQuantity: "0",
          dayLongQuantity: String(bought.quantity),
          dayLongPrice: mean(bought.cents, bought.quantity),
          dayShortQuantity: String(sold.quantity),
          dayShortPrice: mean(sold.cents, sold.quantity),
          dayNetQuantity: String(net),
          dayNetPrice: mean(bought.cents - sold.cents, net),
          lastPrice: points(last),
          previousClose,
          profit,
          profitInBaseCurrency: profit,
          realisedProfit: writeCents(realisedCents),
          realisedProfitHkd: writeCents(realisedCents),
          contractValue: writeCents(amountOf(last, magnitude(quantity), multiplier)),
          currency: "HKD",
          currencyRate: "1",
        };
      },
    );
  }
}
