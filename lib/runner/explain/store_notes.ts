/**
 * Finds problems of recipes in the store, before the recipes run: schedules that a recipe no longer has, and runs that
 * take longer than the interval of their schedule.
 *
 * @module
 */
import { type Calendars, showInstant } from "../../calendars/mod.ts";
import { allWatermarks } from "../queries/schedules.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import type { Store } from "../../store/store.ts";
import { describeSlowness, slownessOf } from "../run/report.ts";

/** Returns lines that a person should read before a run. */
export async function storeNotes(
  store: Store,
  calendars: Calendars,
  recipes: readonly Pick<CompiledRecipe, "name" | "schedules">[],
): Promise<string[]> {
  const rows = await allWatermarks(store);
  return (await Array.fromAsync(recipes, async (recipe) => {
    const own = rows.filter((row) => row.recipe === recipe.name);
    const old = own.filter((row) => recipe.schedules.every(({ id }) => id !== row.schedule_id));
    const unseen = recipe.schedules.filter(({ id }) => own.every((row) => row.schedule_id !== id));
    return [
      ...old.map(({ schedule_id: id, watermark }) =>
        `${recipe.name}: the store has a schedule "${id}" that the recipe no longer has; a scheduler last listed it at ${
          showInstant(watermark)
        }${
          unseen.length === 0
            ? ""
            : `; a renamed schedule counts as new: ${names(unseen)} will start from now`
        }`
      ),
      ...(await Array.fromAsync(
        recipe.schedules,
        async (schedule) => await slownessOf(store, calendars, recipe.name, schedule) ?? [],
      )).flat()
        .map((slow) => `${recipe.name}: ${describeSlowness(slow)}`),
    ];
  })).flat();
}

const names = (schedules: readonly { id: string }[]) => schedules.map(({ id }) => `"${id}"`).join(", ");
