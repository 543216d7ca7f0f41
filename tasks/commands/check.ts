/** Description of `hsgate check`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { now } from "../terminal/flags.ts";

const flags = {
  store: {
    type: "string",
    value: "FILE",
    text: "warn about schedules in this store that a recipe no longer has, and about slow runs",
  },
  run: { type: "boolean", text: "load untrusted TypeScript too, in a process without any permission" },
  now,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type CheckInput = Input<typeof flags>;

/** Checks recipes. */
export const check = command({
  name: "check",
  summary: "check recipes: mistakes, permissions, next slots, clock changes",
  usage: "[DIR | FILE | NAME …]",
  args: [0, 1000],
  details: `The command compiles every recipe of the folder (recipes), or every file, and lists all
mistakes by file, line and column. For each valid recipe it lists the next ten slots,
the days in between without a slot, and the slots of the next 24 months that fall on a
clock change. Nothing is sent.

A schedule is wrong if none of its slots can ever run: at every slot the window has
closed already, or the deadline passes before the window opens. If the slots of only
some days cannot run, such as half-days, check warns about these days.

For each recipe the command lists everything that the recipe asks for: programs,
TypeScript, writes at the broker, hosts, environment variables, files, folders, other
recipes and the trade login. No code of a recipe runs before you trust it ("hsgate
trust"), so check examines custom steps only after that, or with --run. If hsgate.yaml or
hsgate.calendars.json is not trusted, check lists what it sets and does not use it. If a
calendar file is damaged, check reports an error and uses the built-in calendars.`,
  flags,
  without: unconnected,
  calendars: "itself",
  exits: [[2, "a recipe has a mistake, or wrong usage or settings"]],
  examples: ["check", "check recipes/end_of_day.yaml --json"],
});
