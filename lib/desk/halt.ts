/**
 * The halt file of a store: while the file exists, processes of this machine that use the store send no order writes.
 * It works even if the store does not answer.
 *
 * @module
 */
import { messageOf } from "../errors.ts";
import { replaceFile } from "../private_files.ts";
import { readRegularTextSync } from "../regular_files.ts";
import { shownLine } from "../shown_text.ts";
import { realPathOf } from "../store/mark.ts";
import { isPostgresUrl } from "../store/postgres_url.ts";

/** Returns the path of the halt file: beside a store in a file, otherwise in the working folder. */
export function haltPath(store: string): string {
  if (isPostgresUrl(store) || store === ":memory:") return "hsgate.halt";
  // If the store's path is a link, the halt file is beside the target of the link, like the store's mark file. A
  // path that leads to a folder or a device is not resolved, because it cannot be a store.
  return `${isOther(store) ? store : realPathOf(store)}.halt`;
}

/** Returns whether a path leads to something that exists and is not a regular file, such as a folder or a device. */
function isOther(path: string): boolean {
  try {
    return !Deno.statSync(path).isFile;
  } catch {
    return false; // the path does not exist, or opening the store reports why the path cannot be used
  }
}

/**
 * Returns a function that returns why the halt file of a store prevents writes; `undefined` if there is no halt file.
 */
export function fileHalt(store: string): () => string | undefined {
  const path = haltPath(store);
  return () => {
    try {
      const { isSymlink } = Deno.lstatSync(path); // do not follow links: a broken link also halts
      // Errors and notices contain the reason, and the link could lead to a file with secrets.
      if (isSymlink) return `the file "${path}" is a link; hsgate does not read the reason through a link`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      return whyUnread(path, error);
    }
    try {
      const reason = shownLine(readRegularTextSync(path).slice(0, MOST_REASON)).trim();
      return `${reason === "" ? "no reason given" : reason} (the file "${path}")`;
    } catch (error) {
      return whyUnread(path, error);
    }
  };
}

/** Maximum number of characters of a reason that an error shows. */
const MOST_REASON = 500;

/** A halt file that cannot be read still stops all order writes. */
const whyUnread = (path: string, error: unknown): string =>
  `the file "${path}" cannot be read: ${messageOf(error)}`;

/** Writes the halt file. */
export function writeHalt(store: string, why: string): void {
  replaceFile(haltPath(store), `${why}\n`);
}

/** Removes the halt file. Returns whether there was one. */
export async function removeHalt(store: string): Promise<boolean> {
  try {
    await Deno.remove(haltPath(store));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
