/**
 * Reads times as people write them: spans such as `45m`, `1h30m` and `90s`, and session times such as `close+45m`,
 * `open-10m` and `XHKG.open-30m..XHKG.close+2h`.
 *
 * @module
 */
import { calendarZone, type Mic, type SessionTime } from "../../calendars/mod.ts";
import { didYouMean, nearest } from "../../client/nearest.ts";
import type { SessionSpan } from "../compiled.ts";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Description of the format, for messages. */
export const durationExpected = 'a span of time such as "45m", "1h30m" or "90s"';

/** The format: one or more whole numbers with units, largest unit first. */
export const durationPattern = /^(?=\d)(\d{1,6}d)?(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}s)?(\d{1,9}ms)?$/;

/** Returns a duration in milliseconds; `undefined` if the text is not a duration. */
export function readDuration(text: string): number | undefined {
  if (!durationPattern.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[dhms])/g)) ms += Number(count) * unitMs[unit!]!;
  return ms;
}

/** Returns a duration that a schema has already accepted, in milliseconds. */
export function durationOf(text: string): number {
  const ms = readDuration(text);
  if (ms === undefined) throw new RangeError(`Cannot read "${text}": expected ${durationExpected}`);
  return ms;
}

/** Formats a duration in the largest units that fit. */
export function showDuration(ms: number): string {
  if (ms === 0) return "0s";
  let rest = Math.abs(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const count = Math.floor(rest / unitMs[unit]!);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs[unit]!;
  }
  return ms < 0 ? `-${text}` : text;
}

/** Names of the calendars. */
// The table has exactly these keys.
export const mics = Object.keys(calendarZone) as Mic[];

/** Description of the format of session times, for messages. */
const sessionTimeExpected =
  'a moment of the session such as "close+45m" or "open-10m", or a time of day such as "09:25"';

/** Description of a session span's format, for messages. */
export const spanExpected = 'a part of the session such as "XHKG.open-30m..XHKG.close+2h"';

/** Describes the format of a moment or a time of day, with the nearest valid name. */
export function explainAt(text: string): string {
  return `${sessionTimeExpected}${meantBy(text)}`;
}

const anchors = ["open", "close", "auction-close"] as const;

function meantBy(text: string): string {
  const [, word, rest = ""] = /^\s*([a-zA-Z][a-zA-Z_-]*?)\s*(?:([+-]\s*\d.*))?$/.exec(text) ?? [];
  if (word === undefined) return "";
  const name = nearest(word, anchors);
  if (name === undefined) return "";
  const meant = `${name}${rest.replaceAll(/\s/g, "")}`;
  // With the right name, only the duration after it can be wrong.
  return readSessionTime(meant) === undefined || meant === text ? "" : `; did you mean "${meant}"?`;
}

/** Parses `close+45m`; `undefined` if the text is not a moment. */
export function readSessionTime(text: string): SessionTime | undefined {
  const [, anchor, sign, span] = /^(open|close|auction-close)(?:([+-])(\w+))?$/.exec(text.trim()) ?? [];
  if (anchor === undefined) return undefined;
  const ms = span === undefined ? 0 : readDuration(span);
  if (ms === undefined) return undefined;
  // The pattern allows exactly these three.
  return { anchor: anchor as SessionTime["anchor"], offsetMs: sign === "-" && ms > 0 ? -ms : ms };
}

/** Parses `close+45m` or `09:25`; `undefined` if the text is neither. */
export function readAt(text: string): SessionTime | { time: string } | undefined {
  return /^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? { time: text } : readSessionTime(text);
}

/** Parses `XHKG.open-30m..XHKG.close+2h`; if the text is not such a span, returns what was expected. */
export function readSpan(text: string): SessionSpan | { expected: string } {
  const ends = text.split("..").map((end) => /^\s*([A-Z_]+)\.(.+?)\s*$/.exec(end));
  const [from, to] = ends.map((end) => ({ mic: end?.[1], moment: readSessionTime(end?.[2] ?? "") }));
  if (ends.length !== 2 || from?.moment === undefined || to?.moment === undefined) {
    const given = text.split("..").map((end) => /^\s*[A-Z_]+\.(.+?)\s*$/.exec(end)?.[1] ?? "");
    const meant = given.map((end) => readSessionTime(end) === undefined ? meantBy(end) : "").filter(Boolean);
    return { expected: `${spanExpected}${meant.join("")}` };
  }
  if (from.mic !== to.mic) return { expected: "one and the same calendar at both ends" };
  const mic = mics.find((each) => each === from.mic);
  if (mic === undefined) {
    return { expected: `a calendar: ${mics.join(", ")}${didYouMean(from.mic ?? "", mics)}` };
  }
  const runsBackwards = rank(from.moment) > rank(to.moment) ||
    (rank(from.moment) === rank(to.moment) && from.moment.offsetMs >= to.moment.offsetMs);
  if (runsBackwards) return { expected: "a span that ends after it starts" };
  return { mic, from: from.moment, to: to.moment };
}

const rank = ({ anchor }: SessionTime) => ["open", "close", "auction-close"].indexOf(anchor);
