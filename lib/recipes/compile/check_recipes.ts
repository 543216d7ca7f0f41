/**
 * Checks recipes together: mistakes, next slots, and slots that fall on a clock change.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import { type CompileOptions, compileText } from "./compile_recipe.ts";
import type { CompiledRecipe, CompiledSchedule } from "../compiled.ts";
import { loadFile, OtherRecipes } from "../files/load_recipe.ts";
import { RecipeError, type RecipeIssue, UnreadCodeError } from "../recipe_error.ts";

/** A file to check: its path, and optionally its text. */
export interface CheckedFile {
  /** Path of the file. */
  path: string;
  /** Text to check instead of the file's content. */
  text?: string;
  /** Why the file must not be read. If given, the check reports this reason and does not read the file. */
  refused?: string;
}

/** A slot of a schedule, as the runner computes it. */
export interface NamedSlot {
  /** Epoch milliseconds. */
  at: number;
  /** Date of the slot's session. */
  session?: string;
  /** Why the slot is skipped. */
  skipped?: string;
  /** The calendar does not cover the day. */
  assumed?: true;
}

/** A slot whose local time a clock change skips or repeats, computed by the runner. */
export interface NamedClockChange {
  /** `gap` if the local time does not exist, `fold` if it exists twice. */
  kind: "gap" | "fold";
  /** Local time, `2027-03-14T02:30`. */
  wall: string;
  /** Time zone whose clock changes. */
  zone: string;
  /** When the slot runs, epoch milliseconds: once, twice or not at all. */
  runsAt: readonly number[];
}

/** Options of a check. */
export interface CheckOptions extends Pick<CompileOptions, "calendars" | "limits"> {
  /** The time, Unix milliseconds. */
  now: () => number;
  /**
   * Aborting it ends the check. Loading of TypeScript stops, and the report lists this as a mistake of the file. The
   * files after it are `unread`.
   */
  signal?: AbortSignal;
  /** See {@linkcode CompileOptions}. @default always */
  mayRunCode?: CompileOptions["mayRunCode"];
  /** Returns the next slots of a schedule, including skipped ones. @default lists none */
  nextSlots?: (schedule: CompiledSchedule, after: number, count: number) => readonly NamedSlot[];
  /** Returns the slots of a schedule that fall on a clock change. @default lists none */
  clockChangeSlots?: (
    schedule: CompiledSchedule,
    span: { after: number; months: number },
  ) => readonly NamedClockChange[];
}

/** Result for one file. */
export interface FileReport {
  /** Path of the file. */
  path: string;
  /** Absent if the recipe has mistakes. */
  recipe?: CompiledRecipe;
  /**
   * Set for a TypeScript recipe whose code must not run yet, and for each file that an abort left unchecked. Nothing
   * else is then known about the file.
   */
  unread?: true;
  /** Every mistake, with its place. */
  issues: readonly RecipeIssue[];
  /**
   * The next slots of all schedules, up to the tenth slot that is not skipped. A schedule whose first such slot is
   * later is listed up to that slot.
   */
  next: readonly (NamedSlot & { scheduleId: string })[];
  /** Clock changes of the next 24 months. */
  clockChanges: readonly (NamedClockChange & { scheduleId: string })[];
}

/** Result for all files. */
export interface CheckReport {
  /** Whether no file has a mistake. */
  ok: boolean;
  /** One report per file. */
  files: FileReport[];
}

const NEXT = 10;
const CLOCK_CHANGE_MONTHS = 24;

/** Checks recipes together: they may refer to each other, and names must be unique. */
export async function checkAll(files: readonly CheckedFile[], options: CheckOptions): Promise<CheckReport> {
  const reports: FileReport[] = [];
  const others = new OtherRecipes();
  for (const file of files) {
    // Compiling a file can take a second without a pause. So pause here, to let other work abort the signal.
    if (options.signal !== undefined) await new Promise((resolve) => setTimeout(resolve, 0));
    const isAborted = options.signal?.aborted === true;
    reports.push(
      isAborted
        ? { path: file.path, unread: true, issues: [], next: [], clockChanges: [] }
        : await checkFile(file, { ...options, others }),
    );
  }
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

async function checkFile(
  { path, text, refused }: CheckedFile,
  { others, ...options }: CheckOptions & { others: OtherRecipes },
): Promise<FileReport> {
  const nothing = { path, issues: [], next: [], clockChanges: [] };
  if (refused !== undefined) {
    return { ...nothing, issues: [{ line: 1, column: 1, path: [], message: refused }] };
  }
  const { now, calendars, limits, signal, mayRunCode } = options;
  const compileOptions: CompileOptions = {
    now,
    calendars,
    signal,
    ...limits !== undefined && { limits },
    ...mayRunCode !== undefined && { mayRunCode },
  };
  try {
    const recipe = text === undefined
      ? await loadFile(path, compileOptions, undefined, others)
      : await compileText({ text, fileName: path }, compileOptions);
    return { ...nothing, recipe, ...previews(recipe, options) };
  } catch (error) {
    if (error instanceof UnreadCodeError) return { ...nothing, unread: true };
    if (error instanceof RecipeError) return { ...nothing, issues: error.issues };
    if (!(error instanceof Error)) throw error;
    // A calendar that ends too early is a mistake of the recipe. An internal error is not, but it must not prevent the
    // other recipes from being checked and run.
    const message = error instanceof BrokerError
      ? error.message
      : `internal error while checking it, please report it: ${error.name}: ${error.message.split("\n")[0]}`;
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
  // Keep the first slot of each schedule, so that a frequent schedule does not hide the other schedules.
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
