/**
 * Describes in words what an order write would do, before a person decides.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import {
  add,
  compare,
  type Decimal,
  divide,
  isDecimal,
  isZero,
  multiply,
  priceText,
  round,
  subtract,
} from "../../../lib/decimal.ts";
import {
  ALGO_LIST,
  type ListPlace,
  parentLists,
  placeOf,
  readLists,
  type SeenOrder,
} from "../../../lib/desk/broker_lists.ts";
import { sellableOf } from "../../../lib/desk/guards/broker_figures.ts";
import { type Check, GuardRefusal } from "../../../lib/desk/guards/check.ts";
import {
  currencyOf,
  estimateFees,
  lastOf,
  limitPriceOf,
  most,
  multiplierOf,
  type Order,
  priceOf,
} from "../../../lib/desk/guards/order.ts";
import { isBuy } from "../../../lib/desk/terms.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { conditionalTypes } from "../../../lib/dictionaries/order_type.ts";
import { ProtocolError, RejectedError, UnmappedError } from "../../../lib/errors.ts";
import { listing } from "../../../lib/facts/listings.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import type { Host } from "../../terminal/host.ts";
import { fit, list, plain, wrapped } from "../../terminal/print.ts";

/** Parameters of any order write, with hsgate's names. They were checked against the operation. */
export type OrderParams = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined => typeof value === "string" ? value : undefined;
const marketIn = (params: OrderParams): Market | undefined => {
  const market = textOf(params.market);
  return market !== undefined && Market.has(market) ? market : undefined;
};
const priceIn = ({ price, orderType }: OrderParams): Decimal | undefined =>
  isDecimal(price) ? limitPriceOf({ price, orderType: textOf(orderType) ?? "limit" }) : undefined;

/** Returns one line that names an order write: `buy 100 of 00700.HK at a limit of 600.00 HKD`. */
export function headline(operation: Pick<AnyOperation, "name" | "order">, params: OrderParams): string {
  const { side, symbol, quantity, orderId, orderIds } = params;
  const market = marketIn(params);
  const currency = market === undefined ? "" : ` ${currencyOf(market, String(symbol))}`;
  const price = priceIn(params);
  const at = price === undefined ? "" : ` at ${price}${currency}`;
  if (operation.order === "place") {
    const name = listing(String(symbol))?.name;
    const what = `${symbol ?? "?"}${name === undefined ? "" : ` (${name})`}`;
    return [
      `${side ?? "place"} ${quantity ?? "?"} of ${what}` +
      (price === undefined ? " at any price" : ` at a limit of ${price}${currency}`),
      ...detailsOf(params),
    ].join(", ");
  }
  const ids = Array.isArray(orderIds) ? orderIds.join(", ") : textOf(orderId);
  if (operation.order === "amend") {
    const number = quantity === undefined ? "" : ` to ${quantity}`;
    return `amend order ${ids ?? "?"}${symbol === undefined ? "" : ` of ${symbol}`}${number}${at}`;
  }
  if (ids === undefined || ids === "") {
    return `cancel every order in market "${market ?? "?"}", except conditional and algorithmic orders`;
  }
  return `cancel order ${ids}${symbol === undefined ? "" : ` of ${symbol}`}`;
}

/** Returns the other terms of a new order, each in words: `order type limit`, `valid for 5 days`. */
function detailsOf(params: OrderParams): string[] {
  const { orderType, price, triggerValue, trailBy, validDays, tradingHours, displayQuantity, strategy } =
    params;
  const isIgnored = isDecimal(price) && !isZero(price) && priceIn(params) === undefined;
  const trigger = trailBy === undefined
    ? `triggered at ${triggerValue}`
    : `trailing by ${trailBy === "percentage" ? `${triggerValue}%` : `a ${trailBy} of ${triggerValue}`}`;
  return [
    ...orderType === undefined ? [] : [`order type ${orderType}`],
    ...isIgnored ? [`the market ignores the price ${price}`] : [],
    ...strategy === undefined ? [] : [`strategy ${strategy}`],
    ...triggerValue === undefined ? [] : [trigger],
    ...validDays === undefined ? [] : [`valid for ${validDays} ${Number(validDays) === 1 ? "day" : "days"}`],
    ...tradingHours === undefined ? [] : [`trading hours ${tradingHours}`],
    ...displayQuantity === undefined ? [] : [`${displayQuantity} shown to the market`],
  ];
}

