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
import { ALGO_LIST, childrenOfAlgo, isSameSymbol, readLists, type SeenOrder } from "../broker_lists.ts";
import type { Check, Rule } from "./check.ts";
import {
  amountText,
  estimateFees,
  filledOf,
  isOpen,
  lastOf,
  most,
  multiplierOf,
  type Order,
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
    const unsent = check.order.isConditional ? "0" : sumOf((await unsentSalesOf(check)).map(sizeOf));
    const sellable = most(held, "0");
    if (side !== "short-open" && compare(quantity, sellable) <= 0) return;
    throw check.refuse(
      "allowShort",
      side === "short-open"
        ? `it sells "${symbol}" short`
        : `it sells ${quantity} of "${symbol}"${
          isZero(sellable) ? "" : `, and only ${normalize(sellable)} can be sold`
        }${isZero(unsent) ? "" : `, and open algorithmic orders will sell another ${normalize(unsent)}`}`,
      side === "short-open"
        ? 'no quantity is allowed while allowShort is "refuse"'
        : isZero(sellable)
        ? "nothing can be sold"
        : `the largest quantity is ${normalize(sellable)}`,
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
    const unsent = (await unsentSalesOf(check)).map(sizeOf);
    return subtract(add(row?.sellableQuantity ?? "0", own), sumOf([...unsent, ...pending]));
  });
}

/** The part of an open algorithmic order that the algorithmic order has not sent to the market yet. */
interface UnsentRest {
  orderId: string;
  symbol: string | undefined;
  side: string | undefined;
  quantity: Decimal;
  /** Price to count; absent if neither the order nor the broker has a price. */
  price: Decimal | undefined;
}

const sizeOf = ({ quantity }: UnsentRest): Decimal => quantity;

const buys = ({ side }: { side?: string | undefined }): boolean => side !== undefined && isBuy(side);

/** Returns the unsent rests of the open algorithmic orders that sell the listing of the order. */
const unsentSalesOf = async (check: Check): Promise<UnsentRest[]> =>
  (await unsentOf(check)).filter(({ side, symbol }) =>
    side === "sell" && isSameSymbol(symbol, check.order.symbol)
  );

/**
 * Returns the unsent rests of the open algorithmic orders of the order's market. The broker's numbers contain only the
 * child orders that are in the market.
 */
function unsentOf(check: Check): Promise<UnsentRest[]> {
  return check.once("unsent", async () => {
    const { market } = check.order;
    if (market === "futures") return [];
    const shown = await listedOrders(check);
    const listed = [...shown.values()].filter((row) => row.lists.includes(ALGO_LIST) && isOpen(row));
    const rests: UnsentRest[] = [];
    for (const algo of [...listed, ...await unlistedAlgos(check, { market, shown })]) {
      const quantity = await unsentQuantity(check, algo, { market, shown });
      if (isZero(quantity)) continue;
      const { orderId, symbol, side } = algo;
      rests.push({ orderId, symbol, side, quantity, price: await priceOfAlgo(check, algo, market) });
    }
    return rests;
  });
}

/** The terms of an algorithmic order that its unsent rest depends on. */
interface Algo extends Pick<SeenOrder, "orderId" | "symbol" | "side" | "quantity" | "filled" | "price"> {
  orderType?: string | undefined;
  /** Price at which the limits valued the order, if it is not the order's own price. */
  reference?: Decimal | undefined;
}

/** A market, and the orders that the broker's lists show there. */
interface Shown {
  market: Exclude<Order["market"], "futures">;
  shown: ReadonlyMap<string, SeenOrder>;
}

/** Returns the open algorithmic orders of this store that the broker's lists do not show yet. */
async function unlistedAlgos(check: Check, { market, shown }: Shown): Promise<Algo[]> {
  const placed = (await check.intents()).filter(({ operation, state }) =>
    operation === "algo.place" && placedStates.includes(state)
  );
  return placed.flatMap((intent) => {
    const { orderIds: [orderId], params, filled, approved: { reference } } = intent;
    const terms = params as OrderParams; // the operation's schema has checked them
    const isMissing = orderId !== undefined && !shown.has(orderId) && terms.market === market;
    if (!isMissing || !check.isOfToday(intent)) return [];
    const { symbol, side, quantity, price, orderType } = terms;
    return [{ orderId, symbol, side, quantity, price, orderType, filled, reference }];
  });
}

