/**
 * A program for `Deno.cron`: one tick a minute, in which the runner itself decides what is due.
 *
 * @module
 */
import type { CompiledRecipe } from "../../steps/compiled.ts";
import {
  checkDeployValues,
  decidedInside,
  type Deployment,
  type DeployOptions,
  recipeFirings,
  trustLeft,
} from "./deployment.ts";

/** What the program needs beside the rest. */
export interface DenoCronOptions extends DeployOptions {
  /** The module of `startTicking`, as the program imports it. */
  tickModule: string;
  /** The timeline that may trade. Recipes that write are refused without it. */
  timeline?: string;
}

/**
 * Writes the program.
 *
 * @throws {TypeError} When a recipe writes and no timeline is named: each preview branch would trade.
 */
export function denoCron(recipes: readonly CompiledRecipe[], options: DenoCronOptions): Deployment {
  checkDeployValues(recipes, options);
  const writers = recipes.filter(({ class: kind }) => kind === "write").map(({ name }) => name);
  if (writers.length > 0 && options.timeline === undefined) {
    throw new TypeError(
      `Cannot deploy "${
        writers.join('", "')
      }" to Deno.cron: it trades, and a cron runs on every timeline, previews ` +
        "included; name the one that may trade with --timeline production",
    );
  }
  for (const recipe of recipes) recipeFirings(recipe, options.now); // refuses what a tick a minute cannot follow
  return {
    files: [{ name: "hsgate_cron.ts", text: programOf(recipes, options, writers) }],
    rows: recipes.map((recipe) => ({
      recipe: recipe.name,
      lines: ["every minute"],
      inside: `the time, ${decidedInside(recipe)}`,
    })),
    next: [
      ...trustLeft(recipes, options),
      `deno run --unstable-cron ${options.denoFlags.join(" ")} hsgate_cron.ts`,
      ...writers.length > 0
        ? [`set HSGATE_TIMELINE=${options.timeline} where it may trade, and nowhere else`]
        : [],
    ],
  };
}

function programOf(
  recipes: readonly CompiledRecipe[],
  { tickModule, timeline, dir, ledger, denoFlags, doubt, fileOf }: DenoCronOptions,
  writers: readonly string[],
): string {
  const warning = doubt === undefined ? "" : `\n * WARNING: the ledger may not last: ${doubt}.\n *`;
  const note = writers.length === 0 ? "" : `
 * It trades (${
    writers.join(", ")
  }), so it does nothing at all unless HSGATE_TIMELINE is "${timeline}": a cron runs on
 * every timeline, and a preview branch would trade too.
 *`;
  const settings = {
    recipes: recipes.map(fileOf),
    ledger,
    dir,
    ...writers.length > 0 && { timeline },
  };
  const lines = Object.entries(settings).map(([name, value]) => `  ${name}: ${spellValue(value)},`).join(
    "\n",
  );
  return `/**
 * Recipes of hsgate by Deno.cron: a tick a minute, in which the runner lists the slots that have passed, decides about
 * late ones, and runs what is due. A slot has one key, so that a scheduler or a timer may run beside this.
 *${warning}${note}
 * The ledger is one file and must outlive the process: on a platform whose disk goes with the process, such as Deno
 * Deploy, recipes that trade are refused. Runs that take longer than a tick go on while the process lives.
 *
 * deno run --unstable-cron ${denoFlags.join(" ")} hsgate_cron.ts
 *
 * @module
 */
import { startTicking } from ${JSON.stringify(tickModule)};

const ticking = await startTicking({
${lines}
});

// Ticks do not overlap, and none is tried again: the next one finds what is left.
Deno.cron("hsgate tick", "* * * * *", async () => {
  await ticking.tick();
});
`;
}

const spellValue = (value: string | readonly string[] | undefined): string =>
  Array.isArray(value)
    ? `[\n${value.map((each) => `    ${JSON.stringify(each)},`).join("\n")}\n  ]`
    : JSON.stringify(value);