/** What the words need besides the write. */
interface WordsOptions {
  client: Client;
  /** Name of the account. */
  account: string;
  /** The data that the guard rails check; `undefined` for a cancellation. */
  check: Check | undefined;
  /** The host that prints the words. */
  host: Host;
}

/**
 * Returns lines that say what an order write would do. For a new order they contain the quote, the value, estimated
 * fees and the cash.
 *
 * @throws {BrokerError} If the broker cannot be reached; then the order could not be sent either.
 */
export async function orderWords(
  operation: AnyOperation,
  params: OrderParams,
  { client, account, check, host }: WordsOptions,
): Promise<string[]> {
  const head = headline(operation, params);
  const first = `${head[0]!.toUpperCase()}${head.slice(1)}`;
  const rows: Row[] = [];
  if (operation.order !== "place") rows.push(...await changeRows(operation, params, { client, host }));
  // An amendment can also change only settings that have no value, such as those of a strategy.
  const hasTerms = "quantity" in params || "price" in params;
  const order = check === undefined || !hasTerms ? undefined : orderIn(check);
  if (check !== undefined && order !== undefined) {
    const terms = await termRows(check, order, { client, host });
    // The cash after an amendment is not known, because the broker has frozen some cash for the order as it is now.
    rows.push(
      ...operation.order === "place" ? terms : terms.filter(([name]) => namesOfAmended.includes(name)),
    );
  }
  return [
    ...wrapped(host, plain(first), 0),
    ...list(host, [...rows, ["account", account]]).map((line) => `  ${line}`),
  ];
}

/** Names of the rows that are shown for an amendment. */
const namesOfAmended: readonly string[] = ["quote", "value"];

type Row = readonly [name: string, value: string];
type Reading = Pick<WordsOptions, "client" | "host">;

/** Returns the order as it would be after the write; `undefined` if the guard rails do not know the amended order. */
function orderIn(check: Check): Order | undefined {
  try {
    return check.order;
  } catch (error) {
    if (error instanceof GuardRefusal) return undefined; // the guard rails report it next
    throw error;
  }
}

/** Returns the quote, the value, the fees and the cash of an order. */
async function termRows(check: Check, order: Order, { client, host }: Reading): Promise<Row[]> {
  const { market, symbol, quantity, price: own } = order;
  const [book, quoted, funds] = await Promise.all([
    answerOrWhy(check.readBook()),
    answerOrWhy(check.readQuote(order)),
    market === "futures" ? undefined : answerOrWhy(client.account.funds({ market }, { signal: host.signal })),
  ]);
  const rows: Row[] = [["quote", quoteText(check, { book, quoted })]];
  const { bid, ask } = book.answer ?? {};
  const last = priceOf({ price: quoted.answer?.quote?.lastPrice });
  const near = (isBuy(order.side) ? ask : bid) ?? last;
  // A trailing order follows the market, whatever its own price is.
  const follows = order.trail !== undefined;
  const price = own !== undefined && follows && last !== undefined ? most(own, last) : own ?? near;
  const multiplier = multiplierOf(market, symbol);
  if (multiplier === undefined || price === undefined) return rows;
  const currency = currencyOf(market, symbol);
  const value = multiply(multiply(price, quantity), multiplier);
  const about = own === undefined || follows ? "about " : "";
  rows.push(["value", `${about}${money(value)} ${currency}`]);
  const fees = estimateFees({
    market,
    symbol,
    isBuy: isBuy(order.side),
    price,
    quantity,
    date: check.today(order),
  });
  rows.push([
    "fees",
    fees === undefined
      ? "no estimate: hsgate does not know the fee rates"
      : `about ${fees} ${currency}, an estimate with an example broker's commission`,
  ]);
  if (market === "futures") {
    rows.push(["margin", "not estimated; the broker decides how many contracts the account may trade"]);
    return rows;
  }
  const available = funds?.answer?.available;
  if (available === undefined) {
    rows.push(["cash", `not known${funds?.why === undefined ? "" : ` (${funds.why})`}`]);
    return rows;
  }
  const after = await whyUnknownAfter(check, order) ?? cashAfter(order, { available, value, fees });
  rows.push(["cash", `${money(available)} ${currencyOf(market, "")} available${after}`]);
  return rows;
}

