/**
 * A run of which nobody knows what it wrote: what a person has to look at, and how to say what they saw.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import type { RunRow } from "./run_rows.ts";
import { showInstant } from "./slots.ts";
import type { StepRow } from "./step_rows.ts";

/** Tells whether it is open what a run wrote. */
export function isOpen({ class: kind, state }: Pick<RunRow, "class" | "state">): boolean {
  return state === "waiting_recovery" || (kind === "write" && state === "unknown");
}

/** Says what to look at and what to do, line by line; nothing for a run that has no question open. */
export function openWriteAdvice(ledger: Ledger, row: RunRow): string[] {
  if (!isOpen(row)) return [];
  const steps = ledger.all<StepRow>(
    "select * from step_run where run_key = ? and effect = 'write' and state in ('begun', 'unknown') order by started_at",
    row.run_key,
  );
  const named = steps.map(({ step_id, started_at }) => `"${step_id}", begun at ${showInstant(started_at)}`);
  const what = named.length === 0 ? "what it wrote before it was broken off" : `step ${named.join(" and ")}`;
  const since = steps[0]?.started_at ?? row.started_at ?? row.slot_at;
  return [
    `open: ${what}`,
    `look at the account's orders of ${showInstant(since).slice(0, 10)} from ${
      showInstant(since).slice(11)
    } on: hsgate call orders.today '{"market":"hk"}' (orders.history for an earlier day), and its open orders in the broker's app`,
    `then say what came of it: hsgate settle ${row.run_key} ok|failed --because "what you saw"`,
    "until then no other recipe that writes begins on the account",
  ];
}
