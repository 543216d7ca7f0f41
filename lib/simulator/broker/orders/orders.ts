/**
 * Places, amends and cancels ordinary orders, and fills and expires them.
 *
 * @module
 */
import type { Decimal } from "../../../decimal.ts";
import type { Market } from "../../../dictionaries/market.ts";
import type { OrderStatus } from "../../../dictionaries/order_status.ts";
import { type OrderType, unpricedTypes } from "../../../dictionaries/order_type.ts";
import type { Side } from "../../../dictionaries/side.ts";
import type { Order } from "../../../operations/orders.ts";
import { Refusal } from "../../contract.ts";
import type { Instrument } from "../../market/mod.ts";
import {
  cancellableAt,
  checkAuction,
  checkCarried,
  checkChange,
  checkHalt,
  checkHours,
  checkPause,
  checkPrice,
  checkQuantity,
  checkQuotation,
  checkSpecial,
  findInstrument,
  invalid,
  refused,
} from "./checks.ts";
import {
  type Amendment,
  filledOf,
  isOpen,
  leftOf,
  type LiveFill,
  type LiveOrder,
  makeReady,
  openStatus,
  reachesExchange,
} from "./live_order.ts";
import { changeHolding } from "../past/make_past.ts";
import type { Match } from "../matching/matching.ts";
import { amountOf, least, readPrice } from "../account/money.ts";
import { type Book, bookRules } from "../sessions.ts";
import { changeShort, checkKind, checkShort, directionOf, isSale, marginPriceOf } from "../account/shorts.ts";
import type { State } from "../state.ts";

/** Terms of a new order. */
export interface OrderTerms {
  market: Market;
  symbol: string;
  side: Side;
  orderType: OrderType;
  quantity: Decimal;
  /** Absent or zero if any price is acceptable. */
  price?: Decimal;
  extended?: boolean;
  venue?: Order["venue"];
}

/** Highest price of a purchase without a limit, as a multiple of the last price. */
const UNPRICED_ROOM = { numerator: 21n, denominator: 20n };

/**
 * Places an order and returns it. An order above the single-order maximum is split into several orders; the first of
 * them is returned.
 */
export function placeOrder(state: State, terms: OrderTerms): LiveOrder {
  const { market, symbol, side, orderType } = terms;
  const instrument = findInstrument(state, market, symbol);
  const { isSell, isShort } = directionOf(state, instrument, side);
  const { day } = state.today[market];
  // Without a limit, an order trades in the regular hours only.
  const extended = terms.extended === true && tradesExtended(instrument) &&
    !unpricedTypes.includes(orderType);
  checkHours(state, day, { market, orderType, extended });
  checkHalt(state, symbol);
  checkKind(state, market, symbol, isShort);
  const sellable = state.sellable(market, symbol);
  const quantity = checkQuantity(terms.quantity, instrument, { isSell, orderType, sellable });
  const price = checkedPrice(state, instrument, terms);
  checkAuction(state, { book: market, day, instrument, price });
  checkSpecial(state, { book: market, day, instrument, isSell, orderType, price });
  checkPause(state, { instrument, isSell, orderType, price });
  checkQuotation(state, { book: market, day, instrument, isSell, orderType, price });
  const frozenPrice = frozenPriceOf(state, instrument, { price, isSell, isShort });
  const draft = { book: market, instrument, multiplier: BigInt(instrument.multiplier), day };
  if (isShort) {
    checkShort(state, { ...draft, isSell, orderType, price, frozenPrice, quantity });
  } else {
    const cost = isSell ? 0n : state.costOf(draft, frozenPrice, quantity);
    checkMeans(state, draft, { isSell, quantity, cost, sellable });
  }

  const most = BigInt(state.mostLots[market] * instrument.lotSize);
  const placed: LiveOrder[] = [];
  for (let left = quantity; left > 0n; left -= least(left, most)) {
    placed.push(addOrder(state, {
      ...draft,
      isSell,
      ...isShort && { isShort },
      orderType,
      price,
      frozenPrice,
      quantity: least(left, most),
      extended,
      ...(terms.venue === undefined ? {} : { venue: terms.venue }),
    }));
  }
  const [first] = placed;
  if (first === undefined) throw invalid(`quantity "${terms.quantity}" of "${symbol}" is not above zero`);
  return first;
}

