/**
 * Reads and writes the rows of steps and of their files. The row of a write step exists before the step begins, and is
 * unique.
 *
 * @module
 */
import type { CompiledStep } from "../../recipes/compiled.ts";
import { type Claim, claimedTransaction } from "../claims/claim.ts";
import { isMap, isText } from "../../foreign_values.ts";
import { countWrite, readJson, type Store } from "../../store/store.ts";
import type { StepState } from "../../recipes/engine/engine.ts";
import { stepKeyOf } from "../../recipes/engine/step_context.ts";
import { findRun } from "./runs.ts";

/** The row of an attempt at a step. */
interface StepRow {
  run_key: string;
  step_id: string;
  round: number;
  attempt: number;
  effect: "read" | "local" | "write";
  state: "begun" | StepState;
  /** JSON without secrets. */
  output: string | null;
  error: string | null;
  started_at: number;
  finished_at: number | null;
}

/** Returns the output of an attempt; `null` if it has none. */
export function outputIn(row: Pick<StepRow, "run_key" | "step_id" | "output">): unknown {
  return row.output === null ? null : readJson(row.output, () => true, placeOf(row));
}

const placeOf = ({ run_key, step_id }: Pick<StepRow, "run_key" | "step_id">) => ({
  table: "step_run",
  column: "output",
  row: `${run_key} ${step_id}`,
});

/** Returns the last attempt at each step of a round, by step. */
export async function lastAttempts(
  store: Store,
  runKey: string,
  round: number,
): Promise<Map<string, StepRow>> {
  const rows = await store.all<StepRow>(
    "select * from step_run where run_key = ? and round = ? order by attempt",
    runKey,
    round,
  );
  return new Map(rows.map((row) => [row.step_id, row]));
}

/** One attempt at a step. */
interface Attempt {
  step: Pick<CompiledStep, "id" | "effect">;
  round: number;
  attempt: number;
}

/**
 * Records that an attempt begins. The row of a write step must exist before anything is sent. A second attempt at a
 * write step throws an error, unless {@linkcode continueRun} let the step begin again. For a write step, also counts
 * the write on the run's account. The caller must then call {@linkcode Store.mark} before it sends the write.
 */
