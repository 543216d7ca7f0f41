/**
 * Operations as the sockets carry them: numbers, payloads in, payloads out.
 *
 * @module
 */
import { RequestType, ResponseType } from "../../dictionaries/message_type.ts";
import { operations } from "../../operations/mod.ts";
import type { AnyOperation, SocketMapping } from "../../operations/operation.ts";
import type { FieldsInfo } from "../../operations/types.ts";
import type { Payload } from "../../wire/envelope.ts";
import { isLong } from "../../wire/long.ts";
import type { Messages } from "../../wire/messages.ts";
import { Refusal } from "../contract.ts";

/** Which of the two servers a socket belongs to. */
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
 * Finds the operation of a request number. The trade server knows nothing of quotes, and the other way round.
 *
 * @throws {Refusal} 1009 when there is none.
 */
export function operationOf(number: number, kind: SocketKind): SocketOperation {
  const operation = byNumber.get(number);
  const belongs = operation === openConnection || (operation?.group === "hq") === (kind === "quote");
  if (operation === undefined || !belongs) throw new Refusal("1009", "no such operation");
  return operation;
}

/** Number of an operation's answers. */
export function responseNumberOf({ socket, wire }: SocketOperation): number {
  return Number(ResponseType.encode(socket.responseType ?? socket.requestType ?? wire));
}

/** Number of answers that are a system exception (API document 7). */
export const errorNumber: number = Number(ResponseType.encode("Error"));

/**
 * Reads a request's payload, by the wire's names.
 *
 * @throws {Refusal} 1010 when it is another message than the operation's.
 * @throws {ProtocolError} When it is damaged.
 */
export function readPayload(
  messages: Messages,
  { socket, request }: SocketOperation,
  payload: Payload | undefined,
): Record<string, unknown> {
  // Some clients send an empty message where there is nothing to say.
  if (socket.request === null) return {};
  if (payload !== undefined && payload.name !== socket.request) {
    throw new Refusal("1010", `illegal request: expected ${socket.request}`);
  }
  const bytes = payload?.bytes ?? new Uint8Array(0);
  const plain = messages.decode(socket.request, bytes);
  const raw = messages.reader(socket.request)(bytes);
  for (const { wire, optional, fallback } of Object.values(request.fields ?? {})) {
    // A number that is not on the wire is a zero, unless the member may be left out altogether.
    if (plain[wire] === undefined && (!optional || fallback !== undefined) && isNumber(raw[wire])) {
      plain[wire] = 0;
    }
  }
  return plain;
}

const isNumber = (value: unknown) => typeof value === "number" || isLong(value);

/** Writes a result in our names as the payload of an answer; nothing where the code says it all. */
export function writePayload(
  messages: Messages,
  { socket, response }: SocketOperation,
  result: unknown,
): Payload | undefined {
  if (socket.response === null) return undefined;
  const plain = withoutGaps(response.encode(result), response.fields ?? {});
  // A record is encoded as an object, and every answer of a socket is a record.
  return { name: socket.response, bytes: messages.encode(socket.response, plain as Record<string, unknown>) };
}

/** Leaves out the members that the messages have no field for. */
function withoutGaps(value: unknown, fields: FieldsInfo): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutGaps(item, fields));
  if (typeof value !== "object" || value === null) return value;
  const byWire = new Map(Object.values(fields).map((info) => [info.wire, info]));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const info = byWire.get(name);
      if (info?.gap !== undefined) return [];
      return [[name, info?.type.fields === undefined ? member : withoutGaps(member, info.type.fields)]];
    }),
  );
}
