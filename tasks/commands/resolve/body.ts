/**
 * Runs `hsgate resolve`.
 *
 * @module
 */
import { recoverExpired, resolveOutcome } from "../../../lib/runner/claims/claims.ts";
import { unresolvedIntentAdvice } from "../../../lib/runner/explain/advice.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { plain } from "../../terminal/print.ts";
import type { ResolveInput } from "../resolve.ts";
import { actorOf, runOf } from "../shared/decide.ts";
import { openStore, storeTime } from "../shared/store_file.ts";

const states = ["ok", "failed", "unknown"] as const;

/** Records the outcome that a person found. */
export async function run({ args: [given = "", word = ""], flags, host }: ResolveInput): Promise<number> {
  const state = states.find((each) => each === word);
  if (state === undefined) {
    throw new UsageError(`Cannot resolve as "${word}": write ok, failed or unknown`);
  }
  const { because } = flags;
  if (because === undefined || because.trim() === "") {
    throw new UsageError('Cannot resolve without a reason: write --because "what you checked"');
  }
  await using store = await openStore(flags, { host, mustExist: true });
  const { run_key: key } = await runOf(store, given, "resolve");
  const now = storeTime(store, host);
  // The run's process may have died a moment ago: update the state of the run first.
  await recoverExpired(store, now);
  const actor = actorOf(flags, host);
  if (!await resolveOutcome(store, { runKey: key, state, actor, because, now })) {
    const { state: found } = await runOf(store, key, "resolve");
    throw new UsageError(`Cannot resolve "${key}": it is "${found}", so it has no unresolved write`);
  }
  // The decision about the run proves nothing about its orders, so their intents stay as they are.
  const intents = await unresolvedIntentAdvice(store, key);
  if (flags.json) host.out(JSON.stringify({ key, state, actor, because }));
  else {
    host.out(
      state === "unknown"
        ? `${key} stays unknown: writes on the account stay blocked`
        : `${key} is resolved as ${state}; its write no longer blocks the account`,
    );
  }
  for (const line of intents) host.note(`hsgate: ${plain(line)}`);
  return 0;
}
