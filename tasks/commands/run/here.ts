/**
 * Runs a recipe without a store: its steps in this process, with their progress.
 *
 * @module
 */
import { messageOf } from "../../../lib/errors.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { ProgressText } from "../../../lib/day_book/progress.ts";
import type { DayBookEvent } from "../../../lib/day_book/types.ts";
import { manualScope } from "../../../lib/recipes/engine/step_context.ts";
import type { RunDay } from "../../../lib/recipes/compiled.ts";
import { checkTogether } from "../../../lib/recipes/engine/engine.ts";
import { recipeRunBy } from "../../../lib/recipes/powers.ts";
import {
  bindParams,
  type CompiledRecipe,
  type RecipeEvent,
  type RecipeResult,
  runRecipe,
} from "../../../lib/recipes/mod.ts";
import type { Host } from "../../terminal/host.ts";
import type { RunInput } from "../run.ts";
import { neighboursOf } from "../shared/recipe_files.ts";
import type { Connections } from "./connections.ts";
import { shortResult } from "./summaries.ts";
import { type RunShow, showRun } from "./show.ts";
import { learnSettings, redactorFor, secretReader } from "./deps.ts";
import { RunTree, summaryLines, type TreeEvent } from "./tree.ts";

/** Dependencies of a run without a store. */
interface RunHereOptions {
  input: RunInput;
  connections: Connections;
  params: Readonly<Record<string, unknown>>;
  now: () => number;
}

/** Runs the steps one after the other; the first error ends the run. */
export async function runHere(recipe: CompiledRecipe, options: RunHereOptions): Promise<RecipeResult> {
  const { input: { flags, host }, connections, now } = options;
  const recipes = await neighboursOf(recipe, { host, now });
  const tree = new RunTree();
  const redactor = redactorFor(connections);
  const secret = secretReader(recipes.values(), host, redactor);
  const asLines = flags.json === true && flags.events === true;
  // No store records this run: `traceId` only separates its log lines from those of another run.
  const at = now();
  const slot = Temporal.Instant.fromEpochMilliseconds(at).toString();
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const { noteEvent } = asLines ? await import("./events.ts") : {}; // loads the runner only for JSON lines
  try {
    using show = showRun(host, { tree, json: flags.json ?? false });
    connections.noteWith(
      noteEvent === undefined
        ? show.line
        : (line) => show.line(redactor.json({ ...noteEvent(line, now()), traceId })),
    );
    await learnSettings(redactor, connections.settings);
    if (recipe.notify !== undefined) {
      connections.note(
        `hsgate: warning: "${recipe.name}" declares notices, but a run without a store sends none: use --store`,
      );
    }
    const days = new ProgressText({ monotonic: () => performance.now(), inPlace: false });
    const runOne = async (
      run: string,
      each: CompiledRecipe,
      params: Readonly<Record<string, unknown>>,
      outer?: RunDay,
    ): Promise<RecipeResult> => {
      const runKey = `${each.name}/manual/${slot}`;
      const { day, session, previousSession } = manualScope(
        calendarsOf(host),
        each,
        { runKey, at, params },
        outer,
      );
      const take = (event: TreeEvent) => {
        tree.apply(event);
        show.take(event);
      };
      const kept = new Set<string>();
      const about = { recipe: each.name, runKey, traceId };
      const printLine = (line: Readonly<Record<string, unknown>>) =>
        show.line(redactor.json({ at: new Date(now()).toISOString(), run, ...about, ...line }));
      take({ type: "run-started", run, recipe: each.name, steps: each.steps });
      const result = await runRecipe(each, {
        calendars: calendarsOf(host),
        client: await connections.of(each),
        now,
        slot,
        day,
        session,
        previousSession,
        params,
        secret,
        redactor,
        signal: host.signal,
        ...flags.out !== undefined && { out: flags.out },
        onProgress(event) {
          if (asLines) printLine(lineOf(event));
          else if (event.type === "log" && (event.level === "warn" || event.level === "error")) {
            show.line(redactor.text(`hsgate: ${event.step}: ${event.level}: ${event.message}`));
          }
          // The redactor changes texts but no structure.
          const known = redactor.data(eventsOf(run, event, kept)) as TreeEvent[];
          if (!isOfDayBook(event)) return known.forEach(take);
          noteKept(event.detail, kept);
          known.forEach((each) => tree.apply(each));
          if (!flags.json) printDays(redactor.text(days.update(event.detail)), show, host);
        },
        runRecipe: async (name, given) => {
          const inner = recipeRunBy(each, name, recipes);
          checkTogether(each, inner);
          const { ok, steps } = await runOne(`${run} ${name}`, inner, bindParams(inner, given), day);
          if (!ok) {
            throw new TypeError(
              `Cannot continue the run: recipe "${name}" reported a problem: the output of a step has "ok": false`,
            );
          }
          return Object.fromEntries(steps.map(({ id, output }) => [id, output]));
        },
      });
      take({ type: "run-ended", run, state: result.ok ? "ok" : "failed" });
      return result;
    };
    const result = await runOne(recipe.name, recipe, options.params);
    return redactor.data(result) as RecipeResult; // the redactor keeps the structure
  } catch (error) {
    redactor.error(error);
    throw error;
  } finally {
    // The progress display has ended, so this summary stays on the screen.
    if (host.errTerminal !== undefined && tree.hasBegun) {
      for (const line of summaryLines(tree, host)) host.note(line);
    }
  }
}

