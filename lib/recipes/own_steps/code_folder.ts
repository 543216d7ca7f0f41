/**
 * Creates the folder of a process that reads or runs code. The folder contains copies of the code, a configuration, an
 * import map, and the list of packages that the code may load.
 *
 * No `deno.json`, `package.json` or `.npmrc` of the code's own folder has an effect, and nothing is downloaded or
 * installed.
 *
 * @module
 */
import type { StepPermissions } from "../compiled.ts";
import { fileUrl } from "../files/recipe_files.ts";
import { ownTemporaryFolder } from "../../owned_files.ts";
import { stepEnvironment } from "./step_environment.ts";

/** Prefix of the name of each folder that {@linkcode ownFolder} creates. */
const FOLDER = "hsgate-step-";
/** A folder that is older than this and is not locked is removed. */
const SWEPT_AFTER_MS = 60_000;
/** A folder without a lock file, from an older version of hsgate, is removed after this time. */
const SWEPT_UNLOCKED_AFTER_MS = 24 * 3_600_000;

/** Contents of code files by their URLs. */
export type CodeCopies = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

export const toolkit = new URL("../../../", import.meta.url);
/** The toolkit's modules and folders of modules. */
const OURS = ["mod.ts", "lib/", "proto/"].map((name) => new URL(name, toolkit).href);

/** Returns whether a module belongs to the toolkit, which may be imported from anywhere. */
export function isToolkit(specifier: string): boolean {
  return specifier === new URL("mod.ts", toolkit).href ||
    (specifier.startsWith(new URL("lib/", toolkit).href) && specifier.endsWith(".ts"));
}

export function environment(permissions: StepPermissions): Record<string, string> {
  return {
    ...stepEnvironment(ownEnvironment(), permissions),
    // A file of the folder must not change the meaning of imports or cause an installation.
    DENO_NO_PACKAGE_JSON: "1",
    // The runtime itself must not check for a newer version.
    DENO_NO_UPDATE_CHECK: "1",
  };
}

/** All environment variables, to pass them on to other processes; none unless this process may read all of them. */
function ownEnvironment(): Record<string, string> {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Deno.env.toObject() : {};
}

/**
 * Creates a folder for one process, with the configuration for its imports.
 *
 * @param copies Code, which is written into the folder.
 * @param toRun Whether the process runs the code. The code can then load only the copies and the toolkit.
 */
export async function ownFolder(
  copies: CodeCopies,
  toRun: boolean,
): Promise<AsyncDisposable & { path: string }> {
  const path = await ownTemporaryFolder({ prefix: FOLDER });
  // The folder is locked while this process lives, so that other processes see that it is in use.
  const lock = await Deno.open(`${path}/lock`, { write: true, create: true });
  const remove = async () => {
    lock.close();
    await Deno.remove(path, { recursive: true }).catch(unlessGone);
  };
  try {
    await lock.lock(true);
    await (swept ??= sweepFolders(path));
    await writeCopies(copies, path);
    await Deno.writeTextFile(`${path}/deno.json`, JSON.stringify({ nodeModulesDir: "none", lock: false }));
    await Deno.writeTextFile(`${path}/${LOCKED_PACKAGES}`, await lockText());
    // The import map is a separate file. With imports in `deno.json`, Deno would also use the configurations beside the
    // imported files.
    await Deno.writeTextFile(
      `${path}/imports.json`,
      await importsText(placesOf([...copies.keys()], path, toRun)),
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

/** Returns the URL of a file's copy in the folder of a process. Keeps the whole path, so that relative imports work. */
export const placeOf = (module: string, folder: string) =>
  `${fileUrl(`${folder}/files/`).href}${module.slice("file:///".length)}`;

async function writeCopies(copies: CodeCopies, folder: string): Promise<void> {
  for (const [module, bytes] of copies) {
    const place = new URL(placeOf(module, folder));
    await Deno.mkdir(new URL(".", place), { recursive: true });
    await Deno.writeFile(place, bytes);
  }
}

/**
 * Returns the entries of an import map that lead to copies. Deno uses the longest matching name; the value null forbids
 * a name.
 */
function placesOf(modules: readonly string[], folder: string, toRun: boolean): [string, string | null][] {
  const place = (module: string) => placeOf(module, folder);
  const unchanged = (url: string): [string, string] => [url, url];
  // Code may import the toolkit by a relative path. Deno resolves that path from the copy, so the result needs an entry
  // too.
  const ours = OURS.flatMap((each): [string, string][] =>
    each.startsWith("file:") ? [unchanged(each), [place(each), each]] : [unchanged(each)]
  );
  const files = "file:///";
  if (!toRun) return [[files, place(files)], unchanged(place(files)), ...ours];
  return [
    [files, null],
    ["node:module", null],
    unchanged(fileUrl(`${folder}/main.ts`).href),
    ...modules.flatMap((each): [string, string][] => [[each, place(each)], unchanged(place(each))]),
    ...ours,
  ];
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
 * Removes folders that killed programs of this user have left, once per process. Ignores folders of other users,
 * because opening their lock files could block.
 */
async function sweepFolders(own: string): Promise<void> {
  const parent = own.slice(0, own.lastIndexOf(FOLDER));
  try {
    const { uid } = await Deno.lstat(own);
    for await (const { name, isDirectory } of Deno.readDir(parent)) {
      if (isDirectory && name.startsWith(FOLDER)) await sweep(`${parent}${name}`, uid).catch(() => {});
    }
  } catch {
    // If the parent folder cannot be listed, nothing is removed.
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
 * @param places Further entries, for the files of code.
 */
export async function importsText(places: readonly [string, string | null][] = []): Promise<string> {
  const names: Record<string, string> = toolkit.protocol === "file:"
    ? JSON.parse(await Deno.readTextFile(new URL("deno.json", toolkit))).imports
    : { "hsgate": "./mod.ts", "hsgate/recipes": "./lib/recipes/mod.ts" };
  const resolved = Object.entries(names).map(([name, target]) =>
    [name, target.startsWith("./") ? new URL(target, toolkit).href : target] as const
  );
  const isOwn = (name: string) => /^hsgate(\/|$)/.test(name);
  return JSON.stringify({
    imports: {
      ...Object.fromEntries(resolved.filter(([name]) => isOwn(name))),
      ...Object.fromEntries(places),
    },
    scopes: { [toolkit.href]: Object.fromEntries(resolved.filter(([name]) => !isOwn(name))) },
  });
}
