/**
 * Defines the step `rebalance`: plans how to bring a portfolio back to its targets, and executes the plan.
 *
 * The plan is recorded in the store before anything is sent. A step that was interrupted continues its recorded plan.
 * What remains of the plan is computed from its orders in the store.
 *
 * @module
 */
import * as z from "zod";
import { showInstant } from "../../calendars/mod.ts";
import { isZero } from "../../decimal.ts";
import { resolved } from "../../confined_paths.ts";
import { InvalidParamsError } from "../../errors.ts";
import {
  approveExactly,
  approvePlan,
  checkAccount,
  compareRecipe,
  findPlan,
  hasChanged,
  makePlan,
  type Plan,
  planOfStep,
  planPage,
  type PlanRecord,
  plansIn,
  readBrokerAccount,
  readExecutionTerms,
  readRebalanceSettings,
  rebalance,
  type RebalanceFile,
  type RebalanceReport,
  type RecipeFile,
  recordPlan,
  refusePlan,
  shortHash,
  STOPPED_BY,
} from "../../rebalance/mod.ts";
import type { StepContext, StepDesk } from "../compiled.ts";
import { durationOf } from "../compile/written_times.ts";
import { Halt } from "../engine/step_context.ts";
import { someTime } from "../schema/recipe_schema.ts";
import { folder, writesInto } from "./fields.ts";
import { pathIn, writeAtomically } from "./files.ts";
import { stepKind } from "./kind.ts";
import { pause } from "./times.ts";

const params = z.strictObject({
  portfolio: z.record(z.string(), z.unknown()).meta({
    description: "Targets, limits and terms of execution, as in the file of `hsgate rebalance`",
  }),
  mode: z.enum(["plan", "confirm", "live"]).default("plan").meta({
    description: "plan sends nothing, confirm waits until a person approves the plan, live executes it",
  }),
  approval: someTime.default("1h").meta({
    description: "With confirm: how long the step waits for the approval",
  }),
  out: folder.default("out/rebalance"),
});
type Params = z.infer<typeof params>;

const amounts = z.record(z.string(), z.string());
const output = z.strictObject({
  /** Whether the plan is completely executed. Also true if it has no trades, or if the step only made the plan. */
  ok: z.boolean(),
  hash: z.string(),
  /** `nothing`: the plan has no trades. `planned`: the plan was made, and nothing was sent. */
  state: z.enum(["nothing", "planned", "done", "stopped"]),
  /** Why part of the plan was not executed. */
  reason: z.string().optional(),
  /** The trades of the plan, each with its planned, filled and remaining quantity. */
  trades: z.array(z.strictObject({
    symbol: z.string(),
    side: z.string(),
    planned: z.string(),
    filled: z.string(),
    remaining: z.string(),
    averagePrice: z.string().optional(),
    arrivalPrice: z.string().optional(),
    slippage: z.string().optional(),
    reason: z.string().optional(),
  })),
  /** Symbols that are not at their target, and that the plan does not trade. */
  leftOut: z.array(z.strictObject({ symbol: z.string(), reason: z.string() })),
  /** Cost compared with the prices when the execution began, by currency. */
  slippage: amounts,
  fees: z.strictObject({ estimated: amounts, booked: amounts.optional() }),
  /** Sum of the squared drifts: before, as planned, and as reached. */
  drift: z.strictObject({ before: z.string(), planned: z.string(), reached: z.string() }),
  /**
   * Paths of two files: the page of the plan and its execution, and their data as JSON. Empty if the plan has no trades
   * and the run has an order desk.
   */
  files: z.array(z.string()),
});
/** Result of the step. */
export type Rebalanced = z.infer<typeof output>;

/** Time between two checks for an approval. */
const CHECK_MS = 5_000;
/** When a step continues its plan after a stop of the process, it renews the approval of the plan for this time. */
const OWN_APPROVAL_MS = 10 * 60_000;

