/**
 * Finds the toolkit's folder, and creates the configuration of a working folder that uses the toolkit.
 *
 * @module
 */
import { shellLine } from "../../../lib/shell_words.ts";

/** Root of the toolkit. */
export const toolkit = new URL("../../../", import.meta.url);

/** Members of the toolkit's own configuration that a working folder needs. */
interface ToolkitConfig {
  name: string;
  version: string;
  imports: Readonly<Record<string, string>>;
  tasks: Readonly<Record<string, { description: string; command: string }>>;
  fmt: unknown;
}

/**
 * Returns the `deno.json` of a working folder: the names of the toolkit's modules, and its tasks. `links` lets the
 * toolkit's modules find their own packages when a script imports them. Paths to the toolkit are relative, so that both
 * folders can be moved together.
 */
export async function configFor(folder: URL, fees: string): Promise<string> {
  // Safe: the file is part of the toolkit, so it has these members.
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", toolkit))) as ToolkitConfig;
  const here = relative(folder, toolkit);
  const own = Object.entries(config.imports).filter(([name]) => /^hsgate(\/|$)/.test(name));
  return `${
    JSON.stringify(
      {
        links: [here.replace(/\/$/, "")],
        // These paths are URLs, so a space is written as %20.
        imports: Object.fromEntries(
          own.map(([name, path]) => [name, encodeURI(here) + path.replace(/^\.\//, "")]),
        ),
        // Only packages of deno.lock may load; "deno install --frozen=false" adds others.
        lock: { frozen: true },
        tasks: {
          hsgate: taskOf(config, "hsgate", here),
          call: taskOf(config, "call", here),
          sim: taskOf(config, "sim", here),
          fees: { description: "What the trades of the last seven days cost", command: fees },
        },
        fmt: config.fmt,
      },
      null,
      2,
    )
  }\n`;
}

/**
 * Returns the `deno.lock` of a working folder: the toolkit's packages with their hashes, so that a script there loads
 * the packages that the toolkit was tested with.
 */
export async function lockFile(): Promise<string> {
  const read = async (name: string) => await Deno.readTextFile(new URL(name, toolkit));
  // These files belong to the toolkit.
  const { name, version } = JSON.parse(await read("deno.json")) as ToolkitConfig;
  const { workspace, ...packages } = JSON.parse(await read("deno.lock")) as { workspace: unknown };
  const links = { [`jsr:${name}@${version}`]: workspace };
  return `${JSON.stringify({ ...packages, workspace: { links } }, null, 2)}\n`;
}

/** Returns a task of the toolkit with its permissions and lock file, for a call from another folder. */
function taskOf({ tasks }: ToolkitConfig, name: string, here: string) {
  const { description, command } = tasks[name]!; // the toolkit has these tasks
  const program = (_: string, path: string) => ` --config ${shellLine([`${here}deno.json`, here + path])}`;
  return { description, command: command.replace(/ (tasks\/\S+)/, program) };
}

/**
 * Returns the relative path from one folder to another, with a slash at its end. If there is no relative path, returns
 * the URL of `to`.
 */
export function relative(from: URL, to: URL): string {
  if (from.origin !== to.origin || from.protocol !== to.protocol) return to.href;
  const [up, down] = [from.pathname.split("/").slice(0, -1), to.pathname.split("/").slice(0, -1)];
  const shared = up.findIndex((part, index) => part !== down[index]);
  const common = shared < 0 ? up.length : shared;
  const parts = [...up.slice(common).map(() => ".."), ...down.slice(common)].map(decodeURIComponent);
  return parts.length === 0 ? "./" : `${parts[0] === ".." ? "" : "./"}${parts.join("/")}/`;
}
