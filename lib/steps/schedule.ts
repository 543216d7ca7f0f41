/**
 * When a recipe runs: from what a person writes to what the runner reads.
 *
 * @module
 */
import type { CompiledSchedule } from "./compiled.ts";
import { durationOf, readDuration } from "./durations.ts";
import { readAt, readSpan } from "./moments.ts";
import type { RecipeSource, ScheduleSource } from "./recipe_schema.ts";
import { expected, type Found } from "./schema_issues.ts";

/** Shortest step of `every`: the runner looks once a minute, and answers within seconds of a wake-up. */
const SHORTEST_EVERY_MS = 100;

/** Compiles the schedules of a recipe whose form was checked. */
export async function compileSchedules(
  source: RecipeSource["schedule"],
): Promise<{ schedules: CompiledSchedule[]; found: Found[] }> {
  if (source === undefined) return { schedules: [], found: [] };
  const list = Array.isArray(source) ? source : [source];
  const schedules: CompiledSchedule[] = [];
  const found: Found[] = [];
  const ids = new Set<string>();
  for (const [index, each] of list.entries()) {
    const path = Array.isArray(source) ? ["schedule", index] : ["schedule"];
    if (each.id === undefined && list.length > 1) {
      // A name made of its place would change with the order, and a new name runs from now on only.
      found.push({
        path,
        message: "expected an id: each of several schedules has its own, which its runs are known by",
      });
    }
    const id = each.id ?? "main";
    if (each.id !== undefined && ids.has(id)) {
      found.push(expected([...path, "id"], `another id: "${id}" is taken by an earlier schedule`));
    }
    ids.add(id);
    const compiled = await compileOne(each);
    if ("found" in compiled) {
      found.push(...compiled.found.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
    } else schedules.push({ id, ...compiled.schedule });
  }
  return { schedules, found };
}

type WithoutId = CompiledSchedule extends infer S ? S extends { id: string } ? Omit<S, "id"> : never : never;

async function compileOne(source: ScheduleSource): Promise<{ schedule: WithoutId } | { found: Found[] }> {
  if ("calendar" in source) {
    const { calendar: mic, days = "every-session", at, halfDays = "run" } = source;
    // The schema has read it before.
    return { schedule: { form: "calendar", mic, days, at: readAt(at)!, halfDays } };
  }
  if ("cron" in source) {
    const found = await checkCron(source.cron, source.timezone);
    if (found.length > 0) return { found };
    const { cron, timezone, onlyIn } = source;
    return { schedule: { form: "cron", cron, timezone, ...onlyIn !== undefined && { onlyIn } } };
  }
  const everyMs = durationOf(source.every);
  const jitterMs = readDuration(source.jitter ?? "0s") ?? 0;
  const span = source.while === undefined ? undefined : readSpan(source.while);
  const found: Found[] = [];
  if (span !== undefined && "expected" in span) found.push(expected(["while"], span.expected));
  if (everyMs < SHORTEST_EVERY_MS) found.push(expected(["every"], "at least 100ms"));
  if (jitterMs >= everyMs) found.push(expected(["jitter"], "less than the time between two slots"));
  if (found.length > 0 || (span !== undefined && "expected" in span)) return { found };
  return { schedule: { form: "every", everyMs, jitterMs, ...span !== undefined && { while: span } } };
}

async function checkCron(cron: string, timezone: string): Promise<Found[]> {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timezone);
  } catch {
    return [expected(["timezone"], 'a time zone such as "Asia/Hong_Kong"')];
  }
  if (cron.trim().split(/\s+/).length !== 5) {
    return [expected(["cron"], 'five fields, such as "0 20 * * 1-5"')];
  }
  const { Cron } = await import("croner");
  try {
    // Without a function nothing is started: the pattern is only read.
    const pattern = new Cron(cron, { timezone, paused: true });
    if (pattern.nextRun(new Date(0)) === null) {
      return [expected(["cron"], "a cron pattern that has a next time")];
    }
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [expected(["cron"], `a cron pattern (${reason})`)];
  }
}