/** Returns the market of an order in words: `bid 549.50, ask 550.00, last 550.00; the limit is 0.91% above the last`. */
function quoteText(
  check: Check,
  { book, quoted }: {
    book: AnswerOrWhy<Awaited<ReturnType<Check["readBook"]>>>;
    quoted: AnswerOrWhy<Awaited<ReturnType<Check["readQuote"]>>>;
  },
): string {
  const { bid, ask } = book.answer ?? {};
  const { quote, session: shown } = quoted.answer ?? {};
  const session = check.sessionOf(check.order);
  // Without a last price, the guard rails compare with the previous close.
  const last = lastOf(quote);
  const name = last === undefined || priceOf({ price: quote?.lastPrice }) !== undefined
    ? "last"
    : "previous close";
  const ofRegular = quoted.answer !== undefined && shown !== session ? " of the regular hours" : "";
  const trouble = book.why ?? quoted.why;
  const priceOrNone = (value: Decimal | undefined) => value === undefined ? "none" : priceText(value);
  return [
    session === undefined ? "" : `${session}: `,
    `bid ${priceOrNone(bid)}, ask ${priceOrNone(ask)}, ${name} ${priceOrNone(last)}${ofRegular}`,
    away(priceIn(check.planned.params), last, name),
    trouble === undefined ? "" : ` (${trouble})`,
  ].join("");
}

/** Returns why the cash after an order is not known, after a semicolon; `undefined` if the order alone decides it. */
async function whyUnknownAfter(check: Check, order: Order): Promise<string | undefined> {
  const { market, symbol, side, quantity, isConditional } = order;
  const currency = currencyOf(market, symbol);
  if (currencyOf(market, "") !== currency) {
    return isBuy(side) ? `; the order needs ${currency}` : `; the order brings ${currency}`;
  }
  if (side === "short-close") {
    return "; the broker decides how much it frees when the short position is closed";
  }
  const isShort = side === "short-open" || side === "sell" && check.limits.allowShort &&
      compare(quantity, (await answerOrWhy(sellableOf(check))).answer ?? quantity) > 0;
  if (isShort) {
    return "; a short sale brings no cash that can be spent, and needs margin: the broker decides how much";
  }
  if (!isConditional) return undefined;
  return isBuy(side)
    ? "; the order needs cash only when it triggers"
    : "; the order brings cash only after it triggers";
}

/** Returns the cash after an order. A purchase freezes cash when it is placed; a sale brings cash when it is filled. */
function cashAfter(
  { side }: Order,
  { available, value, fees = "0" }: { available: Decimal; value: Decimal; fees: Decimal | undefined },
): string {
  if (!isBuy(side)) {
    const after = subtract(add(available, value), fees);
    return `, about ${money(after)} after the whole order is filled`;
  }
  const after = subtract(available, add(value, fees));
  const short = compare(after, "0") < 0 ? "; the order needs more cash than is available" : "";
  return `, about ${money(after)} after the order${short}`;
}

/** Returns the orders that an amendment or a cancellation is for, as the broker's lists show them. */
async function changeRows(
  operation: AnyOperation,
  params: OrderParams,
  { client, host }: Reading,
): Promise<Row[]> {
  const { orderId, childOrderId, orderIds } = params;
  const ids = Array.isArray(orderIds) && orderIds.length > 0 ? orderIds : [childOrderId ?? orderId];
  const isAll = ids.every((id) => id === undefined);
  const place = placeOf(operation, params);
  // A cancellation of all orders does not cancel conditional and algorithmic orders, so the words name them.
  const parents = isAll ? parentLists : [];
  const reading = await answerOrWhy(
    readLists(client, { ...place, lists: [...place.lists, ...parents], optional: parents }, {
      now: host.now,
      signal: host.signal,
    }),
  );
  if (reading.answer === undefined) return [["orders", `not known (${reading.why})`]];
  const orders = [...reading.answer.orders.values()];
  const shown = orders.filter((order) => isAll ? isOpen(order) : ids.includes(order.orderId));
  const isStaying = ({ lists }: SeenOrder) => lists.some((each) => parents.includes(each));
  const rows = shown.filter((order) => !isStaying(order)).map((order): Row => [
    order.orderId,
    describeOrder(order),
  ]);
  if (rows.length === 0) {
    rows.push(["orders", isAll ? "none is open" : "the lists of today do not show it"]);
  }
  const staying = shown.filter(isStaying).map((order): Row => [
    "not cancelled",
    `${isAlgo(order) ? "algorithmic" : "conditional"} order ${order.orderId}: ${describeOrder(order)}`,
  ]);
  return [...rows, ...staying];
}

