/**
 * Runs `hsgate run`.
 *
 * @module
 */
import type { DayBookResult } from "../../../lib/day_book/types.ts";
import { knownNames } from "../../../lib/client/nearest.ts";
import { indexed } from "../../../lib/operations/families.ts";
import type { CompiledRecipe, RecipeResult } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { FileText, Host } from "../../terminal/host.ts";
import { paint } from "../../terminal/print.ts";
import type { RunInput } from "../run.ts";
import { storePath } from "../shared/session.ts";
import { clockOf } from "../../terminal/arguments.ts";
import { Connections } from "./connections.ts";
import { linkedOutside } from "../../../lib/confined_paths.ts";
import { fileOfRecipe, loadToRun } from "../shared/recipe_files.ts";
import { recipeNames } from "../shared/recipe_names.ts";
import { paramsOf } from "./params.ts";
import { runHere } from "./here.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** Compiles a recipe and runs it. Returns 7 if a step reported a problem. */
export async function run(input: RunInput): Promise<number> {
  const { args: [name = ""], flags, host } = input;
  const { path, text } = await findRecipe(name, host);
  // A TypeScript recipe is loaded as a module, so its text is not passed.
  const recipe = path.endsWith(".ts")
    ? await loadToRun(path, { host, orTrusted: flags["if-new"] })
    : await loadToRun(path, { host, text, orTrusted: flags["if-new"] });
  if (flags["dry-run"]) return await (await import("./dry.ts")).runDry(recipe, input);
  const store = await storePath(flags, host);
  if (store !== undefined) return await (await import("./slot.ts")).runSlot(path, input);
  refuseWithoutStore(recipe, input);
  const params = paramsOf(recipe, flags.param);
  const given = flags.now === undefined ? undefined : clockOf(flags.now, host);
  await using connections = await Connections.open(flags, host, { ...given !== undefined && { now: given } });
  connections.connectionOf(recipe);
  const now = given ?? connections.timeOf(recipe) ?? host.now;
  const result = await runHere(recipe, { input, connections, params, now });
  if (flags.json) host.out(JSON.stringify(result));
  else await printSteps(result, host);
  return result.ok ? 0 : 7;
}

/**
 * Rejects a run without a store if the recipe writes, or if a flag needs a store.
 *
 * @throws {UsageError} If the run is rejected. The message suggests a command line.
 */
function refuseWithoutStore(recipe: CompiledRecipe, { args: [name = ""], flags }: RunInput): void {
  const own = (["manual", "force-deadline", "wait"] as const).filter((flag) => flags[flag] !== undefined);
  const params = (flags.param ?? []).map((each) => ` --param ${shellHint(each)}`).join("");
  const line = (more: string) => `hsgate run ${shellHint(name)} --store hsgate.db${more}${params}`;
  if (recipe.class === "write") {
    throw new UsageError(
      `Cannot run "${recipe.name}" without a store: it writes, and only a store prevents an order from being ` +
        `sent twice; try ${line(own.includes("manual") ? " --manual" : "")}`,
    );
  }
  if (own.length === 0) return;
  throw new UsageError(
    `Cannot use --${own[0]} without a store: name one with --store, HSGATE_STORE or the setting "store"; ` +
      `try ${line(own.includes("manual") ? " --manual" : "")}`,
  );
}

/** Finds a recipe by its path, by its name or by its file's name. */
async function findRecipe(name: string, host: Host): Promise<FileText & { path: string }> {
  const elsewhere = linkedOutside(name);
  if (elsewhere !== undefined) {
    throw new UsageError(
      `Cannot run "${name}": a link leads to "${elsewhere}"; if that file is yours, give its real path`,
    );
  }
  const file = await host.readFile(name);
  if (file !== undefined) return { ...file, path: name };
  const path = await fileOfRecipe(name);
  const found = path === undefined ? undefined : await host.readFile(path);
  if (path !== undefined && found !== undefined) return { ...found, path };
  throw new UsageError(
    `Cannot run "${name}": there is no such recipe${knownNames(name, await recipeNames())}`,
  );
}

/** Prints the result of each step. */
async function printSteps({ steps }: RecipeResult, host: Host): Promise<void> {
  const more = "--json prints all";
  for (const { id, uses, output, skipped } of steps) {
    if (steps.length > 1) host.out(paint(host, "bold", id));
    if (skipped) {
      host.out("skipped");
      continue;
    }
    if (indexed(uses) !== undefined) {
      const [{ findOperation }, { printAnswer }] = await Promise.all([
        import("../../../lib/operations/mod.ts"),
        import("../../terminal/answer.ts"),
      ]);
      const operation = findOperation(uses)!; // the index has exactly the operations of the catalogue
      printAnswer(output, {
        operation,
        params: {},
        hasAllRows: true,
        view: { output: "table", isChosen: false },
        more,
        host,
      });
    } else if (uses === "export-day-book") {
      const { dayTable } = await import("../../terminal/day_table.ts");
      // The output of this step is the result of an export.
      for (const line of dayTable(output as DayBookResult, host, { more })) host.out(line);
    } else host.out(JSON.stringify(output, null, 2));
  }
}
