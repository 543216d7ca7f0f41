/**
 * All recipes at once: what is wrong, when they will run, and which of their times meet a change of the clocks.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { compileText } from "./compile_recipe.ts";
import type { CompiledRecipe, CompiledSchedule } from "./compiled.ts";
import { loadFile } from "./load_recipe.ts";
import { type CompileOptions, RecipeError, type RecipeIssue, UnreadCodeError } from "./recipe.ts";

/** A file that is checked: its path, or its text as well. */
export interface CheckedFile {
  path: string;
  /** Text that is not, or not yet, in the file. */
  text?: string;
  /** The file is not read, for this reason. */
  refused?: string;
}

/** An instant that a schedule names, as the runner computes it. */
export interface NamedSlot {
  /** Epoch milliseconds. */
  at: number;
  /** Date of the session that it belongs to. */
  session?: string;
  /** Why there is nothing to do. */
  skipped?: string;
  /** The calendar does not cover the day. */
  assumed?: true;
}

/** A wall-clock time that a change of the clocks leaves out or repeats, as the runner finds it. */
export interface NamedClockChange {
  kind: "gap" | "fold";
  /** Wall-clock time, `2027-03-14T02:30`. */
  wall: string;
  zone: string;
  /** When it runs, epoch milliseconds: once, twice or not at all. */
  runsAt: readonly number[];
}

/** What a check of recipes is told. */
export interface CheckOptions {
  /** The time, Unix milliseconds. */
  now: () => number;
  /** Ends the loading of steps and recipes in TypeScript, which are then reported as not loaded. */
  signal?: AbortSignal;
  /** As for `compileRecipe`. @default always */
  mayRunCode?: CompileOptions["mayRunCode"];
  /** The next slots of a schedule, those between at which there is nothing to do included. @default none are listed */
  nextSlots?: (schedule: CompiledSchedule, after: number, count: number) => readonly NamedSlot[];
  /** The slots of a schedule that meet a change of the clocks. @default none are listed */
  clockChangeSlots?: (
    schedule: CompiledSchedule,
    span: { after: number; months: number },
  ) => readonly NamedClockChange[];
}

/** What became of one file. */
export interface FileReport {
  path: string;
  /** Absent when the recipe is wrong. */
  recipe?: CompiledRecipe;
  /** It is TypeScript that may not run yet, so that nothing else is known of it. */
  unread?: true;
  issues: readonly RecipeIssue[];
  /** Until the tenth at which there is something to do, over all schedules, and until the first of each schedule. */
  next: readonly (NamedSlot & { scheduleId: string })[];
  /** Of the next 24 months. */
  clockChanges: readonly (NamedClockChange & { scheduleId: string })[];
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

async function checkFile({ path, text, refused }: CheckedFile, options: CheckOptions): Promise<FileReport> {
  const nothing = { path, issues: [], next: [], clockChanges: [] };
  if (refused !== undefined) {
    return { ...nothing, issues: [{ line: 1, column: 1, path: [], message: refused }] };
  }
  const { now, signal, mayRunCode } = options;
  const compileOptions: CompileOptions = { now, signal, ...mayRunCode !== undefined && { mayRunCode } };
  try {
    const recipe = text === undefined
      ? await loadFile(path, compileOptions)
      : await compileText({ text, fileName: path }, compileOptions);
    return { ...nothing, recipe, ...previews(recipe, options) };
  } catch (error) {
    if (error instanceof UnreadCodeError) return { ...nothing, unread: true };
    if (error instanceof RecipeError) return { ...nothing, issues: error.issues };
    if (!(error instanceof Error)) throw error;
    // A calendar that ends too early is a finding about the recipe. A fault of ours is none, and must all the same
    // not keep the other recipes from being checked and run.
    const message = error instanceof BrokerError
      ? error.message
      : `it cannot be checked, by a fault of the program: ${error.name}: ${error.message.split("\n")[0]}`;
    return { ...nothing, issues: [{ line: 1, column: 1, path: [], message }] };
  }
}

function previews(
  { schedules }: CompiledRecipe,
  { now, nextSlots, clockChangeSlots }: CheckOptions,
): Pick<FileReport, "next" | "clockChanges"> {
  const after = now();
  const of = <T>(list: (schedule: CompiledSchedule) => readonly T[] | undefined) =>
    schedules.flatMap((schedule) =>
      (list(schedule) ?? []).map((each) => ({ ...each, scheduleId: schedule.id }))
    );
  const slots = of((schedule) => nextSlots?.(schedule, after, NEXT)).sort((a, b) => a.at - b.at);
  const tenth = slots.filter(({ skipped }) => skipped === undefined)[NEXT - 1]?.at ?? Infinity;
  // One that runs often hides no other: the first slot of each is there.
  const firsts = new Map(
    slots.toReversed().flatMap(({ scheduleId, at, skipped }) =>
      skipped === undefined ? [[scheduleId, at] as const] : []
    ),
  );
  return {
    next: slots.filter(({ at, scheduleId }) => at <= Math.max(tenth, firsts.get(scheduleId) ?? 0)),
    clockChanges: of((schedule) => clockChangeSlots?.(schedule, { after, months: CLOCK_CHANGE_MONTHS })),
  };
}
