/**
 * Defines what all kinds of deployment share: options, result, command lines and notes.
 *
 * @module
 */
import type { Calendars } from "../calendars/mod.ts";
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { powersOf } from "../recipes/powers.ts";
import { type Firing, firingsOf } from "./firings.ts";
import { shellLine } from "../shell_words.ts";
import { hidden, shownJson } from "../shown_text.ts";
import { isPostgresUrl } from "../store/postgres_url.ts";

/** Options of a deployment. Paths are absolute paths on the machine that runs the recipes. */
export interface DeployOptions {
  /** The Deno program. */
  deno: string;
  /** Flags of `deno run` before the program: permissions, configuration. */
  denoFlags: readonly string[];
  /** Path of `hsgate.ts`. */
  program: string;
  /** Working folder, which contains the settings and the files that recipes write. */
  dir: string;
  /** Path of the store, or the URL of a database, without its password. */
  store: string;
  /** Settings file, if there is one. Each command line names this file, so the file needs no trust. */
  config?: string;
  /** Returns the path of a recipe's file on the target machine. */
  fileOf(recipe: CompiledRecipe): string;
  /** Trading days of the exchanges. */
  calendars: Calendars;
  /** The current time, epoch milliseconds. Session times come from the days around it. */
  now: number;
  /** Folder of Deno's cache, unless it is the default folder. */
  denoDir?: string;
  /** Why the store may be lost. The files contain this as a warning, except those for Kubernetes. */
  storeRisk?: string;
}

/** A file to write. */
export interface DeployFile {
  name: string;
  text: string;
}

/** Description of one recipe of a deployment, for people. */
export interface DeployRow {
  recipe: string;
  /** When the target system starts the recipe, as a text for people. */
  lines: string[];
  /** What the recipe itself checks after its start. */
  checkedByRecipe: string;
}

/** Result of a deployment. */
export interface Deployment {
  files: DeployFile[];
  rows: DeployRow[];
  /** Remaining manual steps, one command or sentence each. */
  next: string[];
}

/**
 * Rejects values that would end the line, the comment or the setting into which they are written. The rest of such a
 * value could run as a command. Also rejects values with hidden characters, and values that systemd would change.
 *
 * @throws {TypeError} If a value is rejected; the message names it.
 */
export function checkDeployValues(recipes: readonly CompiledRecipe[], options: DeployOptions): void {
  const values: [name: string, value: unknown][] = [
    ...Object.entries(options).flatMap(([name, value]): [string, unknown][] =>
      Array.isArray(value) ? value.map((each): [string, unknown] => [name, each]) : [[name, value]]
    ),
    ...recipes.flatMap((recipe): [string, unknown][] => [
      ["name of a recipe", recipe.name],
      ["file of a recipe", options.fileOf(recipe)],
      ...secretVariables(recipe).map((variable): [string, unknown] => ["variable of a secret", variable]),
    ]),
  ];
  for (const [name, value] of values) {
    if (typeof value !== "string") continue;
    // A terminal does not show a hidden character, so a person would read the name of another file. systemd drops a
    // space at the end, so it would use another file.
    if (!/\p{Cc}|\*\/|[\\\s]$/u.test(value) && !hidden().test(value)) continue;
    throw new TypeError(
      `Cannot deploy: the ${name} is ${shownJson(JSON.stringify(value))}; expected a single line without ` +
        'invisible characters, without "*/", and without a space or a backslash at its end',
    );
  }
}

/**
 * Returns the times at which to start a recipe. @throws {TypeError} If the target systems cannot express its schedule.
 */
export function recipeFirings(
  recipe: CompiledRecipe,
  { calendars, now }: Pick<DeployOptions, "calendars" | "now">,
): Firing[] {
  try {
    return recipe.schedules.flatMap((schedule) => firingsOf(calendars, schedule, now));
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.startsWith("Cannot start it")) throw error;
    throw new TypeError(error.message.replace("Cannot start it", `Cannot start "${recipe.name}"`));
  }
}

/** Returns the command line that runs the latest slot of a recipe. */
export function runWords(recipe: CompiledRecipe, options: DeployOptions): string[] {
  const { store } = options;
  // Wait for another run of the account only until this start would count as late, but at least a minute.
  const wait = String(Math.max(60, Math.ceil(recipe.misfire.graceMs / 1000)));
  return [
    ...denoWords(options),
    "run",
    options.fileOf(recipe),
    "--store",
    store,
    "--if-new",
    "--wait",
    wait,
    ...configWords(options),
  ];
}

/** Returns the command line that runs the scheduler for these recipes. */
export function scheduleWords(recipes: readonly CompiledRecipe[], options: DeployOptions): string[] {
  return [
    ...denoWords(options),
    "schedule",
    ...recipes.map(options.fileOf),
    "--store",
    options.store,
    ...configWords(options),
  ];
}

const configWords = ({ config }: DeployOptions): string[] => config === undefined ? [] : ["--config", config];

/** Returns the words that begin each command line. */
function denoWords({ deno, denoFlags, program }: DeployOptions): string[] {
  return [deno, "run", ...denoFlags, program];
}

