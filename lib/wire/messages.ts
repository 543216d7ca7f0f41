/**
 * Encodes plain objects as protobuf messages, and decodes such messages, with the definitions in `proto/`. Also encodes
 * and decodes envelopes: an envelope is the message around the payload of a request, an answer or a push. The protobuf
 * library is loaded on the first call. Each definition file is parsed when one of its messages is first used.
 *
 * Objects are checked before they are encoded. The library itself would write 0 for an invalid number, and leave out an
 * unknown member.
 *
 * @see API document 4.8
 * @module
 */
import type * as protobuf from "protobufjs";
import { messageOf, ProtocolError, showValue } from "../errors.ts";
import { definitionFiles, fileOfMessage, importsOf } from "./definitions.ts";
import { lazily } from "../lazy.ts";

/**
 * Maximum number of fields of an answer or a push, including the fields of the messages inside it. A field of two bytes
 * can become an object of hundreds of bytes, so a small message could otherwise fill the memory.
 */
export const MOST_FIELDS = 2_000_000;
/** Maximum number of fields without a definition in a message. With more, {@linkcode Messages.decodeAll} throws. */
export const MOST_UNLISTED = 100_000;

/** A message as the library decodes it: absent members have their default. */
export type RawMessage = Readonly<Record<string, unknown>>;

/** A 64-bit whole number, as the library decodes it. */
interface Long {
  toString(): string;
  /** Returns the nearest double. */
  toNumber(): number;
}

/** Returns whether a member is a 64-bit whole number, and not a message: no message has a member `toNumber`. */
export function isLong(value: unknown): value is Long {
  return typeof value === "object" && value !== null && "toNumber" in value;
}

/** Encodes and decodes the messages of the broker's API. */
export interface Messages {
  /** Returns whether a message is defined. */
  has(name: string): boolean;
  /**
   * Encodes a message from its members by wire name. Whole numbers may be text, 64-bit numbers also bigint;
   * enumerations must be numbers.
   *
   * @throws {ProtocolError} If a member is unknown or its value is invalid. The message names the member.
   */
  encode(name: string, plain: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * Returns the members of a message by wire name: 64-bit numbers as decimal text, enumerations as numbers. Leaves
   * out members that are absent or have their default value.
   *
   * @throws {ProtocolError} If the bytes are damaged.
   */
  decode(name: string, bytes: Uint8Array): Record<string, unknown>;
  /**
   * Like `decode`, but includes fields without a definition. Their names are their numbers, such as `#17`. Their
   * values are text, whole numbers as decimal text, or Base64. A repeated field is a list.
   *
   * @throws {ProtocolError} If the bytes are damaged, or contain more than {@linkcode MOST_UNLISTED} such fields.
   */
  decodeAll(name: string, bytes: Uint8Array): Record<string, unknown>;
  /**
   * Returns a fast decoder for one message, for streams. 64-bit numbers are `Long` objects, and `bytes`
   * members are views of the input.
   *
   * @throws {ProtocolError} From the decoder, if the bytes are damaged.
   */
  reader(name: string): (bytes: Uint8Array) => RawMessage;
}

/** Loads the protobuf library, once. */
export const loadMessages: () => Promise<Messages> = lazily(async () =>
  createMessages(await import("protobufjs"))
);

function createMessages(library: typeof protobuf): Messages {
  const root = new library.Root();
  // The envelope needs the definition of Any, which the library contains.
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
      throw new ProtocolError(`Cannot find message "${name}": no file in proto/ defines it`, {
        code: "message-unknown",
      });
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
        // The library's class has no index signature, but its members can be read by name.
        return type.decode(boundedReader(library, bytes)) as unknown as RawMessage;
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
      // Copy the bytes: the library returns a view of memory that it reuses for other messages.
      return new Uint8Array(type.encode(type.fromObject(plain)).finish());
    },
    decode(name, bytes) {
      const raw = reader(name)(bytes);
      return plainOf(find(name), raw);
    },
    decodeAll(name, bytes) {
      const type = find(name);
      try {
        const input = boundedReader(library, bytes);
        input.discardUnknown = false;
        // The library calls `raw` once for each field that it keeps without a definition.
        const keep = input.raw;
        const count = counter(MOST_UNLISTED, "fields without a definition");
        input.raw = (start, end) => {
          count();
          return keep.call(input, start, end);
        };
        const unknownOf = (raw: RawMessage) => unknownFields(library, raw);
        return plainOf(type, type.decode(input) as unknown as RawMessage, unknownOf); // the members can be read by name
      } catch (cause) {
        throw damaged(name, cause);
      }
    },
    reader,
  };
}

/** Returns a reader that throws a `RangeError` after {@linkcode MOST_FIELDS} fields. */
function boundedReader(library: typeof protobuf, bytes: Uint8Array): protobuf.Reader {
  const input = library.Reader.create(bytes);
  // A field has at least two bytes, so the usual message needs no count.
  if (bytes.length <= 2 * MOST_FIELDS) return input;
  const read = input.tag;
  const count = counter(MOST_FIELDS, "fields");
  input.tag = () => {
    count();
    return read.call(input);
  };
  return input;
}

