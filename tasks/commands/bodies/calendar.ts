/**
 * What `hsgate calendar` does.
 *
 * @module
 */
import { calendarZone, type Mic, type Session, sessionsBetween } from "../../../lib/calendars/mod.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { CalendarInput } from "../calendar.ts";
import { UsageError } from "../exit_codes.ts";
import { table } from "../print.ts";
import { dayOf } from "./lists.ts";

/** Lists sessions with their hours. */
export function run({ args: [given = ""], flags, host }: CalendarInput): Promise<number> {
  const mic = micOf(given);
  const zone = calendarZone[mic];
  const today = Temporal.Instant.fromEpochMilliseconds(host.now()).toZonedDateTimeISO(zone).toPlainDate()
    .toString();
  const from = flags.from === undefined ? today : dayOf("from", flags.from);
  const to = flags.to === undefined ? from : dayOf("to", flags.to);
  if (from > to) {
    throw new UsageError(`Cannot list ${mic} from ${from} to ${to}: the first day is after the last`);
  }
  const sessions = sessionsBetween(mic, from, to);
  if (flags.json) host.out(JSON.stringify(sessions.map((session) => dataOf(session, zone))));
  else if (sessions.length === 0) host.out(`${mic} does not trade from ${from} to ${to}`);
  else {
    const columns = [
      { title: "date", of: ({ date }: Session) => date },
      { title: "open", of: ({ open }: Session) => open },
      { title: "close", of: ({ close }: Session) => close },
      {
        title: "breaks",
        of: ({ breaks }: Session) => breaks.map(({ from, to }) => `${from}-${to}`).join(" "),
      },
      { title: "half-day", of: ({ halfDay }: Session) => halfDay ? "yes" : "" },
      { title: "open (UTC)", of: ({ openAt }: Session) => showInstant(openAt) },
      { title: "close (UTC)", of: ({ closeAt }: Session) => showInstant(closeAt) },
    ];
    for (const line of table(host, columns, sessions).lines) host.out(line);
  }
  return Promise.resolve(0);
}

/** A session as `--json` has it: hours of the exchange, and UTC. */
function dataOf({ date, open, close, breaks, halfDay, openAt, closeAt }: Session, zone: string) {
  const utc = (time: string) =>
    showInstant(Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(zone).epochMilliseconds);
  return {
    date,
    open,
    close,
    breaks: breaks.map(({ from, to }) => ({ from, to, fromUtc: utc(from), toUtc: utc(to) })),
    halfDay,
    openUtc: showInstant(openAt),
    closeUtc: showInstant(closeAt),
    zone,
  };
}

function micOf(given: string): Mic {
  // The table has every one of them as a key.
  const names = Object.keys(calendarZone) as Mic[];
  const found = names.find((name) => name === given.toUpperCase());
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot use calendar "${given}": there are ${names.join(", ")}${didYouMean(given.toUpperCase(), names)}`,
  );
}
