/**
 * A market that answers as a test says, and the guard rails in front of it. Without a simulator, a test can set every
 * figure that a rule compares.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import type { Client } from "../../lib/client/client.ts";
import { type LimitTexts, readLimits } from "../../lib/client/limits.ts";
import type { SeenOrder } from "../../lib/desk/broker_lists.ts";
import { guardsOf } from "../../lib/desk/guards/rules.ts";
import type { ApprovedTerms, IntentKind } from "../../lib/desk/intent.ts";
import { insertIntent, moveIntent } from "../../lib/desk/queries.ts";
import type { IntentState } from "../../lib/desk/states.ts";
import { BrokerError, RejectedError } from "../../lib/errors.ts";
import { findOperation } from "../../lib/operations/mod.ts";
import type { Quote } from "../../lib/operations/quotes.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { systemMachine } from "../../lib/time.ts";

const ACCOUNT = "main";
/** A Friday morning in Hong Kong, in the middle of continuous trading. */
export const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
/** The same Friday in New York. */
export const US_MORNING = Date.parse("2025-08-15T10:30:00-04:00");

/** An order of a Hong Kong stock at the price of the market. */
export const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550",
  side: "buy",
  orderType: "limit",
} as const;

/** What the broker answers. */
export interface Market {
  /**
   * The quote of every listing; `null` if the broker has none, or the error that the call throws. @default 550, in lots
   * of 100, of this second
   */
  quote?: Partial<Quote> | null | BrokerError;
  /** Called with the session of each quote that is asked for. */
  onQuote?: (session: unknown) => void;
  /** Called with the session of each order book that is asked for. */
  onBook?: (session: unknown) => void;
  bid?: string;
  ask?: string;
  /** Shares that the account can buy. @default 1000000 */
  maxBuy?: string;
  frozenByOrders?: string;
  /** Quantities of each holding: the whole quantity, and the part that may be sold. @default 1000000 of each listing */
  holding?: { quantity: string; sellableQuantity: string };
  /** Contracts that the account may buy or sell. @default 100 */
  contracts?: string;
  /** Volumes of the days before today, oldest first. @default none */
  volumes?: readonly string[];
}

/** An intent that was recorded before. */
export interface Earlier {
  kind?: IntentKind;
  operation?: string;
  params: object;
  /** @default acknowledged */
  state?: IntentState;
  orderIds?: readonly string[];
  /** Quantity that was filled. @default none */
  filled?: string;
  /** Quantity that the amended order had before. @default unknown */
  before?: string;
  /** Price with which the intent counts if its params have none. */
  reference?: string;
  /** Listing with which the intent counts if its params have none. */
  symbol?: string;
  /** Quantity with which the intent counts if its params have none. */
  quantity?: string;
  /** When it was sent. @default now */
  at?: number;
  /** When it was planned. @default when it was sent */
  plannedAt?: number;
  /** The broker's time at its approval. @default unknown */
  brokerAt?: number;
  /** @default the account of the check */
  account?: string;
}

/** A check of one order write. */
export interface WriteCheck {
  /** @default orders.place */
  operation?: string;
  limits?: LimitTexts;
  market?: Market;
  earlier?: readonly Earlier[];
  /** Orders that the broker's lists show. */
  orders?: readonly (Pick<SeenOrder, "orderId"> & Partial<SeenOrder>)[];
  /** Time of this machine. @default {@linkcode MORNING} */
  now?: number;
  /** The broker's clock minus this machine's. @default 0 */
  aheadMs?: number;
}

const zones: Record<string, string> = { us: "America/New_York" };

/** Returns a time as the quotes write it. */
export function quoteTime(at: number, market = "hk"): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(
    zones[market] ?? "Asia/Hong_Kong",
  );
  return zoned.toString({ smallestUnit: "second", offset: "never", timeZoneName: "never" }).replace(
    /[-T:]/g,
    "",
  );
}

const refusal = (name: string) =>
  new RejectedError(`Cannot call ${name}: no permission`, "1", { operation: name });

