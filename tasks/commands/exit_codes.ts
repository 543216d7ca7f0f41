/**
 * Exit codes, and which error ends in which: one table for the process, `--help` and the documentation.
 *
 * @module
 */

/** Every exit code with its meaning. */
export const exitCodes = {
  0: "done",
  1: "failed for a reason that no other code names",
  2: "wrong usage, parameters or settings; nothing was sent",
  3: "the broker said no",
  4: "no answer: gateway or platform not reachable, busy or too slow; nothing was changed",
  5: "sent, and the outcome is unknown: first look in the lists that the error names",
  6: "the login is missing, has run out, or was refused",
  7: "done, and checks found differences",
  75: "stopped before everything had ended; the ledger knows what is left",
  130: "interrupted",
} as const;

/** An exit code of the table. */
export type ExitCode = keyof typeof exitCodes;

/** Error classes by name, so that the table costs nothing to load. */
const codeByClass: Readonly<Record<string, ExitCode>> = {
  UsageError: 2,
  InvalidParamsError: 2,
  UnmappedError: 2,
  RecipeError: 2,
  CalendarUnknownError: 2,
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
 * Returns the exit code that an error ends in, by its class or the nearest class above it. A built-in error with
 * a message in our own form is the misuse of a helper; any other is a fault of the program.
 */
export function exitCodeOf(error: unknown): ExitCode {
  for (let each: unknown = error; each instanceof Error; each = Object.getPrototypeOf(each)) {
    const code = codeByClass[each.constructor.name];
    if (code !== undefined) return code;
  }
  if (error instanceof Deno.errors.BrokenPipe) return 130; // whoever read the output stopped reading
  if (isMisuse(error)) return 2;
  // What a longer piece of work says of itself is less telling than what ended it.
  return error instanceof Error && error.cause instanceof Error ? exitCodeOf(error.cause) : 1;
}

/** Tells whether an error is a helper's refusal of its arguments, written for people. */
export function isMisuse(error: unknown): error is Error {
  return (error instanceof TypeError || error instanceof RangeError) && error.message.startsWith("Cannot ") &&
    error.message.includes(": ");
}

/** The command line is wrong. Nothing was sent. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Somebody pressed Ctrl-C. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
