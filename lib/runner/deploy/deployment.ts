/**
 * What every kind of deployment is made from, and what it comes to.
 *
 * @module
 */
import type { CompiledRecipe } from "../../steps/compiled.ts";
import { powersOf } from "../../steps/powers.ts";
import { type Firing, firingsOf } from "./firings.ts";

/** Where things lie on the machine that runs the recipes; all paths are absolute. */
export interface DeployOptions {
  /** The Deno program. */
  deno: string;
  /** Flags of `deno run` before the program: permissions, configuration. */
  denoFlags: readonly string[];
  /** `hsgate.ts`. */
  program: string;
  /** Folder that everything runs in: settings lie there, files are written there. */
  dir: string;
  /** The ledger. */
  ledger: string;
  /** The file of a recipe over there. */
  fileOf(recipe: CompiledRecipe): string;
  /** Epoch milliseconds; hours of the markets are looked up around it. */
  now: number;
  /** Folder of Deno's own cache where it is not the usual one. */
  denoDir?: string;
  /** Why the ledger may not outlive the process; written into the files as a warning. */
  doubt?: string;
}

/** A file to write. */
export interface DeployFile {
  name: string;
  text: string;
}

/** One recipe of a deployment, for people. */
export interface DeployRow {
  recipe: string;
  /** What was written for it, such as the times of its timer. */
  lines: string[];
  /** What the recipe itself decides once it is started. */
  inside: string;
}

/** What a deployment comes to. */
export interface Deployment {
  files: DeployFile[];
  rows: DeployRow[];
  /** What is left to do by hand, one command or sentence each. */
  next: string[];
}

/**
 * Refuses values that would end the line, the comment or the setting that they are written into: what follows them
 * would be read as a command of its own.
 *
 * @throws {TypeError} Naming the value.
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
    if (typeof value !== "string" || !/\p{Cc}|[\u2028\u2029]|\*\/|\\$/u.test(value)) continue;
    throw new TypeError(
      `Cannot deploy: the ${name} is ${
        JSON.stringify(value)
      }; expected a text of one line, without "*/" and ` +
        "without a backslash at its end",
    );
  }
}

/** Returns when to look for new slots of a recipe. @throws {TypeError} When nothing outside can follow its schedule. */
export function recipeFirings(recipe: CompiledRecipe, now: number): Firing[] {
  try {
    return recipe.schedules.flatMap((schedule) => firingsOf(schedule, now));
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.startsWith("Cannot start it")) throw error;
    throw new TypeError(error.message.replace("Cannot start it", `Cannot start "${recipe.name}"`));
  }
}

/** The words that run the latest slot of a recipe. */
export function runWords(recipe: CompiledRecipe, options: DeployOptions): string[] {
  const { ledger } = options;
  // What stands in the way is waited for as long as a start is not late.
  const wait = String(Math.max(60, Math.ceil(recipe.misfire.graceMs / 1000)));
  return [
    ...denoWords(options),
    "run",
    options.fileOf(recipe),
    "--ledger",
    ledger,
    "--if-new",
    "--wait",
    wait,
  ];
}

/** The words that run the scheduler for some recipes. */
export function scheduleWords(recipes: readonly CompiledRecipe[], options: DeployOptions): string[] {
  return [...denoWords(options), "schedule", ...recipes.map(options.fileOf), "--ledger", options.ledger];
}

/** The words that start the program. */
export function denoWords({ deno, denoFlags, program }: DeployOptions): string[] {
  return [deno, "run", ...denoFlags, program];
}

/**
 * The command that fetches the packages of the program, so that the first start neither waits for them nor fails
 * where there is no way to the registry.
 *
 * @param denoDir Folder of Deno's cache. @default the usual one
 */
export function fetchLine({ deno, denoFlags, program }: DeployOptions, denoDir?: string): string {
  const config = denoFlags.indexOf("--config");
  const configured = config < 0 ? [] : denoFlags.slice(config, config + 2);
  const words = [deno, "install", "--quiet", "--frozen", ...configured, "--entrypoint", program];
  return shellLine(denoDir === undefined ? words : ["env", `DENO_DIR=${denoDir}`, ...words]);
}

/** What the command is for, as a comment behind it. */
export const fetchNote = "   # once: fetches the packages, so that no start waits for them";

/** Tells what a recipe decides once it is started, as no system outside can. */
export function decidedInside(recipe: CompiledRecipe): string {
  const parts: string[] = [];
  for (const schedule of recipe.schedules) {
    if (schedule.form === "calendar") {
      parts.push("holidays");
      if (schedule.halfDays !== "skip") parts.push("half-days");
      if (schedule.days !== "every-session") parts.push(schedule.days.replaceAll("-", " "));
    } else if (schedule.form === "cron" && schedule.onlyIn !== undefined) parts.push("holidays");
    else if (schedule.form === "every") {
      if (schedule.while !== undefined) parts.push("holidays", "the session's hours");
      if (schedule.jitterMs > 0) parts.push("jitter");
    }
  }
  if (recipe.window !== undefined) parts.push("the window");
  return [...new Set([...parts, "whether it has run"])].join(", ");
}

/** Tells what becomes of slots that were missed, in words for a comment. */
export function missedInWords({ misfire: { action, graceMs }, class: kind }: CompiledRecipe): string {
  const grace = `${Math.round(graceMs / 60_000)} min`;
  if (kind === "write") return `it writes, so a start more than ${grace} late does nothing`;
  if (action === "skip") return `a start more than ${grace} late does nothing`;
  if (action === "ask") return `a start more than ${grace} late waits for a person`;
  return 'a late start runs the latest slot; earlier ones that were missed are for "hsgate backfill"';
}

/** Whether a slot that was missed is worth a late start. */
export const catchesUp = ({ class: kind, misfire: { action } }: CompiledRecipe): boolean =>
  kind !== "write" && action !== "skip";

/** Environment variables that a recipe has its secrets from. */
export function secretVariables({ secrets = {}, secretNames = [] }: CompiledRecipe): string[] {
  const names = new Set([...Object.keys(secrets), ...secretNames]);
  return [...names].flatMap((name) => {
    const origin = secrets[name];
    if (origin === undefined) return [`HSGATE_SECRET_${name.toUpperCase().replaceAll("-", "_")}`];
    return "env" in origin ? [origin.env] : [];
  });
}

/** What is left to do for the secrets of recipes, one sentence or none. */
export function secretsLeft(recipes: readonly CompiledRecipe[], file: string): string[] {
  const names = [...new Set(recipes.flatMap(secretVariables))];
  return names.length === 0 ? [] : [`secrets of recipes, as NAME=value in ${file}: ${names.join(", ")}`];
}

/** The recipes that run only once they are trusted. */
export const needTrust = (recipes: readonly CompiledRecipe[]): CompiledRecipe[] =>
  recipes.filter((recipe) => powersOf(recipe).some(({ needsTrust }) => needsTrust));

/**
 * What is left to do so that recipes may run, one command or none.
 *
 * @param as Words before the command, such as those that make it another user's.
 */
export function trustLeft(
  recipes: readonly CompiledRecipe[],
  options: DeployOptions,
  as: readonly string[] = [],
): string[] {
  const files = needTrust(recipes).map(options.fileOf);
  if (files.length === 0) return [];
  const line = shellLine([...as, ...denoWords(options), "trust", ...files, "--yes"]);
  return [`${line}   # once, and after each edit: lets the recipes run as they are`];
}

/** Writes words for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
    .join(" ");
}

/** The folder of a file. */
export const folderOf = (path: string): string => path.replace(/\/[^/]*$/, "") || "/";
