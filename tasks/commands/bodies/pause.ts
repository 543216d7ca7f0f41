/**
 * What `hsgate pause` and `hsgate resume` do.
 *
 * @module
 */
import { holdsLogin } from "../../../lib/runner/displaced.ts";
import { drawTraceId } from "../../../lib/runner/host.ts";
import { pauseRecipe, resumeRecipe } from "../../../lib/runner/pausing.ts";
import type { PauseInput } from "../pause.ts";
import type { ResumeInput } from "../resume.ts";
import { checkKnown, openLedger, pausedOf } from "./ledger_file.ts";
import { recipeNamed } from "./recipe_files.ts";

const LOOKBACK_MS = 14 * 86_400_000;

/** Pauses a recipe. */
export async function run({ args: [name = ""], flags, host }: PauseInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  checkKnown(ledger, name);
  const paused = pauseRecipe(ledger, name, { why: flags.why ?? "paused by hand", now: host.now() });
  if (flags.json) host.out(JSON.stringify({ recipe: name, paused: true, changed: paused }));
  else host.out(paused ? `${name} is paused` : `${name} was paused already, or has no schedule`);
  return 0;
}

/** Resumes a recipe. */
export async function resume({ args: [name = ""], flags, host }: ResumeInput): Promise<number> {
  const recipe = await recipeNamed(name, { folder: flags.recipes, host, now: host.now });
  using ledger = await openLedger(flags, { host, mustExist: true });
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
  const caughtUp = resumeRecipe(ledger, recipe, {
    now,
    loadedAt: now,
    lookbackMs: LOOKBACK_MS,
    drawTraceId: () => drawTraceId({ random: Math.random }),
    catchUp: flags["catch-up"] ?? false,
  });
  if (flags.json) host.out(JSON.stringify({ recipe: name, paused: false, changed: true, caughtUp }));
  else {
    host.out(`${name} goes on from now`);
    for (const key of caughtUp) host.out(`taken up again: ${key}`);
  }
  return 0;
}
