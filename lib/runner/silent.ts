/**
 * Runs whose process has died, or cannot reach the ledger: how to tell, and what to do about one.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import { openWriteAdvice } from "./open_write.ts";
import { hasWritten } from "./recovery.ts";
import { isOwned, type RunRow } from "./run_rows.ts";

/** Since when nothing was heard of the process of a run, epoch milliseconds; nothing when all is well. */
export function silentSince({ state, lease_until: until }: RunRow, now: number): number | undefined {
  return state === "running" && until !== null && until < now ? until : undefined;
}

/** Says what to do about a run whose process is silent, line by line. */
export function silentAdvice(ledger: Ledger, row: RunRow): string[] {
  const key = row.run_key;
  if (row.class !== "write") {
    return isOwned(row)
      ? [`no scheduler takes over what was started by hand; to go on with it: hsgate rerun ${key}`]
      : [`whoever looks next takes it over: a scheduler, or: hsgate rerun ${key}`];
  }
  if (hasWritten(ledger, key)) {
    return [
      "it had begun to write, and is not run again",
      ...openWriteAdvice(ledger, { ...row, state: "waiting_recovery" }),
    ];
  }
  return [
    isOwned(row)
      ? `it had written nothing, and nobody goes on with it; to run it anew: hsgate run ${row.recipe} --manual`
      : "it had written nothing; a scheduler that looks while its window is open takes it over",
  ];
}
