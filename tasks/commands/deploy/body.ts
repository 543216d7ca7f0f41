/**
 * Runs `hsgate deploy`.
 *
 * @module
 */
import { isPostgresUrl, readPostgresUrl, withoutPassword } from "../../../lib/store/postgres_url.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import {
  crontab,
  denoCron,
  type DeployFile,
  type Deployment,
  type DeployOptions,
  environmentFile,
  kubernetes,
  logFile,
  systemd,
} from "../../../lib/deploy/mod.ts";
import { isLink, PRIVATE_FOLDER, replaceFile } from "../../../lib/private_files.ts";
import { FOUND_SETTINGS } from "../../../lib/runner/trust/trusted_files.ts";
import { StoreError } from "../../../lib/store/store_error.ts";
import { storeRiskOf } from "../../../lib/store/place.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { DeployInput } from "../deploy.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { paint, plain } from "../../terminal/print.ts";
import { foundSettings, loadSettingsOf } from "../shared/session.ts";
import { lastingDeno } from "./lasting_deno.ts";
import { isNamed } from "../shared/store_file.ts";
import { TrustFile } from "../../../lib/runner/trust/trust_file.ts";
import { checkStore as checkFoundStore } from "../../../lib/runner/trust/trusted_stores.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { absolute, denoFlags, importPath, programPath, relativeTo } from "./paths.ts";
import { loadRecipes } from "../shared/recipe_files.ts";

const systems = ["crontab", "systemd", "kubernetes", "deno-cron"] as const;
type System = (typeof systems)[number];

/** Writes the files for a system, or prints a crontab; returns 2 if a recipe has a mistake. */
export async function run({ args, flags, host }: DeployInput): Promise<number> {
  const to = systemOf(flags.to);
  if (flags.out === undefined && to !== "crontab") {
    throw new UsageError(`Cannot write the files for ${to}: name their folder with --out DIR`);
  }
  const { recipes: all, report, untrusted } = await loadRecipes(args, { host, now: host.now });
  if (!report.ok) return 2;
  for (const { text } of untrusted.values()) host.note(`hsgate: warning: ${plain(text)}`);
  const recipes = scheduled(all, host);
  const options = await optionsOf(to, { flags, host });
  checkStore(recipes, options);
  if (to !== "kubernetes") await warnOfStore(options.store, flags, host);
  if (to === "kubernetes") checkInImage(recipes, options);
  if (options.storeRisk !== undefined) {
    host.note(`hsgate: warning: the store may not last: ${options.storeRisk}`);
  }
  const deployment = deploymentOf(to, recipes, { options, flags });
  const { files } = deployment;
  if (to === "crontab" && isLink(logFile(options))) {
    throw new UsageError(
      `Cannot deploy to crontab: "${
        logFile(options)
      }" is a link, and the output of each start would be appended to its ` +
        "target; remove the link",
    );
  }
  if (to === "crontab" && files.some(({ text }) => text.includes(`--env-file=`))) {
    await warnOfVariables(options.dir, host);
  }
  if (flags.out !== undefined) await write(files, { folder: flags.out, force: flags.force ?? false });
  const paths = files.map(({ name }) =>
    flags.out === undefined ? name : `${flags.out.replace(/\/+$/, "")}/${name}`
  );
  if (flags.json) {
    const { rows, next } = deployment;
    const texts = flags.out === undefined ? { texts: files.map(({ text }) => text) } : {};
    host.out(JSON.stringify({ to, files: paths, recipes: rows, next, ...texts }));
  } else if (flags.out === undefined) host.out(files.map(({ text }) => text.trimEnd()).join("\n"));
  else show(deployment, { paths, folder: flags.out, options, host });
  return 0;
}

function systemOf(to: string | undefined): System {
  const found = systems.find((each) => each === to);
  if (found !== undefined) return found;
  const list = systems.map((each) => `"${each}"`).join(", ");
  throw new UsageError(
    to === undefined
      ? `Cannot deploy: name the system with --to (${list})`
      : `Cannot deploy to "${to}": choose one of ${list}`,
  );
}

/**
 * Warns about a store that somebody else may have created. The written command lines name the store, and hsgate uses a
 * named store without checking whether it is trusted.
 */
