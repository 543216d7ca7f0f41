/**
 * Finds, opens and trusts the file of the store.
 *
 * @module
 */
import { recipesWithRuns } from "../../../lib/runner/queries/run_lookups.ts";
import { scheduledRecipes } from "../../../lib/runner/queries/schedules.ts";
import { fileHalt } from "../../../lib/desk/halt.ts";
import { linkedOutside, realPlace } from "../../../lib/confined_paths.ts";
import { isLink } from "../../../lib/private_files.ts";
import { knownNames } from "../../../lib/client/nearest.ts";
import { openSqlite, type SqliteOptions } from "../../../lib/store/sqlite.ts";
import type { Store } from "../../../lib/store/store.ts";
import { StoreError } from "../../../lib/store/store_error.ts";
import { whyNoAccess } from "../../../lib/store/file_access.ts";
import { markPath, sizeOf, whyUnmarked } from "../../../lib/store/mark.ts";
import { storeIdIn } from "../../../lib/store/read_only.ts";
import { isPostgresUrl } from "../../../lib/store/postgres_url.ts";
import { type StoreRisk, storeRiskOf } from "../../../lib/store/place.ts";
import { TrustFile } from "../../../lib/runner/trust/trust_file.ts";
import { checkStore, trustStore } from "../../../lib/runner/trust/trusted_stores.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { Retention } from "../../../lib/runner/queries/retention.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import { loadSettingsOf, type StoreFlags, storePath } from "./session.ts";

/** Default path of the store. */
export const STORE = "hsgate.db";

/** Returns the path or URL of the named store, or otherwise `hsgate.db`. */
export async function storeName(flags: StoreFlags, host: Host): Promise<string> {
  return await storePath(flags, host) ?? STORE;
}

/**
 * Returns a function that returns why the store's halt file stops order writes. Without a halt file, that function
 * returns `undefined`.
 */
export async function fileHaltOf(flags: StoreFlags, host: Host): Promise<() => string | undefined> {
  return fileHalt(await storeName(flags, host));
}

/** Returns whether the named store, or otherwise `hsgate.db`, exists. A PostgreSQL store counts as existing. */
export async function storeExists(flags: StoreFlags, host: Host): Promise<boolean> {
  const path = await storeName(flags, host);
  return isPostgresUrl(path) || await exists(path);
}

/**
 * Returns the path of the named store, or otherwise `hsgate.db`.
 *
 * @throws {UsageError} If neither the store nor its mark (the file `FILE.mark` beside the store) exists.
 * @throws {TrustError} If another person may have created the store.
 */
export async function existingStore(flags: StoreFlags, host: Host): Promise<string> {
  const path = await existingStorePath(flags, host);
  await checkedStore(path, flags, host);
  return path;
}

async function existingStorePath(flags: StoreFlags, host: Host): Promise<string> {
  const path = await storeName(flags, host);
  if (isPostgresUrl(path)) {
    throw new UsageError(
      "Cannot use a store on PostgreSQL with this command: name a store in a file with --store",
    );
  }
  const found = await Deno.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile) {
    throw new StoreError(
      `Cannot use the store "${path}": ${whyNoAccess(path) ?? "it is not a regular file"}`,
      {
        code: "no-access",
      },
    );
  }
  // If only the mark exists, the store was lost: opening it reports that.
  if (await exists(path) || await exists(markPath(path))) return path;
  throw new UsageError(
    `Cannot open the store: there is no "${path}"; "schedule" creates it, --store names another one`,
  );
}

/** Maximum wait of a command for a store that another process has locked. */
const WAIT_MS = 30_000;
/** Maximum wait of a scheduler for a locked store. It is shorter, because the scheduler has other work. */
const SCHEDULER_WAIT_MS = 5_000;

/**
 * Opens the named store, or otherwise `hsgate.db`. If another process has locked the store, prints a note and waits.
 *
 * @throws {UsageError} If the store must exist and does not.
 */
