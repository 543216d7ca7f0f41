/**
 * Watches the files that a scheduler goes by: recipes, what lies beside them, a person's own calendars.
 *
 * @module
 */
import { isBusy } from "../../../lib/store/store_error.ts";
import type { Host } from "../../terminal/host.ts";
import { systemMachine, waitUnlessAborted } from "../../../lib/time.ts";
import { recipeFiles } from "../shared/recipe_files.ts";
import { RECIPES } from "../shared/recipe_names.ts";

/** What watching needs. */
interface FileWatchOptions {
  host: Pick<Host, "note" | "signal">;
  /** Files that are not beside the recipes, such as those that steps import. */
  others(): readonly string[];
  /** Called when a file is new, edited or gone. */
  onChange(): Promise<void>;
  /** Called after each look. */
  onLook?(): void | Promise<void>;
}

const LOOK_MS = 3_000;
/** Steps of one's own and what they are resolved with lie beside the recipes. */
const BESIDE = /\.(ya?ml|jsonc?|ts)$/;

/** Looks at the files now and then, and calls back when something changed; resolves at the signal. */
export async function watchFiles(paths: readonly string[], options: FileWatchOptions): Promise<void> {
  const { host, others, onChange, onLook } = options;
  let seen = await signatureOf(paths, others());
  while (await waitUnlessAborted(systemMachine, LOOK_MS, host.signal)) {
    const before = seen;
    try {
      const found = await signatureOf(paths, others());
      if (found !== seen) {
        seen = found;
        await onChange();
      }
    } catch (error) {
      // Files that cannot be read for a moment, half-copied folders: the old recipes go on.
      const reason = error instanceof Error ? error.message : String(error);
      host.note(`hsgate: cannot load the recipes anew: ${reason}; the old ones go on`);
      // The edit is not at fault when the store is locked, and is taken up when it is free.
      if (isBusy(error)) seen = before;
    }
    await onLook?.();
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
