/**
 * What `hsgate run` does.
 *
 * @module
 */
import type { DayBookResult } from "../../../lib/day_book/types.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { findOperation } from "../../../lib/operations/mod.ts";
import { readText } from "../../../lib/steps/read_text.ts";
import type { CompiledRecipe, RecipeResult } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { FileText, Host } from "../host.ts";
import { paint } from "../print.ts";
import type { RunInput } from "../run.ts";
import { printAnswer } from "./answer.ts";
import { dayTable } from "./day_table.ts";
import { ledgerPath } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { Connections } from "./run_connections.ts";
import { fileOfRecipe, loadToRun, recipeNames } from "./recipe_files.ts";
import { paramsOf } from "./run_params.ts";
import { runHere } from "./run_here.ts";

/** Compiles a recipe, runs its steps, and ends with 7 when something does not add up. */
export async function run(input: RunInput): Promise<number> {
  const { args: [name = ""], flags, host } = input;
  const { path, text } = await findRecipe(name, host);
  // One in TypeScript is a program, which says itself what it holds.
  const recipe = path.endsWith(".ts")
    ? await loadToRun(path, { host, orTrusted: flags["if-new"] })
    : await loadToRun(path, { host, text, orTrusted: flags["if-new"] });
  if (flags["dry-run"]) return await (await import("./run_dry.ts")).runDry(recipe, input);
  const ledger = await ledgerPath(flags, host);
  if (ledger !== undefined) return await (await import("./run_slot.ts")).runSlot(path, input);
  refuseWithoutLedger(recipe, input);
  const params = paramsOf(recipe, flags.param);
  const given = flags.now === undefined ? undefined : clockOf(flags.now, host);
  await using connections = await Connections.open(flags, host, { ...given !== undefined && { now: given } });
  connections.check(recipe);
  const now = given ?? connections.timeOf(recipe) ?? host.now;
  const result = await runHere(recipe, { input, connections, params, now });
  if (flags.json) host.out(JSON.stringify(result));
  else printSteps(result, host);
  return result.ok ? 0 : 7;
}

/** @throws {UsageError} For what only a ledger makes safe, with the command line that does it. */
function refuseWithoutLedger(recipe: CompiledRecipe, { args: [name = ""], flags }: RunInput): void {
  const own = (["manual", "force-deadline", "wait"] as const).filter((flag) => flags[flag] !== undefined);
  const params = (flags.param ?? []).map((each) => ` --param ${each}`).join("");
  const line = (more: string) => `deno task hsgate run ${name} --ledger hsgate.db${more}${params}`;
  if (recipe.class === "write") {
    throw new UsageError(
      `Cannot run "${recipe.name}" without a ledger: it writes, and the ledger is what keeps an order from being ` +
        `sent twice; try ${line(own.includes("manual") ? " --manual" : "")}`,
    );
  }
  if (own.length === 0) return;
  throw new UsageError(
    `Cannot use --${
      own[0]
    } without a ledger: it names one with --ledger, HSGATE_LEDGER or the setting "ledger"; ` +
      `try ${line(own.includes("manual") ? " --manual" : "")}`,
  );
}

/** Finds a recipe by its path, or among the recipes by its name or its file's. */
async function findRecipe(name: string, host: Host): Promise<FileText & { path: string }> {
  const file = await readRecipe(name, host);
  if (file !== undefined) return { ...file, path: name };
  const path = await fileOfRecipe(name);
  const found = path === undefined ? undefined : await readRecipe(path, host);
  if (path !== undefined && found !== undefined) return { ...found, path };
  throw new UsageError(
    `Cannot run "${name}": there is no such recipe${didYouMean(name, await recipeNames())}`,
  );
}

/** Reads a recipe's file; a named pipe or a device is refused, as reading it may never end. */
async function readRecipe(path: string, host: Host): Promise<FileText | undefined> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (info !== undefined && !info.isFile && !info.isDirectory) {
    return { text: await readText(path), mode: info.mode };
  }
  return await host.readFile(path);
}

/** Prints what each step came to. */
export function printSteps({ steps }: RecipeResult, host: Host): void {
  const more = "--json has all";
  for (const { id, uses, output, skipped } of steps) {
    if (steps.length > 1) host.out(paint(host, "bold", id));
    if (skipped) {
      host.out("left out");
      continue;
    }
    const operation = findOperation(uses);
    if (operation !== undefined) {
      printAnswer(output, { operation, params: {}, isWhole: true, asJson: false, more, host });
    } else if (uses === "export-day-book") {
      // This step answers with the result of an export.
      for (const line of dayTable(output as DayBookResult, host, { more })) host.out(line);
    } else host.out(JSON.stringify(output, null, 2));
  }
}
