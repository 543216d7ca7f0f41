/**
 * Creates a Deno cache folder for each process that runs code from outside the toolkit.
 *
 * Even without any permission, code can store data in Deno's cache: with `localStorage`, with `caches`, and as modules
 * that it creates at run time. So each process gets its own cache folder, which is removed when the process ends. At
 * the paths where Deno would create folders for this data, there are files, so that code cannot fill the disk.
 *
 * @module
 */
import { sha256 } from "../../sha256.ts";
import { lazily } from "../../lazy.ts";

const loadSqlite = lazily(() => import("node:sqlite"));

/** Returns the command that starts Deno for code, without prompts, type checks or downloads. */
export function runWords(): string[] {
  return [Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-check", "--cached-only"];
}

/** Location of Deno's cache, and the parts that a process needs. */
interface StepCache {
  /** The folder that Deno itself uses. */
  real: string;
  /**
   * Folders of `real` that a process reads: packages and the toolkit's compiled modules. The new cache links to them.
   */
  linked: readonly string[];
  /**
   * A folder with Deno's analysis of the toolkit's modules. Its files are copied, because a new analysis takes long.
   */
  analysis: string;
}

/** Location of the toolkit, and the environment for Deno. */
interface CacheOptions {
  /** URL of the toolkit's root folder. */
  toolkit: URL;
  /** Environment of the process. */
  environment: Readonly<Record<string, string>>;
}

let found: Promise<StepCache> | undefined;

/**
 * Returns the cache. If there is no analysis yet for this version of Deno and this URL of the toolkit, analyses the
 * toolkit's modules first.
 */
export function stepCache(options: CacheOptions): Promise<StepCache> {
  return found ??= findCache(options);
}

/**
 * Lines of a shell script that create the cache folder `$folder/cache`. They use the variables `folder`, `real`,
 * `analysis`, and `linked`, which is a list with `:` after each name.
 */
export const MAKE_CACHE = `mkdir -m 700 "$folder/cache" "$folder/cache/gen"
for name in location_data gen/data gen/blob; do : >"$folder/cache/$name"; done
cp "$analysis"/* "$folder/cache" 2>/dev/null
while [ "$linked" ]; do
  name=\${linked%%:*}
  linked=\${linked#*:}
  link=$folder/cache/$name
  mkdir -p "\${link%/*}" && ln -s "$real/$name" "$link"
done`;

async function findCache({ toolkit, environment }: CacheOptions): Promise<StepCache> {
  const isLocal = toolkit.protocol === "file:";
  const real = await realCache(environment);
  const compiled = `gen/file${decodeURIComponent(toolkit.pathname)}lib`;
  const linked = isLocal ? ["npm", compiled] : ["npm", "remote", "gen/https"];
  const version = await sha256(`${Deno.version.deno} ${import.meta.url}`);
  const analysis = `${real}/hsgate-steps-${version.slice(0, 16)}`;
  const cache = { real, linked, analysis };
  try {
    await Deno.stat(analysis);
  } catch {
    // Without the analysis, processes only start more slowly.
    await analyse(cache, { toolkit, environment }).catch(() => {});
  }
  return cache;
}

/** Runs the toolkit's modules with an empty cache, and keeps Deno's analysis of them. */
async function analyse(cache: StepCache, { toolkit, environment }: CacheOptions): Promise<void> {
  const { real, linked, analysis } = cache;
  const folder = await Deno.makeTempDir({ dir: real, prefix: "hsgate-steps-" });
  try {
    const isLocal = toolkit.protocol === "file:";
    const config = isLocal
      ? ["--config", decodeURIComponent(new URL("deno.json", toolkit).pathname)]
      : ["--no-config"];
    const module = new URL("lib/recipes/mod.ts", toolkit).href;
    const words = [...runWords(), "--no-lock"];
    const script =
      `folder=$1 real=$2 analysis=/dev/null linked=$3\n${MAKE_CACHE}\nshift 3\n"$@" && exec "$@"`;
    // V8 stores its compiled code only in the second run.
    const { success } = await new Deno.Command("/bin/sh", {
      args: ["-c", script, "hsgate", folder, real, list(linked), ...words, ...config, module],
      clearEnv: true,
      env: { ...environment, DENO_DIR: `${folder}/cache` },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    if (!success) return;
    await Deno.mkdir(`${folder}/analysis`);
    const { backup, DatabaseSync } = await loadSqlite();
    for await (const { name } of Deno.readDir(`${folder}/cache`)) {
      if (!name.endsWith("_v2")) continue;
      // A copy of the database is a single file. In the original, Deno leaves most rows in a log beside the database.
      using database = new DatabaseSync(`${folder}/cache/${name}`);
      await backup(database, `${folder}/analysis/${name}`);
    }
    await Deno.rename(`${folder}/analysis`, analysis);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Formats a list for `MAKE_CACHE`. */
export const list = (names: readonly string[]) => names.map((name) => `${name}:`).join("");

/** Returns the path of Deno's cache. */
async function realCache(environment: Readonly<Record<string, string>>): Promise<string> {
  const { DENO_DIR, XDG_CACHE_HOME, HOME } = environment;
  if (DENO_DIR?.startsWith("/")) return DENO_DIR;
  if (Deno.build.os === "linux" && XDG_CACHE_HOME?.startsWith("/")) return `${XDG_CACHE_HOME}/deno`;
  if (Deno.build.os === "linux" && HOME?.startsWith("/")) return `${HOME}/.cache/deno`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
    clearEnv: true,
    env: { ...environment },
    stderr: "null",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