/** Plans, waits for the approval if it needs one, and executes. */
export const rebalanceStep = stepKind<Params, Rebalanced>({
  name: "rebalance",
  summary: "Brings a portfolio back to its targets: makes a plan, waits for its approval, and executes it",
  effect: "write",
  resumes: true,
  needsAccount: () => true,
  asOfNow: () => ({ reads: "account, quotes", exchanges: [] }),
  reaches: writesInto,
  params,
  output,
  check({ portfolio }, wrong) {
    if (typeof portfolio !== "object") return; // an expression, which is checked later
    try {
      readRebalanceSettings(portfolio, "plan");
    } catch (error) {
      if (!(error instanceof InvalidParamsError)) throw error;
      for (const { path, expected } of error.issues) wrong(["portfolio", ...path], expected);
    }
  },
  async run(given, context) {
    const settings = readRebalanceSettings(given.portfolio, "plan");
    if (context.desk === undefined) {
      context.log("warn", "this run has no order desk, so it only makes the plan, and sends nothing");
      const plan = await planNow(settings, context);
      const files = await writeFiles({ given, context }, plan);
      return { ...resultOf(plan), ...plan.trades.length === 0 && { state: "nothing" }, files };
    }
    const desk = await context.desk();
    const earlier = await earlierPlan(desk, context);
    if (given.mode !== "plan") {
      const resumed = earlier && await resume(earlier, { given, settings, desk, context });
      if (resumed !== undefined && earlier?.runKey === context.stepKey) return resumed;
    } else if (earlier?.state === "running") {
      const short = shortHash(earlier.hash);
      context.log(
        "warn",
        `the plan ${short} is not finished, and mode "plan" sends nothing; to finish it, run: ` +
          `hsgate rebalance run ${short}`,
      );
    }
    return await begin({ given, settings, desk, context });
  },
  async plan(given, context) {
    const settings = readRebalanceSettings(given.portfolio, "plan");
    const { trades, cashAfter, fees, sumSquaredDriftBefore, sumSquaredDrift, leftOut, hash } = await planNow(
      settings,
      context,
    );
    return {
      mode: given.mode,
      trades: trades.map(({ side, quantity, symbol, price }) =>
        `${side} ${quantity} of ${symbol}, planned at ${price}`
      ),
      fees,
      cashAfter,
      sumSquaredDriftBefore,
      sumSquaredDrift,
      leftOut,
      hash,
    };
  },
});

/** One run of the step. */
interface Work {
  given: Params;
  settings: RebalanceFile;
  desk: StepDesk;
  context: StepContext;
}

/** Makes a plan for the account as it is now. */
async function planNow(settings: RebalanceFile, context: StepContext): Promise<Plan> {
  return await makePlan(settings, await accountNow(settings, context));
}

async function accountNow(settings: RebalanceFile, { client, now, calendars, signal }: StepContext) {
  return await readBrokerAccount(await client(), settings, { now, calendars, signal });
}

/** Returns the plan of an earlier attempt at this step, or else a running plan of an earlier run of the recipe. */
async function earlierPlan(
  { store, account }: StepDesk,
  { stepKey, recipe }: StepContext,
): Promise<PlanRecord | undefined> {
  return await planOfStep(store, account, stepKey) ??
    (await plansIn(store, account, "running")).find(({ runKey }) => runKey?.startsWith(`${recipe}/`));
}

/** Makes a plan, records it, and does what the mode says. */
async function begin(work: Work): Promise<Rebalanced> {
  const { given, settings, desk, context } = work;
  const { store, account } = desk;
  const plan = await planNow(settings, context);
  if (plan.leftOut.length > 0) context.log("info", `not traded: ${leftOutText(plan)}`);
  if (plan.trades.length === 0) return { ...resultOf(plan), state: "nothing", files: [] };
  const recipe = given.mode === "confirm" ? await recipeOf(context) : undefined;
  const record = await recordPlan(store, {
    account,
    plan,
    terms: settings.execution ?? readExecutionTerms(),
    source: { settings, ...recipe !== undefined && { recipe } },
    at: context.now(),
    runKey: context.stepKey,
  });
  const files = await writeFiles(work, plan);
  context.log(
    "info",
    `made the plan ${shortHash(plan.hash)}: ${plan.trades.length} trades, page ${files[0]}`,
  );
  if (given.mode === "plan") return { ...resultOf(plan), files };
  return await approveAndExecute(record, work);
}

/** Returns the recipe of a run, to be compared with its file later; `undefined` if its file cannot be read. */
async function recipeOf({ recipeFile: { file, sha256 } }: StepContext): Promise<RecipeFile | undefined> {
  const found = await compareRecipe({ file, sha256 });
  return found === "missing" || found === "unknown" ? undefined : { file: resolved(file), sha256 };
}

/**
 * Returns why a plan must not begin any more: its recipe has changed or was removed. Returns `undefined` if the plan
 * may begin. The recipe may have changed while the step waited, or before another process continued the run with the
 * new recipe.
 */
