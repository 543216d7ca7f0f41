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
  sumOf,
  toStep,
} from "../../decimal.ts";
import { isSameSymbol } from "../broker_lists.ts";
import type { Check, Rule } from "./check.ts";
import {
  amountText,
  estimateFees,
  filledOf,
  isOpen,
  multiplierOf,
  type OrderParams,
  ownPriceOf,
  pendingStates,
  remainingOf,
} from "./order.ts";
import { isBuy } from "../terms.ts";

/** Requires that the account owns what the order sells, unless short sales are allowed. */
export const allowShort: Rule = {
  name: "allowShort",
  about: "`allow` or `refuse`: whether an order may sell more than the broker says can be sold",
  async check(check) {
    const { symbol, side, quantity } = check.order;
    if (isBuy(side) || check.limits.allowShort) return;
    const held = add(await sellableOf(check), filledOf(check.order));
    const most = compare(held, "0") > 0 ? held : "0";
    if (side !== "short-open" && compare(quantity, most) <= 0) return;
    throw check.refuse(
      "allowShort",
      side === "short-open"
        ? `it sells "${symbol}" short`
        : `it sells ${quantity} of "${symbol}"${
          isZero(most) ? "" : `, and only ${normalize(most)} can be sold`
        }`,
      isZero(most) ? "nothing can be sold" : `the largest quantity is ${normalize(most)}`,
    );
  },
};

/**
 * Returns how much an order may sell without selling short. The broker's number may not reflect this store's newest
 * sell orders yet, so they are subtracted.
 */
export function sellableOf(check: Check): Promise<Decimal> {
  return check.once("sellable", async () => {
    const { order: { market, symbol, isConditional, before }, planned: { client, reading } } = check;
    const sales = (await pendingOf(check, "sell")).filter(({ params }) =>
      isSameSymbol(params.symbol, symbol)
    );
    const pending = sales.map(({ params }) => params.quantity ?? "0");
    const own = remainingOf(before);
    if (market === "futures") {
      const { holdings } = await client.futures.holdings({});
      const position = holdings.find((row) => isSameSymbol(row.symbol, symbol))?.quantity ?? "0";
      const open = [...reading?.orders.values() ?? []]
        .filter((each) => isSameSymbol(each.symbol, symbol) && each.side === "sell" && isOpen(each))
        .map(remainingOf);
      return subtract(add(position, own), sumOf([...open, ...pending]));
    }
    const row = (await client.account.holdings({ market })).find((each) => isSameSymbol(each.symbol, symbol));
    // A conditional order may sell shares that another open order also sells, because the other order may end first.
    if (isConditional) return row?.quantity ?? row?.sellableQuantity ?? "0";
    return subtract(add(row?.sellableQuantity ?? "0", own), sumOf(pending));
  });
}

/** A new order of this store that the broker's numbers may not reflect yet. */
interface PendingOrder {
  params: OrderParams;
  /** Price to use if the order has no price of its own. */
  reference: Decimal | undefined;
}

/** Returns the orders of one side that the broker's numbers may not reflect yet. */
async function pendingOf(check: Check, side: "buy" | "sell"): Promise<PendingOrder[]> {
  const placed = (await check.intents()).filter(({ kind, state }) =>
    kind === "place" && pendingStates.includes(state)
  );
  // The operation's schema has checked the parameters.
  return placed.map(({ params, approved: { reference } }) => ({ params: params as OrderParams, reference }))
    .filter(({ params }) => params.side === side);
}

/** Requires that the account's funds, or its margin for futures, cover the order. */
export const buyingPower: Rule = {
  name: "buyingPower",
  about: "an order that the account's buying power does not cover, according to the broker",
  async check(check) {
    const { market, side, isConditional } = check.order;
    if (market === "futures") return await checkContracts(check);
    // A conditional order needs its money only when it is triggered.
    if (side === "buy" && !isConditional) await checkFunds(check);
  },
};

