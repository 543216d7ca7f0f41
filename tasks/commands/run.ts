/** Description of `hsgate run`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { now, out } from "./flags.ts";

const flags = {
  param: {
    type: "list",
    value: "NAME=VALUE",
    text: "a parameter of the recipe; may stand there several times",
  },
  out,
  now: { ...now, text: `${now.text}; not for writes` },
  ledger: {
    type: "string",
    value: "FILE",
    text: "run the latest slot that has passed, once, and write it down here",
  },
  manual: { type: "boolean", text: "with a ledger: a run of its own, whatever the schedules say" },
  "force-deadline": {
    type: "boolean",
    text: "with a ledger: run it past its deadline; reads also outside their window",
  },
  wait: {
    type: "string",
    value: "SECONDS",
    text: "with a ledger: how long to wait for another run to end (60)",
  },
  "if-new": {
    type: "boolean",
    text: "with a ledger: end with 0 when the slot was started before, whatever came of it",
  },
  "dry-run": { type: "boolean", text: "show the steps and every write that a run would make; write nothing" },
  events: { type: "boolean", text: "with --json: what happens, as lines of JSON on stderr" },
} as const satisfies Flags;
/** What it is given. */
export type RunInput = Input<typeof flags>;

/** Runs a recipe. */
export const run = command({
  name: "run",
  summary: "run a recipe: a file of steps",
  usage: "RECIPE",
  args: [1, 1],
  details: `The whole recipe is checked before its first step runs. RECIPE is a file, or one under
recipes/ by its own name or its file's. Exit code 7 says that everything ran
and that checks of a step found differences.

With a ledger (--ledger, HSGATE_LEDGER or the setting "ledger") the run has the key of
the latest slot that its schedules name, so that it is run once whoever starts it:
this, the scheduler, a line of a crontab. --manual, and a recipe without a schedule,
make a run of its own. Exit code 0 says that the run ended well or was skipped, 1 that
it failed, 4 that another run stands in the way, 5 that the outcome of a write is
unknown. A recipe that writes takes a ledger. With --if-new a start that comes second
is no failure: for crontabs and timers, which look more often than there are slots.
When nobody has begun that slot, its day is over, and the recipe reads what answers as
of now, this is a run by hand for now; with --if-new or --force-deadline it is not.

--force-deadline lifts the "deadline" of a recipe; whether a late slot is made up for says
its "misfire", and --manual runs the recipe whatever that says. The window of a recipe
that writes is lifted by no flag, nor is it by --now, which is for reads, for --dry-run
and for recipes that say "connect: simulator".

--dry-run of a recipe that writes runs the steps that read, shows what the others would
write, and writes nothing: nothing at the broker, no file, no row of the ledger.

A recipe that says "connect: simulator" gets a simulated broker of its own, in this
process; nothing reaches a real one, and flags that name one are refused.`,
  flags,
  exits: [3, 4, 5, 6, 7],
  examples: [
    "run recipes/end_of_day.yaml",
    "run end_of_day --ledger hsgate.db",
    "run weekly_report --ledger hsgate.db --manual --param days=14",
    "run cancel_at_close --dry-run",
  ],
  body: async () => (await import("./bodies/run.ts")).run,
});
