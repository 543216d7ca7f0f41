/**
 * What `hsgate settle` does.
 *
 * @module
 */
import { recoverExpired, settleRun } from "../../../lib/runner/recovery.ts";
import { UsageError } from "../exit_codes.ts";
import type { SettleInput } from "../settle.ts";
import { actorOf, runOf } from "./decide.ts";
import { openLedger } from "./ledger_file.ts";

const states = ["ok", "failed", "unknown"] as const;

/** Writes down what a person saw. */
export async function run({ args: [given = "", word = ""], flags, host }: SettleInput): Promise<number> {
  const state = states.find((each) => each === word);
  if (state === undefined) {
    throw new UsageError(`Cannot settle as "${word}": write ok, failed or unknown`);
  }
  const { because } = flags;
  if (because === undefined || because.trim() === "") {
    throw new UsageError('Cannot settle without a reason: write --because "what you saw"');
  }
  using ledger = await openLedger(flags, { host, mustExist: true });
  const { run_key: key } = runOf(ledger, given, "settle");
  const now = host.now();
  // Whoever ran it may have died a moment ago.
  recoverExpired(ledger, now);
  const actor = actorOf(flags, host);
  if (!settleRun(ledger, { runKey: key, state, actor, because, now })) {
    const { state: found } = runOf(ledger, key, "settle");
    throw new UsageError(`Cannot settle "${key}": it is "${found}", and nothing of it is open`);
  }
  if (flags.json) host.out(JSON.stringify({ key, state, actor, because }));
  else {
    host.out(
      state === "unknown"
        ? `${key} stays unknown: no recipe that writes begins on the account`
        : `${key} is settled as ${state}; recipes that write may begin again`,
    );
  }
  return 0;
}
