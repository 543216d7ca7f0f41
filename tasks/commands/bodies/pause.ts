/**
 * What `hsgate pause` and `hsgate resume` do.
 *
 * @module
 */
import { holdsLogin } from "../../../lib/runner/displaced.ts";
import { drawTraceId } from "../../../lib/runner/host.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { pauseOf } from "../../../lib/runner/paused.ts";
import { pauseRecipe, resumeRecipe } from "../../../lib/runner/pausing.ts";
import { UsageError } from "../exit_codes.ts";
import { plain } from "../print.ts";
import type { PauseInput } from "../pause.ts";
import type { ResumeInput } from "../resume.ts";
import { checkKnown, openLedger, pausedOf } from "./ledger_file.ts";
import { RECIPES } from "./recipe_files.ts";
import { findRecipe, getRecipe } from "./remembered_recipe.ts";

const LOOKBACK_MS = 14 * 86_400_000;

/** Pauses a recipe. @throws {UsageError} When there is nothing of it to pause. */
export async function run({ args: [given = ""], flags, host }: PauseInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  const recipe = await findRecipe(given, ledger, { folder: flags.recipes, host, now: host.now });
  const name = recipe?.name ?? given;
  if (recipe === undefined) checkKnown(ledger, name);
  const { schedules } = recipe ?? { schedules: [] };
  if (schedules.length === 0 && !hasSchedule(ledger, name)) {
    throw new UsageError(
      recipe === undefined
        ? `Cannot pause "${name}": no scheduler has seen it, and no recipe of "${
          flags.recipes ?? RECIPES
        }" that can be read has this name; --recipes names the folder that it lies in`
        : `Cannot pause "${name}": it has no schedule, so that no scheduler starts it; take it out of ` +
          "whatever does, such as a crontab line or a step of another recipe",
    );
  }
  const before = pauseOf(ledger, name);
  const changed = pauseRecipe(ledger, name, {
    why: flags.why ?? "paused by hand",
    now: host.now(),
    schedules,
  });
  if (flags.json) host.out(JSON.stringify({ recipe: name, paused: true, changed }));
  else host.out(changed ? `${name} is paused` : `${name} was paused already: ${plain(before ?? "")}`);
  return 0;
}

function hasSchedule(ledger: Ledger, recipe: string): boolean {
  return ledger.get("select 1 as there from schedule where recipe = ? limit 1", recipe) !== undefined;
}

/** Resumes a recipe. */
export async function resume({ args: [given = ""], flags, host }: ResumeInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  const recipe = await getRecipe(given, ledger, { folder: flags.recipes, host, now: host.now });
  const { name } = recipe;
  checkKnown(ledger, name);
  // One without a schedule has no pause, and may all the same have found the login taken over.
  const wasPaused = [...pausedOf(ledger).keys()].some((key) => key.startsWith(`${name}/`)) ||
    holdsLogin(ledger, name);
  if (!wasPaused) {
    if (flags.json) host.out(JSON.stringify({ recipe: name, paused: false, changed: false, caughtUp: [] }));
    else host.out(`${name} was not paused`);
    return 0;
  }
  const now = host.now();
  const left: { key: string; why: string }[] = [];
  const caughtUp = resumeRecipe(ledger, recipe, {
    now,
    loadedAt: now,
    lookbackMs: LOOKBACK_MS,
    drawTraceId: () => drawTraceId({ random: Math.random }),
    catchUp: flags["catch-up"] ?? false,
    onLeft: (key, why) => left.push({ key, why }),
  });
  if (flags.json) {
    const more = left.length === 0 ? {} : { left };
    host.out(JSON.stringify({ recipe: name, paused: false, changed: true, caughtUp, ...more }));
  } else {
    host.out(`${name} goes on from now`);
    for (const key of caughtUp) host.out(`taken up again: ${key}`);
    for (const { key, why } of left) host.out(`stays skipped: ${key}: ${plain(why)}`);
  }
  return 0;
}
