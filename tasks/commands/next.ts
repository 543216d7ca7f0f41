/** Description of `hsgate next`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { listing, now } from "../terminal/flags.ts";

const flags = {
  count: { type: "string", value: "N", text: "number of slots of each schedule, 1 to 100 (3)" },
  "by-time": { type: "boolean", text: "list the slots of all recipes together, soonest first" },
  store: { type: "string", value: "FILE", text: "show which recipes are paused in this store" },
  now,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type NextInput = Input<typeof flags>;

/** Lists the next slots. */
export const next = command({
  name: "next",
  summary: "list the next slots of all recipes, and why other days have none",
  usage: "[DIR]",
  args: [0, 1],
  details: `The command lists the next slots of each schedule of every recipe in the folder
(recipes), recipe by recipe, in the time zone of the exchange or the schedule. --by-time
and --json list all recipes together. Days without a slot are listed with the reason.
Nothing is sent. If a recipe has a mistake, the command still lists the other recipes.
--columns also accepts session and utc.`,
  flags,
  without: unconnected,
  exits: [[2, "a recipe has a mistake, or wrong usage or settings"]],
  examples: ["next", "next --by-time --count 10", "next recipes --count 3 --json"],
});
