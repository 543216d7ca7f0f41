/**
 * Checks rules for whole recipes: size limits, defaults by class, and combinations that are too dangerous to run
 * unattended.
 *
 * @module
 */
import type { Calendars, Mic } from "../../calendars/mod.ts";
import type { Issue } from "../../errors.ts";
import type {
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
  MisfirePolicy,
  RecipeClass,
  SessionSpan,
} from "../compiled.ts";
import { durationOf, readDuration, showDuration } from "./written_times.ts";
import type { RecipeSource } from "../schema/recipe_source.ts";
import { gapOver } from "./schedule.ts";
import { micOf } from "../engine/step_context.ts";
import { expected, type Mistake } from "../schema/schema_issues.ts";

const MINUTE = 60_000;
const COVERED_DAYS = 60;
const WINDOW_MARGIN_MS = 10 * MINUTE;
/**
 * Latest end of a window that ends at a time after the open. The shortest scheduled session, a half-day in Hong Kong,
 * lasts 150 minutes; the margin before its close is 10 minutes.
 */
const LATEST_AFTER_OPEN_MS = 140 * MINUTE;

/** Defaults of a class of recipes. */
const defaults: Readonly<
  Record<RecipeClass, { graceMs: number; action: MisfirePolicy["action"]; max: number; timeoutMs: number }>
> = {
  "read": { graceMs: 15 * MINUTE, action: "all", max: 10, timeoutMs: 60 * MINUTE },
  "keep-alive": { graceMs: 20 * MINUTE, action: "skip", max: 1, timeoutMs: 2 * MINUTE },
  "write": { graceMs: 5 * MINUTE, action: "skip", max: 1, timeoutMs: 10 * MINUTE },
};

/**
 * Returns the class of a recipe: `write` if a step writes, `keep-alive` if all steps that use the broker only keep a
 * login alive, and otherwise `read`.
 */
export function classOf(steps: readonly (CompiledStep & { keepAlive?: boolean })[]): RecipeClass {
  if (steps.some(({ effect }) => effect === "write")) return "write";
  const counting = steps.filter(({ effect }) => effect !== "local");
  return counting.length > 0 && counting.every(({ keepAlive }) => keepAlive) ? "keep-alive" : "read";
}

/** Returns the recipe's policies; members that the recipe omits get the defaults of its class. */
export function withDefaults(
  source: RecipeSource,
  recipeClass: RecipeClass,
  schedules: readonly CompiledSchedule[],
): Pick<CompiledRecipe, "misfire" | "overlap" | "timeoutMs" | "deadlineMs"> {
  const usual = defaults[recipeClass];
  const given = typeof source.misfire === "string" ? { action: source.misfire } : source.misfire ?? {};
  const periods = schedules.flatMap((each) => each.form === "every" ? [each.everyMs] : []);
  // When a keep-alive run is a whole period late, the next slot replaces it.
  const graceMs = recipeClass === "keep-alive" && periods.length > 0 ? Math.min(...periods) : usual.graceMs;
  return {
    misfire: {
      graceMs: given.grace === undefined ? graceMs : durationOf(given.grace),
      // With `all`, every missed interval would be caught up one by one.
      action: given.action ?? (periods.length > 0 && usual.action === "all" ? "latest" : usual.action),
      max: given.max ?? usual.max,
    },
    overlap: source.overlap ?? (recipeClass === "read" ? "queue" : "skip"),
    timeoutMs: source.timeout === undefined ? usual.timeoutMs : durationOf(source.timeout),
    ...source.deadline !== undefined && { deadlineMs: durationOf(source.deadline) },
  };
}

/**
 * Returns combinations that could send an order late, twice, or on a day that the calendar does not cover. For every
 * class of recipes, also returns deadlines that are shorter than a jitter.
 */
export function findUnsafe(recipe: {
  source: RecipeSource;
  recipeClass: RecipeClass;
  schedules: readonly CompiledSchedule[];
  window: SessionSpan | undefined;
  steps: readonly CompiledStep[];
  now: number | undefined;
  calendars: Calendars;
}): Mistake[] {
  const { source, recipeClass, schedules, window, now } = recipe;
  const found: Mistake[] = [];
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
      expected(
        path,
        "skip, latest or ask: this recipe writes, and missed orders are never caught up one by one",
      ),
    );
  }
  if (source.overlap === "cancel" || source.overlap === "parallel") {
    found.push(
      expected(
        ["overlap"],
        "skip or queue: this recipe writes, and hsgate never interrupts a write or runs two at once",
      ),
    );
  }
  if (source.window === undefined) {
    found.push(expected(["window"], 'a window, such as "XHKG.open+5m..XHKG.close-10m": this recipe writes'));
  } else if (window !== undefined) found.push(...checkWindow(window));
  const calendars = new Set(schedules.flatMap((each) => micOf(each) ?? []));
  if (window !== undefined) calendars.add(window.mic);
  if (now !== undefined) {
    for (const mic of calendars) found.push(...checkCoverage(recipe.calendars, mic, now));
  }
  return found;
}

