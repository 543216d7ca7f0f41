/**
 * The two logins behind every call, the platform's and the trade login: which of them is gone, and one renewal for
 * all who wait.
 *
 * @module
 */
import { DisplacedError, LoginExpiredError } from "../../errors.ts";
import type { CallContext } from "../outcome.ts";
import type { LoginKeeper } from "../transport.ts";
import type { Link } from "./link.ts";
import type { PlatformSession, Token } from "./platform_session.ts";
import type { MadeLogin, TradeLogin } from "./trade_login.ts";

/** What a call goes out with. */
export interface Way {
  readonly link: Link;
  readonly token: Token;
  /** The trade login that it goes out under, if any. */
  readonly made: MadeLogin | undefined;
}

/** Options of {@linkcode Logins}. */
export interface LoginsOptions {
  session: PlatformSession;
  tradeLogin: TradeLogin;
  /** There is a newer token. */
  onRenewed(): void;
}

/** A token this young that is refused with "not logged in" is not what is missing. */
const YOUNG_MS = 60_000;

/** Whether a call needs the trade login; one that the catalogue does not know may. */
export function needsLogin({ operation }: CallContext): boolean {
  return !("needs" in operation) || operation.needs === "trade-login";
}

/** The logins as the client sees them: made with the calls that need them, renewed when a call says so. */
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

  /** Nothing to do: each call makes sure of its own logins before anything of it is sent. */
  ensure(): Promise<void> {
    return Promise.resolve();
  }

  async renew(generation: number, error: LoginExpiredError): Promise<void> {
    if (generation !== this.#generation) return;
    this.#renewing ??= this.#renew(error).finally(() => this.#renewing = undefined);
    await this.#renewing;
  }

  /** A login of our own displaces our older token too: then the call only has to go out with the newer one. */
  whoDisplaced(error: unknown, token: Token): unknown {
    if (!(error instanceof DisplacedError) || this.#options.session.isNewest(token)) return error;
    const { text, code, operation, transport } = error;
    return new LoginExpiredError(
      `Cannot complete ${operation}: a newer login of this program has taken the place of the one that it went out with`,
      text,
      { code, operation, transport },
    );
  }

  /** Which of the two logins is gone; codes of the trade login are tried with that one first. */
  expired({ code }: LoginExpiredError, context: CallContext, { token, made }: Way): void {
    const { session, tradeLogin } = this.#options;
    const isTrade = code === "112" || code === "20033" || code === "1012" && needsLogin(context);
    if (!isTrade) return session.invalidate(token);
    if (made !== undefined) {
      if (!tradeLogin.expire(made)) session.invalidate(token);
    } else if (code === "1012" && session.ageMs > YOUNG_MS) session.invalidate(token);
  }

  async #renew(error: LoginExpiredError): Promise<void> {
    const { session, tradeLogin, onRenewed } = this.#options;
    // The refusal itself has marked what is gone. If nothing is, trying again cannot help.
    if (session.valid !== undefined && !tradeLogin.isWanted) throw error;
    await session.token();
    onRenewed();
    this.#generation++;
  }
}
