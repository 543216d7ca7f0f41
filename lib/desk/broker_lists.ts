/**
 * Reads the broker's lists of orders and fills. Returns the orders of all lists in the same form.
 *
 * @module
 */
import { addDays, builtInCalendars, dateAt, type Mic } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import { add, compare, type Decimal, isDecimal } from "../decimal.ts";
import { findOperation } from "../operations/mod.ts";
import { answerFields, type AnyOperation } from "../operations/operation.ts";
import { laterLists, provingLists } from "../operations/proof.ts";
import type { CallOptions } from "../transports/transport.ts";
import { isRefusal } from "../errors.ts";
import { isDate } from "../time.ts";

/** State of an order in the broker's lists. */
export type SeenState =
  | "acknowledged"
  | "working"
  | "part-filled"
  | "filled"
  | "cancelled"
  | "rejected"
  | "expired"
  /** A conditional order has placed its order, which may or may not fill. */
  | "triggered";

/** The broker's state codes of ordinary, conditional and algorithmic orders. Any other code proves nothing. */
const stateOfStatus: Readonly<Record<string, SeenState>> = {
  "not-submitted": "acknowledged",
  waiting: "acknowledged",
  "waiting-review": "acknowledged",
  "waiting-confirmation": "acknowledged",
  "waiting-to-submit": "acknowledged",
  pending: "working",
  paused: "working",
  accepted: "working",
  modified: "working",
  "cancel-pending": "working",
  "amend-pending": "working",
  "amendment-pending": "working",
  "part-filled": "part-filled",
  "part-filled-cancel-pending": "part-filled",
  "part-filled-amend-pending": "part-filled",
  filled: "filled",
  triggered: "triggered",
  "part-filled-cancelled": "cancelled",
  cancelled: "cancelled",
  "pre-order-cancelled": "cancelled",
  deleted: "cancelled",
  recalled: "cancelled",
  rejected: "rejected",
  "pre-check-rejected": "rejected",
  "review-failed": "rejected",
  error: "rejected",
  invalidated: "rejected",
  "invalidated-by-ex-date": "rejected",
  expired: "expired",
  "done-for-the-day": "expired",
};

/** The broker's states of an order whose cancellation is not finished. */
const cancelPendingStatuses: readonly string[] = ["cancel-pending", "part-filled-cancel-pending"];

/** States of orders that have ended at the broker. */
export const endedStates: readonly SeenState[] = ["filled", "cancelled", "rejected", "expired", "triggered"];

/** An order as the broker's lists show it. */
export interface SeenOrder {
  /** The broker's order number. */
  orderId: string;
  /** The lists that contain it. */
  lists: readonly string[];
  /** Listing code. */
  symbol: string | undefined;
  /** Side of the order. */
  side: string | undefined;
  /** Type of the order. */
  orderType: string | undefined;
  /** Limit price. */
  price: Decimal | undefined;
  /** Trigger price of a conditional order, or its trailing distance. */
  triggerValue: Decimal | undefined;
  /** Unit of the trailing distance of a conditional order. */
  trailBy: string | undefined;
  /** Quantity ordered; absent if the order appears only in the lists of fills. */
  quantity: Decimal | undefined;
  /** Quantity filled so far. */
  filled: Decimal;
  /** Absent if the order appears only in the lists of fills, or if its state code is unknown. */
  state: SeenState | undefined;
  /** Whether a cancellation of the order is in progress at the broker. */
  isCancelPending?: boolean;
  /** When the order was placed: local date and time of the exchange; absent if the lists do not contain it. */
  placedAt: string | undefined;
  /**
   * The broker's date of the day on which the order was placed, `yyyy-MM-dd`. If only lists of fills contain the order:
   * the day of its first fill.
   */
  day: string | undefined;
  /** The broker's text about why the order ended, if there is one. */
  remark: string | undefined;
}

/**
 * Returns a code in a form that can be compared: in capitals, without the market's suffix, and with five digits for
 * Hong Kong. The broker itself writes a code in more than one form, such as `AAPL` and `AAPL.US`.
 */
