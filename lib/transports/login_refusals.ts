/**
 * Decides whether a login was rejected because of the password, and when a login may be tried again. Applies to the
 * trade login of every transport and to the platform login.
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

/** Wait after the first rejection that is not about the password. */
const FIRST_WAIT_MS = 60_000;
/** Factor by which each further consecutive rejection lengthens the wait. */
const GROWTH = 3;
/** Longest wait between two attempts. */
const MOST_WAIT_MS = 3_600_000;

/**
 * Returns the wait after a number of consecutive rejections, in milliseconds: 1, 3, 9, 27 minutes, then an hour.
 */
export function loginWaitMs(refusals: number): number {
  return Math.min(FIRST_WAIT_MS * GROWTH ** (Math.max(1, refusals) - 1), MOST_WAIT_MS);
}

const PASSWORD = String.raw`(?:pass\s?w(?:or)?ds?|passcode|pwd|credentials?)`;
/** Matches up to three words between two words of one phrase. */
const NEAR = String.raw`(?:[\s:,'"-]+\w+){0,3}[\s:,'"-]+`;
const WRONG = String.raw`(?:wrong|incorrect|invalid|mismatch\w*|not match\w*)`;
/** Matches a text that says that the password is wrong. */
const SAYS_WRONG = new RegExp(
  [
    String.raw`\b${WRONG}${NEAR}${PASSWORD}\b`,
    String.raw`\b${PASSWORD}${NEAR}${WRONG}\b`,
    // "Wrong password" and "the password was not correct" in Chinese.
    "(?:密码|密碼|口令)[^，。；,;]{0,6}(?:错误|錯誤|不正确|不正確|有误|有誤|不符|不匹配|无效|無效)",
    "(?:错误|錯誤|无效|無效)(?:的)?(?:密码|密碼|口令)",
  ].join("|"),
  "i",
);
/** Matches words for an unusable password, and for an account that is locked after too many wrong passwords. */
const SAYS_UNFIT = new RegExp(
  [
    String.raw`\b${PASSWORD}\b.*\b(?:error|fail\w*|expired|reset|denied|reject\w*|refused|unknown)\b`,
    String.raw`\b(?:error|fail\w*|expired|reset|denied|reject\w*|refused|unknown)\b.*\b${PASSWORD}\b`,
    String.raw`\b(?:locked|frozen)\b`,
    "(?:密码|密碼|口令).*(?:失败|失敗|过期|過期)|锁定|鎖定|冻结|凍結",
  ].join("|"),
  "i",
);
/** Matches words for a temporary state in which the broker did not check the password. */
const SAYS_TEMPORARY =
  /maintenance|maintain|time(?:d)?\s?-?out|later|busy|unavailable|not available|overload|维护|維護|超时|超時|稍后|稍後|繁忙/i;

/**
 * Returns whether the text of a rejected login says that the password is wrong, or that the account is
 * locked. A text that only mentions the password does not count.
 */
export function isAboutPassword(text: string): boolean {
  return SAYS_WRONG.test(text) || (SAYS_UNFIT.test(text) && !SAYS_TEMPORARY.test(text));
}

const WITHOUT_SUCCESS = "the broker's answer reports no success";

/** An answer to a login that is neither a success nor a rejection with a code. */
export class NoSuccessError extends RejectedError {
  /** Whether the broker rejected the password. */
  readonly isWrongPassword: boolean;

  /**
   * @param text The text of the answer, if there is any.
   * @param context `saysNo`: the answer explicitly reports failure, which the API document describes for a wrong
   * password.
   */
  constructor(text: string | undefined, { saysNo, ...context }: ErrorContext & { saysNo: boolean }) {
    super(`Cannot log in: ${text ?? WITHOUT_SUCCESS}`, text ?? "", { ...context, code: "login-failed" });
    this.isWrongPassword = text === undefined ? saysNo : isAboutPassword(text);
  }
}

/** Remembers the rejections of one login, and decides when it may be tried again. */
export class LoginRefusals {
  readonly #monotonic: () => number;
  readonly #what: string;
  /** The error that stops all automatic logins: a wrong password, a wrong key or a login takeover. */
  #final: BrokerError | undefined;
  #temporary: { error: RejectedError; until: number } | undefined;
  #count = 0;

  /**
   * @param monotonic Milliseconds of a clock that never jumps.
   * @param what Name of the password for messages, such as `trade password`.
   */
  constructor(monotonic: () => number, what: string) {
    this.#monotonic = monotonic;
    this.#what = what;
  }

  /** Whether automatic logins are stopped until a person allows them. */
  get isStopped(): boolean {
    return this.#final !== undefined;
  }

  /** The rejection that currently prevents a login; `undefined` if a login may be tried. */
  get current(): BrokerError | undefined {
    if (this.#final !== undefined) return this.#final;
    if (this.#temporary === undefined) return undefined;
    const { error, until } = this.#temporary;
    const leftMs = until - this.#monotonic();
    return leftMs <= 0 ? undefined : temporaryRefusal(error, leftMs);
  }

  /**
   * Records a rejection and returns the error for the caller. Returns any other error unchanged.
   *
   * @param error The error that the login threw.
   */
  refused(error: unknown): unknown {
    // A `LoginRefusedError` was already recorded by the login that threw it. A busy broker has not rejected anything.
    const isKept = error instanceof LoginRefusedError || error instanceof BusyError;
    if (!(error instanceof RejectedError) || isKept) return error;
    if (error instanceof DisplacedError) return this.stop(error);
    const isWrong = error instanceof NoSuccessError ? error.isWrongPassword : isAboutPassword(error.text);
    if (isWrong) return this.stop(wrongPassword(error, this.#what));
    const waitMs = loginWaitMs(++this.#count);
    this.#temporary = { error, until: this.#monotonic() + waitMs };
    return temporaryRefusal(error, waitMs);
  }

  /** Stops all automatic logins because of an error, and returns the error. */
  stop<E extends BrokerError>(error: E): E {
    this.#final ??= error;
    return error;
  }

  /** Records a successful login. */
  succeeded(): void {
    this.#count = 0;
    this.#temporary = undefined;
  }

  /**
   * Allows another attempt because a person asked for it. Does not reset the growth of the waits.
   */
  allowAgain(): void {
    this.#final = undefined;
    this.#temporary = undefined;
  }
}

/** Returns the broker's text or code in parentheses, for a message; empty if there is neither. */
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
    `Cannot log in: the broker rejected the ${what}${
      saidBy(error)
    }; hsgate does not try it again automatically, ` +
      "because too many wrong attempts lock an account",
    error.text,
    { ...contextOf(error, error), reason: "password" },
  );
}

function temporaryRefusal(error: RejectedError, retryInMs: number): LoginRefusedError {
  const why = error.text === "" && error.code === undefined ? "; it gave no reason" : saidBy(error);
  return new LoginRefusedError(
    `Cannot log in: the broker rejected the login for now${why}; the next attempt is in ${
      Math.ceil(retryInMs / 1000)
    } s at the earliest`,
    error.text,
    { ...contextOf(error, error), reason: "temporary", retryInMs },
  );
}
