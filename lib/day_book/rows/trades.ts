/**
 * Reduces fills and journal lines to comparable rows: a side and the net amount of money.
 *
 * @module
 */
import { type Decimal, DecimalSum, negate, normalize } from "../../decimal.ts";
import type { FundJournalType } from "../../dictionaries/fund_journal_type.ts";
import { Digest, DigestCounts } from "./keys.ts";

/** `bought` for a purchase, `sold` for a sale. */
type TradeSide = "bought" | "sold";

const sideOfType: Readonly<Record<string, TradeSide>> = {
  "buy-securities": "bought",
  "buy-securities-98": "bought",
  bought: "bought",
  "sell-securities": "sold",
  "sell-securities-99": "sold",
  sold: "sold",
};

/** Journal types under which the broker books trades. The broker's table has three types for each side. */
export const tradeTypes: readonly string[] = Object.keys(sideOfType);

/** Returns the side of a journal line, or `undefined` if it is not about a trade. */
export function sideOfLine(type: unknown): TradeSide | undefined {
  return typeof type === "string" && Object.hasOwn(sideOfType, type) ? sideOfType[type] : undefined;
}

/** Types of journal lines about order requests and freezes on the current day. They do not move money. */
const currentDayTypes: ReadonlySet<FundJournalType> = new Set<FundJournalType>([
  "buy-order-request",
  "sell-order-request",
  "buy-request-failed",
  "sell-request-failed",
  "amend-buy-request",
  "amend-buy-failed",
  "amend-buy-succeeded",
  "amend-buy-rejected",
  "buy-cancelled",
  "buy-rejected",
  "buy-expired",
  "buy-closed-at-market-close",
  "funds-frozen",
  "funds-unfrozen",
  "reset-of-today-s-amount",
  "cheque-deposit-freeze",
  "cheque-deposit-unfreeze",
  "transfer-out-freeze",
  "transfer-out-unfreeze",
  "freeze-after-internal-transfer-in",
  "unfreeze-after-internal-transfer-in",
  "return-after-sell-cancel",
  "return-after-buy-cancel",
  "return-after-buy-cancel-143",
  "funds-freeze",
  "funds-unfreeze",
  "withdraw-freeze",
]);

/** Returns whether a journal line belongs to the current day only, so the history may leave it out. */
export function isCurrentDayLine(type: unknown): boolean {
  return (currentDayTypes as ReadonlySet<unknown>).has(type);
}

/** Returns the side of a fill, or `undefined` if the broker's code is unknown. */
export function sideOfFill(side: unknown): TradeSide | undefined {
  if (side === "buy" || side === "short-close") return "bought";
  return side === "sell" || side === "short-open" ? "sold" : undefined;
}

/** Returns the net amount of a fill: its amount, negative for a purchase, minus its fees. */
export function netOf(side: TradeSide, amount: Decimal, fees: Decimal): Decimal {
  const sum = new DecimalSum().add(amount);
  return side === "bought" ? negate(sum.add(fees).toString()) : sum.add(negate(fees)).toString();
}

/**
 * Returns a digest of the side and the net amount of a trade. Equal values, such as 1.5 and 1.50, have equal digests.
 */
function digestOf(digest: Digest, side: TradeSide, net: Decimal): Digest {
  return digest.reset().add(side).add(normalize(net));
}

/**
 * Summarizes the trades of a list in one number that does not depend on their order. Two lists with the same number
 * and the same counts contain the same trades. This needs almost no memory. {@linkcode findUnmatched} finds the rows
 * that differ.
 */
export class TradeDigest {
  bought = 0;
  sold = 0;
  #high = 0;
  #low = 0;
  readonly #digest = new Digest();

  /** Adds a trade. */
  add(side: TradeSide, net: Decimal): void {
    this[side]++;
    const { high, low } = digestOf(this.#digest, side, net);
    this.#high = this.#high + mixed(high) | 0;
    this.#low = this.#low + mixed(low) | 0;
  }

  get rows(): number {
    return this.bought + this.sold;
  }

  /** Returns whether both lists have the same number of rows on each side. */
  hasCountsOf(other: TradeDigest): boolean {
    return this.bought === other.bought && this.sold === other.sold;
  }

  /** Returns whether both lists contain the same trades. */
  equals(other: TradeDigest): boolean {
    return this.hasCountsOf(other) && this.#high === other.#high && this.#low === other.#low;
  }
}

/** Mixes the bits of a number, so differences between trades do not cancel each other in the sum. */
function mixed(half: number): number {
  let bits = Math.imul(half ^ half >>> 16, 0x85ebca6b);
  bits = Math.imul(bits ^ bits >>> 13, 0xc2b2ae35);
  return bits ^ bits >>> 16;
}

/** A row with its key, reduced to side and money. */
export interface TradeRow {
  rowKey: string;
  side: TradeSide;
  net: Decimal;
}

/** Yields the trades of a list; may be called more than once. */
export type TradeRows = () => Iterable<TradeRow>;

/**
 * Returns the number of pairs of a fill and a journal line with the same side and net amount. Needs 8 bytes per fill.
 */
export function countPairs(fills: TradeRows, lines: TradeRows): number {
  const { counts, digest } = countsAndDigest(fills);
  let pairs = 0;
  for (const { side, net } of lines()) if (counts.take(digestOf(digest, side, net))) pairs++;
  return pairs;
}

/**
 * Returns the fills without a matching line and the lines without a matching fill. If several rows are equal, the last
 * lines and the first fills count as unmatched.
 */
export function findUnmatched(fills: TradeRows, lines: TradeRows): { fills: TradeRow[]; lines: TradeRow[] } {
  const { counts, digest } = countsAndDigest(fills);
  const unmatched = { fills: [] as TradeRow[], lines: [] as TradeRow[] };
  for (const line of lines()) {
    if (!counts.take(digestOf(digest, line.side, line.net))) unmatched.lines.push(line);
  }
  for (const fill of fills()) {
    if (counts.take(digestOf(digest, fill.side, fill.net))) unmatched.fills.push(fill);
  }
  return unmatched;
}

function countsAndDigest(rows: TradeRows): { counts: DigestCounts; digest: Digest } {
  const [counts, digest] = [new DigestCounts(), new Digest()];
  for (const { side, net } of rows()) counts.next(digestOf(digest, side, net));
  return { counts, digest };
}
