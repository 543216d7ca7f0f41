/**
 * Messages between plain objects and bytes, by the definitions of `proto/`. The protobuf library is loaded on
 * the first call, and each file of definitions when one of its messages is first used.
 *
 * @module
 */
import type * as protobuf from "protobufjs";
import { ProtocolError } from "../errors.ts";
import { definitionFiles, fileOfMessage, importsOf } from "./definitions.ts";
import { checkMessage } from "./message_check.ts";
import { isLong, longText } from "./long.ts";
import { plainOf } from "./message_plain.ts";

/** A message as the library reads it: members that were absent show their default. */
export type RawMessage = Readonly<Record<string, unknown>>;

/** The messages of the interface. */
export interface Messages {
  /** Tells whether a message is defined. */
  has(name: string): boolean;
  /**
   * Writes a message from its members by their wire names. Whole numbers may be given as text, 64-bit ones as
   * bigint too.
   *
   * @throws {ProtocolError} When a member is unknown or its value does not fit; the text names it.
   */
  encode(name: string, plain: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * Reads a message: wire names, 64-bit numbers as decimal text, enumerations as numbers. A member that is
   * absent or has its default is left out.
   *
   * @throws {ProtocolError} When the bytes are damaged.
   */
  decode(name: string, bytes: Uint8Array): Record<string, unknown>;
  /**
   * As `decode`, with the fields that no definition lists: `#17` holds the text of field 17, the number where it is a
   * whole one, or else its bytes in Base64. A field that comes several times is a list.
   *
   * @throws {ProtocolError} When the bytes are damaged.
   */
  decodeAll(name: string, bytes: Uint8Array): Record<string, unknown>;
  /**
   * Returns a quick reader of one message, for streams. 64-bit numbers are `Long` halves and `bytes` members are
   * views of the input.
   *
   * @throws {ProtocolError} From the reader, when the bytes are damaged.
   */
  reader(name: string): (bytes: Uint8Array) => RawMessage;
}

let loading: Promise<Messages> | undefined;

/** Loads the protobuf library, once. */
export function loadMessages(): Promise<Messages> {
  return loading ??= import("protobufjs").then(createMessages);
}

function createMessages(library: typeof protobuf): Messages {
  const root = new library.Root();
  // The library carries the definition of Any; without it the envelope would not resolve.
  root.addJSON(library.common.get("google/protobuf/any.proto")!.nested!);
  const parsed = new Set<string>();
  const types = new Map<string, protobuf.Type>();

  const parse = (file: string) => {
    if (parsed.has(file)) return;
    parsed.add(file);
    importsOf(file).forEach(parse);
    library.parse(definitionFiles[file]!, root, { keepCase: true });
  };

  const find = (name: string): protobuf.Type => {
    const known = types.get(name);
    if (known !== undefined) return known;
    const file = fileOfMessage(name);
    if (file === undefined) {
      throw new ProtocolError(`Cannot find message "${name}": no definition`, { code: "message-unknown" });
    }
    parse(file);
    root.resolveAll();
    const type = root.lookupType(name);
    types.set(name, type);
    return type;
  };

  const reader = (name: string) => {
    const type = find(name);
    return (bytes: Uint8Array): RawMessage => {
      try {
        // The library's class has no index signature; its members are read by name all the same.
        return type.decode(bytes) as unknown as RawMessage;
      } catch (cause) {
        throw damaged(name, cause);
      }
    };
  };

  return {
    has: (name) => fileOfMessage(name) !== undefined,
    encode(name, plain) {
      const type = find(name);
      checkMessage(type, plain);
      // A copy: the library hands out views of a pool that it shares between messages.
      return new Uint8Array(type.encode(type.fromObject(plain)).finish());
    },
    decode(name, bytes) {
      const raw = reader(name)(bytes);
      return plainOf(find(name), raw);
    },
    decodeAll(name, bytes) {
      const type = find(name);
      try {
        const input = library.Reader.create(bytes);
        input.discardUnknown = false;
        const unknownOf = (raw: RawMessage) => unknownFields(library, raw);
        return plainOf(type, type.decode(input) as unknown as RawMessage, unknownOf); // as in `reader`
      } catch (cause) {
        throw damaged(name, cause);
      }
    },
    reader,
  };
}

/** The fields of a message that its definition does not list, by their numbers. */
function unknownFields(library: typeof protobuf, raw: RawMessage): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  // The library keeps each as bytes, its tag first.
  for (const bytes of (raw.$unknowns ?? []) as readonly Uint8Array[]) {
    const input = library.Reader.create(bytes);
    const tag = input.uint32();
    const member = `#${tag >>> 3}`;
    const value = unknownValue(input, tag & 7, bytes);
    const before = found[member];
    found[member] = before === undefined
      ? value
      : Array.isArray(before)
      ? [...before, value]
      : [before, value];
  }
  return found;
}

function unknownValue(input: protobuf.Reader, wireType: number, bytes: Uint8Array): string {
  if (wireType === 0) {
    const value = input.uint64();
    return isLong(value) ? longText(value) : String(value);
  }
  if (wireType !== 2) return bytes.subarray(input.pos).toBase64();
  const content = input.bytes();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    // deno-lint-ignore no-control-regex -- a message within this one begins with control characters
    if (!/[\u0000-\u001f]/.test(text)) return text;
  } catch {
    // no text
  }
  return content.toBase64();
}

/** The library throws RangeError, TypeError or Error, by what is damaged. */
function damaged(name: string, cause: unknown): ProtocolError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ProtocolError(`Cannot read message "${name}": ${reason}`, { code: "message-damaged", cause });
}