async function whyOutdated(
  record: PlanRecord,
  { settings, context: { recipeFile } }: Work,
): Promise<string | undefined> {
  const before = record.source?.recipe;
  const now = before === undefined ? "unknown" : await compareRecipe({ ...before, file: recipeFile.file });
  const text = `its recipe "${resolved(recipeFile.file)}"`;
  if (now === "missing") return `${text} is no longer there`;
  return now === "changed" || hasChanged(record, settings)
    ? `${text} has changed since the plan's run began`
    : undefined;
}

/** Continues a plan of an earlier attempt or run. If the plan has ended, returns its result. */
async function resume(record: PlanRecord, work: Work): Promise<Rebalanced> {
  const { desk, context } = work;
  const { plan, state, approval, reason, report } = record;
  context.log("info", `continues the plan ${shortHash(plan.hash)}, which is ${state}`);
  if (state === "planned" || state === "approved") return await approveAndExecute(record, work);
  if (state === "running") return await executePlan(record, work);
  // The process was stopped during the execution, so the earlier approval remains valid until the deadline.
  const at = context.now();
  const isEarly = at < (record.deadlineAt ?? 0);
  if (state === "stopped" && approval !== undefined && isEarly && reason?.startsWith(STOPPED_BY)) {
    const again = await approvePlan(desk.store, record, { ...approval, until: at + OWN_APPROVAL_MS });
    return await executePlan(again, work);
  }
  return { ...resultOf(plan, report, reason), files: await writeFiles(work, plan, report) };
}

/** Gets the approval of a plan, checks that the account still fits it, and executes it. */
async function approveAndExecute(record: PlanRecord, work: Work): Promise<Rebalanced> {
  const { given, settings, desk, context } = work;
  const { plan } = record;
  let approved: PlanRecord | undefined = record;
  if (given.mode === "confirm") {
    approved = await awaitApproval(record, work);
    if (approved === undefined) {
      const stopped = await findPlan(desk.store, desk.account, plan.hash);
      return {
        ...resultOf(plan, undefined, stopped?.reason),
        ok: false,
        files: await writeFiles(work, plan),
      };
    }
  } else if (record.state === "planned" || record.state === "approved") {
    // An earlier process may have made the plan, from an earlier version of the recipe.
    const reason = await whyOutdated(record, work);
    if (reason !== undefined) {
      await refuse(record, work, reason);
      return { ...resultOf(plan, undefined, reason), files: await writeFiles(work, plan) };
    }
  }
  if (given.mode !== "confirm" && record.state === "planned") {
    const wish = { by: `recipe ${context.recipe}`, at: context.now() };
    approved = await approveExactly(desk.store, record, wish, settings);
  }
  // The account may have changed while the step waited for the approval.
  checkAccount(plan, settings, await accountNow(settings, context));
  return await executePlan(approved, work);
}

/**
 * Waits until a person approves a plan. Returns `undefined` if nobody approves it in time, if a person refuses it, or
 * if the recipe changes: the person who edits the recipe expects that the earlier version no longer trades.
 */
async function awaitApproval(record: PlanRecord, work: Work): Promise<PlanRecord | undefined> {
  const { given, desk: { store, account }, context } = work;
  const { hash, plannedAt } = record;
  const until = plannedAt + durationOf(given.approval);
  const text = `the plan ${shortHash(hash)} waits for approval until ${showInstant(until)}: hsgate approve ${
    shortHash(hash)
  }`;
  context.log("warn", text);
  for (;;) {
    const now = await findPlan(store, account, hash);
    const reason = now?.state === "stopped" ? undefined : await whyOutdated(record, work);
    if (reason !== undefined) {
      await refuse(record, work, reason);
      return undefined;
    }
    if (now?.state === "approved" && now.approval !== undefined && now.approval.until > context.now()) {
      return now;
    }
    if (now?.state === "stopped") return undefined;
    const ended = context.now() >= until
      ? `nobody approved it within ${given.approval}`
      : await context.whyWritesEnded?.();
    if (ended !== undefined) {
      await refuse(record, work, ended);
      return undefined;
    }
    context.progress({ text });
    await pause(context, Math.min(CHECK_MS, Math.max(1, until - context.now())));
  }
}

