/**
 * The runner: slots, the ledger, and whoever runs what is due.
 *
 * @module
 */
export { accountHolder, claimRun } from "./claims.ts";
export { LeaseLostError } from "./holding.ts";
export { settleRun } from "./recovery.ts";
export { approveRun, refuseRun } from "./approving.ts";
export { backfill, openSlot, planBackfill, rerun } from "./backfill.ts";
export { clockChangeSlots } from "./clock_changes.ts";
export { Pinger, pingUrl } from "./dead_man.ts";
export { drawTraceId } from "./host.ts";
export { keepAlivePeriod, keepLogin } from "./keep_login.ts";
export { Ledger, LedgerError } from "./ledger.ts";
export { backupLedger, verifyLedger, verifyLedgerFile } from "./ledger_care.ts";
export { measureRuns } from "./metrics.ts";
export { deliverNotices, queueNotice } from "./notify.ts";
export { pauseRecipe, resumeRecipe } from "./pausing.ts";
export { canBeRedacted, Redactor, SecretInFileError } from "../redact.ts";
export { logOf } from "./run_log.ts";
export { countPrunable, defaultRetention, pruneLedger } from "./retention.ts";
export { executeRun, type Surroundings } from "./run.ts";
export type { RunOutcome } from "./outcome.ts";
export { findRun } from "./run_rows.ts";
export { Scheduler } from "./scheduler.ts";
export { runKey, runLatestSlot } from "./script.ts";
export { stopOnSignals } from "./signals.ts";
export { nextSlots, showInstant, slotsBetween } from "./slots.ts";
export { addLatestSlot, addManualRun } from "./starts.ts";
export { lastAttempts } from "./step_rows.ts";
export { traceRuns } from "./tracing.ts";
export { subjectOf, why } from "./why.ts";

export type { Claim, Claimer, Held, Refusal } from "./claims.ts";
export type { ClockChangeSlot } from "./clock_changes.ts";
export type { PingerOptions, PingKind } from "./dead_man.ts";
export type { Host } from "./host.ts";
export type { KeepLoginOptions, Life, LoginEnd, LoginEvent } from "./keep_login.ts";
export type { ListingOptions, ScheduleRow } from "./listing.ts";
export type { Meter } from "./metrics.ts";
export type { Channel, Notice } from "./notify.ts";
export type { LogLevel, LogLine } from "./run_log.ts";
export type { Pruned, PruneOptions, Retention } from "./retention.ts";
export type { RunEvent, StepState } from "./run_events.ts";
export type { RunKind, RunRow, RunState, SkipReason } from "./run_rows.ts";
export type { SchedulerEvent, SchedulerOptions } from "./scheduler.ts";
export type { ScriptOptions, ScriptResult } from "./script.ts";
export type { StopOnSignalsOptions } from "./signals.ts";
export type { Slot } from "./slots.ts";
export type { BackfillMode, BackfillOptions, BackfillPlan, BackfillSlot } from "./backfill.ts";
export type { StepRow } from "./step_rows.ts";
export type { RunTracer, Telemetry } from "./tracing.ts";
