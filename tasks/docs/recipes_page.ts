/**
 * Writes the reference page of recipes as Markdown: every field and every step, from the schemas that check them.
 *
 * @module
 */
import * as z from "zod";
import { table } from "./markdown.ts";
import { allStepKinds, type AnyStepKind } from "../../lib/recipes/kinds/mod.ts";
import { expressionFunctions } from "../../lib/recipes/expressions/expressions.ts";
import { recipeSchema } from "../../lib/recipes/schema/recipe_schema.ts";

/** The members of a JSON Schema that the page shows. */
interface Schema {
  type?: string;
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  required?: readonly string[];
}

const effects: Readonly<Record<AnyStepKind["effect"], string>> = {
  read: "sends no writes to the broker",
  local: "does not use the broker",
  write: "writes at the broker: the recipe needs a window and a store",
};

const notice = "<!-- Written by `deno task docs` from the schemas in lib/recipes: edit there. -->\n";

/** Returns the page. */
export async function recipesPage(): Promise<string> {
  const recipe = schemaOf(recipeSchema);
  const { schedule, steps, params, secrets, notify, ...fields } = recipe.properties ?? {};
  const { own, cel } = expressionFunctions();
  const forms = schedule?.anyOf?.[0]?.anyOf ?? [];
  return [
    notice,
    "# Recipes",
    "A recipe is one file, YAML, JSON or TypeScript (`defineRecipe`). `hsgate check` finds every mistake with its line, " +
    "and `hsgate schema` prints the JSON Schema that editors use. [The runner](../runner.md) " +
    "explains what the fields mean for a run.",
    "## Fields",
    fieldTable({ ...recipe, properties: { ...fields, schedule, params, secrets, steps, notify } as Fields }),
    "## Schedules",
    ...forms.flatMap((form) => [`### ${form.description ?? ""}`, fieldTable(form)]),
    "## Steps",
    "Every step has these fields:",
    fieldTable(steps?.items ?? {}),
    "`uses` names one of the steps below, any operation of the catalogue, or a TypeScript file next to the recipe.",
    ...(await allStepKinds()).flatMap((kind) => [
      `### \`${kind.name}\``,
      `${kind.summary}. It ${effects[kind.effect]}.`,
      fieldTable(schemaOf(kind.params)),
      outputTable(kind),
    ]),
    "## Functions of expressions",
    "Money is decimal text, so these functions calculate with decimal texts. They are exact, except for the rounding that " +
    "they name.",
    table(["Function", "Returns"], own.map(({ signature, meaning }) => [`\`${signature}\``, meaning])),
    "Expressions can also call these functions of CEL. In a signature such as `string.size()`, write a value in place of " +
    'the type: `"text".size()`. In place of `ast`, write a name or an expression: ' +
    '`rows.filter(row, row.side == "buy")`.',
    table(
      ["Function", "Signatures"],
      cel.map(({ name, signatures }) => [
        `\`${name}\``,
        signatures.map((each) => `\`${each.replaceAll("google.protobuf.", "")}\``).join(", "),
      ]),
    ),
    "## Notices",
    fieldTable(notify?.items ?? {}),
  ].join("\n\n") + "\n";
}

type Fields = Record<string, Schema>;

/** Returns the members of a step's output, which expressions read as `outputs.id.member`. */
function outputTable({ output }: AnyStepKind): string {
  if (output === undefined) return "The recipe that it runs determines its output.";
  const schema = z.toJSONSchema(output, {
    io: "output",
    target: "draft-7",
    unrepresentable: "any",
  }) as Schema;
  const rows = outputRows(schema);
  if (rows.length === 0) return `Its output is ${typeOf(schema)}.`;
  return `Its output:\n\n${table(["Member", "Type", "Always present"], rows)}`;
}

/** Returns the members of an output with their inner members. Inner members of lists have names like `files[].path`. */
function outputRows({ properties = {}, required = [] }: Schema, prefix = ""): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = schema.items ?? schema;
    const own = `${prefix}${name}${schema.items === undefined ? "" : "[]"}`;
    return [
      [`\`${prefix}${name}\``, typeOf(schema), required.includes(name) ? "yes" : ""],
      ...partsOf(inner).flatMap((part) => outputRows(part, `${own}.`)),
    ];
  });
}

/** Returns the JSON Schema of a type. The cast is safe for the few members that the page uses. */
const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: "input", target: "draft-7" }) as Schema;

function fieldTable(schema: Schema): string {
  const rows = rowsOf(schema);
  return rows.length === 0 ? "It has no parameters." : table(
    ["Field", "Type", "Required", "Default", "Meaning"],
    rows,
  );
}

/** Returns fields with their nested fields, such as `bars.from` after `bars`. */
function rowsOf({ properties = {}, required = [] }: Schema, prefix = ""): string[][] {
  return Object.entries(properties).filter(([name]) => name !== "$schema").flatMap(([name, schema]) => {
    const inside = chapters[name] === undefined ? partsOf(schema) : [];
    return [
      [
        `\`${prefix}${name}\``,
        chapters[name] ?? typeOf(schema),
        required.includes(name) ? "yes" : "",
        schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``,
        schema.description ?? "",
      ],
      ...inside.flatMap((part) => rowsOf(part, `${prefix}${name}.`)),
    ];
  });
}

/** Fields that are described in another section. */
const chapters: Readonly<Record<string, string>> = {
  schedule: "a [schedule](#schedules), or a list of them",
  steps: "list of [steps](#steps)",
  notify: "list of [notices](#notices)",
};

/** Returns the objects that a value may be. */
const partsOf = (schema: Schema): readonly Schema[] =>
  (schema.anyOf ?? [schema]).filter(({ properties }) => properties !== undefined);

/** Returns a type in words, such as `"skip"`, `"run"`; text; list of text. */
function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((each) => `\`${each}\``).join(", ");
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(", or ");
  if (schema.type === "array") {
    return schema.items === undefined ? "list" : `list of ${typeOf(schema.items)}`;
  }
  if (schema.type === "object") {
    return schema.properties === undefined ? "names and values" : "fields";
  }
  if (schema.type === "integer" || schema.type === "number") {
    const bounds = isBounded(schema) ? ` ${schema.minimum} to ${schema.maximum}` : "";
    return `${schema.type === "integer" ? "whole number" : "number"}${bounds}`;
  }
  if (schema.type === "boolean") return "`true`, `false`";
  if (schema.type === "string") return schema.format === "date" ? "date" : "text";
  return "anything";
}

const isBounded = ({ minimum, maximum }: Schema) =>
  minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
