/**
 * The terms of execution: at which prices the orders of a plan are placed, how often they are repriced, and
 * when to stop.
 *
 * @module
 */
import * as z from "zod";
import type { Decimal } from "../../decimal.ts";
import { Market } from "../../dictionaries/market.ts";
import { durationExpected, durationPattern, readDuration, readInstant } from "../../time.ts";
import { checked, decimalText } from "./values.ts";

/** Names of the prices of the market at which an order can be placed. */
export const pegs = ["bid", "mid", "ask", "last"] as const;
/** Kind of market price at which orders are placed; purchases and sales use the same kind. */
export type Peg = (typeof pegs)[number];

/** Strategies of the broker's algorithmic orders. */
export const strategies = ["twap", "vwap", "pov"] as const;
/** How aggressively an algorithmic order can trade. */
export const sensitivities = ["neutral", "aggressive", "passive"] as const;

/** Times of day between which orders may be in a market, `09:30`, in the market's time zone. */
export interface ExecutionHours {
  from: string;
  to: string;
}

/** An algorithmic order of the broker that replaces the limit orders of a plan. */
export interface ExecutionAlgorithm {
  strategy: (typeof strategies)[number];
  /** Percentage of the volume, 1 to 99; `pov` needs it. */
  percent?: Decimal;
  /** How aggressively the algorithmic order trades. */
  sensitivity?: (typeof sensitivities)[number];
  /** Maximum size of one child order, in shares. */
  maxChildQuantity?: Decimal;
  /** Minimum size of one child order, as an amount in the listing's currency. */
  minChildAmount?: Decimal;
}

/** How a plan is executed. */
export interface ExecutionTerms {
  /**
   * Market price at which each order is placed, rounded to the tick: down for a purchase, and up for a sale. An
   * algorithmic order has no such price: its limit is the worst price within the collar.
   */
  peg: Peg;
  /** Largest distance of an order's price from the plan's price, as a fraction of the plan's price. */
  collar: Decimal;
  /** How long an order stays at one price, such as `1m`. */
  repriceEvery: string;
  /** How many times an order of a trade may be replaced by an order at a new price. */
  maxReprices: number;
  /** When the execution ends and its open orders are cancelled: a duration such as `2h`, or an instant. */
  deadline: string;
  /** Hours of each market in which orders are sent. @default while the market trades */
  hours: Readonly<Partial<Record<Market, ExecutionHours>>>;
  /** Uses the broker's algorithmic orders instead of repriced limit orders. */
  algorithm?: ExecutionAlgorithm;
}

const duration = (expected: string) =>
  z.string({ error: `expected ${expected}` }).regex(durationPattern, { error: `expected ${expected}` })
    .refine((text) => (readDuration(text) ?? 0) > 0, { error: `expected ${expected}` });

const aDeadline = 'a duration such as "2h", or an instant such as "2025-08-15T15:30:00+08:00"';
const aTime = 'a time of day such as "09:45"';
const timeOfDay = z.string({ error: `expected ${aTime}` }).regex(/^([01]\d|2[0-3]):[0-5]\d$/, {
  error: `expected ${aTime}`,
});
const positive = (expected: string) =>
  decimalText("0", undefined, expected).refine((text) => /[1-9]/.test(text), {
    error: `expected ${expected}`,
  });

const algorithm = z.strictObject({
  strategy: z.enum(strategies, { error: `expected one of ${strategies.join(", ")}` }),
  percent: z.string({ error: "expected a whole number from 1 to 99" }).regex(/^[1-9]\d?$/, {
    error: "expected a whole number from 1 to 99",
  }).optional(),
  sensitivity: z.enum(sensitivities, { error: `expected one of ${sensitivities.join(", ")}` }).optional(),
  maxChildQuantity: positive('a quantity above zero, such as "1000"').optional(),
  minChildAmount: positive('an amount above zero, such as "5000"').optional(),
}, { error: "expected a map of strategy, percent, sensitivity, maxChildQuantity, minChildAmount" })
  .refine(({ strategy, percent }) => strategy !== "pov" || percent !== undefined, {
    path: ["percent"],
    error: "expected a whole number from 1 to 99, because pov needs it",
  });

/** Schema of the terms of execution, with their defaults. Numbers are decimal strings. */
export const executionSchema = z.strictObject({
  peg: z.enum(pegs, { error: `expected one of ${pegs.join(", ")}` }).default("mid"),
  collar: decimalText("0", "0.5", 'a fraction from 0 to 0.5, such as "0.02"').default("0.02"),
  repriceEvery: duration(durationExpected).default("1m"),
  maxReprices: decimalText("0", "1000", "a whole number from 0 to 1000")
    .refine((text) => /^\d+$/.test(text), { error: "expected a whole number from 0 to 1000" })
    .default("10").transform(Number),
  deadline: z.string({ error: `expected ${aDeadline}` })
    .refine((text) => (readDuration(text) ?? 0) > 0 || readInstant(text) !== undefined, {
      error: `expected ${aDeadline}`,
    })
    .default("1h"),
  hours: z.partialRecord(
    z.enum(Market.names, { error: `expected one of ${Market.names.join(", ")}` }),
    z.strictObject({ from: timeOfDay, to: timeOfDay }, { error: "expected a map of from, to" })
      .refine(({ from, to }) => from < to, { path: ["to"], error: 'expected a time after "from"' }),
    { error: "expected a map of markets to hours" },
  ).default({}),
  algorithm: algorithm.optional(),
}, { error: "expected a map of peg, collar, repriceEvery, maxReprices, deadline, hours, algorithm" })
  // Members without a value are removed, so that equal terms have equal texts.
  .transform((terms) => JSON.parse(JSON.stringify(terms)) as ExecutionTerms);

/**
 * Returns terms of execution. Missing members get their defaults.
 *
 * @param value A map, as read from a file. Numbers are decimal strings.
 * @throws {InvalidParamsError} If a member is wrong. It lists every mistake.
 */
export function readExecutionTerms(value: unknown = {}, action = "execute the plan"): ExecutionTerms {
  return checked(executionSchema, value, action);
}

/**
 * Returns when an execution that begins now ends at the latest, Unix milliseconds; `NaN` if the deadline is neither a
 * duration nor an instant.
 */
export function deadlineOf({ deadline }: Pick<ExecutionTerms, "deadline">, now: number): number {
  const ms = readDuration(deadline);
  return ms === undefined ? Date.parse(deadline) : now + ms;
}
