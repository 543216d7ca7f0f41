/**
 * Manages the logins that calls need. Makes the trade login for each connection and token, keeps it alive, and renews
 * it after it has expired. If a login is missing, one renewal serves all waiting calls.
 *
 * @module
 */
import { type BrokerError, DisplacedError, LoginExpiredError, RejectedError } from "../../errors.ts";
import { account } from "../../operations/account.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Machine } from "../../time.ts";
import { LoginRefusals, NoSuccessError } from "../login_refusals.ts";
import type { CallContext } from "../outcome.ts";
import type { LoginKeeper } from "../transport.ts";
import type { TradeLoginState } from "./events.ts";
import type { Link } from "./link.ts";
import type { PlatformSession, Token } from "./platform_session.ts";

/** Options of {@linkcode TradeLogin}. */
interface TradeLoginOptions {
  /** Trade password, plain. */
  password: string | undefined;
  /** Time between two requests that keep the login alive; `false` for none. */
  keepMs: number | false;
  machine: Pick<Machine, "setTimer" | "monotonic">;
  /** Sends one operation on a connection. */
  send(link: Link, token: Token, operation: AnyOperation, params: unknown): Promise<unknown>;
  /** Resolves to a valid token. */
  token(): Promise<Token>;
  /** Called when the state has changed. */
  onChange(): void;
}

/** A successful login. */
interface MadeLogin {
  readonly link: Link;
  readonly generation: number;
  /** Whether a trade operation has succeeded with this login. */
  worked: boolean;
}

/** Manages the trade login. */
export class TradeLogin implements Disposable {
  readonly #options: TradeLoginOptions;
  #password: string | undefined;
  #made: MadeLogin | undefined;
  #pending: { link: Link; made: Promise<void> } | undefined;
  readonly #refusals: LoginRefusals;
  #state: TradeLoginState = "none";
  #count = 0;
  #tries = 0;
  #cancelKeepAlive = () => {};

  constructor(options: TradeLoginOptions) {
    this.#options = options;
    this.#password = options.password;
    this.#refusals = new LoginRefusals(options.machine.monotonic, "trade password");
  }

  /** Whether logins are made automatically. */
  get isWanted(): boolean {
    return this.#password !== undefined;
  }

  get state(): TradeLoginState {
    return this.#state;
  }

  /** The current login, if any. */
  get made(): MadeLogin | undefined {
    return this.#made;
  }

  /** Number of automatic logins that succeeded. */
  get count(): number {
    return this.#count;
  }

  /** Number of automatic logins that were sent, with any outcome. */
  get tries(): number {
    return this.#tries;
  }

  /** The rejection that currently prevents an automatic login. */
  get refusal(): BrokerError | undefined {
    return this.#refusals.current;
  }

  /** Returns whether the trade login was made on this connection with this token. */
  isMade(link: Link, token: Token): boolean {
    return this.#made?.link === link && this.#made.generation === token.generation;
  }

  /** Returns whether automatic logins use this password. */
  knows(password: string): boolean {
    return this.#password === password;
  }

  /**
   * Makes the automatic login unless it was already made, once for all waiting calls. Does nothing without a
   * password.
   *
   * @throws {LoginRefusedError} If the broker rejected the login, now or before: permanently for a wrong
   * password, otherwise for a while.
   */
  async ensure(link: Link, token: Token): Promise<void> {
    if (this.#password === undefined || this.isMade(link, token)) return;
    const refusal = this.#refusals.current;
    if (refusal !== undefined) throw refusal;
    // A login in progress on a closed connection is useless.
    if (this.#pending?.link !== link) {
      const made = this.#logIn(link, token, this.#password);
      const pending = this.#pending = { link, made };
      made.catch(() => {}).finally(() => {
        if (this.#pending === pending) this.#pending = undefined;
      });
    }
    await this.#pending.made;
  }

  /** Records a manual login. Automatic logins use its password from now on. */
  remember(password: string, link: Link, token: Token): void {
    this.#password = password;
    this.#refusals.allowAgain();
    this.#refusals.succeeded();
    this.#note(link, token);
    this.#options.onChange();
  }

  /** Records a manual logout. No further login is made automatically. */
  forget(): void {
    this.#password = undefined;
    this.#end("none");
  }

  /**
   * Records that the broker reported a login as expired. Returns whether any operation had succeeded with that login.
   */
  expire(made: MadeLogin | undefined): boolean {
    if (made !== undefined && made === this.#made) this.#end("gone");
    return made?.worked ?? false;
  }

  [Symbol.dispose](): void {
    this.#cancelKeepAlive();
  }

  async #logIn(link: Link, token: Token, password: string): Promise<void> {
    const { send, onChange } = this.#options;
    this.#tries++;
    try {
      // Decoded with the operation's own type.
      const answer = await send(link, token, account.login, { password }) as { success: boolean };
      if (!answer.success) {
        const context = { operation: account.login.name, transport: "direct" };
        throw new NoSuccessError(undefined, { ...context, saysNo: true });
      }
    } catch (error) {
      if (!(error instanceof RejectedError) || error instanceof LoginExpiredError) throw error;
      this.#state = "refused";
      throw this.#refusals.refused(error);
    }
    this.#refusals.succeeded();
    this.#count++;
    this.#note(link, token);
    if (link.isOpen) onChange();
  }

  #note(link: Link, { generation }: Token): void {
    this.#made = { link, generation, worked: false };
    this.#state = "made";
    this.#scheduleKeepAlive(link);
  }

  #end(state: TradeLoginState): void {
    this.#made = undefined;
    this.#state = state;
    this.#cancelKeepAlive();
    this.#options.onChange();
  }

