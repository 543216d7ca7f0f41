/**
 * Runs `hsgate pause` and `hsgate resume`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { hasLoginHold } from "../../../lib/runner/queries/claims.ts";
import { drawTraceId } from "../../../lib/runner/schedule/plan_run.ts";
import { hasSchedule, pausedSchedules, pauseOf } from "../../../lib/runner/queries/schedules.ts";
import { pauseRecipe, resumeRecipe } from "../../../lib/runner/claims/decisions.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { plain } from "../../terminal/print.ts";
import type { PauseInput, ResumeInput } from "../pause.ts";
import { checkKnown, openStore, storeTime } from "../shared/store_file.ts";
import { RECIPES } from "../shared/recipe_names.ts";
import { findRecipe, getRecipe } from "../shared/remembered_recipe.ts";
import { systemMachine } from "../../../lib/time.ts";

/** How far back `resume --catch-up` looks for skipped slots. */
const LOOKBACK_MS = 14 * 86_400_000;

/** Pauses a recipe. @throws {UsageError} If no schedule of the recipe is known. */
export async function run({ args: [given = ""], flags, host }: PauseInput): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true });
  const recipe = await findRecipe(given, store, { folder: flags.recipes, host, now: host.now });
  const name = recipe?.name ?? given;
  if (recipe === undefined) await checkKnown(store, name);
  const { schedules } = recipe ?? { schedules: [] };
  if (schedules.length === 0 && !await hasSchedule(store, name)) {
    throw new UsageError(
      recipe === undefined
        ? `Cannot pause "${name}": no scheduler has loaded it, and no valid recipe in "${
          flags.recipes ?? RECIPES
        }" has this name; name its folder with --recipes`
        : `Cannot pause "${name}": it has no schedule, so there is nothing to pause; remove it from ` +
          "whatever starts it, such as a crontab line or a step of another recipe",
    );
  }
  const before = await pauseOf(store, name);
  const changed = await pauseRecipe(store, name, {
    why: flags.why ?? "paused by a person",
    now: storeTime(store, host),
    schedules,
  });
  if (flags.json) host.out(JSON.stringify({ recipe: name, paused: true, changed }));
  else host.out(changed ? `${name} is paused` : `${name} is already paused: ${plain(before ?? "")}`);
  return 0;
}

/** Resumes a recipe, or trading if no recipe is named. */
export async function resume(input: ResumeInput): Promise<number> {
  const { args: [given], flags, host } = input;
  if (given === undefined) {
    if (flags["catch-up"]) throw new UsageError("Cannot use --catch-up without a recipe: name the recipe");
    return await (await import("../orders/halt.ts")).resumeTrading(input);
  }
  await using store = await openStore(flags, { host, mustExist: true });
  const recipe = await getRecipe(given, store, { folder: flags.recipes, host, now: host.now });
  const { name } = recipe;
  await checkKnown(store, name);
  // A recipe without a schedule cannot be paused. But if another device took over its login, the recipe may block the
  // account.
  const wasPaused = [...(await pausedSchedules(store)).keys()].some((key) => key.startsWith(`${name}/`)) ||
    await hasLoginHold(store, name);
  if (!wasPaused) {
    if (flags.json) host.out(JSON.stringify({ recipe: name, paused: false, changed: false, caughtUp: [] }));
    else host.out(`${name} was not paused`);
    return 0;
  }
  const now = storeTime(store, host);
  const left: { key: string; why: string }[] = [];
  const caughtUp = await resumeRecipe(store, recipe, {
    now,
    calendars: calendarsOf(host),
    loadedAt: now,
    lookbackMs: LOOKBACK_MS,
    drawTraceId: () => drawTraceId(systemMachine),
    catchUp: flags["catch-up"] ?? false,
    onLeft: (key, why) => left.push({ key, why }),
  });
  if (flags.json) {
    const more = left.length === 0 ? {} : { left };
    host.out(JSON.stringify({ recipe: name, paused: false, changed: true, caughtUp, ...more }));
  } else {
    host.out(`${name} is resumed from now`);
    for (const key of caughtUp) host.out(`due again: ${key}`);
    for (const { key, why } of left) host.out(`stays skipped: ${key}: ${plain(why)}`);
  }
  return 0;
}
