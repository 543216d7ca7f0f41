/**
 * Watches the files that a scheduler goes by: recipes, what lies beside them, a person's own calendars.
 *
 * @module
 */
import { isBusy } from "../../../lib/runner/ledger_damage.ts";
import type { Host } from "../host.ts";
import { recipeFiles, RECIPES } from "./recipe_files.ts";

/** What watching needs. */
export interface FileWatchOptions {
  host: Pick<Host, "note" | "signal">;
  /** Files that are not beside the recipes, such as those that steps import. */
  others(): readonly string[];
  /** Called when a file is new, edited or gone. */
  onChange(): Promise<void>;
  /** Called after each look. */
  onLook?(): void;
}

const LOOK_MS = 3_000;
/** Steps of one's own and what they are resolved with lie beside the recipes. */
const BESIDE = /\.(ya?ml|jsonc?|ts)$/;

/** Looks at the files now and then, and calls back when something changed; resolves at the signal. */
export async function watchFiles(paths: readonly string[], options: FileWatchOptions): Promise<void> {
  const { host, others, onChange, onLook } = options;
  let seen = await signatureOf(paths, others());
  while (await pause(LOOK_MS, host.signal)) {
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
      // The edit is not at fault when the ledger is locked, and is taken up when it is free.
      if (isBusy(error)) seen = before;
    }
    onLook?.();
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

/** Waits; tells whether the time passed without the signal. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const give = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", give);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", give, { once: true });
  });
}
