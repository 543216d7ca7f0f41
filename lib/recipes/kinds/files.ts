/**
 * Formats and writes the files of steps. A file appears complete or not at all.
 *
 * @module
 */
import { sha256 } from "../../sha256.ts";
import { readRegular, readRegularTextSync } from "../../regular_files.ts";
import { exists, PRIVATE_FOLDER, replaceFile } from "../../private_files.ts";
import { confined, isInside, realPlace, resolved } from "../../confined_paths.ts";
import { type CsvOptions, csvRecord } from "../../csv_text.ts";
import { shownJson } from "../../shown_text.ts";
import type { StepContext } from "../compiled.ts";

/**
 * Returns a path below the folder of the run. In the folder of a dry run, an absolute path becomes a path below that
 * folder.
 *
 * @throws {TypeError} If the path leaves the folder of the run. Nothing was written.
 */
export function pathIn(
  { out, keepWithin }: Pick<StepContext, "out" | "keepWithin">,
  ...parts: string[]
): string {
  const joined = parts.join("/");
  const isElsewhere = keepWithin && joined.startsWith("/") && !isInside(out, joined);
  return confined(out, isElsewhere ? `.${joined}` : joined);
}

/** A file that was written. */
export interface WrittenFile {
  path: string;
  bytes: number;
  sha256: string;
}

/**
 * Replaces or creates a file, and creates its folder. After a crash, the file has either its old or its new content.
 */
export async function writeAtomically(
  path: string,
  content: string | Uint8Array<ArrayBuffer>,
): Promise<WrittenFile> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const folder = path.replace(/\/?[^/]*$/, "");
  if (folder !== "") await Deno.mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  replaceFile(path, bytes);
  return { path, bytes: bytes.length, sha256: await sha256(bytes) };
}

/**
 * Writes a file whose name the recipe chose, like {@linkcode writeAtomically}. An existing file is replaced only below
 * `out/`, in a folder that `--out` names, or if a step wrote it and nobody has changed it since. In the working folder,
 * a hidden file beside each file records what a step has written; recipes cannot write hidden files.
 *
 * @throws {TypeError} If the existing file must not be replaced. The file is then unchanged.
 */
export async function writeNamed(
  { out }: Pick<StepContext, "out">,
  path: string,
  content: string,
): Promise<WrittenFile> {
  const top = out === "" ? "." : out;
  const isWorkingFolder = isInside(top, ".");
  // A link below `out/` may lead to a different folder of the working folder.
  const folder = realPlace(resolved(path.replace(/[^/]*$/, "")));
  const isBelowOut = folder !== undefined && isInside(`${realPlace(resolved(top))}/out`, folder);
  if (!isWorkingFolder || isBelowOut) return await writeAtomically(path, content);
  const record = path.replace(/[^/]*$/, ".$&.hsgate");
  const old = exists(path) ? await recordedHash(path, record) : "";
  if (old === undefined) {
    throw new TypeError(
      `Cannot replace "${path}": a step did not write its content; move the file away, ` +
        'or let the step write below "out/"',
    );
  }
  // Record both hashes, because after a crash the file may have its old or its new content.
  await writeAtomically(record, `${old}\n${await sha256(content)}\n`);
  return await writeAtomically(path, content);
}

/** Returns the hash of a file if its record contains that hash; otherwise `undefined`. */
async function recordedHash(path: string, record: string): Promise<string | undefined> {
  const hashes = readIfThere(record)?.split("\n") ?? [];
  const bytes = hashes.length === 0 ? undefined : await readRegular(path, Infinity);
  if (!(bytes instanceof Uint8Array)) return undefined;
  const hash = await sha256(bytes);
  return hashes.includes(hash) ? hash : undefined;
}

/** Formats rows as JSON lines. */
export function jsonLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${shownJson(JSON.stringify(row))}\n`).join("");
}

/** Formats rows as CSV (RFC 4180); nested members get names such as `fees.total`. */
export function csvText(
  rows: readonly Readonly<Record<string, unknown>>[],
  { exact }: CsvOptions = {},
): string {
  const flat = rows.map((row) => flatten(row));
  const names = [...new Set(flat.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...flat.map((row) => names.map((name) => row[name] ?? ""))];
  return lines.map((line) => csvRecord(line, { exact })).join("");
}

/** Returns the texts of a row; nested members get names such as `fees.total`. */
export function flatten(row: Readonly<Record<string, unknown>>, prefix = ""): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, value] of Object.entries(row)) {
    const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
    // An object that is not a list has members with names.
    if (isPlain) Object.assign(out, flatten(value as Record<string, unknown>, `${prefix}${key}.`));
    else if (value !== undefined && value !== null) {
      out[prefix + key] = typeof value === "string" ? value : JSON.stringify(value);
    }
  }
  return out;
}

/** Returns the text of a file; `undefined` if the file does not exist. */
export function readIfThere(path: string): string | undefined {
  try {
    return readRegularTextSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
