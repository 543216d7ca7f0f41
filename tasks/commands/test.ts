/** Description of `hsgate test`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";

const flags = {
  from: { type: "string", value: "DAY", text: "first day, such as 2025-01-01" },
  to: { type: "string", value: "DAY", text: "last day, such as 2025-12-31" },
  outages: { type: "string", value: "FILE", text: "YAML file with simulated outages" },
  script: {
    type: "string",
    value: "FILE",
    text: "price moves, dividends, halts and outages of the broker, as for sim",
  },
  golden: { type: "string", value: "FILE", text: "compare the report with this file; exit 7 if it differs" },
  "update-golden": { type: "boolean", text: "write the report to the golden file instead" },
  seed: { type: "string", value: "N", text: "seed for prices, fills and jitter (1)" },
  out: { type: "string", value: "DIR", text: "keep the files that the recipes write in this folder" },
  store: { type: "string", value: "FILE", text: "keep the store in this file, for runs and why" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type TestInput = Input<typeof flags>;

/** Rehearses recipes on a virtual clock. */
export const test = command({
  name: "test",
  summary: "rehearse recipes over days, months or a year, against the simulator",
  usage: "[DIR | FILE | NAME …] --from DAY --to DAY",
  args: [0, 1000],
  details: `The command runs the schedules of every recipe in the folder (recipes), or of the files,
from the first to the last day (both whole days, in UTC). Its virtual clock jumps from
one event to the next. Scheduler, calendars and steps are the real ones. The broker is
always the built-in simulator, whatever a recipe connects to. The simulated account trades
a little on each Hong Kong trading day, and receives the orders of the recipes. Nothing
leaves the machine: notices are listed as "would have sent", and secrets are placeholders.
The exception is a custom step: it really runs, with the permissions that it names, and
really sends its data.

The report lists the slots of each recipe (ran, failed, skipped and why), the half-days
and clock changes of the schedules, every problem, and the notices that would have been
sent. The report is the same each time, on every machine and in every
time zone. --golden compares the report with an earlier report.

--outages names a YAML file with a list of outages. In the recipe folder, the name of this
file must begin with "_":

  - { at: 2025-03-05T09:00+08:00, for: 3h, what: scheduler-down }
  - { at: 2025-03-14T10:05+08:00, for: 4h, what: clock-jump, by: -2h }
  - { at: 2025-03-19T10:00+08:00, what: pause, recipe: margin-watch }

--script names a file as for "sim --script". It changes the simulated broker; --outages
changes the machine and the scheduler as well.

"what" of an outage is scheduler-down, kill, machine-asleep, gateway-down, gateway-slow, busy,
login-expired, displaced, clock-jump, pause or resume. For an unplanned exchange closure
use "calendar set", as for the scheduler. A failed run is part of the report and does
not change the exit code.`,
  flags,
  without: unconnected,
  exits: [[7, "the report differs from the golden file"]],
  examples: [
    "test --from 2025-01-01 --to 2025-12-31",
    "test recipes --from 2025-01-01 --to 2025-12-31 --golden year.txt --update-golden",
    "test recipes/end_of_day.yaml --from 2025-12-22 --to 2025-12-31 --store test.db --json",
  ],
});
