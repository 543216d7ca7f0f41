/** Descriptions of `hsgate calendar`, `calendar set`, `calendar unset` and `calendar update`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const listFlags = {
  from: { type: "string", value: "DATE", text: "first day (today at the exchange)" },
  to: { type: "string", value: "DATE", text: "last day (the day of --from)" },
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of `hsgate calendar`. */
export type CalendarInput = Input<typeof listFlags>;

/** Lists trading days. */
export const calendar = command({
  name: "calendar",
  summary: "list the trading days of an exchange with their hours",
  usage: "[MIC]",
  args: [0, 1],
  details: `Without MIC the command lists every calendar with the days that it covers. MIC is one
of
  XHKG        Hong Kong
  XNYS        New York
  XSHG, XSHE  Shanghai, Shenzhen
  CONNECT_SH  Stock Connect northbound, from Hong Kong to Shanghai
  CONNECT_SZ  the same to Shenzhen
  CONNECT_HK  Stock Connect southbound, from the mainland to Hong Kong
Hours are in the exchange's time and in UTC, and do not include auctions. A day that is not
listed is not a trading day. The list marks days that you set with "calendar set", and
days that are projected because the exchange has not announced them yet.`,
  flags: listFlags,
  without: unconnected,
  exits: [[2, "the calendar does not cover a day, or wrong usage or settings"]],
  examples: [
    "calendar",
    "calendar XHKG --from 2025-12-22 --to 2026-01-02",
    "calendar XNYS --from 2025-11-28 --json",
  ],
});

const setFlags = {
  because: {
    type: "string",
    value: "TEXT",
    text: "the reason; commands that use the day show it",
  },
  "half-day": {
    type: "boolean",
    text: "the exchange announced these hours as a half-day; Stock Connect then follows its own rules",
  },
} as const satisfies Flags;
/** Arguments and flags of `hsgate calendar set`. */
export type CalendarSetInput = Input<typeof setFlags>;

/** Overrides a day of a calendar. */
export const calendarSet = command({
  name: "calendar set",
  summary: "override a day of a calendar: closed, open, or other hours",
  usage: "MIC DATE closed|open|HH:MM-HH:MM...",
  args: [3, 6],
  details: `Hours are in the exchange's time; "open" means the usual full day. hsgate keeps the
override in the file hsgate.calendars.json of the working folder, or in the file that the
setting "calendars" or HSGATE_CALENDARS names. It applies to every command that uses this
file. A running scheduler with this file uses it within seconds, for slots that are still to come.

An override for Hong Kong or the mainland applies to Stock Connect too. Set Shanghai
and Shenzhen one by one. hsgate treats shorter hours as an unannounced early close or
late open, for example because of weather: Stock Connect is then open during those hours
at most, in both directions. With --half-day the hours are those of an announced
half-day, and northbound orders continue through the afternoon.`,
  flags: setFlags,
  without: unconnected,
  exits: [],
  examples: [
    'calendar set XNYS 2026-12-09 closed --because "day of mourning, announced on 2 December"',
    'calendar set XHKG 2026-12-10 13:00-16:00 --because "late open after the typhoon"',
    'calendar set XHKG 2026-12-11 09:30-12:00 --half-day --because "half-day, announced on 1 December"',
  ],
});

const unsetFlags = {} as const satisfies Flags;
/** Arguments and flags of `hsgate calendar unset`. */
export type CalendarUnsetInput = Input<typeof unsetFlags>;

/** Removes an override. */
export const calendarUnset = command({
  name: "calendar unset",
  summary: "remove the override of a day",
  usage: "MIC DATE",
  args: [2, 2],
  flags: unsetFlags,
  without: unconnected,
  exits: [],
  examples: ["calendar unset XNYS 2026-12-09"],
});

const updateFlags = {
  "allow-past": { type: "boolean", text: "allow changes to days before today" },
  "max-changes": {
    type: "string",
    value: "N",
    text: "how many days of the current calendar may change (40)",
  },
  back: { type: "boolean", text: "reinstall the previous calendar; give the MIC instead of FILE" },
  "dry-run": { type: "boolean", text: "print the changes and change nothing" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate calendar update`. */
export type CalendarUpdateInput = Input<typeof updateFlags>;

/** Installs a newer calendar. */
export const calendarUpdate = command({
  name: "calendar update",
  summary: "install a newer calendar of an exchange from a file",
  usage: "FILE",
  args: [1, 1],
  details: `FILE is JSON in the form of lib/calendars/data/XHKG.json: one market with its version,
coverage, hours, closed days, half-days and sources. The command rejects the file
unless its days and hours are valid, its version is newer, it covers at least the same
range, it changes no past day (without --allow-past), and it changes at most --max-changes
days of the current calendar.

hsgate keeps the calendar in the same file as your overrides, together with the previous
calendar. If a later version of hsgate contains a newer calendar, hsgate uses that calendar.`,
  flags: updateFlags,
  without: unconnected,
  exits: [],
  examples: [
    "calendar update XSHG.json --dry-run",
    "calendar update XSHG.json",
    "calendar update XSHG --back",
  ],
});
