/**
 * Encodes requests in the gateway's format (a path and parameters) and decodes its answers (`{ok, err, data}`), for
 * every transport that uses this format. Loses no digit of a number.
 *
 * @see API document 2.1
 * @module
 */
import { RejectedError, UnmappedError } from "../errors.ts";
import {
  type AnyOperation,
  encodeParams,
  gatewayPath,
  isListed,
  parseRefusal,
  tooDeep,
} from "../operations/operation.ts";
import { InexactNumber } from "../operations/types.ts";
import { rememberMissingList, rememberWire } from "../operations/wire_rows.ts";
import {
  type CallContext,
  type Refused,
  rejection,
  shortened,
  unanswered,
  undecoded,
  unreadable,
} from "./outcome.ts";
import type { CallOptions } from "./transport.ts";
import { lazily } from "../lazy.ts";

const loadTradePassword = lazily(() => import("../wire/trade_password.ts"));
const loadCatalogue = lazily(() => import("../operations/mod.ts"));

/** The gateway's answer. */
export interface Envelope {
  /** Whether the broker accepted the request. */
  ok: boolean;
  /** The broker's code and text if it rejected the request; empty otherwise. */
  err: string;
  /** The answer in the broker's format. */
  data: unknown;
}

/** A request in the gateway's format. */
interface WireCall {
  /** The path, such as `/trade/TradeEntrust`. */
  path: string;
  /** Parameters with the broker's names, passwords encrypted. */
  params: Record<string, unknown>;
}

/** An operation in progress. */
export interface OperationContext extends CallContext {
  operation: AnyOperation;
}

/**
 * Converts a call to the gateway's format.
 *
 * @param options `tradePasswordKey` is Base64 of 16, 24 or 32 bytes, and only needed for a login.
 * @throws {UnmappedError} If the gateway does not have the operation.
 * @throws {TypeError} If a password must be encrypted and its key is invalid.
 */
export async function writeCall(
  { operation, transport }: OperationContext,
  params: unknown,
  { tradePasswordKey, onSecret = () => {} }: Pick<CallOptions, "onSecret"> & {
    tradePasswordKey: string | undefined;
  },
): Promise<WireCall> {
  const path = gatewayPath(operation);
  if (path === undefined) {
    throw new UnmappedError(
      `Cannot call ${operation.name} over the gateway's paths: the gateway does not have this operation`,
      { code: "not-on-gateway", operation: operation.name, transport },
    );
  }
  const encoded = encodeParams(operation, params);
  for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
    const plain = encoded[wire];
    if (type.encrypt === "trade-password" && typeof plain === "string") {
      const { encryptTradePassword, secretsOfEncrypted } = await loadTradePassword();
      const encrypted = encoded[wire] = await encryptTradePassword(plain, tradePasswordKey);
      [plain, ...secretsOfEncrypted(encrypted)].forEach(onSecret);
    }
  }
  return { path, params: encoded };
}

/**
 * Returns the path of an operation that the catalogue does not contain.
 *
 * @throws {TypeError} If the result is not a path of the gateway.
 */
export function rawPath(group: string, name: string): string {
  const path = `/${group}/${name}`;
  if (/^\/[\w-]+\/[\w/-]+$/.test(path)) return path;
  throw new TypeError(`Cannot call "${path}": it is not a path of the gateway`);
}

/**
 * Returns the error context for a call of a path, which counts as a write. If the catalogue contains the name, errors
 * name the lists that show the outcome.
 */
export async function rawContext(path: string, transport: string): Promise<CallContext> {
  const { findOperation } = await loadCatalogue();
  const provenBy = findOperation(path.slice(path.lastIndexOf("/") + 1))?.provenBy;
  return { operation: { name: path.slice(1), effect: "write", ...provenBy && { provenBy } }, transport };
}

/**
 * Decodes an answer and returns it with hsgate's names.
 *
 * @throws {BrokerError} If the broker rejected the request, or the answer is invalid.
 */
export function readAnswer(
  context: OperationContext,
  text: string,
  { keepWire }: Pick<CallOptions, "keepWire"> = {},
): unknown {
  const { operation } = context;
  try {
    const data = opened(context, text);
    // Printing or copying the kept answer recurses through all levels.
    if (keepWire !== undefined) checkDepth(context, data);
    const answer = decodeExactly(operation, data, text);
    if (isListed(operation)) rememberMissingList(operation, answer, data);
    if (keepWire !== undefined) {
      rememberWire(operation, answer, keepWire === "digits" ? dataOf(parseAsWritten(text)) : data);
    }
    return answer;
  } catch (error) {
    throw undecoded(context, error);
  }
}

/**
 * Parses `{ok, err, data}` and returns `data`.
 *
 * @throws {BrokerError} If the broker rejected the request, or if the text is not an envelope. Also if `err` contains
 * an error next to `ok: true` (code `ok-with-error`); the outcome of a write is then unknown.
 */
export function openEnvelope(context: CallContext, text: string): unknown {
  try {
    const data = opened(context, text);
    checkDepth(context, data);
    return data;
  } catch (error) {
    throw undecoded(context, error);
  }
}

