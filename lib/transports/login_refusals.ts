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

const PASSWORD = String.raw`(?:pass\s?w(?:or)?ds?|passcode|pwd|credentials?)`;
/** Up to three words between two words of one statement. */
const NEAR = String.raw`(?:[\s:,'"-]+\w+){0,3}[\s:,'"-]+`;
const WRONG = String.raw`(?:wrong|incorrect|invalid|mismatch\w*|not match\w*)`;
/** A text that says of the password that it is wrong. */
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
/** Words for a password that does not do, and for an account that too many wrong ones have locked. */
const SAYS_UNFIT = new RegExp(
  [
    String.raw`\b${PASSWORD}\b.*\b(?:error|fail\w*|expired|reset|denied|reject\w*|refused|unknown)\b`,
    String.raw`\b(?:error|fail\w*|expired|reset|denied|reject\w*|refused|unknown)\b.*\b${PASSWORD}\b`,
    String.raw`\b(?:locked|frozen)\b`,
    "(?:密码|密碼|口令).*(?:失败|失敗|过期|過期)|锁定|鎖定|冻结|凍結",
  ].join("|"),
  "i",
);
/** Words for a state that passes, in which a password was not even looked at. */
const PASSES =
  /maintenance|maintain|time(?:d)?\s?-?out|later|busy|unavailable|not available|overload|维护|維護|超时|超時|稍后|稍後|繁忙/i;

/**
 * Whether the text of a refused login says that the password is wrong, or that the account is locked. A text that only
 * mentions the password says nothing about it.
 */
export function isAboutPassword(text: string): boolean {
  return SAYS_WRONG.test(text) || (SAYS_UNFIT.test(text) && !PASSES.test(text));
}

const WITHOUT_SUCCESS = "the broker answered without success";

/** An answer to a login that is neither a success nor a refusal with a code. */
export class NoSuccessError extends RejectedError {
  /** Whether it is about the password. */
  readonly isWrongPassword: boolean;

  /**
   * @param text What the answer says, if it says anything.
   * @param context `saysNo`: the answer says that there was no success, which the document knows for a wrong password.
   */
  constructor(text: string | undefined, { saysNo, ...context }: ErrorContext & { saysNo: boolean }) {
    super(`Cannot log in: ${text ?? WITHOUT_SUCCESS}`, text ?? "", { ...context, code: "login-failed" });
    this.isWrongPassword = text === undefined ? saysNo : isAboutPassword(text);
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
