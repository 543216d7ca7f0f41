/**
 * Runs `hsgate calendar`.
 *
 * @module
 */
import { calendarZone, type Mic, mics, type Session, showInstant } from "../../../lib/calendars/mod.ts";
import type { CalendarInput } from "../calendar.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { type ListView, listView, printList } from "../../terminal/list_output.ts";
import { plain } from "../../terminal/print.ts";
import { micOf, notesOf, overrideLine } from "./lines.ts";
import { calendarsOf, dayOf } from "../../terminal/arguments.ts";

/** Lists the sessions of a calendar with their hours, or all calendars. */
export function run({ args: [given], flags, host }: CalendarInput): Promise<number> {
  const view = listView(flags);
  if (given === undefined) return Promise.resolve(listCalendars(flags, view, host));
  const mic = micOf(given);
  const zone = calendarZone[mic];
  const today = Temporal.Instant.fromEpochMilliseconds(host.now()).toZonedDateTimeISO(zone).toPlainDate()
    .toString();
  const from = flags.from === undefined ? today : dayOf("from", flags.from);
  const to = flags.to === undefined ? from : dayOf("to", flags.to);
  if (from > to) {
    throw new UsageError(`Cannot list ${mic} from ${from} to ${to}: the first day is after the last`);
  }
  const sessions = calendarsOf(host).sessionsBetween(mic, from, to);
  printSessions(mic, sessions, {
    view,
    host,
    empty: `${mic} does not trade from ${from} to ${to}`,
  });
  if (view.output === "json") return Promise.resolve(0);
  for (const note of notesOf(calendarsOf(host), mic, { from, to, now: host.now() })) {
    host.note(`hsgate: ${plain(note)}`);
  }
  return Promise.resolve(0);
}

function printSessions(
  mic: Mic,
  sessions: Session[],
  { view, host, empty }: { view: ListView; host: Host; empty: string },
): void {
  const noted = (date: string) =>
    [
      ...calendarsOf(host).isProjected(mic, date) ? ["projected"] : [],
      ...calendarsOf(host).overridesOn(mic, date).length > 0 ? ["overridden"] : [],
    ].join(", ");
  const columns = [
    { title: "date", id: true as const, of: ({ date }: Session) => date },
    { title: "open", of: ({ open }: Session) => open },
    { title: "close", of: ({ close }: Session) => close },
    {
      title: "breaks",
      of: ({ breaks }: Session) => breaks.map(({ from, to }) => `${from}-${to}`).join(" "),
    },
    { title: "half-day", of: ({ halfDay }: Session) => halfDay ? "yes" : "" },
    // Put notes before the UTC columns, which a narrow terminal omits first.
    { title: "note", of: ({ date }: Session) => noted(date) },
    { title: "open (UTC)", name: "open-utc", of: ({ openAt }: Session) => showInstant(openAt) },
    { title: "close (UTC)", name: "close-utc", of: ({ closeAt }: Session) => showInstant(closeAt) },
  ];
  const isNoted = view.columns !== undefined || view.output === "csv" ||
    sessions.some(({ date }) => noted(date) !== "");
  const shown = isNoted ? columns : columns.filter(({ title }) => title !== "note");
  printList(host, view, {
    columns: shown,
    rows: sessions,
    data: (session) => dataOf(mic, session, host),
    empty,
  });
}

/** Returns a session for `--json`: hours in the exchange's time and in UTC. */
function dataOf(mic: Mic, { date, open, close, breaks, halfDay, openAt, closeAt }: Session, host: Host) {
  const zone = calendarZone[mic];
  const utc = (time: string) =>
    showInstant(Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(zone).epochMilliseconds);
  const [override] = calendarsOf(host).overridesOn(mic, date);
  return {
    date,
    open,
    close,
    breaks: breaks.map(({ from, to }) => ({ from, to, fromUtc: utc(from), toUtc: utc(to) })),
    halfDay,
    openUtc: showInstant(openAt),
    closeUtc: showInstant(closeAt),
    zone,
    ...calendarsOf(host).isProjected(mic, date) && { projected: true },
    ...override !== undefined && { setByHand: override.because },
  };
}

function listCalendars(flags: CalendarInput["flags"], view: ListView, host: Host): number {
  if (flags.from !== undefined || flags.to !== undefined) {
    throw new UsageError(`Cannot list days: name a calendar, one of ${mics.join(", ")}`);
  }
  const rows = mics.map((mic) => ({
    mic,
    zone: calendarZone[mic],
    ...calendarsOf(host).coverage(mic),
    version: calendarsOf(host).version(mic),
    setByHand: calendarsOf(host).overridesOf(mic).filter((each) => each.mic === mic),
  }));
  type Row = typeof rows[number];
  const columns = [
    { title: "calendar", id: true as const, of: ({ mic }: Row) => mic },
    { title: "zone", of: ({ zone }: Row) => zone },
    { title: "from", of: ({ from }: Row) => from },
    { title: "through", of: ({ through }: Row) => through },
    { title: "projected from", name: "projected", of: ({ projectedFrom }: Row) => projectedFrom ?? "" },
    { title: "version", of: ({ version }: Row) => version },
  ];
  printList(host, view, { columns, rows, empty: "no calendars" });
  if (view.output !== "table") return 0;
  const set = rows.flatMap(({ setByHand }) => setByHand);
  if (set.length > 0) host.out("");
  for (const override of set) host.out(plain(overrideLine(calendarsOf(host), override)));
  return 0;
}
