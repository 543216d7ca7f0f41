/**
 * Runs `hsgate rerun`.
 *
 * @module
 */
import { messageOf } from "../../../lib/errors.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { rerun } from "../../../lib/runner/schedule/backfill.ts";
import type { RunRow } from "../../../lib/runner/queries/runs.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { RerunInput } from "../rerun.ts";
import { runOf } from "../shared/decide.ts";
import { openStore, storeTime, warnOfPlace } from "../shared/store_file.ts";
import { recipeNamed } from "../shared/recipe_files.ts";
import { eventLogger } from "../run/log.ts";
import { exitOf, RunQueue } from "../run/queue.ts";
import { shellHint } from "../../../lib/shell_words.ts";

function whyNot({ state, run_key: key, started_at: since }: RunRow): string {
  if (state !== "running" || since === null) {
    return `it is "${state}"; "runs show ${shellHint(key)}" shows details`;
  }
  return `a live process has been running it since ${showInstant(since)}; "runs show ${
    shellHint(key)
  }" shows details`;
}

/** Runs an earlier run again. */
export async function run({ args: [given = ""], flags, host }: RerunInput): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true, mayWrite: true });
  const { recipe: name, kind, run_key: key } = await runOf(store, given, "run again");
  if (flags.queue && kind === "manual") {
    throw new UsageError(
      `Cannot leave "${key}" to a scheduler: it is a manual run, and a scheduler runs only slots; ` +
        "without --queue, this command runs it",
    );
  }
  const recipe = await recipeNamed(name, {
    folder: flags.recipes,
    host,
    now: host.now,
    toRun: true,
    isOwnName: true,
  });
  await warnOfPlace(store, [recipe], { flags, host });
  const log = eventLogger({ out: host.note, color: host.color }, {
    json: false,
    reason: messageOf,
  });
  await using queue = await RunQueue.open(recipe, { flags, host, store, onEvent: log });
  const opened = await rerun(store, {
    runKey: key,
    fromStart: flags["from-start"] ?? false,
    calendars: calendarsOf(host),
    now: storeTime(store, host),
    recipe,
  });
  if (!opened) {
    throw new UsageError(`Cannot run "${key}" again: ${whyNot(await runOf(store, key, "run again"))}`);
  }
  if (flags.queue) {
    if (flags.json) host.out(JSON.stringify({ key, state: "due" }));
    else host.out(`${key} is due; a running scheduler starts it`);
    return 0;
  }
  const result = await queue.run(key);
  await queue.deliver();
  const { state: ended, reason } = result.outcome;
  if (flags.json) host.out(JSON.stringify({ key, ran: result.ran, state: ended, reason }));
  else host.out(`${key}  ${ended}${reason === undefined ? "" : ` (${reason})`}`);
  return exitOf([result], host.signal.aborted);
}