/** Returns the quantity of an algorithmic order that is neither filled nor in an open child order. */
async function unsentQuantity(check: Check, algo: Algo, { market, shown }: Shown): Promise<Decimal> {
  const { orderId, symbol, side, quantity = "0", filled } = algo;
  const mayBeChild = (row: SeenOrder) =>
    row.lists.includes("orders.today") && isOpen(row) && row.side === side &&
    isSameSymbol(row.symbol, symbol);
  const date = check.today(check.order);
  const childIds = [...shown.values()].some(mayBeChild)
    ? await childrenOfAlgo(check.planned.client, { orderId, market, date }) ?? []
    : [];
  const open = childIds.map((id) => shown.get(id)).filter((row) => row !== undefined && mayBeChild(row));
  return most(subtract(quantity, sumOf([filled, ...open.map(remainingOf)])), "0");
}

/** Returns the price at which the rest of an algorithmic order counts. */
async function priceOfAlgo(
  check: Check,
  { symbol, orderType = "limit", price, reference }: Algo,
  market: Shown["market"],
): Promise<Decimal | undefined> {
  const own = ownPriceOf({ orderType, ...price !== undefined && { price } }) ?? reference;
  if (own !== undefined || symbol === undefined) return own ?? price;
  return lastOf(await check.quoteOf({ symbol, market })) ?? price;
}

/** States of intents whose order is at the broker and has not ended. */
const placedStates: readonly string[] = ["acknowledged", "working", "part-filled"];

/** Returns the orders of the order's market in the broker's lists, with the algorithmic orders. */
function listedOrders(check: Check): Promise<ReadonlyMap<string, SeenOrder>> {
  return check.once("listed orders", async () => {
    const { order: { market }, planned: { client, reading } } = check;
    if (reading?.lists.includes("orders.today")) return reading.orders;
    // An amendment of an algorithmic order need not name its market, so the lists of the market were not read.
    const lists = [ALGO_LIST, "orders.today"];
    const place = { market, lists, optional: [ALGO_LIST] };
    return (await readLists(client, place, { now: () => check.deps.machine.now() })).orders;
  });
}

/** A new order of this store that the broker's numbers may not reflect yet. */
interface PendingOrder {
  params: OrderParams;
  /** Price to use if the order has no price of its own. */
  reference: Decimal | undefined;
}

/** Returns the orders of the given sides that the broker's numbers may not reflect yet. */
async function pendingOf(check: Check, ...sides: OrderParams["side"][]): Promise<PendingOrder[]> {
  const placed = (await check.intents()).filter(({ kind, state }) =>
    kind === "place" && pendingStates.includes(state)
  );
  // The operation's schema has checked the parameters.
  return placed.map(({ params, approved: { reference } }) => ({ params: params as OrderParams, reference }))
    .filter(({ params }) => sides.includes(params.side));
}

/** Requires that the account's funds, or its margin for futures, cover the order. */
export const buyingPower: Rule = {
  name: "buyingPower",
  about: "an order that the account's buying power does not cover, according to the broker",
  async check(check) {
    const { market, side, isConditional } = check.order;
    if (market === "futures") return await checkContracts(check);
    // A conditional order needs its money only when it is triggered.
    if (!isBuy(side) || isConditional) return;
    const needed = subtract(check.order.quantity, filledOf(check.order));
    if (side === "short-close" && compare(needed, await closableOf(check)) <= 0) return;
    await checkFunds(check);
  },
};