/** Returns whether this is a progress event of the day book export, which has more details. */
function isOfDayBook(event: RecipeEvent): event is RecipeEvent & { type: "progress"; detail: DayBookEvent } {
  return event.type === "progress" && event.uses === "export-day-book";
}

/**
 * Remembers the folders of days that the export neither wrote nor replaced, because without a store nothing else
 * records that.
 */
function noteKept(event: DayBookEvent, kept: Set<string>): void {
  if (event.type !== "day-done" || event.result === undefined) return;
  const { action, path } = event.result;
  if (action !== "written" && action !== "replaced") kept.add(path);
}

function printDays(text: string, show: RunShow, { errTerminal }: Pick<Host, "errTerminal">): void {
  const prefix = errTerminal === undefined ? "hsgate: " : "";
  for (const line of text.split("\n")) if (line !== "") show.line(`${prefix}${line}`);
}

function eventsOf(run: string, event: RecipeEvent, kept: ReadonlySet<string>): TreeEvent[] {
  switch (event.type) {
    case "step-started":
      return [{ type: "step-started", run, step: event.step, attempt: 1 }];
    case "progress": {
      const { step, text, done, total } = event;
      return [{ type: "step-progress", run, step, text, done, total }];
    }
    case "artifact": {
      const { step, path } = event;
      return [{ type: "artifact", run, step, path, isNew: !kept.has(path.replace(/\/[^/]*$/, "")) }];
    }
    case "step-skipped":
      return [{ type: "step-ended", run, step: event.step, state: "skipped" }];
    case "step-failed": {
      const reason = messageOf(event.error);
      return [{ type: "step-ended", run, step: event.step, state: "failed", reason }];
    }
    case "step-done": {
      const { step, ok, output } = event;
      return [{
        type: "step-ended",
        run,
        step,
        state: ok ? "ok" : "failed",
        result: shortResult(output),
        ...!ok && { reason: 'the step reported a problem: its output has "ok": false' },
      }];
    }
    case "log":
      return [];
  }
}

/** Returns an event as a line of JSON. Omits the output of a step, because the result contains it. */
function lineOf(event: RecipeEvent): Readonly<Record<string, unknown>> {
  if (event.type === "step-done") return { ...event, output: undefined };
  if (event.type === "progress") return { ...event, detail: undefined };
  if (event.type !== "step-failed") return event;
  return { ...event, error: messageOf(event.error) };
}
