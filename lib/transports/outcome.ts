/**
 * Which error class an unhappy end is. Order safety hangs on this one place: whatever leaves a write's fate open
 * becomes `OutcomeUnknownError`, and never anything that invites a repetition.
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
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
} from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists, whereToLook } from "../operations/proof.ts";
import { codeOfMismatch, Mismatch } from "../operations/types.ts";
import { describeMismatch } from "./json.ts";

/** A call under way: what the errors need to know of it. */
export interface CallContext {
  /** The operation. */
  operation: Pick<AnyOperation, "name" | "effect" | "provenBy">;
  /** Name of the transport. */
  transport: string;
  /** The parameters in our names, where they are known: they say which lists show the outcome of a write. */
  params?: unknown;
}

/** A refusal as it came. */
export interface Refused {
  /** The broker's text, word for word. */
  readonly text: string;
  /** The broker's code, or a short word of ours. */
  readonly code?: string;
  /** The answer holds a result as well, so that it contradicts itself. */
  readonly hasResult?: boolean;
}

/** The code at the start of an error text: three to five digits that stand alone. */
export function codeOf(text: string): string | undefined {
  return /^\s*(\d{3,5})(?!\d)/.exec(text)?.[1];
}

/** A code and what separates it from its text; digits that go on as a word are no code: `1016.HK`, `112ms`. */
const CODE_AND_TEXT = /^\s*(\d{3,5})(?=$|[\s:：,，;；-])[\s:：,，;；-]*(.*)$/s;

/** The text that an order outside market hours is refused with. */
const closedTexts = ErrorText.entries.filter(({ name }) => name === "market-closed").map(({ code }) => code);

/** Whether a text says that the market is closed, and nothing else. */
function saysClosed(text: string): boolean {
  const said = (CODE_AND_TEXT.exec(text)?.[2] ?? text).trim().replace(/[.。!！]+$/, "").toLowerCase();
  return closedTexts.includes(said);
}

/** Returns the listed code that a text says: the bare code, or the code in front of one of its documented texts. */
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

/** Returns what a refusal says in a listed code; a code in a member of its own needs no documented text. */
function nameSaid({ text, code }: Refused): ResponseCode | undefined {
  if (code === undefined) return codeSaid(text);
  const name = ResponseCode.decode(code);
  return ResponseCode.has(name) ? name : undefined;
}

/**
 * Whether an answer is known to refuse a write before it was executed. Known are the listed codes that mean it, alone
 * or in front of a documented text of theirs, and the listed texts. Free text proves nothing, even when it starts with
 * a number that is a listed code; neither do an unlisted code and no reason at all.
 */
function refusesWrite(refused: Refused): boolean {
  if (refused.hasResult) return false;
  if (saysClosed(refused.text)) return true;
  const name = nameSaid(refused);
  return name !== undefined && codeMeanings[name].write === "refused";
}

/** The broker said no, or seems to: picks the class by its code and text, which are kept word for word. */
export function rejection(context: CallContext, refused: Refused): BrokerError {
  const { operation, transport } = context;
  const { text, code = codeOf(text) } = refused;
  const details = { ...(code === undefined ? {} : { code }), operation: operation.name, transport };
  const reason = text === "" ? "the broker gave no reason" : text;
  if (operation.effect === "write" && !refusesWrite(refused)) {
    const shown = reason.length > 300 ? `${reason.slice(0, 300)}…` : reason;
    const isKnown = nameSaid(refused) !== undefined;
    const why = refused.hasResult
      ? `the broker refused it (${shown}) and sent a result all the same`
      : `the broker answered "${shown}"${isKnown ? "" : ", which is no refusal that is known"}`;
    return unanswered(context, text === "" ? "the broker said no and gave no reason" : why, code);
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

/** The request cannot have reached the broker. */
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

/** The request may have reached the broker, and no answer says what became of it. */
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

/** An answer came, and it cannot be read. For a write that is as open as no answer at all. */
export function unreadable(context: CallContext, reason: string, code: string, cause?: unknown): BrokerError {
  const { operation, transport } = context;
  if (operation.effect === "write") {
    return unanswered(context, `the answer cannot be read (${reason})`, code, cause);
  }
  return new ProtocolError(`Cannot read the answer of ${operation.name}: ${reason}`, {
    code,
    operation: operation.name,
    transport,
    cause,
  });
}

/**
 * Reads an answer. Whatever goes wrong while it is read, even a stack that overflows, means that the answer cannot be
 * read.
 *
 * @throws {BrokerError} For a write, an `OutcomeUnknownError`, or the refusal that `read` found.
 */
export function reading<T>(context: CallContext, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Mismatch) {
      throw unreadable(context, describeMismatch(error), codeOfMismatch(error), error);
    }
    // An error of this call names its operation; one of the message's own layer does not.
    const isOfCall = error instanceof BrokerError && error.operation !== undefined;
    if (isOfCall) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const code = error instanceof BrokerError ? error.code : undefined;
    throw unreadable(context, reason, code ?? "unreadable", error);
  }
}

/** How a call ended without an answer. */
export interface LostCall {
  /** Whether anything may have left. */
  isSent: boolean;
  /** Who was called, for the message. */
  peer: string;
  /** What broke, in words. */
  reason: string;
  /** What was thrown. */
  cause: unknown;
  /** The caller's own signal. */
  signal?: AbortSignal;
  /** The limit, when it has passed. */
  timeoutMs?: number;
}

/** What a caller is told whose call ended without an answer: it was given up, never sent, too slow, or cut off. */
export function lost(context: CallContext, call: LostCall): unknown {
  const { isSent, peer, reason, cause, signal, timeoutMs } = call;
  if (signal?.aborted) {
    // A read that its caller gave up is the caller's own business; a write may have happened all the same.
    return context.operation.effect === "write" && isSent
      ? unanswered(context, "it was given up after it was sent", "aborted", signal.reason)
      : signal.reason;
  }
  if (!isSent) return undelivered(context, `no connection to ${peer} (${reason})`, "not-connected", cause);
  if (timeoutMs !== undefined) {
    return unanswered(context, `no answer within ${timeoutMs} ms`, "timeout", cause);
  }
  return unanswered(context, `the connection to ${peer} broke (${reason})`, "connection-lost", cause);
}
