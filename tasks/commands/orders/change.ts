/**
 * Runs `hsgate amend`, `hsgate cancel` and `hsgate cancel-all`.
 *
 * @module
 */
import { isZero } from "../../../lib/decimal.ts";
import type { Intent } from "../../../lib/desk/intent.ts";
import { ownedOrders } from "../../../lib/desk/queries.ts";
import { termsOf } from "../../../lib/desk/terms.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { conditionalTypes } from "../../../lib/dictionaries/order_type.ts";
import { BrokerError, OutcomeUnknownError } from "../../../lib/errors.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import { shellLine } from "../../../lib/shell_words.ts";
import { type ErrorData, errorData, report } from "../../terminal/error_report.ts";
import { exitCodeOf, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import type { AmendInput, CancelAllInput, CancelInput } from "../orders.ts";
import { confirm, needAnswer } from "../shared/ask.ts";
import { intentOf, marketOf, type OpenDesk, openDesk } from "../shared/desk.ts";
import { checkParams } from "../shared/named_operation.ts";
import { settingsOf } from "../shared/session.ts";
import { confirmOrder, printSent } from "./place.ts";
import { describeOrder, findOrder, headline, isAlgo, isOpen, type OrderParams } from "./words.ts";

type FoundOrder = Awaited<ReturnType<typeof foundOrder>>;

/** Finds an order at the broker. @throws {UsageError} If no list of today shows it. */
async function foundOrder(
  orderId: string,
  { open, market, verb, host }: {
    open: OpenDesk;
    market: string | undefined;
    /** What to do with the order. */
    verb: "amend" | "cancel";
    host: Host;
  },
) {
  const placed = await placedBy(open, orderId);
  const markets = market === undefined ? likelyMarkets(placed) : [marketOf(market)];
  const found = await findOrder(open.client, orderId, { markets, host });
  if (found?.order.symbol !== undefined) return { ...found, symbol: found.order.symbol };
  const contract = await futuresContractOf(open, orderId, host);
  if (contract !== undefined) {
    const example = shellLine([JSON.stringify({ orderId, symbol: contract })]);
    throw new UsageError(
      `Cannot ${verb} order "${orderId}": it is a futures order of "${contract}"; use: hsgate call futures.${verb}${
        verb === "cancel" ? ` ${example}` : ""
      }`,
    );
  }
  if (placed?.operation === "algo.place") {
    const example = shellLine([JSON.stringify({ orderId, market: termsOf(placed).market })]);
    throw new UsageError(
      `Cannot ${verb} order "${orderId}": it is an algorithmic order, and today's lists of ${
        markets.join(", ")
      } do not show it; use: hsgate call algo.${verb}${verb === "cancel" ? ` ${example}` : ""}`,
    );
  }
  throw new UsageError(
    `Cannot find order "${orderId}": today's lists of ${
      markets.join(", ")
    } do not show it; "orders" lists the orders of today`,
  );
}

/** Returns the contract of an order of today's futures orders; `undefined` if this list does not show the order. */
async function futuresContractOf(
  { client }: OpenDesk,
  orderId: string,
  host: Host,
): Promise<string | undefined> {
  try {
    const rows = await client.futures.ordersToday({}, { signal: host.signal });
    return rows.find((row) => row.orderId === orderId)?.symbol;
  } catch (error) {
    // For example, the account has no futures. The caller's message about the order helps more than this error.
    if (error instanceof BrokerError && !host.signal.aborted) return undefined;
    throw error;
  }
}

/** Returns the intent that placed an order; `undefined` if no intent of the store placed the order. */
async function placedBy({ store, account }: OpenDesk, orderId: string): Promise<Intent | undefined> {
  const owner = (await ownedOrders(store, account, 0)).get(orderId);
  return owner && await intentOf(store, owner.intent, "find");
}

/** Returns the market of the intent that placed an order; all markets if no intent of the store placed the order. */
function likelyMarkets(placed: Intent | undefined): Market[] {
  const market = placed && termsOf(placed).market;
  return market !== undefined && Market.has(market) ? [market] : [...Market.names];
}

const operationOf = (name: string) => findOperation(name)!; // called only with names of the catalogue

/** Amends an order. Terms that no flag names stay as they are. */
export async function amend({ args: [orderId = ""], flags, host }: AmendInput): Promise<number> {
  if (flags.quantity === undefined && flags.limit === undefined) {
    throw new UsageError("Cannot amend without a change: give --quantity, --limit or both");
  }
  needAnswer("yes", flags.yes, host);
  const operation = operationOf("orders.amend");
  await using open = await openDesk(flags, { host, command: "amend", writes: true });
  const { market, symbol, order } = await foundOrder(orderId, {
    open,
    market: flags.market,
    verb: "amend",
    host,
  });
  if (conditionalTypes.some((each) => each === order.orderType)) {
    throw new UsageError(
      `Cannot amend order "${orderId}": it is a conditional order; use: hsgate call orders.amend`,
    );
  }
  if (isAlgo(order)) {
    throw new UsageError(
      `Cannot amend order "${orderId}": it is an algorithmic order; use: hsgate call algo.amend`,
    );
  }
  if (!isOpen(order)) {
    throw new UsageError(`Cannot amend order "${orderId}": it has ended: ${plain(describeOrder(order))}`);
  }
  const params: OrderParams = {
    market,
    symbol,
    orderId,
    quantity: flags.quantity ?? order.quantity,
    price: flags.limit ?? order.price,
  };
  checkParams(operation, params);
  await confirmOrder(operation, params, { open, host, isAsked: !flags.yes });
  await open.trader.call(operation, params, { signal: host.signal });
  printSent(open, flags.json, host);
  return 0;
}

/** Returns the operation that cancels an order, and its parameters. */
function cancellationOf(found: FoundOrder): [operation: AnyOperation, params: OrderParams] {
  const { market, order: { orderId } } = found;
  return isAlgo(found.order)
    ? [operationOf("algo.cancel"), { orderId, market }]
    : [operationOf("orders.cancel"), cancelParams(found)];
}

/** Returns the parameters that cancel an ordinary or a conditional order. */
function cancelParams({ market, symbol, order }: FoundOrder): OrderParams {
  const isConditional = conditionalTypes.some((each) => each === order.orderType);
  return {
    market,
    symbol,
    orderId: order.orderId,
    ...isConditional && {
      orderType: order.orderType,
      ...order.quantity !== undefined && { quantity: order.quantity },
      ...order.price !== undefined && !isZero(order.price) && { price: order.price },
    },
  };
}

/**
 * Cancels orders, one after the other. If one cancellation fails, still sends the others.
 *
 * @throws {UsageError} If one of the orders is not found. Then no cancellation was sent.
 */
export async function cancel({ args, flags, host }: CancelInput): Promise<number> {
  needAnswer("yes", flags.yes, host);
  await using open = await openDesk(flags, { host, command: "cancel", writes: true });
  const found: FoundOrder[] = [];
  for (const orderId of new Set(args)) {
    found.push(await foundOrder(orderId, { open, market: flags.market, verb: "cancel", host }));
  }
  const live = found.filter(({ order }) => isOpen(order));
  let code = 0;
  const errors: { orderId: string; error: ErrorData }[] = [];
  for (const { order } of found) {
    const hasEnded = !isOpen(order);
    if (hasEnded && order.state === "filled") code = 1;
    const what = hasEnded ? "hsgate: nothing to cancel in order" : "Cancel order";
    host.note(`${what} ${order.orderId}: ${plain(describeOrder(order))}`);
  }
  const question = live.length === 1 ? "Send this cancellation?" : `Send ${live.length} cancellations?`;
  if (live.length > 0 && !flags.yes) {
    host.note(`  account  ${open.account}`);
    await confirm(question, host);
  }
  for (const each of live) {
    try {
      await open.trader.call(...cancellationOf(each), { signal: host.signal });
    } catch (error) {
      if (!(error instanceof BrokerError) || host.signal.aborted) throw error;
      report(error, undefined, host);
      errors.push({ orderId: each.order.orderId, error: errorData(error, undefined, host) });
      // No other problem may hide an unknown outcome.
      if (code === 0 || error instanceof OutcomeUnknownError) code = exitCodeOf(error);
    }
  }
  printSent(open, flags.json, host, errors);
  return code;
}

/** Cancels every order of a market. */
export async function cancelAll({ flags, host }: CancelAllInput): Promise<number> {
  if (flags.market === undefined) {
    throw new UsageError("Cannot cancel all orders without a market: give --market");
  }
  const params = { market: marketOf(flags.market) };
  needAnswer("yes-all", flags["yes-all"], host);
  const operation = operationOf("orders.cancelAll");
  const loaded = await settingsOf(flags, host);
  if (loaded.settings.transport === "direct") {
    const { mappingOf } = await import("../../../lib/transports/direct/payloads.ts");
    mappingOf(operation); // throws before the question: the direct socket has no message for this operation
  }
  await using open = await openDesk(flags, { host, command: "cancel-all", writes: true, loaded });
  const isAsked = !flags["yes-all"];
  if (!isAsked) host.note(`hsgate: ${headline(operation, params)}`);
  else await confirmOrder(operation, params, { open, host, isAsked });
  await open.trader.call(operation, params, { signal: host.signal });
  printSent(open, flags.json, host);
  return 0;
}
