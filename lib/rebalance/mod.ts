/**
 * Plans the rebalancing of a portfolio (which trades bring the weights near their targets), and executes such plans.
 *
 * | Folder | Purpose |
 * |---|---|
 * | `input/` | the file with the targets, the terms of execution, and the account from a file or from the broker |
 * | `solver/` | the problem in exact integers, its lower bound, the best plan, and why a symbol is not traded |
 * | `execution/` | approves a plan, and executes it: when, at which prices, and covered by which cash and holdings |
 * | `results/` | reports what an execution did, and shows a plan as text or as a page |
 * | `queries.ts`, `stored_plan.ts` | the plans in the store, and the shapes of their JSON columns |
 *
 * @module
 */
export { readAccount } from "./input/account.ts";
export type { Account, AccountHolding, AccountQuote, Instrument } from "./input/account.ts";
export {
  APPROVAL_MS,
  type ApprovalWish,
  approveExactly,
  checkAccount,
  compareRecipe,
  fileOf,
  hasChanged,
  hasOtherRecipe,
} from "./execution/approve.ts";
export { type BrokerAccountOptions, readBrokerAccount } from "./input/broker.ts";
export { rebalanceTradesOf } from "./results/day_trades.ts";
export { planPage } from "./results/page.ts";
export { makePlan } from "./solver/plan.ts";
export type { Plan, PlannedPosition, PlannedTrade } from "./solver/plan.ts";
export { readRebalanceFile, readRebalanceSettings } from "./input/plan_file.ts";
export { deadlineOf, readExecutionTerms } from "./input/terms.ts";
export type { ExecutionAlgorithm, ExecutionHours, ExecutionTerms, Peg } from "./input/terms.ts";
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
export { endLeftPlan, rebalance } from "./execution/execute.ts";
export { passingRules, STOPPED_BY } from "./execution/execution.ts";
export { GuardRefusal } from "../desk/guards/check.ts";
export type { ExecutionEvent, PlanDesk, RebalanceOptions } from "./execution/execution.ts";
export { progressOf } from "./execution/progress.ts";
export type { Progress } from "./execution/progress.ts";
export { reportOf } from "./results/results.ts";
export type { ReportOptions } from "./results/results.ts";
export type { RebalanceReport, Slippage, TradeReport } from "./results/report.ts";
export type { Band, Group, PriceKind, RebalanceFile } from "./input/plan_file.ts";
export type { ArrivalPrice, PlanSource, RecipeFile, TradeNote } from "./stored_plan.ts";