function counter(most: number, what: string): () => void {
  let count = 0;
  return () => {
    if (++count > most) throw new RangeError(`it has more than ${most} ${what}`);
  };
}

/** Returns the fields of a message that its definition does not list, by number. */
function unknownFields(library: typeof protobuf, raw: RawMessage): Record<string, unknown> {
  const found: Record<string, string | string[]> = {};
  // The library keeps the bytes of each field, starting with its tag.
  for (const bytes of (raw.$unknowns ?? []) as readonly Uint8Array[]) {
    const input = library.Reader.create(bytes);
    const tag = input.uint32();
    const member = `#${tag >>> 3}`;
    const value = unknownValue(input, tag & 7, bytes);
    const before = found[member];
    if (Array.isArray(before)) before.push(value);
    else found[member] = before === undefined ? value : [before, value];
  }
  return found;
}

function unknownValue(input: protobuf.Reader, wireType: number, bytes: Uint8Array): string {
  if (wireType === 0) {
    return String(input.uint64());
  }
  if (wireType !== 2) return bytes.subarray(input.pos).toBase64();
  const content = input.bytes();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    // deno-lint-ignore no-control-regex -- a message within this one begins with control characters
    if (!/[\u0000-\u001f]/.test(text)) return text;
  } catch {
    // not UTF-8
  }
  return content.toBase64();
}

/** Returns the error for damaged bytes. The library throws errors of several classes for them. */
function damaged(name: string, cause: unknown): ProtocolError {
  const reason = messageOf(cause);
  return new ProtocolError(`Cannot read message "${name}": ${reason}`, { code: "message-damaged", cause });
}

/** Returns further members of a message, such as its unlisted fields. */
type More = (raw: RawMessage) => Record<string, unknown>;

/** Returns a copy of a message: 64-bit numbers as text, without members that have their default value. */
function plainOf(type: protobuf.Type, raw: RawMessage, more?: More): Record<string, unknown> {
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
  // A resolved type with fields is a message, so the library has decoded this value as a message.
  if (resolvedType !== null && "fieldsArray" in resolvedType) {
    return plainOf(resolvedType, value as RawMessage, more);
  }
  if (isLong(value)) return value.toString();
  return value instanceof Uint8Array ? new Uint8Array(value) : value;
}

/** Returns whether a value is the default of its field. An empty message and minus zero are not defaults. */
function isDefault(field: protobuf.Field, value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === "" || value === false || Object.is(value, 0) || value === "0" && field.type !== "string";
}

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const UINT64 = { min: 0n, max: 2n ** 64n - 1n };
const INT32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const UINT32 = { min: 0n, max: 2n ** 32n - 1n };

/** The description of the allowed values of each scalar type, and the check for them. */
const scalars: Readonly<Record<string, readonly [expected: string, accepts: (value: unknown) => boolean]>> = {
  int32: ["a whole number of 32 bits", (value) => typeof value !== "bigint" && whole(INT32)(value)],
  uint32: [
    "a whole number of 32 bits, not negative",
    (value) => typeof value !== "bigint" && whole(UINT32)(value),
  ],
  enum: ["a number of 32 bits", (value) => typeof value === "number" && whole(INT32)(value)],
  int64: ["a whole number of 64 bits", whole(INT64)],
  uint64: ["a whole number of 64 bits, not negative", whole(UINT64)],
  double: ["a number", Number.isFinite],
  bool: ["true or false", (value) => typeof value === "boolean"],
  string: ["text", (value) => typeof value === "string" && value.isWellFormed()],
  bytes: ["bytes", (value) => value instanceof Uint8Array],
};

/** Returns a check for whole numbers within bounds, given as a number, decimal text or bigint. */
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
 * Throws if an object does not fit its message.
 *
 * @throws {ProtocolError} With code `message-field`. The message names the member.
 */
function checkMessage(type: protobuf.Type, plain: unknown): void {
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
  // Enumerations are open: any number of 32 bits is allowed. The library would write 0 for a number as text.
  const [expected, accepts] = scalars[resolvedType === null ? field.type : "enum"] ??
    ["a known type", () => false];
  if (!accepts(value)) throw wrong(message, path, expected, value);
}

/** Returns the error for an invalid member. The error repeats no text, because text may be a password or a token. */
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

/** A message inside an envelope. */
export interface Payload {
  /** Name of the message, such as `BasicQotNotify`. */
  readonly name: string;
  /** The encoded message. In a decoded envelope it is a view of the body: decode it immediately, or copy it. */
  readonly bytes: Uint8Array;
}

