/**
 * The reference page of recipes as Markdown: every field and every step, from the schema that checks them.
 *
 * @module
 */
import * as z from "zod";
import { table } from "../operations/reference_text.ts";
import type { AnyStepKind } from "./kinds/mod.ts";
import { stepKinds } from "./kinds/mod.ts";
import { recipeSchema } from "./recipe_schema.ts";

/** The parts of a JSON Schema that stand on the page. */
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
  read: "reads",
  local: "works on this machine alone",
  write: "writes: the recipe needs a window and a ledger",
};

const notice = "<!-- Written by `deno task docs` from the schemas in lib/steps: edit there. -->\n";

/** Writes the page. */
export function recipesPage(): string {
  const recipe = schemaOf(recipeSchema);
  const { schedule, steps, params, secrets, notify, ...fields } = recipe.properties ?? {};
  const forms = schedule?.anyOf?.[0]?.anyOf ?? [];
  return [
    notice,
    "# Recipes",
    "A recipe is one file, YAML, JSON or TypeScript (`defineRecipe`). `hsgate check` finds every mistake with its line, " +
    "and `hsgate schema` prints the JSON Schema that editors use. What the fields mean for a run stands in " +
    "[the runner](../runner.md).",
    "## Fields",
    fieldTable({ ...recipe, properties: { ...fields, schedule, params, secrets, steps, notify } as Fields }),
    "## Schedules",
    ...forms.flatMap((form) => [`### ${form.description ?? ""}`, fieldTable(form)]),
    "## Steps",
    "Every step has these fields:",
    fieldTable(steps?.items ?? {}),
    "`uses` names one of the steps below, any operation of the catalogue, or a TypeScript file beside the recipe.",
    ...[...stepKinds.values()].flatMap((kind) => [
      `### \`${kind.name}\``,
      `${kind.summary}. It ${effects[kind.effect]}.`,
      fieldTable(schemaOf(kind.params)),
    ]),
    "## Notices",
    fieldTable(notify?.items ?? {}),
  ].join("\n\n") + "\n";
}

type Fields = Record<string, Schema>;

/** The page uses a few members of JSON Schema, which zod writes as the interface has them. */
const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: "input", target: "draft-7" }) as Schema;

function fieldTable(schema: Schema): string {
  const rows = rowsOf(schema);
  return rows.length === 0 ? "It takes no parameters." : table(
    ["Field", "Holds", "Required", "Default", "Meaning"],
    rows,
  );
}

/** Fields with those inside them, `bars.from` below `bars`. */
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

/** Fields that have a chapter of their own. */
const chapters: Readonly<Record<string, string>> = {
  schedule: "a [schedule](#schedules), or a list of them",
  steps: "list of [steps](#steps)",
  notify: "list of [notices](#notices)",
};

/** The objects that a value may be. */
const partsOf = (schema: Schema): readonly Schema[] =>
  (schema.anyOf ?? [schema]).filter(({ properties }) => properties !== undefined);

/** A type in words: `"skip"`, `"run"`; text; list of text. */
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
