// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Checks the imports of all files. Fails in these cases:
 *
 * - a folder of lib (a "room") imports a room that does not come before it in `order`;
 * - files import each other in a circle;
 * - a file outside `lib/std` imports `deno-std`;
 * - a plain gateway call, a run or an order would load packages or files that it does not need;
 * - a file outside the rooms for SQL contains an SQL statement;
 * - a dynamic import in lib does not go through `lazily`.
 *
 * @module
 */

/** One import: the importing file, and the imported file or package. Files are paths from the root of the project. */
interface Import {
  from: string;
  to: string;
}

/** Rooms in order: each room may use the rooms on earlier lines. */
const order = [
  ["dictionaries"],
  ["wire"],
  ["operations"],
  ["transports", "endpoints"],
  ["client"],
  ["day_book", "notebook", "probe"],
  ["store"],
  ["desk"],
  ["rebalance", "portfolio"],
  ["recipes"],
  ["runner"],
  ["deploy"],
  ["rehearsal"],
  ["swarm"],
];
/** Rooms that every other room may use. They themselves use only each other and the single files of lib. */
const common = ["calendars", "facts", "std"];
const simulatorUses = ["dictionaries", "wire", "operations", "endpoints", "calendars", "facts"];

/** A program that must start quickly. */
interface QuickProgram {
  /** What the program is, for messages. */
  name: string;
  file: string;
  /** Packages that it must not load. */
  heavy: readonly string[];
  /** Maximum number of files that it loads at its start. */
  most: number;
}

/** Packages that no quick program needs at its start. */
const heavy = ["protobufjs", "node-forge", "node:crypto", "node:util", "pg"];

/** Packages that hsgate needs only to compile or run recipes. */
const ofRecipes = ["zod", "yaml", "nodemailer", "@marcbachmann/cel-js", "croner"];

const quickPrograms: readonly QuickProgram[] = [
  // `most` counts the files that load before the call loads its family of operations.
  { name: "a plain gateway call", file: "mod.ts", heavy: [...heavy, "zod"], most: 40 },
  {
    name: "a run without a store",
    file: "tasks/commands/run/body.ts",
    heavy: [
      ...heavy,
      "node:sqlite",
      "node:async_hooks",
      ...ofRecipes,
    ],
    // Counts the files that load before the recipe is compiled.
    most: 93,
  },
  {
    name: "an order",
    file: "tasks/commands/orders/place.ts",
    heavy: [...heavy, ...ofRecipes],
    most: 153,
  },
];

/**
 * Returns the room of a file in lib; an empty text for the single files of lib itself, such as `errors.ts`; `undefined`
 * for a file outside lib.
 */
function roomOf(path: string): string | undefined {
  const [first, room = "", rest] = path.split("/");
  return first !== "lib" ? undefined : rest === undefined ? "" : room;
}

const rankOf = (room: string) => order.findIndex((rooms) => rooms.includes(room));

/** Returns what is wrong with an import; `undefined` if it is allowed. */
export function faultOf({ from, to }: Import): string | undefined {
  if (/^(npm:\/?)?deno-std(@|\/|$)/.test(to)) {
    return from.startsWith("lib/std/") ? undefined : "only lib/std may import deno-std";
  }
  const room = roomOf(from);
  if (room === undefined) return undefined;
  if (to === "mod.ts") return "lib must not import the public face";
  const target = roomOf(to);
  if (target === undefined) {
    return /^(tasks|test|recipes)\//.test(to) ? `lib must not import ${to.split("/")[0]}` : undefined;
  }
  if (target === room || target === "" || common.includes(target)) {
    return room === "" && target !== ""
      ? "a file directly in lib must not import a folder of lib"
      : undefined;
  }
  if (room === "simulator") {
    return simulatorUses.includes(target) ? undefined : `the simulator must not use ${target}`;
  }
  // A rehearsal and a swarm connect the real runner with the simulated broker.
  if ((room === "rehearsal" || room === "swarm") && target === "simulator") return undefined;
  if (rankOf(room) < 0 || rankOf(target) < 0) return `${room || "a single file"} must not use ${target}`;
  return rankOf(target) < rankOf(room)
    ? undefined
    : `${room} must not use ${target}: imports point the other way`;
}

