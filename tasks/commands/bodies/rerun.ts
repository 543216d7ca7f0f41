/**
 * What `hsgate rerun` does.
 *
 * @module
 */
import { rerun } from "../../../lib/runner/backfill.ts";
import type { RunRow } from "../../../lib/runner/run_rows.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import { UsageError } from "../exit_codes.ts";
import type { RerunInput } from "../rerun.ts";
import { runOf } from "./decide.ts";
import { openLedger } from "./ledger_file.ts";
import { recipeNamed } from "./recipe_files.ts";
import { eventLogger } from "./run_log.ts";
import { exitOf, RunQueue } from "./run_queue.ts";

function whyNot({ state, run_key: key, started_at: since }: RunRow): string {
  if (state !== "running" || since === null) return `it is "${state}"; "runs show ${key}" tells more`;
  return `a process is at it since ${
    showInstant(since)
  } and gives signs of life; "runs show ${key}" tells more`;
}

/** Runs one run again. */
export async function run({ args: [given = ""], flags, host }: RerunInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  const { recipe: name, kind, run_key: key } = runOf(ledger, given, "run again");
  if (flags.queue && kind === "manual") {
    throw new UsageError(
      `Cannot leave "${key}" to a scheduler: it was started by hand, and a scheduler runs slots alone; ` +
        "without --queue it runs here",
    );
  }
  const recipe = await recipeNamed(name, { folder: flags.recipes, host, now: host.now, toRun: true });
  const log = eventLogger({ out: host.note, color: host.color }, { json: false, redact: (text) => text });
  await using queue = await RunQueue.open(recipe, { flags, host, ledger, onEvent: log });
  const opened = rerun(ledger, {
    runKey: key,
    fromStart: flags["from-start"] ?? false,
    now: host.now(),
    recipe,
  });
  if (!opened) throw new UsageError(`Cannot run "${key}" again: ${whyNot(runOf(ledger, key, "run again"))}`);
  if (flags.queue) {
    if (flags.json) host.out(JSON.stringify({ key, state: "due" }));
    else host.out(`${key} is due; a scheduler that is running takes it up`);
    return 0;
  }
  const result = await queue.run(key);
  await queue.deliver();
  const { state: ended, reason } = result.outcome;
  if (flags.json) host.out(JSON.stringify({ key, ran: result.ran, state: ended, reason }));
  else host.out(`${key}  ${ended}${reason === undefined ? "" : ` (${reason})`}`);
  return exitOf([result], host.signal.aborted);
}
