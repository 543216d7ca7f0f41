/** Descriptions of `hsgate calendar set` and `calendar unset`. @module */
import { command, type Flags, type Input, unconnected } from "./command.ts";

const setFlags = {
  because: {
    type: "string",
    value: "TEXT",
    text: "why, in your own words; it is shown wherever the day counts",
  },
  "half-day": {
    type: "boolean",
    text: "the exchange announced a half-day, with these hours; Stock Connect then goes by its own rules",
  },
} as const satisfies Flags;
/** What `calendar set` is given. */
export type CalendarSetInput = Input<typeof setFlags>;

/** Sets a day by hand. */
export const calendarSet = command({
  name: "calendar set",
  summary: "set a day of a calendar by hand: closed, open, or other hours",
  usage: "MIC DATE closed|open|HH:MM-HH:MM...",
  args: [3, 6],
  details: `Hours are those of the exchange; "open" stands for the usual full day. The day holds
for every command here, and a running scheduler takes it up within seconds, for slots
that are still to come. It is kept in hsgate.calendars.json, or the file that the
setting "calendars" or HSGATE_CALENDARS names. A day of Hong Kong or the mainland
counts for Stock Connect too; Shanghai and Shenzhen are set one by one. Hours that are
shorter than usual count as cut short without notice, by weather for example: Stock
Connect is closed in the same hours. Only --half-day makes an announced half-day of
them, on which northbound orders go on through the afternoon.`,
  flags: setFlags,
  without: unconnected,
  exits: [],
  examples: [
    'calendar set XNYS 2026-12-09 closed --because "day of mourning, announced on 2 December"',
    'calendar set XHKG 2026-12-10 13:00-16:00 --because "late open after the typhoon"',
    'calendar set XHKG 2026-12-11 09:30-12:00 --half-day --because "half-day, announced on 1 December"',
  ],
  body: async () => (await import("./bodies/calendar_set.ts")).set,
});

const unsetFlags = {} as const satisfies Flags;
/** What `calendar unset` is given. */
export type CalendarUnsetInput = Input<typeof unsetFlags>;

/** Takes back what was set. */
export const calendarUnset = command({
  name: "calendar unset",
  summary: "take back a day that was set by hand",
  usage: "MIC DATE",
  args: [2, 2],
  flags: unsetFlags,
  without: unconnected,
  exits: [],
  examples: ["calendar unset XNYS 2026-12-09"],
  body: async () => (await import("./bodies/calendar_set.ts")).unset,
});