/** Returns whether an instrument trades before the open and after the close: stocks of the United States do. */
export function tradesExtended({ market, kind }: Instrument): boolean {
  return market === "us" && kind !== "option";
}

function checkedPrice(
  state: State,
  instrument: Instrument,
  { orderType, price = "0" }: Pick<OrderTerms, "orderType" | "price">,
): bigint {
  const isZero = !/[1-9]/.test(price);
  if (isZero && unpricedTypes.includes(orderType)) return 0n;
  const checked = checkPrice(state, instrument, price);
  // The price of a market order is checked but not used.
  return unpricedTypes.includes(orderType) ? 0n : checked;
}

function frozenPriceOf(
  state: State,
  { symbol }: Instrument,
  { price, isSell, isShort }: { price: bigint; isSell: boolean; isShort: boolean },
): bigint {
  if (price !== 0n) return isSell && isShort ? marginPriceOf(state, symbol, price) : price;
  return state.tape.price(symbol, state.now) * UNPRICED_ROOM.numerator / UNPRICED_ROOM.denominator;
}

type Draft = Pick<LiveOrder, "book" | "instrument" | "multiplier" | "day">;

function checkMeans(
  state: State,
  draft: Draft,
  { isSell, quantity, cost, sellable, except }: {
    isSell: boolean;
    quantity: bigint;
    /** Cash that a purchase needs, cents. */
    cost: bigint;
    sellable: bigint;
    except?: LiveOrder;
  },
): void {
  const { instrument: { symbol }, book } = draft;
  if (isSell) {
    if (quantity > sellable) {
      throw refused(`insufficient holdings of "${symbol}": the sellable quantity is ${sellable}`);
    }
    return;
  }
  if (cost > state.available(bookRules[book].currency, except)) {
    throw refused("insufficient funds for this order and its fees");
  }
}

/** Adds a checked order and notifies the listeners. */
export function addOrder(
  state: State,
  init: Omit<LiveOrder, "id" | "placedAt" | "status" | "fills" | "slices" | "readyAt" | "scannedUntil">,
  status: OrderStatus = "accepted",
): LiveOrder {
  const order: LiveOrder = {
    ...init,
    id: state.nextNumber(init.book),
    placedAt: state.now,
    status,
    fills: [],
    slices: [],
    readyAt: 0,
    scannedUntil: 0,
  };
  makeReady(order, state.now, state.seed);
  state.today[init.book].orders.push(order);
  state.byId.set(order.id, order);
  state.push(order);
  return order;
}

/**
 * Records a rejected order that no call placed, such as the order of a triggered conditional order. No caller waits for
 * an answer.
 */
export function addRejected(state: State, terms: OrderTerms, reason: Refusal): LiveOrder | undefined {
  const instrument = state.market.instrument(terms.symbol);
  if (instrument === undefined) return undefined;
  return addOrder(state, {
    book: terms.market,
    instrument,
    multiplier: BigInt(instrument.multiplier),
    day: state.today[terms.market].day,
    isSell: isSale(terms.side),
    ...terms.side.startsWith("short-") && { isShort: true },
    orderType: terms.orderType,
    price: readPrice(terms.price ?? "0"),
    frozenPrice: 0n,
    quantity: BigInt(terms.quantity.split(".")[0] ?? "0"),
    extended: terms.extended ?? false,
    remark: reason.text,
  }, "rejected");
}

/** Returns an open order. @throws {Refusal} If there is no such order, it has ended, or its cancellation is pending. */
export function findOpen(state: State, id: string, mayBeIn: (book: Book) => boolean): LiveOrder {
  const order = state.byId.get(id);
  if (order === undefined || !mayBeIn(order.book)) throw invalid(`unknown order number "${id}"`);
  if (!isOpen(order) || order.cancelAt !== undefined) {
    throw refused(`order "${id}" is ${order.status} and can no longer be changed`);
  }
  return order;
}

/**
 * Cancels the rest of an order on request. If the market fills a part before the request reaches the exchange, the
 * cancellation is pending until then, and the fill counts.
 */
export function requestCancel(state: State, order: LiveOrder): void {
  const at = reachesExchange(state.now);
  // An amendment on its way arrives first.
  if (order.amendment === undefined && !state.matching.willFill(order, at)) return cancelOrder(state, order);
  order.cancelAt = at;
  order.status = openStatus(order);
  state.push(order);
}

