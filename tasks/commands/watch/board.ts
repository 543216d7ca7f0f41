/**
 * Formats the display of `hsgate watch`: the latest quote of each security, with messages about other events below.
 *
 * @module
 */
import { isZero, priceText } from "../../../lib/decimal.ts";
import type { PushEvent } from "../../../lib/operations/public_types.ts";
import type { Quote } from "../../../lib/operations/quotes.ts";
import {
  type ConnectionEvent,
  offTimeText,
  type TransportEvent,
} from "../../../lib/transports/push/events.ts";
import { OTHER_ACCOUNT } from "../../../lib/transports/push/reader.ts";
import type { Host } from "../../terminal/host.ts";
import { chooseColumns, cut, fit, paint, plain, tableLines } from "../../terminal/print.ts";
import { clockText, ZONE_NAME } from "../../terminal/market_time.ts";
import { changePercent, quoteColumns, type QuoteRow, shortCount } from "../quote/line.ts";

/** Maximum number of messages on the board. */
const KEPT = 8;
/** Maximum number of brokers that the line about a broker queue names. */
const NAMED_BROKERS = 5;

/** Keeps the latest state and formats it as a table or as lines. */
export class Board {
  readonly #rows = new Map<string, QuoteRow>();
  readonly #messages: string[] = [];
  readonly #chosen: string | undefined;
  readonly #now: () => number;

  /** @throws {UsageError} If `columns` contains an unknown name. */
  constructor(symbols: readonly string[], { columns, now }: { columns?: string; now: () => number }) {
    for (const symbol of symbols) this.#rows.set(symbol, { symbol });
    this.#chosen = columns;
    this.#now = now;
    if (columns !== undefined) chooseColumns(quoteColumns(now()), columns);
  }

  /** Replaces the quote of a security. Ignores a security that is not watched. */
  setQuote(quote: Quote): void {
    const row = this.#rows.get(quote.security?.symbol ?? "");
    if (row !== undefined) row.quote = quote;
  }

  /** Replaces the best bid and ask of a security. Ignores a security that is not watched. */
  setBook(symbol: string, { bid, ask }: Pick<QuoteRow, "bid" | "ask">): void {
    const row = this.#rows.get(symbol);
    if (row !== undefined) Object.assign(row, { bid, ask });
  }

