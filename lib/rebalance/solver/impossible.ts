/**
 * Creates the error for a plan that cannot stay within its limits.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../../errors.ts";
import { normalize, round } from "../../decimal.ts";
import type { RebalanceFile } from "../input/plan_file.ts";
import type { Prepared } from "./prepare.ts";
import { useOf } from "./problem.ts";

/**
 * Returns the error. It names each cash buffer that all allowed sales together cannot restore. If there is none, it
 * names `maxTurnover`, or `cashBuffer` if the file has no `maxTurnover`.
 */
export function impossible(prepared: Prepared, file: RebalanceFile): InvalidParamsError {
  const { problem: { budgets, items }, currencies, scales } = prepared;
  const issues: Issue[] = currencies.flatMap((currency, pool) => {
    const mostRaised = items.filter((item) => item.pool === pool).reduce((sum, item) => {
      const sales = [item.closing?.lots, item.sells && -item.sells.most].filter((lots) => lots !== undefined);
      const raised = sales.map((lots) => -useOf(item, lots)).filter((each) => each > 0n);
      return sum + raised.reduce((most, each) => each > most ? each : most, 0n);
    }, 0n);
    const after = budgets[pool]! + mostRaised;
    if (after >= 0n) return [];
    const buffer = file.cashBuffer[currency] ?? "0";
    const missing = round(`${-after}e-${scales.amount}`, 2, "up");
    return [{
      path: ["cashBuffer", currency],
      value: buffer,
      expected:
        `a buffer that cash and sales can reach; ${missing} ${currency} are missing even if the plan sells ` +
        "all it may: lower the buffer, deposit cash, or allow more sales",
    }];
  });
  if (issues.length === 0) {
    issues.push({
      ...file.maxTurnover === undefined
        ? {
          path: ["cashBuffer"],
          value: file.cashBuffer,
          expected: "a smaller buffer: the plan's limits forbid the sales that this buffer needs",
        }
        : {
          path: ["maxTurnover"],
          value: normalize(file.maxTurnover),
          expected: "a limit that allows the sales for the cash buffer: raise it, or lower the buffer",
        },
    });
  }
  return new InvalidParamsError("plan", issues);
}
