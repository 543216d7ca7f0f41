/**
 * Compiles and checks the schedules of a recipe.
 *
 * @module
 */
import { didYouMean } from "../../client/nearest.ts";
import { type Issue, messageOf } from "../../errors.ts";
import type { CompiledSchedule } from "../compiled.ts";
import { durationOf, readAt, readDuration, readSpan, SHORTEST_EVERY_MS } from "./written_times.ts";
import type { RecipeSource, ScheduleSource } from "../schema/recipe_source.ts";
import { expected, type Mistake } from "../schema/schema_issues.ts";
import { lazily } from "../../lazy.ts";

const loadCroner = lazily(() => import("croner"));

/**
 * Compiles the schedules of a recipe. Omits a schedule with a mistake, but reports all its mistakes.
 *
 * @param isFine Returns whether the schema found no mistake at a path.
 */
export async function compileSchedules(
  source: RecipeSource["schedule"],
  isFine: (...at: Issue["path"]) => boolean,
): Promise<{ schedules: CompiledSchedule[]; found: Mistake[] }> {
  if (source === undefined) return { schedules: [], found: [] };
  const list = Array.isArray(source) ? source : [source];
  const schedules: CompiledSchedule[] = [];
  const found: Mistake[] = [];
  const ids = new Set<string>();
  for (const [index, each] of list.entries()) {
    const path = Array.isArray(source) ? ["schedule", index] : ["schedule"];
    if (typeof each !== "object" || each === null) continue;
    if (each.id === undefined && list.length > 1) {
      // An id made from the position would change if somebody reordered the list. A schedule with a new id has no
      // missed slots: it starts from now.
      found.push(
        expected(path, "an id: with several schedules each needs its own, because run keys contain it"),
      );
    }
    const id = each.id ?? "main";
    if (each.id !== undefined && ids.has(id)) {
      found.push(expected([...path, "id"], `another id: "${id}" is taken by an earlier schedule`));
    }
    ids.add(id);
    const wrong = await checkMembers(each, (member) => isFine(...path, member));
    found.push(...wrong.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
    if (wrong.length === 0 && isFine(...path)) schedules.push({ id, ...compileOne(each) });
  }
  return { schedules, found };
}

type WithoutId = CompiledSchedule extends infer S ? S extends { id: string } ? Omit<S, "id"> : never : never;

/** Compiles a valid schedule. */
function compileOne(source: ScheduleSource): WithoutId {
  if ("calendar" in source) {
    const { calendar: mic, days = "every-session", at, halfDays = "run" } = source;
    return { form: "calendar", mic, days, at: readAt(at)!, halfDays }; // the schema has checked it
  }
  if ("cron" in source) {
    const { cron, timezone, onlyIn } = source;
    return { form: "cron", cron, timezone, ...onlyIn !== undefined && { onlyIn } };
  }
  const span = source.while === undefined ? undefined : readSpan(source.while);
  return {
    form: "every",
    everyMs: durationOf(source.every),
    jitterMs: durationOf(source.jitter ?? "0s"),
    ...span !== undefined && !("expected" in span) && { while: span },
  };
}

/** Checks each member that the schema accepts, even if other members have mistakes. */
async function checkMembers(source: ScheduleSource, isFine: (member: string) => boolean): Promise<Mistake[]> {
  const found: Mistake[] = [];
  const textOf = (member: string): string | undefined => {
    // The source is a map, but it may have mistakes: a member may be missing or have another type.
    const value = (source as unknown as Record<string, unknown>)[member];
    return typeof value === "string" && isFine(member) ? value : undefined;
  };
  const timezone = textOf("timezone");
  const zone = timezone === undefined ? undefined : zoneNamed(timezone);
  const isZone = timezone !== undefined && zone === timezone;
  if (timezone !== undefined && !isZone) {
    const near = zone === undefined ? didYouMean(timezone, Intl.supportedValuesOf("timeZone")) : "";
    found.push(
      expected(
        ["timezone"],
        zone !== undefined ? `the standard spelling "${zone}"` : isOffset(timezone)
          // Programs interpret offsets in different ways, or not at all.
          ? `the IANA name of a place such as "Asia/Hong_Kong": an offset is not a time zone`
          : `a time zone${near || ' such as "Asia/Hong_Kong"'}`,
      ),
    );
  }
  if (isZone && /^Etc\/GMT[+-]/.test(timezone)) {
    // In these names the sign is reversed: Etc/GMT+8 is Pacific time.
    const [sign, hours] = [timezone[7] === "+" ? "-" : "+", timezone.slice(8)];
    found.push(
      expected(
        ["timezone"],
        `the IANA name of a place such as "Asia/Hong_Kong": "${timezone}" means UTC${sign}${hours}`,
      ),
    );
  }
  const cron = textOf("cron");
  if (cron !== undefined) found.push(...await checkCron(cron, isZone ? timezone : "UTC"));
  const span = readSpan(textOf("while") ?? USUAL_SPAN);
  if ("expected" in span) found.push(expected(["while"], span.expected));
  const everyMs = readDuration(textOf("every") ?? "");
  const jitterMs = readDuration(textOf("jitter") ?? "");
  if (everyMs !== undefined) {
    if (everyMs < SHORTEST_EVERY_MS) found.push(expected(["every"], "at least 100ms"));
    if (jitterMs !== undefined && jitterMs >= everyMs) {
      found.push(expected(["jitter"], "less than the time between two slots"));
    }
  }
  return found;
}

const USUAL_SPAN = "XHKG.open..XHKG.close";

const isOffset = (name: string) => /^(UTC|GMT)?[+-]\d/i.test(name);

/** Returns an IANA time zone in its standard spelling; `undefined` if there is no such zone. */
function zoneNamed(name: string): string | undefined {
  if (isOffset(name)) return undefined;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId;
  } catch {
    return undefined;
  }
}

