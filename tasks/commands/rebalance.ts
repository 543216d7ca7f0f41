/** Descriptions of `hsgate rebalance`, `hsgate rebalance run` and `hsgate rebalance show`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { by, newStore, store } from "../terminal/flags.ts";

const html = {
  type: "string",
  value: "FILE",
  text: "also write a page: the plan with before and after, and what its execution did",
} as const;

const flags = {
  plan: { type: "boolean", text: "make the plan, and send nothing" },
  propose: { type: "boolean", text: 'record the plan for "hsgate approve", and send nothing' },
  yes: { type: "boolean", short: "y", text: "do not ask; needed without a terminal" },
  account: {
    type: "string",
    value: "FILE",
    text: "with --plan: plan for the account of this file, without a broker",
  },
  html,
  by,
  store: newStore,
} as const satisfies Flags;
/** Arguments and flags of `hsgate rebalance`. */
export type RebalanceInput = Input<typeof flags>;

const runFlags = { html, by, store } as const satisfies Flags;
/** Arguments and flags of `hsgate rebalance run`. */
export type RebalanceRunInput = Input<typeof runFlags>;

const showFlags = { html, store } as const satisfies Flags;
/** Arguments and flags of `hsgate rebalance show`. */
export type RebalanceShowInput = Input<typeof showFlags>;

const remains = [7, "the execution ended, and something of the plan remains"] as const;
const hashText = 'HASH is the hash of a plan from "rebalance show", or its first letters.';

/** Plans how to bring a portfolio back to its targets, and executes the plan. */
export const rebalance = command({
  name: "rebalance",
  summary: "bring a portfolio back to its targets: show the plan, ask, and execute it",
  usage: "FILE",
  args: [1, 1],
  details: `FILE is YAML or JSON. It names the target weights, the cash that must remain, limits, and
the terms of execution; docs/rebalancing.md explains every member. The command reads
holdings, cash, quotes, lots and exchange rates from the broker. It prints the trades,
their estimated fees, the cash and the drift after them, and what was left out and why.
Then it asks you, and executes exactly this plan. Without a terminal it needs --yes.
--plan and --propose send no order.

The plan has the least sum of squared drifts that lots, fees, cash and the limits allow, and
among those plans the least turnover. If that is not proven, a better plan may exist, with a
sum of lowerBound or more.

It sells first, and buys with the cash that the broker shows. No order goes beyond the plan,
also after a crash: "rebalance run" continues a plan that was interrupted. Guard rails check
each order; the setting liveTrading must be "allow".

--plan --json prints { base, trades, cashAfter, weightsAfter, sumSquaredDrift, lowerBound,
leftOut } and further members. hash identifies the plan, its account and its settings.
Without --plan, --json prints what the execution did.`,
  flags,
  exits: [3, 4, 5, 6, remains],
  examples: [
    "rebalance portfolio.yaml --plan",
    "rebalance portfolio.yaml --plan --html plan.html",
    "rebalance portfolio.yaml --plan --account account.json --json",
    "rebalance portfolio.yaml",
    "rebalance portfolio.yaml --propose",
  ],
});

/** Executes an approved plan, or continues one that was interrupted. */
export const rebalanceRun = command({
  name: "rebalance run",
  summary: "execute an approved plan, or continue one that was interrupted",
  usage: "[HASH]",
  args: [0, 1],
  details: `${hashText}
Without it, the command takes the only plan of the account that is approved or running.

Before the first order of an approved plan, the command compares its file and the account
with the plan. If they differ, it sends nothing: make a new plan. A plan that was
interrupted continues with what is left of it, until its deadline.`,
  flags: runFlags,
  exits: [3, 4, 5, 6, remains],
  examples: ["rebalance run 1f0c6b2a94d7", "rebalance run"],
});

/** Shows recorded plans. */
export const rebalanceShow = command({
  name: "rebalance show",
  summary: "list the recorded plans of the account, or show one and what its execution did",
  usage: "[HASH]",
  args: [0, 1],
  details: `${hashText}
Without it, the command lists the last 20 plans of the account. For a plan whose execution has
ended, it shows filled and remaining quantities, average prices, the slippage against the
price when the execution began, estimated and booked fees, and the drift that was reached.`,
  flags: showFlags,
  exits: [],
  examples: ["rebalance show", "rebalance show 1f0c6b2a94d7 --html result.html"],
});