export async function openStore(
  flags: StoreFlags,
  { host, mustExist, mayWrite = !mustExist, isScheduler = false }: {
    host: Host;
    mustExist: boolean;
    /** Whether the command may write to the broker, so that the store must be durable. @default `!mustExist` */
    mayWrite?: boolean;
    isScheduler?: boolean;
  },
): Promise<Store> {
  const named = await storeName(flags, host);
  if (isPostgresUrl(named)) return await openDatabase(named, flags, { host, isScheduler });
  const path = mustExist ? await existingStorePath(flags, host) : named;
  const { isNew } = await checkedStore(path, flags, host);
  const risk = mayWrite ? await riskOf(path, flags, host) : undefined;
  const options: SqliteOptions = {
    ...risk !== undefined && risk.blocksWrites && { risk: risk.why },
    openMs: WAIT_MS,
    waitMs: isScheduler ? SCHEDULER_WAIT_MS : WAIT_MS,
    onBusy: (mostMs) =>
      host.note(
        `hsgate: the store "${path}" is locked by another process; waiting up to ${mostMs / 1000} s for it`,
      ),
  };
  // This check must come before the store is opened, because opening creates a new mark.
  const unmarked = path === ":memory:" ? undefined : await withStoreErrors(path, () => whyUnmarked(path));
  const wasEmpty = unmarked !== undefined && sizeOf(path) === 0;
  const store = await withStoreErrors(path, async () => await openSqlite(path, options));
  if (isNew) {
    try {
      await recordStore(path, flags, host);
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  }
  // A missing mark matters only if the store contains a write, or if the file was empty: it may have lost its writes.
  const hasWrites = Object.keys((await store.ownMark())?.lastWrites ?? {}).length > 0;
  if (unmarked !== undefined && (hasWrites || wasEmpty)) {
    host.note(`hsgate: warning: the store "${path}": ${unmarked}`);
  }
  return store;
}

/**
 * Opens the store on PostgreSQL that a URL names.
 *
 * @throws {UsageError} If only the settings of the working folder name it: their author must not choose the database.
 */
async function openDatabase(
  url: string,
  flags: StoreFlags,
  { host, isScheduler }: { host: Host; isScheduler: boolean },
): Promise<Store> {
  const { openPostgres } = await import("../../../lib/store/postgres.ts");
  if (!await isNamed(flags, host)) {
    throw new UsageError(
      "Cannot use the store on PostgreSQL that the settings of this folder name: name it with --store, HSGATE_STORE " +
        "or --config",
    );
  }
  const { storePassword } = (await loadSettingsOf(flags, host)).settings;
  const store = await openPostgres(url, {
    waitMs: isScheduler ? SCHEDULER_WAIT_MS : WAIT_MS,
    ...storePassword !== undefined && { password: storePassword },
  });
  const { clockFault } = store;
  if (clockFault !== undefined) {
    host.note(`hsgate: warning: ${clockFault}; until then nothing is written to the broker`);
  }
  return store;
}

/** Returns whether a person named the store, or the settings file that names it. */
export async function isNamed(flags: StoreFlags, host: Host): Promise<boolean> {
  if (flags.store !== undefined || (flags.config ?? host.env("HSGATE_CONFIG")) !== undefined) return true;
  return (await loadSettingsOf(flags, host)).origins.store === "HSGATE_STORE";
}

/**
 * Checks the path of the store before its halt file is written or removed. If the path is a link, the halt file is
 * beside the target of the link. A link in somebody else's folder must not decide which store is halted or resumed.
 *
 * @throws {UsageError} If nobody named the store, and it is a link out of its folder or to a missing file.
 */
export async function refuseLinkedStore(path: string, flags: StoreFlags, host: Host): Promise<void> {
  // Without readable settings, only a flag or a variable has named the store.
  const named = isNamed(flags, host).catch(() => host.env("HSGATE_STORE") !== undefined);
  if (isPostgresUrl(path) || !isLink(path) || await named) return;
  const place = realPlace(path);
  if (place !== undefined && linkedOutside(path) === undefined) return;
  throw new UsageError(
    `Cannot use the store "${path}": it is a link to ${
      place === undefined ? "a missing file" : "a file outside the folder"
    }; if that store is yours, name it with --store`,
  );
}

/**
 * Checks a store before it is opened, and returns whether the store is new.
 *
 * @throws {TrustError} If another user may have created it.
 */
async function checkedStore(path: string, flags: StoreFlags, host: Host): Promise<{ isNew: boolean }> {
  if (path === ":memory:") return { isNew: false };
  const needsTrust = !await isNamed(flags, host);
  return await checkStore(path, { needsTrust, trust: TrustFile.of(host.env) }).catch((error) => {
    throw storeError(path, error);
  });
}

/**
 * Records trust in a store that this user has created. Does nothing for a named store.
 *
 * @throws {TrustError} If the trust cannot be recorded.
 */
export async function recordStore(path: string, flags: StoreFlags, host: Host): Promise<void> {
  const id = await isNamed(flags, host) ? undefined : await withStoreErrors(path, () => storeIdIn(path));
  if (id !== undefined) await trustStore(TrustFile.of(host.env), { id, path, at: host.now() });
}

/** Prints a warning if a recipe that writes is about to run with a store that may be lost. */
export async function warnOfPlace(
  { name: path, risk }: Store,
  recipes: readonly Pick<CompiledRecipe, "name" | "class">[],
  { flags, host }: { flags: StoreFlags; host: Host },
): Promise<void> {
  const writing = recipes.find(({ class: kind }) => kind === "write");
  if (writing === undefined) return;
  const why = risk ?? (isPostgresUrl(path) ? undefined : (await riskOf(path, flags, host))?.why);
  if (why === undefined) return;
  const what = risk === undefined ? "writes, so it needs a durable store" : "will not run: it writes";
  host.note(`hsgate: warning: "${writing.name}" ${what}, and the store "${path}" may be lost because ${why}`);
}

/**
 * Returns why a store at this path may be lost; `undefined` if it is durable, or if the setting `volatileStore`
 * allows it.
 */
async function riskOf(path: string, flags: StoreFlags, host: Host): Promise<StoreRisk | undefined> {
  const temporary = ["/tmp", host.env("TMPDIR"), host.env("TEMP"), host.env("TMP")].flatMap((folder) =>
    folder === undefined ? [] : [folder, resolved(folder)]
  );
  const place = path === ":memory:" ? path : resolved(path);
  const risk = storeRiskOf(place, { fileSystem: await fileSystemOf(place), temporary });
  if (risk === undefined) return undefined;
  return (await loadSettingsOf(flags, host)).settings.volatileStore === "allow" ? undefined : risk;
}

/** Returns the path with links resolved; for a missing file, resolves its folder. */
function resolved(path: string): string {
  for (const [folder, name] of [[path, ""], splitPath(path)] as const) {
    try {
      return `${Deno.realPathSync(folder)}${name}`;
    } catch (error) {
      const isMissing = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
      if (!isMissing) throw error;
    }
  }
  return path; // opening the store reports that the folder is missing
}

function splitPath(path: string): readonly [folder: string, name: string] {
  const at = path.lastIndexOf("/");
  return at < 0 ? [".", `/${path}`] : [path.slice(0, at) || "/", path.slice(at)];
}

/**
 * Returns the file system type of a file, from `df`; reading the list of mounts would need all permissions. Returns
 * `undefined` if the system is not Linux or `df` cannot run.
 */
async function fileSystemOf(path: string): Promise<string | undefined> {
  if (Deno.build.os !== "linux" || path === ":memory:") return undefined;
  const [folder] = splitPath(path);
  try {
    const { stdout } = await new Deno.Command("df", {
      args: ["-PT", "--", folder],
      // The environment of this process may contain the trade password.
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin" },
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1)?.split(/\s+/)[1];
  } catch {
    return undefined; // no `df`, or no permission: only the path is checked
  }
}

/** Runs work on a store, and rewrites errors of SQLite into {@linkcode StoreError}. */
export async function withStoreErrors<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeError(path, error);
  }
}