async function warnOfStore(path: string, flags: DeployInput["flags"], host: Host): Promise<void> {
  if (path === ":memory:" || isPostgresUrl(path) || await isNamed(flags, host)) return;
  try {
    await checkFoundStore(path, { needsTrust: true, trust: TrustFile.of(host.env) });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    host.note(`hsgate: warning: every start would use a store that is not trusted: ${plain(error.message)}`);
  }
}

/** Warns which variables an existing environment file sets, because somebody else may have created the file. */
async function warnOfVariables(dir: string, host: Host): Promise<void> {
  const path = environmentFile({ dir });
  const file = await host.readFile(path);
  if (file === undefined) return;
  const names = [...file.text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/gm)].map(([, name]) => name);
  if (names.length === 0 && !/^\s*[^\s#;]/m.test(file.text)) return; // only comments and empty lines
  host.note(
    `hsgate: warning: every start reads "${plain(path)}", which sets ${
      plain(names.length === 0 ? "something that hsgate cannot read" : names.join(", "))
    }: if you did not write ` +
      "the file yourself, check it, because variables override the settings and can name another trust record",
  );
}

/**
 * Returns the recipes with a schedule; prints a note about each other recipe.
 *
 * @throws {UsageError} If no recipe has a schedule, or two recipes have the same name.
 */
function scheduled(all: readonly CompiledRecipe[], host: Host): CompiledRecipe[] {
  const recipes = all.filter(({ schedules }) => schedules.length > 0);
  for (const { name, schedules } of all) {
    if (schedules.length === 0) host.note(`hsgate: "${name}" has no schedule, so it is left out`);
  }
  const names = recipes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`Cannot deploy: two recipes have the name "${twice}"`);
  if (recipes.length === 0) throw new UsageError("Cannot deploy: no recipe has a schedule");
  return recipes;
}

async function optionsOf(
  to: System,
  { flags, host }: Pick<DeployInput, "flags" | "host">,
): Promise<DeployOptions> {
  const here = Deno.cwd();
  const inCluster = to === "kubernetes";
  const dir = absolute(flags.dir ?? (inCluster ? "/app" : here), here);
  const usual = inCluster
    ? "/data/hsgate.db"
    : (await loadSettingsOf(flags, host)).settings.store ?? "hsgate.db";
  const store = storeOf(flags.store ?? usual, dir);
  const program = absolute(flags.program ?? (inCluster ? `${dir}/tasks/hsgate.ts` : programPath()), here);
  const storeRisk = storeRiskAt(store, host);
  const config = await configOf(flags, { host, dir, inCluster });
  const denoDir = inCluster ? undefined : host.env("DENO_DIR");
  return {
    deno: flags.deno ?? (inCluster ? "/usr/bin/deno" : lastingDeno(host)),
    denoFlags: denoFlags(program),
    program,
    dir,
    store,
    // A path below the current folder becomes a path below the working folder of the target system.
    fileOf: ({ file }) => absolute(relativeTo(here, absolute(file, here)), dir),
    calendars: calendarsOf(host),
    now: host.now(),
    ...config !== undefined && { config },
    ...denoDir !== undefined && { denoDir },
    ...storeRisk !== undefined && { storeRisk },
  };
}

/** Returns the path of the store, or the URL of a database without its password, which no written file may contain. */
function storeOf(named: string, dir: string): string {
  if (named === ":memory:") return named;
  if (!isPostgresUrl(named)) return absolute(named, dir);
  try {
    readPostgresUrl(named);
  } catch (error) {
    if (error instanceof StoreError) throw new UsageError(error.message);
    throw error;
  }
  return withoutPassword(named);
}

/** Returns the settings file for the runs: the named one, or `hsgate.yaml` of their folder. */
async function configOf(
  flags: DeployInput["flags"],
  { host, dir, inCluster }: { host: Host; dir: string; inCluster: boolean },
): Promise<string | undefined> {
  const here = Deno.cwd();
  const named = flags.config ?? host.env("HSGATE_CONFIG");
  if (named !== undefined) return absolute(relativeTo(here, absolute(named, here)), dir);
  // The image is built from this folder.
  const folders = inCluster ? [here, dir] : [dir];
  // The written command lines name this settings file, so it must be trusted now. `loadSettingsOf` has
  // checked only the file of the current folder.
  const there = inCluster ? undefined : await foundSettings(flags, host, dir);
  if (there?.refused !== undefined) throw there.refused.error;
  const found = await Promise.all(folders.map((folder) => exists(`${folder}/${FOUND_SETTINGS}`)));
  return found.some(Boolean) ? `${dir}/${FOUND_SETTINGS}` : undefined;
}

