/**
 * Returns intents and orders at the broker as rows, for `orders` and `orders show`.
 *
 * @module
 */
import { showInstant } from "../../../lib/calendars/mod.ts";
import { isDecimal, isZero } from "../../../lib/decimal.ts";
import type { SeenOrder } from "../../../lib/desk/broker_lists.ts";
import type { Intent, IntentChange, Why } from "../../../lib/desk/intent.ts";
import { termsOf } from "../../../lib/desk/terms.ts";
import { changesOf } from "../../../lib/desk/queries.ts";
import { unresolvedStates } from "../../../lib/desk/states.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, type Column, paint, plain, table, tableLines } from "../../terminal/print.ts";

/** An intent with its orders at the broker, or an order that was made elsewhere. */
export interface OrderRow {
  /** Id of the intent; `null` for an order that was made elsewhere. */
  intent: string | null;
  state: string;
  orderIds: readonly string[];
  why: Why;
  /** What proves the state: the last change of the intent, or the lists that show the order. */
  evidence: { by: string; at?: string } & Readonly<Record<string, unknown>>;
  /** What is missing for a proof of an unknown outcome, or which order the lists do not show. */
  missing?: string;
  kind: string;
  operation?: string;
  market?: string;
  symbol?: string;
  side?: string;
  quantity?: string;
  price?: string;
  filled: string;
  createdAt?: string;
  /** The orders as the broker's lists show them. */
  orders: readonly SeenOrder[];
}

/** Returns the evidence of a change of state, for the table and for `--json`. */
export function evidenceOf({ by, at, data }: IntentChange): OrderRow["evidence"] {
  return { ...data, by, at: showInstant(at) };
}

/** Returns the row of an intent. */
export async function rowOf(
  store: Store,
  intent: Intent,
  { seen, missing }: { seen: ReadonlyMap<string, SeenOrder>; missing: string | undefined },
): Promise<OrderRow> {
  const { id, state, orderIds, why, kind, operation, filled, createdAt } = intent;
  const { market, symbol, side, quantity, price } = termsOf(intent);
  const last = (await changesOf(store, id)).at(-1)!; // each intent has at least one change
  return {
    intent: id,
    state,
    orderIds,
    why,
    evidence: evidenceOf(last),
    ...missing !== undefined && { missing },
    kind,
    operation,
    ...market !== undefined && { market },
    ...symbol !== undefined && { symbol },
    ...side !== undefined && { side },
    ...quantity !== undefined && { quantity },
    ...price !== undefined && { price },
    filled,
    createdAt: showInstant(createdAt),
    orders: orderIds.flatMap((orderId) => seen.get(orderId) ?? []),
  };
}

/** Returns the row of an order that no intent of the store has placed. */
export function foreignRow(order: SeenOrder): OrderRow {
  const { orderId, state, lists, symbol, side, quantity, price, filled, placedAt } = order;
  return {
    intent: null,
    state: state ?? "unknown to hsgate",
    orderIds: [orderId],
    why: {},
    evidence: { by: "list", lists },
    kind: "elsewhere",
    ...symbol !== undefined && { symbol },
    ...side !== undefined && { side },
    ...quantity !== undefined && { quantity },
    ...price !== undefined && { price },
    filled,
    ...placedAt !== undefined && { createdAt: placedAt },
    orders: [order],
  };
}

/** Returns the colour of a state: red for an unknown outcome or a rejection, green for a filled order. */
export function colorOf(state: string): Color | undefined {
  if (unresolvedStates.some((each) => each === state) || state === "rejected") return "red";
  return state === "filled"
    ? "green"
    : ["cancelled", "expired", "abandoned"].includes(state)
    ? "dim"
    : undefined;
}

/** Returns the columns of the table of `orders`. @param idLength How many characters of an intent's id are shown. */
export const orderColumns = (idLength = Infinity): Column<OrderRow>[] => [
  { title: "intent", id: true, of: ({ intent }) => intent?.slice(0, idLength) ?? "(elsewhere)" },
  { title: "state", keep: true, of: ({ state }) => state, color: ({ state }) => colorOf(state) },
  { title: "order", id: true, of: ({ orderIds }) => severalOf(orderIds) },
  {
    title: "what",
    keep: true,
    of: ({ kind, side }) => kind === "amend" || kind === "cancel" ? kind : side ?? kind,
  },
  { title: "qty", of: ({ quantity }) => quantity ?? "", align: "right" },
  { title: "symbol", id: true, of: ({ symbol }) => symbol ?? "" },
  { title: "price", of: ({ price }) => priceOf(price), align: "right" },
  { title: "filled", of: ({ filled }) => filled, align: "right" },
  {
    title: "at the broker",
    of: ({ orders }) => [...new Set(orders.map(({ state }) => state ?? "state unknown"))].join(", "),
  },
  { title: "by", of: ({ why }) => why.by ?? why.recipe ?? "" },
];

/** An order without a limit price has the price zero. */
const priceOf = (price: string | undefined) =>
  price === undefined ? "" : isDecimal(price) && isZero(price) ? "any" : price;

/** Returns the order numbers. For more than two orders, returns the first number and the count of the others. */
const severalOf = (ids: readonly string[]) =>
  ids.length <= 2 ? ids.join(" ") : `${ids[0]} and ${ids.length - 1} more`;

/** Minimum number of characters of an intent's id in a table. They contain the millisecond of the intent's creation. */
const LEAST_ID = 10;

/** Returns how many characters distinguish the intents. `orders show` accepts them in place of the id. */
function idLengthOf(rows: readonly { intent: string | null }[]): number {
  const ids = [...new Set(rows.flatMap(({ intent }) => intent ?? []))].sort();
  return ids.reduce((most, id, index) => {
    const next = ids[index + 1] ?? "";
    let same = 0;
    while (same < id.length && id[same] === next[same]) same++;
    return Math.max(most, same + 1);
  }, LEAST_ID);
}

/**
 * Returns a table of intents. Shows whole ids if everything fits, and otherwise only the first characters, which
 * distinguish the ids.
 */
export function intentLines<Row extends { intent: string | null }>(
  rows: readonly Row[],
  columnsOf: (idLength: number) => readonly Column<Row>[],
  { host, more, columns }: { host: Host; more: string; columns?: string | undefined },
): string[] {
  const whole = columnsOf(Infinity);
  if (columns !== undefined) return tableLines(host, whole, rows, { columns });
  const isWide = table(host, whole, rows).omitted.length === 0;
  return tableLines(host, isWide ? whole : columnsOf(idLengthOf(rows)), rows, { more });
}

/** Returns whether a person may have to check a row: the outcome is unknown, or an order is missing in the lists. */
const isLeftOpen = ({ state, missing }: OrderRow): boolean =>
  missing !== undefined || unresolvedStates.some((each) => each === state);

/** Returns the table of intents and orders, and a line for each row with an unknown outcome or a missing order. */
export function orderLines(rows: readonly OrderRow[], host: Host, columns?: string): string[] {
  return [
    ...intentLines(rows, orderColumns, { host, columns, more: '"orders show" and --json show all' }),
    ...rows.filter(isLeftOpen).map(({ intent, state, missing }) =>
      paint(
        host,
        "red",
        plain(
          `${state}: ${
            missing === undefined ? "" : `missing for a proof: ${missing}; `
          }see: hsgate orders show ${intent}`,
        ),
      )
    ),
  ];
}
