/**
 * Matches an order with the simulated market.
 *
 * An order reaches the exchange at the first whole second that is at least one second after the broker accepted it. If
 * the market is closed then, the order waits for the first trade. The order first takes what the order book offers up
 * to its limit, best price first. The rest joins the queue at its limit, behind the volume that the book shows there.
 * Trades at the limit first serve the volume ahead. A trade beyond the limit shows that all of that volume
 * has been served.
 *
 * In Hong Kong, orders also take part in the auctions, which `auctions.ts` describes. Auction orders take part in the
 * opening auction. All orders that are still open after the close take part in the closing auction, except for special
 * limit orders and odd lots.
 *
 * Odd lots of Hong Kong have a market of their own, which `odd_lots.ts` describes.
 *
 * A fill never exceeds what the market offers. The volume of a level of the book can be taken once, and is on offer
 * again only after the market has traded at its price or beyond it. A trade first serves the volume ahead. The account's
 * orders get a quarter of the rest, but at least one lot if the rest is that large. A real queue would give more, so a
 * program meets partial fills more often here.
 *
 * @module
 */
import type { ExtendedSession } from "../../../calendars/mod.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import type { AuctionName, Auctions } from "./auctions.ts";
import { type FillRule, leftOf, type LiveOrder, NEXT_FILL_MS } from "../orders/live_order.ts";
import { least } from "../account/money.ts";
import type { OddLots } from "./odd_lots.ts";
import type { Quotation } from "./quotation.ts";
import type { Book } from "../sessions.ts";
import type { Range, Tape } from "./tape.ts";

/** What the market gives an order at an instant. */
export interface Match {
  price: bigint;
  quantity: bigint;
  rule: FillRule;
  /** The session of the trade if it was outside the regular hours. */
  session?: ExtendedSession;
}

/** The account's orders together get the volume of a trade divided by this number, but at least one lot. */
const SHARE_OF_TRADE = 4n;
const SECOND_MS = 1_000;

/** Matches orders, and remembers the volume that they have taken. */
export class Matching {
  readonly #market: SimulatedMarket;
  readonly #tapeOf: (order: LiveOrder) => Tape;
  readonly #auctions: Auctions;
  readonly #quotation: Quotation;
  readonly #oddLots: OddLots;
  /** Volume of trades that the account's orders have taken, by book. */
  readonly #taken = new Map<Book, Map<string, bigint>>();
  /** Volume of levels of the order book that the account's orders have taken, with the time, by book. */
  readonly #levels = new Map<Book, Map<string, { quantity: bigint; at: number }>>();

  constructor(
    state: {
      market: SimulatedMarket;
      auctions: Auctions;
      quotation: Quotation;
      oddLots: OddLots;
      tapeOf: (order: LiveOrder) => Tape;
    },
  ) {
    const { market, auctions, quotation } = state;
    this.#market = market;
    this.#oddLots = state.oddLots;
    this.#tapeOf = (order) => state.tapeOf(order);
    this.#quotation = quotation;
    this.#auctions = auctions;
  }

  /**
   * Returns the next second, up to an instant, in which the market may fill an order. Stores the result in the order.
   */
  nextAt(order: LiveOrder, until: number): number | undefined {
    if (order.next !== undefined) return order.next <= until ? order.next : undefined;
    const next = this.#joins(order, "opening")
      ? this.#auctions.matchAt(order.day, "opening")
      : this.#nextTrade(order, until) ??
        (this.#joins(order, "closing") ? this.#auctions.matchAt(order.day, "closing") : undefined);
    if (next === undefined || next > until) return undefined;
    return order.next = next;
  }

  /** Returns whether an order will still take part in an auction of its day. */
  #joins({ book, day, orderType, readyAt, scannedUntil }: LiveOrder, auction: AuctionName): boolean {
    if (book !== "hk" || orderType === "odd-lot" || orderType === "special-limit") return false;
    const matchAt = this.#auctions.matchAt(day, auction);
    return readyAt <= matchAt && scannedUntil < matchAt;
  }

