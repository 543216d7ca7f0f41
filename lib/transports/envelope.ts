/**
 * A call as the gateway has it, whatever carries it: a path and parameters on the way out, `{ok, err, data}` on the
 * way back.
 *
 * @see API document 2.1
 * @module
 */
import { UnmappedError } from "../errors.ts";
import { type AnyOperation, encodeParams, gatewayPath } from "../operations/operation.ts";
import { Mismatch } from "../operations/types.ts";
import { rememberWire } from "../operations/wire_rows.ts";
import { decodeExactly, describeMismatch, parseAsWritten, parseWithDigits } from "./json.ts";
import { type CallContext, rejection, unreadable } from "./outcome.ts";
import type { CallOptions } from "./transport.ts";

/** What the gateway answers with. */
export interface Envelope {
  /** Whether the broker did it. */
  ok: boolean;
  /** The broker's code and text when it did not; empty otherwise. */
  err: string;
  /** The answer, in the broker's spelling. */
  data: unknown;
}

/** A call on its way out. */
export interface WireCall {
  /** Such as `/trade/TradeEntrust`. */
  path: string;
  /** Parameters in the broker's spelling, passwords encrypted. */
  params: Record<string, unknown>;
}

/** An operation under way. */
export interface OperationContext extends CallContext {
  operation: AnyOperation;
}

/**
 * Writes a call.
 *
 * @param tradePasswordKey Base64 of 16, 24 or 32 bytes; needed for a login alone.
 * @throws {UnmappedError} When the gateway has no such operation.
 * @throws {TypeError} When a password is to be encrypted and its key does not fit.
 */
export async function writeCall(
  { operation, transport }: OperationContext,
  params: unknown,
  tradePasswordKey: string | undefined,
): Promise<WireCall> {
  const path = gatewayPath(operation);
  if (path === undefined) {
    throw new UnmappedError(
      `Cannot call ${operation.name} over the gateway's paths: the gateway has no such operation`,
      { code: "not-on-gateway", operation: operation.name, transport },
    );
  }
  const encoded = encodeParams(operation, params);
  for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
    const plain = encoded[wire];
    if (type.encrypt === "trade-password" && typeof plain === "string") {
      const { encryptTradePassword } = await import("../wire/trade_password.ts");
      encoded[wire] = encryptTradePassword(plain, tradePasswordKey);
    }
  }
  return { path, params: encoded };
}

/**
 * Path of what the catalogue does not know.
 *
 * @throws {TypeError} When it could be anything but a path of the gateway.
 */
export function rawPath(group: string, name: string): string {
  const path = `/${group}/${name}`;
  if (/^\/[\w-]+\/[\w/-]+$/.test(path)) return path;
  throw new TypeError(`Cannot call "${path}": not a path of the gateway`);
}

/**
 * Reads an answer in our names.
 *
 * @throws {BrokerError} The broker said no, or the answer does not fit.
 */
export function readAnswer(
  context: OperationContext,
  text: string,
  { keepWire }: Pick<CallOptions, "keepWire"> = {},
): unknown {
  const data = openEnvelope(context, text);
  const { operation } = context;
  try {
    const answer = decodeExactly(operation.response, data, () => dataOf(parseWithDigits(text)));
    if (keepWire !== undefined) {
      rememberWire(operation, answer, keepWire === "digits" ? dataOf(parseAsWritten(text)) : data);
    }
    return answer;
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw unreadable(context, describeMismatch(error), "unexpected-shape", error);
  }
}

/**
 * Opens `{ok, err, data}` and returns what it holds.
 *
 * @throws {BrokerError} The broker said no, or it is no envelope.
 */
export function openEnvelope(context: CallContext, text: string): unknown {
  const envelope = parse(text);
  if (envelope === undefined) throw unreadable(context, "it is not JSON", "not-json");
  if (!isRecord(envelope) || typeof envelope.ok !== "boolean") {
    throw unreadable(context, 'it has no "ok", so this is not the gateway', "not-an-envelope");
  }
  if (envelope.ok) return envelope.data;
  throw rejection(context, typeof envelope.err === "string" ? envelope.err : "");
}

/** The text of `err`, where the answer has one. */
export function errOf(text: string): string | undefined {
  const envelope = parse(text);
  return isRecord(envelope) && typeof envelope.err === "string" ? envelope.err : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller decides what an answer that is not JSON means
  }
}

function isRecord(value: unknown): value is { ok?: unknown; err?: unknown; data?: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function dataOf(envelope: unknown): unknown {
  return isRecord(envelope) ? envelope.data : undefined;
}