/** Returns whether an order is algorithmic. */
export const isAlgo = ({ lists }: Pick<SeenOrder, "lists">): boolean => lists.includes(ALGO_LIST);

/** Returns whether the broker may still fill or cancel an order, or does not show its state. */
export function isOpen({ state }: SeenOrder): boolean {
  return state === undefined || ["acknowledged", "working", "part-filled"].includes(state);
}

/** Maximum width of a text of the broker above a question. */
const MOST_ASIDE = 200;

/**
 * Returns a text of the broker as one short line, with a single space for each run of blanks. A long text, or a text
 * with many blanks, could wrap above a question. Then a part of the text could look like a line of hsgate, such as
 * another order or an answer.
 */
const shortly = (text: string, width = MOST_ASIDE): string => fit(plain(text).replaceAll(/\s+/g, " "), width);

/** Returns an order of the broker's lists in words: `buy 100 00700.HK at 550.00, working, 0 filled`. */
export function describeOrder({ side, quantity, symbol, price, state, filled }: SeenOrder): string {
  const at = price === undefined || isZero(price) ? "" : ` at ${price}`;
  return shortly(
    `${shortly(side ?? "?", 20)} ${quantity ?? "?"} ${shortly(symbol ?? "?", 40)}${at}, ${
      state ?? "state unknown"
    }, ${filled} filled`,
  );
}

/**
 * Finds an order in today's lists of the broker, including the lists of conditional and algorithmic orders. Resolves to
 * the order and its market; `undefined` if no list shows the order.
 */
export async function findOrder(
  client: Client,
  orderId: string,
  { markets, host }: { markets: readonly Market[]; host: Host },
): Promise<{ market: Market; order: SeenOrder } | undefined> {
  const operation = findOperation("orders.place")!; // the catalogue has this operation
  for (const market of markets) {
    const places: readonly ListPlace[] = [
      placeOf(operation, { market }),
      placeOf(operation, { market, orderType: conditionalTypes[0] }),
      { market, lists: [ALGO_LIST], optional: [ALGO_LIST] },
    ];
    for (const place of places) {
      const { orders } = await readLists(client, place, { now: host.now, signal: host.signal });
      const order = orders.get(orderId);
      if (order !== undefined) return { market, order };
    }
  }
  return undefined;
}

/** Returns how far a price is from the last price: `; the limit is 2.50% above the last`. */
function away(price: Decimal | undefined, last: Decimal | undefined, name: string): string {
  if (price === undefined || last === undefined || compare(last, "0") <= 0) return "";
  const percent = divide(multiply(subtract(price, last), "100"), last, 2, "half-up");
  if (isZero(percent)) return "";
  const isBelow = percent.startsWith("-");
  return `; the limit is ${isBelow ? percent.slice(1) : percent}% ${isBelow ? "below" : "above"} the ${name}`;
}

const money = (value: Decimal) => round(value, 2, "half-up");

/** An answer of the broker, or why there is none. */
interface AnswerOrWhy<T> {
  answer?: T;
  why?: string;
}

/**
 * Resolves to the answer, or to the reason if the broker rejects the request. Throws any error that would also stop the
 * order.
 */
async function answerOrWhy<T>(reading: Promise<T>): Promise<AnswerOrWhy<T>> {
  try {
    return { answer: await reading };
  } catch (error) {
    if (
      error instanceof RejectedError || error instanceof UnmappedError || error instanceof ProtocolError
    ) {
      if (error.name !== "LoginExpiredError") return { why: shortly(error.message) };
    }
    throw error;
  }
}
