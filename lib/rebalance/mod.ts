/**
 * Plans the rebalancing of a portfolio (which trades bring the weights near their targets), and executes such plans.
 *
 * | File | Purpose |
 * |---|---|
 * | `plan_file.ts` | the file with targets, buffers, bands and limits |
 * | `account.ts` | the account of a plan: cash, holdings, prices, lots, rates |
 * | `broker.ts` | reads the account from the broker |
 * | `rows.ts` | finds the listings of a plan, and every mistake in the file and the account |
 * | `prepare.ts` | converts the file and the account to exact integers |
 * | `problem.ts`, `relax.ts`, `improve.ts`, `solve.ts` | the problem, its lower bound, a good plan, the best plan |
 * | `left_out.ts`, `impossible.ts` | why a symbol is not traded, why there is no plan |
 * | `plan.ts` | the plan as data |
 * | `terms.ts` | the terms of execution: prices, repricing, deadline |
 * | `queries.ts`, `stored_plan.ts` | the plans in the store, and the shapes of their JSON columns |
 * | `approve.ts` | the rules of approval |
 * | `execute.ts` | begins, continues and ends the execution of a plan |
 * | `execution.ts` | one execution by this process: places, reprices and cancels orders, and stops at the deadline |
 * | `cover.ts` | how much of an order the broker's cash and holdings cover |
 * | `hours.ts`, `pricing.ts`, `progress.ts` | when orders may be sent, at which prices and lots, and how much remains |
 * | `report.ts`, `results.ts` | what an execution did |
 * | `day_trades.ts` | what was executed on a day, for the day book |
 * | `values.ts` | reads the values of YAML and JSON files |
 * | `words.ts`, `page.ts` | the plan's numbers as text, and the plan as a page |
 *
 * @module
 */
export { readAccount } from "./account.ts";
export type { Account, AccountHolding, AccountQuote, Instrument } from "./account.ts";
export {
  APPROVAL_MS,
  type ApprovalWish,
  approveExactly,
  checkAccount,
  compareRecipe,
  fileOf,
  hasChanged,
  hasOtherRecipe,
} from "./approve.ts";
export { type BrokerAccountOptions, readBrokerAccount } from "./broker.ts";
export { rebalanceTradesOf } from "./day_trades.ts";
export { planPage } from "./page.ts";
export { makePlan } from "./plan.ts";
export type { Plan, PlannedPosition, PlannedTrade } from "./plan.ts";
export { readRebalanceFile, readRebalanceSettings } from "./plan_file.ts";
export { deadlineOf, readExecutionTerms } from "./terms.ts";
export type { ExecutionAlgorithm, ExecutionHours, ExecutionTerms, Peg } from "./terms.ts";
export {
  approvePlan,
  beginPlan,
  endPlan,
  findPlan,
  notePlan,
  planOfStep,
  plansIn,
  plansLike,
  plansOf,
  plansOfRuns,
  recordPlan,
  refusePlan,
  renewPlan,
  shortHash,
} from "./queries.ts";
export type { PlanApproval, PlanRecord, PlanState } from "./queries.ts";
export { endLeftPlan, rebalance } from "./execute.ts";
export { passingRules, STOPPED_BY } from "./execution.ts";
export { GuardRefusal } from "../desk/guards/check.ts";
export type { ExecutionEvent, PlanDesk, RebalanceOptions } from "./execution.ts";
export { progressOf } from "./progress.ts";
export type { Progress } from "./progress.ts";
export { reportOf } from "./results.ts";
export type { ReportOptions } from "./results.ts";
export type { RebalanceReport, Slippage, TradeReport } from "./report.ts";
export type { Band, Group, PriceKind, RebalanceFile } from "./plan_file.ts";
export type { ArrivalPrice, PlanSource, RecipeFile, TradeNote } from "./stored_plan.ts";
