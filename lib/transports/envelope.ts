/**
 * A call as the gateway has it, whatever carries it: a path and parameters on the way out, `{ok, err, data}` on the
 * way back.
 *
 * @see API document 2.1
 * @module
 */
import { RejectedError, UnmappedError } from "../errors.ts";
import { findOperation } from "../operations/mod.ts";
import { type AnyOperation, encodeParams, gatewayPath } from "../operations/operation.ts";
import { rememberMissingList, rememberWire } from "../operations/wire_rows.ts";
import { decodeExactly, parseAsWritten, parseWithDigits } from "./json.ts";
import { type CallContext, reading, type Refused, rejection, unanswered, unreadable } from "./outcome.ts";
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

/** A call of a path as the errors know it: a write, whose outcome shows where the catalogue says, if it knows the name. */
export function rawContext(path: string, transport: string): CallContext {
  const provenBy = findOperation(path.slice(path.lastIndexOf("/") + 1))?.provenBy;
  return { operation: { name: path.slice(1), effect: "write", ...provenBy && { provenBy } }, transport };
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
  return reading(context, () => {
    const data = opened(context, text);
    const { operation } = context;
    if (keepWire !== undefined) checkDepth(context, data); // whoever prints or keeps it goes through all of it
    const answer = decodeExactly(operation.response, data, () => dataOf(parseWithDigits(text)));
    rememberMissingList(operation, answer, data);
    if (keepWire !== undefined) {
      rememberWire(operation, answer, keepWire === "digits" ? dataOf(parseAsWritten(text)) : data);
    }
    return answer;
  });
}

/**
 * Opens `{ok, err, data}` and returns what it holds.
 *
 * @throws {BrokerError} The broker said no, or it is no envelope, or `err` names an error beside `ok: true` (code
 * `ok-with-error`; for a write the outcome is unknown).
 */
export function openEnvelope(context: CallContext, text: string): unknown {
  return reading(context, () => {
    const data = opened(context, text);
    checkDepth(context, data);
    return data;
  });
}

function opened(context: CallContext, text: string): unknown {
  const envelope = parse(text);
  if (envelope === undefined) throw unreadable(context, "it is not JSON", "not-json");
  if (!isRecord(envelope) || typeof envelope.ok !== "boolean") {
    throw unreadable(context, 'it has no "ok", so this is not the gateway', "not-an-envelope");
  }
  if (!envelope.ok) throw rejection(context, refusedBy(envelope));
  const error = errorOf(envelope.err);
  if (error === "") return envelope.data;
  const shown = error.length > 300 ? `${error.slice(0, 300)}…` : error;
  throw unreadable(context, `it says "ok" and an error as well: "${shown}"`, "ok-with-error");
}

/** Words in the place of an error that mean success. */
const successWords: readonly string[] = ["ok", "success", "0", "0000", "成功", "null"];

/** The error text beside `ok: true`; empty when there is none, or a word that means success. */
function errorOf(err: unknown): string {
  if (err === undefined || err === null || err === false) return "";
  const text = (typeof err === "object" ? JSON.stringify(err) : String(err)).trim();
  return text === "{}" || text === "[]" || successWords.includes(text.toLowerCase()) ? "" : text;
}

/** What an answer with an HTTP status other than 200 means. Its envelope counts, where there is one. */
export function httpRefusal(context: CallContext, status: number, text: string): unknown {
  const parsed = parse(text);
  const envelope = isRecord(parsed) && parsed.ok === false ? refusedBy(parsed) : undefined;
  const said = `HTTP ${status}${envelope === undefined || envelope.text === "" ? "" : `: ${envelope.text}`}`;
  const code = `http-${status}`;
  // After a server error nobody knows. A client error refuses a read; for a write the status proves nothing.
  if (status < 400 || status >= 500) return unanswered(context, said, code);
  if (context.operation.effect !== "write") return rejection(context, { text: said, code });
  const mayBeTaken = envelope === undefined || openStatuses.includes(status);
  const refusal = mayBeTaken ? undefined : rejection(context, envelope);
  return refusal instanceof RejectedError ? refusal : unanswered(context, said, code);
}

/** Statuses of somebody who stopped waiting: after them a write is open whatever the body says. */
const openStatuses: readonly number[] = [408, 425, 429, 499];

function refusedBy({ err, data }: { err?: unknown; data?: unknown }): Refused {
  return { text: typeof err === "string" ? err : "", hasResult: holdsSomething(data) };
}

/** Whether there is anything in an answer, however deep: a refusal has none. */
function holdsSomething(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === "object" && next !== null) {
      for (const inner of Object.values(next)) left.push(inner);
    } else if (next !== undefined && next !== null && next !== "" && next !== false && next !== 0) {
      return true;
    }
  }
  return false;
}

/** Levels of lists and objects in an answer that is kept as it came; the deepest documented one has five. */
const MOST_LEVELS = 100;

/**
 * Refuses an answer that is nested so deeply that printing or copying it may overflow the stack.
 *
 * @throws {BrokerError}
 */
function checkDepth(context: CallContext, data: unknown): void {
  let level = [data];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) {
      throw unreadable(context, `it has more than ${MOST_LEVELS} levels of lists and objects`, "too-deep");
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const inner of Object.values(value)) if (typeof inner === "object") next.push(inner);
    }
    level = next;
  }
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
