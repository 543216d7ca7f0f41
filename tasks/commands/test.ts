/** Description of `hsgate test`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";

const flags = {
  from: { type: "string", value: "DAY", text: "first day, such as 2025-01-01" },
  to: { type: "string", value: "DAY", text: "last day, such as 2025-12-31" },
  outages: { type: "string", value: "FILE", text: "script of what goes wrong, YAML" },
  golden: { type: "string", value: "FILE", text: "compare the report with this one; 7 when it differs" },
  "update-golden": { type: "boolean", text: "write the report to the golden file instead" },
  seed: { type: "string", value: "N", text: "what prices, fills and jitter follow from (1)" },
  out: { type: "string", value: "DIR", text: "leave the recipes' files in this folder" },
  ledger: { type: "string", value: "FILE", text: "leave the ledger here, for runs and why" },
} as const satisfies Flags;
/** What it is given. */
export type TestInput = Input<typeof flags>;

/** Rehearses recipes on a virtual clock. */
export const test = command({
  name: "test",
  summary: "rehearse recipes over a year in seconds, against the simulator",
  usage: "[DIR | FILE …] --from DAY --to DAY",
  args: [0, 1000],
  details: `The schedules of every recipe in the folder (recipes), or of the files, run from the
first to the last day (both whole, in UTC) on a clock that leaps from one instant at
which something happens to the next. Scheduler, calendars and steps are the real ones.
The broker is always the built-in simulator, whatever a recipe connects to, with an
account that trades a little on each day of Hong Kong: orders of recipes go there.
Nothing leaves the machine: notices are listed as "would have sent", and secrets are
placeholders. Only a step of one's own is run as it is, with the permissions it names.

The report tells the slots of each recipe (ran, failed, skipped and why), the
half-days and clock changes that the schedules met, everything that is not a plain
success, and what would have been sent. It is the same each time, on every machine
and in every time zone, so that it can be kept: --golden compares.

--outages names a list of what goes wrong (beside recipes its name begins with _):

  - { at: 2025-03-05T09:00+08:00, for: 3h, what: scheduler-down }
  - { at: 2025-03-14T10:05+08:00, for: 4h, what: clock-jump, by: -2h }
  - { at: 2025-03-19T10:00+08:00, what: pause, recipe: margin-watch }

with what being scheduler-down, kill, machine-asleep, gateway-down, gateway-slow,
busy, login-expired, displaced, clock-jump, pause or resume. A day that an exchange
was closed unplanned is set with "calendar set", as it is for the scheduler. A run
that fails is part of the report and does not change the exit code.`,
  flags,
  without: unconnected,
  exits: [7],
  examples: [
    "test --from 2025-01-01 --to 2025-12-31",
    "test recipes --from 2025-01-01 --to 2025-12-31 --outages recipes/_outages.yaml --golden year.txt",
    "test recipes/end_of_day.yaml --from 2025-12-22 --to 2025-12-31 --ledger test.db --json",
  ],
  body: async () => (await import("./bodies/test.ts")).run,
});
