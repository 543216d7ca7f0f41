/**
 * Defines the exit codes and maps errors to them, for the process, `--help` and the documentation.
 *
 * @module
 */

/** All exit codes with their meanings. The `exits` of a command's description may give a code a narrower meaning. */
export const exitCodes = {
  0: "done",
  1: "failed for any other reason",
  2: "wrong usage, parameters or settings, or the answer to a question was no; nothing was sent",
  3: "the broker rejected the request",
  4: "no answer: gateway or platform not reachable, busy or too slow; nothing was changed",
  5: "a write was sent and its outcome is unknown: check the lists that the error names",
  6: "the login is missing, has expired or was rejected",
  7: "ended without an error, but the result is not as expected or not complete",
  75: "stopped before every run had ended; the store lists the unfinished runs",
  130: "interrupted",
} as const;

/** One of the exit codes. */
export type ExitCode = keyof typeof exitCodes;

/** Exit codes by the name of the error class. This file uses names, because it must not load the classes. */
const codeByClass: Readonly<Record<string, ExitCode>> = {
  UsageError: 2,
  DeclinedError: 2,
  InvalidParamsError: 2,
  UnmappedError: 2,
  RecipeError: 2,
  CalendarUnknownError: 2,
  TrustError: 2,
  RejectedError: 3,
  MarketClosedError: 3,
  BusyError: 4,
  TransportError: 4,
  OutcomeUnknownError: 5,
  LoginExpiredError: 6,
  LoginRefusedError: 6,
  DisplacedError: 6,
  InterruptedError: 130,
};

/**
 * Returns the exit code for an error, by its class or its nearest superclass. A built-in error whose message has
 * hsgate's form means wrong usage. Any other error has the exit code of its cause, or else 1.
 */
export function exitCodeOf(error: unknown): ExitCode {
  for (let each: unknown = error; each instanceof Error; each = Object.getPrototypeOf(each)) {
    const code = codeByClass[each.constructor.name];
    if (code !== undefined) return code;
  }
  if (error instanceof Deno.errors.BrokenPipe) return 130; // the reader of the output has closed the pipe
  if (isMisuse(error)) return 2;
  // The cause is more precise than the error that wraps it.
  return error instanceof Error && error.cause instanceof Error ? exitCodeOf(error.cause) : 1;
}

/** Returns whether an error reports wrong arguments in a message for people. */
export function isMisuse(error: unknown): error is Error {
  return (error instanceof TypeError || error instanceof RangeError) && error.message.startsWith("Cannot ") &&
    error.message.includes(": ");
}

/** Thrown for a wrong command line. Nothing was sent. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Thrown if a person answers a question with no. Nothing was sent. */
export class DeclinedError extends Error {
  override readonly name = "DeclinedError";
}

/** Thrown after Ctrl-C or another signal to stop, and if the input ends instead of an answer. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
