/**
 * Writes a program for `Deno.cron`. Once a minute, the program calls the runner, which runs the due slots.
 *
 * @module
 */
import { shellLine } from "../shell_words.ts";
import type { CompiledRecipe } from "../recipes/compiled.ts";
import {
  checkDeployValues,
  checksOfRecipe,
  type Deployment,
  type DeployOptions,
  hasDatabase,
  recipeFirings,
  trustStep,
} from "./deployment.ts";

/** Further options for the program. */
export interface DenoCronOptions extends DeployOptions {
  /** Import path of the module with `startTicking`. */
  tickModule: string;
  /** The only timeline that may trade; required for recipes that write. */
  timeline?: string;
}

/**
 * Returns a deployment with the program.
 *
 * @throws {TypeError} If a recipe writes and no timeline is given, because each preview branch would trade.
 */
export function denoCron(recipes: readonly CompiledRecipe[], options: DenoCronOptions): Deployment {
  checkDeployValues(recipes, options);
  const writers = recipes.filter(({ class: kind }) => kind === "write").map(({ name }) => name);
  if (writers.length > 0 && options.timeline === undefined) {
    throw new TypeError(
      `Cannot deploy "${
        writers.join('", "')
      }" to Deno.cron: it trades, and Deno.cron runs on every timeline, ` +
        "including previews; name the timeline that may trade, such as --timeline production",
    );
  }
  // Throws if one tick a minute is not enough for a schedule.
  for (const recipe of recipes) recipeFirings(recipe, options);
  return {
    files: [{ name: "hsgate_cron.ts", text: programOf(recipes, options, writers) }],
    rows: recipes.map((recipe) => ({
      recipe: recipe.name,
      lines: ["every minute"],
      checkedByRecipe: `the time, ${checksOfRecipe(recipe)}`,
    })),
    next: [
      ...trustStep(recipes, options),
      shellLine([
        "DENO_NO_UPDATE_CHECK=1",
        "deno",
        "run",
        "--unstable-cron",
        ...options.denoFlags,
        "hsgate_cron.ts",
      ]),
      ...writers.length > 0
        ? [`set ${shellLine([`HSGATE_TIMELINE=${options.timeline}`])} only where it may trade`]
        : [],
    ],
  };
}

function programOf(
  recipes: readonly CompiledRecipe[],
  { tickModule, timeline, dir, store, config, denoFlags, storeRisk, fileOf }: DenoCronOptions,
  writers: readonly string[],
): string {
  const warning = storeRisk === undefined ? "" : `\n * WARNING: the store may not last: ${storeRisk}.\n *`;
  const note = writers.length === 0 ? "" : `
 * It trades (${
    writers.join(", ")
  }), so it does nothing unless HSGATE_TIMELINE is "${timeline}": Deno.cron runs on every
 * timeline, and a preview branch would trade too.
 *`;
  const settings = {
    recipes: recipes.map(fileOf),
    store,
    dir,
    ...config !== undefined && { config },
    ...writers.length > 0 && { timeline },
  };
  const lines = Object.entries(settings).map(([name, value]) => `  ${name}: ${spellValue(value)},`).join(
    "\n",
  );
  return `/**
 * Runs recipes of hsgate with Deno.cron. Each minute the runner lists new slots, applies the misfire policy to late
 * slots, and runs what is due. Each slot runs once, so a scheduler or a timer may run at the same time as this program.
 *${warning}${note}
 * ${
    hasDatabase({ store })
      ? "The store is a PostgreSQL database."
      : `The store is a file and must outlive the process. If the platform deletes the disk with the process, as Deno Deploy
 * does, hsgate rejects recipes that trade.`
  } Runs that take longer than a tick continue while the process lives.
 *
 * DENO_NO_UPDATE_CHECK=1 deno run --unstable-cron ${shellLine(denoFlags)} hsgate_cron.ts
 *
 * @module
 */
import { startTicking } from ${JSON.stringify(tickModule)};

const ticking = startTicking({
${lines}
});

// Ticks do not overlap. A failed tick is not retried, because the next tick runs everything that is still due.
Deno.cron("hsgate tick", "* * * * *", async () => {
  await ticking.tick();
});
`;
}

const spellValue = (value: string | readonly string[] | undefined): string =>
  Array.isArray(value)
    ? `[\n${value.map((each) => `    ${JSON.stringify(each)},`).join("\n")}\n  ]`
    : JSON.stringify(value);
