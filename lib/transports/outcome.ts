/**
 * Picks the error class for a failed call. Order safety depends on this file: a write with an unknown outcome
 * becomes `OutcomeUnknownError`, never an error that callers retry.
 *
 * @module
 */
import { codeMeanings, ErrorText, ResponseCode, textsOfCode } from "../dictionaries/response_code.ts";
import {
  BrokerError,
  BusyError,
  DisplacedError,
  LoginExpiredError,
  MarketClosedError,
  messageOf,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
} from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists, whereToLook } from "../operations/proof.ts";
import { codeOfMismatch, describeMismatch, Mismatch } from "../operations/types.ts";

/** Details of a call for its errors. */
export interface CallContext {
  /** The operation. */
  operation: Pick<AnyOperation, "name" | "effect" | "provenBy">;
  /** Name of the transport. */
  transport: string;
  /**
   * The parameters with hsgate's names, if known. They decide which lists an error names for the outcome of a write.
   */
  params?: unknown;
}

/** A rejection as the broker sent it. */
export interface Refused {
  /** The broker's text, word for word. */
  readonly text: string;
  /** The broker's code, or hsgate's own short code. */
  readonly code?: string;
  /** Whether the answer also contains a result, which contradicts the rejection. */
  readonly hasResult?: boolean;
}

/**
 * Returns the code at the start of an error text: three to five digits that are not part of a longer number.
 */
function codeOf(text: string): string | undefined {
  return /^\s*(\d{3,5})(?!\d)/.exec(text)?.[1];
}

/** Matches a code, its separator and the text after it. Digits within a word are not a code: `1016.HK`, `112ms`. */
const CODE_AND_TEXT = /^\s*(\d{3,5})(?=$|[\s:：,，;；-])[\s:：,，;；-]*(.*)$/s;

/** The texts with which the broker rejects an order outside market hours. */
const closedTexts = ErrorText.entries.filter(({ name }) => name === "market-closed").map(({ code }) => code);

/** Returns whether a text says only that the market is closed. */
function saysClosed(text: string): boolean {
  const said = (CODE_AND_TEXT.exec(text)?.[2] ?? text).trim().replace(/[.。!！]+$/, "").toLowerCase();
  return closedTexts.includes(said);
}

/** Returns the listed code in a text that is only a code, or a code followed by one of its documented texts. */
function codeSaid(text: string): ResponseCode | undefined {
  const [, code, rest = ""] = CODE_AND_TEXT.exec(text) ?? [];
  const name = code === undefined ? undefined : ResponseCode.decode(code);
  if (!ResponseCode.has(name)) return undefined;
  const said = rest.trim().toLowerCase();
  const isDocumented = said === "" ||
    textsOfCode(name).some((documented) =>
      said.startsWith(documented) && !/^[\p{L}\p{N}]/u.test(said.slice(documented.length))
    );
  return isDocumented ? name : undefined;
}

/** Returns the listed code of a rejection. If the code is a separate member, the text does not matter. */
function nameSaid({ text, code }: Refused): ResponseCode | undefined {
  if (code === undefined) return codeSaid(text);
  const name = ResponseCode.decode(code);
  return ResponseCode.has(name) ? name : undefined;
}

/**
 * Returns whether an answer proves that a write was rejected before it was executed. An answer that also contains a
 * result proves nothing. Otherwise two kinds of answers prove a rejection:
 * - A listed code with this meaning. If the code is not a separate member but the start of the text, the rest of the
 *   text must be empty or begin with one of the documented texts of the code.
 * - The text for a closed market.
 */
function refusesWrite(refused: Refused): boolean {
  if (refused.hasResult) return false;
  if (saysClosed(refused.text)) return true;
  const name = nameSaid(refused);
  return name !== undefined && codeMeanings[name].write === "refused";
}

/** Maximum number of characters: of the broker's text, of its code, and of a text or an id that a message quotes. */
const [MOST_TEXT, MOST_CODE, MOST_QUOTED, MOST_ID] = [2_000, 100, 300, 40];

/** Returns the id of an answer, shortened for a message. */
export const shortenedId = (id: string): string => shortened(id, MOST_ID);

/** Returns a text with at most this many characters and, if it is longer, a mark of the cut. */
export function shortened(text: string, most = MOST_QUOTED): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/**
 * Returns the error for a rejection. The broker's code and text decide its class. The error keeps both word for word,
 * but at most 2,000 characters of the text.
 */