/**
 * Cancels the rest of an order on request, as soon as the exchange accepts a cancellation. If the exchange accepts none
 * on this day, the cancellation is pending until the order is filled or expires.
 */
export function requestCancelSoon(state: State, order: LiveOrder): void {
  const from = cancellableAt(state, order);
  if (from === state.now) return requestCancel(state, order);
  order.cancelAt = from === undefined ? Infinity : reachesExchange(from);
  order.status = openStatus(order);
  state.push(order);
}

/** Cancels the rest of an order. */
export function cancelOrder(state: State, order: LiveOrder, remark?: string): void {
  order.status = order.fills.length > 0 ? "part-filled-cancelled" : "cancelled";
  if (remark !== undefined) order.remark = remark;
  delete order.cancelAt;
  delete order.amendment;
  delete order.next;
  state.push(order);
}

/** Ends an order that the exchange rejects; a part that is filled stays filled. */
export function rejectOrder(state: State, order: LiveOrder, remark: string): void {
  if (order.fills.length > 0) return cancelOrder(state, order, remark);
  order.status = "rejected";
  order.remark = remark;
  delete order.cancelAt;
  delete order.amendment;
  delete order.next;
  state.push(order);
}

/** Amends price and quantity. The part of the quantity above the single-order maximum becomes further orders. */
export function amendOrder(
  state: State,
  order: LiveOrder,
  terms: { quantity: Decimal; price: Decimal },
): void {
  const { book, instrument, isSell, isShort = false, orderType } = order;
  checkUnamended(order);
  if (book === "shanghai" || book === "shenzhen") throw refused("orders of Stock Connect cannot be amended");
  if (book === "futures") throw invalid(`"${order.id}" is a futures order`);
  if (orderType === "special-limit") throw refused("special limit orders cannot be amended");
  checkChange(state, order, "amended");
  checkCarried(state, order);
  checkHalt(state, instrument.symbol);
  if (book !== "hk") checkHours(state, order.day, { market: book, orderType, extended: order.extended });
  const sellable = state.sellable(book, instrument.symbol, order);
  const quantity = checkQuantity(terms.quantity, instrument, { isSell, orderType, sellable });
  const price = checkedPrice(state, instrument, { orderType, price: terms.price });
  checkAuction(state, { ...order, price });
  checkPause(state, { instrument, isSell, orderType, price });
  checkQuotation(state, { ...order, price });
  const filled = filledOf(order);
  if (quantity <= filled) throw refused(`the filled quantity of order "${order.id}" is already ${filled}`);
  const frozenPrice = frozenPriceOf(state, instrument, { price, isSell, isShort });
  const most = BigInt(state.mostLots[book] * instrument.lotSize);
  const own = least(quantity, most);
  if (isShort) {
    checkShort(state, { ...order, price, frozenPrice, quantity: quantity - filled }, order);
  } else {
    const cost = isSell
      ? 0n
      : state.costOf(order, frozenPrice, own - filled) + state.costOf(order, frozenPrice, quantity - own);
    checkMeans(state, order, { isSell, quantity: quantity - filled, cost, sellable, except: order });
  }

  requestAmend(state, order, { quantity: own, further: quantity - own, price, frozenPrice });
}

/** Rejects an amendment of an order whose last amendment has not reached the exchange. */
export function checkUnamended({ id, amendment }: LiveOrder): void {
  if (amendment === undefined) return;
  throw refused(`order "${id}" cannot be amended now: its last amendment has not reached the exchange`);
}

/**
 * Sends a checked amendment. If the market fills a part of the order before the amendment reaches the exchange, the
 * amendment is pending until then, and the fill counts.
 *
 * @throws {Refusal} If the cash does not suffice for both: that fill, and the rest after the amendment.
 */
export function requestAmend(state: State, order: LiveOrder, terms: Omit<Amendment, "sentAt">): void {
  const amendment = { ...terms, sentAt: state.now };
  const original = { quantity: order.quantity, price: order.price };
  if (!state.matching.willFill(order, reachesExchange(state.now))) {
    applyAmendment(state, order, amendment);
    state.push(order, { original });
    return addFurther(state, order, amendment);
  }
  if (order.book !== "futures") {
    const needed = state.heldBy({ ...order, amendment }).order;
    if (needed > 0n && needed > state.available(bookRules[order.book].currency, order)) {
      throw refused("insufficient funds for this order and its fees");
    }
  }
  order.amendment = amendment;
  order.status = openStatus(order);
  state.push(order, { original });
}