/** Refuses a plan that has not begun. Logs the reason, because the error of the failed step does not contain it. */
async function refuse(record: PlanRecord, { desk, context }: Work, reason: string): Promise<void> {
  await refusePlan(desk.store, record, { at: context.now(), reason });
  context.log("warn", `the plan ${shortHash(record.hash)} is refused: ${reason}`);
}

/** Executes an approved or running plan. */
async function executePlan(record: PlanRecord, work: Work): Promise<Rebalanced> {
  const { desk, context } = work;
  const { plan, terms } = record;
  const { signal } = context;
  const report = await rebalance(desk, plan, terms, {
    by: `recipe ${context.recipe}`,
    stepKey: context.stepKey,
    calendars: context.calendars,
    signal,
    ...context.whyWritesEnded !== undefined && { whyWritesEnded: context.whyWritesEnded },
    onEvent({ kind, trade, text }) {
      const symbol = trade === undefined ? "" : `${plan.trades[trade]!.symbol}: `;
      context.log(kind === "note" ? "debug" : "info", `${symbol}${text}`);
    },
  });
  const files = await writeFiles(work, plan, report);
  // After a stop of this process, the next process continues the plan. If a person cancels the run, the plan ends.
  const halt: unknown = signal.reason;
  if (signal.aborted && halt instanceof Halt && (halt.kind === "stopped" || halt.kind === "lost")) throw halt;
  return { ...resultOf(plan, report), files };
}

/** Largest number of symbols in one line of the log. The result has all of them. */
const MOST_LOGGED = 20;

function leftOutText({ leftOut }: Plan): string {
  const shown = leftOut.slice(0, MOST_LOGGED).map(({ symbol, reason }) => `${symbol} (${reason})`);
  return [...shown, ...leftOut.length > MOST_LOGGED ? [`and ${leftOut.length - MOST_LOGGED} more`] : []].join(
    ", ",
  );
}

/** Returns the result of a plan, with the result of its execution if there was one. */
function resultOf(plan: Plan, report?: RebalanceReport, reason?: string): Omit<Rebalanced, "files"> {
  const { hash, sumSquaredDriftBefore: before, sumSquaredDrift: planned, fees, leftOut } = plan;
  if (report === undefined) {
    return {
      ok: reason === undefined,
      hash,
      state: reason === undefined ? "planned" : "stopped",
      ...reason !== undefined && { reason },
      trades: plan.trades.map(({ symbol, side, quantity }) => ({
        symbol,
        side,
        planned: quantity,
        filled: "0",
        remaining: quantity,
      })),
      leftOut,
      slippage: {},
      fees: { estimated: fees },
      drift: { before, planned, reached: before },
    };
  }
  const { state, trades, slippage, fees: paid, drift } = report;
  const why = report.reason ?? reason;
  return {
    ok: trades.every(({ remaining, open, unknown }) => [remaining, open, unknown].every(isZero)),
    hash,
    state: state === "done" ? "done" : "stopped",
    ...why !== undefined && { reason: why },
    trades: trades.map((each) => ({
      symbol: each.symbol,
      side: each.side,
      planned: each.planned,
      filled: each.filled,
      remaining: each.remaining,
      ...each.averagePrice !== undefined && { averagePrice: each.averagePrice },
      ...each.arrivalPrice !== undefined && { arrivalPrice: each.arrivalPrice },
      ...each.slippage !== undefined && { slippage: each.slippage.money },
      ...each.reason !== undefined && { reason: each.reason },
    })),
    leftOut,
    slippage,
    fees: { estimated: paid.estimated, ...paid.booked !== undefined && { booked: paid.booked } },
    drift,
  };
}

/** Writes the page of a plan and its data. The files are written before the execution, and replaced after it. */
async function writeFiles(
  { given, context }: Pick<Work, "given" | "context">,
  plan: Plan,
  report?: RebalanceReport,
): Promise<string[]> {
  const day = context.day.date;
  const contents = {
    html: planPage(plan, report),
    json: `${JSON.stringify({ plan, report: report ?? null }, null, 2)}\n`,
  };
  const files: string[] = [];
  for (const [ending, content] of Object.entries(contents)) {
    const path = pathIn(context, given.out, day, `${shortHash(plan.hash)}.${ending}`);
    const file = await writeAtomically(path, content);
    await context.artifact({
      dataset: `rebalance/${shortHash(plan.hash)}.${ending}`,
      businessDay: day,
      final: report !== undefined,
      ...file,
    });
    files.push(file.path);
  }
  return files;
}
