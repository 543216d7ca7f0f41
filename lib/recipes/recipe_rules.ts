/**
 * Derives defaults from a recipe's most consequential step, and rejects combinations that are too dangerous.
 *
 * @module
 */
import { coverage, type Mic } from "../calendars/mod.ts";
import type {
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
  MisfirePolicy,
  RecipeClass,
  SessionSpan,
} from "./compiled.ts";
import { durationOf, readDuration, showDuration } from "./durations.ts";
import type { RecipeSource } from "./recipe_schema.ts";
import { gapOver } from "./schedule.ts";
import { expected, type Found } from "./schema_issues.ts";

const MINUTE = 60_000;
const COVERED_DAYS = 60;
const WINDOW_MARGIN_MS = 10 * MINUTE;
/** The shortest scheduled session, a half-day in Hong Kong, lasts 150 minutes. */
const LATEST_AFTER_OPEN_MS = 140 * MINUTE;

/** Defaults of a class of recipes. */
const defaults: Readonly<
  Record<RecipeClass, { graceMs: number; action: MisfirePolicy["action"]; max: number; timeoutMs: number }>
> = {
  "read": { graceMs: 15 * MINUTE, action: "all", max: 10, timeoutMs: 60 * MINUTE },
  "keep-alive": { graceMs: 20 * MINUTE, action: "skip", max: 1, timeoutMs: 2 * MINUTE },
  "write": { graceMs: 5 * MINUTE, action: "skip", max: 1, timeoutMs: 10 * MINUTE },
};

/** Returns the class of the most consequential step. */
export function classOf(steps: readonly (CompiledStep & { keepAlive?: boolean })[]): RecipeClass {
  if (steps.some(({ effect }) => effect === "write")) return "write";
  const counting = steps.filter(({ effect }) => effect !== "local");
  return counting.length > 0 && counting.every(({ keepAlive }) => keepAlive) ? "keep-alive" : "read";
}

/** Fills in the defaults. */
export function withDefaults(
  source: RecipeSource,
  recipeClass: RecipeClass,
  schedules: readonly CompiledSchedule[],
): Pick<CompiledRecipe, "misfire" | "overlap" | "timeoutMs" | "deadlineMs"> {
  const usual = defaults[recipeClass];
  const given = typeof source.misfire === "string" ? { action: source.misfire } : source.misfire ?? {};
  const periods = schedules.flatMap((each) => each.form === "every" ? [each.everyMs] : []);
  // A keep-alive that is a whole period late has been replaced by the next one.
  const graceMs = recipeClass === "keep-alive" && periods.length > 0 ? Math.min(...periods) : usual.graceMs;
  return {
    misfire: {
      graceMs: given.grace === undefined ? graceMs : durationOf(given.grace),
      // Otherwise every missed interval would be caught up one by one.
      action: given.action ?? (periods.length > 0 && usual.action === "all" ? "latest" : usual.action),
      max: given.max ?? usual.max,
    },
    overlap: source.overlap ?? (recipeClass === "read" ? "queue" : "skip"),
    timeoutMs: source.timeout === undefined ? usual.timeoutMs : durationOf(source.timeout),
    ...source.deadline !== undefined && { deadlineMs: durationOf(source.deadline) },
  };
}

