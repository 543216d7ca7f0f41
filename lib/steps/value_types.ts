/**
 * Types of the values that expressions meet: what is known before a run of each output, parameter and broker's row.
 * They come from the schemas that check these values, and from nowhere else.
 *
 * @module
 */
import * as z from "zod";
import type { Issue } from "../errors.ts";
import type { Shape } from "../operations/types.ts";
import type { ParamType } from "./compiled.ts";

/** What is known of a value before the run. */
export type Type =
  | Exclude<Shape, { kind: "list" | "record" | "map" }>
  | { readonly kind: "list"; readonly of: Type }
  | { readonly kind: "record"; readonly members: Readonly<Record<string, Type>> }
  | { readonly kind: "map"; readonly of: Type }
  /** A whole number that an expression made; numbers of outputs and parameters are `number`. */
  | { readonly kind: "whole" }
  | { readonly kind: "null" }
  /** One of several. */
  | { readonly kind: "union"; readonly of: readonly Type[] }
  /** A type of the language itself, such as a timestamp. */
  | { readonly kind: "other"; readonly name: string }
  /** Nothing is known. */
  | { readonly kind: "any" };

/** Nothing is known of the value. */
export const ANY: Type = { kind: "any" };
/** Text. */
export const TEXT: Type = { kind: "text" };
/** True or false. */
export const FLAG: Type = { kind: "flag" };
/** Null. */
export const NULL: Type = { kind: "null" };
/** A number of an output or of a parameter. */
export const NUMBER: Type = { kind: "number" };

/** Makes a record. */
export const recordOf = (members: Readonly<Record<string, Type>>): Type => ({ kind: "record", members });

/** Makes the type of a value that is one of several. */
export function oneOf(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => type.kind === "union" ? type.of : [type]);
  if (flat.some(({ kind }) => kind === "any")) return ANY;
  const distinct = [...new Map(flat.map((type) => [JSON.stringify(type), type])).values()];
  return distinct.length === 1 ? distinct[0]! : { kind: "union", of: distinct };
}

/** Returns the types that a value may be of. */
export const variantsOf = (type: Type): readonly Type[] => type.kind === "union" ? type.of : [type];

const ofParams: Readonly<Record<ParamType["type"], Type>> = {
  text: TEXT,
  number: NUMBER,
  integer: NUMBER,
  boolean: FLAG,
  decimal: { kind: "text", digits: "decimal" },
  date: TEXT,
  list: { kind: "list", of: ANY },
};

/** Returns the type of a parameter of a recipe, or of a member that a step of one's own declares. */
export function typeOfParam({ type }: Pick<ParamType, "type">): Type {
  return ofParams[type];
}

/** The parts of a JSON Schema that say what a value looks like. */
interface Schema {
  type?: string | readonly string[];
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  items?: Schema | boolean;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
}

const known = new WeakMap<z.ZodType, Type>();

/** Returns the type that a schema describes. Text with the format `decimal` is a number kept as text. */
export function typeOfSchema(schema: z.ZodType): Type {
  let type = known.get(schema);
  if (type === undefined) {
    // zod writes a few members of JSON Schema as the interface has them.
    type = ofSchema(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema);
    known.set(schema, type);
  }
  return type;
}

