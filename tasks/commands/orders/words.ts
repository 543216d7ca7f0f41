/**
 * Describes in words what an order write would do, before a person decides.
 *
 * @module
 */
import { dateAt } from "../../../lib/calendars/mod.ts";
import type { Client } from "../../../lib/client/client.ts";
import { securityOf } from "../../../lib/client/security.ts";
import type { Security } from "../../../lib/operations/public_types.ts";
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
import { placeOf, readLists, type SeenOrder, zoneOfMarket } from "../../../lib/desk/broker_lists.ts";
import {
  currencyOf,
  estimateFees,
  isConditional,
  limitPriceOf,
  most,
  multiplierOf,
  ownPriceOf,
} from "../../../lib/desk/guards/order.ts";
import { futureContract } from "../../../lib/facts/contracts.ts";
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
  if (ids === undefined || ids === "") return `cancel every order in market "${market ?? "?"}"`;
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

/** The client that reads the market and the account, the account's name, and the host that prints the words. */
interface WordsOptions {
  client: Client;
  account: string;
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
  { client, account, host }: WordsOptions,
): Promise<string[]> {
  const head = headline(operation, params);
  const first = `${head[0]!.toUpperCase()}${head.slice(1)}`;
  const rows = operation.order === "place"
    ? await placeRows(params, { client, host })
    : await changeRows(operation, params, { client, host });
  if (operation.order === "amend" && params.symbol !== undefined) {
    // The cash after the amendment is not known, because the broker has frozen some cash for the order as it is now.
    const terms = await placeRows(params, { client, host });
    rows.push(...terms.filter(([name]) => name === "quote" || name === "value"));
  }
  return [
    ...wrapped(host, plain(first), 0),
    ...list(host, [...rows, ["account", account]]).map((line) => `  ${line}`),
  ];
}

type Row = readonly [name: string, value: string];
type Reading = Pick<WordsOptions, "client" | "host">;

async function placeRows(params: OrderParams, { client, host }: Reading): Promise<Row[]> {
  const { signal } = host;
  const market = marketIn(params);
  const symbol = String(params.symbol);
  const security = securityIn(symbol);
  const [book, quotes, funds] = await Promise.all([
    security && answerOrWhy(client.quotes.orderBook({ security }, { signal })),
    security && answerOrWhy(client.quotes.latest({ securities: [security] }, { signal })),
    market && answerOrWhy(client.account.funds({ market }, { signal })),
  ]);
  const bid = book?.answer?.bids[0]?.price;
  const ask = book?.answer?.asks[0]?.price;
  const last = quotes?.answer?.[0]?.lastPrice;
  const price = priceIn(params);
  const isBuy = params.side === "buy" || params.side === "short-close";
  const near = (isBuy ? ask : bid) ?? last;
  const rows: Row[] = [];
  const trouble = book?.why ?? quotes?.why;
  const priceOrNone = (value: Decimal | undefined) => value === undefined ? "none" : priceText(value);
  rows.push([
    "quote",
    `bid ${priceOrNone(bid)}, ask ${priceOrNone(ask)}, last ${priceOrNone(last)}${away(price, last)}${
      trouble === undefined ? "" : ` (${trouble})`
    }`,
  ]);
  const own = ownPriceOf(params);
  // A trailing order follows the market, whatever its own price is.
  const follows = params.trailBy !== undefined;
  const each = own !== undefined && follows && last !== undefined ? most(own, last) : own ?? near;
  const quantity = textOf(params.quantity);
  const place = market ?? (futureContract(symbol) === undefined ? undefined : "futures");
  if (place === undefined || each === undefined || quantity === undefined) return rows;
  const currency = currencyOf(place, symbol);
  const value = multiply(multiply(each, quantity), multiplierOf(place, symbol) ?? "1");
  const about = own === undefined || follows ? "about " : "";
  rows.push(["value", `${about}${money(value)} ${currency}`]);
  const date = dateAt(host.now(), zoneOfMarket(market));
  const fees = estimateFees({ market: place, symbol, isBuy, price: each, quantity, date });
  rows.push([
    "fees",
    fees === undefined
      ? "no estimate: hsgate does not know the fee rates"
      : `about ${fees} ${currency}, an estimate with an example broker's commission`,
  ]);
  if (market === undefined) {
    rows.push(["margin", "not estimated; the broker decides how many contracts the account may trade"]);
    return rows;
  }
  const available = funds?.answer?.available;
  if (available === undefined) {
    rows.push(["cash", `not known${funds?.why === undefined ? "" : ` (${funds.why})`}`]);
    return rows;
  }
  const fundsCurrency = currencyOf(market, "");
  if (fundsCurrency !== currency || isBuy && isConditional(textOf(params.orderType))) {
    const why = fundsCurrency !== currency
      ? `the order needs ${currency}`
      : "the order needs cash only when it triggers";
    rows.push(["cash", `${money(available)} ${fundsCurrency} available; ${why}`]);
    return rows;
  }
  const after = isBuy
    ? subtract(available, add(value, fees ?? "0"))
    : subtract(add(available, value), fees ?? "0");
  const short = compare(after, "0") < 0 ? "; the order needs more cash than is available" : "";
  rows.push([
    "cash",
    `${money(available)} ${currency} available, about ${money(after)} after the order${short}`,
  ]);
  return rows;
}

