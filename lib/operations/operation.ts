/**
 * One entry per operation: everything that the rest of the toolkit derives from.
 *
 * @module
 */
import { type FieldsInfo, InexactNumber, Mismatch, type Shape, type ValueType } from "./types.ts";

/** Whether repeating a call could do something twice. A `session` call changes the login or the pushes only. */
export type Effect = "read" | "write" | "session";

/** The login that has to be there before. */
export type Need = "trade-login" | "platform-login" | "nothing";

/** Why the documentation does not let a transport carry an operation. */
export interface Gap {
  /** The reason, for the error and the reference. */
  readonly gap: string;
}

/** Says what is missing in the documentation. When a source turns up, the gap becomes a value. */
export function gap(reason: string): Gap {
  return { gap: reason };
}

/** How the socket carries an operation. Message numbers follow from the names; they stand in `proto/` alone. */
export interface SocketMapping {
  /** Message of the request's payload; none is sent when `null`. */
  readonly request: string | null;
  /** Message of the answer's payload; `null` when the answer's code says it all. */
  readonly response: string | null;
  /** Name of the request number without its suffix; the wire name by default. */
  readonly requestType?: string;
  /** Name of the answer number without its suffix; as the request's by default. */
  readonly responseType?: string;
  /** Adds members that the answer's message has no field for, where the others tell them exactly. */
  // deno-lint-ignore no-explicit-any -- the answer of its own operation, as in `AnyOperation`
  readonly complete?: (answer: any) => unknown;
}

/** How an operation hands out long lists. */
export interface Paging {
  /** By a cursor that each row carries, or by page numbers. */
  readonly style: "cursor" | "page";
  /**
   * What tells the last page: a page shorter than asked for, the number of pages, or a mark.
   */
  readonly last: "short" | "total" | "mark";
  /**
   * Members of a row by which it is found again in another reading of the list: none of them changes while the row
   * stays in the list. Two rows may be alike in all of them.
   */
  readonly identity: readonly string[];
  /** Parameter with which the broker answers with all rows at once, whatever the page. */
  readonly wholeWith?: string;
}

/** Where the outcome of a write shows when its answer was lost. */
export interface Proof {
  /** Reads of the catalogue, by our names, that list what the write made or changed. */
  readonly lists: readonly string[];
  /** Holds only for calls whose parameter has one of these values; a proof without it holds for all other calls. */
  readonly when?: {
    readonly param: string;
    readonly isOneOf: readonly string[];
    /** Those calls in words, such as `a conditional order`. */
    readonly what: string;
  };
}

/** An operation as the catalogue describes it. */
export interface OperationInit<Params, Result, P extends Paging | undefined = Paging | undefined> {
  /** The broker's name. */
  wire: string;
  /** First part of the gateway path; `null` when the gateway does not have it. */
  group: "hs" | "trade" | "hq" | null;
  /** Path on the platform, for the operations that the platform answers over HTTP. */
  platformPath?: string;
  /** Whether repeating it could do something twice. */
  effect: Effect;
  /** The answer is as of the moment of the call. A read without this is asked for days, and answers the same later. */
  answers?: "now";
  /** The operation that answers for a past day, where there is one. */
  instead?: string;
  /** Where to look after a write whose answer was lost. Every write has it; empty where no list shows the outcome. */
  provenBy?: readonly Proof[];
  /** Ids of what the broker says that it did not do; a step with any is not ok. */
  // deno-lint-ignore no-explicit-any -- as above
  undone?: (answer: any) => readonly string[];
  /** It only cancels orders: sent after another cancellation whose answer was lost, it can do no harm. */
  cancels?: true;
  /** Ids of which the answer does not say what became of them, or says two things: their outcome is unknown. */
  // deno-lint-ignore no-explicit-any -- the parameters and the answer of its own operation, as in `AnyOperation`
  unmentioned?: (params: any, answer: any) => readonly string[];
  /** The login that has to be there before. */
  needs: Need;
  /** Where it is documented. */
  source: string;
  /** Beyond the broker's API document: known from other sources alone. */
  extra?: true;
  /** The wire operation that this is a named special case of. */
  variantOf?: string;
  /** Wire members that are always sent as they stand here. */
  constants?: Readonly<Record<string, unknown>>;
  /** Parameters. */
  request: ValueType<Params>;
  /** Answer. */
  response: ValueType<Result>;
  /** How it hands out long lists. */
  paging?: P;
  /** How the socket carries it. */
  socket: SocketMapping | Gap;
  /** Why the direct transport makes this call by itself alone, and takes it from nobody. */
  kept?: string;
}