function clientOf(market: Market, marketTime: string): Client {
  const { quote, maxBuy = "1000000", contracts = "100", frozenByOrders, volumes } = market;
  const { holding = { quantity: "1000000", sellableQuantity: "1000000" } } = market;
  const level = (price?: string) => price === undefined ? [] : [{ price, quantity: "100", orderCount: 1 }];
  const answers = {
    quotes: {
      latest({ session }: { session?: unknown }) {
        market.onQuote?.(session);
        if (quote instanceof BrokerError) return Promise.reject(quote);
        return Promise.resolve(
          quote === null ? [] : [{ lastPrice: "550", lotSize: 100, marketTime, ...quote }],
        );
      },
      orderBook({ session }: { session?: unknown }) {
        market.onBook?.(session);
        if (market.bid === undefined && market.ask === undefined) throw refusal("quotes.orderBook");
        return Promise.resolve({ bids: level(market.bid), asks: level(market.ask) });
      },
      bars() {
        if (volumes === undefined) throw refusal("quotes.bars");
        return Promise.resolve({
          bars: volumes.map((volume, index) => ({
            date: `2025-07-${String(index + 1).padStart(2, "0")}`,
            volume,
          })),
        });
      },
    },
    account: {
      maxBuy: () => Promise.resolve({ quantity: maxBuy }),
      funds: () => Promise.resolve({ frozenByOrders }),
      holdings: () =>
        Promise.resolve(["00700.HK", "600519.SH", "AAPL"].map((symbol) => ({ symbol, ...holding }))),
    },
    futures: {
      maxQuantity: () => Promise.resolve({ maxBuy: contracts, maxSell: contracts }),
      holdings: () => Promise.resolve({ holdings: [{ symbol: "HSI2508.HK", quantity: holding.quantity }] }),
    },
  };
  return answers as unknown as Client; // the guard rails read nothing else
}

/** The states on the way to a state, and what proves each. */
const pathsTo: Partial<Record<IntentState, readonly (readonly [IntentState, "desk" | "answer"])[]>> = {
  planned: [],
  approved: [["approved", "desk"]],
  sent: [["approved", "desk"], ["sent", "desk"]],
  unknown: [["approved", "desk"], ["sent", "desk"], ["unknown", "desk"]],
  acknowledged: [["approved", "desk"], ["sent", "desk"], ["acknowledged", "answer"]],
  rejected: [["approved", "desk"], ["sent", "desk"], ["rejected", "answer"]],
};

/**
 * Checks an order write. Resolves to what the guard rails record for the intent. Rejects if a guard rail refuses the
 * write.
 */
export async function check(params: object, wanted: WriteCheck = {}): Promise<ApprovedTerms | undefined> {
  const {
    operation = "orders.place",
    limits,
    market = {},
    earlier = [],
    orders,
    now = MORNING,
    aheadMs = 0,
  } = wanted;
  const planned = { market: undefined, ...params };
  await using store = await openSqlite(":memory:");
  for (const [index, each] of earlier.entries()) {
    const { kind = "place", state = "acknowledged", orderIds, filled, at = now, plannedAt = at } = each;
    const { reference, symbol, quantity, before, brokerAt } = each;
    const earlierTerms = before === undefined ? undefined : { quantity: before };
    const id = `earlier-${index}`;
    await insertIntent(store, {
      id,
      account: each.account ?? ACCOUNT,
      kind,
      operation: each.operation ?? "orders.place",
      params: { ...each.params },
      fingerprint: id,
      why: {},
      createdAt: plannedAt,
      timeoutMs: 10_000,
    });
    for (const [to, by] of pathsTo[state] ?? []) {
      await moveIntent(store, id, {
        to,
        by,
        at,
        ...to === "approved" &&
          { data: JSON.parse(JSON.stringify({ reference, symbol, quantity })), brokerAt },
        ...to === "sent" &&
          { sent: { known: [], earlier: earlierTerms, readSince: at, sentAt: at, sentNumber: index } },
        ...to === state && orderIds !== undefined && { orderIds },
        ...to === state && filled !== undefined && { filled },
      });
    }
  }
  const guard = guardsOf(readLimits({ liveTrading: "allow", ...limits }), {
    store,
    machine: { ...systemMachine, now: () => now },
    account: ACCOUNT,
    calendars: () => builtInCalendars,
  });
  const shown = (orders ?? []).map((order): [string, SeenOrder] => [order.orderId, {
    lists: ["orders.today"],
    symbol: undefined,
    side: undefined,
    orderType: "limit",
    price: undefined,
    triggerValue: undefined,
    trailBy: undefined,
    quantity: undefined,
    filled: "0",
    state: "working",
    placedAt: undefined,
    day: undefined,
    remark: undefined,
    ...order,
  }]);
  return await guard({
    id: "mine",
    operation: findOperation(operation)!, // the catalogue has it
    params: planned,
    why: {},
    reading: { beganAt: now, endedAt: now, aheadMs, orders: new Map(shown), lists: ["orders.today"] },
    client: clientOf(market, quoteTime(now + aheadMs, planned.market)),
  });
}

/** Asserts that a rule refuses a write, and that its message contains words. */
export async function assertRefuses(
  rule: string,
  params: object,
  wanted: WriteCheck,
  ...words: readonly string[]
): Promise<void> {
  const error = await assertRejects(() => check(params, wanted), BrokerError);
  assertEquals([error.code, error.message.includes(`guard rail ${rule} `)], ["guard", true], error.message);
  for (const each of words) assert(error.message.includes(each), `${each}: ${error.message}`);
}
