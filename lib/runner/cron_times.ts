/**
 * Times of cron patterns. croner computes them and does nothing else: it never decides whether to run.
 *
 * @module
 */
import { Cron } from "croner";
import type { CronSchedule } from "../steps/compiled.ts";

/** Patterns by zone and text: croner's take some 50 kB each, and many schedules share one. */
const patterns = new Map<string, Cron>();

/**
 * Reads a pattern of five fields, or of six with seconds before them. `no-wildcard` makes lists such as `30 1,14`
 * follow the wall clock through a clock change as single values do; croner's default does not.
 */
export function readPattern(cron: string, timezone: string): Cron {
  // Without a function nothing is started.
  return new Cron(cron, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
}

/** Yields the times of a pattern after an instant, epoch milliseconds, oldest first. */
export function* cronTimes(schedule: CronSchedule, after: number): Generator<number> {
  const key = `${schedule.timezone} ${schedule.cron}`;
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    patterns.set(key, pattern = readPattern(schedule.cron, schedule.timezone));
  }
  for (let last = after;;) {
    const next = pattern.nextRun(new Date(last))?.getTime();
    if (next === undefined) return;
    // Whatever croner makes of a clock change, time goes forward here.
    if (next > last) yield next;
    last = Math.max(next, last + 1000);
  }
}