/** An operation of the catalogue, with the name that its place gives it. */
export interface Operation<
  Params = unknown,
  Result = unknown,
  P extends Paging | undefined = Paging | undefined,
> extends Readonly<OperationInit<Params, Result, P>> {
  /** Our name, such as `orders.place`. */
  readonly name: string;
}

/** Any operation, whatever its parameters and answer. */
// deno-lint-ignore no-explicit-any -- parameters are contravariant: only `any` holds every operation in one table
export type AnyOperation = Operation<any, any>;

/** The parameters of an operation: `Params<typeof orders.place>`. */
export type Params<O> = O extends Operation<infer P, infer _R, infer _G> ? P : never;
/** The answer of an operation: `Result<typeof orders.place>`. */
export type Result<O> = O extends Operation<infer _P, infer R, infer _G> ? R : never;
/** One row of an operation that answers in pages. */
export type Row<O> = Result<O> extends (infer R)[] ? R : Result<O> extends { rows: (infer R)[] } ? R : never;

/** Describes one operation; its name comes from {@linkcode family}. */
export function operation<P, R>(init: OperationInit<P, R, undefined>): Operation<P, R, undefined>;
/** Describes one operation that answers in pages. */
export function operation<P, R>(
  init: OperationInit<P, R, Paging> & { paging: Paging },
): Operation<P, R, Paging>;
export function operation<P, R>(init: OperationInit<P, R>): Operation<P, R> {
  return { ...init, name: init.wire };
}

/** Names the operations of a family by their place: `family("orders", { place })` makes `orders.place`. */
export function family<F extends Readonly<Record<string, AnyOperation>>>(name: string, entries: F): F {
  const named = Object.entries(entries).map(([key, entry]) => [key, { ...entry, name: `${name}.${key}` }]);
  // The same keys with the same entries, only named.
  return Object.fromEntries(named) as F;
}

/** Path on the gateway, such as `/trade/TradeEntrust`; what it relays to the platform keeps the platform's path. */
export function gatewayPath({ group, wire, platformPath }: AnyOperation): string | undefined {
  if (group === null) return undefined;
  return platformPath ?? `/${group}/${wire}`;
}

/** Parameters as the wire has them, constants included. */
export function encodeParams(operation: AnyOperation, params: unknown): Record<string, unknown> {
  return { ...operation.request.encode(params) as Record<string, unknown>, ...operation.constants };
}

/** Fields of the answer, of one row for lists. */
export function answerFields({ response }: AnyOperation): FieldsInfo {
  const fields = response.fields ?? {};
  const inner = fields.rows ?? fields.record;
  return inner?.type.fields ?? fields;
}

/** What a caller that walks lists to their end is given. */
export function answerShape({ response, paging }: AnyOperation): Shape {
  const { shape } = response;
  const rows = shape.kind === "record" ? shape.members.rows : undefined;
  return paging !== undefined && rows !== undefined ? rows : shape;
}

/**
 * Turns parameters in the broker's spelling into ours: a member under its wire name holds the wire's value, one
 * under our name holds ours. Used where people type parameters by hand.
 */
export function normalizeParams(fields: FieldsInfo, given: unknown): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const out: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(given)) {
    const ours = Object.hasOwn(fields, member) ? member : undefined;
    const name = ours ?? Object.keys(fields).find((each) => fields[each]!.wire === member) ?? member;
    const info = fields[name];
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
    // What cannot be read stays as it was given, so that the check that follows names it.
    if (error instanceof Mismatch || error instanceof InexactNumber) return value;
    throw error;
  }
}