export function rejection(context: CallContext, refused: Refused): BrokerError {
  const { operation, transport } = context;
  // The cut text decides the class, because the time of a pattern may grow with the square of a text's length.
  const text = shortened(refused.text, MOST_TEXT);
  const code = refused.code === undefined ? codeOf(text) : shortened(refused.code, MOST_CODE);
  const details = { ...(code === undefined ? {} : { code }), operation: operation.name, transport };
  const reason = text === "" ? "the broker gave no reason" : text;
  if (operation.effect === "write" && !refusesWrite({ ...refused, text })) {
    const shown = shortened(reason);
    const isKnown = nameSaid(refused) !== undefined;
    const why = refused.hasResult
      ? `the broker rejected it (${shown}) but also sent a result`
      : `the broker answered "${shown}"${isKnown ? "" : ", which is not a known rejection"}`;
    return unanswered(context, text === "" ? "the broker rejected it without a reason" : why, code);
  }
  const message = `Cannot complete ${operation.name}: ${reason}`;
  if (saysClosed(text)) return new MarketClosedError(message, text, details);
  const name = code === undefined ? undefined : ResponseCode.decode(code);
  switch (ResponseCode.has(name) ? codeMeanings[name].kind : "refused") {
    case "displaced":
      return new DisplacedError(
        `${message} (another device or program logged in with this account)`,
        text,
        details,
      );
    case "login":
      return new LoginExpiredError(message, text, details);
    case "busy":
      return new BusyError(message, text, details);
    case "refused":
      return new RejectedError(message, text, details);
  }
}

/** Returns the error for a request that cannot have reached the broker. */
export function undelivered(
  context: CallContext,
  reason: string,
  code: string,
  cause?: unknown,
): BrokerError {
  const { operation, transport } = context;
  return new TransportError(`Cannot send ${operation.name}: ${reason}`, {
    code,
    operation: operation.name,
    transport,
    cause,
  });
}

/** Returns the error for a request that may have reached the broker but got no answer. */
export function unanswered(
  context: CallContext,
  reason: string,
  code: string | undefined,
  cause?: unknown,
): BrokerError {
  const { operation, transport, params } = context;
  const details = { ...code !== undefined && { code }, operation: operation.name, transport, cause };
  if (operation.effect !== "write") {
    return new TransportError(`Cannot complete ${operation.name}: ${reason}`, details);
  }
  return new OutcomeUnknownError(
    `Cannot tell whether ${operation.name} happened: ${reason}; ${whereToLook(operation, params)} ` +
      "before you send it again",
    { ...details, lists: provingLists(operation, params) },
  );
}

/** Returns the error for an unreadable answer. For a write, the outcome is unknown, as without an answer. */
export function unreadable(context: CallContext, reason: string, code: string, cause?: unknown): BrokerError {
  const { operation, transport } = context;
  if (operation.effect === "write") {
    return unanswered(context, `the answer is unreadable (${reason})`, code, cause);
  }
  return new ProtocolError(`Cannot read the answer of ${operation.name}: ${reason}`, {
    code,
    operation: operation.name,
    transport,
    cause,
  });
}

/**
 * Converts an error that was thrown while an answer was decoded. An error of this call stays as it is. Any other error,
 * even a stack overflow, means an unreadable answer: it becomes a `ProtocolError`, or an `OutcomeUnknownError` for a
 * write.
 */
export function undecoded(context: CallContext, error: unknown): BrokerError {
  if (error instanceof Mismatch) {
    return unreadable(context, describeMismatch(error), codeOfMismatch(error), error);
  }
  // Errors of this call name its operation; errors of the message layer do not.
  if (error instanceof BrokerError && error.operation !== undefined) return error;
  const code = error instanceof BrokerError ? error.code : undefined;
  return unreadable(context, messageOf(error), code ?? "unreadable", error);
}

/** Details of a call that ended without an answer. */
interface LostCall {
  /** Whether any bytes may have left this machine. */
  isSent: boolean;
  /** Name of the other end for messages. */
  peer: string;
  /** Description of the failure. */
  reason: string;
  /** The error that was thrown. */
  cause: unknown;
  /** The caller's own signal. */
  signal?: AbortSignal;
  /** The time limit, if it has passed. */
  timeoutMs?: number;
}

/**
 * Returns the error for a call without an answer: aborted, not sent, timed out, or interrupted by a lost connection.
 */
export function lost(context: CallContext, call: LostCall): unknown {
  const { isSent, peer, reason, cause, signal, timeoutMs } = call;
  if (signal?.aborted) {
    // An aborted read fails with the caller's reason. An aborted write may have been executed.
    return context.operation.effect === "write" && isSent
      ? unanswered(context, "it was aborted after it was sent", "aborted", signal.reason)
      : signal.reason;
  }
  if (!isSent) return undelivered(context, `no connection to ${peer} (${reason})`, "not-connected", cause);
  if (timeoutMs !== undefined) {
    return unanswered(context, `no answer within ${timeoutMs} ms`, "timeout", cause);
  }
  return unanswered(context, `the connection to ${peer} broke (${reason})`, "connection-lost", cause);
}
