/**
 * Reads and formats durations: `45m`, `1h30m`, `90s`.
 *
 * @module
 */

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
