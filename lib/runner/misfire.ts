/**
 * What becomes of runs that are late: a pure decision.
 *
 * @module
 */
import type { MisfirePolicy } from "../steps/compiled.ts";
import type { SkipReason } from "./run_rows.ts";

/** A run of one schedule that was due and has not begun. */
export interface WaitingRun {
  runKey: string;
  dueAt: number;
  deadlineAt?: number;
}

/** What becomes of it; runs that go on as they are have no verdict. */
export type Verdict =
  | { runKey: string; action: "catchup" }
  | { runKey: string; action: "ask" }
  | { runKey: string; action: "skip"; reason: SkipReason };

/**
 * Decides about the waiting runs of one schedule, oldest first.
 *
 * A run is late when more than the grace has passed since it was due. What `all` does not run any more because there
 * are too many are the oldest.
 */
export function judgeLateRuns(
  waiting: readonly WaitingRun[],
  { graceMs, action, max }: MisfirePolicy,
  now: number,
): Verdict[] {
  const isExpired = ({ deadlineAt }: WaitingRun) => deadlineAt !== undefined && now > deadlineAt;
  const expired = waiting.filter(isExpired);
  const alive = waiting.filter((run) => !isExpired(run));
  const late = alive.filter(({ dueAt }) => now - dueAt > graceMs);
  const skip = (runs: readonly WaitingRun[], reason: SkipReason): Verdict[] =>
    runs.map(({ runKey }) => ({ runKey, action: "skip", reason }));
  const verdicts = skip(expired, "deadline");
  if (action === "skip") return [...verdicts, ...skip(late, "misfire")];
  if (action === "ask") return [...verdicts, ...late.map(({ runKey }) => ({ runKey, action }))];
  // A run that is on time is newer than every late one.
  const most = action === "all" ? max : late.length < alive.length ? 0 : 1;
  const kept = most === 0 ? [] : late.slice(-most);
  const rest = late.slice(0, late.length - kept.length);
  return [
    ...verdicts,
    ...skip(rest, action === "all" ? "misfire" : "superseded"),
    ...kept.map(({ runKey }) => ({ runKey, action: "catchup" as const })),
  ];
}
