/** Description of `hsgate check`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";
import { now } from "./flags.ts";

const flags = {
  ledger: { type: "string", value: "FILE", text: "tell of schedules that it knows and the recipes do not" },
  run: { type: "boolean", text: "load TypeScript that is not trusted, in a process that may reach nothing" },
  now,
} as const satisfies Flags;
/** What it is given. */
export type CheckInput = Input<typeof flags>;

/** Checks recipes. */
export const check = command({
  name: "check",
  summary: "check recipes: mistakes, what they ask for, the next slots, clock changes",
  usage: "[DIR | FILE …]",
  args: [0, 1000],
  details: `Every recipe of the folder (recipes) or every file is compiled, and all mistakes are
listed by file, line and column. For each recipe that is fine the next ten slots
follow, the days between at which there is nothing to do, and those slots of the
next 24 months that meet a change of the clocks. A schedule of which no slot can ever
be run, as the recipe's window is closed by then or its deadline is over before, is a
mistake; days on which it is so, such as half-days, are warned of. Nothing is sent.
Exit code 2 says that a recipe is wrong.

Each recipe is shown with everything that it asks for: programs, TypeScript, writes at
the broker, hosts, environment variables, files, folders, other recipes and the trade
login. None of its code runs before it is trusted ("hsgate trust"), so custom steps
are checked only after that, or with --run.`,
  flags,
  without: unconnected,
  calendars: "beside",
  exits: [],
  examples: ["check", "check recipes/end_of_day.yaml --json"],
  body: async () => (await import("./bodies/check.ts")).run,
});