/** A push, on the wire `PBNotify`. */
export interface Notify {
  /** Type number of the push, as in `NotifyType`. */
  readonly type: number;
  /** Id; sources disagree on its content. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** The content. */
  readonly payload?: Payload;
}

/** A request, on the wire `PBRequest`. */
export interface Request {
  /** Type number of the request, as in `RequestType`. */
  readonly type: number;
  /** Id, which the answer repeats. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** Parameters; some requests have none. */
  readonly payload?: Payload;
  /** Session token. A secret. */
  readonly token: string;
}

/** An answer, on the wire `PBResponse`. */
export interface Response {
  /** Type number of the answer, as in `ResponseType`. */
  readonly type: number;
  /** Id of the request; in rare cases `"0"`. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** Code, `"0000"` on success. */
  readonly code: string;
  /** Text of the code. */
  readonly text: string;
  /** The result; absent if the request failed. */
  readonly payload?: Payload;
}

/** Encodes and decodes envelopes. */
export interface Envelopes {
  /** Encodes and decodes the payloads. */
  readonly messages: Messages;
  encodeNotify(notify: Notify): Uint8Array;
  decodeNotify(body: Uint8Array): Notify;
  encodeRequest(request: Request): Uint8Array;
  decodeRequest(body: Uint8Array): Request;
  encodeResponse(response: Response): Uint8Array;
  decodeResponse(body: Uint8Array): Response;
}

const TYPE_URL = "type.googleapis.com/";
const EMPTY = new Uint8Array(0);

/** Loads the envelopes and the protobuf library. */
export async function loadEnvelopes(): Promise<Envelopes> {
  const messages = await loadMessages();
  const readNotify = messages.reader("PBNotify");
  const readRequest = messages.reader("PBRequest");
  const readResponse = messages.reader("PBResponse");
  return {
    messages,
    encodeNotify: ({ type, id, time, payload }) =>
      messages.encode("PBNotify", {
        notifyMsgType: type,
        notifyId: id,
        notifyTime: time,
        payload: encodeAny(payload),
      }),
    decodeNotify(body) {
      const raw = readNotify(body);
      return {
        type: int(raw, "notifyMsgType"),
        id: text(raw, "notifyId"),
        time: millis(raw, "notifyTime"),
        payload: decodeAny(raw.payload),
      };
    },
    encodeRequest: ({ type, id, time, payload, token }) =>
      messages.encode("PBRequest", {
        requestMsgType: type,
        requestId: id,
        requestTime: time,
        payload: encodeAny(payload),
        token,
      }),
    decodeRequest(body) {
      const raw = readRequest(body);
      return {
        type: int(raw, "requestMsgType"),
        id: text(raw, "requestId"),
        time: millis(raw, "requestTime"),
        payload: decodeAny(raw.payload),
        token: text(raw, "token"),
      };
    },
    encodeResponse: ({ type, id, time, code, text, payload }) =>
      messages.encode("PBResponse", {
        responseMsgType: type,
        requestId: id,
        responseTime: time,
        responseCode: code,
        responseMsg: text,
        payload: encodeAny(payload),
      }),
    decodeResponse(body) {
      const raw = readResponse(body);
      return {
        type: int(raw, "responseMsgType"),
        id: text(raw, "requestId"),
        time: millis(raw, "responseTime"),
        code: text(raw, "responseCode"),
        text: text(raw, "responseMsg"),
        payload: decodeAny(raw.payload),
      };
    },
  };
}

function encodeAny(payload: Payload | undefined): Record<string, unknown> | undefined {
  return payload && { type_url: TYPE_URL + payload.name, value: payload.bytes };
}

/** The URL of the last decoded payload and the message name in it. Successive pushes usually have the same URL. */
let [lastUrl, lastName] = ["", ""];

/** Returns the name of a payload's message: the part of its URL after the last slash. */
function nameIn(url: string): string {
  if (url !== lastUrl) [lastUrl, lastName] = [url, url.slice(url.lastIndexOf("/") + 1)];
  return lastName;
}

/** Decodes an `Any`. */
function decodeAny(any: unknown): Payload | undefined {
  if (typeof any !== "object" || any === null) return undefined;
  // The library's Any. Both members are checked below; an absent value means an empty message.
  const { type_url: url, value } = any as { type_url?: unknown; value?: unknown };
  if (typeof url !== "string") {
    throw new ProtocolError("Cannot read payload: it is not a protobuf Any", { code: "message-damaged" });
  }
  const bytes = value instanceof Uint8Array ? value : EMPTY;
  return { name: nameIn(url), bytes };
}

function int(raw: RawMessage, member: string): number {
  const value = raw[member];
  return typeof value === "number" ? value : 0;
}

function text(raw: RawMessage, member: string): string {
  const value = raw[member];
  return typeof value === "string" ? value : "";
}

function millis(raw: RawMessage, member: string): number {
  const value = raw[member];
  return isLong(value) ? value.toNumber() : int(raw, member);
}