/**
 * Returns why a store at this path may be lost; `undefined` if the path shows no risk. The runner checks the volume
 * later, when it opens the store.
 */
function storeRiskAt(store: string, host: Pick<Host, "env">): string | undefined {
  if (isPostgresUrl(store)) return undefined;
  const own = host.env("TMPDIR");
  const temporary = ["/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm", ...own === undefined ? [] : [own]];
  return storeRiskOf(store, { temporary })?.why;
}

/**
 * Rejects a store that may be lost, if a recipe trades: without the record of an earlier run, the recipe would trade
 * twice. Rejects a store in memory for every recipe.
 */
function checkStore(recipes: readonly CompiledRecipe[], { store, storeRisk }: DeployOptions): void {
  if (storeRisk === undefined) return;
  const writer = recipes.find(({ class: kind }) => kind === "write");
  if (writer === undefined && store !== ":memory:") return;
  const what = writer === undefined ? "recipes" : `"${writer.name}", which trades,`;
  throw new UsageError(
    `Cannot deploy ${what} with the store "${store}": ${storeRisk}; use --store to name a durable store`,
  );
}

/** Rejects recipes outside the folder: the image is built from that folder, so it would not contain them. */
function checkInImage(recipes: readonly CompiledRecipe[], { fileOf, dir }: DeployOptions): void {
  const outside = recipes.find((recipe) => !fileOf(recipe).startsWith(`${dir}/`));
  if (outside === undefined) return;
  throw new UsageError(
    `Cannot deploy "${outside.file}" to kubernetes: it is outside the folder that becomes "${dir}" in the image; ` +
      "run this command in the folder that the image copies, or, if the image has the file at this path, " +
      "set --dir to a folder above it",
  );
}

function deploymentOf(
  to: System,
  recipes: readonly CompiledRecipe[],
  { options, flags }: { options: DeployOptions; flags: DeployInput["flags"] },
): Deployment {
  if (to === "crontab") return crontab(recipes, options);
  if (to === "systemd") {
    return systemd(recipes, {
      ...options,
      forUser: flags.user ?? false,
      runAs: flags["run-as"] ?? "hsgate",
    });
  }
  if (to === "kubernetes") {
    const { as = "jobs" } = flags;
    if (as !== "jobs" && as !== "scheduler") {
      throw new UsageError(`Cannot deploy as "${as}": choose "jobs" or "scheduler"`);
    }
    return kubernetes(recipes, { ...options, image: flags.image ?? "hsgate:latest", as });
  }
  const folder = absolute(flags.out!, Deno.cwd()); // `run` requires --out for this system
  return denoCron(recipes, {
    ...options,
    tickModule: importPath(folder, options.program),
    ...flags.timeline !== undefined && { timeline: flags.timeline },
  });
}

/** Writes all files. Without `force`, writes none if one of them exists. */
async function write(
  files: readonly DeployFile[],
  { folder, force }: { folder: string; force: boolean },
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const there: string[] = [];
  for (const { name } of files) if (await exists(`${folder}/${name}`)) there.push(name);
  if (there.length > 0 && !force) {
    throw new UsageError(
      `Cannot write into "${folder}": "${there.join('", "')}" ${
        there.length === 1 ? "exists" : "exist"
      } already; --force overwrites`,
    );
  }
  for (const { name, text } of files) {
    replaceFile(`${folder}/${name}`, text);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function show(
  { rows, next }: Deployment,
  { paths, folder, options, host }: {
    paths: readonly string[];
    folder: string;
    options: DeployOptions;
    host: Host;
  },
): void {
  for (const { recipe, lines, checkedByRecipe } of rows) {
    host.out(paint(host, "bold", plain(recipe)));
    for (const line of lines) host.out(`  ${plain(line)}`);
    host.out(paint(host, "dim", `  the recipe itself checks: ${plain(checkedByRecipe)}`));
  }
  host.out("");
  for (const path of paths) host.out(`wrote ${path}`);
  host.out(`Each start runs ${plain(options.program)} with ${plain(options.deno)}`);
  host.out("");
  host.out(`Left to do, in "${folder}":`);
  for (const line of next) host.out(`  ${line}`);
}
