/**
 * Creates the JSON Schema of recipe files. With it, an editor completes steps, operations and parameters.
 *
 * @module
 */
import * as z from "zod";
import { operations } from "../../operations/mod.ts";
import type { FieldInfo, FieldsInfo, ValueType } from "../../operations/types.ts";
import { allStepKinds, stepNames } from "../kinds/mod.ts";
import { recipeSchema } from "./recipe_schema.ts";

type Schema = Record<string, unknown>;

/** An expression or a secret may replace any value. */
const hole = { type: "string", pattern: "\\$\\{(\\{|secret:)" };

/** Returns the schema of recipes, with the parameters of each step. */
export async function makeJsonSchema(): Promise<Schema> {
  const schema: Schema = z.toJSONSchema(recipeSchema, { io: "input", target: "draft-7" });
  // The cast is safe: `recipeSchema` is an object with these members.
  const steps = (schema.properties as { steps: { items: Schema } }).steps;
  const step = steps.items;
  const properties = step.properties as Record<string, Schema>;
  properties.uses = {
    ...properties.uses,
    anyOf: [
      { enum: [...stepNames] },
      { enum: [...operations.keys()] },
      { type: "string", pattern: "^\\./.+\\.ts$" },
      { enum: [...new Set([...operations.values()].map(({ wire }) => wire))] },
    ],
  };
  delete properties.uses.type;
  step.allOf = [
    ...(await allStepKinds()).map(({ name, params }) =>
      paramsRule(name, withHoles(z.toJSONSchema(params, { io: "input", target: "draft-7" })))
    ),
    ...[...operations.values()].map(({ name, request }) =>
      paramsRule(name, fieldsSchema(request.fields ?? {}))
    ),
  ];
  return schema;
}

function paramsRule(name: string, parameters: Schema): Schema {
  const { $schema: _, ...rest } = parameters;
  const isNeeded = [rest.required, rest.allOf].some((list) => Array.isArray(list) && list.length > 0);
  const required = isNeeded ? { required: ["with"] } : {};
  return {
    if: { properties: { uses: { const: name } }, required: ["uses"] },
    then: { properties: { with: rest }, ...required },
  };
}

/** Allows an expression or a secret in place of each value. */
function withHoles(schema: Schema): Schema {
  const { properties, items } = schema;
  const inner: Schema = { ...schema };
  if (typeof properties === "object" && properties !== null) {
    inner.properties = Object.fromEntries(
      // The cast is safe: the members of `properties` are schemas.
      Object.entries(properties as Record<string, Schema>).map((
        [name, each],
      ) => [name, orHole(withHoles(each))]),
    );
  }
  if (typeof items === "object" && items !== null && !Array.isArray(items)) {
    inner.items = orHole(withHoles(items as Schema));
  }
  return inner;
}

function orHole(schema: Schema): Schema {
  const { description, default: usual, ...rest } = schema;
  const notes = {
    ...description !== undefined && { description },
    ...usual !== undefined && { default: usual },
  };
  if (Object.keys(rest).length === 0) return { ...rest, ...notes };
  return { anyOf: [rest, hole], ...notes };
}

/** Returns the schema of an operation's parameters, in hsgate's names or the broker's. */
function fieldsSchema(fields: FieldsInfo): Schema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, { optional }]) => !optional);
  const properties: Record<string, Schema> = {};
  for (const [name, info] of entries) {
    properties[name] = orHole(typeSchema(info));
    // Under the broker's name, the value is the broker's code, which this schema does not check.
    properties[info.wire] ??= {};
  }
  const allOf = required.map(([name, { wire }]) =>
    wire === name ? { required: [name] } : { anyOf: [{ required: [name] }, { required: [wire] }] }
  );
  return { type: "object", properties, additionalProperties: false, ...allOf.length > 0 && { allOf } };
}

function typeSchema({ type, fallback }: FieldInfo): Schema {
  const usual = fallback === undefined ? {} : { default: fallback };
  return { ...valueSchema(type), ...usual };
}

function valueSchema(type: ValueType<unknown>): Schema {
  const description = type.expected;
  if (type.name.startsWith("list of")) return { type: "array", description };
  if (type.fields !== undefined) return { ...fieldsSchema(type.fields), description };
  if (type.dictionary !== undefined) return { enum: type.dictionary.names, description };
  if (/^true or false/.test(type.name)) return { type: "boolean", description };
  const bounds = /^whole number (-?\d+) to (-?\d+)$/.exec(type.name);
  if (bounds !== null) {
    return { type: "integer", minimum: Number(bounds[1]), maximum: Number(bounds[2]), description };
  }
  if (type.name === "whole number") return { type: "integer", description };
  return type.name === "number" ? { type: "number", description } : { type: "string", description };
}
