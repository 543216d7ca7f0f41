/** Description of `hsgate rebalance`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  plan: { type: "boolean", text: "make the plan, and send nothing; required" },
  account: {
    type: "string",
    value: "FILE",
    text: "plan for the account of this file, without a broker",
  },
  html: { type: "string", value: "FILE", text: "also write the plan as a page with before and after" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type RebalanceInput = Input<typeof flags>;

/** Plans how to bring a portfolio back to its targets. */
export const rebalance = command({
  name: "rebalance",
  summary: "plan how to bring a portfolio back to its targets",
  usage: "FILE --plan",
  args: [1, 1],
  details: `FILE is YAML or JSON. It names the target weights, the cash that must remain, and limits;
docs/rebalancing.md explains every member. The command reads holdings, cash, quotes, lots and
exchange rates from the broker, or from the file that --account names. It prints the trades, their
estimated fees, the cash and the drift after them, and what was left out and why. It sends no
order.

The plan has the least sum of squared drifts that lots, fees, cash and the limits allow, and among
those plans the least turnover. If that is not proven, a better plan may exist, with a sum of
lowerBound or more.

--json prints { base, trades, cashAfter, weightsAfter, sumSquaredDrift, lowerBound, leftOut } and
further members. hash identifies the plan, its account and its settings.`,
  flags,
  exits: [3, 4, 6],
  examples: [
    "rebalance portfolio.yaml --plan",
    "rebalance portfolio.yaml --plan --html plan.html",
    "rebalance portfolio.yaml --plan --account account.json --json",
  ],
});
