/** Description of `hsgate schema`. @module */
import { command, type Flags, type Input, offline } from "./command.ts";

const flags = {
  out: { type: "string", value: "FILE", text: "write it to this file (stdout)" },
} as const satisfies Flags;
/** What it is given. */
export type SchemaInput = Input<typeof flags>;

/** Writes the schema of recipes. */
export const schema = command({
  name: "schema",
  summary: "write the JSON Schema of recipes, for editors",
  usage: "",
  args: [0, 0],
  details: `An editor completes steps, operations and their parameters with it. In YAML, name
the file in the first line of a recipe:

  # yaml-language-server: $schema=../recipe.schema.json`,
  flags,
  without: offline,
  exits: [],
  examples: ["schema --out recipe.schema.json"],
  body: async () => (await import("./bodies/schema.ts")).run,
});
