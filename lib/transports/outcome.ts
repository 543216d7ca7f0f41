/**
 * Which error class an unhappy end is. Order safety hangs on this one place: whatever leaves a write's fate open
 * becomes `OutcomeUnknownError`, and never anything that invites a repetition.
 *
 * @module
 */
import { ResponseCode } from "../dictionaries/response_code.ts";
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

/** A call under way: what the errors need to know of it. */
export interface CallContext {
  /** The operation. */
  operation: Pick<AnyOperation, "name" | "effect">;
  /** Name of the transport. */
  transport: string;
}

const loginCodes: readonly ResponseCode[] = [
  "not-logged-in",
  "token-expired",
  "trade-login-expired",
  "futures-login-expired",
];
/** Codes after which a write may have happened all the same (our own reading of their meanings). */
const openCodes: readonly ResponseCode[] = [
  "system-error",
  "duplicate",
  "call-failed",
  "busy",
  "timeout",
  "no-connection",
  "reconnecting",
];
const busyCodes: readonly ResponseCode[] = ["busy", "timeout", "no-connection", "reconnecting"];
const marketClosed = /current time does not allow entrust/i;

const adviceForWrites = "look at today's orders before you place anything again";

/** The code at the start of an error text: three to five digits that stand alone. */
export function codeOf(text: string): string | undefined {
  return /^\s*(\d{3,5})(?!\d)/.exec(text)?.[1];
}

/** The broker said no: picks the class by its code and text, which are kept word for word. */
export function rejection(context: CallContext, text: string, code = codeOf(text)): BrokerError {
  const { operation, transport } = context;
  const details = { ...(code === undefined ? {} : { code }), operation: operation.name, transport };
  const message = `Cannot complete ${operation.name}: ${text === "" ? "the broker gave no reason" : text}`;
  const known = code === undefined ? undefined : ResponseCode.decode(code);
  const is = (codes: readonly ResponseCode[]) => codes.some((each) => each === known);
  if (marketClosed.test(text)) return new MarketClosedError(message, text, details);
  if (known === "displaced") {
    return new DisplacedError(
      `${message} (another device or program logged in with this account)`,
      text,
      details,
    );
  }
  if (is(loginCodes)) return new LoginExpiredError(message, text, details);
  if (operation.effect === "write" && is(openCodes)) {
    return new OutcomeUnknownError(`${message} (it may have happened: ${adviceForWrites})`, details);
  }
  return is(busyCodes) ? new BusyError(message, text, details) : new RejectedError(message, text, details);
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

/** The request may have reached the broker, and no answer came. */
export function unanswered(context: CallContext, reason: string, code: string, cause?: unknown): BrokerError {
  const { operation, transport } = context;
  const details = { code, operation: operation.name, transport, cause };
  return operation.effect === "write"
    ? new OutcomeUnknownError(
      `Cannot tell whether ${operation.name} happened: ${reason}; ${adviceForWrites}`,
      details,
    )
    : new TransportError(`Cannot complete ${operation.name}: ${reason}`, details);
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