function opened(context: CallContext, text: string): unknown {
  refuseTooLarge(context, text);
  const envelope = parse(text);
  if (envelope === undefined) throw unreadable(context, "it is not JSON", "not-json");
  if (!isRecord(envelope) || typeof envelope.ok !== "boolean") {
    throw unreadable(context, 'it has no "ok", so this is not the gateway', "not-an-envelope");
  }
  if (!envelope.ok) throw rejection(context, refusedBy(envelope));
  const error = errorOf(envelope.err);
  if (error === "") return envelope.data;
  throw unreadable(context, `it contains "ok" and also an error: "${shortened(error)}"`, "ok-with-error");
}

/** Texts in `err` that mean success. */
const successWords: readonly string[] = ["ok", "success", "0", "0000", "成功", "null"];

/** Returns the error text next to `ok: true`; empty if there is none, or if it means success. */
function errorOf(err: unknown): string {
  if (err === undefined || err === null || err === false) return "";
  const text = (typeof err === "object" ? JSON.stringify(err) : String(err)).trim();
  return text === "{}" || text === "[]" || successWords.includes(text.toLowerCase()) ? "" : text;
}

/** Returns the error for an HTTP status other than 200. Uses the error text of the body if the body is an envelope. */
export function httpRefusal(context: CallContext, status: number, text: string): unknown {
  const parsed = parseRefusal(text) === undefined ? parse(text) : undefined;
  const envelope = isRecord(parsed) && parsed.ok === false ? refusedBy(parsed) : undefined;
  const said = `HTTP ${status}${
    envelope === undefined || envelope.text === "" ? "" : `: ${shortened(envelope.text)}`
  }`;
  const code = `http-${status}`;
  // A server error, or a status below 400, leaves the outcome unknown. A client error rejects a read. It
  // rejects a write only if its body is an envelope with a known rejection.
  if (status < 400 || status >= 500) return unanswered(context, said, code);
  if (context.operation.effect !== "write") return rejection(context, { text: said, code });
  const mayBeExecuted = envelope === undefined || uncertainStatuses.includes(status);
  const refusal = mayBeExecuted ? undefined : rejection(context, envelope);
  return refusal instanceof RejectedError ? refusal : unanswered(context, said, code);
}

/**
 * Statuses of a server that stopped waiting, or that asks for a later try. They leave a write's outcome unknown,
 * whatever the body contains.
 */
const uncertainStatuses: readonly number[] = [408, 425, 429, 499];

function refusedBy({ err, data }: { err?: unknown; data?: unknown }): Refused {
  return { text: typeof err === "string" ? err : "", hasResult: hasAnyValue(data) };
}

/**
 * Returns whether an answer contains a value other than zero, false or an empty text, at any depth. The data of a
 * rejection contain no such value.
 */
function hasAnyValue(value: unknown): boolean {
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

/** Maximum nesting of an answer that is kept in the broker's format. The deepest documented answer has five levels. */
const MOST_LEVELS = 100;

/**
 * Throws if an answer is nested so deeply that printing or copying it may overflow the stack.
 *
 * @throws {BrokerError} With code `too-deep`.
 */
function checkDepth(context: CallContext, data: unknown): void {
  let level = [data];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) {
      const { reason, code } = tooDeep(MOST_LEVELS);
      throw unreadable(context, reason, code);
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const inner of Object.values(value)) if (typeof inner === "object") next.push(inner);
    }
    level = next;
  }
}

/**
 * Throws if JSON has too many levels or values to be parsed.
 *
 * @throws {BrokerError} With code `too-deep` or `too-many-values`.
 */
export function refuseTooLarge(context: CallContext, text: string): void {
  const refusal = parseRefusal(text);
  if (refusal !== undefined) throw unreadable(context, refusal.reason, refusal.code);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller handles an answer that is not JSON
  }
}

function isRecord(value: unknown): value is { ok?: unknown; err?: unknown; data?: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function dataOf(envelope: unknown): unknown {
  return isRecord(envelope) ? envelope.data : undefined;
}

/**
 * Decodes an answer. Parses its text a second time, exactly, only if a double cannot represent one of its numbers. So
 * the usual answer costs nothing extra.
 *
 * @throws {Mismatch} If the answer does not fit its type.
 */
function decodeExactly({ response }: AnyOperation, data: unknown, text: string): unknown {
  try {
    return response.decode(data);
  } catch (error) {
    if (!(error instanceof InexactNumber)) throw error;
    return response.decode(dataOf(parseWithDigits(text)));
  }
}

/** Parses JSON and keeps every number as its source text. */
function parseWithDigits(text: string): unknown {
  return parseNumbers(text, (source) => source);
}

/** Parses JSON so that `JSON.stringify` writes every number exactly as in the source. */
function parseAsWritten(text: string): unknown {
  // TypeScript has no type for `rawJSON` yet. It returns an object that `JSON.stringify` writes as the given text.
  const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };
  return parseNumbers(text, rawJSON);
}

function parseNumbers(text: string, read: (source: string) => unknown): unknown {
  // TypeScript has no type for the third argument yet. It contains the source text of a primitive.
  type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? read(context.source) : value;
  return JSON.parse(text, keepDigits);
}
