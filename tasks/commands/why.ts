/** Description of `hsgate why`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { now, servedRecipes, store } from "../terminal/flags.ts";

const flags = {
  store,
  recipes: servedRecipes,
  now,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type WhyInput = Input<typeof flags>;

/** Explains what a recipe did on a day. */
export const whyCommand = command({
  name: "why",
  summary: "explain in one line what a recipe did on a day, or why it did nothing",
  usage: "RECIPE DATE",
  args: [2, 2],
  details: `DATE is a day at the recipe's exchange, or in the time zone of its schedule. RECIPE is a
name in the recipe folder.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["why end-of-day 2025-08-15"],
});
