/**
 * Runs `hsgate rebalance run` and `hsgate rebalance show`.
 *
 * @module
 */
import { showInstant } from "../../../lib/calendars/mod.ts";
import { compare } from "../../../lib/decimal.ts";
import { intentsOfPlan } from "../../../lib/desk/queries.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { replacePage } from "../../../lib/private_files.ts";
import {
  checkAccount,
  compareRecipe,
  fileOf,
  hasChanged,
  hasOtherRecipe,
  planPage,
  type PlanRecord,
  plansIn,
  plansOf,
  progressOf,
  type RebalanceReport,
  reportOf,
  shortHash,
} from "../../../lib/rebalance/mod.ts";
import { termsText } from "../../../lib/rebalance/results/words.ts";
import type { Store } from "../../../lib/store/store.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { checkListColumns, listView, printList, refuseListFlags } from "../../terminal/list_output.ts";
import { type Column, list, plain } from "../../terminal/print.ts";
import type { RebalanceRunInput, RebalanceShowInput } from "../rebalance.ts";
import { connectDesk, openAccountStore, openDesk } from "../shared/desk.ts";
import { brokerAccount } from "./body.ts";
import { planOf, settingsNow } from "./decide.ts";
import { execute } from "./execute.ts";
import { planLines, reportLines } from "./lines.ts";

/** Executes an approved plan, or continues one that was interrupted. */
export async function run(input: RebalanceRunInput): Promise<number> {
  const { args: [given], flags, host } = input;
  await using open = await openDesk(flags, { host, command: "rebalance run", writes: true });
  const record = given === undefined
    ? await onlyPlan(open.store, open.account)
    : await ownPlan(open.store, open.account, given, "execute");
  const { hash, plan, source, startedAt, state } = record;
  // An interrupted execution continues within the plan, even if the file or the account has changed.
  if (state !== "running" && state !== "done" && source !== undefined) {
    const settings = await settingsNow(record, host);
    if (settings !== undefined && hasChanged(record, settings) || await hasOtherRecipe(record)) {
      throw new BrokerError(
        `Cannot execute the plan ${shortHash(hash)}: ${
          fileOf(record)
        } has changed since the plan was made; make a new plan`,
        { code: "plan-changed", operation: "rebalance" },
      );
    }
    if (source.recipe !== undefined && await compareRecipe(source.recipe) === "missing") {
      throw new UsageError(
        `Cannot compare the plan ${
          shortHash(hash)
        } with its recipe: there is no "${source.recipe.file}" here; execute it on the machine that made the plan, or make a new plan`,
      );
    }
    // Orders that stayed open when the execution stopped may have been filled since.
    if (startedAt !== undefined) await open.desk.reconcile({ signal: host.signal });
    const progress = startedAt === undefined
      ? []
      : progressOf(plan, await intentsOfPlan(open.store, open.account, hash));
    checkAccount(plan, source.settings, await brokerAccount(open.client, source.settings, host), progress);
  }
  return await execute(open, record, input);
}

/** Shows one plan, or lists the plans of the account. */
export async function show(input: RebalanceShowInput): Promise<number> {
  const { args: [given], flags, host } = input;
  const view = listView(flags);
  if (given === undefined) checkListColumns(view, planColumns);
  else refuseListFlags(flags, "with a plan");
  const isJson = view.output === "json";
  await using accountStore = await openAccountStore(flags, {
    host,
    command: "rebalance show",
    writes: false,
  });
  const { store, account } = accountStore;
  if (given === undefined) {
    if (flags.html !== undefined) throw new UsageError("Cannot use --html without a plan: name its hash");
    const plans = await plansOf(store, { account });
    printList(host, view, {
      columns: planColumns,
      rows: plans.map(summaryOf),
      empty: `no plan of "${account}" is recorded; make one with: hsgate rebalance FILE`,
    });
    return 0;
  }
  const record = await ownPlan(store, account, given, "show");
  const report = await reportNow(record, input, accountStore);
  if (flags.html !== undefined) {
    const page = planPage(record.plan, report);
    // The page may contain texts of the broker, which may repeat a secret.
    replacePage(flags.html, host.shown?.(page) ?? page);
  }
  if (isJson) {
    host.out(
      JSON.stringify({
        ...summaryOf(record),
        plan: record.plan,
        terms: record.terms,
        report: report ?? null,
      }),
    );
    return 0;
  }
  for (const line of planLines(host, record.plan, `Plan of ${record.plan.date}: ${record.state}`)) {
    host.out(line);
  }
  const { approval } = record;
  const facts: [string, string][] = [
    ["orders", termsText(record.terms)],
    ["recorded", showInstant(record.plannedAt)],
    ...record.runKey === undefined ? [] : [["run", record.runKey] as [string, string]],
    ...record.source?.file === undefined ? [] : [["file", plain(record.source.file)] as [string, string]],
    [
      "approved",
      approval === undefined ? "no" : plain(`by ${approval.by}, until ${showInstant(approval.until)}`),
    ],
    ...record.reason === undefined ? [] : [["reason", plain(record.reason)] as [string, string]],
  ];
  for (const line of list(host, facts)) host.out(line);
  if (report !== undefined) {
    host.out("");
    for (const line of reportLines(host, report)) host.out(line);
  }
  return 0;
}

