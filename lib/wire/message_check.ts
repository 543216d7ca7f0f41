/**
 * Checks a plain object before the protobuf library writes it: left alone, the library writes a 0 for a number
 * that it does not understand, and leaves out a member that it does not know.
 *
 * @module
 */
import type * as protobuf from "protobufjs";
import { ProtocolError, showValue } from "../errors.ts";

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const UINT64 = { min: 0n, max: 2n ** 64n - 1n };
const INT32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const UINT32 = { min: 0n, max: 2n ** 32n - 1n };

/** What each scalar type takes, and how to say so. */
const scalars: Readonly<Record<string, readonly [expected: string, accepts: (value: unknown) => boolean]>> = {
  int32: ["a whole number of 32 bits", whole(INT32)],
  uint32: ["a whole number of 32 bits, not negative", whole(UINT32)],
  int64: ["a whole number of 64 bits", whole(INT64)],
  uint64: ["a whole number of 64 bits, not negative", whole(UINT64)],
  double: ["a number", Number.isFinite],
  bool: ["true or false", (value) => typeof value === "boolean"],
  string: ["text", (value) => typeof value === "string" && value.isWellFormed()],
  bytes: ["bytes", (value) => value instanceof Uint8Array],
};

/** A whole number within bounds, as a number, as decimal text or as a bigint. */
function whole({ min, max }: { min: bigint; max: bigint }): (value: unknown) => boolean {
  return (value) => {
    const exact = typeof value === "bigint"
      ? value
      : typeof value === "number" && Number.isSafeInteger(value)
      ? BigInt(value)
      : typeof value === "string" && /^-?\d{1,20}$/.test(value)
      ? BigInt(value)
      : undefined;
    return exact !== undefined && exact >= min && exact <= max;
  };
}

/**
 * Refuses an object that does not fit its message.
 *
 * @throws {ProtocolError} With code `message-field`; the text names the member.
 */
export function checkMessage(type: protobuf.Type, plain: unknown): void {
  checkFields(type, plain, type.name, []);
}

function checkFields(type: protobuf.Type, plain: unknown, message: string, path: (string | number)[]): void {
  if (typeof plain !== "object" || plain === null || Array.isArray(plain)) {
    throw wrong(message, path, "an object", plain);
  }
  for (const [name, value] of Object.entries(plain)) {
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
    const here = [...path, name];
    if (field === undefined) throw wrong(message, here, "no such member", value);
    if (value === undefined || value === null) continue;
    if (!field.repeated) checkValue(field, value, message, here);
    else if (Array.isArray(value)) {
      value.forEach((item, index) => checkValue(field, item, message, [...here, index]));
    } else throw wrong(message, here, "a list", value);
  }
}

function checkValue(field: protobuf.Field, value: unknown, message: string, path: (string | number)[]): void {
  const { resolvedType } = field;
  if (resolvedType !== null && "fieldsArray" in resolvedType) {
    return checkFields(resolvedType, value, message, path);
  }
  // Enumerations are open: any number of 32 bits travels.
  const [expected, accepts] = scalars[resolvedType === null ? field.type : "int32"] ??
    ["a known type", () => false];
  if (!accepts(value)) throw wrong(message, path, expected, value);
}

/** Text is not repeated in the error, as it may be a password or a token. */
function wrong(message: string, path: (string | number)[], expected: string, value: unknown): ProtocolError {
  const shown = typeof value === "string"
    ? "text"
    : typeof value === "object"
    ? "something else"
    : showValue(value);
  return new ProtocolError(
    `Cannot write message "${message}": ${path.join(".") || "it"}: expected ${expected}, got ${shown}`,
    { code: "message-field" },
  );
}