export function bareCode(symbol: string): string {
  const code = symbol.toUpperCase().replace(/\.(HK|US|SH|SZ)$/, "");
  return /^\d{1,4}$/.test(code) ? code.padStart(5, "0") : code;
}

/** Returns whether two codes name the same listing of a market. */
export const isSameSymbol = (one: string | undefined, other: string | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && bareCode(one) === bareCode(other));

/** The result of one reading of the broker's lists. Every list in `lists` was read to its end. */
export interface ListReading {
  /** When the reading began, by this machine's clock, Unix milliseconds. */
  beganAt: number;
  /** When the reading ended, by this machine's clock, Unix milliseconds. */
  endedAt: number;
  /** The broker's clock minus this machine's, milliseconds; absent if no answer contained the broker's time. */
  aheadMs: number | undefined;
  /** Every order, by its id. */
  orders: ReadonlyMap<string, SeenOrder>;
  /** The lists that were read. */
  lists: readonly string[];
}

/** A part of the account that has its own lists: a market and a family of operations. */
export interface ListPlace {
  /** The market in the write's parameters; `undefined` if they contain none. */
  readonly market: string | undefined;
  readonly lists: readonly string[];
  /** Those of the lists to leave out if the transport or the broker does not offer them. @default none */
  readonly optional?: readonly string[];
}

/** Returns the lists of a place that are not optional. */
export const neededLists = ({ lists, optional = [] }: Omit<ListPlace, "market">): readonly string[] =>
  lists.filter((list) => !optional.includes(list));

/** Returns which lists show the orders of a write, and for which market to read them. */
export function placeOf(operation: Pick<AnyOperation, "provenBy">, params: unknown): ListPlace {
  const { market } = Object(params) as { market?: unknown };
  return {
    market: typeof market === "string" ? market : undefined,
    // Leave out a list whose rows are not orders. For example, the list of an algorithmic order's child orders has only
    // their ids, and needs other parameters. The remaining lists show the same orders.
    lists: provingLists(operation, params).filter((name) => {
      const list = findOperation(name);
      return list !== undefined && "orderId" in answerFields(list);
    }),
  };
}

/** Lists that show the orders which conditional and algorithmic orders have placed. */
const childLists = ["orders.today", "fills.today"];
const isFillsList = (name: string) => name.startsWith("fills.") || name.startsWith("futures.fills");

/** Returns whether only lists of fills show an order. */
export const isOnlyInFills = ({ lists }: SeenOrder): boolean => lists.every(isFillsList);

/** The list of algorithmic orders. */
export const ALGO_LIST = "algo.list";
/** Lists of conditional and algorithmic orders, which place other orders. */
export const parentLists: readonly string[] = ["conditionalOrders.today", ALGO_LIST];

/** Adds the lists of child orders, if the orders of a place can place other orders. */
export function withChildLists({ market, lists }: ListPlace): ListPlace {
  const isParent = market !== undefined && lists.some((list) => parentLists.includes(list));
  return { market, lists: isParent ? [...new Set([...lists, ...childLists])] : lists };
}

/**
 * Returns which lists to read before a write. Before an ordinary order is placed or amended, the list of algorithmic
 * orders is read too, because these orders still need cash and shares. It is read first: if it were read later, a child
 * order that is sent during the reading could be missing in both lists.
 */
export function placeBefore(operation: AnyOperation, params: unknown): ListPlace {
  const place = placeOf(operation, params);
  const { market, lists } = place;
  if (operation.order === "cancel" || market === undefined || !lists.includes("orders.today")) {
    return withChildLists(place);
  }
  return { market, lists: [...new Set([ALGO_LIST, ...lists])], optional: [ALGO_LIST] };
}

/**
 * Returns the day of a market's lists at an instant. Orders that are placed after this instant do not have an earlier
 * day.
 */