/**
 * Returns a report of what the execution of a plan has done so far, with fees that the broker booked after the day.
 * Returns the report that was recorded when the execution ended, if that report already has the booked fees, if the
 * broker cannot be reached, or if the new report shows less. Returns `undefined` if the execution has not begun, or
 * there is no report.
 */
async function reportNow(
  record: PlanRecord,
  { flags, host }: RebalanceShowInput,
  accountStore: Awaited<ReturnType<typeof openAccountStore>>,
): Promise<RebalanceReport | undefined> {
  if (record.startedAt === undefined || record.report?.fees.booked !== undefined) return record.report;
  try {
    await using open = await connectDesk(accountStore, flags, {
      host,
      command: "rebalance show",
      writes: false,
    });
    const intents = await intentsOfPlan(accountStore.store, record.account, record.hash);
    const now = await reportOf(open.client, record, intents, { now: host.now(), signal: host.signal });
    return record.report !== undefined && showsLess(now, record.report) ? record.report : now;
  } catch (error) {
    if (!(error instanceof BrokerError) || host.signal.aborted) throw error;
    host.note(`hsgate: the broker's lists could not be read: ${plain(error.message)}`);
    return record.report;
  }
}

/** Returns whether a report lacks data of an earlier one, because the store or the broker has deleted old orders. */
function showsLess(now: RebalanceReport, before: RebalanceReport): boolean {
  return before.trades.some(({ filled, averagePrice }, index) => {
    const trade = now.trades[index]!; // both reports are about the same plan, so they have the same trades
    return compare(trade.filled, filled) < 0 ||
      (averagePrice !== undefined && trade.averagePrice === undefined);
  });
}

/** Returns the members of a plan that a list shows. */
function summaryOf({ hash, state, plan, plannedAt, approval, reason, runKey }: PlanRecord) {
  return {
    hash,
    state,
    date: plan.date,
    trades: plan.trades.length,
    recordedAt: showInstant(plannedAt),
    approvedBy: approval?.by ?? null,
    approvedUntil: approval === undefined ? null : showInstant(approval.until),
    runKey: runKey ?? null,
    reason: reason ?? null,
  };
}

const planColumns: readonly Column<ReturnType<typeof summaryOf>>[] = [
  { title: "plan", id: true, of: ({ hash }) => shortHash(hash), exact: ({ hash }) => hash },
  { title: "recorded", of: ({ recordedAt }) => recordedAt },
  {
    title: "state",
    of: ({ state }) => state,
    color: ({ state }) => state === "stopped" ? "yellow" : "green",
  },
  { title: "trades", of: ({ trades }) => String(trades), align: "right" },
  { title: "approved by", name: "approved-by", of: ({ approvedBy }) => plain(approvedBy ?? "") },
  { title: "reason", of: ({ reason }) => plain(reason ?? "") },
];

/** Returns a plan of the account by its hash. @throws {UsageError} If the account has no such plan. */
async function ownPlan(store: Store, account: string, given: string, verb: string): Promise<PlanRecord> {
  const found = await planOf(store, given, verb);
  if (found?.account === account) return found;
  throw new UsageError(
    found === undefined
      ? `Cannot ${verb} "${given}": the store has no such plan; "rebalance show" lists them`
      : `Cannot ${verb} "${given}": it is a plan of the account "${found.account}", but the settings and flags name ` +
        `the account "${account}"`,
  );
}

/**
 * Returns the plan that is running, or else the only approved plan.
 *
 * @throws {UsageError} If no plan is running, and none or more than one is approved.
 */
async function onlyPlan(store: Store, account: string): Promise<PlanRecord> {
  const [running] = await plansIn(store, account, "running");
  if (running !== undefined) return running;
  const plans = await plansIn(store, account, "approved");
  const [plan, other] = plans;
  if (plan === undefined) {
    throw new UsageError('Cannot execute a plan: none is approved or running; "rebalance show" lists them');
  }
  if (other === undefined) return plan;
  throw new UsageError(
    `Cannot choose the plan to execute: more than one plan is approved; write one of these hashes: ${
      plans.map(({ hash }) => shortHash(hash)).join(", ")
    }`,
  );
}
