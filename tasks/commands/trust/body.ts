/**
 * Runs `hsgate trust`.
 *
 * @module
 */
import { inspectSettingsFile, type SettingsFileContent } from "../../../lib/client/load_settings.ts";
import { readOwned } from "../../../lib/owned_files.ts";
import { OtherRecipes } from "../../../lib/recipes/files/load_recipe.ts";
import { offerTrust, Trust, type TrustOffer } from "../../../lib/runner/trust/trust.ts";
import {
  digestOf,
  distrust,
  FOUND_SETTINGS,
  isLinkOut,
  isUnchanged,
  trustCalendars,
  trustSettings,
} from "../../../lib/runner/trust/trusted_files.ts";
import { isSameStore, trustStore } from "../../../lib/runner/trust/trusted_stores.ts";
import { type Power, powerText, RecipeError } from "../../../lib/recipes/mod.ts";
import { powerData } from "../../../lib/recipes/powers.ts";
import { DeclinedError, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { checkListColumns, listView, printList, refuseListFlags } from "../../terminal/list_output.ts";
import { type Column, paint, plain } from "../../terminal/print.ts";
import type { TrustInput } from "../trust.ts";
import { fileOfRecipe, recipeFiles } from "../shared/recipe_files.ts";
import { type CalendarFile, calendarLines, findCalendars, showCalendars } from "../shared/local_calendars.ts";
import { readStore, showStore, storeData, type StoreOffer } from "./store.ts";

/** Items that the user is asked to trust. */
interface TrustRequest {
  recipes: TrustOffer[];
  settings: AskedSettings[];
  stores: StoreOffer[];
  calendars: CalendarFile[];
}

/**
 * Shows what recipes and settings may do (their powers), and records trust. With a flag, lists or removes trust
 * instead. Returns 2 if a recipe has a mistake.
 */
export async function run({ args, flags, host }: TrustInput): Promise<number> {
  if (flags.list && flags.remove) throw new UsageError("Cannot use --list with --remove: give one of them");
  const trust = Trust.of(host.env);
  if (flags.list) return await list(trust, { flags, host });
  refuseListFlags(flags, "without --list");
  if (flags.remove) return await remove(trust, { args, flags, host });
  const files = args.filter(isSettingsFile);
  const settings = await Promise.all(files.map((path) => readAsked(path, host)));
  const stores = await Promise.all(args.filter(isStoreFile).map(readStore));
  const calendars = await Promise.all(
    args.filter(isCalendarsFile).map((path) => readCalendarFile(path, host)),
  );
  const paths = args.filter(isRecipeFile);
  const { offers, wrong } = args.length > 0 && paths.length === 0
    ? { offers: [], wrong: [] }
    : await offersOf(paths, host);
  for (const line of wrong) host.note(`hsgate: ${plain(line)}`);
  const asking: TrustRequest = {
    recipes: offers.filter(({ record }) => record.powers.length > 0),
    settings: settings.filter(({ powers }) => powers.length > 0),
    stores,
    calendars,
  };
  if (!flags.json) {
    for (const each of settings) showSettings(each, host);
    for (const each of stores) showStore(each, host);
    for (const each of calendars) await showCalendars(each, host);
    for (const offer of offers) show(offer, host, await trust.changeOf(offer.path));
  }
  const names = plain([
    ...[...asking.settings, ...asking.stores, ...asking.calendars].map(({ path }) => `"${path}"`),
    ...asking.recipes.map(({ recipe }) => `"${recipe.name}"`),
  ].join(", "));
  if (names !== "") {
    await consent(names, { yes: flags.yes ?? false, host });
    await record(asking, trust, host);
  }
  if (flags.json) {
    host.out(
      JSON.stringify([
        ...settings.map(settingsData),
        ...stores.map(storeData),
        ...await Promise.all(calendars.map(calendarsData)),
        ...offers.map(dataOf),
      ]),
    );
  } else {
    host.note(
      names === ""
        ? wrong.length > 0
          ? "hsgate: nothing was recorded"
          : "hsgate: nothing was recorded: none of this needs trust"
        : `hsgate: trusted ${names}`,
    );
  }
  return wrong.length > 0 ? 2 : 0;
}

/** Records trust of settings and recipes that were just written, without asking. */
export async function trustWritten(
  { settings, recipes }: { settings: string; recipes: string },
  host: Host,
): Promise<void> {
  const { offers } = await offersOf([recipes], host);
  const asked = await readAsked(settings, { ...host, readFile: readOwned });
  await record(
    {
      recipes: offers.filter(({ record }) => record.powers.length > 0),
      settings: [asked],
      stores: [],
      calendars: [],
    },
    Trust.of(host.env),
    host,
  );
}

async function record(
  { recipes, settings, stores, calendars }: TrustRequest,
  trust: Trust,
  host: Host,
): Promise<void> {
  if (recipes.length > 0) await trust.add(new Map(recipes.map(({ path, record }) => [path, record])));
  for (const asked of settings) {
    await trustSettings(asked, trust.file, { at: host.now() });
  }
  for (const { id, path } of stores) await trustStore(trust.file, { id, path, at: host.now() });
  for (const { path, text } of calendars) await trustCalendars(trust.file, { path, text, at: host.now() });
}

/** A settings file, and the digest of it and of the files that it names. */
type AskedSettings = SettingsFileContent & { digest: string };

const isStoreFile = (path: string) => path.endsWith(".db");
const isCalendarsFile = (path: string) => path.endsWith(".json");
const isRecipeFile = (path: string) =>
  ![isSettingsFile, isStoreFile, isCalendarsFile].some((isOther) => isOther(path));

/** Returns a calendar file. @throws {UsageError} If there is none at the path. */
async function readCalendarFile(path: string, host: Pick<Host, "env">): Promise<CalendarFile> {
  const found = await findCalendars({ path, needsTrust: true }, host);
  if (found === undefined) throw new UsageError(`Cannot trust "${path}": there is no such file`);
  return found;
}

const calendarsData = async ({ path, file }: CalendarFile) => ({
  path,
  days: await calendarLines(file),
  trusted: true,
});

const isSettingsFile = (path: string) => path.replace(/^.*\//, "") === FOUND_SETTINGS;

/**
 * Returns a settings file with its digest.
 *
 * @throws {UsageError} If there is no such file, or it is a link to a file outside its folder.
 */
async function readAsked(path: string, host: Pick<Host, "readFile">): Promise<AskedSettings> {
  if (await isLinkOut(path)) {
    throw new UsageError(
      `Cannot trust "${path}": it is a link to a file outside its folder; name that file with --config instead`,
    );
  }
  const asked = await inspectSettingsFile(path, host.readFile);
  if (asked === undefined) throw new UsageError(`Cannot trust "${path}": there is no such file`);
  return { ...asked, digest: await digestOf(asked, host.readFile) };
}

async function offersOf(
  paths: readonly string[],
  host: Host,
): Promise<{ offers: TrustOffer[]; wrong: string[] }> {
  const offers = new Map<string, TrustOffer>();
  const wrong: string[] = [];
  const options = { at: host.now(), signal: host.signal };
  const others = new OtherRecipes();
  for (const { path, refused } of await recipeFiles(paths)) {
    if (refused !== undefined) {
      wrong.push(`${path}:1:1: ${refused}`);
      continue;
    }
    try {
      for (const offer of await offerTrust(path, options, offers, others)) offers.set(offer.path, offer);
    } catch (error) {
      if (!(error instanceof RecipeError)) throw error;
      for (const { line, column, message } of error.issues) {
        wrong.push(`${path}:${line}:${column}: ${message}`);
      }
    }
  }
  return { offers: [...offers.values()], wrong };
}

/** Asks the user. @throws {UsageError} If there is no terminal. @throws {DeclinedError} If the answer is no. */
async function consent(names: string, { yes, host }: { yes: boolean; host: Host }): Promise<void> {
  if (yes) return;
  if (!host.canAsk) throw new UsageError(`Cannot trust ${names} without a terminal: use --yes`);
  const answer = await host.ask(`Trust ${names} as shown? [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new DeclinedError(`Cannot trust ${names}: the answer was no`);
}

/** Prints one line for each setting that can do something. */
export function showSettings(
  { path, powers }: Pick<SettingsFileContent, "path" | "powers">,
  host: Host,
): void {
  host.out(`${paint(host, "bold", "settings")}  ${paint(host, "dim", plain(path))}`);
  for (const { name, value, power } of powers) {
    host.out(paint(host, "yellow", `  ${plain(`${name}: ${value}`)} (${power})`));
  }
}

const settingsData = ({ path, powers }: SettingsFileContent) => ({
  path,
  settings: powers,
  trusted: powers.length > 0,
});

function show({ recipe, powers }: TrustOffer, host: Host, changed: string | undefined): void {
  host.out(`${paint(host, "bold", plain(recipe.name))}  ${paint(host, "dim", plain(recipe.file))}`);
  if (changed !== undefined) {
    host.out(paint(host, "yellow", plain(`  changed after it was trusted: ${changed}`)));
  }
  // Each line is shown as a whole: nobody can approve the part of a line that was cut off.
  for (const line of powerLines(powers, host)) host.out(line, { exact: true });
}

/** Returns one line for each power. The lines of powers that need trust are highlighted. */
export function powerLines(powers: readonly Power[], host: Pick<Host, "color">): string[] {
  return powers.map((power) => {
    const line = `  ${plain(powerText(power))}`;
    return power.needsTrust ? paint(host, "yellow", line) : paint(host, "dim", line);
  });
}

const dataOf = ({ path, recipe, powers, record }: TrustOffer) => ({
  path,
  name: recipe.name,
  powers: powers.map(powerData),
  trusted: record.powers.length > 0,
});

/** A trusted file. */
interface TrustedFile {
  path: string;
  trustedAt: string;
  state: string;
  /** What has changed since. */
  changed?: string;
}

const listColumns: readonly Column<TrustedFile>[] = [
  { title: "state", keep: true, of: ({ state }) => state },
  { title: "since (UTC)", name: "since", of: ({ trustedAt }) => trustedAt },
  { title: "file", name: "file", id: true, of: ({ path }) => path },
  { title: "changed", of: ({ changed }) => changed ?? "" },
];

async function list(trust: Trust, { flags, host }: Pick<TrustInput, "flags" | "host">): Promise<number> {
  const view = listView(flags);
  checkListColumns(view, listColumns);
  const { recipes, settings, stores, calendars } = await trust.file.read();
  const row = (path: string, trustedAt: string, isSame: boolean, changed?: string): TrustedFile => ({
    path,
    trustedAt,
    state: isSame ? "trusted" : "changed",
    ...changed !== undefined && { changed },
  });
  const rows = await Promise.all([
    ...[...recipes].map(async ([path, { trustedAt }]) => {
      const changed = await trust.changeOf(path);
      return row(path, trustedAt, changed === undefined, changed);
    }),
    ...[...settings].map(async ([path, record]) =>
      row(path, record.trustedAt, await isUnchanged(path, record, host.readFile))
    ),
    ...[...stores].map(async ([path, { id, trustedAt }]) =>
      row(path, trustedAt, await isSameStore(path, id))
    ),
    ...[...calendars].map(async ([path, { trustedAt }]) =>
      row(path, trustedAt, await isSameFile(path, host))
    ),
  ]);
  printList(host, view, { columns: listColumns, rows, empty: "nothing is trusted" });
  return 0;
}

/** Returns whether a recorded calendar file is unchanged; `false` if it cannot be read. */
async function isSameFile(path: string, host: Pick<Host, "env">): Promise<boolean> {
  try {
    return (await findCalendars({ path, needsTrust: true }, host))?.standing === "trusted";
  } catch {
    return false; // a command that uses the file gives the reason
  }
}

async function remove(trust: Trust, { args, flags, host }: TrustInput): Promise<number> {
  if (args.length === 0) throw new UsageError("Cannot remove trust: name the recipes or files");
  const files: string[] = [];
  const removed = await distrust("settings", args.filter(isSettingsFile), trust.file);
  removed.push(...await distrust("stores", args.filter(isStoreFile), trust.file));
  removed.push(...await distrust("calendars", args.filter(isCalendarsFile), trust.file));
  for (const path of args.filter(isRecipeFile)) {
    // Trust of a recipe can be removed even if its file is deleted.
    const isThere = await Deno.stat(path).then(
      () => true,
      async () => await fileOfRecipe(path) !== undefined,
    );
    files.push(...isThere ? (await recipeFiles([path])).map(({ path }) => path) : [path]);
  }
  removed.push(...await trust.remove(files));
  if (flags.json) host.out(JSON.stringify(removed));
  else if (removed.length === 0) host.out("none of them was trusted");
  else for (const path of removed) host.out(plain(`no longer trusted: ${path}`));
  return 0;
}
