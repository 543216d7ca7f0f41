/**
 * Describes types of values in expressions: what is known before a run about outputs, parameters and broker rows. The
 * types come from the schemas that check these values.
 *
 * @module
 */
import * as z from "zod";
import { isDate } from "../../time.ts";
import { isDecimal } from "../../decimal.ts";
import type { Issue } from "../../errors.ts";
import type { Shape, TextForm } from "../../operations/types.ts";

/** Declaration of a recipe's parameter. */
export interface ParamType {
  /** Type of the value. */
  type: "text" | "number" | "integer" | "boolean" | "decimal" | "date" | "list";
  /** Meaning of the parameter. */
  description?: string;
  /** Whether a run must give the parameter, because it has no default. */
  required: boolean;
}

/** Type of a value, as far as it is known before the run. */
export type Type =
  | Exclude<Shape, { kind: "text" | "list" | "record" | "map" }>
  | Extract<Shape, { kind: "text" }> & {
    /** Regular expression that a text parameter must match. */
    readonly pattern?: string;
  }
  | { readonly kind: "list"; readonly of: Type }
  | { readonly kind: "record"; readonly members: Readonly<Record<string, Type>> }
  | { readonly kind: "map"; readonly of: Type }
  /** An integer that an expression computed; numbers of outputs and parameters are `number`. */
  | { readonly kind: "whole" }
  | { readonly kind: "null" }
  /** One of several types. */
  | { readonly kind: "union"; readonly of: readonly Type[] }
  /** A type of CEL itself, such as a timestamp. */
  | { readonly kind: "other"; readonly name: string }
  /** Nothing is known. */
  | { readonly kind: "any" };

/** An unknown type. */
export const ANY: Type = { kind: "any" };
/** Text. */
export const TEXT: Type = { kind: "text" };
/** True or false. */
export const FLAG: Type = { kind: "flag" };
/** Null. */
export const NULL: Type = { kind: "null" };
/** A number of an output or of a parameter. */
export const NUMBER: Type = { kind: "number" };

/** Returns a record type. */
export const recordOf = (members: Readonly<Record<string, Type>>): Type => ({ kind: "record", members });

/** Returns the type of a value that has one of several types. */
export function oneOf(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => type.kind === "union" ? type.of : [type]);
  if (flat.some(({ kind }) => kind === "any")) return ANY;
  if (numbers.count > MOST_FORMS) numbers = new TypeNumbers();
  const distinct = [...new Map(flat.map((type) => [numbers.of(type), type])).values()];
  return distinct.length === 1 ? distinct[0]! : { kind: "union", of: distinct };
}

/**
 * Maximum number of parts of a type that an expression builds. The type of a broker's row has about a hundred parts.
 */
const MOST_PARTS = 2_000;

const sizes = new WeakMap<Type, number>();

/** Returns the number of parts of a type; a part that occurs several times counts each time. */
function sizeOf(type: Type): number {
  let size = sizes.get(type);
  if (size === undefined) {
    size = 1;
    for (const part of partsOf(type)) size = Math.min(size + sizeOf(part), Number.MAX_SAFE_INTEGER);
    sizes.set(type, size);
  }
  return size;
}

function partsOf(type: Type): readonly Type[] {
  if (type.kind === "list" || type.kind === "map") return [type.of];
  if (type.kind === "union") return type.of;
  return type.kind === "record" ? Object.values(type.members) : [];
}

/**
 * Returns a type that an expression builds; an unknown type if it has too many parts. Each level of an expression can
 * use the previous level several times, so a short text could build a type that is too large for any memory.
 */
export const bounded = (type: Type): Type => sizeOf(type) > MOST_PARTS ? ANY : type;

/** Gives each type a number; equal types get equal numbers. */
class TypeNumbers {
  readonly #ofType = new WeakMap<Type, number>();
  readonly #ofForm = new Map<string, number>();

  of(type: Type): number {
    let number = this.#ofType.get(type);
    if (number === undefined) {
      // The form contains the numbers of a type's parts instead of the parts, so it stays short.
      const names = type.kind === "record" ? Object.keys(type.members) : [];
      const parts = partsOf(type);
      const form = JSON.stringify(
        parts.length === 0 ? type : [type.kind, names, parts.map((part) => this.of(part))],
      );
      number = this.#ofForm.get(form) ?? this.#ofForm.size;
      this.#ofForm.set(form, number);
      this.#ofType.set(type, number);
    }
    return number;
  }

  get count(): number {
    return this.#ofForm.size;
  }
}

/**
 * When there are more forms than this, the numbering starts again. Otherwise a long-running process would keep every
 * type.
 */
const MOST_FORMS = 100_000;
let numbers = new TypeNumbers();

/** Returns the types that a value may have. */
export const variantsOf = (type: Type): readonly Type[] => type.kind === "union" ? type.of : [type];

/** A date. */
export const DATE: Type = { kind: "text", form: "date" };
/** An instant, ISO 8601. */
export const INSTANT: Type = { kind: "text", form: "instant" };

const ofParams: Readonly<Record<ParamType["type"], Type>> = {
  text: TEXT,
  number: NUMBER,
  integer: NUMBER,
  boolean: FLAG,
  decimal: { kind: "text", form: "decimal" },
  date: DATE,
  list: { kind: "list", of: ANY },
};

/**
 * Returns the type of a recipe's parameter, or of a declared member of a custom step's output.
 *
 * @param value The default. Scheduled runs use it, so its text shows whether the parameter can be a number or a date.
 */
export function typeOfParam({ type }: Pick<ParamType, "type">, value?: unknown): Type {
  if (type !== "text" || typeof value !== "string" || isDecimal(value)) return ofParams[type];
  return { kind: "text", form: isDate(value) ? "date" : "other" };
}

