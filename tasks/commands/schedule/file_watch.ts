/**
 * Watches the files of a scheduler: recipes, files next to them, and the local calendars.
 *
 * @module
 */
import { messageOf } from "../../../lib/errors.ts";
import { isBusy } from "../../../lib/store/store_error.ts";
import type { Host } from "../../terminal/host.ts";
import { systemMachine, waitUnlessAborted } from "../../../lib/time.ts";
import { recipeFiles } from "../shared/recipe_files.ts";
import { RECIPES } from "../shared/recipe_names.ts";

/** Options of {@linkcode watchFiles}. */
interface FileWatchOptions {
  host: Pick<Host, "note" | "signal">;
  /** Returns files in other places, such as files that steps import. */
  others(): readonly string[];
  /** Called when a file was added, edited or deleted. */
  onChange(): Promise<void>;
  /** Called after each check. */
  onCheck?(): void | Promise<void>;
}

const CHECK_MS = 3_000;
/** Matches names of files in a recipe folder that can change a run: recipes, custom steps and their configuration. */
const BESIDE = /\.(ya?ml|jsonc?|ts)$/;

/** Checks the files at intervals and calls back after a change; resolves at the signal. */
export async function watchFiles(paths: readonly string[], options: FileWatchOptions): Promise<void> {
  const { host, others, onChange, onCheck } = options;
  let seen = await signatureOf(paths, others());
  while (await waitUnlessAborted(systemMachine, CHECK_MS, host.signal)) {
    const before = seen;
    try {
      const found = await signatureOf(paths, others());
      if (found !== seen) {
        seen = found;
        await onChange();
      }
    } catch (error) {
      // A file may be unreadable for a moment, for example while a folder is copied: the old recipes keep running.
      const reason = messageOf(error);
      host.note(`hsgate: cannot reload the recipes: ${reason}; the old recipes keep running`);
      // If the store is locked, the edit is not the cause of the error: try to load the edit again at the next check.
      if (isBusy(error)) seen = before;
    }
    await onCheck?.();
  }
}

async function signatureOf(paths: readonly string[], others: readonly string[]): Promise<string> {
  const files = new Set((await recipeFiles(paths)).map(({ path }) => path));
  const named = paths.length === 0 ? [RECIPES] : paths;
  const folders = named.map((path) =>
    !files.has(path) ? path : path.includes("/") ? path.replace(/\/[^/]*$/, "") : "."
  );
  for (const folder of new Set(folders)) {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (!isDirectory && BESIDE.test(name)) files.add(`${folder.replace(/\/+$/, "")}/${name}`);
    }
  }
  const parts = await Promise.all(
    [...files, ...others].sort().map(async (path) => {
      const info = await Deno.stat(path).catch(() => undefined);
      return `${path} ${info?.mtime?.getTime()} ${info?.size}`;
    }),
  );
  return parts.join("\n");
}
