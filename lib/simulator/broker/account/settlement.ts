/**
 * Computes the proceeds of sales that have not been paid yet. They can be spent at once, but not withdrawn.
 *
 * Hong Kong settles two trading days after the trade. The United States and the mainland settle one trading day after
 * it. Here a trade is paid at the open of its settlement day. Sources: `hk-t2`, `us-t1`, `nb-cinda`; a table in
 * `docs/simulator.md` lists them.
 *
 * @module
 */
import type { Market } from "../../../dictionaries/market.ts";
import { amountOf, readCents } from "./money.ts";
import { daysBefore } from "../sessions.ts";
import type { State } from "../state.ts";

/** Trading days from a trade to its settlement. */
const CYCLE: Readonly<Record<Market, number>> = { hk: 2, us: 1, shanghai: 1, shenzhen: 1 };

/** Proceeds of the days before today, per market; they change only with the day. */
const known = new WeakMap<State, Map<Market, { date: string; days: bigint[] }>>();

/** Returns a market's unpaid proceeds of sales after fees, cents. */
export function unsettledProceeds(state: State, market: Market): bigint {
  const { day, orders } = state.today[market];
  let sum = 0n;
  for (const order of orders) {
    if (!order.isSell || order.fills.length === 0) continue;
    for (const { price, quantity } of order.fills) sum += amountOf(price, quantity, order.multiplier);
    sum -= state.feesSoFar(order);
  }
  const [oldest = 0n, ...later] = proceedsBefore(state, market);
  for (const cents of later) sum += cents;
  return state.now < day.openAt ? sum + oldest : sum;
}

/** Returns the proceeds of each day of the settlement cycle before today, oldest first. */
function proceedsBefore(state: State, market: Market): bigint[] {
  const { date } = state.today[market].day;
  let markets = known.get(state);
  if (markets === undefined) known.set(state, markets = new Map());
  const found = markets.get(market);
  if (found?.date === date) return found.days;
  const { journal } = state.histories[market];
  const days = daysBefore(state.market.calendars, market, date, CYCLE[market]).map((day) => {
    const { start, end } = journal.range(day.date, day.date);
    let sum = 0n;
    for (let index = start; index < end; index++) {
      const { type, amount } = journal.at(index);
      if (type === "sell-securities") sum += readCents(amount);
    }
    return sum;
  });
  markets.set(market, { date, days });
  return days;
}
