/**
 * What `hsgate schema` does.
 *
 * @module
 */
import { recipeJsonSchema } from "../../../lib/steps/mod.ts";
import type { SchemaInput } from "../schema.ts";

/** Writes the schema to stdout or a file. */
export async function run({ flags, host }: SchemaInput): Promise<number> {
  const schema = await recipeJsonSchema();
  if (flags.out === undefined) {
    host.out(JSON.stringify(schema, null, flags.json ? undefined : 2));
    return 0;
  }
  await Deno.writeTextFile(flags.out, `${JSON.stringify(schema, null, 2)}\n`, { mode: 0o644 });
  if (flags.json) host.out(JSON.stringify({ file: flags.out }));
  else host.note(`hsgate: wrote "${flags.out}"`);
  return 0;
}
