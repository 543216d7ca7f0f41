/**
 * Computes how long securities were trading in a span of time, by the session times of their exchanges.
 *
 * @module
 */
import { type Calendars, calendarZone, type Mic } from "../../calendars/mod.ts";
import type { SecurityType } from "../../dictionaries/security_type.ts";

/** Exchanges, by the prefix of their security types. */
const exchanges: readonly (readonly [prefix: string, mic: Mic])[] = [
  ["hk-", "XHKG"],
  ["us-", "XNYS"],
  ["a-share-", "XSHG"],
  ["star-", "XSHG"],
];

/**
 * Returns how long the securities were in continuous trading between two instants; lunch breaks do not count. If a
 * calendar does not cover a day, the whole span counts as traded.
 *
 * @returns Milliseconds, for the exchange that was open the longest.
 */
export function tradedMs(
  calendars: Calendars,
  types: readonly SecurityType[],
  from: number,
  to: number,
): number {
  const mics = new Set(
    types.flatMap((type) => exchanges.find(([prefix]) => type.startsWith(prefix))?.[1] ?? []),
  );
  return Math.max(0, ...[...mics].map((mic) => openMs(calendars, mic, from, to)));
}

function openMs(calendars: Calendars, mic: Mic, from: number, to: number): number {
  const zone = calendarZone[mic];
  const dateOf = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate();
  let sum = 0;
  for (
    let date = dateOf(from);
    Temporal.PlainDate.compare(date, dateOf(to)) <= 0;
    date = date.add({ days: 1 })
  ) {
    const session = calendars.sessionOn(mic, date.toString());
    if (session === "unknown") return to - from;
    if (session === "closed") continue;
    const at = (time: string) =>
      date.toZonedDateTime({ timeZone: zone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
    sum += overlap([session.openAt, session.closeAt], [from, to]);
    for (const each of session.breaks) sum -= overlap([at(each.from), at(each.to)], [from, to]);
  }
  return sum;
}

const overlap = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]) =>
  Math.max(0, Math.min(b, d) - Math.max(a, c));