/**
 * Returns the command that downloads the packages of the program, so that later starts need no access to the registry.
 *
 * @param denoDir Folder of Deno's cache. @default Deno's own default folder
 */
export function fetchLine({ deno, denoFlags, program }: DeployOptions, denoDir?: string): string {
  const config = denoFlags.indexOf("--config");
  const configured = config < 0 ? [] : denoFlags.slice(config, config + 2);
  const words = [deno, "install", "--quiet", "--frozen", ...configured, "--entrypoint", program];
  return shellLine(denoDir === undefined ? words : ["env", `DENO_DIR=${denoDir}`, ...words]);
}

/** Comment after the command of {@linkcode fetchLine}. */
export const fetchNote = "   # once: downloads the packages, so that no start waits for them";

/** Returns what a recipe checks after its start. The system that starts the recipe cannot check this. */
export function checksOfRecipe(recipe: CompiledRecipe): string {
  const parts: string[] = [];
  for (const schedule of recipe.schedules) {
    if (schedule.form === "calendar") {
      parts.push("holidays");
      if (schedule.halfDays !== "skip") parts.push("half-days");
      if (schedule.days !== "every-session") parts.push(schedule.days.replaceAll("-", " "));
    } else if (schedule.form === "cron" && schedule.onlyIn !== undefined) parts.push("holidays");
    else if (schedule.form === "every") {
      if (schedule.while !== undefined) parts.push("holidays", "the session times");
      if (schedule.jitterMs > 0) parts.push("jitter");
    }
  }
  if (recipe.window !== undefined) parts.push("the window");
  return [...new Set([...parts, "whether the slot has already run"])].join(", ");
}

/** Returns how missed slots are handled, as the text of a comment. */
export function missedInWords({ misfire: { action, graceMs }, class: kind }: CompiledRecipe): string {
  const grace = `${Math.round(graceMs / 60_000)} min`;
  if (action === "skip") {
    return `${kind === "write" ? "it writes, so " : ""}a start more than ${grace} late does nothing`;
  }
  if (action === "ask") return `a start more than ${grace} late waits for approval`;
  if (kind === "write") return "a late start runs the latest slot if its window is still open";
  return 'a late start runs the latest slot; run earlier missed slots with "hsgate backfill"';
}

/**
 * Returns whether to start the recipe after the machine was off, in case it missed a slot. Never for a recipe that
 * writes: nobody expects orders because a machine starts.
 */
export const catchesUp = ({ class: kind, misfire: { action } }: CompiledRecipe): boolean =>
  kind !== "write" && action !== "skip";

/** Returns the environment variables that contain the secrets of a recipe. */
export function secretVariables({ secrets = {}, secretNames = [] }: CompiledRecipe): string[] {
  const names = new Set([...Object.keys(secrets), ...secretNames]);
  return [...names].flatMap((name) => {
    const origin = secrets[name];
    if (origin === undefined) return [`HSGATE_SECRET_${name.toUpperCase().replaceAll("-", "_")}`];
    return "env" in origin ? [origin.env] : [];
  });
}

/** Returns the manual step for the secrets of recipes; an empty list if they have none. */
export function secretsStep(recipes: readonly CompiledRecipe[], file: string): string[] {
  const names = [...new Set(recipes.flatMap(secretVariables))];
  return names.length === 0 ? [] : [`secrets of recipes, as NAME=value in ${file}: ${names.join(", ")}`];
}

/** Returns the recipes that must be trusted before they run. */
export const needTrust = (recipes: readonly CompiledRecipe[]): CompiledRecipe[] =>
  recipes.filter((recipe) => powersOf(recipe).some(({ needsTrust }) => needsTrust));

/**
 * Returns the command that trusts the recipes; an empty list if none needs trust.
 *
 * @param as Words before the command, such as `sudo -u hsgate`.
 */
export function trustStep(
  recipes: readonly CompiledRecipe[],
  options: DeployOptions,
  as: readonly string[] = [],
): string[] {
  const files = needTrust(recipes).map(options.fileOf);
  if (files.length === 0) return [];
  const line = shellLine([...as, ...denoWords(options), "trust", ...files, "--yes"]);
  return [`${line}   # once, and after each edit: trusts the recipes in their current form`];
}

/** Returns whether the store is a PostgreSQL database, and not a file. */
export const hasDatabase = ({ store }: Pick<DeployOptions, "store">): boolean => isPostgresUrl(store);

/** Returns the folder for logs and files: the store's folder, or the working folder if the store is a database. */
export const dataFolder = (options: Pick<DeployOptions, "store" | "dir">): string =>
  hasDatabase(options) ? options.dir : folderOf(options.store);

/** Returns the manual step for the password of a database; an empty list if the store is a file. */
export const databaseStep = (options: DeployOptions, file: string): string[] =>
  hasDatabase(options) ? [`the password of the database, as HSGATE_STORE_PASSWORD=value in ${file}`] : [];

/** Returns the folder of a file. */
export const folderOf = (path: string): string => path.replace(/\/[^/]*$/, "") || "/";
