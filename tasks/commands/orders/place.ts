/**
 * Runs `hsgate buy` and `hsgate sell`. Shows any order write in words, asks, and prints what was sent.
 *
 * @module
 */
import { securityOf } from "../../../lib/client/security.ts";
import { isDecimal, normalize } from "../../../lib/decimal.ts";
import { passRules } from "../../../lib/desk/guards/rules.ts";
import type { IntentKind } from "../../../lib/desk/intent.ts";
import type { Market } from "../../../lib/dictionaries/market.ts";
import { conditionalTypes } from "../../../lib/dictionaries/order_type.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import type { PlaceInput } from "../orders.ts";
import { checkParams } from "../shared/named_operation.ts";
import { confirm, needAnswer } from "../shared/ask.ts";
import { type OpenDesk, openDesk } from "../shared/desk.ts";
import { headline, type OrderParams, orderWords } from "./words.ts";

/** Buys shares. */
export const buy = (input: PlaceInput): Promise<number> => place("buy", input);
/** Sells shares. */
export const sell = (input: PlaceInput): Promise<number> => place("sell", input);

async function place(side: "buy" | "sell", { args, flags, host }: PlaceInput): Promise<number> {
  const operation = findOperation("orders.place")!; // the catalogue has this operation
  const params = paramsOf(side, args, flags);
  checkParams(operation, params);
  needAnswer("yes", flags.yes, host);
  await using open = await openDesk(flags, { host, command: side, writes: true });
  await confirmOrder(operation, params, { open, host, isAsked: !flags.yes });
  await open.trader.call(operation, params, { signal: host.signal });
  printSent(open, flags.json, host);
  return 0;
}

const byEnding: readonly (readonly [RegExp, Market])[] = [
  [/\.HK$/, "hk"],
  [/\.SH$/, "shanghai"],
  [/\.SZ$/, "shenzhen"],
];

/** Returns the parameters of the order. The operation checks them. */
function paramsOf(
  side: "buy" | "sell",
  [quantity = "", given = ""]: readonly string[],
  flags: PlaceInput["flags"],
): OrderParams {
  const symbol = given.toUpperCase();
  const { type: kind } = securityOf(symbol);
  if (/future|option/.test(kind)) {
    throw new UsageError(
      `Cannot ${side} "${symbol}": it is of the type "${kind}"; place its orders with: hsgate call ${
        kind.includes("future") ? "futures.place" : "orders.place"
      }`,
    );
  }
  if (/^\d{1,4}\.HK$/.test(symbol)) {
    throw new UsageError(
      `Cannot ${side} "${symbol}": Hong Kong codes have five digits: ${symbol.padStart(8, "0")}`,
    );
  }
  const market = byEnding.find(([ending]) => ending.test(symbol))?.[1] ?? "us";
  const { limit, type, "market-order": isMarket, trigger, "valid-days": days } = flags;
  if (isMarket && (limit !== undefined || type !== undefined)) {
    throw new UsageError(
      `Cannot use --market-order with --${limit === undefined ? "type" : "limit"}: use one of them`,
    );
  }
  if (isMarket && market !== "us") {
    throw new UsageError(
      `Cannot send a market order to "${market}": the market has none; give a price with --limit`,
    );
  }
  if (limit === undefined && type === undefined && !isMarket) {
    throw new UsageError(
      `Cannot ${side} ${symbol} without a price: give --limit PRICE${
        market === "us" ? " or --market-order" : ""
      }`,
    );
  }
  const orderType = isMarket ? "market" : type ?? "limit";
  const isConditional = conditionalTypes.some((each) => each === orderType);
  if (isConditional && (trigger === undefined || days === undefined)) {
    throw new UsageError(
      `Cannot ${side} with --type ${orderType}: give --trigger VALUE and --valid-days DAYS`,
    );
  }
  const price = limit ?? (isConditional ? undefined : "0"); // an order without a limit price has the price zero
  return {
    market,
    symbol,
    side,
    quantity: digitsOf(quantity),
    orderType,
    ...price !== undefined && { price: digitsOf(price) },
    ...flags.hours !== undefined && { tradingHours: flags.hours },
    ...trigger !== undefined && { triggerValue: trigger },
    ...days !== undefined && { validDays: daysOf(days) },
    ...flags["trail-by"] !== undefined && { trailBy: flags["trail-by"] },
    ...flags.display !== undefined && { displayQuantity: flags.display },
  };
}

/**
 * Returns a number in the form in which it is sent. So the description of the order shows `100` for `1e2`. The
 * operation checks everything else.
 */
const digitsOf = (given: string): string => /e/i.test(given) && isDecimal(given) ? normalize(given) : given;

function daysOf(given: string): number {
  if (/^([1-9]\d?|100)$/.test(given)) return Number(given);
  throw new UsageError(`Cannot use --valid-days "${given}": write a whole number from 1 to 100`);
}

/**
 * Shows an order write in words. With `isAsked`, checks the guard rails and asks; without it, shows only one line.
 *
 * @throws {BrokerError} If a guard rail rejects the write, with the code `guard`. Then the function does not ask.
 * @throws {DeclinedError} If the answer is no.
 */
export async function confirmOrder(
  operation: AnyOperation,
  params: OrderParams,
  { open, host, isAsked }: {
    open: Pick<OpenDesk, "client" | "account" | "checkOf">;
    host: Host;
    isAsked: boolean;
  },
): Promise<void> {
  if (!isAsked) {
    host.note(`hsgate: ${plain(headline(operation, params))}`);
    return;
  }
  const check = operation.order === "cancel" ? undefined : await open.checkOf(operation, params);
  for (const line of await orderWords(operation, params, { ...open, check, host })) host.note(line);
  if (check !== undefined) await passRules(check);
  await confirm(questions[operation.order ?? "place"], host);
}

const questions = {
  place: "Send this order?",
  amend: "Send this amendment?",
  cancel: "Send this cancellation?",
} as const satisfies Readonly<Record<IntentKind, string>>;

const nouns: Readonly<Record<IntentKind, string>> = {
  place: "order",
  amend: "amendment of order",
  cancel: "cancellation of order",
};

/**
 * Prints the intents that a command sent.
 *
 * @param errors Errors of writes that failed, for JSON only. The command has already printed them as text.
 */
export function printSent(
  open: OpenDesk,
  asJson: boolean | undefined,
  host: Host,
  errors: readonly unknown[] = [],
): void {
  const intents = open.sent();
  if (asJson) {
    const shown = [...intents.map(({ id, state, orderIds }) => ({ intent: id, state, orderIds })), ...errors];
    return host.out(JSON.stringify(shown.length === 1 ? shown[0] : shown));
  }
  for (const { id, kind, state, orderIds } of intents) {
    const orders = orderIds.length === 0 ? "" : `${nouns[kind]} ${orderIds.join(", ")}: `;
    host.out(`${orders}${state} (intent ${id})`);
  }
}
