// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Makes the npm package `hsgate-VERSION.tgz`, in the folder of `--out` or in the current one. It contains:
 *
 * - the modules of the public exports as JavaScript, with their types. Deno runs no TypeScript of npm packages, so
 *   `deno pack` converts these modules;
 * - `toolkit/`: the sources that the command `hsgate` runs, with their `deno.json` and `deno.lock`;
 * - `bin/hsgate.mjs`: the command, which starts the toolkit.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { replaceFile } from "../lib/private_files.ts";
import project from "../deno.json" with { type: "json" };

const source = new URL("..", import.meta.url);
/** Files and folders of the toolkit. Of `tasks/`, only what a user runs. */
const TOOLKIT = ["deno.lock", "mod.ts", "lib", "proto", "recipes"];
const TASKS = ["commands", "templates", "terminal", "hsgate.ts", "sim.ts", "demo.ts", "install.ts"];
const TASK_NAMES = ["hsgate", "call", "sim", "demo", "install"] as const;

/** Runs a program; throws an error with its output if it fails. */
async function run(program: string, args: string[]): Promise<void> {
  const child = new Deno.Command(program, { args, cwd: source, env: { NO_COLOR: "1" } });
  const { success, stderr } = await child.output();
  if (!success) {
    throw new Error(`Cannot make the package: ${program} ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  }
}

/** Copies a file or a folder. */
async function copy(from: URL, to: URL): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copy(new URL(name, `${from.href}/`), new URL(name, `${to.href}/`));
  }
}

/** Returns the SHA-256 of the names and contents of all files in a folder, in hexadecimal digits. */
async function digest(folder: URL): Promise<string> {
  const lines: string[] = [];
  const hash = async (bytes: Uint8Array<ArrayBuffer>) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  const walk = async (at: URL) => {
    for await (const { name, isDirectory } of Deno.readDir(at)) {
      const url = new URL(isDirectory ? `${name}/` : name, at);
      if (isDirectory) await walk(url);
      else lines.push(`${url.href.slice(folder.href.length)} ${await hash(await Deno.readFile(url))}`);
    }
  };
  await walk(folder);
  return await hash(new TextEncoder().encode(lines.sort().join("\n")));
}

/** Returns the version of each npm package in the import map. */
function versions(): Map<string, string> {
  return new Map(
    Object.values(project.imports).flatMap((target) => {
      const [, name, version] = /^npm:\/?((?:@[^/]+\/)?[^@/]+)@([^/]+)/.exec(target) ?? [];
      return name === undefined || version === undefined ? [] : [[name, version] as const];
    }),
  );
}

/** Makes the package and returns its path. */
async function pack(out: string): Promise<string> {
  const work = await Deno.makeTempDir();
  try {
    const archive = `${work}/pack.tgz`;
    await run(Deno.execPath(), [
      "pack",
      "--quiet",
      "--allow-dirty",
      "--no-source-maps",
      "-o",
      archive,
    ]);
    await run("tar", ["-xzf", archive, "-C", work]);
    const root = new URL(`file://${work}/package/`);
    const made = JSON.parse(await Deno.readTextFile(new URL("package.json", root)));

    const toolkit = new URL("toolkit/", root);
    await Deno.mkdir(new URL("tasks/", toolkit), { recursive: true });
    for (const name of TOOLKIT) await copy(new URL(name, source), new URL(name, toolkit));
    for (const name of TASKS) await copy(new URL(`tasks/${name}`, source), new URL(`tasks/${name}`, toolkit));
    const tasks = Object.fromEntries(TASK_NAMES.map((name) => [name, project.tasks[name]]));
    await Deno.writeTextFile(new URL("deno.json", toolkit), JSON.stringify({ ...project, tasks }, null, 2));
    await Deno.mkdir(new URL("bin/", root));
    await Deno.copyFile(new URL("tasks/package/hsgate.mjs", source), new URL("bin/hsgate.mjs", root));
    await Deno.chmod(new URL("bin/hsgate.mjs", root), 0o755);

    const packages = versions();
    const needed = Object.keys(made.dependencies).map((name) => [name, packages.get(name)!]); // all are in the import map
    const entries = Object.entries(project.exports).map(([name, path]) => [
      name,
      { types: path.replace(/ts$/, "d.ts"), default: path.replace(/ts$/, "js") },
    ]);
    const description = {
      name: "hsgate",
      version: project.version,
      description: "Scripting and automation for people who trade through the HS brokerage gateway",
      license: project.license,
      type: "module",
      exports: Object.fromEntries(entries),
      bin: { hsgate: "bin/hsgate.mjs" },
      dependencies: Object.fromEntries([...needed, ["deno", Deno.version.deno]].sort()),
      build: (await digest(root)).slice(0, 12),
    };
    await Deno.writeTextFile(new URL("package.json", root), JSON.stringify(description, null, 2) + "\n");
    const path = `${out.replace(/\/+$/, "")}/hsgate-${project.version}.tgz`;
    await Deno.mkdir(out, { recursive: true });
    const whole = `${work}/whole.tgz`;
    await run("tar", ["-czf", whole, "-C", work, "package"]);
    // `tar` would write to the target if a link had the name of the package.
    replaceFile(path, await Deno.readFile(whole));
    return path;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

if (import.meta.main) {
  // The cast is safe, because `out` is declared as a string.
  const { out } = parseArgs(Deno.args, { string: ["out"] }) as { out?: string };
  console.log(await pack(out ?? "."));
}
