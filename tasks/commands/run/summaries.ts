/**
 * Summarizes the output and the files of a step in a few words.
 *
 * @module
 */
import { fit, plain } from "../../terminal/print.ts";

/** Maximum number of members in a summary, and maximum length of their texts. Identifiers are shown in full. */
const MOST = 3;
const LONGEST = 24;
/** Longest output that is itself a text, such as an order number. */
const LONGEST_TEXT = 80;

/** Summarizes an output: `12 rows`, `5 days, 1,204 rows`. */
export function shortResult(output: unknown): string {
  if (output === undefined || output === null) return "";
  if (Array.isArray(output)) return counted(output.length, "row");
  if (typeof output !== "object") return fit(plain(String(output)), LONGEST_TEXT);
  const words: string[] = [];
  for (const [name, value] of Object.entries(output)) {
    if (name === "ok" || value === null) continue;
    const text = wordOf(name, value);
    if (text !== undefined) words.push(text);
  }
  return words.slice(0, MOST).join(", ");
}

function wordOf(name: string, value: unknown): string | undefined {
  const words = spaced(name);
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    // "2 days" and "1 day"; a name such as `cancelled` has no plural.
    return words.endsWith("s")
      ? counted(value.length, words.slice(0, -1))
      : `${thousands(value.length)} ${words}`;
  }
  if (name === "rows" && typeof value === "number") return counted(value, "row");
  if (typeof value === "number") return `${words} ${thousands(value)}`;
  if (typeof value === "boolean") {
    const claim = words.replace(/^is /, "");
    return value ? claim : `not ${claim}`;
  }
  // Leave out paths: files are listed below the tree.
  const isShort = typeof value === "string" && value.length <= LONGEST && !value.includes("/");
  const isShown = isShort || (typeof value === "string" && /(^id|Id|[kK]ey)$/.test(name));
  return isShown && value !== "" ? `${words} ${plain(value)}` : undefined;
}

/** Splits a name into words: `stillOpen` becomes `still open`. */
const spaced = (name: string) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

const counted = (count: number, what: string) => `${thousands(count)} ${what}${count === 1 ? "" : "s"}`;

const thousands = (value: number) =>
  Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : String(value);

/** Returns why a step was skipped, in words. Without a store, the event of a false condition has no reason. */
export const skipReason = (reason: string | undefined): string =>
  reason === undefined || reason === "" || reason === "condition" ? "its condition was false" : reason;

/** A file that a step reported. */
export interface NamedFile {
  path: string;
  /** Whether its content is new. */
  isNew: boolean;
}

/** Maximum number of lines for files. */
const MOST_LINES = 20;
/** Maximum number of files of one folder that are listed one by one. */
const MOST_OF_FOLDER = 3;

/** Describes files: `wrote out/a.csv`, `wrote out/day-books/2025-08-15/ (8 files)`, `and 12 more files`. */
export function fileLines(files: readonly NamedFile[]): string[] {
  const folders = Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf("/") + 1));
  const lines = [...folders].flatMap(([folder, inside]) => {
    const isNamed = folder === "" || inside.length <= MOST_OF_FOLDER;
    const groups = isNamed ? inside.map((file) => [file]) : [inside];
    return groups.map((group) => ({ count: group.length, text: lineOf(folder, group) }));
  });
  const left = lines.slice(MOST_LINES).reduce((sum, { count }) => sum + count, 0);
  return [
    ...lines.slice(0, MOST_LINES).map(({ text }) => text),
    ...left > 0 ? [`and ${left} more ${left === 1 ? "file" : "files"}`] : [],
  ];
}

function lineOf(folder: string, files: readonly NamedFile[]): string {
  const written = files.filter(({ isNew }) => isNew).length;
  const verb = written > 0 ? "wrote" : "kept";
  if (files.length === 1) return `${verb} ${files[0]!.path}`;
  const kept = files.length - written;
  return written === 0 || kept === 0
    ? `${verb} ${folder} (${files.length} files)`
    : `${verb} ${folder} (${written} files, ${kept} unchanged)`;
}

/** Collects the files of each run until its next event of another type, to describe them together. */
export class FilesByRun {
  readonly #byRun = new Map<string, { step: string; files: NamedFile[] }>();

  /** Adds a file of a step. */
  add(run: string, step: string, { path, isNew }: NamedFile): void {
    const own = this.#byRun.get(run);
    if (own?.step === step) own.files.push({ path, isNew });
    else this.#byRun.set(run, { step, files: [{ path, isNew }] });
  }

  /** Returns the lines about the files of a run, and forgets the files. */
  take(run: string): { step: string; lines: string[] } | undefined {
    const own = this.#byRun.get(run);
    this.#byRun.delete(run);
    return own && { step: own.step, lines: fileLines(own.files) };
  }
}
