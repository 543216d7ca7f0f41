/**
 * Defines the shapes of the JSON columns of plans in the store. hsgate checks each value that it reads against its
 * shape, because another program may have written the value.
 *
 * @module
 */
import * as z from "zod";
import { type Decimal, isDecimal } from "../decimal.ts";
import { Market } from "../dictionaries/market.ts";
import { durationPattern, isDate } from "../time.ts";
import type { Plan } from "./solver/plan.ts";
import type { RebalanceFile } from "./input/plan_file.ts";
import type { RebalanceReport } from "./results/report.ts";
import { deadlineOf, type ExecutionTerms, pegs, sensitivities, strategies } from "./input/terms.ts";

/** Price of the market when the execution of a plan began. */
export interface ArrivalPrice {
  price: Decimal;
  at: number;
}

/** Why a trade of a plan waits, why its order is smaller than planned, or why it has ended. */
export interface TradeNote {
  at: number;
  text: string;
}

/** The settings from which a plan was made, and where they came from. */
export interface PlanSource {
  settings: RebalanceFile;
  /** The file with the settings, an absolute path; absent if they are part of a recipe. */
  file?: string;
  /** The recipe that waits for an approval of the plan, as it was loaded. */
  recipe?: RecipeFile;
}

/** The file of a recipe, an absolute path, and the SHA-256 of its text. */
export interface RecipeFile {
  file: string;
  sha256: string;
}

const { array, boolean, enum: oneOf, exactOptional, literal, number, record, string } = z;
const decimal = string().refine(isDecimal, { error: "expected a decimal number" });
const date = string().refine(isDate, { error: "expected a date" });
const currency = string().regex(/^[A-Z]{3}$/, { error: "expected a currency" });
const amounts = record(currency, decimal);
const byText = record(string(), decimal);
const market = oneOf(Market.names);
const side = oneOf(["buy", "sell"]);
const proceeds = z.partialRecord(market, oneOf(["usable", "later"]));

export const planShape: z.ZodType<Plan> = z.looseObject({
  base: currency,
  trades: array(z.looseObject({
    market,
    symbol: string(),
    side,
    quantity: decimal,
    price: decimal,
    value: decimal,
    fees: decimal,
    isOddLot: exactOptional(literal(true)),
  })),
  cashAfter: amounts,
  weightsAfter: byText,
  sumSquaredDrift: decimal,
  lowerBound: decimal,
  leftOut: array(z.looseObject({ symbol: string(), reason: string() })),
  optimal: boolean(),
  date,
  value: decimal,
  sumSquaredDriftBefore: decimal,
  turnover: decimal,
  cash: amounts,
  cashBuffer: amounts,
  fees: amounts,
  positions: array(z.looseObject({
    market,
    symbol: string(),
    currency,
    quantity: decimal,
    price: decimal,
    target: decimal,
    weight: decimal,
    drift: decimal,
    trade: decimal,
    weightAfter: decimal,
    driftAfter: decimal,
  })),
  proceeds: exactOptional(proceeds),
  hash: string(),
});

const timeOfDay = string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: "expected a time of day" });

export const termsShape: z.ZodType<ExecutionTerms> = z.looseObject({
  peg: oneOf(pegs),
  collar: decimal,
  repriceEvery: string().regex(durationPattern, { error: "expected a duration" }),
  maxReprices: number().min(0).max(1000),
  deadline: string().refine((text) => Number.isFinite(deadlineOf({ deadline: text }, 0)), {
    error: "expected a duration or an instant",
  }),
  hours: z.partialRecord(market, z.looseObject({ from: timeOfDay, to: timeOfDay })),
  algorithm: exactOptional(z.looseObject({
    strategy: oneOf(strategies),
    percent: exactOptional(decimal),
    sensitivity: exactOptional(oneOf(sensitivities)),
    maxChildQuantity: exactOptional(decimal),
    minChildAmount: exactOptional(decimal),
  })),
});

const band = z.looseObject({ absolute: exactOptional(decimal), relative: exactOptional(decimal) });

const settingsShape: z.ZodType<RebalanceFile> = z.looseObject({
  markets: exactOptional(array(market)),
  base: currency,
  targets: byText,
  groups: record(
    string(),
    z.looseObject({ weight: decimal, symbols: array(string()), drift: exactOptional(band) }),
  ),
  cashBuffer: amounts,
  drift: band,
  trade: oneOf(["drifted", "all"]),
  minTrade: decimal,
  maxTurnover: exactOptional(decimal),
  prices: oneOf(["last", "bid", "ask", "mid"]),
  sellOnly: boolean(),
  cashFlowOnly: boolean(),
  exclude: array(string()),
  oddLots: oneOf(["keep", "sell"]),
  proceeds,
  maxQuoteAge: number(),
  execution: exactOptional(termsShape),
});

export const sourceShape: z.ZodType<PlanSource> = z.looseObject({
  settings: settingsShape,
  file: exactOptional(string()),
  recipe: exactOptional(z.looseObject({ file: string(), sha256: string() })),
});

export const arrivalShape: z.ZodType<Record<string, ArrivalPrice>> = record(
  string(),
  z.looseObject({ price: decimal, at: number() }),
);

export const notesShape: z.ZodType<Record<string, TradeNote>> = record(
  string(),
  z.looseObject({ at: number(), text: string() }),
);

export const reportShape: z.ZodType<RebalanceReport> = z.looseObject({
  hash: string(),
  state: oneOf(["running", "done", "stopped"]),
  reason: exactOptional(string()),
  startedAt: number(),
  endedAt: exactOptional(number()),
  trades: array(z.looseObject({
    market,
    symbol: string(),
    currency,
    side,
    planned: decimal,
    filled: decimal,
    open: decimal,
    unknown: decimal,
    remaining: decimal,
    reason: exactOptional(string()),
    orderIds: array(string()),
    averagePrice: exactOptional(decimal),
    arrivalPrice: exactOptional(decimal),
    slippage: exactOptional(z.looseObject({ money: decimal, part: decimal })),
    fees: z.looseObject({ estimated: decimal, booked: exactOptional(decimal) }),
  })),
  slippage: amounts,
  fees: z.looseObject({ estimated: amounts, booked: exactOptional(amounts) }),
  drift: z.looseObject({ before: decimal, planned: decimal, reached: decimal }),
});
