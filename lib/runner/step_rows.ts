/**
 * Rows of steps and of the files they make. A write step's row stands before it starts and can be written once.
 *
 * @module
 */
import type { CompiledStep } from "../steps/compiled.ts";
import type { Claim } from "./claims.ts";
import { underClaim } from "./holding.ts";
import type { Ledger } from "./ledger.ts";
import { stepKeyOf } from "./run_key.ts";
import type { StepState } from "./run_events.ts";
import { findRun } from "./run_rows.ts";

/** An attempt at a step as the ledger holds it. */
export interface StepRow {
  run_key: string;
  step_id: string;
  round: number;
  attempt: number;
  effect: "read" | "local" | "write";
  state: "begun" | StepState;
  /** JSON, secrets taken out. */
  output: string | null;
  error: string | null;
  started_at: number;
  finished_at: number | null;
}

/** Returns the last attempt at each step of a round, by step. */
export function lastAttempts(ledger: Ledger, runKey: string, round: number): Map<string, StepRow> {
  const rows = ledger.all<StepRow>(
    "select * from step_run where run_key = ? and round = ? order by attempt",
    runKey,
    round,
  );
  return new Map(rows.map((row) => [row.step_id, row]));
}

/** One attempt at a step. */
export interface Attempt {
  step: Pick<CompiledStep, "id" | "effect">;
  round: number;
  attempt: number;
}

/**
 * Writes down that an attempt begins. For a write step this is the intent: it breaks when there is one already. The
 * write is counted as one of its account; {@linkcode Ledger.mark} must follow before it is sent.
 */
export function beginAttempt(
  ledger: Ledger,
  claim: Claim,
  { step, round, attempt }: Attempt,
  now: number,
): void {
  underClaim(ledger, claim, now, () => {
    ledger.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
        values (?, ?, ?, ?, ?, ?, 'begun', ?)`,
      claim.runKey,
      step.id,
      round,
      attempt,
      step.effect,
      stepKeyOf(claim.runKey, step.id),
      now,
    );
    if (step.effect !== "write") return;
    const account = findRun(ledger, claim.runKey)?.account ?? "default";
    ledger.countWrite({ account, runKey: claim.runKey, step: step.id, at: now });
  });
}

/** Writes down how an attempt ended. */
export function endAttempt(
  ledger: Ledger,
  claim: Claim,
  { step, round, attempt }: Attempt,
  { state, output, error, now }: { state: StepState; output?: string; error?: string; now: number },
): void {
  underClaim(ledger, claim, now, () => {
    ledger.run(
      `update step_run set state = ?, output = ?, error = ?, finished_at = ?
        where run_key = ? and step_id = ? and round = ? and attempt = ?`,
      state,
      output,
      error,
      now,
      claim.runKey,
      step.id,
      round,
      attempt,
    );
  });
}

/** Writes down that a step was not done, and why. */
export function skipStep(
  ledger: Ledger,
  claim: Claim,
  { step, round, attempt }: Attempt,
  reason: string,
  now: number,
): void {
  underClaim(ledger, claim, now, () => {
    ledger.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, error, started_at, finished_at)
        values (?, ?, ?, ?, ?, ?, 'skipped', ?, ?, ?) on conflict do nothing`,
      claim.runKey,
      step.id,
      round,
      attempt,
      step.effect,
      stepKeyOf(claim.runKey, step.id),
      reason,
      now,
      now,
    );
  });
}

/** A file that a step made. */
export interface ArtifactFile {
  dataset: string;
  businessDay: string;
  path: string;
  bytes: number;
  sha256: string;
  final: boolean;
}

/** Writes a file down; equal bytes make no new revision, though they may become final. */
export function recordArtifact(
  ledger: Ledger,
  claim: Claim,
  file: ArtifactFile,
  now: number,
): { revision: number; isNew: boolean } {
  return underClaim(ledger, claim, now, () => {
    const last = ledger.get<{ revision: number; sha256: string }>(
      `select revision, sha256 from artifact where dataset = ? and business_day = ? and uri = ?
        order by revision desc limit 1`,
      file.dataset,
      file.businessDay,
      file.path,
    );
    if (last?.sha256 === file.sha256) {
      ledger.run(
        `update artifact set final = ? where dataset = ? and business_day = ? and revision = ? and final = 0`,
        file.final ? 1 : 0,
        file.dataset,
        file.businessDay,
        last.revision,
      );
      return { revision: last.revision, isNew: false };
    }
    // Two recipes may write the same data into folders of their own: revisions count on, and each is compared with its own.
    const newest = ledger.get<{ revision: number | null }>(
      "select max(revision) as revision from artifact where dataset = ? and business_day = ?",
      file.dataset,
      file.businessDay,
    );
    const revision = (newest?.revision ?? 0) + 1;
    ledger.run(
      `insert into artifact (dataset, business_day, revision, run_key, sha256, bytes, uri, final)
        values (?, ?, ?, ?, ?, ?, ?, ?)`,
      file.dataset,
      file.businessDay,
      revision,
      claim.runKey,
      file.sha256,
      file.bytes,
      file.path,
      file.final ? 1 : 0,
    );
    return { revision, isNew: true };
  });
}
