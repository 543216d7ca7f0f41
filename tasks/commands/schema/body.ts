/**
 * Runs `hsgate schema`.
 *
 * @module
 */
import { recipeJsonSchema } from "../../../lib/recipes/mod.ts";
import { replaceFile } from "../../../lib/private_files.ts";
import type { SchemaInput } from "../schema.ts";

/** Writes the schema to stdout or a file. */
export async function run({ flags, host }: SchemaInput): Promise<number> {
  const schema = await recipeJsonSchema();
  if (flags.out === undefined) {
    host.out(JSON.stringify(schema, null, flags.json ? undefined : 2));
    return 0;
  }
  replaceFile(flags.out, `${JSON.stringify(schema, null, 2)}\n`);
  if (flags.json) host.out(JSON.stringify({ file: flags.out }));
  else host.note(`hsgate: wrote "${flags.out}"`);
  return 0;
}
