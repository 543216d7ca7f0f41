/**
 * What became of files, in few lines: many of one folder, such as those of a day, are one.
 *
 * @module
 */

/** A file that a step named. */
export interface NamedFile {
  path: string;
  /** It was not there before with these bytes. */
  isNew: boolean;
}

/** Lines for one list of files. */
const MOST_LINES = 20;
/** Files of one folder that are named one by one. */
const MOST_OF_FOLDER = 3;

/** Tells of files: `wrote out/a.csv`, `wrote out/day-books/2025-08-15/ (8 files)`, `and 12 more files`. */
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
    : `${verb} ${folder} (${written} files, ${kept} as before)`;
}

/** Keeps the files of each run back until something else happens there, so that they can be told of together. */
export class HeldFiles {
  readonly #held = new Map<string, { step: string; files: NamedFile[] }>();

  /** Keeps a file of a step back. */
  add(run: string, step: string, { path, isNew }: NamedFile): void {
    const held = this.#held.get(run);
    if (held?.step === step) held.files.push({ path, isNew });
    else this.#held.set(run, { step, files: [{ path, isNew }] });
  }

  /** Hands the lines out, and forgets the files. */
  take(run: string): { step: string; lines: string[] } | undefined {
    const held = this.#held.get(run);
    this.#held.delete(run);
    return held && { step: held.step, lines: fileLines(held.files) };
  }
}
