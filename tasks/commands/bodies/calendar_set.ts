/**
 * What `hsgate calendar set` and `calendar unset` do.
 *
 * @module
 */
import { areHours, isWeekday } from "../../../lib/calendars/check_data.ts";
import { emptyLocalFile } from "../../../lib/calendars/local_file.ts";
import {
  calendarVersion,
  coverage,
  isOverrideNeedless,
  type Mic,
  type Override,
  sessionOn,
} from "../../../lib/calendars/mod.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { CalendarSetInput, CalendarUnsetInput } from "../calendar_set.ts";
import { UsageError } from "../exit_codes.ts";
import { calendarsPath, readCalendars, writeCalendars } from "../local_calendars.ts";
import { plain } from "../print.ts";
import { micOf } from "./calendar_lines.ts";
import { dayOf } from "./lists.ts";

/** Sets a day. */
export async function set({ args, flags, host }: CalendarSetInput): Promise<number> {
  const [name = "", day = "", ...rest] = args;
  const mic = micOf(name);
  const date = dateOf(mic, day);
  const hours = hoursOf(rest.join(" "));
  const because = flags.because?.trim() ?? "";
  if (because === "") {
    throw new UsageError(
      `Cannot set ${mic} ${date}: say why, with --because "…"; it is shown wherever the day counts`,
    );
  }
  const path = await calendarsPath(flags, host);
  const file = await readCalendars(path) ?? emptyLocalFile();
  const override: Override = { mic, date, hours, because, setAt: showInstant(host.now()) };
  const before = file.overrides.find((each) => each.mic === mic && each.date === date);
  file.overrides = [...file.overrides.filter((each) => each !== before), override];
  await writeCalendars(path, file);
  const needless = isOverrideNeedless(override);
  if (flags.json) {
    host.out(JSON.stringify({ ...override, file: path, needless, version: calendarVersion(mic) }));
    return 0;
  }
  host.out(plain(`${mic} ${date} is ${saidOf(mic, date)} now, in "${path}"`));
  if (before !== undefined) {
    host.note(`hsgate: before it was set to ${before.hours}: ${plain(before.because)}`);
  }
  if (needless) host.note("hsgate: the calendar says so by itself, so this is not needed");
  for (const hint of hintsOf(mic, date)) host.note(`hsgate: ${hint}`);
  return 0;
}

/** Takes back what was set. */
export async function unset(
  { args: [name = "", day = ""], flags, host }: CalendarUnsetInput,
): Promise<number> {
  const mic = micOf(name);
  const date = dayOf("date", day);
  const path = await calendarsPath(flags, host);
  const file = await readCalendars(path);
  const found = file?.overrides.find((each) => each.mic === mic && each.date === date);
  if (file === undefined || found === undefined) {
    const others = (file?.overrides ?? []).map((each) => `${each.mic} ${each.date}`).join(", ");
    throw new UsageError(
      `Cannot take back ${mic} ${date}: "${path}" does not set it` +
        (others === "" ? "" : `; it sets ${others}`),
    );
  }
  file.overrides = file.overrides.filter((each) => each !== found);
  await writeCalendars(path, file);
  if (flags.json) host.out(JSON.stringify({ mic, date, file: path, version: calendarVersion(mic) }));
  else {host.out(
      plain(
        `${mic} ${date} is ${saidOf(mic, date)} again; it had been set to ${found.hours}: ${found.because}`,
      ),
    );}
  return 0;
}

function dateOf(mic: Mic, given: string): string {
  const date = dayOf("date", given);
  const { from, through } = coverage(mic);
  if (!isWeekday(date)) {
    throw new UsageError(`Cannot set ${mic} ${date}: it is at a weekend, on which no exchange here trades`);
  }
  if (date < from || date > through) {
    throw new UsageError(
      `Cannot set ${mic} ${date}: the calendar covers ${from} to ${through}; "calendar update FILE" installs a longer one`,
    );
  }
  return date;
}

function hoursOf(given: string): string {
  if (given === "closed" || given === "open" || areHours(given)) return given;
  throw new UsageError(
    `Cannot use hours "${given}": write closed, open, or hours such as 09:30-12:00 13:00-16:00, each after the one before`,
  );
}

/** Says what a day is, with its hours. */
function saidOf(mic: Mic, date: string): string {
  const session = sessionOn(mic, date);
  if (typeof session === "string") return session;
  const breaks = session.breaks.map(({ from, to }) => `${from}-${to}`).join(" ");
  return `open ${session.open}-${session.close}${breaks === "" ? "" : ` (break ${breaks})`}` +
    `${session.halfDay ? ", a half-day" : ""}`;
}

/** What else may have to be set. */
function hintsOf(mic: Mic, date: string): string[] {
  const twins: Partial<Record<Mic, Mic>> = { XSHG: "XSHE", XSHE: "XSHG" };
  const twin = twins[mic];
  return twin === undefined
    ? []
    : [`${twin} is ${saidOf(twin, date)} on that day: set it too where it is meant`];
}
