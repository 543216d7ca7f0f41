/**
 * Parses cron patterns into sets of values. Other files write these sets in the notation of another system.
 *
 * @module
 */

/** Values that a cron pattern of five fields allows. An absent field is written `*` or `?`. */
interface CronFields {
  minutes: number[];
  hours: number[];
  daysOfMonth?: number[];
  months?: number[];
  /** ISO weekdays, Monday 1 to Sunday 7. */
  days?: number[];
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** Returns the whole numbers from `from` to `to`, both included. */
export function range(from: number, to: number, step = 1): number[] {
  const numbers: number[] = [];
  for (let each = from; each <= to; each += step) numbers.push(each);
  return numbers;
}

/**
 * Returns the values of a valid pattern. A field that only the package croner can parse, such as `L` or `5#2`, allows
 * every value here: the recipe checks its own slots, so an extra start does no harm.
 */
export function readCronFields(cron: string): CronFields {
  const [minute = "*", hour = "*", dayOfMonth = "*", month = "*", day = "*"] = cron.trim().split(/\s+/);
  const days = readField(day, { from: 0, to: 7, names: dayNames });
  return {
    minutes: readField(minute, { from: 0, to: 59 }) ?? range(0, 59),
    hours: readField(hour, { from: 0, to: 23 }) ?? range(0, 23),
    daysOfMonth: readField(dayOfMonth, { from: 1, to: 31 }),
    months: readField(month, { from: 1, to: 12, names: monthNames, firstName: 1 }),
    days: days && sorted(days.map((each) => each === 0 ? 7 : each)),
  };
}

interface FieldBounds {
  from: number;
  to: number;
  names?: readonly string[];
  /** Value of the first of `names`: 1 for January, 0 for Sunday. */
  firstName?: number;
}

function readField(text: string, bounds: FieldBounds): number[] | undefined {
  if (text === "*" || text === "?") return undefined;
  const { from, to, names = [], firstName = 0 } = bounds;
  const valueOf = (part: string) => {
    const named = names.indexOf(part.toLowerCase());
    return named >= 0 ? named + firstName : /^\d+$/.test(part) ? Number(part) : NaN;
  };
  const values: number[] = [];
  for (const part of text.split(",")) {
    const [span = "", step, more] = part.split("/");
    const [first = "", last, rest] = span.split("-");
    const begin = span === "*" ? from : valueOf(first);
    // "5/15" continues to the last value; "5" is a single value.
    const end = span === "*" || (last === undefined && step !== undefined)
      ? to
      : valueOf(last === undefined ? first : last);
    const by = step === undefined ? 1 : valueOf(step);
    const isRead = [begin, end, by].every(Number.isInteger) && by > 0 && begin >= from && end <= to &&
      begin <= end && more === undefined && rest === undefined;
    if (!isRead) return range(from, to);
    values.push(...range(begin, end, by));
  }
  return sorted(values);
}

/** Returns each number once, in order. */
export function sorted(numbers: Iterable<number>): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