/** Applies an amendment that reaches the exchange. If the new quantity is filled already, the order ends as filled. */
export function finishAmend(state: State, order: LiveOrder, amendment: Amendment): void {
  const filled = filledOf(order);
  delete order.amendment;
  if (amendment.quantity <= filled) {
    Object.assign(order, { quantity: filled, price: amendment.price, status: "filled" });
    delete order.cancelAt;
    delete order.next;
    return state.push(order);
  }
  applyAmendment(state, order, amendment);
  order.status = openStatus(order);
  state.push(order);
  addFurther(state, order, amendment);
}

/**
 * Gives an order its new terms and its place in the queue. An order with the same price and no larger quantity keeps
 * its place; any other change sends the order to the end of the queue.
 */
function applyAmendment(
  state: State,
  order: LiveOrder,
  { sentAt, quantity, price, frozenPrice, futures }: Amendment,
): void {
  const keeps = price === order.price && quantity <= order.quantity && order.ahead !== undefined;
  Object.assign(order, { quantity, price, frozenPrice });
  if (order.futures !== undefined) Object.assign(order.futures, futures);
  if (keeps) order.slices = [leftOf(order)];
  else makeReady(order, sentAt, state.seed);
}

/** Adds orders for the quantity of an amendment above the single-order maximum. */
function addFurther(state: State, order: LiveOrder, { further, price, frozenPrice }: Amendment): void {
  const { book, instrument, multiplier, day, isSell, isShort = false, orderType, extended } = order;
  const most = BigInt(state.mostLots[book] * instrument.lotSize);
  for (let left = further; left > 0n; left -= least(left, most)) {
    addOrder(state, {
      book,
      instrument,
      multiplier,
      day,
      isSell,
      ...isShort && { isShort },
      orderType,
      price,
      frozenPrice,
      quantity: least(left, most),
      extended,
    });
  }
}

/** Records what the market gives an order as a fill of the order, and returns the fill. */
export function fillOrder(state: State, order: LiveOrder, { price, quantity, ...why }: Match): LiveFill {
  const today = state.today[order.book];
  const id = `${order.id}-${order.fills.length + 1}`;
  const fill: LiveFill = { id, price, quantity, at: state.now, ...why };
  let used = quantity;
  order.slices = order.slices.map((part) => {
    const taken = least(part, used);
    used -= taken;
    return part - taken;
  }).filter((part) => part > 0n);
  order.fills.push(fill);
  const isFilled = leftOf(order) === 0n;
  // An amendment of an order that is filled has no effect.
  if (isFilled) delete order.amendment;
  order.status = isFilled ? "filled" : openStatus(order);
  today.fills.push({ order, fill });
  return fill;
}

/** Records a fill in the holdings and the cash, except for futures. Clearing charges the fees later. */
export function settleFill(state: State, order: LiveOrder, { price, quantity }: LiveFill): void {
  const { book, isSell, isShort = false, instrument: { symbol }, multiplier } = order;
  if (book === "futures") return;
  const amount = amountOf(price, quantity, multiplier);
  state.cash[bookRules[book].currency] += isSell ? amount : -amount;
  const change = isShort ? changeShort : changeHolding;
  change(state.holdings[book], symbol, isSell ? -quantity : quantity, amount);
}

/**
 * Cancels the open orders of a book, except those for which `lasts` returns true and futures orders that are valid on
 * the date of the book's next day session.
 */
export function expireOrders(
  state: State,
  book: Book,
  { nextDate, lasts }: { nextDate: string; lasts: (order: LiveOrder) => boolean },
): void {
  for (const order of state.openOrders(book)) {
    if (lasts(order) || isValidOn(order, nextDate)) continue;
    cancelOrder(state, order, "expired at the end of the day");
  }
}

/** Returns whether a futures order with a longer validity than a day is still valid on a date. */
function isValidOn({ futures, instrument: { future } }: LiveOrder, date: string): boolean {
  if (futures === undefined) return false;
  const last = futures.validity === "until-expiry"
    ? future?.lastTradingDay
    : futures.validity === "until-date"
    ? futures.validUntil
    : undefined;
  return last !== undefined && last >= date;
}
