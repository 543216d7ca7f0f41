/** Description of `hsgate resume`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { ledger, servedRecipes } from "./flags.ts";

const flags = {
  ledger,
  recipes: servedRecipes,
  "catch-up": { type: "boolean", text: "take up slots of the pause again" },
} as const satisfies Flags;
/** What it is given. */
export type ResumeInput = Input<typeof flags>;

/** Let a paused recipe go on from now. */
export const resume = command({
  name: "resume",
  summary: "let a paused recipe go on from now",
  usage: "RECIPE",
  args: [1, 1],
  details: `With --catch-up slots of the pause are taken up again, as many as the recipe's misfire
policy runs of missed ones; a recipe that writes makes up for nothing.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["resume end-of-day", "resume end-of-day --catch-up"],
  body: async () => (await import("./bodies/pause.ts")).resume,
});
