/** Description of `hsgate schema`. @module */
import { command, type Flags, type Input, offline } from "../terminal/command.ts";

const flags = {
  out: { type: "string", value: "FILE", text: "file to write (stdout)" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type SchemaInput = Input<typeof flags>;

/** Writes the JSON Schema of recipes. */
export const schema = command({
  name: "schema",
  summary: "write the JSON Schema of recipes, for editors",
  usage: "",
  args: [0, 0],
  details: `With the schema an editor completes steps, operations and their parameters. In YAML,
name the file in the first line of a recipe:

  # yaml-language-server: $schema=../recipe.schema.json`,
  flags,
  without: offline,
  exits: [],
  examples: ["schema --out recipe.schema.json"],
});
