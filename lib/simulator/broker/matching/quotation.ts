/**
 * Applies the quotation rules of continuous trading: how far the price of an order may be from the market.
 *
 * Hong Kong:
 *
 * - No purchase at nine times the last price or more, no sale at a ninth of it or less.
 * - A limit order may buy up to the best ask, and sell down to the best bid. An enhanced limit order may go nine price
 *   steps further. If an order's limit is beyond this, the broker sends the order with the furthest valid limit.
 * - On its own side, an order is at most 24 price steps behind the best price. Since 2025-08-04, it may be up to 4%
 *   behind the best price, if that is more. The simulator measures this distance from the last price. The broker keeps
 *   an order that is further away, and sends it when the market comes near.
 *
 * Stock Connect:
 *
 * - The price cage: no purchase more than 2% above the best ask, and no sale more than 2% below the best bid. If 2% is
 *   less than 0.10, the distance is 0.10. Funds are exempt.
 * - No purchase more than 3% below the best bid.
 *
 * Sources: `exsim`, `faq`, `tpsec` and `order-range` for Hong Kong, `cage` and `nb` for Stock Connect. Their list is in
 * `docs/simulator.md`. How the broker handles orders too far beyond or behind the market is a choice of the simulator:
 * other brokers reject them.
 *
 * @module
 */
import type { SimulatedMarket } from "../../market/mod.ts";
import type { LiveOrder } from "../orders/live_order.ts";
import { readPrice, writePrice } from "../account/money.ts";
import type { Tape } from "./tape.ts";

/** The members of an order that the rules use. */
type Quoted = Pick<LiveOrder, "book" | "instrument" | "isSell" | "orderType" | "price">;

const FACTOR = 9n;
/** The smallest difference of two prices. */
const SMALLEST = readPrice("0.0001");
const STEPS_THROUGH = 9;
const STEPS_BEHIND = 24;
/** Since this day an order may also be 4% behind the best price. */
const PERCENT_FROM = "2025-08-04";
const PERCENT_BEHIND = 4n;
/** The price cage of the mainland, and how far below the best bid Stock Connect accepts purchases. */
const CAGE_PERCENT = 2n;
const CAGE_STEP = readPrice("0.10");
const PERCENT_BELOW = 3n;

/** The quotation rules of one market. */
export class Quotation {
  readonly #market: SimulatedMarket;
  readonly #tape: Tape;

  constructor(market: SimulatedMarket, tape: Tape) {
    this.#market = market;
    this.#tape = tape;
  }

  /** Returns why the exchange rejects the price of an order at an instant of continuous trading, or `undefined`. */
  refusal(order: Quoted, at: number): string | undefined {
    const { book, instrument: { symbol }, isSell, price } = order;
    if (price === 0n) return undefined;
    if (book === "shanghai" || book === "shenzhen") return this.#northboundRefusal(order, at);
    if (book !== "hk") return undefined;
    const own = `price "${writePrice(price)}" of "${symbol}"`;
    const last = this.#tape.price(symbol, at);
    if (isSell ? price * FACTOR <= last : price >= last * FACTOR) {
      const [factor, beyond] = isSell ? ["a ninth of", "less"] : ["nine times", "more"];
      return `${own} is ${factor} the last price ${writePrice(last)} or ${beyond}`;
    }
    return undefined;
  }

  #northboundRefusal(
    { instrument: { symbol, kind }, isSell, price }: Quoted,
    at: number,
  ): string | undefined {
    const [ask, bid] = (["asks", "bids"] as const).map((side) =>
      this.#tape.levels(symbol, at, side)[0]?.price
    );
    const base = (isSell ? bid ?? ask : ask ?? bid) ?? this.#tape.price(symbol, at);
    const own = `price "${writePrice(price)}" of "${symbol}"`;
    if (kind !== "etf") {
      const [part, step] = [base * CAGE_PERCENT / 100n, CAGE_STEP];
      const room = part > step ? part : step;
      const isOutside = isSell ? price < base - room : price > base + room;
      if (isOutside) return `${own} is outside the price cage around ${writePrice(base)}`;
    }
    if (!isSell && bid !== undefined && price * 100n < bid * (100n - PERCENT_BELOW)) {
      return `${own} is more than 3% below the best bid ${writePrice(bid)}`;
    }
    return undefined;
  }

  /** Returns the furthest valid limit of an order beyond the best price of the other side, if there is one. */
  furthest(
    { book, instrument: { symbol }, isSell, orderType }: Quoted,
    date: string,
    at: number,
  ): bigint | undefined {
    if (book !== "hk" || (orderType !== "limit" && orderType !== "enhanced-limit")) return undefined;
    const best = this.#tape.levels(symbol, at, isSell ? "bids" : "asks")[0]?.price;
    if (best === undefined) return undefined;
    const steps = orderType === "limit" ? 0 : STEPS_THROUGH;
    return this.#step(symbol, date, best, isSell ? -steps : steps);
  }

  /** Returns whether an order is so far behind a price of the market that the exchange does not accept it. */
  isFar(
    { book, instrument: { symbol }, isSell, price }: Quoted,
    date: string,
    market: bigint,
  ): boolean {
    if (book !== "hk" || price === 0n) return false;
    if (isSell ? price <= market : price >= market) return false;
    const percent = date >= PERCENT_FROM ? market * PERCENT_BEHIND / 100n : 0n;
    const byPercent = isSell ? market + percent : market - percent;
    const bySteps = this.#step(symbol, date, market, isSell ? STEPS_BEHIND : -STEPS_BEHIND);
    return isSell ? price > byPercent && price > bySteps : price < byPercent && price < bySteps;
  }

  /** Returns the price that is `steps` price steps above a price; below it if `steps` is negative. */
  #step(symbol: string, date: string, price: bigint, steps: number): bigint {
    let at = price;
    for (let left = Math.abs(steps); left > 0 && at > 0n; left--) {
      // On the edge of two bands, `tickSize` returns the step of the lower band. A step up uses that of the upper band.
      const tick = readPrice(this.#market.tickSize(symbol, date, writePrice(steps > 0 ? at + SMALLEST : at)));
      at += steps > 0 ? tick : -tick;
    }
    return at;
  }
}
