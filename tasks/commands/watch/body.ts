/**
 * Runs `hsgate watch`.
 *
 * @module
 */
import { PushTopic } from "../../../lib/dictionaries/push.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import type { TransportEvent } from "../../../lib/transports/push/events.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { listView, rowWriter } from "../../terminal/list_output.ts";
import { rowsTaken, shownWidth } from "../../terminal/print.ts";
import { clientOf, settingsOf } from "../shared/session.ts";
import type { WatchInput } from "../watch.ts";
import { clockText, ZONE_NAME } from "../../terminal/market_time.ts";
import { readBooks } from "../quote/books.ts";
import { quoteColumns } from "../quote/line.ts";
import { Board, lineOf } from "./board.ts";
import { securitiesOf } from "../quote/securities.ts";

/** Time between two drawings. Users cannot read faster. */
const REDRAW_MS = 100;

/** Subscribes, shows events, and unsubscribes at the end. */
export async function run({ args, flags, host }: WatchInput): Promise<number> {
  const securities = securitiesOf(args, flags.type);
  // The table shows bid and ask. JSON output contains order books only if `--topics` names them.
  const { output, columns } = listView(flags);
  const isJson = output === "json" || output === "jsonl";
  let topics = topicsOf(flags.topics ?? (isJson ? "quote" : "quote,order-book"));
  if (columns !== undefined && output === "table" && !host.isTerminal) {
    throw new UsageError(
      "Cannot use --columns without a terminal: each change is one line there; add --output csv or --output md",
    );
  }
  if (
    (output === "csv" || output === "md") && !topics.some((each) => each === "quote" || each === "order-book")
  ) {
    throw new UsageError(
      `Cannot use --output ${output} with --topics "${flags.topics}": its rows are quotes, so name quote or order-book, or use --output jsonl`,
    );
  }
  const symbols = securities.map(({ symbol }) => symbol);
  const board = new Board(symbols, { columns, now: host.now });
  const show = isJson
    ? jsonLines(host)
    : output !== "table"
    ? rowLines(board, host, { symbols, output, columns })
    : host.isTerminal
    ? redrawing(board, host)
    : plainLines(board, host, { withBooks: flags.topics !== undefined });
  const loaded = await settingsOf(flags, host);
  await using client = await clientOf(flags, host, { command: "watch", loaded });
  if (!isJson && topics.includes("quote")) {
    // Pushes contain only changes: without these quotes, a security without changes would have no line.
    for (const quote of await client.quotes.latest({ securities }, { signal: host.signal })) {
      board.setQuote(quote);
    }
  }
  if (!isJson && topics.includes("order-book")) {
    const books = await readBooks(client, securities, host);
    for (const [symbol, book] of books) board.setBook(symbol, book);
    // Without the right to order books, the broker would reject the subscription.
    if (flags.topics === undefined && books.size === 0) topics = ["quote"];
  }
  if (!isJson && loaded.settings.fundAccounts === undefined) {
    host.note(
      "hsgate: fundAccounts is not set (HSGATE_FUND_ACCOUNTS), so an order shown here may be of another account",
    );
  }
  try {
    show.start();
    for await (const event of client.watch({ topics, securities, signal: host.signal })) show.take(event);
  } catch (error) {
    host.signal.throwIfAborted(); // after Ctrl-C, any other error is only a consequence of it
    throw error;
  } finally {
    show.end();
  }
  host.signal.throwIfAborted();
  host.note("hsgate: the stream has ended");
  return 4;
}

function topicsOf(list: string): PushTopic[] {
  return list.split(",").map((name) => {
    const topic = name.trim();
    if (PushTopic.has(topic)) return topic;
    throw new UsageError(`Cannot watch "${topic}": no such topic${didYouMean(topic, PushTopic.names)}`);
  });
}

interface Show {
  start(): void;
  take(event: TransportEvent): void;
  end(): void;
}

const clockOf = (host: Host) => clockText(host.now());

function jsonLines(host: Host): Show {
  // JSON.stringify would write an error as `{}`, so write its message and its code instead.
  const errorAsMessage = (_key: string, value: unknown) => value instanceof Error ? value.message : value;
  const withCode = (event: TransportEvent) =>
    "error" in event && event.error !== undefined ? { ...event, code: event.error.code } : event;
  return { start() {}, take: (event) => host.out(JSON.stringify(withCode(event), errorAsMessage)), end() {} };
}

/** Prints each change as a line. A change of a quote is shown with the latest bid and ask. */
function plainLines(board: Board, host: Host, { withBooks }: { withBooks: boolean }): Show {
  return {
    start: () => host.note(`hsgate: watching, times are ${ZONE_NAME}; Ctrl-C stops`),
    take(event) {
      board.apply(event, clockOf(host));
      if (event.type === "book" && !withBooks) return;
      const line = lineOf(event);
      const spread = event.type === "quote" ? board.spreadOf(event.data.security?.symbol ?? "") : "";
      if (line !== undefined) host.out(`${clockOf(host)}  ${line}${spread}`);
    },
    end() {},
  };
}

/**
 * Prints the latest quotes, and then each change of a quote, as rows of CSV or Markdown. Other events are lines on
 * stderr.
 */
function rowLines(
  board: Board,
  host: Host,
  { symbols, output, columns }: { symbols: readonly string[]; output: "csv" | "md"; columns?: string },
): Show {
  const writer = () => rowWriter(output, quoteColumns(host.now()), columns);
  const last = new Map<string, string>();
  const print = (symbol: string | undefined) => {
    const row = board.rowOf(symbol ?? "");
    if (row === undefined) return;
    const line = writer().lineOf(row);
    if (last.get(row.symbol) === line) return; // nothing that the row shows has changed
    last.set(row.symbol, line);
    host.out(line, { exact: true });
  };
  return {
    start() {
      for (const line of writer().head) host.out(line, { exact: true });
      for (const symbol of symbols) print(symbol);
    },
    take(event) {
      board.apply(event, clockOf(host));
      if (event.type === "quote" || event.type === "book") return print(event.data.security?.symbol);
      const line = lineOf(event);
      if (line !== undefined) host.note(`hsgate: ${clockOf(host)} ${ZONE_NAME}  ${line}`);
    },
    end() {},
  };
}

/** Redraws the board in place, at limited intervals. */
function redrawing(board: Board, host: Host): Show {
  let height = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    timer = undefined;
    const lines = board.lines(host);
    const up = height > 1 ? `\x1b[${height - 1}A` : "";
    host.draw(`${up}\r\x1b[J`, lines.join("\n"));
    // Selected columns are not cut, so the terminal may wrap their lines.
    height = rowsTaken(lines.map(shownWidth), Math.max(1, host.size().columns));
  };
  return {
    start() {
      host.draw("\x1b[?25l");
      draw();
    },
    take(event) {
      board.apply(event, clockOf(host));
      timer ??= setTimeout(draw, REDRAW_MS);
    },
    end() {
      clearTimeout(timer);
      draw();
      host.draw("\n\x1b[?25h");
    },
  };
}
