/**
 * Guard rails of the account's own limits: whether orders are allowed, for which listings, how often, and up to which
 * value.
 *
 * @module
 */
import type { Amounts } from "../../client/limits.ts";
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
  currencyOf,
  lastOf,
  least,
  marketOf,
  most,
  multiplierOf,
  type Order,
  type OrderParams,
  ownPriceOf,
} from "./order.ts";

const MINUTE_MS = 60_000;

/** Requires that the account may trade. */
export const liveTrading: Rule = {
  name: "liveTrading",
  about:
    "`allow` or `refuse`: whether orders may be sent. With either value, commands and scripts may cancel; a recipe needs `allow` to cancel",
  checksEveryWrite: true,
  check(check) {
    if (check.limits.liveTrading) return;
    throw check.refuse("liveTrading", "live trading is not allowed", 'set liveTrading to "allow"');
  },
};

/** Limits how often the account places and amends orders. */
export const maxOrdersPerMinute: Rule = {
  name: "maxOrdersPerMinute",
  about: "orders and amendments in any 60 seconds",
  checksEveryWrite: true,
  async check(check) {
    const { maxOrdersPerMinute: most } = check.limits;
    if (most === undefined) return;
    const now = check.deps.machine.now();
    const recent = (await check.intents()).map(({ sentAt }) => sentAt ?? now)
      .filter((at) => at > now - MINUTE_MS).sort((a, b) => a - b);
    if (recent.length < most) return;
    const freeAt = recent[recent.length - most]! + MINUTE_MS; // there are at least `most`
    throw check.refuse(
      "maxOrdersPerMinute",
      `it would be order ${recent.length + 1} of the last 60 s, and ${most} orders are allowed`,
      `the next order may be sent in ${Math.ceil((freeAt - now) / 1000)} s`,
    );
  },
};

/** Allows only listings that a person has named. */
export const allowedSymbols: Rule = {
  name: "allowedSymbols",
  about: "listings that may be traded, such as `00700.HK, AAPL`",
  check(check) {
    const { limits: { allowedSymbols }, order: { symbol } } = check;
    if (allowedSymbols === undefined || allowedSymbols.includes(symbol)) return;
    throw check.refuse(
      "allowedSymbols",
      `"${symbol}" is not in the list`,
      allowedSymbols.length === 0 ? "no listing is allowed" : `allowed are ${allowedSymbols.join(", ")}`,
    );
  },
};

/** Name of a value limit. */
type ValueLimit = "maxOrderValue" | "maxSymbolValue" | "maxDayValue";

const valueRule = (name: ValueLimit, about: string): Rule => ({
  name,
  about,
  async check(check) {
    const limit = check.limits[name];
    if (limit !== undefined) await checkValue(check, name, limit);
  },
});

/** Limits the value of the order. */
export const maxOrderValue = valueRule(
  "maxOrderValue",
  "value of one order, such as `500000 HKD, 60000 USD`",
);
/** Limits the value of the day's orders of the listing. */
export const maxSymbolValue = valueRule("maxSymbolValue", "value of a day's orders of one listing");
/** Limits the value of the day's orders. */
export const maxDayValue = valueRule("maxDayValue", "value of a day's orders");

/** Checks a value limit: adds this order's value to the values of today's earlier orders that count for the limit. */
async function checkValue(check: Check, rule: ValueLimit, limit: Amounts): Promise<void> {
  const { market, symbol, quantity } = check.order;
  const currency = currencyOf(market, symbol);
  const multiplier = multiplierOf(market, symbol);
  if (multiplier === undefined) {
    throw check.refuse(
      rule,
      `the reference data do not say what one "${symbol}" is worth`,
      'trade it only with the value limits "off"',
    );
  }
  const ownPrice = await check.price(rule);
  // The limit of a single order does not depend on other orders.
  const chains = rule === "maxOrderValue" ? [] : await chainsOf(check, rule);
  const chain = check.planned.operation.order === "amend"
    ? chains.find(({ orderIds }) => orderIds.has(check.params.orderId ?? ""))
    : undefined;
  const own = multiply(multiply(quantity, ownPrice), multiplier);
  const amendment = {
    orderId: check.params.orderId ?? "",
    quantity,
    price: ownPrice,
    before: check.order.before?.quantity,
  };
  const grown = chain === undefined ? undefined : grow(chain, amendment);
  const added = chain === undefined || grown === undefined
    ? own
    : subtract(multiply(multiply(grown.quantity, grown.price), multiplier), valueOf(chain));
  const most = limit[currency];
  if (most === undefined) {
    throw check.refuse(
      rule,
      `the limit has no amount in ${currency}, the currency of "${symbol}"`,
      `the limit has amounts in ${
        Object.keys(limit).join(", ") || "no currency"
      }; hsgate converts no currency`,
    );
  }
  const isCounted = (each: Chain) =>
    rule === "maxSymbolValue"
      ? isSameSymbol(each.symbol, symbol)
      : currencyOf(each.market, each.symbol) === currency;
  const before = sumOf(chains.filter(isCounted).map(valueOf));
  const total = add(before, added);
  if (compare(total, most) <= 0) return;
  // An amended order counts with its highest price. `before` includes the earlier value of this order, so that value is
  // available again. If the broker has split the order, the value of its other parts is not available.
  const price = grown?.price ?? ownPrice;
  const room = add(subtract(most, before), chain === undefined ? "0" : valueOf(chain));
  const others = chain === undefined ? "0" : subtract(chain.quantity, countedOf(chain, amendment));
  const left = subtract(room, multiply(multiply(others, price), multiplier));
  const fitting = compare(left, "0") <= 0 ? "0" : divide(left, multiply(price, multiplier), 0, "down");
  const whole = toStep(fitting, await check.lot() ?? "1", "down");
  throw check.refuse(
    rule,
    `the value would be ${amountText(total)} ${currency}${
      isZero(before) ? "" : `, with ${amountText(before)} of earlier orders of this day`
    }, and at most ${amountText(most)} ${currency} are allowed`,
    isZero(whole)
      ? `no quantity fits at the price ${normalize(price)}`
      : `the nearest quantity at the price ${normalize(price)} is ${round(whole, 0, "exact")}`,
  );
}

