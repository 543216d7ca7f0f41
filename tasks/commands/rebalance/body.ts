/**
 * Runs `hsgate rebalance`.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { resolved } from "../../../lib/confined_paths.ts";
import { passRules } from "../../../lib/desk/guards/rules.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { orders } from "../../../lib/operations/orders.ts";
import { replacePage } from "../../../lib/private_files.ts";
import {
  type Account,
  approveExactly,
  checkAccount,
  GuardRefusal,
  hasChanged,
  makePlan,
  passingRules,
  type Plan,
  planPage,
  plansIn,
  readAccount,
  readBrokerAccount,
  readExecutionTerms,
  type RebalanceFile,
  recordPlan,
  shortHash,
} from "../../../lib/rebalance/mod.ts";
import { termsText } from "../../../lib/rebalance/results/words.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { RebalanceInput } from "../rebalance.ts";
import { confirm, needAnswer } from "../shared/ask.ts";
import { actorOf } from "../shared/decide.ts";
import { type OpenDesk, openDesk } from "../shared/desk.ts";
import { clientOf } from "../shared/session.ts";
import { storeTime } from "../shared/store_file.ts";
import { readPortfolio, textOf } from "./decide.ts";
import { execute } from "./execute.ts";
import { planLines } from "./lines.ts";

/** Makes the plan, shows it, and executes it if a person wants that. */
export async function run(input: RebalanceInput): Promise<number> {
  const { args: [path = ""], flags, host } = input;
  if (flags.plan && (flags.propose || flags.yes)) {
    throw new UsageError(
      `Cannot use --plan with --${flags.propose ? "propose" : "yes"}: --plan only shows the plan`,
    );
  }
  if (flags.propose && flags.yes) {
    throw new UsageError('Cannot use --propose with --yes: a person approves the plan with "hsgate approve"');
  }
  if (!flags.plan && flags.account !== undefined) {
    throw new UsageError(
      "Cannot execute a plan for the account of a file: add --plan, or leave --account out",
    );
  }
  if (!flags.plan && !flags.propose) needAnswer("yes", flags.yes, host);
  const file = await readPortfolio(path, host);
  if (flags.plan) return await show(file, input);
  // A proposal writes no order.
  const writes = !flags.propose;
  await using open = await openDesk(flags, { host, command: "rebalance", writes });
  await refuseUnfinished(open);
  const plan = await makePlan(file, await brokerAccount(open.client, file, host));
  if (plan.trades.length === 0) {
    printPlan(plan, `Plan of ${plan.date}: nothing to trade`, input);
    return 0;
  }
  const terms = file.execution ?? readExecutionTerms();
  const source = { settings: file, file: resolved(path) };
  const record = async () =>
    await recordPlan(open.store, {
      account: open.account,
      plan,
      terms,
      source,
      at: storeTime(open.store, host),
    });
  if (flags.propose) {
    await record();
    printPlan(plan, `Plan of ${plan.date}, recorded for approval`, input);
    host.note(`hsgate: to approve exactly this plan: hsgate approve ${shortHash(plan.hash)}`);
    host.note(`hsgate: then, to execute it: hsgate rebalance run ${shortHash(plan.hash)}`);
    return 0;
  }
  await checkGuards(open, plan);
  for (const line of planLines(host, plan, `Plan of ${plan.date}`)) host.note(line);
  host.note("");
  host.note(`Orders: ${termsText(terms)}`);
  host.note(`Account: ${open.account}`);
  const [short, count] = [shortHash(plan.hash), plan.trades.length];
  const what = count === 1 ? "its order" : `its ${count} orders`;
  if (!flags.yes) {
    await confirm(`Approve the plan ${short} and send ${what}?`, host);
    // The user may have answered after a long time, so check the file and the account again.
    if (hasChanged({ source }, await readPortfolio(path, host))) {
      throw new BrokerError(
        `Cannot execute the plan ${short}: "${path}" has changed since the plan was made; make a new plan`,
        { code: "plan-changed", operation: "rebalance" },
      );
    }
    checkAccount(plan, file, await brokerAccount(open.client, file, host));
  }
  const wish = { by: actorOf(flags, host), at: storeTime(open.store, host) };
  return await execute(open, await approveExactly(open.store, await record(), wish), input);
}

/** Shows a plan without a store. */
async function show(file: RebalanceFile, input: RebalanceInput): Promise<number> {
  const { flags, host } = input;
  const plan = await makePlan(file, await accountFor(file, input));
  if (flags.html !== undefined) {
    const page = planPage(plan);
    // The page may contain texts of the broker, which may repeat a secret.
    replacePage(flags.html, host.shown?.(page) ?? page);
  }
  printPlan(plan, `Plan of ${plan.date}, which sends nothing`, input);
  return 0;
}

/** Prints a plan. */
function printPlan(plan: Plan, title: string, { flags, host }: RebalanceInput): void {
  if (flags.json) host.out(JSON.stringify(plan));
  else for (const line of planLines(host, plan, title)) host.out(line);
}

/** Returns the account of a plan: of the file that --account names, or of the broker. */
async function accountFor(file: RebalanceFile, { flags, host }: RebalanceInput): Promise<Account> {
  if (flags.account !== undefined) return readAccount(await textOf(flags.account, host), flags.account);
  await using client = await clientOf(flags, host, { command: "rebalance" });
  return await brokerAccount(client, file, host);
}

/** Reads the account of a plan from the broker. */
export async function brokerAccount(client: Client, file: RebalanceFile, host: Host): Promise<Account> {
  const { now, signal } = host;
  return await readBrokerAccount(client, file, { now, calendars: calendarsOf(host), signal });
}

/**
 * Rejects a new plan while another plan of the account is running: both would use the same shares and cash.
 *
 * @throws {BrokerError} With the code `plan-other`, if a plan is running.
 */
async function refuseUnfinished({ store, account }: OpenDesk): Promise<void> {
  const [running] = await plansIn(store, account, "running");
  if (running === undefined) return;
  const short = shortHash(running.hash);
  throw new BrokerError(
    `Cannot rebalance: the plan ${short} of this account has not ended; to continue it: hsgate rebalance run ${short}; ` +
      `to stop it: hsgate refuse ${short}`,
    { code: "plan-other", operation: "rebalance" },
  );
}

/**
 * Checks the first order of each side against the guard rails, before the command asks the user.
 *
 * @throws {GuardRefusal} If a guard rail rejects an order now and would also reject it later, such as `liveTrading`.
 */
async function checkGuards(open: OpenDesk, { trades }: Plan): Promise<void> {
  for (const side of ["sell", "buy"]) {
    const trade = trades.find((each) => each.side === side);
    if (trade === undefined) continue;
    const { market, symbol, quantity, price } = trade;
    try {
      const order = { market, symbol, side, quantity, price, orderType: "limit" };
      await passRules(await open.checkOf(orders.place, order));
    } catch (error) {
      if (!(error instanceof GuardRefusal && passingRules.includes(error.rule))) throw error;
    }
  }
}
