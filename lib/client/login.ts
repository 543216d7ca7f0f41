/**
 * Logs in once for any number of waiting calls.
 *
 * @module
 */
import { LoginExpiredError } from "../errors.ts";
import type { account } from "../operations/account.ts";
import { loadFamily } from "../operations/families.ts";
import type { OperationName } from "../operations/public_types.ts";
import type { Result } from "../operations/operation.ts";
import { LoginRefusals, NoSuccessError } from "../transports/login_refusals.ts";
import type { CallOptions, LoginKeeper, Transport } from "../transports/transport.ts";

const LOGIN: OperationName = "account.login";

/** Makes and renews the trade login of one client. */
export class Login implements LoginKeeper {
  readonly #transport: Pick<Transport, "name" | "call">;
  readonly #password: string | undefined;
  #pending: Promise<void> | undefined;
  /** Whether this client has a password for automatic logins. */
  readonly canLogIn: boolean;
  /**
   * Number of logins that this client has made. A call that failed under an older login is retried without another
   * login.
   */
  generation = 0;
  readonly #refusals: LoginRefusals;

  constructor(
    transport: Pick<Transport, "name" | "call">,
    password: string | undefined,
    monotonic: () => number,
  ) {
    this.#transport = transport;
    this.#password = password;
    this.canLogIn = password !== undefined;
    this.#refusals = new LoginRefusals(monotonic, "trade password");
  }

  /** Logs in before the first write, because a write that fails for lack of a login is not repeated. */
  async ensure(): Promise<void> {
    if (this.generation === 0) await this.renew(0);
  }

  /** Logs in, once for all waiting calls, unless there was a newer login than `generation`. */
  async renew(generation: number): Promise<void> {
    if (generation !== this.generation) return;
    // A rejected password stops automatic logins. After any other rejection, calls fail until the wait is over.
    const refusal = this.#refusals.current;
    if (refusal !== undefined) throw refusal;
    // Pass no caller's signal: if one caller aborts, the others still need the login.
    this.#pending ??= this.logIn(undefined, {}).then(() => {}).finally(() => this.#pending = undefined);
    await this.#pending;
  }

  /** Logs in with the given password, or with the client's own. */
  async logIn(password: string | undefined, options: CallOptions): Promise<Result<typeof account.login>> {
    const plain = password ?? this.#password;
    if (plain === undefined) {
      throw new LoginExpiredError("Cannot log in: no trade password was given (option tradePassword)", "", {
        code: "no-password",
        operation: LOGIN,
        transport: this.#transport.name,
      });
    }
    this.#refusals.allowAgain();
    try {
      const answer = await this.#send(plain, options);
      this.generation++;
      this.#refusals.succeeded();
      return answer;
    } catch (error) {
      const refusal = this.#refusals.refused(error);
      // If another login is missing, such as the gateway's own, the caller gets that error unchanged.
      throw error instanceof LoginExpiredError ? error : refusal;
    }
  }

  async #send(password: string, options: CallOptions): Promise<Result<typeof account.login>> {
    // The transport returns the result type of the operation.
    const { login } = await loadFamily("account");
    const answer = await this.#transport.call(login, { password }, options) as Result<
      typeof account.login
    >;
    // A wrong password may come as an answer without success instead of a rejection.
    if (!answer.success) await this.#confirm(answer, options);
    return { ...answer, success: true };
  }

  /**
   * Checks a login whose answer does not report success, because some gateways send only a text or nothing. Runs a
   * small query that needs the login.
   */
  async #confirm({ success, text }: Result<typeof account.login>, options: CallOptions): Promise<void> {
    const context = { operation: LOGIN, transport: this.#transport.name };
    const saysNo = success === false;
    if (text === undefined && saysNo) throw new NoSuccessError(undefined, { ...context, saysNo });
    try {
      const { funds } = await loadFamily("account");
      await this.#transport.call(funds, { market: "hk" }, options);
    } catch (error) {
      throw error instanceof LoginExpiredError
        ? new NoSuccessError(text, { ...context, saysNo, cause: error })
        : error;
    }
  }
}

/** Returns whether an error means that a login is missing. */
export function isLoginMissing(error: unknown): error is LoginExpiredError {
  return error instanceof LoginExpiredError && error.code !== "no-password";
}