  /** Returns whether an at-auction order reaches the exchange between the match of the opening auction and the open. */
  missesOpening({ book, day, orderType, readyAt }: LiveOrder): boolean {
    if (book !== "hk" || orderType !== "auction" || readyAt >= day.openAt) return false;
    return readyAt > this.#auctions.matchAt(day, "opening");
  }

  #nextTrade(order: LiveOrder, until: number): number | undefined {
    const { instrument: { symbol }, day } = order;
    const tape = this.#tapeOf(order);
    const last = order.extended ? day.clearingAt : day.closeAt;
    const horizon = Math.min(until, order.book === "futures" ? until : last);
    if (horizon < order.readyAt) return undefined;
    if (order.orderType === "odd-lot") return this.#nextVisit(order, horizon);
    if (!this.#isSent(order, horizon)) return undefined;
    const { readyAt } = order;
    if (horizon < readyAt) return undefined;
    if (order.ahead === undefined && order.scannedUntil <= readyAt && tape.isOpen(symbol, readyAt)) {
      return readyAt;
    }
    const after = Math.max(readyAt, order.scannedUntil);
    if (after >= horizon) return undefined;
    // An order that is not in a queue yet waits for any trade. An order in a queue waits for a trade at or beyond its
    // limit.
    const holds = (range: Range) =>
      order.ahead === undefined || reaches(order, order.isSell ? range.high : range.low);
    const at = tape.find(symbol, after, horizon, holds);
    order.scannedUntil = at ?? horizon;
    return at;
  }

