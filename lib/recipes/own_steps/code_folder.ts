/**
 * Makes the folder of a process that reads or runs code: its configuration, its import map and the packages that the
 * code may load.
 *
 * No `deno.json`, `package.json` or `.npmrc` of the code's own folder has an effect, and nothing is downloaded or
 * installed.
 *
 * @module
 */
import type { StepPermissions } from "../compiled.ts";
import { fileUrl } from "../recipe_files.ts";
import { stepEnvironment } from "./step_environment.ts";

/** Prefix of the folders of processes; a folder that is older than this and not locked is removed. */
const FOLDER = "hsgate-step-";
const SWEPT_AFTER_MS = 60_000;
/** Folders of older versions have no lock. */
const SWEPT_UNLOCKED_AFTER_MS = 24 * 3_600_000;

/** The files that a process may load in addition to the toolkit's. */
export interface LoadableFiles {
  /** URLs of the files, as they are imported. */
  modules: readonly string[];
  /** Copies of the files, by URL. The process loads the copies instead of the files. */
  copies?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export const toolkit = new URL("../../../", import.meta.url);

/** Returns whether a module belongs to the toolkit, which may be imported from anywhere. */
export function isToolkit(specifier: string): boolean {
  return specifier === new URL("mod.ts", toolkit).href ||
    (specifier.startsWith(new URL("lib/", toolkit).href) && specifier.endsWith(".ts"));
}

export function environment(permissions: StepPermissions): Record<string, string> {
  return {
    ...stepEnvironment(ownEnvironment(), permissions),
    // No file of the folder may change the meaning of imports or cause an installation.
    DENO_NO_PACKAGE_JSON: "1",
    // The runtime itself must not check for a newer version.
    DENO_NO_UPDATE_CHECK: "1",
  };
}

/** Environment variables that this process may read, to pass them on to other processes. */
function ownEnvironment(): Record<string, string> {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Deno.env.toObject() : {};
}

/**
 * Creates a folder for one process, with the configuration for its imports.
 *
 * @param code All files that the process may load in addition to the toolkit's; absent if no code runs.
 */
export async function ownFolder(code?: LoadableFiles): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir({ prefix: FOLDER });
  // Locked while this process lives, so that other processes see that the folder is in use.
  const lock = await Deno.open(`${path}/lock`, { write: true, create: true });
  const remove = async () => {
    lock.close();
    await Deno.remove(path, { recursive: true }).catch(unlessGone);
  };
  try {
    await lock.lock(true);
    await (swept ??= sweepFolders(path));
    const main = fileUrl(`${path}/main.ts`).href;
    await Deno.writeTextFile(`${path}/deno.json`, JSON.stringify({ nodeModulesDir: "none", lock: false }));
    await Deno.writeTextFile(`${path}/${LOCKED_PACKAGES}`, await lockText());
    // A separate file: for files that a configuration's imports name, Deno uses the configuration next to them.
    await Deno.writeTextFile(
      `${path}/imports.json`,
      await importsText(code && [...await placesOf(code, path), [main, main]]),
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

/**
 * Returns the location of each module for a process. Writes copies into its folder, with the same relative paths.
 */
async function placesOf({ modules, copies }: LoadableFiles, folder: string): Promise<[string, string][]> {
  if (copies === undefined) return modules.map((each) => [each, each]);
  const common = commonFolder([...copies.keys()]);
  const places: [string, string][] = [];
  for (const [module, bytes] of copies) {
    const place = new URL(module.slice(common.length), fileUrl(`${folder}/copies/`));
    await Deno.mkdir(new URL(".", place), { recursive: true });
    await Deno.writeFile(place, bytes);
    places.push([module, place.href], [place.href, place.href]);
  }
  return places;
}

/** Returns the folder that contains all files. */
function commonFolder(modules: readonly string[]): string {
  let common = new URL(".", modules[0]).href;
  while (!modules.every((each) => each.startsWith(common))) common = new URL("..", common).href;
  return common;
}

export const LOCKED_PACKAGES = "packages.lock";

let locked: Promise<string> | undefined;

/**
 * Returns the toolkit's lock file without its root dependencies: the packages that code may load, with their hashes.
 */
function lockText(): Promise<string> {
  return locked ??= (async () => {
    if (toolkit.protocol !== "file:") return "";
    const { workspace: _, ...packages } = JSON.parse(await Deno.readTextFile(new URL("deno.lock", toolkit)));
    return JSON.stringify(packages);
  })();
}

export const configFlags = (folder: string) => [
  ...["--config", `${folder}/deno.json`],
  ...["--import-map", `${folder}/imports.json`],
];

function unlessGone(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

let swept: Promise<void> | undefined;

/**
 * Removes folders that killed programs of this user left, once per process. Another user may create such a folder next
 * to ours, with a lock whose opening would block.
 */
async function sweepFolders(own: string): Promise<void> {
  const parent = own.slice(0, own.lastIndexOf(FOLDER));
  try {
    const { uid } = await Deno.lstat(own);
    for await (const { name, isDirectory } of Deno.readDir(parent)) {
      if (isDirectory && name.startsWith(FOLDER)) await sweep(`${parent}${name}`, uid).catch(() => {});
    }
  } catch {
    // A folder that cannot be listed is left alone.
  }
}

async function sweep(path: string, own: number | null): Promise<void> {
  const { mtime, uid } = await Deno.lstat(path);
  const age = Date.now() - (mtime?.getTime() ?? Infinity);
  if (age < SWEPT_AFTER_MS || uid !== own) return;
  const isLock = await Deno.lstat(`${path}/lock`).then(({ isFile }) => isFile, () => true);
  if (!isLock) return;
  using lock = await Deno.open(`${path}/lock`, { write: true }).catch(unlessGone);
  const isUnused = lock === undefined ? age > SWEPT_UNLOCKED_AFTER_MS : await lock.tryLock(true);
  if (isUnused) await Deno.remove(path, { recursive: true });
}

/**
 * Returns an import map: the toolkit's modules for all files, and the toolkit's packages only for the toolkit.
 *
 * @param modules URLs of the only other files that can be loaded, also by workers and by names computed at run time;
 * each
 * with the URL of the file to load.
 */
export async function importsText(modules?: readonly [string, string][]): Promise<string> {
  const names: Record<string, string> = toolkit.protocol === "file:"
    ? JSON.parse(await Deno.readTextFile(new URL("deno.json", toolkit))).imports
    : { "hsgate": "./mod.ts", "hsgate/recipes": "./lib/recipes/mod.ts" };
  const resolved = Object.entries(names).map(([name, target]) =>
    [name, target.startsWith("./") ? new URL(target, toolkit).href : target] as const
  );
  const isOwn = (name: string) => /^hsgate(\/|$)/.test(name);
  const ours = ["mod.ts", "lib/", "proto/"].map((name) => new URL(name, toolkit).href);
  return JSON.stringify({
    imports: {
      ...Object.fromEntries(resolved.filter(([name]) => isOwn(name))),
      // The longest matching name counts; null rejects every name that begins with it.
      ...modules !== undefined && { "file:///": null, "node:module": null },
      ...modules !== undefined && Object.fromEntries([...modules, ...ours.map((each) => [each, each])]),
    },
    scopes: { [toolkit.href]: Object.fromEntries(resolved.filter(([name]) => !isOwn(name))) },
  });
}
