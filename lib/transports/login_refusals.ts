/**
 * Refused logins: which of them are about the password, and when a login may be tried again. For the trade login over
 * each transport, and for the login at the platform.
 *
 * @module
 */
import {
  BrokerError,
  BusyError,
  DisplacedError,
  type ErrorContext,
  LoginRefusedError,
  RejectedError,
} from "../errors.ts";

/** Wait after the first refusal that is not about the password. */
const FIRST_WAIT_MS = 60_000;
/** Each refusal in a row makes the wait this many times as long. */
const GROWTH = 3;
/** Longest wait between two tries. */
const MOST_WAIT_MS = 3_600_000;

/** How long no login is tried after so many refusals in a row, milliseconds: 1, 3, 9, 27 minutes, then an hour. */
export function loginWaitMs(refusals: number): number {
  return Math.min(FIRST_WAIT_MS * GROWTH ** (Math.max(1, refusals) - 1), MOST_WAIT_MS);
}

/** Words for a password that is wrong, and for an account that too many wrong ones have locked. */
const ABOUT_PASSWORD =
  /pass\s?w|passcode|\bpwd\b|credential|\blocked\b|\bfrozen\b|密码|密碼|口令|锁定|鎖定|冻结|凍結/i;

/** Whether the text of a refused login is about the password. */
export function isAboutPassword(text: string): boolean {
  return ABOUT_PASSWORD.test(text);
}

const WITHOUT_SUCCESS = "the broker answered without success";

/** An answer to a login that says neither yes nor no in a code: the document knows it for a wrong password. */
export class NoSuccessError extends RejectedError {
  /** Whether it is about the password. */
  readonly isWrongPassword: boolean;

  constructor(text: string | undefined, context: ErrorContext) {
    super(`Cannot log in: ${text ?? WITHOUT_SUCCESS}`, text ?? "", { ...context, code: "login-failed" });
    this.isWrongPassword = text === undefined || isAboutPassword(text);
  }
}

/** The refusals of one login. */
export class LoginRefusals {
  readonly #monotonic: () => number;
  readonly #what: string;
  /** Stops every login by itself: the password is wrong, or another login has taken this one over. */
  #final: BrokerError | undefined;
  #passing: { error: RejectedError; until: number } | undefined;
  #count = 0;

  /**
   * @param monotonic Milliseconds of a clock that never jumps.
   * @param what The password in words, such as `trade password`.
   */
  constructor(monotonic: () => number, what: string) {
    this.#monotonic = monotonic;
    this.#what = what;
  }

  /** Whether no login is tried by itself until a person allows it. */
  get isStopped(): boolean {
    return this.#final !== undefined;
  }

  /** The refusal that keeps a login from being tried now; nothing when one may be. */
  get current(): BrokerError | undefined {
    if (this.#final !== undefined) return this.#final;
    if (this.#passing === undefined) return undefined;
    const { error, until } = this.#passing;
    const leftMs = until - this.#monotonic();
    return leftMs <= 0 ? undefined : passing(error, leftMs);
  }

  /**
   * Keeps a refusal, and returns the error for whoever asked. Any other error is returned as it is.
   *
   * @param error What the login threw.
   */
  refused(error: unknown): unknown {
    // A refusal of the login below this one, such as the platform's, is kept there. A busy broker has refused nothing.
    const isKept = error instanceof LoginRefusedError || error instanceof BusyError;
    if (!(error instanceof RejectedError) || isKept) return error;
    if (error instanceof DisplacedError) return this.stop(error);
    const isWrong = error instanceof NoSuccessError ? error.isWrongPassword : isAboutPassword(error.text);
    if (isWrong) return this.stop(wrongPassword(error, this.#what));
    const waitMs = loginWaitMs(++this.#count);
    this.#passing = { error, until: this.#monotonic() + waitMs };
    return passing(error, waitMs);
  }

  /** Stops every login by itself because of an error, and returns it. */
  stop<E extends BrokerError>(error: E): E {
    this.#final ??= error;
    return error;
  }

  /** A login worked. */
  succeeded(): void {
    this.#count = 0;
    this.#passing = undefined;
  }

  /** A person wants to try again. The waits go on growing where they were. */
  allowAgain(): void {
    this.#final = undefined;
    this.#passing = undefined;
  }
}

/** What the broker said, for a message. */
function saidBy(error: RejectedError): string {
  if (error.text !== "") return ` (${error.text})`;
  if (error instanceof NoSuccessError) return ` (${WITHOUT_SUCCESS})`;
  return error.code === undefined ? "" : ` (${error.code})`;
}

const contextOf = ({ code, operation, transport }: RejectedError, cause: RejectedError) => ({
  code: code ?? "login-failed",
  operation,
  transport,
  cause,
});

function wrongPassword(error: RejectedError, what: string): LoginRefusedError {
  return new LoginRefusedError(
    `Cannot log in: the broker refused the ${what}${
      saidBy(error)
    }; it is not tried again by itself, as too many ` +
      "wrong tries lock an account",
    error.text,
    { ...contextOf(error, error), reason: "password" },
  );
}

function passing(error: RejectedError, retryInMs: number): LoginRefusedError {
  const why = error.text === "" && error.code === undefined ? "; it gave no reason" : saidBy(error);
  return new LoginRefusedError(
    `Cannot log in: the broker refused the login for now${why}; the next one is tried in ${
      Math.ceil(retryInMs / 1000)
    } s at the earliest`,
    error.text,
    { ...contextOf(error, error), reason: "passing", retryInMs },
  );
}
