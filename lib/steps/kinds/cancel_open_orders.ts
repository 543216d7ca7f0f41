/**
 * The step `cancel-open-orders`: every order of today that can still be cancelled, each asked for once.
 *
 * @module
 */
import * as z from "zod";
import type { Client } from "../../client/client.ts";
import { Market } from "../../dictionaries/market.ts";
import { OutcomeUnknownError, RejectedError } from "../../errors.ts";
import { orders } from "../../operations/orders.ts";
import type { StepContext } from "../compiled.ts";
import { markets } from "./fields.ts";
import { stepKind } from "./kind.ts";

const params = z.strictObject({
  markets,
  side: z.enum(["buy", "sell"]).optional().meta({ description: "Only this side" }),
  symbols: z.array(z.string().min(1)).min(1).optional().meta({ description: "Only these listings" }),
});
type Params = z.infer<typeof params>;

/** An order that can be cancelled. */
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
  /** None of them is open any more. */
  ok: z.boolean(),
  /** Asked for, and no longer open. */
  cancelled: z.array(z.string()),
  /** Refused by the broker; it may have been filled in the meantime. */
  refused: z.array(z.strictObject({ orderId: z.string(), reason: z.string() })),
  /** Still open at the last look. */
  stillOpen: z.array(z.string()),
});
/** What became of the orders. */
export type CancelledOrders = z.infer<typeof output>;

/** Cancels one by one: the broker's call for many may time out, and then nobody knows which were meant. */
export const cancelOpenOrders = stepKind<Params, CancelledOrders>({
  name: "cancel-open-orders",
  summary: "Cancels the orders of today that are still open, and looks whether they are gone",
  effect: "write",
  needsAccount: () => true,
  params,
  output,
  async run(given, context) {
    const client = await context.client();
    const open = await openOrders(client, given, context.signal);
    const result: CancelledOrders = { ok: true, cancelled: [], refused: [], stillOpen: [] };
    let unknown: OutcomeUnknownError | undefined;
    for (const [index, { market, symbol, orderId }] of open.entries()) {
      // Between two orders a stop is safe; within one it would leave a question.
      context.signal.throwIfAborted();
      context.progress({ text: `${symbol} ${orderId}`, done: index, total: open.length });
      try {
        await client.call(orders.cancel, { market, symbol, orderId });
      } catch (error) {
        if (error instanceof OutcomeUnknownError) unknown = error; // the look below tells
        else if (error instanceof RejectedError) result.refused.push({ orderId, reason: error.text });
        else throw error;
      }
    }
    const left = new Set(
      (await lookAgain(client, given, { context, unknown })).map(({ orderId }) => orderId),
    );
    const refused = new Set(result.refused.map(({ orderId }) => orderId));
    for (const { orderId } of open) {
      if (left.has(orderId)) result.stillOpen.push(orderId);
      else if (!refused.has(orderId)) result.cancelled.push(orderId);
    }
    result.ok = result.stillOpen.length === 0;
    return result;
  },
  async plan(given, context) {
    return { cancel: await openOrders(await context.client(), given, context.signal) };
  },
});

/** When nobody can look, an unknown outcome stays unknown. */
async function lookAgain(
  client: Client,
  given: Params,
  { context, unknown }: { context: StepContext; unknown: OutcomeUnknownError | undefined },
): Promise<OpenOrder[]> {
  try {
    return await openOrders(client, given, context.signal);
  } catch (error) {
    throw unknown ?? error;
  }
}

async function openOrders(client: Client, given: Params, signal: AbortSignal): Promise<OpenOrder[]> {
  const open = new Map<string, OpenOrder>();
  for (const market of given.markets) {
    for await (const order of client.orders.today({ market }, { signal })) {
      if (!order.canCancel || order.orderId === undefined) continue;
      if (given.side !== undefined && order.side !== given.side) continue;
      if (given.symbols !== undefined && !given.symbols.includes(order.symbol)) continue;
      const { orderId, symbol, side, price, quantity, unfilledQuantity } = order;
      // One list of the mainland exchanges may show the orders of both, and each is cancelled once.
      const own = Market.has(order.market) ? order.market : market;
      open.set(orderId, { market: own, orderId, symbol, side, price, quantity, unfilledQuantity });
    }
  }
  return [...open.values()];
}
