/**
 * One login for any number of waiting calls.
 *
 * @module
 */
import { LoginExpiredError } from "../errors.ts";
import { account } from "../operations/account.ts";
import type { Result } from "../operations/operation.ts";
import { LoginRefusals, NoSuccessError } from "../transports/login_refusals.ts";
import type { CallOptions, LoginKeeper, Transport } from "../transports/transport.ts";

/** Keeps the trade login of one client. */
export class Login implements LoginKeeper {
  readonly #transport: Transport;
  readonly #password: string | undefined;
  #pending: Promise<void> | undefined;
  #generation = 0;
  readonly #refusals: LoginRefusals;

  constructor(transport: Transport, password: string | undefined, monotonic: () => number) {
    this.#transport = transport;
    this.#password = password;
    this.#refusals = new LoginRefusals(monotonic, "trade password");
  }

  /** Whether this client can log in by itself. */
  get canLogIn(): boolean {
    return this.#password !== undefined;
  }

  /** Counts the logins that this client has made; a call that failed under an older one only tries again. */
  get generation(): number {
    return this.#generation;
  }

  /** Logs in before the first write, as a write that meets a missing login is not repeated. */
  async ensure(): Promise<void> {
    if (this.#generation === 0) await this.renew(0);
  }

  /** Logs in, once for all who wait, unless somebody has done so since `generation`. */
  async renew(generation: number): Promise<void> {
    if (generation !== this.#generation) return;
    // A password that was refused is not tried again by itself, and any other refusal only after a wait.
    const refusal = this.#refusals.current;
    if (refusal !== undefined) throw refusal;
    // Not tied to one caller's signal: whoever gives up must not take the login away from the others.
    this.#pending ??= this.logIn(undefined, {}).then(() => {}).finally(() => this.#pending = undefined);
    await this.#pending;
  }

  /** Logs in with a password, or with the client's own. */
  async logIn(password: string | undefined, options: CallOptions): Promise<Result<typeof account.login>> {
    const plain = password ?? this.#password;
    if (plain === undefined) {
      throw new LoginExpiredError("Cannot log in: no trade password was given (option tradePassword)", "", {
        code: "no-password",
        operation: account.login.name,
        transport: this.#transport.name,
      });
    }
    this.#refusals.allowAgain();
    try {
      const answer = await this.#send(plain, options);
      this.#generation++;
      this.#refusals.succeeded();
      return answer;
    } catch (error) {
      const told = this.#refusals.refused(error);
      // Whoever meets a login that is missing, such as the gateway's own, is told so the first time.
      throw error instanceof LoginExpiredError ? error : told;
    }
  }

  async #send(password: string, options: CallOptions): Promise<Result<typeof account.login>> {
    // The transport answers with the result type of the operation that it was given.
    const answer = await this.#transport.call(account.login, { password }, options) as Result<
      typeof account.login
    >;
    // A wrong password may come as an answer without success as well as in a refusal.
    if (!answer.success) await this.#confirm(answer, options);
    return { ...answer, success: true };
  }

  /** Some gateways answer with only a text, or with nothing; a cheap query then tells whether the login holds. */
  async #confirm({ success, text }: Result<typeof account.login>, options: CallOptions): Promise<void> {
    const context = { operation: account.login.name, transport: this.#transport.name };
    const saysNo = success === false;
    if (text === undefined && saysNo) throw new NoSuccessError(undefined, { ...context, saysNo });
    try {
      await this.#transport.call(account.funds, { market: "hk" }, options);
    } catch (error) {
      throw error instanceof LoginExpiredError
        ? new NoSuccessError(text, { ...context, saysNo, cause: error })
        : error;
    }
  }
}

/** Tells whether an error means that a login is missing. */
export function isLoginMissing(error: unknown): error is LoginExpiredError {
  return error instanceof LoginExpiredError && error.code !== "no-password";
}
