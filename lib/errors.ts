/**
 * Every error class of the toolkit: one class per thing that a caller would do differently.
 *
 * @module
 */
import { shownText } from "./shown_text.ts";

/** Where an error came from, and what is known about it. */
export interface ErrorContext {
  /** The broker's code, or a short word of ours, for finer grains than the class. */
  code?: string;
  /** The operation by our name, such as `orders.place`. */
  operation?: string;
  /** The transport that carried the call. */
  transport?: string;
  /** What was thrown underneath. */
  cause?: unknown;
}

/** Base of every error that a call can throw. Never holds a password, token, key or phone number. */
export class BrokerError extends Error {
  override readonly name: string = "BrokerError";
  /** The broker's code, or a short word of ours. */
  readonly code: string | undefined;
  /** The operation by our name, such as `orders.place`. */
  readonly operation: string | undefined;
  /** The transport that carried the call. */
  readonly transport: string | undefined;

  constructor(message: string, context: ErrorContext = {}) {
    // A broker's words may stand in it, and whoever prints an error prints them.
    super(shownText(message), context.cause === undefined ? undefined : { cause: context.cause });
    this.code = context.code;
    this.operation = context.operation;
    this.transport = context.transport;
  }
}

/** One thing that is wrong with a value. */
export interface Issue {
  /** Where it stands, such as `["security", 0, "code"]`. */
  path: (string | number)[];
  /** What was given; secrets are replaced. */
  value: unknown;
  /** What is allowed. */
  expected: string;
}

/** Writes a value for a message: short, in quotes when it is text. */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "bigint") return `${value}`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

/** Writes issues one per line, for messages and for the terminal. */
export function showIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, value, expected }) =>
    `${path.length === 0 ? "the parameters" : path.join(".")}: expected ${expected}, got ${showValue(value)}`
  ).join("\n");
}

/** The parameters are wrong. Nothing was sent. */
export class InvalidParamsError extends BrokerError {
  override readonly name: string = "InvalidParamsError";
  /** Everything that is wrong, not only the first thing. */
  readonly issues: readonly Issue[];

  constructor(action: string, issues: readonly Issue[], context: ErrorContext = {}) {
    const lines = showIssues(issues);
    super(`Cannot ${action}: ${issues.length === 1 ? lines : `${issues.length} issues\n${lines}`}`, {
      code: "invalid-params",
      ...context,
    });
    this.issues = issues;
  }
}

/**
 * The broker said no. Its code and text are kept word for word. For a write this is a refusal that is known to mean
 * that nothing was executed; any other answer to a write is an `OutcomeUnknownError`.
 */
export class RejectedError extends BrokerError {
  override readonly name: string = "RejectedError";
  /** The broker's own text. */
  readonly text: string;

  constructor(message: string, text: string, context: ErrorContext = {}) {
    super(message, context);
    this.text = text;
  }
}

/** The login that the operation needs has run out or was never made: log in again. */
export class LoginExpiredError extends RejectedError {
  override readonly name: string = "LoginExpiredError";
}

/** Another device or program logged in with the same account; logging in again would start a fight. */
export class DisplacedError extends RejectedError {
  override readonly name: string = "DisplacedError";
}

/**
 * The broker refused a login for a reason other than another login (`DisplacedError`). After `password` no login is
 * tried again by itself, as too many wrong tries lock an account. After `passing`, which is every other reason, one is
 * tried again after a wait that grows from a minute to an hour.
 */
export class LoginRefusedError extends RejectedError {
  override readonly name: string = "LoginRefusedError";
  /** Whether the password was refused, or the login for now. */
  readonly reason: "password" | "passing";
  /** How long no login is tried by itself, milliseconds; absent after `password`. */
  readonly retryInMs: number | undefined;

  constructor(
    message: string,
    text: string,
    { reason, retryInMs, ...context }: ErrorContext & { reason: "password" | "passing"; retryInMs?: number },
  ) {
    super(message, text, context);
    this.reason = reason;
    this.retryInMs = retryInMs;
  }
}

/** An order was sent outside the market's hours. */
export class MarketClosedError extends RejectedError {
  override readonly name: string = "MarketClosedError";
}

/** The broker is busy; a read may be tried again later. */
export class BusyError extends RejectedError {
  override readonly name: string = "BusyError";
}

/** Not delivered, or a read went unanswered: refused, closed, timed out, not connected. */
export class TransportError extends BrokerError {
  override readonly name: string = "TransportError";
}

/**
 * A write was sent, and no answer says whether it was executed. It may have been: look in the lists that `lists` names
 * before you send anything again.
 */
export class OutcomeUnknownError extends BrokerError {
  override readonly name: string = "OutcomeUnknownError";
  /** Operations that list what the write made or changed, such as `orders.today`; empty where none does. */
  readonly lists: readonly string[];

  constructor(
    message: string,
    { lists = [], ...context }: ErrorContext & { lists?: readonly string[] } = {},
  ) {
    super(message, context);
    this.lists = lists;
  }
}

/** An answer that does not fit: header, signature, cipher, JSON, shape. */
export class ProtocolError extends BrokerError {
  override readonly name: string = "ProtocolError";
}

/** A gap in the API documentation stands in the way on this transport. */
export class UnmappedError extends BrokerError {
  override readonly name: string = "UnmappedError";
}
