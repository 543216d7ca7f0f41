/**
 * Folders of recipes for tests of the runner's commands.
 *
 * @module
 */
export { cli, envOf, MORNING, simulate, spawned, start } from "./support.ts";

/** A folder with files, gone afterwards. */
export async function folder(
  files: Readonly<Record<string, string>>,
): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-cli-" });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
