/**
 * The ledger's file: where it lies, and who is paused in it.
 *
 * @module
 */
import { didYouMean } from "../../../lib/client/nearest.ts";
import { Ledger, LedgerError, type LedgerOptions } from "../../../lib/runner/ledger.ts";
import { whyNoAccess } from "../../../lib/runner/ledger_access.ts";
import { markPath, sizeOf, whyUnmarked } from "../../../lib/runner/ledger_mark.ts";
import { type Doubt, doubtAbout } from "../../../lib/runner/ledger_place.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { FlagValues, sharedFlags } from "../command.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";
import { loadSettingsOf } from "../session.ts";

/** The ledger when none is named. */
const LEDGER = "hsgate.db";

/** What names a ledger. */
export type LedgerFlags = FlagValues<typeof sharedFlags> & { readonly ledger?: string };

/** The file that a flag names, or else the settings. */
export async function ledgerPath(flags: LedgerFlags, host: Host): Promise<string | undefined> {
  return flags.ledger ?? (await loadSettingsOf(flags, host)).settings.ledger;
}

/** Tells whether there is a ledger: the one that is named, or `hsgate.db`. */
export async function ledgerExists(flags: LedgerFlags, host: Host): Promise<boolean> {
  return await exists(await ledgerPath(flags, host) ?? LEDGER);
}

/** The file of the ledger that is named, or `hsgate.db`; that of one which has left only its mark, too. @throws {UsageError} When it is not there. */
export async function existingLedger(flags: LedgerFlags, host: Host): Promise<string> {
  const path = await ledgerPath(flags, host) ?? LEDGER;
  // A ledger that is gone and has left its mark is more than missing.
  if (await exists(path) || await exists(markPath(path))) return path;
  throw new UsageError(
    `Cannot open the ledger: there is no "${path}"; "schedule" makes it, --ledger names another`,
  );
}

/** How long a command waits for a ledger that another process keeps locked. */
const WAIT_MS = 30_000;
/** How long a scheduler does so at a time: it goes on with what else there is, and asks again. */
const SCHEDULER_WAIT_MS = 5_000;

/**
 * Opens the ledger that is named, or `hsgate.db`. Where another process keeps it locked, this says so and waits.
 *
 * @throws {UsageError} When one that must be there is not.
 */
export async function openLedger(
  flags: LedgerFlags,
  { host, mustExist, isScheduler = false }: { host: Host; mustExist: boolean; isScheduler?: boolean },
): Promise<Ledger> {
  const path = mustExist ? await existingLedger(flags, host) : await ledgerPath(flags, host) ?? LEDGER;
  // What only looks at a ledger that is there writes nothing to the broker.
  const doubt = mustExist ? undefined : await doubtOf(path, flags, host);
  const options: LedgerOptions = {
    ...doubt !== undefined && !doubt.outlives && { doubt: doubt.why },
    openMs: WAIT_MS,
    waitMs: isScheduler ? SCHEDULER_WAIT_MS : WAIT_MS,
    onBusy: (mostMs) =>
      host.note(
        `hsgate: the ledger "${path}" is locked by another process; waiting up to ${mostMs / 1000} s for it`,
      ),
  };
  // Asked before it is opened: opening it makes a new mark.
  const unmarked = path === ":memory:" ? undefined : readable(path, () => whyUnmarked(path));
  const wasEmpty = unmarked !== undefined && sizeOf(path) === 0;
  const ledger = readable(path, () => new Ledger(path, options));
  // Without a write there is nothing to lose; one of the first versions has none that is counted.
  const hasWrites = Object.keys(ledger.ownMark()?.lastWrites ?? {}).length > 0;
  if (unmarked !== undefined && (hasWrites || wasEmpty)) {
    host.note(`hsgate: warning: the ledger "${path}": ${unmarked}`);
  }
  return ledger;
}

/** Warns whoever runs recipes that write of a ledger that may be gone one day. */
export async function warnOfPlace(
  { path, doubt }: Ledger,
  recipes: readonly Pick<CompiledRecipe, "name" | "class">[],
  { flags, host }: { flags: LedgerFlags; host: Host },
): Promise<void> {
  const writing = recipes.find(({ class: kind }) => kind === "write");
  if (writing === undefined) return;
  const why = doubt ?? (await doubtOf(path, flags, host))?.why;
  if (why === undefined) return;
  const what = doubt === undefined ? "writes, and needs a ledger that stays" : "will not run: it writes";
  host.note(`hsgate: warning: "${writing.name}" ${what}: the ledger "${path}" may be lost, as ${why}`);
}

