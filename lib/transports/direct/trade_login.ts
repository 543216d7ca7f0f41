/**
 * The trade login on the socket: made with each connection and each token, kept alive, made again when it is gone.
 *
 * @module
 */
import { type BrokerError, LoginExpiredError, RejectedError } from "../../errors.ts";
import { account } from "../../operations/account.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { LoginRefusals, NoSuccessError } from "../login_refusals.ts";
import type { TradeLoginState } from "./events.ts";
import type { Link } from "./link.ts";
import type { World } from "./options.ts";
import type { Token } from "./platform_session.ts";

/** Options of {@linkcode TradeLogin}. */
export interface TradeLoginOptions {
  /** Trade password, plain. */
  password: string | undefined;
  /** Time between two requests that keep it; `false` for none. */
  keepMs: number | false;
  world: Pick<World, "timers" | "monotonic">;
  /** Sends one operation on a connection. */
  send(link: Link, token: Token, operation: AnyOperation, params: unknown): Promise<unknown>;
  /** Resolves to a token that is good. */
  token(): Promise<Token>;
  /** Its state has changed. */
  onChange(): void;
}

/** One login that was made. */
export interface MadeLogin {
  readonly link: Link;
  readonly generation: number;
  /** Whether a trade operation has worked under it. */
  worked: boolean;
}

/** Keeps the trade login. */
export class TradeLogin implements Disposable {
  readonly #options: TradeLoginOptions;
  #password: string | undefined;
  #made: MadeLogin | undefined;
  #pending: { link: Link; made: Promise<void> } | undefined;
  readonly #refusals: LoginRefusals;
  #state: TradeLoginState = "none";
  #count = 0;
  #tries = 0;
  #cancelKeeping = () => {};

  constructor(options: TradeLoginOptions) {
    this.#options = options;
    this.#password = options.password;
    this.#refusals = new LoginRefusals(options.world.monotonic, "trade password");
  }

  /** Whether it is made by itself. */
  get isWanted(): boolean {
    return this.#password !== undefined;
  }

  get state(): TradeLoginState {
    return this.#state;
  }

  /** The login that is there, if any. */
  get made(): MadeLogin | undefined {
    return this.#made;
  }

  /** Counts the logins that were made by themselves. */
  get count(): number {
    return this.#count;
  }

  /** Counts the logins that were sent by themselves, whatever became of them. */
  get tries(): number {
    return this.#tries;
  }

  /** The refusal that keeps a login from being sent by itself now. */
  get refusal(): BrokerError | undefined {
    return this.#refusals.current;
  }

  /** Tells whether nothing has to be done before a trade operation. */
  isMade(link: Link, token: Token): boolean {
    return this.#made?.link === link && this.#made.generation === token.generation;
  }

  /** Whether this is the password that it logs in with. */
  knows(password: string): boolean {
    return this.#password === password;
  }

  /**
   * Logs in where that is wanted and not done, once for all who wait.
   *
   * @throws {LoginRefusedError} The broker refused, now or before: the password for good, or the login for a while.
   */
  async ensure(link: Link, token: Token): Promise<void> {
    if (this.#password === undefined || this.isMade(link, token)) return;
    const refusal = this.#refusals.current;
    if (refusal !== undefined) throw refusal;
    // A login under way on a connection that is gone by now helps nobody.
    if (this.#pending?.link !== link) {
      const made = this.#logIn(link, token, this.#password);
      const pending = this.#pending = { link, made };
      made.catch(() => {}).finally(() => {
        if (this.#pending === pending) this.#pending = undefined;
      });
    }
    await this.#pending.made;
  }

  /** Somebody logged in by hand: this password is used from now on. */
  remember(password: string, link: Link, token: Token): void {
    this.#password = password;
    this.#refusals.allowAgain();
    this.#refusals.succeeded();
    this.#note(link, token);
    this.#options.onChange();
  }

  /** Somebody logged out: nothing is made by itself any more. */
  forget(): void {
    this.#password = undefined;
    this.#end("none");
  }

  /** The broker says that it is gone; tells whether it had ever worked. */
  expire(made: MadeLogin | undefined): boolean {
    if (made !== undefined && made === this.#made) this.#end("gone");
    return made?.worked ?? false;
  }

  [Symbol.dispose](): void {
    this.#cancelKeeping();
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
    this.#keep(link);
  }

  #end(state: TradeLoginState): void {
    this.#made = undefined;
    this.#state = state;
    this.#cancelKeeping();
    this.#options.onChange();
  }

  /** Asks now and then, so that the login does not run out while nobody trades. */
  #keep(link: Link): void {
    const { keepMs, world } = this.#options;
    this.#cancelKeeping();
    if (keepMs === false) return;
    this.#cancelKeeping = world.timers.after(keepMs, () => void this.#ask(link));
  }

  async #ask(link: Link): Promise<void> {
    const { send, token } = this.#options;
    const made = this.#made;
    if (!link.isOpen || made?.link !== link) return;
    try {
      // Decoded with the operation's own type.
      const answer = await send(link, await token(), account.keepLogin, {}) as { success: boolean };
      if (!answer.success) this.expire(made);
    } catch {
      // A login that is gone is made again below; of all else, whoever calls next learns from the call itself.
    }
    if (link.isOpen) await token().then((now) => this.ensure(link, now)).catch(() => {});
    if (this.#made?.link === link) this.#keep(link);
  }
}
