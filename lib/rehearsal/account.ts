/**
 * What the person behind the account does while the recipes run: a little trading, so that exports have rows, fees
 * have something to clear, and orders stand open towards the close.
 *
 * @module
 */
import { type Session, sessionsBetween } from "../calendars/mod.ts";
import { multiply, round } from "../decimal.ts";
import type { Result } from "../operations/operation.ts";
import type { quotes } from "../operations/quotes.ts";
import type { Broker } from "../simulator/broker/broker.ts";

const MINUTE_MS = 60_000;
const SYMBOL = "00700.HK";

/** Something that the person does at an instant, epoch milliseconds. */
export interface Deed {
  at: number;
  do(broker: Broker): void;
}

/**
 * Lists what is done between two days: half an hour after each open of Hong Kong a lot is bought, or sold again the
 * day after; half an hour before each close an order is placed that is too low to be filled.
 */
export function deedsBetween(from: string, to: string): Deed[] {
  return sessionsBetween("XHKG", from, to).flatMap((session: Session, index) => [
    { at: session.openAt + 30 * MINUTE_MS, do: (broker: Broker) => trade(broker, index % 2 === 0) },
    { at: session.closeAt - 30 * MINUTE_MS, do: (broker: Broker) => place(broker, "buy", "0.9") },
  ]);
}

/** Buys a lot above the market, or sells one below it. */
function trade(broker: Broker, isPurchase: boolean): void {
  if (isPurchase) place(broker, "buy", "1.01");
  else place(broker, "sell", "0.99");
}

function place(broker: Broker, side: "buy" | "sell", factor: string): void {
  const [quote] = broker.call("quotes.latest", {
    securities: [{ type: "hk-stock", symbol: SYMBOL }],
  }) as Result<typeof quotes.latest>;
  // A whole price stands on the grid of every price that this share has had.
  const price = round(multiply(quote?.lastPrice ?? "0", factor), 0, "down");
  broker.call("orders.place", {
    market: "hk",
    symbol: SYMBOL,
    quantity: "100",
    side,
    price,
    orderType: "enhanced-limit",
  });
}
