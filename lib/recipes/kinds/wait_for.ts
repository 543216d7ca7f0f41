/**
 * Defines the step `wait-for`, which waits for fees, the end of an order, a price, or a session time.
 *
 * @module
 */
import * as z from "zod";
import { add, compare, isZero } from "../../decimal.ts";
import { BrokerError } from "../../errors.ts";
import { orders } from "../../operations/orders.ts";
import { quotes } from "../../operations/quotes.ts";
import type { AsOfNow, StepContext } from "../compiled.ts";
import { asOfNowOf, refusePast } from "../engine/call_operation.ts";
import { durationOf, showDuration } from "../compile/written_times.ts";
import { someTime } from "../schema/recipe_schema.ts";
import { day, decimalText, market, markets, security, securityFrom } from "./fields.ts";
import { stepKind } from "./kind.ts";
import { instantOf, pause, sessionMoment } from "./times.ts";

const often = {
  every: someTime.default("30s").meta({ description: "Time between two checks" }),
  atMost: someTime.default("30m").meta({ description: "Longest wait; then the step fails" }),
};

const params = z.strictObject({
  feesCleared: z.strictObject({
    markets: markets.meta({ description: "Markets of the fills" }),
    day: day.optional().meta({ description: "Day of the fills; the day of the run's session by default" }),
  }).optional()
    .meta({ description: "Wait until every fill of a day has its fees, or the day has no fills" }),
  orderDone: z.strictObject({
    market: market.meta({ description: "Market of the order" }),
    orderId: z.string().min(1).meta({ description: "Order id of the broker" }),
  }).optional()
    .meta({ description: "Wait until an order of today is filled, cancelled or rejected" }),
  price: z.strictObject({
    security,
    atLeast: decimalText.optional().meta({ description: "The wait ends at this price or above" }),
    atMost: decimalText.optional().meta({ description: "The wait ends at this price or below" }),
  })
    .optional()
    .meta({ description: "Wait until the last price has risen to atLeast, or has fallen to atMost" }),
  session: sessionMoment.optional().meta({ description: "Wait until a session time of this run" }),
  ...often,
});
type Params = z.infer<typeof params>;

const output = z.strictObject({
  ok: z.boolean(),
  /** Number of checks. */
  looks: z.number(),
  waitedMs: z.number(),
  /** Result of the last check. */
  seen: z.unknown(),
});
/** Result of the wait. */
export type Waited = z.infer<typeof output>;

/** Result of one check. */
interface Check {
  done: boolean;
  seen: unknown;
}

const forms = ["feesCleared", "orderDone", "price", "session"] as const;

/**
 * Returns the present data that the step reads: an order or a price. Fees and session times belong to their own day.
 */
function asOfNow({ orderDone, price }: Params): AsOfNow | undefined {
  if (orderDone !== undefined) return asOfNowOf(orders.today, orderDone);
  if (price === undefined) return undefined;
  const found = security.safeParse(price.security);
  return asOfNowOf(quotes.latest, found.success ? securityFrom(found.data) : {});
}

/** Checks repeatedly. Fails after the longest wait, so that steps that need this step do not run. */
export const waitFor = stepKind<Params, Waited>({
  name: "wait-for",
  summary:
    "Waits until fees are complete, an order has ended, a price is reached, or a session time has come",
  effect: "read",
  needsAccount: ({ feesCleared, orderDone }) => feesCleared !== undefined || orderDone !== undefined,
  asOfNow,
  params,
  output,
  needsSession({ feesCleared }) {
    return feesCleared === undefined || feesCleared.day !== undefined
      ? undefined
      : { path: ["feesCleared"], instead: "day, such as a date" };
  },
  check(given, wrong) {
    const named = forms.filter((form) => given[form] !== undefined);
    if (named.length !== 1) wrong([], `one of ${forms.join(", ")}`);
    if (given.price !== undefined && given.price.atLeast === undefined && given.price.atMost === undefined) {
      wrong(["price"], "atLeast or atMost");
    }
  },
  async run(given, context) {
    const begun = context.now();
    const until = begun + durationOf(given.atMost);
    const ofNow = asOfNow(given);
    // Checked only once: a wait that has begun may continue after the day has ended.
    if (ofNow !== undefined) refusePast(ofNow, context);
    for (let looks = 1;; looks++) {
      context.signal.throwIfAborted();
      const { done, seen } = await checkOnce(given, context);
      const now = context.now();
      if (done) return { ok: true, looks, waitedMs: now - begun, seen };
      if (now >= until) {
        throw new BrokerError(
          `Gave up waiting after ${showDuration(until - begun)}: ${whatIsAwaited(given)}`,
          {
            code: "wait-timeout",
          },
        );
      }
      context.progress({ text: `${whatIsAwaited(given)}, checked ${looks} times` });
      await pause(context, Math.min(waitMs(given, seen), until - now));
    }
  },
  // The wait may take hours, so a dry run does not wait.
  plan: (given) => Promise.resolve({ waitWhile: whatIsAwaited(given), atMost: given.atMost }),
});