/** Checks that no jitter exceeds the deadline. Otherwise runs would be skipped on days that nobody can predict. */
function checkDeadline(
  deadline: RecipeSource["deadline"],
  schedules: readonly CompiledSchedule[],
): Mistake[] {
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

/** Returns a mistake for each schedule that runs too rarely for a step, such as a step that keeps a login alive. */
export async function findSlow(
  { source, schedules, steps }: {
    source: RecipeSource;
    schedules: readonly CompiledSchedule[];
    steps: readonly (CompiledStep & { mostEveryMs?: number })[];
  },
): Promise<Mistake[]> {
  const found: Mistake[] = [];
  /** Caches the gaps by schedule and limit, because several steps may have the same limit. */
  const gaps = new Map<string, number | undefined>();
  for (const { id, uses, mostEveryMs } of steps) {
    if (mostEveryMs === undefined) continue;
    for (const [at, schedule] of schedules.entries()) {
      const key = `${at} ${mostEveryMs}`;
      if (!gaps.has(key)) gaps.set(key, await gapOver(schedule, mostEveryMs));
      const gapMs = gaps.get(key);
      if (gapMs === undefined) continue;
      const index = Array.isArray(source.schedule)
        ? source.schedule.findIndex((each) => each.id === schedule.id)
        : -1;
      const most = `at most ${showDuration(mostEveryMs)}`;
      const text = schedule.form === "every"
        ? most
        : `${most} between two slots, not ${showDuration(gapMs)}; use "every" instead`;
      found.push(
        expected(
          ["schedule", ...index < 0 ? [] : [index], schedule.form],
          `${text}: step "${id}" (${uses}) must run at least three times in the login's lifetime`,
        ),
      );
    }
  }
  return found;
}

function checkWindow({ from, to }: SessionSpan): Mistake[] {
  const startsInside = from.anchor === "open" ? from.offsetMs >= 0 : from.anchor === "close";
  const endsInside = to.anchor === "close"
    ? to.offsetMs <= -WINDOW_MARGIN_MS
    : to.anchor === "open" && to.offsetMs <= LATEST_AFTER_OPEN_MS;
  if (startsInside && endsInside) return [];
  return [expected(["window"], "a window within the session that ends at least 10m before its close")];
}

function checkCoverage(calendars: Calendars, mic: Mic, now: number): Mistake[] {
  const { through } = calendars.coverage(mic);
  const needed = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO("UTC").toPlainDate()
    .add({ days: COVERED_DAYS });
  if (through >= needed.toString()) return [];
  const wanted = `a calendar that covers the next ${COVERED_DAYS} days, because this recipe writes`;
  return [expected(["schedule"], `${wanted}: ${mic} ends ${through}`)];
}

/** The limits; docs/recipes.md lists them. */
const recipeLimits = {
  /** Total number of maps, lists, texts and numbers in a recipe. */
  values: 10_000,
  steps: 500,
  notices: 50,
  schedules: 50,
  /** Characters of a text under `with`, `params`, `if` or `description`. */
  text: 32_768,
  /** Characters of any other text, and of a name. */
  name: 500,
} as const;

/**
 * Returns a mistake for the first exceeded limit or the first forbidden member name; `undefined` if there is neither.
 * The caller has already limited how deep values are nested.
 */
export function findExcess(recipe: unknown): Mistake | undefined {
  const { steps, notices, schedules } = recipeLimits;
  for (const [name, most] of [["steps", steps], ["notify", notices], ["schedule", schedules]] as const) {
    const list = typeof recipe === "object" && recipe !== null && name in recipe
      // This is an own member of the parsed value. Its type is checked below.
      ? (recipe as Record<string, unknown>)[name]
      : undefined;
    if (Array.isArray(list) && list.length > most) {
      return { path: [name], message: `expected at most ${most} in the list, and there are ${list.length}` };
    }
  }
  let count = 0;
  for (const { value, path, key } of valuesIn(recipe, [])) {
    if (++count > recipeLimits.values) {
      return {
        path: path.slice(0, 2),
        message: `expected at most ${recipeLimits.values} values in a recipe`,
      };
    }
    // The schemas do not see a member of this name.
    if (key === "__proto__") {
      return { path, message: 'no member can have the name "__proto__"', isName: true };
    }
    if (key !== undefined && key.length > recipeLimits.name) {
      return {
        path: path.slice(0, -1),
        message: `expected names of at most ${recipeLimits.name} characters`,
      };
    }
    if (typeof value !== "string") continue;
    const most = isLong(path) ? recipeLimits.text : recipeLimits.name;
    if (value.length > most) {
      return { path, message: `expected at most ${most} characters, and there are ${value.length}` };
    }
  }
  return undefined;
}

/** Returns whether a text may be long. */
function isLong([first, , third, fourth]: Issue["path"]): boolean {
  if (first === "params" || first === "description") return true;
  if (first !== "steps" && first !== "notify") return false;
  return third === "with" || third === "if" || third === "fallback" && fourth === "with";
}

interface Walked {
  value: unknown;
  path: Issue["path"];
  /** Name of the member, if the value is a member of a map. */
  key?: string;
}

function* valuesIn(value: unknown, path: Issue["path"], key?: string): Generator<Walked> {
  yield { value, path, ...key !== undefined && { key } };
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    const isItem = Array.isArray(value);
    yield* valuesIn(each, [...path, isItem ? Number(name) : name], isItem ? undefined : name);
  }
}
