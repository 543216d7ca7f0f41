/**
 * Defines parameters that several steps use.
 *
 * @module
 */
import * as z from "zod";
import { isDate } from "../../time.ts";
import { SecurityType } from "../../dictionaries/security_type.ts";
import { Market } from "../../dictionaries/market.ts";
import { isDecimal } from "../../decimal.ts";
import { securityOf } from "../../client/security.ts";
import type { StepReach } from "../compiled.ts";

/** A market of the account. */
// The cast is safe: a code table is never empty.
export const market = z.enum(Market.names as [Market, ...Market[]]);

/** Several markets. */
export const markets = z.array(market).min(1);

/** A day. */
export const day = z.string().refine(isDate, 'a date such as "2025-08-15"').meta({ format: "date" });

/** A decimal, possibly negative, as text. */
export const decimalText = z.string().refine(isDecimal, 'a decimal as text, such as "12.50"');

/** Returns the powers that a step's parameters `out` and `exactCsv` need; empty if the step has neither. */
export const writesInto = (given: Readonly<Record<string, unknown>>): StepReach[] => [
  ...given.out === undefined ? [] : [{ kind: "writes" as const, name: String(given.out) }],
  ...unchangedTexts(given),
];

/**
 * Returns the reach of a step that ends its subscriptions to market data. The gateway may have only one subscription to
 * a security for all programs, so this can end the market data of another program.
 */
export const endsMarketData = (securities: unknown = []): StepReach[] =>
  Array.isArray(securities) && securities.length === 0
    ? []
    : [{ kind: "session", name: "quotes.unsubscribe" }];

/** Returns the reach of the parameter `exactCsv`. An expression counts as `true`. */
export const unchangedTexts = ({ exactCsv = false }: Readonly<Record<string, unknown>>): StepReach[] =>
  exactCsv === false ? [] : [{ kind: "texts", name: `exactCsv: ${exactCsv}` }];

/** A folder for files. */
export const folder = z.string().min(1, "a folder").meta({
  description: "Folder, relative to the folder of the run",
});

/** Whether CSV texts are written unchanged. */
export const exactCsv = z.boolean().default(false).meta({
  description:
    "Write CSV texts unchanged, for programs; otherwise formulas get an apostrophe, and control characters become escapes",
});

/** A security by its code, or with its kind if the code does not determine it. */
export const security = z.union([
  z.string().refine(isCode, 'a code such as "00700.HK" or "AAPL"').meta({ format: "code" }),
  z.strictObject({
    // The cast is safe: a code table is never empty.
    type: z.enum(SecurityType.names as [SecurityType, ...SecurityType[]]),
    symbol: z.string().min(1),
  }),
]);

/** A security as a recipe names it. */
type NamedSecurity = z.infer<typeof security>;

/** Returns the kind and the code of a security. */
export function securityFrom(named: NamedSecurity): { type: SecurityType; symbol: string } {
  return typeof named === "string" ? securityOf(named) : named;
}

function isCode(text: string): boolean {
  try {
    securityOf(text);
    return true;
  } catch {
    return false;
  }
}