export async function beginAttempt(
  store: Store,
  claim: Claim,
  { step, round, attempt }: Attempt,
  now: number,
): Promise<void> {
  await claimedTransaction(store, claim, now, async () => {
    const isAgain = step.effect === "write" && attempt > 1 && await store.run(
          `update step_run set attempt = ?, state = 'begun', output = null, error = null, started_at = ?, finished_at = null
            where run_key = ? and step_id = ? and round = ? and effect = 'write' and state = 'skipped'`,
          attempt,
          now,
          claim.runKey,
          step.id,
          round,
        ) === 1;
    if (!isAgain) {
      await store.run(
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
    }
    if (step.effect !== "write") return;
    const account = (await findRun(store, claim.runKey))?.account ?? "default";
    await countWrite(store, { account, runKey: claim.runKey, step: step.id, at: now });
  });
}

/** Records how an attempt ended. */
export async function endAttempt(
  store: Store,
  claim: Claim,
  { step, round, attempt }: Attempt,
  { state, output, error, now }: { state: StepState; output?: string; error?: string; now: number },
): Promise<void> {
  await claimedTransaction(store, claim, now, async () => {
    await store.run(
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

/** Records that a step was skipped, and why. */
export async function skipStep(
  store: Store,
  claim: Claim,
  { step, round, attempt }: Attempt,
  reason: string,
  now: number,
): Promise<void> {
  await claimedTransaction(store, claim, now, async () => {
    await store.run(
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
    if (attempt === 1) return;
    // If the step was allowed to begin again, its row exists already and is updated.
    await store.run(
      `update step_run set error = ?, finished_at = ? where run_key = ? and step_id = ? and round = ?
        and effect = 'write' and state = 'skipped'`,
      reason,
      now,
      claim.runKey,
      step.id,
      round,
    );
  });
}

/** A file that a step wrote. */
interface ArtifactFile {
  dataset: string;
  businessDay: string;
  path: string;
  bytes: number;
  sha256: string;
  final: boolean;
}

/** Records a file. A file with the same bytes is not a new revision, but may become final. */
export async function recordArtifact(
  store: Store,
  claim: Claim,
  file: ArtifactFile,
  now: number,
): Promise<{ revision: number; isNew: boolean }> {
  return await claimedTransaction(store, claim, now, async () => {
    const last = await store.get<{ revision: number; sha256: string }>(
      `select revision, sha256 from artifact where dataset = ? and business_day = ? and uri = ?
        order by revision desc limit 1`,
      file.dataset,
      file.businessDay,
      file.path,
    );
    if (last?.sha256 === file.sha256) {
      await store.run(
        `update artifact set final = ? where dataset = ? and business_day = ? and revision = ? and final = 0`,
        file.final ? 1 : 0,
        file.dataset,
        file.businessDay,
        last.revision,
      );
      return { revision: last.revision, isNew: false };
    }
    // Two recipes may write the same data into different folders: they share the revision numbers, but each file is
    // compared only with its own earlier revision.
    const newest = await store.get<{ revision: number | null }>(
      "select max(revision) as revision from artifact where dataset = ? and business_day = ?",
      file.dataset,
      file.businessDay,
    );
    const revision = (newest?.revision ?? 0) + 1;
    await store.run(
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

/** Returns whether a write step of a run has begun. */
export async function hasBegunWrite(store: Store, runKey: string): Promise<boolean> {
  return await store.get(
    "select 1 as there from step_run where run_key = ? and effect = 'write' and state <> 'skipped' limit 1",
    runKey,
  ) !== undefined;
}

/** Returns the steps of a run that have an unresolved write, oldest first. */
export async function unresolvedSteps(store: Store, runKey: string): Promise<StepRow[]> {
  return await store.all(
    "select * from step_run where run_key = ? and effect = 'write' and state in ('begun', 'unknown') order by started_at",
    runKey,
  );
}

/** Records one outcome for all steps of a run that have an unresolved write. */
export async function resolveSteps(
  store: Store,
  runKey: string,
  state: "ok" | "failed",
  now: number,
): Promise<void> {
  await store.run(
    `update step_run set state = ?, finished_at = coalesce(finished_at, ?) where run_key = ?
      and effect = 'write' and state in ('begun', 'unknown')`,
    state,
    now,
    runKey,
  );
}

/** Returns the id of the step that began last in a run; `undefined` if no step has begun. */
export async function lastStepOf(store: Store, runKey: string): Promise<string | undefined> {
  return (await store.get<{ step_id: string }>(
    "select step_id from step_run where run_key = ? order by round desc, started_at desc, attempt desc limit 1",
    runKey,
  ))?.step_id;
}

/** Returns every attempt at the steps of a run, oldest first. */
export async function stepsOf(store: Store, runKey: string): Promise<StepRow[]> {
  return await store.all(
    "select * from step_run where run_key = ? order by round, started_at, attempt",
    runKey,
  );
}

/** Returns the last output of each step of a round. */
export async function outputsOf(
  store: Store,
  runKey: string,
  round: number,
): Promise<Record<string, unknown>> {
  const rows = await store.all<Pick<StepRow, "run_key" | "step_id" | "output">>(
    "select run_key, step_id, output from step_run where run_key = ? and round = ? and output is not null order by attempt",
    runKey,
    round,
  );
  return Object.fromEntries(rows.map((row) => [row.step_id, outputIn(row)]));
}

/**
 * Returns the step that explains why a round failed: the last step that failed or has an unknown outcome, or else a
 * step whose write was not sent. An attempt that was repeated does not count.
 */
export async function failedStep(
  store: Store,
  { run_key, round }: Pick<StepRow, "run_key" | "round">,
): Promise<Pick<StepRow, "step_id" | "error"> | undefined> {
  return await store.get(
    `select step_id, error from step_run s where run_key = ? and round = ?
      and (state in ('failed', 'unknown')
        or state = 'skipped' and error <> 'condition' and error not like 'needs "%')
      and attempt = (select max(attempt) from step_run t
        where t.run_key = s.run_key and t.step_id = s.step_id and t.round = s.round)
      order by case state when 'skipped' then 1 else 0 end, finished_at desc, step_id limit 1`,
    run_key,
    round,
  );
}

/** Returns unusual attempts: retries, failures, and unknown outcomes; by run. */
export async function unusualAttempts(
  store: Store,
): Promise<Pick<StepRow, "run_key" | "step_id" | "attempt" | "error">[]> {
  return await store.all(
    `select run_key, step_id, attempt, error from step_run where attempt > 1 or state in ('failed', 'unknown')
      order by run_key, started_at, step_id, attempt`,
  );
}

const isLoginOutput = (value: unknown) =>
  isMap(value) && isText(value.holdsUntil) && !Number.isNaN(Date.parse(value.holdsUntil));

/**
 * Finds, among the successful runs of a recipe, the newest run with an output that contains the end of a login. Returns
 * this end, and the slot of the run.
 */
export async function lastLoginOutput(
  store: Store,
  recipe: string,
): Promise<{ slot_at: number; holdsUntil: string } | undefined> {
  const row = await store.get<{ slot_at: number; run_key: string; step_id: string; output: string }>(
    `select r.slot_at, s.run_key, s.step_id, s.output from run r join step_run s on s.run_key = r.run_key
      where r.recipe = ? and r.state = 'ok' and s.output like '%"holdsUntil"%' order by r.slot_at desc limit 1`,
    recipe,
  );
  if (row === undefined) return undefined;
  const { holdsUntil } = readJson<{ holdsUntil: string }>(row.output, isLoginOutput, placeOf(row));
  return { slot_at: row.slot_at, holdsUntil };
}

/** The row of a file that a run wrote. */
interface ArtifactRow {
  dataset: string;
  revision: number;
  uri: string;
  bytes: number;
  /** 1 when the file is final. */
  final: number;
}

/** Returns the files that a run wrote. */
export async function artifactsOf(store: Store, runKey: string): Promise<ArtifactRow[]> {
  return await store.all(
    "select dataset, revision, uri, bytes, final from artifact where run_key = ? order by business_day, dataset, revision",
    runKey,
  );
}
