/**
 * Formats the progress of an export as text: one line that is redrawn in place, or plain lines.
 *
 * @module
 */
import type { DayBookEvent, DayResult } from "./types.ts";

/** How the progress is shown. */
export interface ProgressOptions {
  /** A clock that never jumps, in milliseconds, such as `performance.now`. */
  monotonic: () => number;
  /** Redraw one line in place, for a terminal; otherwise write plain lines. */
  inPlace: boolean;
  /**
   * Columns of the terminal. Longer lines are cut, because a wrapped line cannot be redrawn in place.
   *
   * @default 80
   */
  width?: number;
}

/** Shortest time between two redraws of the line, and between two plain lines of one day. */
const REDRAW_MS = 100;
const PLAIN_MS = 10_000;
/** Shortest time for which a rate is shown. */
const LEAST_MS = 1_000;
const CLEAR_LINE = "\r\x1b[2K";

/**
 * Converts the events of an export into text for the terminal. Pass each event to
 * {@linkcode ProgressText.update} and print the result.
 */
export class ProgressText {
  readonly #options: ProgressOptions;
  #startedAt = 0;
  #writtenAt = -Infinity;
  #rows = 0;
  #dayRows = 0;
  #place = { day: "", index: 0, days: 0 };
  /**
   * Number of days that were read, and the time for reading them. Does not count kept days: they take no time and would
   * make the estimate too low.
   */
  #read = { days: 0, ms: 0 };
  #dayStartedAt = 0;
  #isDrawn = false;

  /** Creates the display of one export. */
  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Returns the text to print now; empty if there is nothing new to show. */
  update(event: DayBookEvent): string {
    const now = this.#options.monotonic();
    switch (event.type) {
      case "started":
        this.#startedAt = now;
        return "";
      case "day-started":
        this.#place = event;
        this.#dayRows = 0;
        this.#dayStartedAt = now;
        return "";
      case "rows":
        this.#rows += event.added;
        this.#dayRows += event.added;
        return this.#line(`${event.market} ${event.list.replaceAll("_", " ")}`, now);
      case "clock-differs":
      case "clock-unknown":
        return `${this.#clear()}warning: ${event.message}\n`;
      case "stage":
        return "";
      case "day-done":
        return this.#dayDone(event.result, now);
      case "done":
        return this.#clear() +
          `${summaryLine(event.result.days)}, ${this.#total(event.result.rows, now)}\n`;
    }
  }

  /** Returns the text that clears the redrawn line, for example before an error is shown. */
  end(): string {
    return this.#isDrawn ? this.#clear() : "";
  }

  #line(what: string, now: number): string {
    const { inPlace, width = 80 } = this.#options;
    if (now - this.#writtenAt < (inPlace ? REDRAW_MS : PLAIN_MS)) return "";
    if (!inPlace && now - this.#dayStartedAt < PLAIN_MS) return "";
    this.#writtenAt = now;
    const { day, index, days } = this.#place;
    const parts = [`${day} (${index + 1}/${days})`, what, `${count(this.#dayRows)} rows`];
    const line = [...parts, rate(this.#rows, now - this.#startedAt), this.#left(now)].filter(Boolean).join(
      ", ",
    );
    this.#isDrawn = inPlace;
    return inPlace ? `${CLEAR_LINE}${line.slice(0, Math.max(1, width - 1))}` : `${line}\n`;
  }

  /**
   * Returns the reading rate if this export has read all rows; otherwise the total number of rows, and how many of them
   * it has read.
   */
  #total(rows: number, now: number): string {
    const read = rate(this.#rows, now - this.#startedAt);
    return this.#rows >= rows ? read : `${count(rows)} rows in all, ${count(this.#rows)} of them read now`;
  }

  /** Returns the time left, estimated from the days that were read so far; empty before the first one. */
  #left(now: number): string {
    const { index, days } = this.#place;
    if (this.#read.days === 0) return "";
    const perDay = this.#read.ms / this.#read.days;
    const spent = Math.min(perDay, now - this.#dayStartedAt);
    return `${duration(perDay * (days - index) - spent)} left`;
  }

  #dayDone(result: DayResult | undefined, now: number): string {
    if (result?.action !== "kept") {
      this.#read.days++;
      this.#read.ms += now - this.#dayStartedAt;
    }
    if (result === undefined) return "";
    this.#writtenAt = -Infinity;
    return `${this.#clear()}${dayLine(result)}\n`;
  }

  #clear(): string {
    this.#isDrawn = false;
    return this.#options.inPlace ? CLEAR_LINE : "";
  }
}

function dayLine({ day, status, action, rows, differences, incomplete }: DayResult): string {
  const counts = Object.entries(rows).filter(([list, each]) =>
    each > 0 || !/^(futures|rebalance)/.test(list)
  );
  const words = counts.map(([list, each]) => `${count(each)} ${list.replaceAll("_", " ")}`);
  const problems = [
    differences === 0 ? "" : `${count(differences)} differences`,
    incomplete.length === 0 ? "" : "may be incomplete",
  ].filter(Boolean);
  return [`${day} ${status}, ${action.replace("-", " ")}: ${words.join(", ")}`, ...problems].join(", ");
}

function summaryLine(days: readonly DayResult[]): string {
  const provisional = days.filter(({ status }) => status === "provisional").length;
  const differences = days.reduce((sum, day) => sum + day.differences, 0);
  const words = [
    `${days.length} ${days.length === 1 ? "day" : "days"}`,
    provisional === 0 ? "all final" : `${provisional} provisional`,
    differences === 0 ? "no differences" : `${count(differences)} differences`,
  ];
  return days.length === 0 ? "no days" : words.join(", ");
}

function rate(rows: number, ms: number): string {
  if (ms < LEAST_MS) return `${count(rows)} rows in all`;
  return `${count(Math.round((rows * 1000) / ms))} rows/s`;
}

/** Formats a whole number with thousands separators, independent of the locale. */
function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}