/** Returns the imports of a source file, including type imports. Ignores comments. */
export function importsOf(path: string, source: string, map: Readonly<Record<string, string>>): Import[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
  const pattern = /(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"\n]+)"/g;
  return [...code.matchAll(pattern)].map(([, specifier = ""]) => ({
    from: path,
    to: resolve(path, specifier, map),
  }));
}

function resolve(from: string, specifier: string, map: Readonly<Record<string, string>>): string {
  const mapped = map[specifier] ?? specifier;
  if (!mapped.startsWith(".")) return mapped;
  const base = new URL(mapped === specifier ? from : "deno.json", "file:///");
  return new URL(mapped, base).pathname.slice(1);
}

/** Folders and files that may contain SQL statements. */
const sqlRooms = ["lib/store/", "lib/desk/queries.ts", "lib/rebalance/queries.ts", "lib/runner/queries/"];

/** Returns the first words of an SQL statement in a file outside the rooms for SQL; `undefined` if there is none. */
export function straySql(path: string, source: string): string | undefined {
  if (!/^(lib|tasks)\//.test(path) || sqlRooms.some((room) => path.startsWith(room))) return undefined;
  const pattern =
    /["'`]\s*((?:select\s+(?:distinct\s+)?[\w*(.]+(?=[\s,(][^"'`]*\bfrom\b)|insert into \w|update \w+ set\b|delete from \w|pragma \w|create (?:table|index) \w)\w*)/i;
  return pattern.exec(source)?.[1];
}

/** Files that may use a dynamic import without `lazily`, because it runs while the file itself loads. */
const loadsItself = ["lib/std/yaml_document.ts"];

/**
 * Returns the first dynamic import without `lazily` in a file of lib; `undefined` if there is none. Virtual time would
 * not wait for such an import.
 */
export function bareImport(path: string, source: string): string | undefined {
  if (!path.startsWith("lib/") || loadsItself.includes(path)) return undefined;
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");
  const bare = [...code.matchAll(/(?<!\btypeof\s)(?<![\w.])import\s*\([^)]*\)?/g)].find(({ index }) =>
    !/\blazily\((?:async )?\(\) =>\s*(?:\w*\(await )?$/.test(code.slice(0, index))
  );
  return bare?.[0];
}

/** Returns circles of files that import each other. Each circle ends with its first file. */
export function circlesOf(imports: readonly Import[]): string[][] {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of imports) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  const circles: string[][] = [];
  for (;;) {
    // A file that imports nothing, or only removed files, is in no circle: remove it.
    for (let size = -1; size !== graph.size;) {
      size = graph.size;
      for (const [from, targets] of graph) {
        for (const to of targets) if (!graph.has(to)) targets.delete(to);
        if (targets.size === 0) graph.delete(from);
      }
    }
    const [start] = graph.keys();
    if (start === undefined) return circles;
    // Each remaining file imports another remaining file, so this walk reaches a file twice.
    const path = [start];
    for (let [next = ""] = graph.get(start) ?? [];; [next = ""] = graph.get(next) ?? []) {
      const at = path.indexOf(next);
      path.push(next);
      if (at < 0) continue;
      circles.push(path.slice(at));
      graph.get(path.at(-2)!)?.delete(next); // the path has at least two files here
      break;
    }
  }
}

/** The part of `deno info --json` that this task reads. */
interface Info {
  roots: string[];
  redirects?: Record<string, string>;
  modules: {
    specifier: string;
    dependencies?: { code?: { specifier?: string }; specifier: string; isDynamic?: boolean }[];
  }[];
}

/** Modules that a program statically loads. */
interface Loaded {
  /** Files and packages. If the program loads a heavy package, only the modules that were found before it. */
  modules: string[];
  /** The chain of files that leads to a heavy package, if there is one. */
  heavyChain?: string[];
}

/** Finds what a program statically loads, and whether a heavy package is part of it. */
export function loadedBy(info: Info, heavy: readonly string[]): Loaded {
  const modules = new Map(info.modules.map((module) => [module.specifier, module]));
  const seen = new Set<string>();
  const queue = info.roots.map((root) => [root]);
  for (let chain = queue.shift(); chain !== undefined; chain = queue.shift()) {
    const last = chain.at(-1)!;
    const plain = last.replace(/^npm:\/?/, "");
    if (
      heavy.some((name) => plain === name || plain.startsWith(`${name}@`) || plain.startsWith(`${name}/`))
    ) {
      return { modules: [...seen], heavyChain: chain };
    }
    const specifier = info.redirects?.[last] ?? last;
    if (seen.has(specifier)) continue;
    seen.add(specifier);
    for (const { code, isDynamic } of modules.get(specifier)?.dependencies ?? []) {
      // A dependency without code is a type import, which does not exist at run time.
      if (code?.specifier !== undefined && !isDynamic) queue.push([...chain, code.specifier]);
    }
  }
  return { modules: [...seen] };
}

/** Yields the path of every TypeScript file below a folder, from the root of the project. */
function* sourcesBelow(root: URL, folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(`${folder}/`, root))) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* sourcesBelow(root, path);
    else if (name.endsWith(".ts")) yield path;
  }
}

