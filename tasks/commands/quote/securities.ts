/**
 * Reads securities from the symbols of a command line.
 *
 * @module
 */
import { securityOf } from "../../../lib/client/security.ts";
import type { Security } from "../../../lib/operations/public_types.ts";
import { SecurityType } from "../../../lib/dictionaries/security_type.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/**
 * Returns the securities without duplicates; symbols may be in lower case.
 *
 * @throws {UsageError} If the type does not exist.
 * @throws {TypeError} If a code matches no exchange.
 */
export function securitiesOf(symbols: readonly string[], type: string | undefined): Security[] {
  if (type !== undefined && !SecurityType.has(type)) {
    throw new UsageError(
      `Cannot use --type "${type}": no such kind of security${didYouMean(type, SecurityType.names)}`,
    );
  }
  const unique = [...new Set(symbols.map((symbol) => symbol.toUpperCase()))];
  return unique.map((symbol) => type === undefined ? securityOf(symbol) : { type, symbol });
}
