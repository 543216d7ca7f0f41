/**
 * The halt file of a store: while the file exists, processes of this machine that use the store send no order writes. It
 * works even if the store does not answer.
 *
 * @module
 */
import { replaceFile } from "../private_files.ts";
import { readRegularTextSync } from "../regular_files.ts";
import { isPostgresUrl } from "../store/postgres_url.ts";

/** Returns the path of the halt file: beside a store in a file, otherwise in the working folder. */
export function haltPath(store: string): string {
  return isPostgresUrl(store) || store === ":memory:" ? "hsgate.halt" : `${store}.halt`;
}

/** Returns a function that says why the halt file of a store stops writing, if the file exists. */
export function fileHalt(store: string): () => string | undefined {
  const path = haltPath(store);
  return () => {
    try {
      return `${readRegularTextSync(path).trim() || "no reason given"} (the file "${path}")`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      // A halt file that cannot be read still stops everything.
      return `the file "${path}" cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
}

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
