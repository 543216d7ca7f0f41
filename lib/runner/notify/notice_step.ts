/**
 * Sends a notice by running the step that the recipe declares for the channel.
 *
 * @module
 */
import { failedStep, outputsOf } from "../queries/steps.ts";
import type { CompiledRecipe, CompiledStep, NoticeOutcome } from "../../recipes/compiled.ts";
import { type RunScope, scopeOf, stepContext } from "../../recipes/engine/step_context.ts";
import type { Recipes } from "../schedule/listing.ts";
import { bodyOf, type Channel, channelsOf, type Notice } from "./notify.ts";
import type { RunDeps } from "../deps.ts";
import { RunLog } from "../run/report.ts";
import type { LogLevel } from "../queries/events.ts";
import { findRun, paramsOf, type RunRow, slotOf } from "../queries/runs.ts";

/** Returns the channel of a notice; `undefined` if this process does not know its recipe or its run. */
export async function noticeChannel(
  recipes: Recipes,
  deps: RunDeps,
  notice: Notice,
): Promise<Channel | undefined> {
  const { run, notice: index = 0, place = 0 } = bodyOf(notice.body);
  const recipe = run === undefined ? undefined : recipes.get(run.recipe);
  const declared = recipe?.notify?.[index];
  const step = declared && channelsOf(declared)[place]?.step;
  const row = run === undefined ? undefined : await findRun(deps.store, run.runKey);
  if (recipe === undefined || step === undefined || row === undefined) return undefined;
  const outcome: NoticeOutcome = {
    state: row.state,
    reason: row.reason ?? "",
    failedStep: "",
    error: "",
    ...await failureOf(deps, row),
  };
  return async (_notice, signal) => {
    const log = new RunLog(deps.store, row.run_key);
    return sendNotice(step, deps, {
      recipe,
      // The row's parameters are those of the recipe, with the values that were given for this run.
      scope: scopeOf(deps.calendars(), recipe, {
        ...slotOf(row),
        runKey: row.run_key,
        params: paramsOf(row),
      }),
      outputs: await outputsOf(deps.store, row.run_key, row.round),
      outcome,
      index,
      place,
      signal,
      log: (level, text) =>
        log.add({
          at: deps.machine.now(),
          level,
          step: `notify-${index + 1}`,
          text: deps.redactor.text(text),
        }),
    });
  };
}

/** A notice to send: the run that it reports, and its place among the notices and channels of the recipe. */
interface NoticeSending {
  recipe: CompiledRecipe;
  scope: RunScope;
  outputs: Readonly<Record<string, unknown>>;
  outcome: NoticeOutcome;
  /** Index of the notice in the recipe, from 0. */
  index: number;
  /** Index of the channel in the notice, from 0. */
  place: number;
  signal: AbortSignal;
  /** Text that is sent instead of the notice's own text. */
  testText?: string;
  log(level: LogLevel, text: string): void;
}

/** Runs the step of one channel. */
export async function sendNotice(
  step: CompiledStep,
  { machine, calendars, redactor, out, client, secret }: Pick<
    RunDeps,
    "machine" | "calendars" | "redactor" | "out" | "client" | "secret"
  >,
  { recipe, scope, outputs, outcome, index, place, signal, testText, log }: NoticeSending,
): Promise<void> {
  // The first channel's key has no channel index, so it does not change when another channel is added.
  const key = `notify-${index}${place === 0 ? "" : `-${place}`}`;
  const context = stepContext(key, {
    scope: { ...scope, outputs, outcome },
    recipeFile: { file: recipe.file, sha256: recipe.sha256 },
    deps: { machine, calendars, out, redactor, secret, client: () => client(recipe) },
    signal,
    log,
    runRecipe: () => Promise.reject(new TypeError("Cannot run a recipe to send a notice")),
    ...testText !== undefined && { testText },
  });
  await step.run(context);
}

async function failureOf({ store }: RunDeps, row: RunRow) {
  if (row.state === "ok" || row.state === "skipped") return {};
  const failed = await failedStep(store, row);
  return failed === undefined ? {} : { failedStep: failed.step_id, error: failed.error ?? "" };
}