  /** Applies an event: updates the row of a security, or adds a message with the time `at`. */
  apply(event: TransportEvent, at: string): void {
    switch (event.type) {
      case "quote":
        if (event.data.quote !== undefined) {
          this.setQuote({ ...event.data.quote, security: event.data.security ?? event.data.quote.security! });
        }
        break;
      case "book": {
        const row = this.#rows.get(event.data.security?.symbol ?? "");
        if (row !== undefined) row[event.data.side === "buy" ? "bid" : "ask"] = event.data.levels[0];
        break;
      }
      case "brokers":
        break;
      default: {
        const line = lineOf(event);
        if (line !== undefined) this.#messages.push(`${at}  ${line}`);
        if (this.#messages.length > KEPT) this.#messages.shift();
      }
    }
  }

  /** Returns the latest quote, bid and ask of a security; `undefined` for a security that is not watched. */
  rowOf(symbol: string): QuoteRow | undefined {
    return this.#rows.get(symbol);
  }

  /** Returns the best bid and ask of a security for the end of a line; an empty text without them. */
  spreadOf(symbol: string): string {
    const { bid, ask } = this.#rows.get(symbol) ?? {};
    const level = (name: string, price: string) => price === "" ? "" : `  ${name} ${price}`;
    return level("bid", priceText(bid?.price)) + level("ask", priceText(ask?.price));
  }

  /** Returns the board as lines. They fit the terminal, unless the user has selected columns. */
  lines(host: Host): string[] {
    const { columns, rows } = host.size();
    const all = [...this.#rows.values()];
    const room = Math.max(1, rows - KEPT - 5);
    const shown = all.slice(0, room);
    const lines = tableLines(host, quoteColumns(this.#now()), shown, { columns: this.#chosen });
    if (all.length > shown.length) {
      lines.push(paint(host, "dim", `and ${all.length - shown.length} more of the symbols`));
    }
    lines.push("");
    for (const message of this.#messages) lines.push(fit(plain(message), columns));
    return [...lines, paint(host, "dim", `times are ${ZONE_NAME}; Ctrl-C stops`)];
  }
}

/** Formats an event as one line, with its warnings. Returns `undefined` for an event that a user need not see. */
export function lineOf(event: TransportEvent): string | undefined {
  const marks = [
    ..."offMs" in event && event.offMs !== undefined ? [`its time is ${offTimeText(event.offMs)}`] : [],
    ..."unsureAccount" in event ? ["it may be of an account that is not yours: set fundAccounts"] : [],
  ];
  const news = newsOf(event);
  // A symbol or a name of the broker may be very long.
  const line = news === undefined ? undefined : cut(news);
  return line === undefined || marks.length === 0 ? line : `${line}  (${marks.join("; ")}; check the orders)`;
}

function newsOf(event: TransportEvent): string | undefined {
  switch (event.type) {
    case "order":
      return orderLine(event.data);
    case "quote": {
      const { quote, security } = event.data;
      if (quote === undefined) return undefined;
      const change = changePercent(quote);
      const sign = change === undefined ? "" : ` ${change.startsWith("-") ? "" : "+"}${change}%`;
      const volume = quote.volume === undefined ? "" : `  volume ${shortCount(quote.volume)}`;
      return `${security?.symbol}  ${priceText(quote.lastPrice) || "no price"}${sign}${volume}`;
    }
    case "tick": {
      const { tick, security } = event.data;
      if (tick === undefined) return undefined;
      return `${security?.symbol}  ${tick.side} ${tick.volume} at ${priceText(tick.price)}`;
    }
    case "book": {
      const best = event.data.levels[0];
      const price = best === undefined ? "empty" : `${priceText(best.price)} x ${best.volume ?? ""}`;
      return `${event.data.security?.symbol}  best ${event.data.side} ${price}`;
    }
    case "brokers": {
      const { security, side, brokers } = event.data;
      const left = brokers.length - NAMED_BROKERS;
      const named = brokers.slice(0, NAMED_BROKERS).map(({ broker }) => broker).join(" ");
      return `${security?.symbol}  ${side} brokers ${named}${left > 0 ? ` and ${left} more` : ""}`;
    }
    case "gap":
      return `the stream is back: changes from ${clockText(event.from)} to ${
        clockText(event.to)
      } ${ZONE_NAME} may be missing (${event.reason})`;
    case "connection":
      return connectionLine(event);
    case "unknown":
      if (event.expected !== "order") return undefined;
      return event.error?.code === OTHER_ACCOUNT
        ? "an order push names another account than yours, or none: check the orders"
        : "an order changed, but the push cannot be read: check the orders";
    case "conflated":
      return undefined;
    case "dropped":
      return `${event.count} ticks were dropped: this terminal is too slow`;
  }
}

function connectionLine({ state, attempt, error, lastByteAt }: ConnectionEvent): string | undefined {
  if (state === "connected" || state === "closed") return undefined;
  if (state === "reconnecting") return `reconnecting, attempt ${attempt}`;
  const since = lastByteAt === undefined
    ? ""
    : `; nothing has arrived since ${clockText(lastByteAt)} ${ZONE_NAME}`;
  return `lost the stream${since}${error === undefined ? "" : ` (${error.message})`}`;
}

type OrderData = Extract<PushEvent, { type: "order" }>["data"];

function orderLine(order: OrderData): string {
  const { symbol, side, orderId, status, quantity, filledQuantity, fillPrice, price } = order;
  const isFill = filledQuantity !== undefined && !isZero(filledQuantity);
  const done = isFill ? `${filledQuantity} of ${quantity ?? "?"}` : quantity ?? "";
  const at = isFill ? fillPrice ?? price : price;
  return `order ${orderId ?? "?"}  ${side} ${symbol}  ${status ?? "changed"} ${done}${
    at === undefined ? "" : ` at ${at}`
  }`;
}
