/**
 * Simulates the trading of the account's owner during a rehearsal, so that exports contain rows and booked fees, and
 * some orders are open before the close.
 *
 * @module
 */
import type { Calendars, Session } from "../calendars/mod.ts";
import { multiply, round } from "../decimal.ts";
import type { Result } from "../operations/operation.ts";
import type { quotes } from "../operations/quotes.ts";
import type { Broker } from "../simulator/broker/broker.ts";

const MINUTE_MS = 60_000;
const SYMBOL = "00700.HK";

/** An action of the account's owner at an instant, Unix milliseconds. */
interface OwnerAction {
  at: number;
  do(broker: Broker): void;
}

/**
 * Returns the owner's actions between two days. Half an hour after the open in Hong Kong, the owner buys one lot on one
 * day and sells the lot on the next day. Half an hour before each close, the owner places a buy order with a price too
 * low to fill.
 */
export function ownerActionsBetween(calendars: Calendars, from: string, to: string): OwnerAction[] {
  return calendars.sessionsBetween("XHKG", from, to).flatMap((session: Session, index) => [
    { at: session.openAt + 30 * MINUTE_MS, do: (broker: Broker) => trade(broker, index % 2 === 0) },
    { at: session.closeAt - 30 * MINUTE_MS, do: (broker: Broker) => place(broker, "buy", "0.9") },
  ]);
}

/** Buys a lot above the market price, or sells a lot below the market price, so that the order fills. */
function trade(broker: Broker, isPurchase: boolean): void {
  if (isPurchase) place(broker, "buy", "1.01");
  else place(broker, "sell", "0.99");
}

function place(broker: Broker, side: "buy" | "sell", factor: string): void {
  const [quote] = broker.call("quotes.latest", {
    securities: [{ type: "hk-stock", symbol: SYMBOL }],
  }) as Result<typeof quotes.latest>;
  // A whole price is a multiple of every tick size that this stock has had.
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
