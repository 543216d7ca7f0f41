/**
 * Slots whose run key is taken: an edit moved the time of a session that had been run, or passed over, before.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import type { NewRun } from "./run_rows.ts";
import { showInstant } from "./slots.ts";
import { showTime } from "./why_run.ts";

/** Returns the instant that a key's row is for; nothing when there is none, or when it is this very one. */
export function takenAt(
  ledger: Ledger,
  { runKey, slotAt }: Pick<NewRun, "runKey" | "slotAt">,
): number | undefined {
  const at = ledger.get<{ at: number }>("select slot_at as at from run where run_key = ?", runKey)?.at;
  return at === slotAt ? undefined : at;
}

/** Leaves a trace of a slot that gets no run of its own. Within the transaction that listed it. */
export function noteTaken(ledger: Ledger, run: Pick<NewRun, "runKey" | "slotAt">, now: number): void {
  const at = takenAt(ledger, run);
  if (at === undefined) return;
  const data = { slot: showInstant(run.slotAt), by: showInstant(at) };
  const known = ledger.get(
    "select 1 as there from event where run_key = ? and kind = 'key_taken' and data = ? limit 1",
    run.runKey,
    JSON.stringify(data),
  );
  // A line of a crontab looks again and again.
  if (known === undefined) ledger.event(now, "key_taken", data, run.runKey);
}

/** Says which later slots a run stands for as well; nothing where no edit has moved any. */
export function tellTaken(ledger: Ledger, runKey: string, zone: string): string[] {
  return ledger.all<{ data: string }>(
    "select data from event where run_key = ? and kind = 'key_taken' order by seq",
    runKey,
  ).map(({ data }) => {
    const { slot, by } = JSON.parse(data) as { slot: string; by: string }; // written by `noteTaken`
    return `nothing ran at ${
      showTime(Date.parse(slot), zone)
    }: the schedule was edited after the session's slot at ${
      showTime(Date.parse(by), zone)
    }, and a session is run once under its key`;
  });
}
