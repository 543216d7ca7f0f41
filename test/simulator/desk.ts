/**
 * A broker with a clock that a test sets, for the tests of market rules.
 *
 * @module
 */
import { assertThrows } from "@std/assert";
import type { Funds } from "../../lib/operations/account.ts";
import type { Fill } from "../../lib/operations/fills.ts";
import type { JournalEntry } from "../../lib/operations/fund_journal.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { type OperationName, Refusal } from "../../lib/simulator/contract.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { ManualClock } from "../../lib/time.ts";

/** The market of seed 1, whose paths are cached between the tests of a file. */
export const market = new SimulatedMarket({ seed: 1 });

/** Returns an instant of Hong Kong: `hk("2025-08-18", "09:30:00")`. */
export const hk = (date: string, time: string) => Date.parse(`${date}T${time}+08:00`);

/** Returns an instant of New York in summer. */
export const newYork = (date: string, time: string) => Date.parse(`${date}T${time}-04:00`);

type Options = Partial<ConstructorParameters<typeof Broker>[0]>;

/** Opens an account of seed 1 at an instant, with five days of history. */
export function open(at: number, options: Options = {}) {
  const clock = new ManualClock(at);
  const broker = new Broker({ seed: 1, clock, days: 5, market, ...options });
  // The caller names the result type of the operation.
  const ask = <T>(name: OperationName, params: unknown) => broker.call(name, params) as T;
  const orders = (of: string) => ask<Order[]>("orders.today", { market: of, limit: 99 });
  return {
    broker,
    ask,
    orders,
    now: () => clock.now(),
    place: (order: Record<string, unknown>) => ask<{ orderId: string }>("orders.place", order).orderId,
    order: (of: string, id: string) => orders(of).find(({ orderId }) => orderId === id),
    fillsOf: (id: string) => broker.matches().fills.filter((fill) => fill.id.startsWith(`${id}-`)),
    funds: (of: string) => ask<Funds>("account.funds", { market: of }),
    /** Returns the cleared fills of a day. */
    cleared: (of: string, date: string) =>
      ask<Fill[]>("fills.history", { market: of, from: date, to: date, limit: 99 }),
    /** Returns the journal of a cleared day. */
    journal: (of: string, date: string) =>
      ask<JournalEntry[]>("fundJournal.history", { market: of, from: date, to: date, limit: 99 }),
    /** Sets the clock, and processes all events up to then. */
    to: (instant: number) => {
      clock.set(instant);
      broker.settle();
    },
  };
}

/** Returns the text of the rejection that an act gets. */
export const refused = (act: () => unknown) => assertThrows(act, Refusal).text;
