/**
 * Reads and checks the outage script of a rehearsal.
 *
 * @module
 */
import * as z from "zod";
import {
  durationExpected,
  durationOf,
  durationPattern,
  readDuration,
} from "../recipes/compile/written_times.ts";
import { RecipeError } from "../recipes/mod.ts";
import { readRecipeText } from "../recipes/schema/recipe_text.ts";
import { checkSchema, type Mistake } from "../recipes/schema/schema_issues.ts";
import { readInstant } from "../time.ts";

/** Every kind of outage, with its description. */
export const outageKinds = {
  "scheduler-down": "the scheduler stops gracefully, and starts again after `for`",
  "kill":
    "the scheduler's process dies during the current or the next run; another process starts after `for` (default 1m)",
  "machine-asleep":
    "the machine sleeps for the time `for`: the wall clock advances, the process does not run",
  "gateway-down": "the gateway does not run for the time `for`; after that the login has expired",
  "gateway-slow":
    "for the time `for`, every answer takes `by` (default 30s); a call times out after 10 seconds",
  "busy": "for the time `for`, the broker rejects every call as busy",
  "login-expired": "the login expires; with `for`, every new login fails for that long",
  "displaced": "another device takes the login over, and keeps it for the time `for`",
  "clock-jump": "the wall clock is set forward or back by `by`; with `for`, it is corrected after that time",
  "pause": "a person pauses `recipe`",
  "resume": "a person resumes `recipe`; with `catchUp`, the slots missed during the pause are caught up",
} as const;

/** A kind of outage. */
export type OutageKind = keyof typeof outageKinds;

/** One entry of the script. */
export interface Outage {
  /** Start, with a UTC offset: `2025-03-05T09:00+08:00`. */
  at: string;
  /** Kind of the outage. */
  what: OutageKind;
  /** Duration, such as `3h`. */
  for?: string;
  /** For `clock-jump`, the change, such as `-2h`; for `gateway-slow`, the delay of an answer. */
  by?: string;
  /** For `pause` and `resume`, the name of the recipe. */
  recipe?: string;
  /** For `resume`, whether to catch up the missed slots. */
  catchUp?: boolean;
}

/** A checked outage; times in milliseconds. */
export interface PlannedOutage {
  at: number;
  what: OutageKind;
  forMs?: number;
  byMs?: number;
  recipe?: string;
  catchUp: boolean;
}

const kinds = Object.keys(outageKinds) as [OutageKind, ...OutageKind[]]; // the table is not empty
const instantExpected = 'a time with a UTC offset, such as "2025-03-05T09:00+08:00"';
const span = z.string().regex(durationPattern, durationExpected);

const outage = z.strictObject({
  at: z.string(instantExpected).refine(
    (text) => readInstant(text) !== undefined,
    instantExpected,
  ),
  what: z.enum(kinds),
  for: span.optional(),
  by: z.string().refine(
    (text) => readDuration(text.replace(/^-/, "")) !== undefined,
    `${durationExpected}, with a minus for backwards`,
  ).optional(),
  recipe: z.string().min(1).optional(),
  catchUp: z.boolean().optional(),
});
const script = z.array(outage);

const needsFor: readonly OutageKind[] = [
  "scheduler-down",
  "machine-asleep",
  "gateway-down",
  "gateway-slow",
  "busy",
  "displaced",
];
const takesFor: readonly OutageKind[] = [...needsFor, "kill", "login-expired", "clock-jump"];
/** The part of the system that an outage affects. Two outages of the same part must not overlap. */
const lanes: Partial<Record<OutageKind, string>> = {
  "scheduler-down": "process",
  "kill": "process",
  "machine-asleep": "process",
  "gateway-down": "gateway",
  "gateway-slow": "slow",
  "busy": "busy",
  "login-expired": "login",
  "displaced": "login",
  "clock-jump": "clock",
};

const KILLED_MS = 60_000;
const SLOW_MS = 30_000;

/** Options for checking a script. */
interface OutageOptions {
  /** Names of the recipes for `pause` and `resume`. */
  recipes: readonly string[];
  /** First and last instant of the rehearsal, Unix milliseconds. */
  from: number;
  to: number;
}

/**
 * Parses a script in YAML, a list of outages.
 *
 * @throws {RecipeError} When the script is invalid. Lists all mistakes with line and column.
 */