/** An order with its amendments, and the quantity and price that the limits count for it. */
interface Chain {
  orderIds: Set<string>;
  /** The largest quantity of each amended order. If the broker has split the order, each part is amended separately. */
  amended: Map<string, Decimal>;
  market: Order["market"];
  symbol: string;
  orderType: string | undefined;
  quantity: Decimal;
  price: Decimal;
}

/**
 * Returns today's orders with the quantity and price that the limits count. An order counts in full even if it is
 * cancelled or expires. An order is left out only if it never reached the broker, or if the broker rejected all of it.
 * An amended order counts with its largest quantity and its highest price.
 */
function chainsOf(check: Check, rule: ValueLimit): Promise<Chain[]> {
  return check.once("chains", async () => {
    const chains: Chain[] = [];
    for (const intent of await check.intents()) {
      const { kind, operation, params, state, orderIds, filled, approved } = intent;
      // If the broker has split an order, it may reject one part and fill another.
      if (state === "rejected" && isZero(filled) || !check.isOfToday(intent)) continue;
      const terms = params as OrderParams;
      const before = kind === "amend"
        ? chains.find((each) => each.orderIds.has(terms.orderId ?? ""))
        : undefined;
      const symbol = terms.symbol ?? before?.symbol ?? approved.symbol;
      const quantity = terms.quantity ?? before?.quantity ?? approved.quantity;
      if (symbol === undefined || quantity === undefined) continue; // it changes neither quantity nor price
      const market = marketOf(operation, { ...terms, symbol });
      const orderType = terms.orderType ?? before?.orderType;
      const price = approved.reference ?? ownPriceOf({ ...terms, orderType }) ?? before?.price ??
        lastOf(await check.quoteOf({ symbol, market }));
      if (price === undefined) {
        throw check.unchecked(rule, `an order of "${symbol}" without a price is being sent`);
      }
      if (before !== undefined) {
        const amendment = { orderId: terms.orderId ?? "", quantity, price, before: intent.earlier?.quantity };
        const largest = most(countedOf(before, amendment), quantity);
        Object.assign(before, grow(before, amendment));
        for (const id of [amendment.orderId, ...orderIds]) {
          before.orderIds.add(id);
          // If the broker has split the amended order, the quantities of its parts are unknown.
          if (orderIds.length > 1) before.amended.delete(id);
          else before.amended.set(id, largest);
        }
      } else {
        const ids = new Set([...orderIds, ...kind === "amend" && terms.orderId ? [terms.orderId] : []]);
        chains.push({ orderIds: ids, amended: new Map(), market, symbol, orderType, quantity, price });
      }
    }
    return chains;
  });
}

/** An amendment of an order, or of one part of it if the broker has split it. */
interface Amendment {
  orderId: string;
  quantity: Decimal;
  price: Decimal;
  /** Quantity that the amended order had before; absent if it is unknown. */
  before: Decimal | undefined;
}

/** Returns how much of an order's counted quantity belongs to the amended order: all of it, or one part. */
function countedOf({ orderIds, amended, quantity }: Chain, { orderId, before }: Amendment): Decimal {
  const known = amended.get(orderId);
  if (known !== undefined) return known;
  // If the quantity of the part is unknown, all of the amendment is added.
  return orderIds.size > 1 ? least(before ?? "0", quantity) : quantity;
}

/** Returns the quantity and price that the limits count for an order after an amendment. */
const grow = (chain: Chain, amendment: Amendment): Pick<Chain, "quantity" | "price"> => ({
  quantity: add(chain.quantity, most(subtract(amendment.quantity, countedOf(chain, amendment)), "0")),
  price: most(chain.price, amendment.price),
});

const valueOf = ({ quantity, price, market, symbol }: Chain): Decimal =>
  multiply(multiply(quantity, price), multiplierOf(market, symbol) ?? "1");
