/**
 * Sends a notice by the step that its recipe names for it.
 *
 * @module
 */
import { wait } from "./host.ts";
import type { Recipes } from "./judging.ts";
import type { Channel, Notice } from "./notify.ts";
import type { Surroundings } from "./run.ts";
import { RunLog } from "./run_log.ts";
import { findRun, type RunRow } from "./run_rows.ts";
import { scopeOf } from "./step_scope.ts";
import { stepKeyOf } from "./run_key.ts";

const TIMEOUT_MS = 60_000;

/** Finds the channel of a notice; none when its recipe or its run is not known here. */
export function noticeChannel(recipes: Recipes, around: Surroundings, notice: Notice): Channel | undefined {
  // Written by `queueNotices`.
  const { run: { runKey, recipe: name }, notice: index } = JSON.parse(notice.body) as NoticeBody;
  const recipe = recipes.get(name);
  const step = recipe?.notify?.[index]?.step;
  const row = findRun(around.ledger, runKey);
  if (recipe === undefined || step === undefined || row === undefined) return undefined;
  return async () => {
    const { host, ledger, redactor } = around;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await step.run({
      ...scopeOf(recipe, row),
      outputs: outputsOf(around, row),
      outcome: { state: row.state, reason: row.reason ?? undefined, ...failureOf(around, row) },
      stepKey: stepKeyOf(runKey, `notify-${index}`),
      attempt: 1,
      signal,
      out: around.out,
      now: () => host.now(),
      sleep: (ms) => wait(host, ms, signal),
      client: () => around.client(recipe),
      log: (level, message) =>
        new RunLog(ledger, runKey).add({
          at: host.now(),
          level,
          step: `notify-${index + 1}`,
          text: redactor.text(message),
        }),
      progress: () => {},
      artifact: () => {},
      secret: async (name) => {
        const value = await around.secret(name);
        redactor.add(value, `secret "${name}"`);
        return value;
      },
      runRecipe: () => Promise.reject(new TypeError("Cannot run a recipe to send a notice")),
    });
  };
}

interface NoticeBody {
  run: { runKey: string; recipe: string };
  notice: number;
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
  return failed === undefined ? {} : { failedStep: failed.step_id, error: failed.error ?? undefined };
}
