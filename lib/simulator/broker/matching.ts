/**
 * When an order is filled, and at what price.
 *
 * An order that the market can take at once is filled a second after it was accepted, at the last price. One that
 * rests is filled when the market trades at its limit. Larger quantities are filled in two to four parts, two
 * seconds apart and as long as the price allows. The simulated market has no trades before and after its hours, so
 * an order for extended hours waits for the regular ones.
 *
 * @module
 */
import type { LiveOrder } from "./live_order.ts";
import type { Range, Tape } from "./tape.ts";

/** Finds the next fill up to an instant and keeps it with the order. */
export function findFill(order: LiveOrder, tape: Tape, until: number): void {
  const { readyAt, instrument: { symbol } } = order;
  const horizon = Math.min(until, order.book === "futures" ? until : order.day.closeAt);
  if (order.next !== undefined || horizon < readyAt) return;
  if (order.scannedUntil < readyAt) {
    order.scannedUntil = readyAt;
    const price = tape.isOpen(symbol, readyAt) ? tape.price(symbol, readyAt) : undefined;
    if (price !== undefined && takes(order, price)) {
      order.next = { at: readyAt, price };
      return;
    }
  }
  if (order.scannedUntil >= horizon) return;
  const limit = limitOf(order);
  const reaches = ({ high, low }: Range) => order.isSell ? high >= limit : low <= limit;
  const at = tape.find(symbol, order.scannedUntil, horizon, reaches);
  order.scannedUntil = at ?? horizon;
  if (at === undefined) return;
  const price = tape.price(symbol, at);
  // Traded at the limit within the second, though not at its end: the order was in the queue at its limit.
  order.next = { at, price: takes(order, price) ? price : limit };
}

/** A purchase without a limit takes no more than its cash was frozen for. */
function limitOf({ isSell, price, frozenPrice }: LiveOrder): bigint {
  if (price !== 0n) return price;
  return isSell ? 0n : frozenPrice;
}

function takes(order: LiveOrder, price: bigint): boolean {
  const limit = limitOf(order);
  return order.isSell ? price >= limit : price <= limit;
}
