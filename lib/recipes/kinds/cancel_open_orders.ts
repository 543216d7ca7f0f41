/**
 * Defines the step `cancel-open-orders`, which cancels today's open orders with one request for each.
 *
 * @module
 */
import * as z from "zod";
import type { Client } from "../../client/client.ts";
import { Market } from "../../dictionaries/market.ts";
import type { OrderStatus } from "../../dictionaries/order_status.ts";
import { OutcomeUnknownError, ProtocolError, RejectedError } from "../../errors.ts";
import { orders } from "../../operations/orders.ts";
import type { StepContext } from "../compiled.ts";
import { markets } from "./fields.ts";
import { stepKind } from "./kind.ts";

const params = z.strictObject({
  markets,
  side: z.enum(["buy", "sell"]).optional().meta({ description: "Cancel only orders of this side" }),
  symbols: z.array(z.string().min(1)).min(1).optional().meta({
    description: "Cancel only orders of these listings",
  }),
});
type Params = z.infer<typeof params>;

/** An order that may be cancelled. */
export interface OpenOrder {
  market: Market;
  orderId: string;
  symbol: string;
  side: string;
  price?: string;
  quantity?: string;
  unfilledQuantity?: string;
}

const output = z.strictObject({
  /** Whether no order is still open. */
  ok: z.boolean(),
  /** Orders that were cancelled; they may have been partly filled before. */
  cancelled: z.array(z.string()),
  /** Orders that were filled before the cancellation arrived. */
  filled: z.array(z.string()),
  /** Orders whose cancellation the broker rejected; they may have been filled in the meantime. */
  refused: z.array(z.strictObject({ orderId: z.string(), reason: z.string() })),
  /** Orders that were still open at the last check. */
  stillOpen: z.array(z.string()),
});
/** Result of the step. */
export type CancelledOrders = z.infer<typeof output>;

/** States of an order that has ended. */
const overStates: readonly string[] = [
  "filled",
  "cancelled",
  "part-filled-cancelled",
  "rejected",
  "pre-check-rejected",
  "pre-order-cancelled",
  "review-failed",
] satisfies OrderStatus[];

/** Cancels orders one by one. After a timeout of the batch call, it would not be known which orders were cancelled. */
export const cancelOpenOrders = stepKind<Params, CancelledOrders>({
  name: "cancel-open-orders",
  summary: "Cancels today's open orders, and checks that they are cancelled",
  effect: "write",
  needsAccount: () => true,
  params,
  output,
  async run(given, context) {
    const client = await context.client();
    const before = await ordersOfToday(client, given, context.signal);
    const open = before.orders.filter(isOpen);
    const result: CancelledOrders = { ok: true, cancelled: [], filled: [], refused: [], stillOpen: [] };
    const unknown = new Map<string, OutcomeUnknownError>();
    for (const [index, { market, symbol, orderId }] of open.entries()) {
      // A stop between two orders is safe; a stop during a cancellation would leave its outcome unknown.
      context.signal.throwIfAborted();
      context.progress({ text: `${symbol} ${orderId}`, done: index, total: open.length });
      try {
        await client.call(orders.cancel, { market, symbol, orderId });
      } catch (error) {
        if (error instanceof OutcomeUnknownError) unknown.set(orderId, error); // checked below
        else if (error instanceof RejectedError) result.refused.push({ orderId, reason: error.text });
        else throw error;
      }
    }
    const again = await checkAgain(client, given, { context, unknown });
    // If a list may be incomplete, the step fails even though it has cancelled the orders that it found.
    const unproven = before.unproven ?? again.unproven;
    if (unproven !== undefined) throw [...unknown.values()][0] ?? unproven;
    const after = new Map(again.orders.map((each) => [each.orderId, each]));
    const refused = new Set(result.refused.map(({ orderId }) => orderId));
    for (const { orderId } of open) {
      const now = after.get(orderId);
      const error = unknown.get(orderId);
      if (now === undefined) {
        // The order is no longer in the list. If the answer to its cancellation was lost, this does not prove that it
        // was cancelled.
        if (error !== undefined) throw error;
        if (!refused.has(orderId)) result.cancelled.push(orderId);
      } else if (!isOver(now)) result.stillOpen.push(orderId);
      else {
        const isFilled = now.status === "filled";
        // The order has ended, so a cancellation that is still on its way cannot cancel it any more.
        if (error !== undefined) context.proven?.(error, isFilled ? "refused" : "ok");
        if (isFilled) result.filled.push(orderId);
        else if (!refused.has(orderId)) result.cancelled.push(orderId);
      }
    }
    result.ok = result.stillOpen.length === 0;
    return result;
  },
  async plan(given, context) {
    const { orders: all, unproven } = await ordersOfToday(await context.client(), given, context.signal);
    if (unproven !== undefined) throw unproven;
    return { cancel: all.filter(isOpen).map(openOrder) };
  },
});

/**
 * Lists today's orders again. If that fails, and a cancellation has an unknown outcome, throws the error of the
 * cancellation.
 */
async function checkAgain(
  client: Client,
  given: Params,
  { context, unknown }: { context: StepContext; unknown: ReadonlyMap<string, OutcomeUnknownError> },
): Promise<OrdersOfToday> {
  try {
    return await ordersOfToday(client, given, context.signal);
  } catch (error) {
    throw [...unknown.values()][0] ?? error;
  }
}

interface OrderOfToday extends OpenOrder {
  canCancel: boolean;
  status?: string;
}

const isOpen = ({ canCancel }: OrderOfToday) => canCancel;
/**
 * Returns whether an order has ended. An order whose cancellation is in progress has not ended: it cannot be cancelled
 * again, but can still be filled.
 */
const isOver = ({ canCancel, status }: OrderOfToday) =>
  !canCancel && (status === undefined || overStates.includes(status));

function openOrder(
  { market, orderId, symbol, side, price, quantity, unfilledQuantity }: OrderOfToday,
): OpenOrder {
  return { market, orderId, symbol, side, price, quantity, unfilledQuantity };
}

interface OrdersOfToday {
  orders: OrderOfToday[];
  /** Set if there may be further orders, because the end of a list is not proven. */
  unproven?: ProtocolError;
}

async function ordersOfToday(client: Client, given: Params, signal: AbortSignal): Promise<OrdersOfToday> {
  const found = new Map<string, OrderOfToday>();
  let unproven: ProtocolError | undefined;
  for (const market of given.markets) {
    const list = client.orders.today({ market }, { signal });
    for await (const order of list) {
      if (given.side !== undefined && order.side !== given.side) continue;
      if (given.symbols !== undefined && !given.symbols.includes(order.symbol)) continue;
      const { orderId, symbol, side, price, quantity, unfilledQuantity, canCancel, status } = order;
      // The list of one mainland exchange may contain orders of both exchanges; each order is cancelled once.
      const own = Market.has(order.market) ? order.market : market;
      const row = { market: own, orderId, symbol, side, price, quantity, unfilledQuantity, status };
      // A server may omit the flag if it is false, or if the server does not know the flag. The state then decides.
      const isOpen = canCancel ?? (status === undefined || !overStates.includes(status));
      found.set(orderId, { ...row, canCancel: isOpen });
    }
    if (list.unproven === undefined) continue;
    unproven ??= new ProtocolError(`Cannot tell which orders are open in ${market}: ${list.unproven}`, {
      code: "list-unproven",
      operation: orders.today.name,
    });
  }
  return { orders: [...found.values()], ...unproven !== undefined && { unproven } };
}
