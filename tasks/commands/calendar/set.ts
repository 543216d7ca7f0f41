/**
 * Runs `hsgate calendar set` and `calendar unset`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { areHours, isWeekday } from "../../../lib/calendars/check_data.ts";
import { isDate } from "../../../lib/time.ts";
import { emptyLocalFile } from "../../../lib/calendars/local_file.ts";
import { type Calendars, linksOf, type Mic, type Override, showInstant } from "../../../lib/calendars/mod.ts";
import type { CalendarSetInput, CalendarUnsetInput } from "../calendar.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { calendarsPlace, readCalendars, writeCalendars } from "../shared/local_calendars.ts";
import { plain } from "../../terminal/print.ts";
import { micOf } from "./lines.ts";

/** Overrides a day. */
export async function set({ args, flags, host }: CalendarSetInput): Promise<number> {
  const [name = "", day = "", ...rest] = args;
  const mic = micOf(name);
  const date = dateOf(calendarsOf(host), mic, day);
  const hours = hoursOf(rest.join(" "));
  const halfDay = flags["half-day"] === true;
  if (halfDay) checkHalfDay(calendarsOf(host), mic, date, hours);
  const because = flags.because?.trim() ?? "";
  if (because === "") {
    throw new UsageError(
      `Cannot set ${mic} ${date}: give the reason with --because "…"; commands that use the day show it`,
    );
  }
  const place = await calendarsPlace(flags, host);
  const { path } = place;
  const file = await readCalendars(place, host) ?? emptyLocalFile();
  const override: Override = {
    mic,
    date,
    hours,
    ...halfDay && { halfDay },
    because,
    setAt: showInstant(host.now()),
  };
  const before = file.overrides.find((each) => each.mic === mic && each.date === date);
  file.overrides = [...file.overrides.filter((each) => each !== before), override];
  await writeCalendars(place, file, host);
  const needless = calendarsOf(host).isOverrideNeedless(override);
  if (flags.json) {
    const links = Object.fromEntries(
      linksOf(mic).map((link) => [link, describeDay(calendarsOf(host), link, date)]),
    );
    host.out(
      JSON.stringify({ ...override, file: path, needless, version: calendarsOf(host).version(mic), links }),
    );
    return 0;
  }
  host.out(plain(`${mic} ${date} is now ${describeDay(calendarsOf(host), mic, date)}, in "${path}"`));
  if (before !== undefined) {
    host.note(`hsgate: the previous override was ${before.hours}: ${plain(before.because)}`);
  }
  if (needless) host.note("hsgate: the calendar already says the same, so this override is not needed");
  for (const hint of [...linkHints(calendarsOf(host), override), ...hintsOf(calendarsOf(host), mic, date)]) {
    host.note(`hsgate: ${hint}`);
  }
  return 0;
}

/** Removes an override. */
export async function unset(
  { args: [name = "", day = ""], flags, host }: CalendarUnsetInput,
): Promise<number> {
  const mic = micOf(name);
  const date = givenDay(mic, day);
  const place = await calendarsPlace(flags, host);
  const { path } = place;
  const file = await readCalendars(place, host);
  const found = file?.overrides.find((each) => each.mic === mic && each.date === date);
  if (file === undefined || found === undefined) {
    const others = (file?.overrides ?? []).map((each) => `${each.mic} ${each.date}`).join(", ");
    throw new UsageError(
      `Cannot remove the override of ${mic} ${date}: "${path}" has none` +
        (others === "" ? "" : `; it overrides ${others}`),
    );
  }
  file.overrides = file.overrides.filter((each) => each !== found);
  await writeCalendars(place, file, host);
  if (flags.json) {
    host.out(JSON.stringify({ mic, date, file: path, version: calendarsOf(host).version(mic) }));
  } else {host.out(
      plain(
        `${mic} ${date} is ${
          describeDay(calendarsOf(host), mic, date)
        } again; it was overridden as ${found.hours}: ${found.because}`,
      ),
    );}
  return 0;
}

function dateOf(calendars: Calendars, mic: Mic, given: string): string {
  const date = givenDay(mic, given);
  const { from, through } = calendars.coverage(mic);
  if (!isWeekday(date)) {
    throw new UsageError(
      `Cannot set ${mic} ${date}: it is a weekend, and none of these exchanges trades on weekends`,
    );
  }
  if (date < from || date > through) {
    throw new UsageError(
      `Cannot set ${mic} ${date}: the calendar covers ${from} to ${through}; "calendar update FILE" installs a longer one`,
    );
  }
  return date;
}

function givenDay(mic: Mic, given: string): string {
  if (isDate(given)) return given;
  throw new UsageError(
    `Cannot use the day "${given}" of ${mic}: write a day that exists, such as 2026-12-09`,
  );
}

/** Checks that the hours are the half-day hours of this exchange. @throws {UsageError} If not. */
function checkHalfDay(calendars: Calendars, mic: Mic, date: string, hours: string): void {
  const expected = calendars.halfDayHours(mic);
  if (hours === expected) return;
  const why = expected === null ? `${mic} has no half-days` : `the half-day hours of ${mic} are ${expected}`;
  throw new UsageError(`Cannot set ${mic} ${date} to ${hours} as a half-day: ${why}; leave out --half-day`);
}

function hoursOf(given: string): string {
  if (given === "closed" || given === "open" || areHours(given)) return given;
  throw new UsageError(
    `Cannot use hours "${given}": write closed, open, or hours such as 09:30-12:00 13:00-16:00, each after the one before`,
  );
}

/** Describes a day with its hours. */
function describeDay(calendars: Calendars, mic: Mic, date: string): string {
  const session = calendars.sessionOn(mic, date);
  if (typeof session === "string") return session;
  const breaks = session.breaks.map(({ from, to }) => `${from}-${to}`).join(" ");
  return `open ${session.open}-${session.close}${breaks === "" ? "" : ` (break ${breaks})`}` +
    `${session.halfDay ? ", a half-day" : ""}`;
}

/** Describes how the override affects the Stock Connect links of this market. */
function linkHints(calendars: Calendars, { mic, date, hours, halfDay }: Override): string[] {
  const links = linksOf(mic as Mic); // `micOf` has checked the name
  if (links.length === 0 || hours === "open") return [];
  const states = links.map((link) => `${link} is ${describeDay(calendars, link, date)}`).join(", ");
  if (hours === "closed" || halfDay === true) return [`Stock Connect on that day: ${states}`];
  const planned = calendars.halfDayHours(mic as Mic) === hours // `micOf` has checked the name
    ? "; use --half-day if the exchange announced a half-day"
    : "";
  return [
    `the hours count as an unannounced early close or late open, for Stock Connect too: ${states}${planned}`,
  ];
}

/** Returns a hint about another calendar that may need the same override. */
function hintsOf(calendars: Calendars, mic: Mic, date: string): string[] {
  const twins: Partial<Record<Mic, Mic>> = { XSHG: "XSHE", XSHE: "XSHG" };
  const twin = twins[mic];
  return twin === undefined ? [] : [
    `${twin} is ${describeDay(calendars, twin, date)} on that day; if it has the same hours, override it too`,
  ];
}
