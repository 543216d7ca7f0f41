/**
 * Joins the files of several days into one file per list.
 *
 * @module
 */
import { exists, syncFolder } from "../../private_files.ts";
import { linkedOutside } from "../../confined_paths.ts";
import { openRegularSync } from "../../regular_files.ts";
import { TextFile } from "../rows/files.ts";
import { DayBookError, type DayBookFormat, type DayBookList, type DayBookResult } from "../types.ts";

/** A file that contains the rows of several days. */
export interface JoinedFile {
  list: DayBookList;
  path: string;
  /** Number of days whose files it contains. */
  days: number;
}

/** Longest first line of a CSV file, bytes. */
const MOST_HEADER = 64 * 1024;

/**
 * Returns the format of a joined file, which is the extension of its name, and the path without the extension.
 *
 * @throws {TypeError} If the name ends in neither `.csv` nor `.jsonl`.
 */
export function joinTarget(path: string): { stem: string; format: DayBookFormat } {
  const [, stem, format] = /^(.*[^/])\.(csv|jsonl)$/.exec(path) ?? [];
  if (stem === undefined) {
    throw new TypeError(`Cannot join the days into "${path}": write a name that ends in .csv or .jsonl`);
  }
  return { stem, format: format as DayBookFormat }; // the pattern allows only these
}

/**
 * Joins the files of the days of an export. For the path `out/2025.csv`, writes `out/2025.fills.csv`,
 * `out/2025.orders.csv` and so on. The days are in order, and a CSV file has one header. A joined file appears complete
 * or not at all, and replaces an earlier one.
 *
 * @throws {DayBookError} If a day has no file in this format, files have different columns, or a link in the path leads
 * elsewhere.
 * @throws {TypeError} If the name ends in neither `.csv` nor `.jsonl`.
 */
export function joinDays({ days }: Pick<DayBookResult, "days">, path: string): JoinedFile[] {
  const { stem, format } = joinTarget(path);
  const lists = [...new Set(days.flatMap(({ rows }) => Object.keys(rows) as DayBookList[]))];
  return lists.map((list): JoinedFile => {
    const of = days.filter(({ rows }) => rows[list] !== undefined);
    const target = `${stem}.${list}.${format}`;
    const elsewhere = linkedOutside(target);
    if (elsewhere !== undefined) {
      throw new DayBookError(
        `Cannot join the days into "${target}": a link leads to "${elsewhere}"; if that is yours, give its real path`,
        { code: "linked" },
      );
    }
    const partial = `${target}.partial`;
    if (exists(partial)) Deno.removeSync(partial); // a killed export left it
    let header: string | undefined;
    const joined = new TextFile(partial);
    try {
      for (const { day, path: folder } of of) {
        const source = `${folder}/${list}.${format}`;
        if (!exists(source)) {
          throw new DayBookError(
            `Cannot join ${day}: "${source}" is missing, because the day was exported without ${format}; export the ` +
              `day again with --refresh --formats ${format}`,
            { code: "missing-file" },
          );
        }
        const own = format === "csv" ? headerOf(source) : "";
        if (header === undefined) joined.write(own);
        else if (own !== header) {
          throw new DayBookError(
            `Cannot join ${day}: "${source}" has other columns than the files of earlier days; export the days again ` +
              "with --refresh",
            { code: "other-columns" },
          );
        }
        header ??= own;
        joined.append(source, new TextEncoder().encode(own).length);
      }
      joined.seal();
    } catch (error) {
      joined.close();
      Deno.removeSync(partial);
      throw error;
    }
    Deno.renameSync(partial, target);
    syncFolder(target.includes("/") ? target.replace(/\/[^/]*$/, "") || "/" : ".");
    return { list, path: target, days: of.length };
  });
}

/** Returns the first line of a file, with its line end. */
function headerOf(path: string): string {
  using file = openRegularSync(path);
  const bytes = new Uint8Array(MOST_HEADER);
  const text = new TextDecoder().decode(bytes.subarray(0, file.readSync(bytes) ?? 0));
  return text.slice(0, text.indexOf("\n") + 1);
}
