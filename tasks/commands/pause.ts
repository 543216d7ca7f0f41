/** Descriptions of `hsgate pause` and `hsgate resume`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, servedRecipes, store } from "../terminal/flags.ts";

const pauseFlags = {
  store,
  recipes: servedRecipes,
  why: { type: "string", value: "TEXT", text: "the reason; the store records it" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate pause`. */
export type PauseInput = Input<typeof pauseFlags>;

/** Pauses a recipe. */
export const pause = command({
  name: "pause",
  summary: "pause a recipe: skip its slots until you resume it",
  usage: "RECIPE",
  args: [1, 1],
  details: `While a recipe is paused, its slots are recorded as skipped. A run in progress
continues to its end, and you can still start the recipe yourself. The pause also
applies to schedules that no scheduler has seen yet, and to schedules that the recipe
gets later.`,
  flags: pauseFlags,
  without: unconnected,
  exits: [],
  examples: ['pause end-of-day --why "the gateway moves to another machine"'],
});

const resumeFlags = {
  store,
  recipes: servedRecipes,
  "catch-up": { type: "boolean", text: "run slots that were skipped during the pause" },
  by,
} as const satisfies Flags;
/** Arguments and flags of `hsgate resume`. */
export type ResumeInput = Input<typeof resumeFlags>;

/** Resumes a paused recipe from now, or trading after a halt. */
export const resume = command({
  name: "resume",
  summary: 'resume a paused recipe from now; without a recipe, resume trading after "halt"',
  usage: "[RECIPE]",
  args: [0, 1],
  details: `--catch-up also runs slots that were skipped during the pause, as many as the recipe's
misfire policy allows for missed slots. It fails for a recipe that writes.

Without a recipe, the command removes the halt from the store, and the halt file. Paused
recipes stay paused. With a store on PostgreSQL, each working folder has its own halt file,
and the command removes only the file of its folder.`,
  flags: resumeFlags,
  // Keeps --gateway, --transport and --config: they select the account whose halt is removed.
  without: ["push", "plain-http", "auth-url", "timeout"],
  exits: [],
  examples: ["resume end-of-day", "resume end-of-day --catch-up", "resume"],
});
