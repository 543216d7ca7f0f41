/**
 * Parameters that several steps take.
 *
 * @module
 */
import * as z from "zod";
import { isDate } from "../../calendars/check_data.ts";
import { SecurityType } from "../../dictionaries/security_type.ts";
import { Market } from "../../dictionaries/market.ts";
import { isDecimal } from "../../decimal.ts";
import { securityOf } from "../../client/security.ts";
import type { StepReach } from "../compiled.ts";

/** A market of the account. */
// A code table is never empty.
export const market = z.enum(Market.names as [Market, ...Market[]]);

/** Some markets. */
export const markets = z.array(market).min(1);

/** A day. */
export const day = z.string().refine(isDate, 'a date such as "2025-08-15"').meta({ format: "date" });

/** A decimal above or below zero, as text. */
export const decimalText = z.string().refine(isDecimal, 'a decimal as text, such as "12.50"');

/** The folder that a step is told to write into, as the recipe has it. */
export const writesInto = ({ out }: Readonly<Record<string, unknown>>): StepReach[] =>
  out === undefined ? [] : [{ kind: "writes", name: String(out) }];

/** A folder for files. */
export const folder = z.string().min(1, "a folder").meta({
  description: "Folder, from the folder of the run",
});

/** Whether texts in CSV are written as they are. */
export const exactCsv = z.boolean().default(false).meta({
  description:
    "Texts in CSV as they are, for programs; otherwise formulas of spreadsheets get an apostrophe in front",
});

/** A security by its code alone, or with its kind where the code does not tell. */
export const security = z.union([
  z.string().refine(isCode, 'a code such as "00700.HK" or "AAPL"').meta({ format: "code" }),
  z.strictObject({
    // A code table is never empty.
    type: z.enum(SecurityType.names as [SecurityType, ...SecurityType[]]),
    symbol: z.string().min(1),
  }),
]);

/** A security as a recipe names it. */
type NamedSecurity = z.infer<typeof security>;

/** The kind and the code of a security. */
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