/** Returns the orders that an amendment or a cancellation is for, as the broker's lists show them. */
async function changeRows(
  operation: AnyOperation,
  params: OrderParams,
  { client, host }: Reading,
): Promise<Row[]> {
  const reading = await answerOrWhy(readLists(client, placeOf(operation, params), {
    now: host.now,
    signal: host.signal,
  }));
  if (reading.answer === undefined) return [["orders", `not known (${reading.why})`]];
  const { orderId, childOrderId, orderIds } = params;
  const ids = Array.isArray(orderIds) && orderIds.length > 0 ? orderIds : [childOrderId ?? orderId];
  const isAll = ids.every((id) => id === undefined);
  const orders = [...reading.answer.orders.values()];
  const rows = orders.filter((order) => isAll ? isOpen(order) : ids.includes(order.orderId)).map((
    order,
  ): Row => [
    order.orderId,
    describeOrder(order),
  ]);
  if (rows.length > 0) return rows;
  return [["orders", isAll ? "none is open" : "the lists of today do not show it"]];
}

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
 * Finds an order in today's lists of the broker, including the lists of conditional orders. Resolves to the order and
 * its market; `undefined` if no list shows the order.
 */
export async function findOrder(
  client: Client,
  orderId: string,
  { markets, host }: { markets: readonly Market[]; host: Host },
): Promise<{ market: Market; order: SeenOrder } | undefined> {
  const operation = findOperation("orders.place")!; // the catalogue has this operation
  for (const market of markets) {
    for (const orderType of [undefined, conditionalTypes[0]]) {
      const { orders } = await readLists(client, placeOf(operation, { market, orderType }), {
        now: host.now,
        signal: host.signal,
      });
      const order = orders.get(orderId);
      if (order !== undefined) return { market, order };
    }
  }
  return undefined;
}

function securityIn(symbol: string): Security | undefined {
  try {
    return securityOf(symbol);
  } catch (error) {
    if (error instanceof TypeError) return undefined; // an unknown code: the broker decides whether it is valid
    throw error;
  }
}

/** Returns how far a price is from the last price: `; the limit is 2.50% above the last`. */
function away(price: Decimal | undefined, last: Decimal | undefined): string {
  if (price === undefined || last === undefined || compare(last, "0") <= 0) return "";
  const percent = divide(multiply(subtract(price, last), "100"), last, 2, "half-up");
  if (isZero(percent)) return "";
  const isBelow = percent.startsWith("-");
  return `; the limit is ${isBelow ? percent.slice(1) : percent}% ${isBelow ? "below" : "above"} the last`;
}

const money = (value: Decimal) => round(value, 2, "half-up");

/**
 * Resolves to the answer, or to the reason if the broker rejects the request. Throws any error that would also stop the
 * order.
 */
async function answerOrWhy<T>(reading: Promise<T>): Promise<{ answer?: T; why?: string }> {
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
