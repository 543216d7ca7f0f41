/**
 * Guard rails about the price: its tick size, and its distance from the market.
 *
 * @module
 */
import { add, compare, type Decimal, isZero, multiply, normalize, subtract, toStep } from "../../decimal.ts";
import { listing } from "../../facts/listings.ts";
import { tickTable } from "../../facts/price_rules.ts";
import type { Quote } from "../../operations/quotes.ts";
import type { Check, Rule } from "./check.ts";
import {
  hasReached,
  lastOf,
  least,
  most,
  type Order,
  percentText,
  triggerNow,
  typeOf,
  waitsForRise,
} from "./order.ts";
import { isBuy } from "../terms.ts";

/** Requires a price that is a multiple of the tick size. */
export const tick: Rule = {
  name: "tick",
  about: "a price or a trigger that is not a multiple of the tick size on the day of the order",
  async check(check) {
    const { symbol, price, trigger, isConditional, market } = check.order;
    if (price === undefined || isConditional && market === "futures") return;
    const prices = [["price", price], ...trigger === undefined ? [] : [["trigger", trigger]]] as const;
    for (const [name, given] of prices) {
      const valid = validPrices(
        check.today(check.order),
        check.order,
        given,
        await check.quoteOf(check.order),
      );
      if (valid === undefined || compare(valid.below, given) === 0) continue;
      throw check.refuse(
        "tick",
        `the ${name} ${given} is not a multiple of ${
          normalize(valid.step)
        }, the tick size of "${symbol}" at this price`,
        `the nearest prices are ${normalize(valid.below)} and ${normalize(valid.above)}`,
      );
    }
  },
};

/** Returns the valid prices nearest to a price on a day; `undefined` if no source has the tick sizes. */
export function validPrices(
  date: string,
  { market, symbol }: Pick<Order, "market" | "symbol">,
  price: Decimal,
  quote: Quote | undefined,
): { below: Decimal; above: Decimal; step: Decimal } | undefined {
  const type = String(quote?.security?.type ?? typeOf(symbol) ?? "");
  const instrument = market === "futures" || type.includes("future")
    ? "future"
    : listing(symbol)?.instrument ??
      (type.endsWith("etf") ? "etf" : type.endsWith("option") ? "option" : type.endsWith("warrant") ||
          type.endsWith("cbbc")
        ? "warrant"
        : "stock");
  let bands;
  try {
    bands = tickTable(market === "futures" ? "hk" : market, date, instrument);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const band = bands.find(({ upTo }) => upTo === null || compare(price, upTo) <= 0);
  if (band === undefined) return undefined;
  const [below, above] = [toStep(price, band.tick, "down"), toStep(price, band.tick, "up")];
  return { below: isZero(below) ? above : below, above, step: band.tick };
}

/**
 * Refuses a trigger that the market has already reached: the order would trade at once, however far the market is from
 * the trigger.
 */
function checkTrigger(check: Check, last: Decimal | undefined): void {
  const { order, params } = check;
  // If an amendment does not change the trigger, the broker has already checked the trigger.
  if (last === undefined || order.before !== undefined && params.triggerValue === undefined) return;
  if (!hasReached(order, last)) return;
  throw check.refuse(
    "priceCollar",
    `the last price ${normalize(last)} has already reached the trigger ${order.trigger}`,
    `this order needs a trigger ${waitsForRise(order) ? "above" : "below"} ${normalize(last)}`,
  );
}

/**
 * Requires a price near the last price and the order book. The price of a conditional order applies only after its
 * trigger, so it is compared with the trigger price, which the market must not have reached yet. The trigger of a
 * trailing order follows the market, so its price is compared with the trigger that it would have now.
 */
export const priceCollar: Rule = {
  name: "priceCollar",
  about:
    "largest distance of a price from the last price; also how far a purchase may be above the best ask, and a sale below the best bid",
  async check(check) {
    const { priceCollar } = check.limits;
    if (priceCollar === undefined) return;
    const { order } = check;
    const { symbol, side, isConditional, trigger, trail } = order;
    if (isConditional && trigger === undefined && (trail === undefined || order.price === undefined)) return;
    const quote = await check.quoteOf(order);
    checkTrigger(check, lastOf(quote));
    const last = isConditional ? triggerNow(order, lastOf(quote)) : lastOf(quote);
    if (last === undefined) {
      throw check.unquoted("priceCollar", `the broker gave no price of "${symbol}"`);
    }
    let [low, high] = [multiply(last, subtract("1", priceCollar)), multiply(last, add("1", priceCollar))];
    const { bid, ask } = isConditional ? {} : await check.book();
    // A market order fills at the prices of the book, so the book must not be far from the last price.
    const price = order.price ?? (isBuy(side) ? ask : bid);
    if (price === undefined) return;
    const what = isConditional ? `the trigger ${normalize(last)}` : `the last price ${normalize(last)}`;
    if (order.price !== undefined && isBuy(side) && ask !== undefined) {
      high = least(high, multiply(ask, add("1", priceCollar)));
    }
    if (order.price !== undefined && !isBuy(side) && bid !== undefined) {
      low = most(low, multiply(bid, subtract("1", priceCollar)));
    }
    if (compare(low, price) <= 0 && compare(price, high) <= 0) return;
    const { above = low } = validPrices(check.today(order), order, low, quote) ?? {};
    const { below = high } = validPrices(check.today(order), order, high, quote) ?? {};
    throw check.refuse(
      "priceCollar",
      `the price ${price} is more than ${percentText(priceCollar)} from ${what}${
        bid === undefined && ask === undefined ? "" : ` or from the book (${bid ?? "-"} / ${ask ?? "-"})`
      }`,
      `the valid prices are from ${normalize(above)} to ${normalize(below)}`,
    );
  },
};