/** Members of JSON Schema that describe a value. */
interface Schema {
  type?: string | readonly string[];
  format?: string;
  pattern?: string;
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

/** Returns the type that a schema describes. Text with the format `decimal` is a number as text. */
export function typeOfSchema(schema: z.ZodType): Type {
  let type = known.get(schema);
  if (type === undefined) {
    // The interface describes the members of JSON Schema that zod writes.
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
        ...schema.format === "decimal" && { form: "decimal" },
        ...schema.format === "date" && { form: "date" },
        ...schema.format === "code" && { form: "code" },
        ...schema.pattern !== undefined && { pattern: schema.pattern },
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

/** Returns the type of a value in a recipe; `undefined` if there is no value. */
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

/** Returns the type of a member; `undefined` if the value cannot have it. */
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

/** Returns the type at a path inside a value; `undefined` if the value cannot have it. */
export function typeAt(type: Type, path: Issue["path"]): Type | undefined {
  return path.reduce<Type | undefined>((at, step) => at && memberOf(at, step), type);
}

/** Returns the known member names of a value. */
export function memberNames(type: Type): string[] {
  return [
    ...new Set(variantsOf(type).flatMap((each) => each.kind === "record" ? Object.keys(each.members) : [])),
  ];
}

/** Returns whether a value is a number as text. */
export const isNumberText = (type: Type): boolean =>
  type.kind === "text" && (type.form === "decimal" || type.form === "whole");

/** Describes a type in words. */
export function describe(type: Type): string {
  switch (type.kind) {
    case "text":
      return isNumberText(type) ? "a number kept as text" : "text";
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

/** Describes a type in words, with details of its text, items and members. */
export function describeInDetail(type: Type): string {
  switch (type.kind) {
    case "text": {
      const { names = [] } = type;
      if (names.length > 0) {
        const shown = names.slice(0, 6).map((name) => JSON.stringify(name)).join(", ");
        return `one of ${shown}${names.length > 6 ? " and others" : ""}`;
      }
      if (type.pattern !== undefined) return "text of another form";
      return type.form === "date"
        ? 'a date such as "2025-08-15"'
        : type.form === "code"
        ? "a code"
        : describe(type);
    }
    case "list":
      return type.of.kind === "any" ? "a list" : `a list, each item ${describeInDetail(type.of)}`;
    case "record": {
      const names = Object.keys(type.members);
      return `a map of members${
        names.length === 0 ? "" : `: ${names.slice(0, 6).join(", ")}${names.length > 6 ? ", …" : ""}`
      }`;
    }
    case "union":
      return [...new Set(type.of.map(describeInDetail))].join(", or ");
    default:
      return describe(type);
  }
}

/** Kinds that count as another kind when types are compared. */
const plainKinds: Partial<Record<Type["kind"], string>> = { whole: "number", map: "record" };

/** Returns whether a value of the given type can have the wanted type. Compares only the kinds of both types. */
export function mayBe(given: Type, wanted: Type): boolean {
  return variantsOf(given).some((each) => variantsOf(wanted).some((other) => isAlike(each, other)));
}

function isAlike(given: Type, wanted: Type): boolean {
  const plain = ({ kind }: Type) => plainKinds[kind] ?? kind;
  return given.kind === "any" || wanted.kind === "any" || given.kind === "other" ||
    plain(given) === plain(wanted);
}

/** Returns whether a parameter can accept a value, as far as both are known: members, items, text. */
export function mayTake(wanted: Type, given: Type): boolean {
  return variantsOf(given).some((each) =>
    variantsOf(wanted).some((other) => isAlike(each, other) && takesInside(other, each))
  );
}

function takesInside(wanted: Type, given: Type): boolean {
  if (wanted.kind === "list" && given.kind === "list") return mayTake(wanted.of, given.of);
  if (wanted.kind === "map" && given.kind === "record") {
    return Object.values(given.members).every((each) => mayTake(wanted.of, each));
  }
  if (wanted.kind === "record" && given.kind === "record") {
    const entries = Object.entries(given.members);
    // Any member of a row may be absent, so a member that the parameter does not accept is no mistake. But if the
    // parameter accepts none of the members, the row would have to be empty, which is unlikely.
    const shared = entries.filter(([name]) => Object.hasOwn(wanted.members, name));
    return (entries.length === 0 || shared.length > 0) &&
      shared.every(([name, each]) => mayTake(wanted.members[name]!, each));
  }
  return wanted.kind !== "text" || given.kind !== "text" || takesText(wanted, given);
}

type Text = Extract<Type, { kind: "text" }>;

/** Example texts of some text formats. */
const examples: Readonly<Partial<Record<TextForm, readonly string[]>>> = {
  decimal: ["1.5", "100", "-1"],
  whole: ["1", "100"],
  date: ["2025-08-15"],
  instant: ["2025-08-15T02:00:00Z", "2025-08-15T09:30:00+08:00"],
  code: ["00700.HK", "AAPL", "600000", "1", "HSI2512", "TSLA250919C300000"],
};

function takesText({ form, names, pattern }: Text, given: Text): boolean {
  const texts = given.names ?? examples[given.form ?? "other"];
  if (names !== undefined) return texts === undefined || texts.some((text) => names.includes(text));
  if (pattern !== undefined && texts !== undefined) {
    const expression = new RegExp(pattern, "u");
    return texts.some((text) => expression.test(text));
  }
  switch (form) {
    case "decimal":
    case "whole":
      return given.form === undefined || given.form === "code" || isNumberText(given);
    case "date":
      return given.form === undefined || given.form === "date";
    case "code":
      return given.form === undefined || given.form === "code" ||
        given.form === "other" && given.names === undefined;
    default:
      return true;
  }
}