/**
 * Checks that the account can pay for the order. The broker's buying power excludes the funds that it has frozen for
 * open orders of all programs. This check also subtracts open orders for which the broker has not frozen funds, and
 * orders that the buying power may not reflect yet. Both are subtracted with their fees. The broker does not publish
 * whether its largest quantity leaves room for fees, so the check adds fees to the cost of that quantity.
 */
async function checkFunds(check: Check): Promise<void> {
  const { order: { market, symbol, quantity, before }, planned: { client, reading } } = check;
  if (market === "futures") return;
  const price = await check.price("buyingPower");
  const date = check.today(check.order);
  const valueOf = (units: Decimal, at: Decimal = price, code: string = symbol): Decimal =>
    multiply(multiply(units, at), multiplierOf(market, code) ?? "1");
  const costOf: typeof valueOf = (units, at = price, code = symbol) =>
    isZero(units) || isZero(at) ? "0" : add(
      valueOf(units, at, code),
      estimateFees({ market, symbol: code, isBuy: true, price: at, quantity: units, date }) ?? "0",
    );
  const { quantity: most } = await client.account.maxBuy({ market, symbol, price: normalize(price) });
  const own = costOf(remainingOf(before), before?.price);
  const filled = filledOf(check.order);
  const needed = costOf(subtract(quantity, filled));
  const open = [...reading?.orders.values() ?? []].filter((row) =>
    row.side === "buy" && isOpen(row) && row.lists.includes("orders.today")
  );
  const frozen = open.length === 0 ? "0" : (await client.account.funds({ market })).frozenByOrders ?? "0";
  const openOf = (worth: typeof costOf) =>
    sumOf(open.map((row) => worth(remainingOf(row), row.price ?? "0", row.symbol)));
  const unfrozen = compare(openOf(valueOf), frozen) > 0 ? subtract(openOf(costOf), frozen) : "0";
  const pending = (await pendingOf(check, "buy")).filter(({ params }) => params.market === market)
    .map(({ params, reference }) =>
      costOf(params.quantity ?? "0", ownPriceOf(params) ?? reference, params.symbol)
    );
  const power = subtract(add(costOf(most), own), sumOf([unfrozen, ...pending]));
  if (compare(needed, power) <= 0) return;
  const lot = await check.lot() ?? "1";
  const fitting = (room: Decimal) =>
    compare(room, "0") <= 0 ? "0" : toStep(divide(room, valueOf("1"), 0, "down"), lot, "down");
  // Subtract the fees of the quantity that would fit without fees. Fewer shares never have higher fees, so the result
  // fits.
  let largest = fitting(subtract(power, subtract(costOf(fitting(power)), valueOf(fitting(power)))));
  while (compare(costOf(add(largest, lot)), power) <= 0) largest = add(largest, lot);
  largest = add(largest, filled);
  throw check.refuse(
    "buyingPower",
    `it buys ${quantity} of "${symbol}" at ${normalize(price)} for about ${
      amountText(needed)
    } with fees, and the account can pay ${compare(power, "0") < 0 ? "0" : amountText(power)}`,
    isZero(largest) ? "no quantity can be bought" : `the largest quantity is ${round(largest, 0, "exact")}`,
  );
}

async function checkContracts(check: Check): Promise<void> {
  const { symbol, side, quantity, before } = check.order;
  const { maxBuy, maxSell } = await check.planned.client.futures.maxQuantity({ symbol });
  const most = add((isBuy(side) ? maxBuy : maxSell) ?? "0", remainingOf(before), filledOf(check.order));
  if (compare(quantity, most) <= 0) return;
  throw check.refuse(
    "buyingPower",
    `it is for ${quantity} contracts of "${symbol}", and the broker allows ${normalize(most)}`,
    isZero(most) ? "no quantity is allowed" : `the largest quantity is ${normalize(most)}`,
  );
}