export function dayOfLists(market: string | undefined, at: number): string {
  // Writes of futures name no market. Their night session lasts until after midnight, and belongs to the day
  // on which it began or to the next day.
  return dateAt(market === undefined ? at - NIGHT_MS : at, zoneOfMarket(market));
}

/**
 * Returns the day under which the history lists an order that was sent at an instant; `undefined` if that is unclear. A
 * futures order of the night session belongs to the next trading day.
 */
export function dayInHistory(market: string | undefined, at: number): string | undefined {
  if (market !== undefined) return dayOfLists(market, at);
  const { hour, minute } = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO("Asia/Hong_Kong");
  const time = hour * 60 + minute;
  const today = dateAt(at, "Asia/Hong_Kong");
  const session = builtInCalendars.sessionOn("XHKG", today);
  const hasClosed = typeof session !== "string" && at >= session.closeAt;
  // Between the sessions, the broker may count an order for either day.
  if ((hasClosed || time >= DAY_ENDS) && time < NIGHT_BEGINS) return undefined;
  let day = time < DAY_ENDS ? today : addDays(today, 1);
  while (typeof builtInCalendars.sessionOn("XHKG", day) === "string") {
    if (day > addDays(today, LONGEST_CLOSURE)) return undefined; // after the last day of the calendar
    day = addDays(day, 1);
  }
  return day;
}

/** Minutes after midnight: before the day session ends at 16:30, and before the night session begins at 17:15. */
const [DAY_ENDS, NIGHT_BEGINS] = [16 * 60 + 15, 17 * 60];
/** Longer than any time without a session in Hong Kong, days. */
const LONGEST_CLOSURE = 14;

/** Longer than the time from midnight to the end of the futures' night session at 03:00. */
const NIGHT_MS = 6 * 3_600_000;

/** Returns the time zone of a market's lists. */
export function zoneOfMarket(market: string | undefined): string {
  return market === "us" ? "America/New_York" : "Asia/Hong_Kong";
}

/** The calendars of the markets; futures trade in Hong Kong. */
const micOfMarket: Readonly<Record<string, Mic>> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "XSHG",
  shenzhen: "XSHE",
};

/**
 * Returns whether the broker may have emptied a market's lists of today: after the close, or on a day without a known
 * session. Some time after the close, and before midnight, the broker moves the rows of the day to the history.
 */
export function mayBeEmptied(market: string | undefined, at: number): boolean {
  const session = builtInCalendars.sessionOn(micOfMarket[market ?? "hk"] ?? "XHKG", dayOfLists(market, at));
  return typeof session === "string" || at >= session.closeAt;
}

/** Which lists to read, and how. */
export interface ReadListsOptions extends Pick<CallOptions, "signal"> {
  now(): number;
  /**
   * An instant of the first day to read, Unix milliseconds. Days before today are read from the history lists.
   *
   * @default today: the earlier of this machine's day and the broker's day
   */
  since?: number;
  /** Whether to read the history lists for today too. They are always read if {@linkcode mayBeEmptied} returns true. */
  withHistory?: boolean;
}

/**
 * Reads the lists of a place to their ends.
 *
 * @throws {BrokerError} If a list could not be read to its end. An incomplete reading proves nothing.
 */
