/**
 * Converts operations of the catalogue to messages of the socket, and answers of the socket to results.
 *
 * @module
 */
import { RequestType, ResponseType } from "../../dictionaries/message_type.ts";
import { UnmappedError } from "../../errors.ts";
import { type AnyOperation, encodeParams, type SocketMapping } from "../../operations/operation.ts";
import { platform } from "../../operations/platform.ts";
import { rememberWire } from "../../operations/wire_rows.ts";
import { readSessionKey } from "../../wire/cipher.ts";
import type { Messages, Payload, Response } from "../../wire/messages.ts";
import type { PublicKey } from "../../wire/keys.ts";
import type { OperationContext } from "../envelope.ts";
import { type CallContext, rejection, undecoded, unreadable } from "../outcome.ts";
import type { CallOptions } from "../transport.ts";
import { encryptForPlatform } from "./platform_session.ts";

/** Type number of answers that report a system exception. */
const SYSTEM_EXCEPTION = Number(ResponseType.encode("Error"));
/** Type numbers of generic answers, which any operation may get. */
const GENERIC = ["Common", "CommonInt", "CommonString", "CommonBool"].map((name) =>
  Number(ResponseType.encode(name))
);

/**
 * Returns the socket messages of an operation.
 *
 * @throws {UnmappedError} If the socket does not support the operation. The message gives the reason.
 */
export function mappingOf(operation: AnyOperation): SocketMapping {
  const { socket, name } = operation;
  if (!("gap" in socket)) return socket;
  throw new UnmappedError(
    `Cannot call ${name} over the direct transport: ${socket.gap} (the gateway supports it)`,
    { code: "not-on-socket", operation: name, transport: "direct" },
  );
}

/** Returns the type number of an operation's request. */
export function requestNumber(operation: AnyOperation): number {
  const { requestType = operation.wire } = mappingOf(operation);
  return Number(RequestType.encode(requestType));
}

/** Returns the type number of an operation's answers. */
export function responseNumber(operation: AnyOperation): number {
  const { responseType, requestType = operation.wire } = mappingOf(operation);
  return Number(ResponseType.encode(responseType ?? requestType));
}

/**
 * Throws if an answer has the id of a call but the type number of another operation. Call {@linkcode checkCode}
 * first, because a rejection may have any type number.
 *
 * @throws {BrokerError} With code `unexpected-type`; for a write, an `OutcomeUnknownError`.
 */
export function checkType(context: CallContext, { type }: Response, expected: number): void {
  if (type === expected || GENERIC.includes(type)) return;
  throw unreadable(context, `it is of type ${type} instead of ${expected}`, "unexpected-type");
}

/**
 * Returns the parameters that the message can contain. Leaves out a member that the message lacks if the member is
 * not set, or has its default value.
 *
 * @throws {UnmappedError} If such a member has another value. The message names the member.
 */
export function plainParams(operation: AnyOperation, params: unknown): Record<string, unknown> {
  const plain = encodeParams(operation, params);
  // The client has validated the parameters, so they are an object with hsgate's names.
  const given = params as Readonly<Record<string, unknown>>;
  for (const [name, { wire, gap, fallback }] of Object.entries(operation.request.fields ?? {})) {
    if (gap === undefined) continue;
    if (given[name] !== undefined && given[name] !== fallback) {
      throw new UnmappedError(
        `Cannot call ${operation.name} over the direct transport with "${name}": ${gap} (the gateway supports it)`,
        { code: "not-on-socket", operation: operation.name, transport: "direct" },
      );
    }
    delete plain[wire];
  }
  return plain;
}

/**
 * Returns the encoded payload of a request, with passwords encrypted for the platform.
 *
 * @throws {UnmappedError} If the message cannot contain a member.
 * @throws {ProtocolError} If a value does not fit the message. Nothing was sent.
 */
export function encodePayload(
  operation: AnyOperation,
  params: unknown,
  { messages, platformKey }: { messages: Messages; platformKey: PublicKey },
): Payload | undefined {
  const { request } = mappingOf(operation);
  const plain = plainParams(operation, params);
  if (request === null) return undefined;
  for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
    const secret = plain[wire];
    if (type.encrypt === "trade-password" && typeof secret === "string") {
      plain[wire] = encryptForPlatform(secret, platformKey);
    }
  }
  return { name: request, bytes: messages.encode(request, plain) };
}

/**
 * Throws if an answer is a rejection.
 *
 * @throws {BrokerError} The code of the answer decides the class of the error.
 */
export function checkCode(context: CallContext, { type, code, text, payload }: Response): void {
  const hasResult = payload !== undefined && payload.bytes.length > 0;
  if (type === SYSTEM_EXCEPTION) {
    // A system exception is a rejection even with the code "" or "0000". Any other code decides as usual.
    const isPlain = code === "" || code === "0000";
    throw rejection(context, {
      text: text === "" ? "system exception" : text,
      code: isPlain ? String(SYSTEM_EXCEPTION) : code,
      hasResult,
    });
  }
  if (code === "0000") return;
  if (code === "") throw unreadable(context, "it has no code", "no-code");
  throw rejection(context, { text, code, hasResult });
}

/**
 * Returns the answer with hsgate's names.
 *
 * @throws {BrokerError} If the platform rejected the request, or the answer is invalid.
 */
export function decodeAnswer(
  context: OperationContext,
  response: Response,
  { messages, keepWire }: { messages: Messages } & Pick<CallOptions, "keepWire">,
): unknown {
  const { operation } = context;
  checkCode(context, response);
  checkType(context, response, responseNumber(operation));
  const { response: expected, complete = (answer: unknown) => answer } = mappingOf(operation);
  const { payload } = response;
  try {
    if (expected === null) return operation.response.decode({});
    // An empty list has a payload too. Without this check, a missing payload would mean "no holdings" or "no orders".
    if (payload === undefined) throw unreadable(context, `it lacks its "${expected}"`, "no-payload");
    if (payload.name !== expected) {
      throw unreadable(
        context,
        `it contains "${payload.name}" instead of "${expected}"`,
        "unexpected-payload",
      );
    }
    // Decode the message directly: an absent member then gets its default value.
    const answer = complete(operation.response.decode(messages.reader(expected)(payload.bytes)));
    if (keepWire !== undefined) rememberWire(operation, answer, messages.decodeAll(expected, payload.bytes));
    return answer;
  } catch (error) {
    throw undecoded(context, error);
  }
}

/**
 * Reads the answer to the first request: the session key, and the time between heartbeats if it is valid.
 *
 * @throws {BrokerError} If the platform rejects the request, or the answer is invalid.
 */
export function readInit(
  context: CallContext,
  response: Response,
  messages: Messages,
): { key: Uint8Array; heartbeatMs: number | undefined } {
  checkCode(context, response);
  checkType(context, response, responseNumber(platform.openConnection));
  const { name, bytes } = response.payload ?? { name: "nothing", bytes: new Uint8Array(0) };
  if (name !== "InitConnectResp") {
    throw unreadable(context, `it contains "${name}" instead of "InitConnectResp"`, "unexpected-payload");
  }
  try {
    const answer = platform.openConnection.response.decode(messages.decode(name, bytes));
    const { sessionKey, heartbeatIntervalSec: seconds = 0 } = answer;
    const isUsable = seconds >= 1 && seconds <= 3600;
    return { key: readSessionKey(sessionKey), heartbeatMs: isUsable ? seconds * 1000 : undefined };
  } catch (error) {
    throw undecoded(context, error);
  }
}
