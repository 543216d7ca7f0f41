/**
 * Runs `hsgate quote`.
 *
 * @module
 */
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { utcText } from "../../terminal/market_time.ts";
import type { QuoteInput } from "../quote.ts";
import { clientOf } from "../shared/session.ts";
import { readBooks } from "./books.ts";
import { quoteColumns, quotedAt, type QuoteRow } from "./line.ts";
import { securitiesOf } from "./securities.ts";

/** Prints the latest quotes with the best bid and ask. */
export async function run({ args, flags, host }: QuoteInput): Promise<number> {
  const securities = securitiesOf(args, flags.type);
  const view = listView(flags);
  const columns = quoteColumns(host.now());
  checkListColumns(view, columns);
  await using client = await clientOf(flags, host, { command: "quote" });
  const quotes = await client.quotes.latest({ securities }, { signal: host.signal });
  const found = securities.filter(({ symbol }) => quotes.some(({ security }) => security?.symbol === symbol));
  const books = await readBooks(client, found, host);
  const rows = quotes.map((quote): QuoteRow => {
    const symbol = quote.security?.symbol ?? "";
    return { symbol, quote, ...books.get(symbol) };
  });
  printList(host, view, {
    columns,
    rows,
    data: (row) => ({ ...row.quote, bid: row.bid, ask: row.ask, quotedAt: utcText(quotedAt(row)) }),
    empty: "no quotes",
  });
  for (const { symbol, type } of securities) {
    if (found.some((each) => each.symbol === symbol)) continue;
    host.note(`hsgate: the broker sent no quote for ${symbol} (${type}); --type selects another kind`);
  }
  return found.length === 0 ? 3 : 0;
}
