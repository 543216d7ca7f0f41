/** Descriptions of `hsgate rebalance`, `hsgate rebalance run` and `hsgate rebalance show`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { by, listing, newStore, store } from "../terminal/flags.ts";

const html = {
  type: "string",
  value: "FILE",
  text: "also write an HTML page: the plan, and what was executed",
} as const;

const flags = {
  plan: { type: "boolean", text: "make the plan, and send nothing" },
  propose: { type: "boolean", text: 'record the plan for "hsgate approve", and send nothing' },
  yes: { type: "boolean", short: "y", text: "do not ask; needed without a terminal" },
  account: {
    type: "string",
    value: "FILE",
    text: "with --plan: use the account in this file, without a broker",
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

const showFlags = { html, store, ...listing } as const satisfies Flags;
/** Arguments and flags of `hsgate rebalance show`. */
export type RebalanceShowInput = Input<typeof showFlags>;

const remains = [7, "the execution ended, and a part of the plan was not executed"] as const;
const hashText = 'HASH is the hash of a plan from "rebalance show"; its first 8 characters are enough.';

/** Plans how to bring a portfolio back to its targets, and executes the plan. */
export const rebalance = command({
  name: "rebalance",
  summary: "bring a portfolio back to its targets: show the plan, ask, and execute it",
  usage: "FILE",
  args: [1, 1],
  details: `FILE is YAML or JSON. It names the target weights, the cash that must remain, limits, and
the terms of execution; docs/rebalancing.md explains every member. The command reads
holdings, cash, quotes, lots and exchange rates from the broker. It prints the trades,
their estimated fees, the cash and the drift (weight minus target) after them, and why a
symbol is not traded. Then it asks you, and executes exactly this plan. Without a terminal,
it needs --yes.
--plan and --propose send no order.

Lots, fees, cash and the limits allow many plans. hsgate chooses the plan with the smallest
sum of squared drifts. If several plans have the same sum, it chooses the one that trades the
least value. If hsgate cannot prove that its plan has the smallest sum, a better plan may
exist. The output names a lower bound (lowerBound in JSON): no plan has a smaller sum.

The command sells first, and then buys with the cash that the broker shows. Orders never
exceed the planned quantities. After a crash, "rebalance run" continues the plan. Guard rails
check each order; the setting liveTrading must be "allow".

With --plan or --propose, --json prints { base, trades, cashAfter, weightsAfter,
sumSquaredDrift, lowerBound, leftOut, hash } and further members; hash identifies the plan.
Otherwise --json prints what was executed.`,
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
Without HASH, the command uses the account's plan that is running, or else the only plan that
is approved.

Before the first order, the command checks that the file and the account still fit the plan.
If they do not, it sends nothing: make a new plan. If the process of a plan was killed, the
command continues with the rest of the plan, until the plan's deadline.`,
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
Without HASH, the command lists the last 20 plans of the account. If the execution of the plan
has begun, the command also shows the filled and remaining quantities, the average prices,
estimated and booked fees, the drift that was reached, and the slippage: the difference from
the prices when the execution began.`,
  flags: showFlags,
  exits: [],
  examples: ["rebalance show", "rebalance show 1f0c6b2a94d7 --html result.html"],
});
