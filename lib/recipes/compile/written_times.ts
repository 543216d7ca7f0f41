/**
 * Reads times as people write them: durations such as `45m` and `1h30m`, session times such as `close+45m` and
 * `open-10m`, and parts of a session such as `XHKG.open-30m..XHKG.close+2h`.
 *
 * @module
 */
import { calendarZone, type Mic, type SessionTime } from "../../calendars/mod.ts";
import { didYouMean, nearest } from "../../client/nearest.ts";
import { readDuration } from "../../time.ts";
import type { SessionSpan } from "../compiled.ts";

export { durationExpected, durationOf, durationPattern, readDuration, showDuration } from "../../time.ts";

/**
 * Shortest interval of `every`; it limits the number of slots. Useful intervals are far longer, because the runner may
 * take seconds to react.
 */
export const SHORTEST_EVERY_MS = 100;

/** Names of the calendars. */
// The cast is safe: the table has exactly these keys.
export const mics = Object.keys(calendarZone) as Mic[];

/** Sessions that can have a slot. */
export const sessionDays = [
  "every-session",
  "first-session-of-week",
  "last-session-of-week",
  "first-session-of-month",
  "last-session-of-month",
  "first-session-of-quarter",
  "last-session-of-quarter",
] as const;

/** Whether half-days have a slot: yes, no, or only half-days. */
export const halfDayRules = ["run", "skip", "only"] as const;

/** Description of the format of session times, for messages. */
const sessionTimeExpected =
  'a session time such as "close+45m" or "open-10m", or a time of day such as "09:25"';

/** Description of a session span's format, for messages. */
export const spanExpected = 'a part of the session such as "XHKG.open-30m..XHKG.close+2h"';

/** Describes the format of a session time or a time of day, with the nearest valid name. */
export function explainAt(text: string): string {
  return `${sessionTimeExpected}${hintFor(text)}`;
}

/** Moments of a session to which session times refer, such as `close` in `close+45m`; the earliest first. */
export const anchors = ["open", "close", "auction-close"] as const;

function hintFor(text: string): string {
  const [, word, rest = ""] = /^\s*([a-zA-Z][a-zA-Z_-]*?)\s*(?:([+-]\s*\d.*))?$/.exec(text) ?? [];
  if (word === undefined) return "";
  const name = nearest(word, anchors);
  if (name === undefined) return "";
  const meant = `${name}${rest.replaceAll(/\s/g, "")}`;
  // If the name is already right, only the duration after it can be wrong.
  return readSessionTime(meant) === undefined || meant === text ? "" : `; did you mean "${meant}"?`;
}

/** Parses `close+45m`; `undefined` if the text is not a session time. */
export function readSessionTime(text: string): SessionTime | undefined {
  const [, anchor, sign, span] = /^(open|close|auction-close)(?:([+-])(\w+))?$/.exec(text.trim()) ?? [];
  if (anchor === undefined) return undefined;
  const ms = span === undefined ? 0 : readDuration(span);
  if (ms === undefined) return undefined;
  // The cast is safe: the pattern allows only these three names.
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
    const meant = given.map((end) => readSessionTime(end) === undefined ? hintFor(end) : "").filter(Boolean);
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

const rank = ({ anchor }: SessionTime) => anchors.indexOf(anchor);
