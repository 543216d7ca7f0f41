/**
 * Runs `hsgate quote`.
 *
 * @module
 */
import { chooseColumns, columnsAsked, tableLines } from "../../terminal/print.ts";
import type { QuoteInput } from "../quote.ts";
import { clientOf } from "../shared/session.ts";
import { quoteColumns } from "./line.ts";
import { securitiesOf } from "./securities.ts";

/** Prints the latest quotes. */
export async function run({ args, flags, host }: QuoteInput): Promise<number> {
  const securities = securitiesOf(args, flags.type);
  const columns = columnsAsked(flags);
  if (columns !== undefined) chooseColumns(quoteColumns, columns);
  await using client = await clientOf(flags, host, { command: "quote" });
  const quotes = await client.quotes.latest({ securities }, { signal: host.signal });
  if (flags.json) host.out(JSON.stringify(quotes));
  else for (const line of tableLines(host, quoteColumns, quotes, { columns })) host.out(line);
  const missing = securities.filter(({ symbol }) =>
    !quotes.some(({ security }) => security?.symbol === symbol)
  );
  for (const { symbol, type } of missing) {
    host.note(`hsgate: the broker sent no quote for ${symbol} (${type}); --type selects another kind`);
  }
  return missing.length === securities.length ? 3 : 0;
}
