/** Description of `hsgate run`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { now, out } from "../terminal/flags.ts";

const flags = {
  param: {
    type: "list",
    value: "NAME=VALUE",
    text: "a parameter of the recipe; may be given several times",
  },
  out,
  now: { ...now, text: `${now.text}; not for recipes that write` },
  store: {
    type: "string",
    value: "FILE",
    text: "run the latest slot once and record it in this store",
  },
  manual: { type: "boolean", text: "with a store: start a manual run, independent of the schedules" },
  "force-deadline": {
    type: "boolean",
    text: "with a store: ignore the deadline; for a read-only recipe also the window",
  },
  wait: {
    type: "string",
    value: "SECONDS",
    text: "with a store: how long to wait until another run ends (60)",
  },
  "if-new": {
    type: "boolean",
    text: "with a store: exit 0 if the slot was already started; an unknown write outcome still exits 5",
  },
  "dry-run": { type: "boolean", text: "show the steps and the writes of a run; write nothing" },
  events: { type: "boolean", text: "with --json: print events as JSON lines on stderr" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type RunInput = Input<typeof flags>;

/** Runs a recipe. */
export const run = command({
  name: "run",
  summary: "run a recipe, which is a file of steps",
  usage: "RECIPE",
  args: [1, 1],
  details: `hsgate checks the whole recipe before its first step runs. RECIPE is a file, or the name
of a recipe or of its file under recipes/.

A slot is one time of a recipe's schedule.
With a store (--store, HSGATE_STORE or the setting "store") the run gets the key of
the latest slot of its schedules. So the slot runs once, whether you, the scheduler or a
crontab line starts it. --manual, or a recipe without a schedule, makes a manual run with a separate key. A recipe that writes needs a store.

--if-new is for crontabs and timers, which start a recipe more often than it has slots:
if the slot was already started, the command exits 0.

hsgate makes a manual run with the present time, instead of running the latest slot, if all of this
is true: nobody has started the slot, its day is over, and the recipe reads data that
the broker reports only for the present. With --if-new or --force-deadline, hsgate never makes this manual run.

--force-deadline ignores the recipe's "deadline". The recipe's "misfire" setting decides
whether a late slot still runs. --manual ignores "misfire". No flag overrides the window of a
recipe that writes. Such a recipe also rejects --now, except with --dry-run or "connect:
simulator".

For a recipe that writes, --dry-run runs the steps that read and shows the writes that the
other steps would make. It changes nothing at the broker, writes no file and no row of the
store.

A recipe with "connect: simulator" starts its own simulated broker in this process.
Nothing reaches a real broker, and hsgate rejects flags that name a real broker.`,
  flags,
  exits: [
    [0, "the run succeeded or its slot is skipped; with --if-new also: it was already started"],
    [1, "the run failed, or the command did"],
    3,
    [4, "gateway or platform not reachable, busy or too slow; or another run blocks this one"],
    5,
    6,
    [7, "every step ran, and the checks of a step found differences"],
  ],
  examples: [
    "run recipes/end_of_day.yaml",
    "run end_of_day --store hsgate.db",
    "run weekly_report --store hsgate.db --manual --param days=14",
    "run cancel_at_close --dry-run",
  ],
});