  #nextVisit(order: LiveOrder, until: number): number | undefined {
    const { instrument: { symbol }, day, isSell, readyAt, scannedUntil } = order;
    const after = Math.max(readyAt, scannedUntil);
    const at = this.#oddLots.next(symbol, { day, isSell, limit: limitOf(order), after, until });
    order.scannedUntil = at ?? until;
    return at;
  }

  /**
   * Returns whether the broker has sent an order by an instant. The broker holds back an order that is too
   * far from the market.
   */
  #isSent(order: LiveOrder, until: number): boolean {
    if (order.isSent) return true;
    const { instrument: { symbol }, day: { date }, isSell } = order;
    const isNear = (price: bigint) => !this.#quotation.isFar(order, date, price);
    const from = Math.max(order.readyAt, order.scannedUntil);
    const tape = this.#tapeOf(order);
    if (order.scannedUntil < order.readyAt && isNear(tape.price(symbol, order.readyAt))) {
      return order.isSent = true;
    }
    const at = tape.find(symbol, from, until, ({ high, low }) => isNear(isSell ? high : low));
    order.scannedUntil = at ?? Math.max(from, until);
    if (at === undefined) return false;
    order.readyAt = at + SECOND_MS;
    return order.isSent = true;
  }

  /**
   * Matches an order at the second in `order.next`. Returns `undefined` if the order gets nothing, for example because
   * it joins its queue.
   */
  match(order: LiveOrder, at: number): Match | undefined {
    delete order.next;
    order.scannedUntil = at;
    const { book, day, isSell, orderType, instrument: { symbol } } = order;
    if (orderType === "odd-lot") {
      const price = this.#oddLots.price(symbol, { day, isSell, at });
      return price === undefined ? undefined : { price, quantity: leftOf(order), rule: "odd-lot" };
    }
    if (book === "hk" && at < day.openAt) return this.#matchInAuction(order, "opening");
    if (book === "hk" && at > day.closeAt) return this.#matchInAuction(order, "closing");
    return order.ahead === undefined ? this.#take(order, at) : this.#wait(order, at, order.ahead);
  }

  /** Returns whether the market fills a part of an order up to an instant. Changes nothing. */
  willFill(order: LiveOrder, until: number): boolean {
    const trial = { ...order, slices: [...order.slices] };
    const taken = new Map(this.#taken.get(order.book));
    const levels = new Map(this.#levels.get(order.book));
    let isFilled = false;
    for (let at = this.nextAt(trial, until); at !== undefined && !isFilled; at = this.nextAt(trial, until)) {
      isFilled = this.match(trial, at) !== undefined;
    }
    this.#taken.set(order.book, taken);
    this.#levels.set(order.book, levels);
    return isFilled;
  }

  /** Returns why the exchange rejects an order that reaches it in continuous trading, or `undefined`. */
  refusal(order: LiveOrder, at: number): string | undefined {
    const { ahead, fills, price, isSell, day, placedAt, orderType, instrument: { symbol } } = order;
    // Odd lots have no volatility control, and the broker has checked their price.
    if (ahead !== undefined || fills.length > 0 || price === 0n || orderType === "odd-lot") return undefined;
    const pause = this.#tapeOf(order).pause(symbol, at);
    if (pause?.kind === "cooling-off" && pause.band !== undefined) {
      if (isSell ? price < pause.band.low : price > pause.band.high) return "outside the cooling-off limits";
    }
    // Orders placed before the open take part in the opening auction, which has other limits.
    const isContinuous = at >= day.openAt && at < day.closeAt && placedAt >= day.openAt;
    return isContinuous ? this.#quotation.refusal(order, at) : undefined;
  }

  /** Forgets the volume that the orders of a book have taken. */
  clear(book: Book): void {
    this.#taken.delete(book);
    this.#levels.delete(book);
  }

  /** Matches an order in an auction, at the price of the auction. */
  #matchInAuction(order: LiveOrder, auction: AuctionName): Match | undefined {
    const { instrument: { symbol, lotSize }, book, day } = order;
    // The unfilled part of an order in the opening auction becomes a limit order in continuous trading.
    if (auction === "opening") order.readyAt = day.openAt;
    const terms = this.#auctions.match(symbol, day, auction);
    if (terms === undefined || !reaches(order, terms.price) || this.#isShortBelow(order, auction)) {
      return undefined;
    }
    const { price, volume } = terms;
    const key = `${symbol} ${auction}`;
    const lot = BigInt(lotSize);
    const isLast = order.price !== 0n && limitOf(order) === price;
    const part = isLast ? this.#auctions.partAtPrice(symbol, day, auction) : 1000n;
    const share = volume / SHARE_OF_TRADE * part / 1000n / lot * lot;
    const most = (share > lot || isLast ? share : lot) - this.#takenOf(book, key);
    const quantity = least(leftOf(order), most);
    if (quantity <= 0n) return undefined;
    this.#addTaken(book, key, quantity);
    return { price, quantity, rule: `${auction}-auction` };
  }

  /** Returns whether an order is a short sale below the reference price of the closing auction. */
  #isShortBelow(
    { instrument: { symbol }, day, isSell, isShort, price }: LiveOrder,
    auction: AuctionName,
  ): boolean {
    if (isShort !== true || !isSell || auction !== "closing") return false;
    return price < (this.#auctions.reference(symbol, day, auction) ?? 0n);
  }

  /** Takes from the best level of the other side that has volume left. If there is none, the order joins the queue. */
  #take(order: LiveOrder, at: number): Match | undefined {
    const { instrument: { symbol }, isSell, futures, day } = order;
    if (order.fills.length === 0 && at < day.closeAt) {
      const furthest = this.#quotation.furthest(order, day.date, at);
      if (furthest !== undefined) order.furthest = furthest;
    }
    const side = isSell ? "bids" : "asks";
    const levels = this.#tapeOf(order).levels(symbol, at, side)
      .filter(({ price }) => reaches(order, price))
      .map(({ price, volume }) => ({ price, free: volume - this.#takenAt(order, price, at) }))
      .filter(({ free }) => free > 0n);
    const [best] = levels;
    const whole = leftOf(order);
    const isUnfillable = futures?.validity === "fill-or-cancel" &&
      levels.reduce((sum, { free }) => sum + free, 0n) < whole;
    if (best === undefined || isUnfillable) {
      order.ahead = this.#queueOf(order, at);
      return undefined;
    }
    const { price, free } = best;
    const part = order.slices[0] ?? whole;
    const quantity = least(part, free);
    this.#takeLevel(order, { price, quantity, at });
    // If this level has served only some of the part, the next level serves the rest at once. Otherwise the next part
    // follows later.
    order.readyAt = quantity === part ? at + NEXT_FILL_MS : at;
    return { price, quantity, rule: "book", ...this.#sessionOf(order, at) };
  }

  /** Returns the volume ahead of an order that found nothing to take. */
  #queueOf(order: LiveOrder, at: number): bigint {
    const { instrument: { symbol }, isSell } = order;
    if (order.price === 0n) return 0n;
    return this.#tapeOf(order).queue(symbol, at, limitOf(order), !isSell);
  }

  /** Applies one second's trades to the queue at the order's limit. */
  #wait(order: LiveOrder, at: number, ahead: bigint): Match | undefined {
    const { instrument: { symbol, lotSize }, book } = order;
    const tape = this.#tapeOf(order);
    const limit = limitOf(order);
    const left = leftOf(order);
    const part = order.slices[0] ?? left;
    const lot = least(BigInt(lotSize), left);
    let [waiting, quantity, price, isThrough] = [ahead, 0n, limit, false];
    let tradedAt = at;
    for (const print of tape.prints(symbol, at)) {
      if (!reaches(order, print.price)) continue;
      isThrough ||= print.price !== limit;
      const served = print.price === limit ? least(waiting, print.volume) : 0n;
      waiting = print.price === limit ? waiting - served : 0n;
      const key = `${symbol} ${print.at}`;
      const rest = print.volume - served;
      const share = rest / SHARE_OF_TRADE / lot * lot;
      const most = (share > lot ? share : rest < lot ? 0n : lot) - this.#takenOf(book, key);
      const got = least(most > 0n ? most : 0n, part - quantity);
      this.#addTaken(book, key, got);
      quantity += got;
      tradedAt = print.at;
      // An order beyond the limits of a pause gets the price of the trade.
      if (order.price === 0n || !tape.allows(symbol, print.at, limit)) price = print.price;
    }
    order.ahead = waiting;
    if (quantity === 0n) return undefined;
    return { price, quantity, rule: isThrough ? "through" : "queue", ...this.#sessionOf(order, tradedAt) };
  }

  #sessionOf({ instrument: { symbol }, extended }: LiveOrder, at: number): Pick<Match, "session"> {
    const session = extended ? this.#market.sessionAt(symbol, at) : undefined;
    return session === undefined ? {} : { session };
  }

  /**
   * Returns the volume of a level that the account's orders have taken since the market last traded at its price or
   * beyond it.
   */
  #takenAt(order: LiveOrder, price: bigint, at: number): bigint {
    const { book, instrument: { symbol }, isSell } = order;
    const taken = this.#levels.get(book)?.get(levelKey(order, price));
    if (taken === undefined) return 0n;
    const traded = this.#tapeOf(order).range(symbol, taken.at, at);
    const isOver = traded !== undefined && (isSell ? traded.low <= price : traded.high >= price);
    return isOver ? 0n : taken.quantity;
  }

  #takeLevel(
    order: LiveOrder,
    { price, quantity, at }: { price: bigint; quantity: bigint; at: number },
  ): void {
    let levels = this.#levels.get(order.book);
    if (levels === undefined) this.#levels.set(order.book, levels = new Map());
    levels.set(levelKey(order, price), { quantity: this.#takenAt(order, price, at) + quantity, at });
  }

  #takenOf(book: Book, key: string): bigint {
    return this.#taken.get(book)?.get(key) ?? 0n;
  }

  #addTaken(book: Book, key: string, quantity: bigint): void {
    let taken = this.#taken.get(book);
    if (taken === undefined) this.#taken.set(book, taken = new Map());
    taken.set(key, (taken.get(key) ?? 0n) + quantity);
  }
}

/**
 * Returns the limit of an order at the exchange. Without a limit, returns 0 for a sale; for a purchase, the price for
 * which cash was frozen.
 */
export function limitOf({ isSell, price, frozenPrice, furthest }: LiveOrder): bigint {
  if (price === 0n) return isSell ? 0n : frozenPrice;
  if (furthest === undefined) return price;
  return isSell === price < furthest ? furthest : price;
}

/** Returns the key of a level of the order book that an order takes. */
const levelKey = ({ instrument: { symbol }, isSell }: LiveOrder, price: bigint): string =>
  `${symbol} ${isSell ? "bids" : "asks"} ${price}`;

/** Returns whether a price is at or beyond the limit of an order. */
function reaches(order: LiveOrder, price: bigint): boolean {
  const limit = limitOf(order);
  return order.isSell ? price >= limit : price <= limit;
}