export async function readLists(
  client: Client,
  place: ListPlace,
  options: ReadListsOptions,
): Promise<ListReading> {
  const { now, since, withHistory = false, signal } = options;
  const { market } = place;
  const beganAt = now();
  const orders = new Map<string, SeenOrder>();
  let aheadMs: number | undefined;
  const onBrokerTime = ({ time }: { time: number }) => aheadMs = time - now();
  // This machine's clock may be wrong, so read from the earlier of its day and the broker's day up to the later one.
  const firstDay = () => dayOfLists(market, since ?? Math.min(beganAt, beganAt + (aheadMs ?? 0)));
  const lastDay = () => dateAt(Math.max(beganAt, beganAt + (aheadMs ?? 0)), zoneOfMarket(market));
  const daysNow = () => {
    const [first, to] = [firstDay(), lastDay()];
    return { from: first < to ? first : to, to };
  };
  /**
   * Lists whose reading began at a day that is too late, because the broker's time was unknown before the first answer.
   */
  const tooShort: string[] = [];
  const read = async (name: string) => {
    const operation = findOperation(name);
    if (operation === undefined) {
      throw new TypeError(`Cannot read the list "${name}": there is no such operation`);
    }
    const days = daysNow();
    const params = paramsOf(operation, { market, ...days });
    const rows = await readRows(client, name, params, { onBrokerTime, ...signal && { signal } });
    // A list of fills has one row for each fill, so the quantities of an order's rows are added up.
    const isFills = isFillsList(name);
    for (const row of seenIn(rows, name, isFills)) {
      const before = orders.get(row.orderId);
      orders.set(row.orderId, before === undefined ? row : merged(before, row));
    }
    if ("from" in params && days.from !== daysNow().from) tooShort.push(name);
  };
  const { optional = [] } = place;
  const lacking: string[] = [];
  const readOrLack = async (name: string, isOptional: boolean) => {
    try {
      await read(name);
    } catch (error) {
      if (!isOptional || !isRefusal(error)) throw error;
      lacking.push(name);
    }
  };
  for (const name of place.lists) await readOrLack(name, optional.includes(name));
  for (const name of tooShort.splice(0)) await read(name);
  const isEmptied = () => [beganAt, now(), now() + (aheadMs ?? 0)].some((at) => mayBeEmptied(market, at));
  const later = withHistory || dayOfLists(market, since ?? beganAt) < lastDay() || isEmptied()
    ? laterLists(place.lists).filter((name) => !place.lists.includes(name))
    : [];
  // The history of an optional list is optional too.
  const needed = laterLists(neededLists(place));
  for (const name of new Set(later)) await readOrLack(name, !needed.includes(name));
  const lists = [...new Set([...place.lists, ...later])].filter((name) => !lacking.includes(name));
  return { beganAt, endedAt: now(), aheadMs, orders, lists };
}

/**
 * Returns the orders that an algorithmic order has placed on one day; `undefined` if the transport or the broker does
 * not offer the list.
 */