/** Returns how much of a short position no open order buys back yet. The proceeds of its sale pay for that. */
async function closableOf(check: Check): Promise<Decimal> {
  const { order: { market, symbol, before }, planned: { client } } = check;
  if (market === "futures") return "0";
  const isSame = (each: { symbol?: string | undefined }) => isSameSymbol(each.symbol, symbol);
  const held = (await client.account.holdings({ market })).find(isSame)?.quantity ?? "0";
  const open = [...(await listedOrders(check)).values()].filter((row) =>
    isSame(row) && buys(row) && isOpen(row) && row.lists.includes("orders.today")
  ).map(remainingOf);
  const unsent = (await unsentOf(check)).filter((each) => isSame(each) && buys(each)).map(sizeOf);
  const pending = (await pendingOf(check, "buy", "short-close")).filter(({ params }) => isSame(params))
    .map(({ params }) => params.quantity ?? "0");
  return subtract(remainingOf(before), sumOf([held, ...open, ...unsent, ...pending]));
}

/**
 * Checks that the account can pay for the order. The broker's buying power excludes the funds that it has frozen for
 * open orders of all programs. This check also subtracts open orders for which the broker has not frozen funds; these
 * include the parts that open algorithmic orders have not sent yet. It also subtracts orders that the buying power may
 * not reflect yet. All of them are subtracted with their fees. The broker does not publish whether its largest quantity
 * leaves room for fees, so the check adds fees to the cost of that quantity.
 */
async function checkFunds(check: Check): Promise<void> {
  const { order: { market, symbol, quantity, before }, planned: { client } } = check;
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
  const { quantity: maxBuy } = await client.account.maxBuy({ market, symbol, price: normalize(price) });
  const own = costOf(remainingOf(before), before?.price);
  const filled = filledOf(check.order);
  const needed = costOf(subtract(quantity, filled));
  // The proceeds of a short sale pay for orders that only close the position.
  const unsent = (await unsentOf(check)).filter(({ side }) => side === "buy");
  const unpriced = unsent.find((each) => each.price === undefined);
  if (unpriced !== undefined) {
    throw check.refuse(
      "buyingPower",
      `the algorithmic order ${unpriced.orderId} still buys ${normalize(unpriced.quantity)} of "${
        unpriced.symbol ?? ""
      }", and the broker sent no price for it`,
      "try again later",
    );
  }
  const open: { quantity: Decimal; price?: Decimal | undefined; symbol: string | undefined }[] = [
    ...[...(await listedOrders(check)).values()].filter((row) =>
      row.side === "buy" && isOpen(row) && row.lists.includes("orders.today")
    ).map((row) => ({ ...row, quantity: remainingOf(row) })),
    ...unsent,
  ];
  const frozen = open.length === 0 ? "0" : (await client.account.funds({ market })).frozenByOrders ?? "0";
  const openOf = (worth: typeof costOf) =>
    sumOf(open.map((row) => worth(row.quantity, row.price ?? "0", row.symbol)));
  const unfrozen = compare(openOf(valueOf), frozen) > 0 ? subtract(openOf(costOf), frozen) : "0";
  const pending = (await pendingOf(check, "buy")).filter(({ params }) => params.market === market)
    .map(({ params, reference }) =>
      costOf(params.quantity ?? "0", ownPriceOf(params) ?? reference, params.symbol)
    );
  const power = subtract(add(costOf(maxBuy), own), sumOf([unfrozen, ...pending]));
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
    } with fees, and the account can pay ${compare(power, "0") < 0 ? "0" : amountText(power)}${
      unsent.length === 0
        ? ""
        : `, and open algorithmic orders will buy for another ${
          amountText(sumOf(unsent.map((each) => costOf(each.quantity, each.price, each.symbol))))
        }`
    }`,
    isZero(largest) ? "no quantity can be bought" : `the largest quantity is ${round(largest, 0, "exact")}`,
  );
}

async function checkContracts(check: Check): Promise<void> {
  const { symbol, side, quantity, before } = check.order;
  const { maxBuy, maxSell } = await check.planned.client.futures.maxQuantity({ symbol });
  const allowed = add((isBuy(side) ? maxBuy : maxSell) ?? "0", remainingOf(before), filledOf(check.order));
  if (compare(quantity, allowed) <= 0) return;
  throw check.refuse(
    "buyingPower",
    `it is for ${quantity} contracts of "${symbol}", and the broker allows ${normalize(allowed)}`,
    isZero(allowed) ? "no quantity is allowed" : `the largest quantity is ${normalize(allowed)}`,
  );
}
