/**
 * What `hsgate run` does.
 *
 * @module
 */
import type { DayBookEvent, DayBookResult } from "../../../lib/day_book/types.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import { compileRecipe, type RecipeEvent, type RecipeResult, runRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { FileText, Host } from "../host.ts";
import { list, paint } from "../print.ts";
import type { RunInput } from "../run.ts";
import { clientOf } from "../session.ts";
import { printAnswer } from "./answer.ts";
import { type DayProgress, showProgress } from "./day_progress.ts";
import { dayTable } from "./day_table.ts";
import { clockOf } from "./lists.ts";
import { ledgerPath } from "./ledger_file.ts";
import { gatewayOf } from "./run_surroundings.ts";

/** Compiles a recipe, runs its steps, and ends with 7 when something does not add up. */
export async function run(input: RunInput): Promise<number> {
  const { args: [name = ""], flags, host } = input;
  const { path, text } = await findRecipe(name, host);
  const recipe = await compileRecipe(text, path);
  if (flags["dry-run"]) {
    const steps = recipe.steps.map(({ id, uses }) => ({ id, uses }));
    if (flags.json) host.out(JSON.stringify({ name: recipe.name, steps }));
    else for (const line of list(host, steps.map(({ id, uses }) => [id, uses] as const))) host.out(line);
    return 0;
  }
  if (await ledgerPath(flags, host) !== undefined) {
    return await (await import("./run_slot.ts")).runSlot(path, input);
  }
  const usualUrl = gatewayOf(recipe);
  await using client = await clientOf(flags, host, {
    command: `run ${recipe.name}`,
    ...usualUrl !== undefined && { usualUrl },
  });
  using progress = showProgress(host, { json: flags.json });
  const result = await runRecipe(recipe, {
    client,
    now: clockOf(flags.now, host),
    signal: host.signal,
    ...flags.out !== undefined && { out: flags.out },
    onProgress: (event) => tell(event, host, progress),
  });
  if (flags.json) host.out(JSON.stringify(result));
  else printSteps(result, host);
  return result.ok ? 0 : 7;
}

/** Finds a recipe by its file, or by its name among the recipes. */
async function findRecipe(name: string, host: Host): Promise<FileText & { path: string }> {
  for (const path of [name, `recipes/${name}.yaml`, `recipes/${name.replaceAll("-", "_")}.yaml`]) {
    const file = await host.readFile(path);
    if (file !== undefined) return { ...file, path };
  }
  throw new UsageError(
    `Cannot run "${name}": there is no such recipe${didYouMean(name, await recipeNames())}`,
  );
}

async function recipeNames(): Promise<string[]> {
  try {
    const names: string[] = [];
    for await (const { name } of Deno.readDir("recipes")) names.push(name.replace(/\.ya?ml$/, ""));
    return names;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return []; // only the hint is missing then
    throw error;
  }
}

/** Tells on stderr where a recipe is. */
export function tell(event: RecipeEvent, host: Pick<Host, "note">, progress: DayProgress): void {
  if (event.type === "step-started") {
    host.note(`hsgate: step ${event.index + 1} of ${event.steps}, ${event.step}`);
  }
  if (event.type !== "progress") return;
  // The export of the day book tells more than a place, and there is a line for it.
  if (event.uses === "export-day-book") progress.update(event.detail as DayBookEvent);
  else if (event.done !== event.total) {
    const place = event.done === undefined ? "" : ` (${event.done + 1} of ${event.total})`;
    host.note(`hsgate:   ${event.text}${place}`);
  }
}

/** Prints what each step came to. */
export function printSteps({ steps }: RecipeResult, host: Host): void {
  for (const { id, uses, output, skipped } of steps) {
    if (steps.length > 1) host.out(paint(host, "bold", id));
    if (skipped) {
      host.out("left out");
      continue;
    }
    const operation = findOperation(uses);
    if (operation !== undefined) {
      printAnswer(output, { operation, params: {}, isWhole: true, asJson: false, host });
    } else if (uses === "export-day-book") {
      // This step answers with the result of an export.
      for (const line of dayTable(output as DayBookResult, host)) host.out(line);
    } else host.out(JSON.stringify(output, null, 2));
  }
}
