/**
 * Defines how the catalogue describes an operation. The rest of the toolkit is derived from these descriptions. Also
 * decides which JSON is too large to be the answer of an operation.
 *
 * @module
 */
import { type FieldsInfo, InexactNumber, Mismatch, type Shape, type ValueType } from "./types.ts";

/**
 * The changes that a call makes. A repeated `write` may act twice. A `session` call changes only the login or the
 * pushes.
 */
export type Effect = "read" | "write" | "session";

/** The login that an operation requires. */
export type Need = "trade-login" | "platform-login" | "nothing";

/** Says that a transport cannot make the call, because the documentation lacks something. */
export interface Gap {
  /** The reason, for the error and the reference. */
  readonly gap: string;
}

/** Marks something that the documentation lacks. Once a source is found, the value replaces the gap. */
export function gap(reason: string): Gap {
  return { gap: reason };
}

/** The socket messages of an operation. `proto/` lists their type numbers by name. */
export interface SocketMapping {
  /** Protobuf message of the request; `null` if the request has no payload. */
  readonly request: string | null;
  /** Protobuf message of the answer; `null` if the answer has only a code. */
  readonly response: string | null;
  /** Name of the request's type number, without its suffix. @default the wire name */
  readonly requestType?: string;
  /** Name of the answer's type number, without its suffix. @default the request's name */
  readonly responseType?: string;
  /** Adds members for which the answer's message has no field, if other members determine them exactly. */
  // deno-lint-ignore no-explicit-any -- the answer of its own operation, as in `AnyOperation`
  readonly complete?: (answer: any) => unknown;
}

/** How an operation splits long lists into pages. */
export interface Paging {
  /** `cursor`: each row contains a cursor for the next page. `page`: pages are numbered. */
  readonly style: "cursor" | "page";
  /**
   * How to recognize the last page. `short`: it has fewer rows than requested. `total`: the answer contains the number
   * of pages. `mark`: the answer contains a mark.
   */
  readonly last: "short" | "total" | "mark";
  /**
   * Members that identify a row when the list is read again. They do not change while the row is in the list. Two
   * different rows may have the same values.
   */
  readonly identity: readonly string[];
  /** Parameter that makes the broker send all rows in one page. The broker then ignores the requested page. */
  readonly wholeWith?: string;
}

/** Lists that show the outcome of a write whose answer was lost. */
export interface Proof {
  /** hsgate's names of the read operations that list what the write created or changed. */
  readonly lists: readonly string[];
  /**
   * Limits the proof to calls in which the parameter `param` has one of the values `isOneOf`. A proof without `when`
   * applies to all other calls.
   */
  readonly when?: {
    readonly param: string;
    readonly isOneOf: readonly string[];
    /** Description of these calls, such as `a conditional order`. */
    readonly what: string;
  };
}

/** The catalogue's description of an operation. */
export interface OperationInit<Params, Result, P extends Paging | undefined = Paging | undefined> {
  /** The broker's name. */
  wire: string;
  /** First part of the gateway path; `null` if the gateway does not serve the operation. */
  group: "hs" | "trade" | "hq" | null;
  /** Path on the platform, for operations that the platform answers over HTTP. */
  platformPath?: string;
  /** What a call changes. */
  effect: Effect;
  /**
   * Set if the answer shows the state at the time of the call. Any other read has days as parameters and returns the
   * same answer later.
   */
  answers?: "now";
  /** The operation to use for a past day, if there is one. */
  instead?: string;
  /**
   * Lists to check after the answer to a write was lost. Every write has this member; empty if no list shows the
   * outcome.
   */
  provenBy?: readonly Proof[];
  /** Returns the ids that the broker reports as not done. A recipe step with such ids is not ok. */
  // deno-lint-ignore no-explicit-any -- as above
  undone?: (answer: any) => readonly string[];
  /**
   * What a write does to orders; the order desk (lib/desk) records each such write. If the answer to a cancellation was
   * lost, a second cancellation does no harm.
   */
  order?: "place" | "amend" | "cancel";
  /** Returns the ids with an unknown outcome: the answer does not mention them, or contradicts itself. */
  // deno-lint-ignore no-explicit-any -- the parameters and the answer of its own operation, as in `AnyOperation`
  unmentioned?: (params: any, answer: any) => readonly string[];
  /** What the operation does to the trade login. @default nothing */
  tradeLogin?: "makes" | "ends";
  /** The login that the operation requires. */
  needs: Need;
  /** Where it is documented. */
  source: string;
  /** True if only sources other than the broker's API document describe the operation. */
  extra?: true;
  /** If this operation is a named special case of another operation: hsgate's name of that operation. */
  variantOf?: string;
  /** Wire members that every request contains with these values. */
  constants?: Readonly<Record<string, unknown>>;
  /** Parameters. */
  request: ValueType<Params>;
  /** Answer. */
  response: ValueType<Result>;
  /** How it splits long lists into pages. */
  paging?: P;
  /** The socket messages, or why there are none. */
  socket: SocketMapping | Gap;
  /** Set if only the direct transport itself may make this call: the reason, for the error that other callers get. */
  reserved?: string;
}

/** An operation of the catalogue, named after its family and key. */
export interface Operation<
  Params = unknown,
  Result = unknown,
  P extends Paging | undefined = Paging | undefined,
> extends Readonly<OperationInit<Params, Result, P>> {
  /** hsgate's name, such as `orders.place`. */
  readonly name: string;
}

/** An operation with any parameters and any answer. */
// deno-lint-ignore no-explicit-any -- parameters are contravariant: only with `any` can one table contain all
export type AnyOperation = Operation<any, any>;

