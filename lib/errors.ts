/**
 * Defines the errors that calls to the broker throw: one class for each case that callers handle differently.
 *
 * @module
 */
import { shownLine, shownText } from "./shown_text.ts";

/** Details of an error. */
export interface ErrorContext {
  /** The broker's code, or hsgate's own short code. It is more specific than the class. */
  code?: string;
  /** hsgate's name of the operation, such as `orders.place`. */
  operation?: string;
  /** The transport that carried the call. */
  transport?: string;
  /** The error that led to this one. */
  cause?: unknown;
}

/** Marks a class of errors whose messages list mistakes, each on its own line. */
export const listsMistakes: unique symbol = Symbol("listsMistakes");

/**
 * Base of the errors that a call can throw; an aborted call may throw the reason of its signal instead. Never contains
 * a password, token, key or phone number.
 */
export class BrokerError extends Error {
  /** Name of the class. */
  override readonly name: string = "BrokerError";
  /** The broker's code, or hsgate's own short code. */
  readonly code: string | undefined;
  /** hsgate's name of the operation, such as `orders.place`. */
  readonly operation: string | undefined;
  /** The transport that carried the call. */
  readonly transport: string | undefined;

  /** Creates the error from its text and its context. */
  constructor(message: string, context: ErrorContext = {}) {
    // The message may quote the broker, and programs print error messages. So remove control characters. Also remove
    // line ends, because a text of the broker must not look like a line of the program. A class with `listsMistakes`
    // keeps the line ends: it removes those of the quoted texts itself.
    const shown = listsMistakes in new.target ? shownText(message) : shownLine(message);
    super(shown, context.cause === undefined ? undefined : { cause: context.cause });
    this.code = context.code;
    this.operation = context.operation;
    this.transport = context.transport;
  }
}

/** One invalid value. */
export interface Issue {
  /** Path of the value, such as `["security", 0, "code"]`. */
  path: (string | number)[];
  /** The given value; secrets are replaced. */
  value: unknown;
  /** Description of the allowed values. */
  expected: string;
}