const DAY_MS = 86_400_000;
/** Longer than any lunch break. A gap of at least this length is a pause of the schedule, such as a night. */
const BREAK_MS = 6 * 3_600_000;
/** Maximum number of gaps that are checked; for a frequent schedule, they cover only some hours of the week. */
const MOST_CHECKED = 1_000;

/**
 * Returns the length of a gap between two consecutive slots that is longer than a limit; `undefined` if there is no
 * such gap. A pause of the schedule, such as a night, does not count if the slots before it are frequent enough. A
 * schedule with only one slot is treated like one slot a day.
 */
export async function gapOver(schedule: CompiledSchedule, limitMs: number): Promise<number | undefined> {
  if (schedule.form === "every") return schedule.everyMs > limitMs ? schedule.everyMs : undefined;
  if (schedule.form === "calendar") return limitMs < DAY_MS ? DAY_MS : undefined;
  const { Cron } = await loadCroner();
  // No time zone has a clock change in this week, so the gaps are those of UTC, which is computed fastest.
  const job = new Cron(schedule.cron, { utcOffset: 0, paused: true });
  const from = Date.UTC(2025, 0, 6);
  let last = job.nextRun(new Date(from));
  let gapBefore = Infinity;
  let gaps = 0;
  for (; last !== null && gaps < MOST_CHECKED; gaps++) {
    const next = job.nextRun(last);
    if (next === null || (gaps > 0 && next.getTime() >= from + 7 * DAY_MS)) break;
    const gap = next.getTime() - last.getTime();
    if (gap > limitMs && (gap < BREAK_MS || gapBefore > limitMs)) return gap;
    [last, gapBefore] = [next, gap];
  }
  return gaps === 0 && limitMs < DAY_MS ? DAY_MS : undefined;
}

async function checkCron(cron: string, timezone: string): Promise<Mistake[]> {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return [expected(["cron"], 'five fields, such as "0 20 * * 1-5"')];
  const { Cron } = await loadCroner();
  const faultOf = (pattern: string): string | undefined => {
    try {
      // If no function is given, croner starts no timer and only parses the pattern.
      new Cron(pattern, { timezone, paused: true });
      return undefined;
    } catch (error) {
      return messageOf(error).replace(/^CronPattern: /, "");
    }
  };
  const whole = faultOf(cron);
  if (whole === undefined) {
    const hasTime = new Cron(cron, { timezone, paused: true }).nextRun(new Date(0)) !== null;
    return hasTime ? [] : [expected(["cron"], "a cron pattern that has a next time")];
  }
  // The parser stops at the first wrong field, but all wrong fields should be reported.
  const each = fields.flatMap((field, index) =>
    faultOf(fields.map((_, at) => at === index ? field : "*").join(" ")) ?? []
  );
  return [expected(["cron"], `a cron pattern (${each.length === 0 ? whole : each.join("; ")})`)];
}
