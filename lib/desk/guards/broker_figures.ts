/**
 * Guard rails that ask the broker what the account can buy and sell.
 *
 * @module
 */
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  normalize,
  round,
  subtract,
  toStep,
} from "../../decimal.ts";
import { isSameSymbol } from "../broker_lists.ts";
import type { Check, Rule } from "./check.ts";
import {
  isBuy,
  isOpen,
  marketOf,
  multiplierOf,
  type OrderParams,
  pendingStates,
  priceOf,
  remainingOf,
} from "./order.ts";

/** The account has what the order sells. */
export const allowShort: Rule = {
  name: "allowShort",
  about: "`allow` or `refuse`: whether an order may sell more than the broker says can be sold",
  async check(check) {
    const { symbol, side, quantity } = check.order;
    if (isBuy(side) || check.limits.allowShort) return;
    const held = await sellableOf(check);
    const most = compare(held, "0") > 0 ? held : "0";
    if (side !== "short-open" && compare(quantity, most) <= 0) return;
    throw check.refuse(
      "allowShort",
      side === "short-open"
        ? `it sells "${symbol}" short`
        : `it sells ${quantity} of "${symbol}", and only ${normalize(most)} can be sold`,
      isZero(most) ? "nothing can be sold" : `the largest quantity is ${normalize(most)}`,
    );
  },
};

/**
 * Returns how much an order may sell without selling short. Sell orders of this store whose outcome the broker's figure
 * may not show yet are subtracted.
 */
export function sellableOf(check: Check): Promise<Decimal> {
  return check.once("sellable", async () => {
    const { order: { market, symbol, isConditional, before }, planned: { client, looked } } = check;
    const pending = (await check.intents()).filter(({ kind, state, params }) => {
      const terms = params as OrderParams;
      return kind === "place" && pendingStates.includes(state) && isSameSymbol(terms.symbol, symbol) &&
        terms.side === "sell";
    }).map(({ params }) => (params as OrderParams).quantity ?? "0");
    const own = remainingOf(before);
    if (market === "futures") {
      const { holdings } = await client.futures.holdings({});
      const position = holdings.find((row) => isSameSymbol(row.symbol, symbol))?.quantity ?? "0";
      const open = [...looked?.orders.values() ?? []]
        .filter((each) => isSameSymbol(each.symbol, symbol) && each.side === "sell" && isOpen(each))
        .map(remainingOf);
      return subtract(add(position, own), add("0", ...open, ...pending));
    }
    const row = (await client.account.holdings({ market })).find((each) => isSameSymbol(each.symbol, symbol));
    // Until it is triggered, a conditional order may name what another open order sells.
    if (isConditional) return row?.quantity ?? row?.sellableQuantity ?? "0";
    return subtract(add(row?.sellableQuantity ?? "0", own), add("0", ...pending));
  });
}

/** The account's funds, or its margin for futures, pay for the order. */
export const buyingPower: Rule = {
  name: "buyingPower",
  about: "an order that the account's buying power does not cover; the figure is the broker's",
  async check(check) {
    const { market, side, isConditional } = check.order;
    if (market === "futures") return await checkContracts(check);
    // A conditional order is paid for when it is triggered.
    if (side === "buy" && !isConditional) await checkFunds(check);
  },
};

/**
 * Checks that the account's funds pay for the order. The broker's figure excludes the funds that it has frozen for open
 * orders, whoever placed them. This check also subtracts open orders without frozen funds, and orders that the broker's
 * figure may not contain yet.
 */
async function checkFunds(check: Check): Promise<void> {
  const { order: { market, symbol, quantity, before }, planned: { client, looked } } = check;
  if (market === "futures") return;
  const price = await check.price();
  const multiplier = multiplierOf(market, symbol) ?? "1";
  const each = multiply(price, multiplier);
  const { quantity: most } = await client.account.maxBuy({ market, symbol, price: normalize(price) });
  const own = multiply(remainingOf(before), before?.price ?? "0");
  const open = [...looked?.orders.values() ?? []].filter((row) =>
    row.side === "buy" && isOpen(row) && row.lists.includes("orders.today")
  );
  const openValue = add(
    "0",
    ...open.map((row) =>
      multiply(multiply(remainingOf(row), row.price ?? "0"), multiplierOf(market, row.symbol ?? "") ?? "1")
    ),
  );
  const frozen = open.length === 0 ? "0" : (await client.account.funds({ market })).frozenByOrders ?? "0";
  const unfrozen = compare(openValue, frozen) > 0 ? subtract(openValue, frozen) : "0";
  const pending = (await check.intents()).filter(({ kind, state, params }) => {
    const terms = params as OrderParams;
    return kind === "place" && pendingStates.includes(state) && terms.side === "buy" &&
      terms.market === market;
  }).map(({ operation, params, reference }) => {
    const terms = params as OrderParams;
    const factor = multiplierOf(marketOf(operation, terms), terms.symbol ?? "") ?? "1";
    return multiply(multiply(terms.quantity ?? "0", priceOf(terms) ?? reference ?? price), factor);
  });
  const power = subtract(add(multiply(most, each), multiply(own, multiplier)), add(unfrozen, ...pending));
  if (compare(multiply(quantity, each), power) <= 0) return;
  const affordable = compare(power, "0") <= 0 ? "0" : divide(power, each, 0, "down");
  const whole = toStep(affordable, await check.lot() ?? "1", "down");
  throw check.refuse(
    "buyingPower",
    `it buys ${quantity} of "${symbol}", and the funds pay for ${affordable} at ${normalize(price)}`,
    isZero(whole) ? "no quantity can be bought" : `the largest quantity is ${round(whole, 0, "exact")}`,
  );
}

async function checkContracts(check: Check): Promise<void> {
  const { symbol, side, quantity, before } = check.order;
  const { maxBuy, maxSell } = await check.planned.client.futures.maxQuantity({ symbol });
  const most = add((isBuy(side) ? maxBuy : maxSell) ?? "0", remainingOf(before));
  if (compare(quantity, most) <= 0) return;
  throw check.refuse(
    "buyingPower",
    `it is for ${quantity} contracts of "${symbol}", and the broker allows ${normalize(most)}`,
    isZero(most) ? "no quantity is allowed" : `the largest quantity is ${normalize(most)}`,
  );
}
