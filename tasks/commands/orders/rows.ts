/**
 * Returns intents and orders at the broker as rows, for `orders` and `orders show`.
 *
 * @module
 */
import { showInstant } from "../../../lib/calendars/mod.ts";
import type { SeenOrder } from "../../../lib/desk/broker_lists.ts";
import type { Intent, IntentChange, Why } from "../../../lib/desk/intent.ts";
import { termsOf } from "../../../lib/desk/prove.ts";
import { changesOf } from "../../../lib/desk/queries.ts";
import { unresolvedStates } from "../../../lib/desk/states.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Color, Column } from "../../terminal/print.ts";

/** An intent with its orders at the broker, or an order that was made elsewhere. */
export interface OrderRow {
  /** Id of the intent; `null` for an order that was made elsewhere. */
  intent: string | null;
  state: string;
  orderIds: readonly string[];
  why: Why;
  /** What proves the state: the last change of the intent, or the lists that show the order. */
  evidence: { by: string; at?: string } & Readonly<Record<string, unknown>>;
  /** What is missing for a proof, if the outcome is unknown. */
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

/** Returns what a change of state shows, for a person and for `--json`. */
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
  const last = (await changesOf(store, id)).at(-1)!; // each intent has its first change
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

/** Returns the colour of a state: red if a person has to look, green if the order was filled. */
export function colorOf(state: string): Color | undefined {
  if (unresolvedStates.some((each) => each === state) || state === "rejected") return "red";
  return state === "filled"
    ? "green"
    : ["cancelled", "expired", "abandoned"].includes(state)
    ? "dim"
    : undefined;
}

/** Columns of the table of `orders`. */
export const orderColumns: readonly Column<OrderRow>[] = [
  { title: "intent", id: true, of: ({ intent }) => intent ?? "(elsewhere)" },
  { title: "state", keep: true, of: ({ state }) => state, color: ({ state }) => colorOf(state) },
  { title: "order", id: true, of: ({ orderIds }) => orderIds.join(" ") },
  { title: "kind", of: ({ kind }) => kind === "elsewhere" ? "" : kind },
  { title: "side", of: ({ side }) => side ?? "" },
  { title: "quantity", of: ({ quantity }) => quantity ?? "", align: "right" },
  { title: "symbol", id: true, of: ({ symbol }) => symbol ?? "" },
  { title: "price", of: ({ price }) => price ?? "", align: "right" },
  { title: "filled", of: ({ filled }) => filled, align: "right" },
  {
    title: "at the broker",
    of: ({ orders }) => [...new Set(orders.map(({ state }) => state ?? "state unknown"))].join(", "),
  },
  { title: "by", of: ({ why }) => why.by ?? why.recipe ?? "" },
  { title: "missing for a proof", of: ({ missing }) => missing ?? "" },
];
