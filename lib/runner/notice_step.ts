/**
 * Sends a notice by the step that its recipe names for it.
 *
 * @module
 */
import type { CompiledRecipe, CompiledStep, NoticeOutcome } from "../steps/compiled.ts";
import { wait } from "./host.ts";
import type { Recipes } from "./judging.ts";
import { bodyOf, type Channel, channelsOf, type Notice } from "./notify.ts";
import type { Surroundings } from "./run.ts";
import { type LogLevel, RunLog } from "./run_log.ts";
import { findRun, type RunRow } from "./run_rows.ts";
import { type RunScope, scopeOf } from "./step_scope.ts";
import { stepKeyOf } from "./run_key.ts";

/** Finds the channel of a notice; none when its recipe or its run is not known here. */
export function noticeChannel(recipes: Recipes, around: Surroundings, notice: Notice): Channel | undefined {
  const { run, notice: index = 0, place = 0 } = bodyOf(notice.body);
  const recipe = run === undefined ? undefined : recipes.get(run.recipe);
  const declared = recipe?.notify?.[index];
  const step = declared && channelsOf(declared)[place]?.step;
  const row = run === undefined ? undefined : findRun(around.ledger, run.runKey);
  if (recipe === undefined || step === undefined || row === undefined) return undefined;
  const outcome: NoticeOutcome = {
    state: row.state,
    reason: row.reason ?? "",
    failedStep: "",
    error: "",
    ...failureOf(around, row),
  };
  return (_notice, signal) => {
    const log = new RunLog(around.ledger, row.run_key);
    return sendNotice(step, around, {
      recipe,
      scope: scopeOf(recipe, row),
      outputs: outputsOf(around, row),
      outcome,
      index,
      place,
      signal,
      log: (level, text) =>
        log.add({
          at: around.host.now(),
          level,
          step: `notify-${index + 1}`,
          text: around.redactor.text(text),
        }),
    });
  };
}

/** What a notice tells of, and which of a recipe's it is. */
export interface NoticeSending {
  recipe: CompiledRecipe;
  scope: RunScope;
  outputs: Readonly<Record<string, unknown>>;
  outcome: NoticeOutcome;
  /** Which notice of the recipe, counted from 0. */
  index: number;
  /** Which of its channels, counted from 0. */
  place: number;
  signal: AbortSignal;
  /** Sent in place of the notice's own text. */
  testText?: string;
  log(level: LogLevel, text: string): void;
}

/** Runs the step of one channel. */
export async function sendNotice(
  step: CompiledStep,
  { host, redactor, out, client, secret }: Pick<
    Surroundings,
    "host" | "redactor" | "out" | "client" | "secret"
  >,
  { recipe, scope, outputs, outcome, index, place, signal, testText, log }: NoticeSending,
): Promise<void> {
  await step.run({
    ...scope,
    ...testText !== undefined && { testText },
    outputs,
    outcome,
    // The first channel has the key that a notice with one channel always had.
    stepKey: stepKeyOf(scope.runKey, `notify-${index}${place === 0 ? "" : `-${place}`}`),
    attempt: 1,
    signal,
    out,
    now: () => host.now(),
    sleep: (ms) => wait(host, ms, signal),
    client: () => client(recipe),
    log,
    progress: () => {},
    artifact: () => {},
    secret: async (name) => {
      const value = await secret(name);
      redactor.add(value, `secret "${name}"`);
      return value;
    },
    runRecipe: () => Promise.reject(new TypeError("Cannot run a recipe to send a notice")),
  });
}

function outputsOf({ ledger }: Surroundings, { run_key, round }: RunRow): Record<string, unknown> {
  const rows = ledger.all<{ step_id: string; output: string }>(
    "select step_id, output from step_run where run_key = ? and round = ? and output is not null order by attempt",
    run_key,
    round,
  );
  return Object.fromEntries(rows.map(({ step_id, output }) => [step_id, JSON.parse(output)]));
}

function failureOf({ ledger }: Surroundings, { run_key, round }: RunRow) {
  const failed = ledger.get<{ step_id: string; error: string | null }>(
    `select step_id, error from step_run where run_key = ? and round = ? and state in ('failed', 'unknown')
      order by finished_at desc limit 1`,
    run_key,
    round,
  );
  return failed === undefined ? {} : { failedStep: failed.step_id, error: failed.error ?? "" };
}