export function readOutages(text: string, fileName: string, options: OutageOptions): PlannedOutage[] {
  const read = readRecipeText(text);
  const value = read.value ?? []; // undefined if the script contains only comments
  const found = read.issues.length > 0 ? [] : findFaults(value, options);
  const issues = [
    ...read.issues.map((issue) => ({ path: [], ...issue })),
    ...found.map(({ path, message, isName }) => ({
      ...read.placeOf(path, isName),
      path,
      message: path.length === 0 ? message : `${path.join(".")}: ${message}`,
    })),
  ];
  if (issues.length > 0) {
    throw new RecipeError(fileName, issues.toSorted((a, b) => a.line - b.line || a.column - b.column));
  }
  return plan(value as Outage[]); // the schema has accepted it
}

/** Checks a list of outages. @throws {RecipeError} When the list is invalid. Lists all mistakes. */
export function planOutages(outages: readonly Outage[], options: OutageOptions): PlannedOutage[] {
  const found = findFaults(outages, options);
  if (found.length === 0) return plan(outages);
  const issues = found.map(({ path, message }) => ({
    line: 1,
    column: 1,
    path,
    message: `${path.join(".")}: ${message}`,
  }));
  throw new RecipeError("outages", issues);
}

function findFaults(value: unknown, options: OutageOptions): Mistake[] {
  const found = checkSchema(script, value);
  if (found.length > 0) return found;
  const outages = value as Outage[]; // the schema has accepted it
  return [
    ...outages.flatMap((each, index) => faultsOf(each, options).map((fault) => atIndex(fault, index))),
    ...overlaps(outages),
  ];
}

const atIndex = (found: Mistake, index: number): Mistake => ({ ...found, path: [index, ...found.path] });

function faultsOf({ at, what, for: span, by, recipe, catchUp }: Outage, options: OutageOptions): Mistake[] {
  const found: Mistake[] = [];
  const wrong = (member: string, message: string) => found.push({ path: [member], message });
  const instant = Date.parse(at);
  if (instant < options.from || instant > options.to) {
    wrong("at", "it is outside the days of the rehearsal");
  }
  if (span === undefined && needsFor.includes(what)) {
    wrong("what", `"${what}" needs "for", such as for: 3h`);
  }
  if (span !== undefined && !takesFor.includes(what)) wrong("for", `"${what}" has no "for"`);
  if (by === undefined && what === "clock-jump") wrong("what", '"clock-jump" needs "by", such as by: -2h');
  if (by !== undefined && what !== "clock-jump" && what !== "gateway-slow") {
    wrong("by", `"${what}" has no "by"`);
  }
  if (by?.startsWith("-") && what === "gateway-slow") {
    wrong("by", "the delay of an answer cannot be negative");
  }
  const isAboutRecipe = what === "pause" || what === "resume";
  if (isAboutRecipe && recipe === undefined) wrong("what", `"${what}" needs "recipe"`);
  if (!isAboutRecipe && recipe !== undefined) wrong("recipe", `"${what}" has no "recipe"`);
  if (isAboutRecipe && recipe !== undefined && !options.recipes.includes(recipe)) {
    wrong("recipe", `there is no recipe "${recipe}"; there are ${options.recipes.join(", ")}`);
  }
  if (catchUp !== undefined && what !== "resume") wrong("catchUp", `"${what}" has no "catchUp"`);
  return found;
}

function overlaps(outages: readonly Outage[]): Mistake[] {
  const found: Mistake[] = [];
  const last = new Map<string, { what: OutageKind; end: number }>();
  const inOrder = outages.map((each, index) => ({ ...each, index, from: Date.parse(each.at) }))
    .sort((a, b) => a.from - b.from || a.index - b.index);
  for (const { what, for: span, index, from } of inOrder) {
    const lane = lanes[what];
    if (lane === undefined) continue;
    const previous = last.get(lane);
    if (previous !== undefined && from < previous.end) {
      found.push({
        path: [index, "at"],
        message:
          `it begins before the end of the previous outage, "${previous.what}", which affects the same part`,
      });
    }
    last.set(lane, { what, end: from + (forMsOf({ what, for: span }) ?? 0) });
  }
  return found;
}

/** Returns how long an outage lasts, milliseconds; `undefined` if it has no end. */
function forMsOf({ what, for: span }: Pick<Outage, "what" | "for">): number | undefined {
  if (span !== undefined) return durationOf(span);
  return what === "kill" ? KILLED_MS : undefined;
}

function plan(outages: readonly Outage[]): PlannedOutage[] {
  return outages.map(({ at, what, for: span, by, recipe, catchUp = false }) => {
    const byMs = by === undefined
      ? undefined
      : by.startsWith("-")
      ? -durationOf(by.slice(1))
      : durationOf(by);
    return {
      at: Date.parse(at),
      what,
      forMs: forMsOf({ what, for: span }),
      byMs: what === "gateway-slow" ? byMs ?? SLOW_MS : byMs,
      recipe,
      catchUp,
    };
  }).sort((a, b) => a.at - b.at);
}
