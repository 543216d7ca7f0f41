/** Description of `hsgate calendar update`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";

const flags = {
  "allow-past": { type: "boolean", text: "let days before today change" },
  "max-changes": { type: "string", value: "N", text: "most days that may change (40)" },
  back: { type: "boolean", text: "go back to the calendar before; FILE is the MIC then" },
  "dry-run": { type: "boolean", text: "print what would change, and change nothing" },
} as const satisfies Flags;
/** What it is given. */
export type CalendarUpdateInput = Input<typeof flags>;

/** Installs a newer calendar. */
export const calendarUpdate = command({
  name: "calendar update",
  summary: "install a newer calendar of an exchange from a file",
  usage: "FILE",
  args: [1, 1],
  details: `FILE is JSON of the form of lib/calendars/data/XHKG.json: one market with its version,
coverage, hours, closed days, half-days and sources. It is installed when its form and
its days make sense, its version is newer, it covers no less, and it changes neither
the past nor more days than --max-changes. It is kept in the same file as days that
were set by hand, with the one before it. A calendar that comes with a newer toolkit
takes its place again.`,
  flags,
  without: unconnected,
  exits: [],
  examples: [
    "calendar update XSHG.json --dry-run",
    "calendar update XSHG.json",
    "calendar update XSHG --back",
  ],
  body: async () => (await import("./bodies/calendar_update.ts")).run,
});