/** Returns messages that say why a program would start slowly; an empty list if it would not. */
function slownessOf({ name, file, heavy, most }: QuickProgram, root: URL): string[] {
  const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", file],
    cwd: root,
  }).outputSync();
  if (!success) throw new Error(`Cannot read the graph of ${file}: ${new TextDecoder().decode(stderr)}`);
  const { modules, heavyChain } = loadedBy(JSON.parse(new TextDecoder().decode(stdout)), heavy);
  const pathsText = (paths: readonly string[], between: string) =>
    paths.map((each) => each.replace(root.href, "")).join(between);
  if (heavyChain !== undefined) return [`${name} loads what it never uses: ${pathsText(heavyChain, " -> ")}`];
  if (modules.length <= most) return [];
  return [`${name} loads ${modules.length} files instead of ${most}: ${pathsText(modules, ", ")}`];
}

function main(): number {
  const root = new URL("..", import.meta.url);
  const map: Record<string, string> = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root))).imports;
  const files = ["mod.ts", ...["lib", "tasks", "test"].flatMap((folder) => [...sourcesBelow(root, folder)])];
  const faults: string[] = [];
  const imports: Import[] = [];
  for (const file of files) {
    const source = Deno.readTextFileSync(new URL(file, root));
    const sql = straySql(file, source);
    if (sql !== undefined) {
      faults.push(`${file} has the statement "${sql} ...": SQL belongs in ${sqlRooms.join(", ")}`);
    }
    const bare = bareImport(file, source);
    if (bare !== undefined) {
      faults.push(`${file} has "${bare}": write it as "lazily(() => ${bare})" of lib/lazy.ts`);
    }
    imports.push(...importsOf(file, source, map));
  }
  for (const found of imports) {
    const fault = faultOf(found);
    if (fault !== undefined) faults.push(`${found.from} imports ${found.to}: ${fault}`);
  }
  for (const circle of circlesOf(imports)) {
    faults.push(`files import each other in a circle: ${circle.join(" -> ")}`);
  }
  for (const program of quickPrograms) faults.push(...slownessOf(program, root));
  for (const fault of faults) console.error(fault);
  console.log(`${imports.length} imports of ${files.length} files, ${faults.length} against the rules`);
  return faults.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(main());