/** Why writes should not rely on a ledger there; a setting lets them all the same. */
async function doubtOf(path: string, flags: LedgerFlags, host: Host): Promise<Doubt | undefined> {
  const temporary = ["/tmp", host.env("TMPDIR"), host.env("TEMP"), host.env("TMP")].flatMap((folder) =>
    folder === undefined ? [] : [folder, resolved(folder)]
  );
  const place = path === ":memory:" ? path : resolved(path);
  const doubt = doubtAbout(place, { fileSystem: await fileSystemOf(place), temporary });
  if (doubt === undefined) return undefined;
  return (await loadSettingsOf(flags, host)).settings.volatileLedger === "allow" ? undefined : doubt;
}

/** The path without links; of a file that is not there yet, that of its folder. */
function resolved(path: string): string {
  for (const [folder, name] of [[path, ""], splitPath(path)] as const) {
    try {
      return `${Deno.realPathSync(folder)}${name}`;
    } catch (error) {
      const isMissing = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
      if (!isMissing) throw error;
    }
  }
  return path; // whoever opens it says that the folder is missing
}

function splitPath(path: string): readonly [folder: string, name: string] {
  const at = path.lastIndexOf("/");
  return at < 0 ? [".", `/${path}`] : [path.slice(0, at) || "/", path.slice(at)];
}

/** The type of the file system that a file lies on; Linux alone tells, and its own list of mounts takes all permissions. */
async function fileSystemOf(path: string): Promise<string | undefined> {
  if (Deno.build.os !== "linux" || path === ":memory:") return undefined;
  const [folder] = splitPath(path);
  try {
    const { stdout } = await new Deno.Command("df", { args: ["-PT", folder], stderr: "null" }).output();
    return new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1)?.split(/\s+/)[1];
  } catch {
    return undefined; // no such program, or not allowed: the folders that are emptied are known all the same
  }
}

/** Gives what SQLite itself says of a file the form of our own errors. */
export function readable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw ledgerError(path, error);
  }
}

/** An error of SQLite, or of the system about the ledger's files, in our own form; others as they are. */
export function ledgerError(path: string, error: unknown): unknown {
  const isOfSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
  const isOfSystem = error instanceof Error && /\(os error \d+\)/.test(error.message);
  const mayBeAccess = isOfSystem ||
    isOfSqlite && /unable to open|readonly database|disk I\/O|is full/.test(error.message);
  const isFull = isOfSqlite && error.message.includes("is full");
  const why = (mayBeAccess ? whyNoAccess(path) : undefined) ??
    (isFull ? "its disk is full; make room on it" : undefined);
  if (why !== undefined) {
    return new LedgerError(`Cannot use the ledger "${path}": ${why}`, { code: "no-access", cause: error });
  }
  if (!isOfSqlite) return error;
  return new LedgerError(`Cannot use the ledger "${path}": ${error.message}`, {
    code: "sqlite",
    cause: error,
  });
}

/** The recipes that a ledger has seen, by name: one look into the index for each, however many runs it has. */
function recipeNames(ledger: Ledger): string[] {
  const names = new Set(
    ledger.all<{ recipe: string }>("select distinct recipe from schedule").map(({ recipe }) => recipe),
  );
  for (let last: string | null | undefined = "";;) {
    last = ledger.get<{ recipe: string | null }>(
      "select min(recipe) as recipe from run where recipe > ?",
      last,
    )
      ?.recipe;
    if (last === null || last === undefined) return [...names].sort();
    names.add(last);
  }
}

/** Refuses a recipe that the ledger has never seen. @throws {UsageError} With the nearest name. */
export function checkKnown(ledger: Ledger, recipe: string): void {
  const names = recipeNames(ledger);
  if (names.includes(recipe)) return;
  throw new UsageError(
    `Cannot find "${recipe}": the ledger knows no such recipe${didYouMean(recipe, names)}`,
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

/** Schedules that stand still, as `recipe/schedule` with the reason. */
export function pausedOf(ledger: Ledger): Map<string, string> {
  const rows = ledger.all<{ recipe: string; schedule_id: string; paused_reason: string }>(
    "select recipe, schedule_id, paused_reason from schedule where paused_reason is not null",
  );
  return new Map(
    rows.map(({ recipe, schedule_id, paused_reason }) => [`${recipe}/${schedule_id}`, paused_reason]),
  );
}