/** The parameters of an operation: `Params<typeof orders.place>`. */
export type Params<O> = O extends Operation<infer P, infer _R, infer _G> ? P : never;
/** The answer of an operation: `Result<typeof orders.place>`. */
export type Result<O> = O extends Operation<infer _P, infer R, infer _G> ? R : never;
/** One row of a paged operation. */
export type Row<O> = Result<O> extends (infer R)[] ? R : Result<O> extends { rows: (infer R)[] } ? R : never;

/** Describes one operation. {@linkcode family} adds its name. */
export function operation<P, R>(init: OperationInit<P, R, undefined>): Operation<P, R, undefined>;
/** Describes one paged operation. */
export function operation<P, R>(
  init: OperationInit<P, R, Paging> & { paging: Paging },
): Operation<P, R, Paging>;
export function operation<P, R>(init: OperationInit<P, R>): Operation<P, R> {
  return { ...init, name: init.wire };
}

/** Names the operations of a family by their keys: `family("orders", { place })` creates `orders.place`. */
export function family<F extends Readonly<Record<string, AnyOperation>>>(name: string, entries: F): F {
  const named = Object.entries(entries).map(([key, entry]) => [key, { ...entry, name: `${name}.${key}` }]);
  // The keys and entries are unchanged; only `name` is new.
  return Object.fromEntries(named) as F;
}

/**
 * Returns the gateway path, such as `/trade/TradeEntrust`; `undefined` if the gateway does not serve the operation.
 * Calls that the gateway relays to the platform have the platform's path.
 */
export function gatewayPath({ group, wire, platformPath }: AnyOperation): string | undefined {
  if (group === null) return undefined;
  return platformPath ?? `/${group}/${wire}`;
}

/** Returns the parameters in the broker's spelling, including constants. */
export function encodeParams(operation: AnyOperation, params: unknown): Record<string, unknown> {
  return { ...operation.request.encode(params) as Record<string, unknown>, ...operation.constants };
}

/** Returns whether the answer is a list, or a page of one. */
export function isListed({ paging, response }: AnyOperation): boolean {
  return paging !== undefined || "wireList" in response;
}

/** Returns the fields of the answer; for a list, the fields of one row. */
export function answerFields({ response }: AnyOperation): FieldsInfo {
  const fields = response.fields ?? {};
  const inner = fields.rows ?? fields.record;
  return inner?.type.fields ?? fields;
}

/** Returns the shape of a complete answer: for a paged operation, a list of all rows. */
export function answerShape({ response, paging }: AnyOperation): Shape {
  const shape = response.shape();
  const rows = shape.kind === "record" ? shape.members.rows : undefined;
  return paging !== undefined && rows !== undefined ? rows : shape;
}

/**
 * Converts parameters that a person typed to hsgate's names and values. A member with its wire name must have the wire
 * value; a member with hsgate's name must have hsgate's value. If both names are the same, either value is accepted.
 */
export function normalizeParams(fields: FieldsInfo, given: unknown): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const out: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(given)) {
    const ours = Object.hasOwn(fields, member) ? member : undefined;
    const name = ours ?? Object.keys(fields).find((each) => fields[each]!.wire === member) ?? member;
    const info = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const same = info !== undefined && info.wire === name;
    out[name] = info === undefined
      ? value
      : ours === undefined || same
      ? fromEither(info.type, value, same)
      : value;
  }
  return out;
}

function fromEither(type: ValueType<unknown>, value: unknown, mayBeOurs: boolean): unknown {
  if (type.fields !== undefined) {
    const inner = type.fields;
    return Array.isArray(value)
      ? value.map((item) => normalizeParams(inner, item))
      : normalizeParams(inner, value);
  }
  const issues: [] = [];
  type.check(value, [], issues);
  if (mayBeOurs && issues.length === 0) return value;
  try {
    return type.decode(value);
  } catch (error) {
    // Keep an unreadable value as it was given, so that the next check reports it.
    if (error instanceof Mismatch || error instanceof InexactNumber) return value;
    throw error;
  }
}

/**
 * Maximum nesting of an answer that is parsed. Millions of levels would take many seconds, in which nothing else runs.
 */
const MOST_PARSED_LEVELS = 50_000;

/**
 * Maximum number of commas and opening brackets in an answer that is parsed. This limits its values: an empty list
 * needs three bytes in the text, but more than a hundred in memory.
 */
const MOST_PARSED_VALUES = 2_000_000;

/** Why an answer is not parsed. */
export interface ParseRefusal {
  /** The reason, for messages, such as `it has more than 2000000 values`. */
  reason: string;
  code: "too-deep" | "too-many-values";
}

/**
 * Returns why JSON is not parsed: it has too many levels or values. Does not scan short texts, which cannot exceed the
 * limits.
 */
export function parseRefusal(text: string): ParseRefusal | undefined {
  if (text.length <= MOST_PARSED_LEVELS) return undefined;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) {
      values++;
      if (++depth > MOST_PARSED_LEVELS) return tooDeep(MOST_PARSED_LEVELS);
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
    } else if (code === 0x2c) {
      values++;
    } else if (code === 0x22) {
      // Brackets and commas in texts do not count.
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) {
        if (text.charCodeAt(at) === 0x5c) at++;
      }
    }
    if (values > MOST_PARSED_VALUES) {
      return { reason: `it has more than ${MOST_PARSED_VALUES} values`, code: "too-many-values" };
    }
  }
  return undefined;
}

/** Returns the refusal of an answer with more than `most` levels. */
export function tooDeep(most: number): ParseRefusal {
  return { reason: `it has more than ${most} levels of lists and objects`, code: "too-deep" };
}
