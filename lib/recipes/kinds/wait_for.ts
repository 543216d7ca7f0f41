/**
 * The step `wait-for`: until fees are there, an order is done, a price is reached, or a moment of the session comes.
 *
 * @module
 */
import * as z from "zod";
import { add, compare, isZero } from "../../decimal.ts";
import { BrokerError } from "../../errors.ts";
import { orders } from "../../operations/orders.ts";
import { quotes } from "../../operations/quotes.ts";
import { type AsOfNow, asOfNowOf, refusePast } from "../as_of_now.ts";
import type { StepContext } from "../compiled.ts";
import { durationOf, showDuration } from "../durations.ts";
import { someTime } from "../recipe_schema.ts";
import { day, decimalText, market, markets, security, securityFrom } from "./fields.ts";
import { stepKind } from "./kind.ts";
import { instantOf, pause, sessionMoment } from "./times.ts";

const often = {
  every: someTime.default("30s").meta({ description: "Time between two looks" }),
  atMost: someTime.default("30m").meta({ description: "How long; then the step fails" }),
};

const params = z.strictObject({
  feesCleared: z.strictObject({ markets, day: day.optional() }).optional()
    .meta({
      description:
        "Every fill of a day has its fees, as a day without fills has; the session's day by default",
    }),
  orderDone: z.strictObject({ market, orderId: z.string().min(1) }).optional()
    .meta({ description: "An order of today is filled, cancelled or refused" }),
  price: z.strictObject({ security, atLeast: decimalText.optional(), atMost: decimalText.optional() })
    .optional()
    .meta({ description: "The last price has reached a bound" }),
  session: sessionMoment.optional().meta({ description: "A moment of the session of this run" }),
  ...often,
});
type Params = z.infer<typeof params>;

const output = z.strictObject({
  ok: z.boolean(),
  /** How often was looked. */
  looks: z.number(),
  waitedMs: z.number(),
  /** What was seen at the end. */
  seen: z.unknown(),
});
/** What the wait came to. */
export type Waited = z.infer<typeof output>;

/** What one look came to. */
interface Look {
  done: boolean;
  seen: unknown;
}

const forms = ["feesCleared", "orderDone", "price", "session"] as const;

/** An order and a price are looked at as of now. Fees have a day of their own, and so has a moment of a session. */
function asOfNow({ orderDone, price }: Params): AsOfNow | undefined {
  if (orderDone !== undefined) return asOfNowOf(orders.today, orderDone);
  if (price === undefined) return undefined;
  const found = security.safeParse(price.security);
  return asOfNowOf(quotes.latest, found.success ? securityFrom(found.data) : {});
}

/** Looks again and again; fails when it takes too long, so that what needs it does not run. */
export const waitFor = stepKind<Params, Waited>({
  name: "wait-for",
  summary:
    "Waits until fees have cleared, an order is done, a price is reached, or a moment of the session comes",
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
    // Once it has begun it goes on for as long as it was told to.
    if (ofNow !== undefined) refusePast(ofNow, context);
    for (let looks = 1;; looks++) {
      context.signal.throwIfAborted();
      const { done, seen } = await look(given, context);
      const now = context.now();
      if (done) return { ok: true, looks, waitedMs: now - begun, seen };
      if (now >= until) {
        throw new BrokerError(`Cannot go on: ${whatIsAwaited(given)} after ${showDuration(until - begun)}`, {
          code: "wait-timeout",
        });
      }
      context.progress({ text: `${whatIsAwaited(given)}, looked ${looks} times` });
      await pause(context, Math.min(waitMs(given, seen), until - now));
    }
  },
  // It may take hours, which nobody wants of a dry run.
  plan: (given) => Promise.resolve({ waitWhile: whatIsAwaited(given), atMost: given.atMost }),
});

/** A moment is waited for in one go; everything else is looked at again and again. */
function waitMs({ every, session }: Params, seen: unknown): number {
  return session === undefined || typeof seen !== "object" || seen === null || !("inMs" in seen)
    ? durationOf(every)
    : Number(seen.inMs);
}

async function look(given: Params, context: StepContext): Promise<Look> {
  if (given.feesCleared !== undefined) return await lookAtFees(given.feesCleared, context);
  if (given.orderDone !== undefined) return await lookAtOrder(given.orderDone, context);
  if (given.price !== undefined) return await lookAtPrice(given.price, context);
  // One of the four is there, which `check` has seen to.
  return lookAtSession(given.session!, context);
}

async function lookAtFees(
  { markets, day: named }: NonNullable<Params["feesCleared"]>,
  context: StepContext,
): Promise<Look> {
  const date = named ?? context.session?.date;
  if (date === undefined) {
    throw new BrokerError("Cannot wait for fees: this run has no session, so name the day", {
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
    // Hong Kong's fills are merged in the history, so rows cannot be compared, but quantities can.
    if (compare(todays, past) > 0) without++;
  }
  return { done: without === 0, seen: { day: date, fills, without } };
}

async function lookAtOrder(
  { market, orderId }: NonNullable<Params["orderDone"]>,
  context: StepContext,
): Promise<Look> {
  const client = await context.client();
  const [order] = await client.call(orders.today, { market, orderIds: [orderId] }, {
    signal: context.signal,
  });
  if (order === undefined) {
    throw new BrokerError(`Cannot wait for order "${orderId}": the orders of today do not hold it`, {
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

async function lookAtPrice(
  { security: named, atLeast, atMost }: NonNullable<Params["price"]>,
  context: StepContext,
): Promise<Look> {
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

function lookAtSession(wanted: NonNullable<Params["session"]>, context: StepContext): Look {
  const at = instantOf(wanted, context.day.date, "Cannot wait for");
  const inMs = at - context.now();
  return { done: inMs <= 0, seen: { at: Temporal.Instant.fromEpochMilliseconds(at).toString(), inMs } };
}

function whatIsAwaited(given: Params): string {
  if (given.feesCleared !== undefined) return "fees have not cleared";
  if (given.orderDone !== undefined) return `order "${given.orderDone.orderId}" is not done`;
  if (given.price !== undefined) return "the price is not reached";
  return `${given.session?.moment} has not come`;
}
