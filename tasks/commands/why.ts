/** Description of `hsgate why`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger, now, servedRecipes } from "./flags.ts";

const flags = {
  ledger,
  recipes: servedRecipes,
  now,
} as const satisfies Flags;
/** What it is given. */
export type WhyInput = Input<typeof flags>;

/** Say in one line what a recipe did on a day, or why it did nothing. */
export const whyCommand = command({
  name: "why",
  summary: "say in one line what a recipe did on a day, or why it did nothing",
  usage: "RECIPE DATE",
  args: [2, 2],
  details: `DATE is a day where the recipe's exchange is, or in its schedule's zone. RECIPE is a
name in the folder of the recipes.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["why end-of-day 2025-08-15"],
  body: async () => (await import("./bodies/why.ts")).run,
});
