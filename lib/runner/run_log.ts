/**
 * The log of a run in the ledger: what its steps said, and how far they were. Bounded for each run.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import type { RunEvent } from "./run_events.ts";

/** How much a line matters, least first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** How much a line matters. */
export type LogLevel = typeof logLevels[number];

/** Whether a line of a level is kept or shown where the least level is another. */
export const matters = (level: LogLevel, least: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(least);

/** A line of a run's log. */
export interface LogLine {
  /** Epoch milliseconds. */
  at: number;
  level: LogLevel;
  step: string | null;
  text: string;
}

/** Most lines of a run. */
export const MOST_LINES = 1_000;
/** Warnings and errors that are kept beyond that. */
const MOST_SEVERE_LINES = 1_200;
/** A longer line is cut. */
const MOST_CHARACTERS = 2_000;
/** Of its progress a step keeps a line this often, and the last one. */
const PROGRESS_EVERY_MS = 10_000;

/** Writes the log of one run. */
export class RunLog {
  readonly #ledger: Ledger;
  readonly #runKey: string;
  readonly #least: LogLevel;
  #count: number;
  readonly #progressAt = new Map<string, number>();

  /** @param least Lines below this level are not kept. */
  constructor(ledger: Ledger, runKey: string, least: LogLevel = "debug") {
    this.#ledger = ledger;
    this.#runKey = runKey;
    this.#least = least;
    const row = ledger.get<{ n: number }>("select count(*) as n from log where run_key = ?", runKey);
    this.#count = row?.n ?? 0;
  }

  /** Keeps what belongs into the log of what a run tells; it has passed the redactor. */
  note(event: RunEvent): void {
    if (event.type === "log") {
      const data = event.data === undefined ? "" : ` ${JSON.stringify(event.data)}`;
      this.add({ at: event.at, level: event.level, step: event.step, text: `${event.message}${data}` });
    } else if (event.type === "step-progress") {
      const { at, step, done, total, text } = event;
      const isLast = done !== undefined && done === total;
      if (!isLast && at - (this.#progressAt.get(step) ?? -Infinity) < PROGRESS_EVERY_MS) return;
      this.#progressAt.set(step, at);
      const place = done === undefined || total === undefined ? "" : ` (${done} of ${total})`;
      this.add({ at, level: "info", step, text: `${text}${place}` });
    } else if (event.type === "step-retry") {
      const { at, step, waitMs, error } = event;
      this.add({ at, level: "warn", step, text: `again in ${waitMs / 1000} s: ${error}` });
    }
  }

  /** Keeps a line while there is room. */
  add({ at, level, step, text }: LogLine): void {
    if (!matters(level, this.#least)) return;
    const most = level === "warn" || level === "error" ? MOST_SEVERE_LINES : MOST_LINES;
    if (this.#count > most) return;
    const isFull = this.#count === MOST_LINES;
    const line = isFull && most === MOST_LINES
      ? { at, level: "warn" as const, step: null, text: `only the first ${MOST_LINES} lines are kept` }
      : { at, level, step, text };
    this.#count++;
    this.#ledger.run(
      "insert into log (run_key, at, level, step, text) values (?, ?, ?, ?, ?)",
      this.#runKey,
      line.at,
      line.level,
      line.step,
      line.text.length > MOST_CHARACTERS ? `${line.text.slice(0, MOST_CHARACTERS)}…` : line.text,
    );
  }
}

/** Returns the log of a run, oldest line first. */
export function logOf(ledger: Ledger, runKey: string): LogLine[] {
  return ledger.all<LogLine>("select at, level, step, text from log where run_key = ? order by seq", runKey);
}
