/** Description of `hsgate next`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { columns, now } from "./flags.ts";

const flags = {
  count: { type: "string", value: "N", text: "slots of each schedule, 1 to 100 (3)" },
  "by-time": { type: "boolean", text: "one list of all recipes, soonest first" },
  ledger: { type: "string", value: "FILE", text: "show which recipes are paused there" },
  now,
  columns,
} as const satisfies Flags;
/** What it is given. */
export type NextInput = Input<typeof flags>;

/** Lists slots to come. */
export const next = command({
  name: "next",
  summary: "list the next slots of all recipes, with skipped days and why",
  usage: "[DIR]",
  args: [0, 1],
  details: `The next slots of each schedule of every recipe in the folder (recipes), recipe by recipe,
in the time of their exchange or zone. --by-time mixes the recipes, as --json does.
Days at which there is nothing to do are listed with the reason. Nothing is
sent. Exit code 2 says that a recipe is wrong; those that are fine are listed all the
same. --columns also takes session and utc.`,
  flags,
  without: unconnected,
  exits: [],
  examples: ["next", "next --by-time --count 10", "next recipes --count 3 --json"],
  body: async () => (await import("./bodies/next.ts")).run,
});
