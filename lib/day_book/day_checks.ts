/**
 * What the lists of one market and day have to say about each other.
 *
 * @module
 */
import { compare, DecimalSum, isZero, negate, subtract } from "../decimal.ts";
import type { RowFinding, Tally } from "./tally.ts";

/**
 * Journal types that a trade is booked under. The broker's table has three names for each side; each fill is one
 * line, net of its fees.
 */
export const tradeTypes: readonly string[] = [
  "buy-securities",
  "sell-securities",
  "buy-securities-98",
  "sell-securities-99",
  "bought",
  "sold",
];

/** How a check over whole lists went. */
export interface ListCheck {
  result: "passed" | "differs" | "not-checkable";
  /** What was compared, or why it could not be. */
  detail: string;
  findings: RowFinding[];
}

const passed = (detail: string): ListCheck => ({ result: "passed", detail, findings: [] });
const notCheckable = (why: string): ListCheck => ({ result: "not-checkable", detail: why, findings: [] });

/** Money that the fills moved: what was sold, less what was bought, less all fees. */
export function cashOfFills({ money }: Tally): string {
  return new DecimalSum()
    .add(money.get("sold") ?? "0")
    .add(negate(money.get("bought") ?? "0"))
    .add(negate(money.get("total") ?? "0"))
    .toString();
}

/** Compares the money of the fills with the journal's lines for trades. */
export function checkJournal(fills: Tally, journal: Tally, currency: string): ListCheck {
  if (fills.withoutFees > 0) return notCheckable(`${fills.withoutFees} fills have no fees yet`);
  if (fills.withoutMoney > 0) {
    return notCheckable(`${fills.withoutMoney} fills have no amount or no known side`);
  }
  const names = tradeTypes.filter((type) => journal.journalLines.has(type));
  if (names.length === 0) {
    return fills.rows === 0
      ? passed("no fills, and no lines for trades")
      : notCheckable("the journal has no lines for trades");
  }
  const sum = new DecimalSum();
  for (const name of names) sum.add(journal.journal.get(name) ?? "0");
  const [expected, actual] = [cashOfFills(fills), sum.toString()];
  if (compare(expected, actual) === 0) {
    return passed(`${actual} ${currency} in the fills net of fees and in ${names.join(", ")}`);
  }
  const off = subtract(actual, expected);
  const message =
    `the fills net of fees come to ${expected} ${currency}, the journal to ${actual} (off by ${off})`;
  return { result: "differs", detail: message, findings: [{ check: "journal", expected, actual, message }] };
}

/** Compares the filled quantities of fills and orders, by symbol and side. */
export function checkOrders(fills: Tally, orders: Tally): ListCheck {
  if (orders.rows === 0 && fills.rows > 0) return notCheckable("the list of orders is empty");
  const names = [...new Set([...fills.filled.names, ...orders.filled.names])].sort();
  const findings: RowFinding[] = [];
  for (const name of names) {
    const [expected, actual] = [orders.filled.get(name) ?? "0", fills.filled.get(name) ?? "0"];
    if (compare(expected, actual) === 0) continue;
    const message = `${name}: the orders say ${expected} filled, the fills come to ${actual}`;
    findings.push({ check: "orders", expected, actual, message });
  }
  if (findings.length > 0) {
    return { result: "differs", detail: `${findings.length} of ${names.length} differ`, findings };
  }
  return passed(
    `filled quantities of ${
      names.filter((name) => !isZero(fills.filled.get(name) ?? "0")).length
    } symbols and sides`,
  );
}