function ofSchema(schema: Schema): Type {
  const { anyOf, oneOf: alternatives, allOf, enum: names } = schema;
  const several = anyOf ?? alternatives;
  if (several !== undefined) return oneOf(several.map(ofSchema));
  if (allOf !== undefined) return allOf.map(ofSchema).find(({ kind }) => kind !== "any") ?? ANY;
  if (Array.isArray(schema.type)) return oneOf(schema.type.map((type) => ofSchema({ ...schema, type })));
  switch (schema.type) {
    case "string": {
      const texts = names?.filter((name) => typeof name === "string");
      return {
        kind: "text",
        ...schema.format === "decimal" && { digits: "decimal" },
        ...texts !== undefined && { names: texts },
        ...typeof schema.const === "string" && { names: [schema.const] },
      };
    }
    case "number":
    case "integer":
      return NUMBER;
    case "boolean":
      return FLAG;
    case "null":
      return NULL;
    case "array":
      return { kind: "list", of: typeof schema.items === "object" ? ofSchema(schema.items) : ANY };
    case "object": {
      const { properties, additionalProperties: others } = schema;
      if (properties !== undefined) {
        const members = Object.entries(properties).map(([name, each]) => [name, ofSchema(each)] as const);
        return recordOf(Object.fromEntries(members));
      }
      const of = typeof others === "object" ? ofSchema(others) : ANY;
      const listed = schema.propertyNames?.enum;
      if (listed === undefined) return { kind: "map", of };
      return recordOf(Object.fromEntries(listed.map((name) => [String(name), of])));
    }
    default:
      return ANY;
  }
}

/** Returns the type of a value that stands in a recipe; nothing for one that is not there. */
export function typeOfValue(value: unknown): Type | undefined {
  if (value === undefined) return undefined;
  if (value === null) return NULL;
  if (typeof value === "number") return NUMBER;
  if (typeof value === "boolean") return FLAG;
  if (typeof value === "string") return value.includes("${") ? ANY : TEXT;
  if (Array.isArray(value)) {
    return {
      kind: "list",
      of: value.length === 0 ? ANY : oneOf(value.map((each) => typeOfValue(each) ?? ANY)),
    };
  }
  const members = Object.entries(value).map(([name, each]) => [name, typeOfValue(each) ?? ANY] as const);
  return recordOf(Object.fromEntries(members));
}

/** Returns the type of a member; nothing where the value cannot have it. */
export function memberOf(type: Type, name: string | number): Type | undefined {
  if (type.kind === "union") {
    const found = type.of.flatMap((each) => memberOf(each, name) ?? []);
    return found.length === 0 ? undefined : oneOf(found);
  }
  switch (type.kind) {
    case "any":
      return ANY;
    case "record":
      return Object.hasOwn(type.members, name) ? type.members[name] : undefined;
    case "map":
      return type.of;
    case "list":
      return typeof name === "number" ? type.of : undefined;
    default:
      return undefined;
  }
}

/** Returns the type of what lies at a path within a value; nothing where the value cannot have it. */
export function typeAt(type: Type, path: Issue["path"]): Type | undefined {
  return path.reduce<Type | undefined>((at, step) => at && memberOf(at, step), type);
}

/** Returns the names of the members that a value is known to have. */
export function memberNames(type: Type): string[] {
  return [
    ...new Set(variantsOf(type).flatMap((each) => each.kind === "record" ? Object.keys(each.members) : [])),
  ];
}

/** Says in words what a value is. */
export function describe(type: Type): string {
  switch (type.kind) {
    case "text":
      return type.digits === undefined ? "text" : "a number kept as text";
    case "number":
      return "a number";
    case "whole":
      return "a whole number";
    case "flag":
      return "true or false";
    case "null":
      return "null";
    case "list":
      return "a list";
    case "record":
    case "map":
      return "a map of members";
    case "other":
      return type.name;
    case "union":
      return [...new Set(type.of.map(describe))].join(" or ");
    case "any":
      return "anything";
  }
}

/** What kinds of values there are, as JSON has them. */
const plainKinds: Partial<Record<Type["kind"], string>> = { whole: "number", map: "record" };

/** Tells whether a value of one type can be one of another. */
export function mayBe(given: Type, wanted: Type): boolean {
  const plain = ({ kind }: Type) => plainKinds[kind] ?? kind;
  return variantsOf(given).some((each) =>
    variantsOf(wanted).some((other) =>
      each.kind === "any" || other.kind === "any" || each.kind === "other" || plain(each) === plain(other)
    )
  );
}
