/**
 * All recipes at once: what is wrong, when they will run, and which of their times meet a change of the clocks.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { compileText } from "./compile_recipe.ts";
import type { CompiledRecipe } from "./compiled.ts";
import { loadFile } from "./load_recipe.ts";
import { type CompileOptions, RecipeError, type RecipeIssue } from "./recipe.ts";

/** A file that is checked: its path, or its text as well. */
export interface CheckedFile {
  path: string;
  /** Text that is not, or not yet, in the file. */
  text?: string;
}

/** One time at which a recipe would run, or why it would not. */
export interface SlotPreview {
  scheduleId: string;
  /** ISO 8601 in UTC. */
  slot: string;
  /** The session that it belongs to. */
  session?: string;
  /** Why it would be skipped. */
  skipped?: string;
  /** What the clocks do at that time: a gap moves the slot, a fold has it twice. */
  clockChange?: "gap" | "fold";
}

/** What a check of recipes is told. */
export interface CheckOptions {
  /** The time, Unix milliseconds. */
  now: () => number;
  /** Lists the next slots of a recipe. @default none are listed */
  nextSlots?: (recipe: CompiledRecipe, options: { from: number; count: number }) => readonly SlotPreview[];
  /** Lists the slots of a recipe that meet a change of the clocks. @default none are listed */
  clockChangeSlots?: (
    recipe: CompiledRecipe,
    options: { from: number; to: number },
  ) => readonly SlotPreview[];
}

/** What became of one file. */
export interface FileReport {
  path: string;
  /** Absent when the recipe is wrong. */
  recipe?: CompiledRecipe;
  issues: readonly RecipeIssue[];
  next: readonly SlotPreview[];
  clockChanges: readonly SlotPreview[];
}

/** What became of all of them. */
export interface CheckReport {
  /** Nothing is wrong with any. */
  ok: boolean;
  files: FileReport[];
}

const NEXT = 10;
const CLOCK_CHANGE_MONTHS = 24;

/** Checks recipes together: names are known to each other, and no two are the same. */
export async function checkAll(files: readonly CheckedFile[], options: CheckOptions): Promise<CheckReport> {
  const reports: FileReport[] = [];
  for (const file of files) reports.push(await checkFile(file, options));
  const taken = new Map<string, string>();
  for (const [index, report] of reports.entries()) {
    const { path, recipe } = report;
    if (recipe === undefined) continue;
    const other = taken.get(recipe.name);
    if (other === undefined) taken.set(recipe.name, path);
    else {
      const message = `name: expected another name: "${recipe.name}" is taken by "${other}"`;
      reports[index] = { ...report, issues: [{ line: 1, column: 1, path: ["name"], message }] };
    }
  }
  return { ok: reports.every(({ issues }) => issues.length === 0), files: reports };
}

async function checkFile({ path, text }: CheckedFile, options: CheckOptions): Promise<FileReport> {
  const { now, nextSlots, clockChangeSlots } = options;
  const nothing = { path, issues: [], next: [], clockChanges: [] };
  const compileOptions: CompileOptions = { now };
  try {
    const recipe = text === undefined
      ? await loadFile(path, compileOptions)
      : await compileText({ text, fileName: path }, compileOptions);
    const from = now();
    const to = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO("UTC")
      .add({ months: CLOCK_CHANGE_MONTHS }).epochMilliseconds;
    return {
      ...nothing,
      recipe,
      next: nextSlots?.(recipe, { from, count: NEXT }) ?? [],
      clockChanges: clockChangeSlots?.(recipe, { from, to }) ?? [],
    };
  } catch (error) {
    if (error instanceof RecipeError) return { ...nothing, issues: error.issues };
    // A calendar that ends too early is a finding about the recipe, not the end of the check.
    if (!(error instanceof BrokerError)) throw error;
    return { ...nothing, issues: [{ line: 1, column: 1, path: [], message: error.message }] };
  }
}
