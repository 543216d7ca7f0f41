/**
 * What `hsgate approve` and `hsgate refuse` do.
 *
 * @module
 */
import { approveRun, refuseRun } from "../../../lib/runner/approving.ts";
import type { RunRow } from "../../../lib/runner/run_rows.ts";
import type { ApproveInput, RefuseInput } from "../approve.ts";
import type { Host } from "../host.ts";
import { actorOf, runOf } from "./decide.ts";
import { openLedger } from "./ledger_file.ts";
import { recipeNamed } from "./recipe_files.ts";

/** Lets a run that waits run, unless it is too late. */
export async function approve({ args: [given = ""], flags, host }: ApproveInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  const { recipe: name, run_key: key } = runOf(ledger, given, "approve");
  const recipe = await recipeNamed(name, { folder: flags.recipes, host, now: host.now });
  const row = approveRun(ledger, { runKey: key, actor: actorOf(flags, host), now: host.now(), recipe });
  tell(row, flags, host);
  return row.state === "due" ? 0 : 1;
}

/** Skips a run that waits. */
export async function refuse({ args: [given = ""], flags, host }: RefuseInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  const { run_key: key } = runOf(ledger, given, "refuse");
  const { because } = flags;
  const row = refuseRun(ledger, { runKey: key, actor: actorOf(flags, host), because, now: host.now() });
  tell(row, flags, host);
  return 0;
}

function tell({ run_key: key, state, reason }: RunRow, flags: { json?: boolean }, host: Host): void {
  if (flags.json) host.out(JSON.stringify({ key, state, ...reason !== null && { reason } }));
  else if (state === "due") host.out(`${key} is due; a scheduler that is running takes it up`);
  else if (reason === "deadline") host.out(`${key} is skipped: its deadline or window has passed`);
  else host.out(`${key} is skipped`);
}
