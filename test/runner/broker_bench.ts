/**
 * Provides runs that place orders at a simulated broker at ten on Friday, for tests in which the store, the lease or
 * the answers fail.
 *
 * @module
 */
import type { CompiledRecipe, StepContext } from "../../lib/recipes/compiled.ts";
import type { SchedulerOptions } from "../../lib/runner/schedule/scheduler.ts";
import type { Simulated } from "../day_book/simulated.ts";
import { type Bench, bench, inTestTime, orders, step, track } from "./support.ts";

/** An order that stays open. */
export const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "300",
  side: "buy",
  orderType: "enhanced-limit",
} as const;

/** Key of the run of {@linkcode writer}. */
export const KEY = "orders/s1/2025-08-15";

/** Returns the number of the broker's orders of today in Hong Kong. */
export const countPlaced = async ({ client }: Simulated): Promise<number> =>
  (await client.orders.today({ market: "hk", limit: 99 }).toArray()).length;

/**
 * Stops simulated time during each call of the broker's client. Time passes between the calls, because the order desk
 * waits for simulated time while it cannot record an answer. {@linkcode writer} stops time during a whole step.
 */
export function stopTimeDuringCalls({ client: { transport } }: Simulated): void {
  const { call } = transport;
  transport.call = (...args) => track(call.apply(transport, args));
}

/** Returns a recipe whose only step writes, at ten on Friday; its window is open until 15:50. */
export const writer = (run: (context: StepContext) => Promise<unknown>): CompiledRecipe =>
  orders([], { steps: [step({ effect: "write", run: (context) => track(run(context)) })] });

/** Returns a bench whose recipes use the broker; it begins before their slot. */
export async function brokerBench(
  { client }: Simulated,
  { store, ...given }: { recipes: CompiledRecipe[]; start?: string } & Partial<SchedulerOptions>,
): Promise<Bench> {
  return await bench({
    start: "2025-08-15T01:59:55Z",
    client: () => Promise.resolve(client),
    ...store !== undefined && { store: inTestTime(store) },
    ...given,
  });
}
