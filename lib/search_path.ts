/**
 * Removes the folders from a search path that depend on the working folder.
 *
 * @module
 */
import { isAbsolute } from "./confined_paths.ts";

const SEPARATOR = Deno.build.os === "windows" ? ";" : ":";

/**
 * Returns a value of `PATH` without relative and empty folders. With such folders, a program of the working folder
 * could start instead of a system's program of the same name, and the working folder may be a stranger's.
 */
export function absoluteFolders(path: string): string {
  const kept = path.split(SEPARATOR).filter(isAbsolute);
  // An empty path would mean the working folder.
  return kept.length === 0 && SEPARATOR === ":" ? "/usr/bin:/bin" : kept.join(SEPARATOR);
}