/** Returns a value as text for a message: shortened, and in quotes if it is a string. */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = startOfJson(value, MOST_SHOWN);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 3)}…` : text;
}

const MOST_SHOWN = 80;

/**
 * Returns the JSON of a value. Stops early after more than `most` characters, because an invalid answer of the broker
 * may be large and deeply nested.
 */
function startOfJson(value: unknown, most: number): string {
  if (typeof value === "bigint") return `${value}`;
  // JSON needs at least one character for each character of a text, so this start of the text is long enough.
  if (typeof value === "string") {
    return JSON.stringify(value.length > most ? value.slice(0, most + 1) : value);
  }
  if (typeof value !== "object" || value === null || "toJSON" in value) {
    return JSON.stringify(value) ?? String(value);
  }
  const isList = Array.isArray(value);
  let text = isList ? "[" : "{";
  for (const key in value) {
    if (text.length > most) return text;
    const member: unknown = Reflect.get(value, key);
    if (!isList && (member === undefined || typeof member === "function")) continue;
    const name = isList ? "" : `${JSON.stringify(key)}:`;
    text += `${text.length > 1 ? "," : ""}${name}${startOfJson(member ?? null, most - text.length)}`;
  }
  return text + (isList ? "]" : "}");
}

/**
 * Maximum number of issues in a message, and maximum number of characters of an issue. The error itself has all issues.
 */
const [MOST_ISSUES, MOST_ISSUE] = [200, 1_000];

/**
 * Returns issues as text for messages and for the terminal: the first 200, one per line, then how many more there are.
 */
export function showIssues(issues: readonly Issue[]): string {
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, value, expected }) => {
    // The path and the expectation may contain a text of the broker, or a name from somebody else's file. Such a text
    // must not begin a line or fill the screen.
    const what = shownLine(`${path.length === 0 ? "the parameters" : path.join(".")}: expected ${expected}`);
    return `${what.length > MOST_ISSUE ? `${what.slice(0, MOST_ISSUE)}…` : what}, got ${showValue(value)}`;
  });
  const left = issues.length - lines.length;
  return [...lines, ...left === 0 ? [] : [`and ${left} more`]].join("\n");
}

/** The parameters are wrong. Nothing was sent. */
export class InvalidParamsError extends BrokerError {
  /** If there are several issues, its message has a line for each of the first 200. It quotes each value. */
  static readonly [listsMistakes] = true;
  /** Name of the class. */
  override readonly name: string = "InvalidParamsError";
  /** All issues, not only the first. */
  readonly issues: readonly Issue[];

  /** Creates the error; its text names the action, then the issues, at most the first 200. */
  constructor(action: string, issues: readonly Issue[], context: ErrorContext = {}) {
    const lines = showIssues(issues);
    super(
      `Cannot ${shownLine(action)}: ${issues.length === 1 ? lines : `${issues.length} issues\n${lines}`}`,
      {
        code: "invalid-params",
        ...context,
      },
    );
    this.issues = issues;
  }
}

/**
 * The broker rejected the request. The error contains the broker's code and the first 2,000 characters of its text,
 * unchanged. For a write, this error means that nothing was executed; any other failure answer to a write is an
 * `OutcomeUnknownError`.
 */
export class RejectedError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "RejectedError";
  /** The broker's own text. */
  readonly text: string;

  /** Creates the error; `text` is the broker's own text. */
  constructor(message: string, text: string, context: ErrorContext = {}) {
    super(message, context);
    this.text = text;
  }
}

/** The login that the operation needs has expired or was never made: log in again. */
export class LoginExpiredError extends RejectedError {
  /** Name of the class. */
  override readonly name: string = "LoginExpiredError";
}

/**
 * The login was taken over: another device or program logged in with the same account. Do not log in again
 * automatically, or the two programs keep taking the login from each other.
 */
export class DisplacedError extends RejectedError {
  /** Name of the class. */
  override readonly name: string = "DisplacedError";
}

/**
 * The broker rejected a login, but not because another program took the login over (`DisplacedError`). If `reason` is
 * `password`, the client never logs in again automatically, because too many wrong passwords lock an account. For any
 * other reason, the client tries again after a wait that grows from a minute to an hour.
 */
export class LoginRefusedError extends RejectedError {
  /** Name of the class. */
  override readonly name: string = "LoginRefusedError";
  /** `password` if the broker rejected the password, `temporary` for any other reason. */
  readonly reason: "password" | "temporary";
  /** Time until the client may log in again automatically, milliseconds; absent if `reason` is `password`. */
  readonly retryInMs: number | undefined;

  /** Creates the error; `text` is the broker's own text. */
  constructor(
    message: string,
    text: string,
    { reason, retryInMs, ...context }: ErrorContext & {
      reason: "password" | "temporary";
      retryInMs?: number;
    },
  ) {
    super(message, text, context);
    this.reason = reason;
    this.retryInMs = retryInMs;
  }
}

/** An order was sent outside the market's hours. */
export class MarketClosedError extends RejectedError {
  /** Name of the class. */
  override readonly name: string = "MarketClosedError";
}

/** The broker is busy. By default, the client tries a read up to three times before it throws this error. */
export class BusyError extends RejectedError {
  /** Name of the class. */
  override readonly name: string = "BusyError";
}

/**
 * The request was not delivered, or a read got no answer: connection refused, closed or timed out, or not connected.
 * By default, the client tries a read up to three times before it throws this error.
 */
export class TransportError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "TransportError";
}

/**
 * A write was sent, and no answer says whether it was executed. It may have been: check the lists that `lists` names
 * before you send anything again.
 */
export class OutcomeUnknownError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "OutcomeUnknownError";
  /** Operations that list what the write created or changed, such as `orders.today`; empty if there is none. */
  readonly lists: readonly string[];

  /** Creates the error; `lists` names the lists that show the outcome. */
  constructor(
    message: string,
    { lists = [], ...context }: ErrorContext & { lists?: readonly string[] } = {},
  ) {
    super(message, context);
    this.lists = lists;
  }
}

/** An answer is invalid: its header, signature, encryption, JSON or shape is wrong, or the end of a list is missing. */
export class ProtocolError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "ProtocolError";
}

/** This transport cannot make the call. Usually the API documentation has a gap. */
export class UnmappedError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "UnmappedError";
}

/**
 * Returns the message of a thrown value, also if the value is not an `Error`. For an error without a message, returns
 * its name.
 */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message === "" ? thrown.name : thrown.message;
}

/** Rejections that say nothing about the call: the same call may succeed later. */
const temporary = [LoginExpiredError, LoginRefusedError, DisplacedError, BusyError];

/**
 * Returns whether the transport does not support a call, or the broker rejected it for a lasting reason. Returns false
 * for a missing or refused login, a login takeover and a busy broker.
 */
export function isRefusal(error: unknown): error is RejectedError | UnmappedError {
  return error instanceof UnmappedError ||
    error instanceof RejectedError && !temporary.some((kind) => error instanceof kind);
}