/** Returns how long to wait until the next check, milliseconds; for a session time, the whole remaining time. */
function waitMs({ every, session }: Params, seen: unknown): number {
  return session === undefined || typeof seen !== "object" || seen === null || !("inMs" in seen)
    ? durationOf(every)
    : Number(seen.inMs);
}

async function checkOnce(given: Params, context: StepContext): Promise<Check> {
  if (given.feesCleared !== undefined) return await checkFees(given.feesCleared, context);
  if (given.orderDone !== undefined) return await checkOrder(given.orderDone, context);
  if (given.price !== undefined) return await checkPrice(given.price, context);
  // `check` has made sure that exactly one of the four is given.
  return checkSession(given.session!, context);
}

async function checkFees(
  { markets, day: named }: NonNullable<Params["feesCleared"]>,
  context: StepContext,
): Promise<Check> {
  const date = named ?? context.session?.date;
  if (date === undefined) {
    throw new BrokerError("Cannot wait for fees: this run has no session, so the recipe must name the day", {
      code: "no-session",
    });
  }
  const client = await context.client();
  const { signal } = context;
  let fills = 0;
  let without = 0;
  for (const market of markets) {
    let [past, todays] = ["0", "0"];
    for await (
      const { fees, filledQuantity } of client.fills.history({ market, from: date, to: date }, { signal })
    ) {
      fills++;
      past = add(past, filledQuantity);
      if (fees?.total === undefined) without++;
    }
    for await (const { date: ofFill, filledQuantity } of client.fills.today({ market }, { signal })) {
      if (ofFill === date) todays = add(todays, filledQuantity);
    }
    // The history combines Hong Kong fills into fewer rows, so compare quantities instead of rows.
    if (compare(todays, past) > 0) without++;
  }
  return { done: without === 0, seen: { day: date, fills, without } };
}

async function checkOrder(
  { market, orderId }: NonNullable<Params["orderDone"]>,
  context: StepContext,
): Promise<Check> {
  const client = await context.client();
  const [order] = await client.call(orders.today, { market, orderIds: [orderId] }, {
    signal: context.signal,
  });
  if (order === undefined) {
    throw new BrokerError(`Cannot wait for order "${orderId}": today's orders do not contain it`, {
      code: "no-order",
    });
  }
  const { status, filledQuantity, unfilledQuantity, canCancel } = order;
  return { done: !canCancel && isEnd(status), seen: { orderId, status, filledQuantity, unfilledQuantity } };
}

const endStates: ReadonlySet<string | undefined> = new Set([
  "part-filled-cancelled",
  "cancelled",
  "filled",
  "rejected",
  "pre-check-rejected",
  "pre-order-cancelled",
  "review-failed",
]);
const isEnd = (status: string | undefined) => endStates.has(status);

async function checkPrice(
  { security: named, atLeast, atMost }: NonNullable<Params["price"]>,
  context: StepContext,
): Promise<Check> {
  const client = await context.client();
  const [quote] = await client.call(quotes.latest, { securities: [securityFrom(named)] }, {
    signal: context.signal,
  });
  const price = quote?.lastPrice;
  if (price === undefined || isZero(price)) {
    return { done: false, seen: { price: null } };
  }
  const done = (atLeast !== undefined && compare(price, atLeast) >= 0) ||
    (atMost !== undefined && compare(price, atMost) <= 0);
  return { done, seen: { price } };
}

function checkSession(wanted: NonNullable<Params["session"]>, context: StepContext): Check {
  const at = instantOf(context.calendars, wanted, context.day.date, "Cannot wait for");
  const inMs = at - context.now();
  return { done: inMs <= 0, seen: { at: Temporal.Instant.fromEpochMilliseconds(at).toString(), inMs } };
}

function whatIsAwaited(given: Params): string {
  if (given.feesCleared !== undefined) return "the fees are not complete";
  if (given.orderDone !== undefined) return `order "${given.orderDone.orderId}" has not ended`;
  if (given.price !== undefined) return "the price has not reached the bound";
  return `it is not yet ${given.session?.moment}`;
}
