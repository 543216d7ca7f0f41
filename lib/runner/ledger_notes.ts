/**
 * What a ledger has to say about recipes before anything runs: schedules that are gone, schedules that are too slow.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { slownessOf, tellSlowness } from "./slowness.ts";
import { showInstant } from "./slots.ts";

/** Says what a person should know, line by line. */
export function ledgerNotes(
  ledger: Ledger,
  recipes: readonly Pick<CompiledRecipe, "name" | "schedules">[],
): string[] {
  const rows = ledger.all<{ recipe: string; schedule_id: string; watermark: number }>(
    "select recipe, schedule_id, watermark from schedule order by recipe, schedule_id",
  );
  return recipes.flatMap((recipe) => {
    const own = rows.filter((row) => row.recipe === recipe.name);
    const gone = own.filter((row) => recipe.schedules.every(({ id }) => id !== row.schedule_id));
    const unseen = recipe.schedules.filter(({ id }) => own.every((row) => row.schedule_id !== id));
    return [
      ...gone.map(({ schedule_id: id, watermark }) =>
        `${recipe.name}: the ledger knows a schedule "${id}" that the recipe has not any more, last looked at ${
          showInstant(watermark)
        }${unseen.length === 0 ? "" : `; a new name is a new schedule: ${names(unseen)} will start from now`}`
      ),
      ...recipe.schedules.flatMap((schedule) => slownessOf(ledger, recipe.name, schedule) ?? [])
        .map((slow) => `${recipe.name}: ${tellSlowness(slow)}`),
    ];
  });
}

const names = (schedules: readonly { id: string }[]) => schedules.map(({ id }) => `"${id}"`).join(", ");
