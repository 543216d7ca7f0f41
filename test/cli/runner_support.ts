/**
 * Creates folders of recipes for tests of the runner's commands.
 *
 * @module
 */
import { trustAll } from "./support.ts";

export { cli, envOf, MORNING, simulate, spawned, start, trustAll } from "./support.ts";

/** Creates a temporary folder with files, and trusts its recipes. */
export async function folder(
  files: Readonly<Record<string, string>>,
): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-cli-" });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  if (Object.keys(files).some((name) => /\.(ya?ml|ts|json)$/.test(name))) await trustAll(path);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