/** Returns a {@linkcode StoreError} for an error of SQLite or of the store's files; returns other errors unchanged. */
export function storeError(path: string, error: unknown): unknown {
  const isOfSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
  const isOfSystem = error instanceof Error && /\(os error \d+\)/.test(error.message);
  const mayBeAccess = isOfSystem ||
    isOfSqlite && /unable to open|readonly database|disk I\/O|is full/.test(error.message);
  const isFull = isOfSqlite && error.message.includes("is full");
  const why = (mayBeAccess ? whyNoAccess(path) : undefined) ??
    (isFull ? "its disk is full; free some space" : undefined);
  if (why !== undefined) {
    return new StoreError(`Cannot use the store "${path}": ${why}`, { code: "no-access", cause: error });
  }
  if (!isOfSqlite) return error;
  return new StoreError(`Cannot use the store "${path}": ${error.message}`, {
    code: "sqlite",
    cause: error,
  });
}

/** Checks that the store contains a recipe. @throws {UsageError} If not; the message names the nearest recipe. */
export async function checkKnown(store: Store, recipe: string): Promise<void> {
  const names = [...new Set([...await scheduledRecipes(store), ...await recipesWithRuns(store)])].sort();
  if (names.includes(recipe)) return;
  throw new UsageError(
    `Cannot find "${recipe}": the store contains no such recipe${knownNames(recipe, names)}`,
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns how long the store keeps rows, from the settings. */
export function retentionOf(
  { keepRunsDays, keepRecipeRuns, keepLogDays, keepLogLines }: Settings,
): Retention {
  return {
    runsDays: keepRunsDays,
    recipeRuns: keepRecipeRuns,
    logDays: keepLogDays,
    logLines: keepLogLines,
  };
}

/**
 * Returns the time that a command writes into the store. Uses the store's own clock if it has one, because this
 * machine's clock may be wrong by hours.
 */
export const storeTime = (store: Store, host: Pick<Host, "now">): number => store.now() ?? host.now();
