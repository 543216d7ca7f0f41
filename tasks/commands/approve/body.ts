/**
 * Runs `hsgate approve` and `hsgate refuse`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { approveRun, refuseRun } from "../../../lib/runner/claims/decisions.ts";
import type { RunRow } from "../../../lib/runner/queries/runs.ts";
import type { ApproveInput, RefuseInput } from "../approve.ts";
import type { Host } from "../../terminal/host.ts";
import { actorOf, runOf } from "../shared/decide.ts";
import { openStore, storeTime } from "../shared/store_file.ts";
import { recipeNamed } from "../shared/recipe_files.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { approvePlan, planOf, refusePlan as refuseOnePlan } from "../rebalance/decide.ts";

/** Approves a plan or a missed run. A run whose deadline or window has passed is skipped instead. */
export async function approve({ args: [given = ""], flags, host }: ApproveInput): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true });
  const plan = await planOf(store, given, "approve");
  if (plan !== undefined) return await approvePlan(store, plan, { flags, host });
  if (flags.for !== undefined) {
    throw new UsageError("Cannot use --for with a run: only approvals of plans expire");
  }
  const { recipe: name, run_key: key } = await runOf(store, given, "approve");
  const recipe = await recipeNamed(name, {
    folder: flags.recipes,
    host,
    now: host.now,
    isOwnName: true,
  });
  const row = await approveRun(store, {
    runKey: key,
    actor: actorOf(flags, host),
    now: storeTime(store, host),
    calendars: calendarsOf(host),
    recipe,
  });
  printDecision(row, flags, host);
  return row.state === "due" ? 0 : 1;
}

/** Refuses a plan, or skips a missed run that waits for approval. */
export async function refuse({ args: [given = ""], flags, host }: RefuseInput): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true });
  const plan = await planOf(store, given, "refuse");
  if (plan !== undefined) return await refuseOnePlan(store, plan, { flags, host });
  const { run_key: key } = await runOf(store, given, "refuse");
  const { because } = flags;
  const row = await refuseRun(store, {
    runKey: key,
    actor: actorOf(flags, host),
    because,
    now: storeTime(store, host),
  });
  printDecision(row, flags, host);
  return 0;
}

function printDecision({ run_key: key, state, reason }: RunRow, flags: { json?: boolean }, host: Host): void {
  if (flags.json) host.out(JSON.stringify({ key, state, ...reason !== null && { reason } }));
  else if (state === "due") host.out(`${key} is due; a running scheduler starts it`);
  else if (reason === "deadline") host.out(`${key} is skipped: its deadline or window has passed`);
  else host.out(`${key} is skipped`);
}
