/**
 * Explains why a symbol that is not at its target is not traded.
 *
 * @module
 */
import { compare, type Decimal, divide, multiply, normalize, round } from "../../decimal.ts";
import type { Position, Prepared } from "./prepare.ts";
import { amountOf, driftOf, type Item, next, type Solution, turnoverOf, useOf } from "./problem.ts";

/** Returns the reason in words. */
export function reasonOf(prepared: Prepared, position: Position, solution: Solution): string {
  const { item, fixed, noBuys, noSells } = position;
  if (fixed !== undefined) return fixed;
  const isBuy = position.start < 0n;
  const refused = isBuy ? noBuys : noSells;
  if (refused !== undefined) return refused;
  const smallest = item === undefined ? undefined : next(item, 0, isBuy ? 1 : -1);
  if (item === undefined || smallest === undefined) return unsellable(prepared, position);
  const { problem, currencies, scales } = prepared;
  const currency = currencies[item.pool]!;
  const amount = (parts: bigint, places: number) => money(`${parts}e-${places}`);
  const what = `${isBuy ? "buying" : "selling"} ${
    amount(amountOf(item, smallest), scales.amount)
  } ${currency}`;
  if (driftOf(item, smallest) >= driftOf(item, 0)) {
    const weight = percent(prepared, prepared.weightOf(position, smallest));
    const drift = percent(prepared, position.start);
    const isLot = Math.abs(smallest) === 1;
    return isLot
      ? `one lot of ${normalize(position.lot)} is ${weight} of the account, and the drift is only ${drift}`
      : `the smallest trade of at least ${
        money(prepared.minTrade)
      } is ${weight} of the account, and the drift is only ${drift}`;
  }
  if (problem.turnover !== undefined && solution.turnover + turnoverOf(item, smallest) > problem.turnover) {
    return `${what} would exceed maxTurnover`;
  }
  const used = problem.items.reduce(
    (sum, each: Item, index) => sum + (each.pool === item.pool ? useOf(each, solution.lots[index]!) : 0n),
    0n,
  );
  const rest = problem.budgets[item.pool]! - used;
  if (useOf(item, smallest) > rest) {
    return `${what} needs ${amount(useOf(item, smallest), scales.amount)} ${currency} with fees, and ${
      amount(rest, scales.amount)
    } ${currency} remain above the buffer`;
  }
  return "other trades reduce the drift more";
}

function unsellable({ minTrade }: Prepared, { sellable, lot, quantity }: Position): string {
  if (compare(sellable, "0") <= 0) return "nothing of it can be sold today";
  if (compare(sellable, lot) < 0) {
    return `only ${normalize(sellable)} of ${quantity} shares can be sold, which is less than a lot of ${
      normalize(lot)
    }`;
  }
  return `what can be sold is worth less than minTrade ${money(minTrade)}, or less than its fees`;
}

const money = (amount: Decimal): string => round(amount, 2, "half-even");

/** Returns a weight in percent, with two decimals; below 1 %, with two significant digits. */
function percent({ problem }: Prepared, parts: bigint): string {
  const size = String(parts < 0n ? -parts : parts);
  const value = divide(multiply(size, "100"), String(problem.unit), 12, "half-even");
  const [whole = "0", fraction = ""] = normalize(value).split(".");
  const digits = whole === "0" ? Math.max(2, fraction.search(/[1-9]/) + 2) : 2;
  return `${normalize(round(value, Math.min(12, digits), "half-even"))} %`;
}
