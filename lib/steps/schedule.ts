/**
 * When a recipe runs.
 *
 * @module
 */
import type { Issue } from "../errors.ts";

/** When a recipe runs; the zone is never left to the machine. */
export interface Schedule {
  /** Minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** IANA name, such as `Asia/Hong_Kong`. */
  readonly timezone: string;
}

/** Tells what is wrong with a schedule. */
export async function checkSchedule(
  { cron, timezone }: Schedule,
): Promise<Pick<Issue, "path" | "expected">[]> {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timezone);
  } catch {
    return [{ path: ["schedule", "timezone"], expected: 'a time zone such as "Asia/Hong_Kong"' }];
  }
  if (cron.trim().split(/\s+/).length !== 5) {
    return [{ path: ["schedule", "cron"], expected: 'five fields, such as "0 20 * * 1-5"' }];
  }
  const { Cron } = await import("croner");
  try {
    // Without a function nothing is started: the pattern is only read.
    new Cron(cron, { timezone, paused: true });
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ path: ["schedule", "cron"], expected: `a cron pattern (${reason})` }];
  }
}
