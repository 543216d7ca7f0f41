/**
 * What the protobuf library read, as a plain object.
 *
 * @module
 */
import type * as protobuf from "protobufjs";
import { isLong, longText } from "./long.ts";
import type { RawMessage } from "./messages.ts";

/** Returns what else a message holds. */
type More = (raw: RawMessage) => Record<string, unknown>;

/** Copies a message: 64-bit numbers become text, bytes a copy, and members at their default are left out. */
export function plainOf(type: protobuf.Type, raw: RawMessage, more?: More): Record<string, unknown> {
  const plain: Record<string, unknown> = more?.(raw) ?? {};
  for (const field of type.fieldsArray) {
    const value = raw[field.name];
    if (Array.isArray(value)) {
      if (value.length > 0) plain[field.name] = value.map((item) => plainValue(field, item, more));
    } else {
      const one = plainValue(field, value, more);
      if (one !== undefined && !isDefault(field, one)) plain[field.name] = one;
    }
  }
  return plain;
}

function plainValue({ resolvedType }: protobuf.Field, value: unknown, more?: More): unknown {
  if (value === null || value === undefined) return undefined;
  // A resolved type with fields is a message, and the library has read this value as one.
  if (resolvedType !== null && "fieldsArray" in resolvedType) {
    return plainOf(resolvedType, value as RawMessage, more);
  }
  if (isLong(value)) return longText(value);
  return value instanceof Uint8Array ? new Uint8Array(value) : value;
}

/** A message that is there but empty is no default, and minus zero is not zero. */
function isDefault(field: protobuf.Field, value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === "" || value === false || Object.is(value, 0) || value === "0" && field.type !== "string";
}
