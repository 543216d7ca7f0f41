/**
 * Maps operations to the sockets: type numbers, and encoding and decoding of payloads.
 *
 * @module
 */
import { RequestType, ResponseType } from "../../dictionaries/message_type.ts";
import { operations } from "../../operations/mod.ts";
import type { AnyOperation, SocketMapping } from "../../operations/operation.ts";
import type { FieldsInfo } from "../../operations/types.ts";
import { isLong, type Messages, type Payload } from "../../wire/messages.ts";
import { Refusal } from "../contract.ts";

/** The server that a socket belongs to. */
export type SocketKind = "trade" | "quote";

/** An operation that a socket carries. */
export type SocketOperation = AnyOperation & { readonly socket: SocketMapping };

const hasSocket = (operation: AnyOperation): operation is SocketOperation => !("gap" in operation.socket);

const carried = [...operations.values()].filter(hasSocket);

const byNumber: ReadonlyMap<number, SocketOperation> = new Map(
  carried.map((operation) => [
    Number(RequestType.encode(operation.socket.requestType ?? operation.wire)),
    operation,
  ]),
);

/** The first request on every connection. */
export const openConnection = carried.find(({ name }) => name === "platform.openConnection")!;

/**
 * Returns the operation of a request's type number. The trade server does not handle quotes, and the market server
 * handles only quotes.
 *
 * @throws {Refusal} 1009 if the server does not handle the number.
 */
export function operationOf(number: number, kind: SocketKind): SocketOperation {
  const operation = byNumber.get(number);
  const belongs = operation === openConnection || (operation?.group === "hq") === (kind === "quote");
  if (operation === undefined || !belongs) throw new Refusal("1009", "no such operation");
  return operation;
}

/** Returns the type number of an operation's answers. */
export function responseNumberOf({ socket, wire }: SocketOperation): number {
  return Number(ResponseType.encode(socket.responseType ?? socket.requestType ?? wire));
}

/** Type number of answers that are system exceptions (API document 7). */
export const errorNumber: number = Number(ResponseType.encode("Error"));

/**
 * Decodes a request's payload. The members of the result have their wire names.
 *
 * @throws {Refusal} 1010 if the payload is not the operation's message.
 * @throws {ProtocolError} If the payload is damaged.
 */
export function readPayload(
  messages: Messages,
  { socket, request }: SocketOperation,
  payload: Payload | undefined,
): Record<string, unknown> {
  // Some clients send an empty message instead of none.
  if (socket.request === null) return {};
  if (payload !== undefined && payload.name !== socket.request) {
    throw new Refusal("1010", `illegal request: expected ${socket.request}`);
  }
  const bytes = payload?.bytes ?? new Uint8Array(0);
  const plain = messages.decode(socket.request, bytes);
  const raw = messages.reader(socket.request)(bytes);
  for (const { wire, optional, fallback } of Object.values(request.fields ?? {})) {
    // A number that is absent on the wire is zero, unless the member is optional and has no fallback.
    if (plain[wire] === undefined && (!optional || fallback !== undefined) && isNumber(raw[wire])) {
      plain[wire] = 0;
    }
  }
  return plain;
}

const isNumber = (value: unknown) => typeof value === "number" || isLong(value);

/** Encodes a result as the payload of an answer; `undefined` if the code is the whole answer. */
export function writePayload(
  messages: Messages,
  { socket, response }: SocketOperation,
  result: unknown,
): Payload | undefined {
  if (socket.response === null) return undefined;
  const plain = withoutGaps(response.encode(result), response.fields ?? {});
  // `encode` returns an object for a record, and every socket answer is a record.
  return { name: socket.response, bytes: messages.encode(socket.response, plain as Record<string, unknown>) };
}

/** Removes the members that have no field in the message. */
function withoutGaps(value: unknown, fields: FieldsInfo): unknown {
  const special = specialOf(fields);
  if (special.size === 0) return value;
  if (Array.isArray(value)) return value.map((item) => withoutGaps(item, fields));
  if (typeof value !== "object" || value === null) return value;
  const own: Record<string, unknown> = { ...value };
  for (const [name, info] of special) {
    if (!(name in own)) continue;
    if (info.gap !== undefined) delete own[name];
    else own[name] = withoutGaps(own[name], info.type.fields!); // `specialOf` has checked it
  }
  return own;
}

const specials = new WeakMap<FieldsInfo, ReadonlyMap<string, FieldsInfo[string]>>();

/** Returns the members, by their wire names, that have no field in the message or contain such a member. */
function specialOf(fields: FieldsInfo): ReadonlyMap<string, FieldsInfo[string]> {
  let special = specials.get(fields);
  if (special === undefined) {
    const found = Object.values(fields).filter(({ gap, type }) =>
      gap !== undefined || type.fields !== undefined && specialOf(type.fields).size > 0
    );
    specials.set(fields, special = new Map(found.map((info) => [info.wire, info])));
  }
  return special;
}
