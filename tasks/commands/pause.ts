/** Description of `hsgate pause`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger, servedRecipes } from "./flags.ts";

const flags = {
  ledger,
  recipes: servedRecipes,
  why: { type: "string", value: "TEXT", text: "the reason, for whoever asks later" },
} as const satisfies Flags;
/** What it is given. */
export type PauseInput = Input<typeof flags>;

/** Pause a recipe: its slots are skipped until it is resumed. */
export const pause = command({
  name: "pause",
  summary: "pause a recipe: its slots are skipped until it is resumed",
  usage: "RECIPE",
  args: [1, 1],
  details: `Slots that come in the meantime get their rows, skipped as paused. A run that is going
on ends by itself, and what a person starts by hand runs all the same. It holds for
schedules that no scheduler has seen yet, and for those that the recipe gets later.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ['pause end-of-day --why "the gateway moves"'],
  body: async () => (await import("./bodies/pause.ts")).run,
});
