/**
 * Reads the best bid and ask of securities.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import type { Security } from "../../../lib/operations/public_types.ts";
import { BrokerError, InvalidParamsError, RejectedError } from "../../../lib/errors.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import type { QuoteRow } from "./line.ts";

/** Maximum number of order books that are read at the same time. */
const AT_ONCE = 4;

/** Best levels by symbol. */
export type Books = ReadonlyMap<string, Pick<QuoteRow, "bid" | "ask">>;

/**
 * Resolves to the best levels of the order books. A quote is useful without them, so an order book that the broker does
 * not send leads to a note on stderr, and not to an error.
 */
export async function readBooks(
  client: Client,
  securities: readonly Security[],
  host: Pick<Host, "note" | "signal">,
): Promise<Books> {
  const books = new Map<string, Pick<QuoteRow, "bid" | "ask">>();
  const failed: { symbol: string; error: BrokerError }[] = [];
  const left = [...securities];
  const readNext = async () => {
    for (let security = left.shift(); security !== undefined; security = left.shift()) {
      try {
        const { asks, bids } = await client.quotes.orderBook({ security }, { signal: host.signal });
        books.set(security.symbol, { bid: bids?.[0], ask: asks?.[0] });
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        failed.push({ symbol: security.symbol, error });
        // Without a connection or a login, the other order books fail too.
        if (!(error instanceof RejectedError || error instanceof InvalidParamsError)) left.length = 0;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readNext));
  const [first] = failed;
  if (first !== undefined) {
    const others = failed.length === 1
      ? ""
      : ` and ${failed.length - 1} more ${failed.length === 2 ? "security" : "securities"}`;
    host.note(plain(`hsgate: no bid and ask of ${first.symbol}${others}: ${first.error.message}`));
  }
  return books;
}