export async function childrenOfAlgo(
  client: Client,
  params: { orderId: string; market: string; date: string },
  { signal }: Pick<CallOptions, "signal"> = {},
): Promise<readonly string[] | undefined> {
  try {
    // The market was checked when the order was placed.
    return await client.algo.children(params as Parameters<Client["algo"]["children"]>[0], {
      ...signal && { signal },
    });
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Returns those of the given parameters that an operation accepts. */
function paramsOf(
  { name, request }: AnyOperation,
  { market, from, to }: { market: string | undefined; from: string; to: string },
): Record<string, unknown> {
  const fields = request.fields ?? {};
  const days = name === "conditionalOrders.history"
    ? { from: `${from} 00:00:00`, to: `${to} 23:59:59` } // this list needs times instead of days
    : { from, to };
  return {
    ...market !== undefined && "market" in fields && { market },
    ...("from" in fields) && days,
  };
}

/** A row of any of the lists; every list uses the same names. */
type ListRow = Readonly<
  Partial<
    Record<
      | "orderId"
      | "symbol"
      | "side"
      | "orderType"
      | "price"
      | "quantity"
      | "filledQuantity"
      | "status"
      | "date"
      | "orderTime"
      | "createdAt"
      | "sentAt"
      | "remark"
      | "errorText"
      | "triggerValue"
      | "trailBy",
      string
    >
  >
>;

/**
 * Maximum size of a list in memory, bytes: a quarter of a million orders fit. Without a limit, a list that never ends
 * would use up all memory.
 */
const MOST_LIST_BYTES = 256 * 2 ** 20;

async function readRows(
  client: Client,
  name: string,
  params: Record<string, unknown>,
  options: CallOptions,
): Promise<ListRow[]> {
  const [family = "", key = ""] = name.split(".");
  // The client has a function for each operation of the catalogue, and all lists are read page by page.
  const list =
    (client as unknown as Record<string, Record<string, (...args: unknown[]) => unknown>>)[family]![key]!;
  const read = list(params, { ...options, maxListBytes: MOST_LIST_BYTES }) as {
    toArray?(): Promise<ListRow[]>;
  };
  return read.toArray === undefined ? await (read as unknown as Promise<ListRow[]>) : await read.toArray();
}

/** Returns a decimal of a row; `undefined` for any other text. */
const decimalIn = (text: string | undefined): Decimal | undefined => isDecimal(text) ? text : undefined;

/**
 * Returns the day at the start of a text such as `2025-08-15 10:30:00` or `20250815`, as `yyyy-MM-dd`. `undefined` for
 * a day that does not exist, such as `00000000`.
 */
function dayIn(text: string | undefined): string | undefined {
  const [, year, month, day] = /^(20\d{2})[-/]?(\d{2})[-/]?(\d{2})/.exec(text ?? "") ?? [];
  const date = `${year}-${month}-${day}`;
  return isDate(date) ? date : undefined;
}

function seenIn(rows: readonly ListRow[], list: string, isFills: boolean): SeenOrder[] {
  const seen = new Map<string, SeenOrder>();
  for (const row of rows) {
    const { orderId, symbol, side, status, remark, errorText } = row;
    if (orderId === undefined) continue;
    const filled = row.filledQuantity !== undefined && isDecimal(row.filledQuantity)
      ? row.filledQuantity
      : "0";
    const before = seen.get(orderId);
    if (isFills && before !== undefined) {
      seen.set(orderId, { ...before, filled: add(before.filled, filled) });
      continue;
    }
    const placedAt = row.createdAt ?? row.sentAt ??
      (row.date !== undefined && row.orderTime !== undefined ? `${row.date} ${row.orderTime}` : undefined);
    const day = dayIn(row.createdAt ?? row.sentAt ?? row.date);
    seen.set(orderId, {
      orderId,
      lists: [list],
      symbol,
      side,
      orderType: isFills ? undefined : row.orderType,
      // The price and quantity in a fill's row may be those of the order or those of the fill, so they are not used.
      price: isFills ? undefined : decimalIn(row.price),
      triggerValue: isFills ? undefined : decimalIn(row.triggerValue),
      trailBy: isFills ? undefined : row.trailBy,
      quantity: isFills ? undefined : decimalIn(row.quantity),
      filled,
      state: isFills ? undefined : stateOfStatus[status ?? ""],
      isCancelPending: !isFills && cancelPendingStatuses.includes(status ?? ""),
      placedAt: isFills ? undefined : placedAt,
      day,
      remark: remark ?? errorText,
    });
  }
  return [...seen.values()];
}

/**
 * Combines the rows of one order from two lists. The terms come from a list of orders, because hsgate reads no terms
 * from lists of fills. The larger filled quantity is the newer one.
 */
function merged(one: SeenOrder, other: SeenOrder): SeenOrder {
  const [first, second] = one.quantity === undefined ? [other, one] : [one, other];
  const isNewer = compare(second.filled, first.filled) > 0;
  return {
    orderId: first.orderId,
    lists: [...new Set([...first.lists, ...second.lists])],
    symbol: first.symbol ?? second.symbol,
    side: first.side ?? second.side,
    orderType: first.orderType ?? second.orderType,
    price: first.price ?? second.price,
    triggerValue: first.triggerValue ?? second.triggerValue,
    trailBy: first.trailBy ?? second.trailBy,
    quantity: first.quantity ?? second.quantity,
    filled: isNewer ? second.filled : first.filled,
    // A final state wins: the other list may have been read earlier, or may lag behind.
    state: [first.state, second.state].find((state) => state !== undefined && endedStates.includes(state)) ??
      first.state ?? second.state,
    isCancelPending: first.isCancelPending === true || second.isCancelPending === true,
    placedAt: first.placedAt ?? second.placedAt,
    day: first.day ?? second.day,
    remark: first.remark ?? second.remark,
  };
}