  /** Sends a request after the interval, so that the login does not expire between trades. */
  #scheduleKeepAlive(link: Link): void {
    const { keepMs, machine } = this.#options;
    this.#cancelKeepAlive();
    if (keepMs === false) return;
    this.#cancelKeepAlive = machine.setTimer(keepMs, () => void this.#keepAlive(link));
  }

  async #keepAlive(link: Link): Promise<void> {
    const { send, token } = this.#options;
    const made = this.#made;
    if (!link.isOpen || made?.link !== link) return;
    try {
      // Decoded with the operation's own type.
      const answer = await send(link, await token(), account.keepLogin, {}) as { success: boolean };
      if (!answer.success) this.expire(made);
    } catch {
      // An expired login is renewed below. Ignore any other error: the next call will throw it, if it persists.
    }
    if (link.isOpen) await token().then((now) => this.ensure(link, now)).catch(() => {});
    if (this.#made?.link === link) this.#scheduleKeepAlive(link);
  }
}

/** The connection and logins with which a call is sent. */
export interface Route {
  readonly link: Link;
  readonly token: Token;
  /** The trade login of the call, if any. */
  readonly made: MadeLogin | undefined;
}

/** Options of {@linkcode Logins}. */
interface LoginsOptions {
  session: PlatformSession;
  tradeLogin: TradeLogin;
  /** Called when there is a newer token. */
  onRenewed(): void;
}

/** A token younger than this, in milliseconds, stays valid after a rejection "not logged in". */
const YOUNG_MS = 60_000;

/** Returns whether a call may need the trade login. True for a call that the catalogue does not contain. */
export function needsLogin({ operation }: CallContext): boolean {
  return !("needs" in operation) || operation.needs === "trade-login";
}

/**
 * The logins of the transport for the client. Each call makes the logins that it needs. `renew` replaces a login that
 * a call reported as expired.
 */
export class Logins implements LoginKeeper {
  readonly canLogIn = true;
  readonly #options: LoginsOptions;
  #generation = 0;
  #renewing: Promise<void> | undefined;

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Does nothing: each call ensures its own logins before it sends anything. */
  ensure(): Promise<void> {
    return Promise.resolve();
  }

  async renew(generation: number, error: LoginExpiredError): Promise<void> {
    if (generation !== this.#generation) return;
    this.#renewing ??= this.#renew(error).finally(() => this.#renewing = undefined);
    await this.#renewing;
  }

  /**
   * Returns a `LoginExpiredError` instead of a `DisplacedError` if a newer login of this program has replaced the
   * token. A read is then sent again. Returns any other error unchanged.
   */
  asExpiredIfReplaced(error: unknown, token: Token): unknown {
    if (!(error instanceof DisplacedError) || this.#options.session.isNewest(token)) return error;
    const { text, code, operation, transport } = error;
    return new LoginExpiredError(
      `Cannot complete ${operation}: a newer login of this program has replaced the login that it used`,
      text,
      { code, operation, transport },
    );
  }

  /**
   * Marks a login as expired. Three codes are about the trade login: 112, 20033, and, for a call that needs the trade
   * login, 1012.
   *
   * - Such a code ends the trade login of the call. It also ends the token if no call had succeeded with that trade
   *   login.
   * - If the call had no trade login, 1012 ends the token unless the token is young; 112 and 20033 end nothing.
   * - Any other code ends the token.
   */
  expired({ code }: LoginExpiredError, context: CallContext, { token, made }: Route): void {
    const { session, tradeLogin } = this.#options;
    const isTrade = code === "112" || code === "20033" || code === "1012" && needsLogin(context);
    if (!isTrade) return session.invalidate(token);
    if (made !== undefined) {
      if (!tradeLogin.expire(made)) session.invalidate(token);
    } else if (code === "1012" && session.ageMs > YOUNG_MS) session.invalidate(token);
  }

  async #renew(error: LoginExpiredError): Promise<void> {
    const { session, tradeLogin, onRenewed } = this.#options;
    // `expired` has already ended the expired login. With a valid token and no trade password, nothing can be renewed.
    if (session.valid !== undefined && !tradeLogin.isWanted) throw error;
    await session.token();
    onRenewed();
    this.#generation++;
  }
}