/** Returns combinations that could send an order late, twice, or on an unknown day. */
export function findUnsafe(recipe: {
  source: RecipeSource;
  recipeClass: RecipeClass;
  schedules: readonly CompiledSchedule[];
  window: SessionSpan | undefined;
  steps: readonly CompiledStep[];
  now: number | undefined;
}): Found[] {
  const { source, recipeClass, schedules, window, now } = recipe;
  const found: Found[] = [];
  for (const [index, step] of source.steps.entries()) {
    const effect = recipe.steps.find(({ id }) => id === step?.id)?.effect;
    if (effect !== "write") continue;
    if (step.retry !== undefined) {
      found.push(
        expected(["steps", index, "retry"], "no retry: this step writes, and a write is never repeated"),
      );
    }
    if (step.fresh) {
      found.push(
        expected(
          ["steps", index, "fresh"],
          "not fresh: this step writes, and a resumed run never repeats it",
        ),
      );
    }
  }
  found.push(...checkDeadline(source.deadline, schedules));
  if (recipeClass !== "write") return found;
  const { action = undefined } = typeof source.misfire === "string"
    ? { action: source.misfire }
    : source.misfire ?? {};
  if (action === "all") {
    const path = typeof source.misfire === "string" ? ["misfire"] : ["misfire", "action"];
    found.push(
      expected(path, "skip, latest or ask: this recipe writes, and orders of the past are not caught up"),
    );
  }
  if (source.overlap === "cancel" || source.overlap === "parallel") {
    found.push(
      expected(
        ["overlap"],
        "skip or queue: this recipe writes, and no write is cut off or run beside another",
      ),
    );
  }
  if (source.window === undefined) {
    found.push(expected(["window"], 'a window, such as "XHKG.open+5m..XHKG.close-10m": this recipe writes'));
  } else if (window !== undefined) found.push(...checkWindow(window));
  const calendars = new Set(schedules.flatMap((each) => micOf(each) ?? []));
  if (window !== undefined) calendars.add(window.mic);
  if (now !== undefined) { for (const mic of calendars) found.push(...checkCoverage(mic, now)); }
  return found;
}

/** Checks the jitter: a run that is delayed past its own deadline is skipped, on unpredictable days. */
function checkDeadline(deadline: RecipeSource["deadline"], schedules: readonly CompiledSchedule[]): Found[] {
  const deadlineMs = typeof deadline === "string" ? readDuration(deadline) : undefined;
  if (deadlineMs === undefined) return [];
  return schedules.flatMap((schedule) =>
    schedule.form !== "every" || schedule.jitterMs <= deadlineMs ? [] : [
      expected(
        ["deadline"],
        `at least the jitter of schedule "${schedule.id}", ${showDuration(schedule.jitterMs)}`,
      ),
    ]
  );
}

/** Returns schedules that are too slow for a step: its login would expire between two runs. */
export async function findSlow(
  { source, schedules, steps }: {
    source: RecipeSource;
    schedules: readonly CompiledSchedule[];
    steps: readonly (CompiledStep & { mostEveryMs?: number })[];
  },
): Promise<Found[]> {
  const found: Found[] = [];
  for (const { id, uses, mostEveryMs } of steps) {
    if (mostEveryMs === undefined) continue;
    for (const schedule of schedules) {
      const gapMs = await gapOver(schedule, mostEveryMs);
      if (gapMs === undefined) continue;
      const index = Array.isArray(source.schedule)
        ? source.schedule.findIndex((each) => each.id === schedule.id)
        : -1;
      const most = `at most ${showDuration(mostEveryMs)}`;
      const text = schedule.form === "every"
        ? most
        : `${most} between two slots of the same hours, and here ${
          showDuration(gapMs)
        } pass; "every" says it best`;
      found.push(
        expected(
          ["schedule", ...index < 0 ? [] : [index], schedule.form],
          `${text}: step "${id}" (${uses}) runs at a third of the login's life or sooner`,
        ),
      );
    }
  }
  return found;
}

function checkWindow({ from, to }: SessionSpan): Found[] {
  const startsInside = from.anchor === "open" ? from.offsetMs >= 0 : from.anchor === "close";
  const endsInside = to.anchor === "close"
    ? to.offsetMs <= -WINDOW_MARGIN_MS
    : to.anchor === "open" && to.offsetMs <= LATEST_AFTER_OPEN_MS;
  if (startsInside && endsInside) return [];
  return [expected(["window"], "a window within the session that ends at least 10m before its close")];
}

function checkCoverage(mic: Mic, now: number): Found[] {
  const { through } = coverage(mic);
  const needed = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO("UTC").toPlainDate()
    .add({ days: COVERED_DAYS });
  if (through >= needed.toString()) return [];
  const wanted = `a calendar that covers the next ${COVERED_DAYS} days, as this recipe writes`;
  return [expected(["schedule"], `${wanted}: ${mic} ends ${through}`)];
}

/** Returns the exchange that a schedule follows. */
export function micOf(schedule: CompiledSchedule): Mic | undefined {
  if (schedule.form === "calendar") return schedule.mic;
  return schedule.form === "cron" ? schedule.onlyIn : schedule.while?.mic;
}
