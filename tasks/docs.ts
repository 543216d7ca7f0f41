// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Writes: the reference pages (from the catalogue, the steps and the commands), the diagram of `docs/orders.md`, the
 * tables of `docs/guards.md` and `docs/simulator.md`, the index of the operations, and the types of the client. With
 * `--check`, writes nothing and fails if one of them is not up to date.
 *
 * @module
 */
import { referencePages } from "./docs/operation_pages.ts";
import { recipesPage } from "./docs/recipes_page.ts";
import { commandsPage, glossaryPage } from "./docs/commands_page.ts";
import { withDiagram } from "./docs/states_diagram.ts";
import { withGuards } from "./docs/guard_tables.ts";
import { withFaults } from "./docs/fault_table.ts";
import { clientTypes } from "./docs/client_methods.ts";
import { operationIndex } from "./docs/operation_index.ts";

const folder = new URL("../docs/reference/", import.meta.url);
const isCheck = Deno.args.includes("--check");

/** Formats a text with `deno fmt`, so that the format check accepts it. */
async function format(text: string, extension: "md" | "json" | "ts"): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", extension, "-"],
    cwd: new URL("..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Cannot write reference: deno fmt failed");
  return new TextDecoder().decode(stdout);
}

async function readOr(url: URL, otherwise: string): Promise<string> {
  try {
    return await Deno.readTextFile(url);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return otherwise;
    throw error;
  }
}

const errors = await Deno.readTextFile(new URL("../lib/errors.ts", import.meta.url));
const suiteFolder = new URL("../test/conformance/", import.meta.url);
const suite = new Map<string, string>();
for await (const { name } of Deno.readDir(suiteFolder)) {
  if (name.endsWith("_test.ts")) suite.set(name, await Deno.readTextFile(new URL(name, suiteFolder)));
}
const pages = referencePages({ errors, suite });
pages.set("recipes.md", await recipesPage());
pages.set("commands.md", commandsPage());
pages.set("glossary.md", glossaryPage());
const stale: string[] = [];
if (!isCheck) await Deno.mkdir(folder, { recursive: true });
for (const [name, text] of pages) {
  const url = new URL(name, folder);
  const wanted = await format(text, "md");
  if (await readOr(url, "") === wanted) continue;
  stale.push(`docs/reference/${name}`);
  if (!isCheck) await Deno.writeTextFile(url, wanted);
}
// Remove the page of a family that no longer exists.
for await (const { name } of Deno.readDir(folder)) {
  if (!name.endsWith(".md") || pages.has(name)) continue;
  stale.push(`docs/reference/${name}`);
  if (!isCheck) await Deno.remove(new URL(name, folder));
}
for (
  const [name, written] of [["orders.md", withDiagram], ["guards.md", withGuards], [
    "simulator.md",
    withFaults,
  ]] as const
) {
  const url = new URL(`../docs/${name}`, import.meta.url);
  const page = await Deno.readTextFile(url);
  const wanted = await format(written(page), "md");
  if (page === wanted) continue;
  stale.push(`docs/${name}`);
  if (!isCheck) await Deno.writeTextFile(url, wanted);
}
const types = clientTypes();
for (
  const [path, text, extension] of [
    ["lib/operations/index.json", operationIndex(), "json"],
    ["lib/client/methods.ts", types.methods, "ts"],
    ["lib/operations/public_types.ts", types.publicTypes, "ts"],
  ] as const
) {
  const url = new URL(`../${path}`, import.meta.url);
  const wanted = await format(text, extension);
  if (await readOr(url, "") === wanted) continue;
  stale.push(path);
  if (!isCheck) await Deno.writeTextFile(url, wanted);
}
if (isCheck && stale.length > 0) {
  console.error(`Not up to date: ${stale.join(", ")}. Run "deno task docs"`);
  Deno.exit(1);
}
console.log(
  isCheck
    ? `${pages.size} pages, the diagram, the tables, the index and the types of the client are up to date`
    : `${stale.length} of ${pages.size + 6} files written`,
);
