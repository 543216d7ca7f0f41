/**
 * Manages a trade login. The gateway has one for its only account; the platform has one for each connection.
 *
 * @module
 */
import type { Clock } from "../../time.ts";
import { Refusal } from "../contract.ts";

/** Options of {@linkcode TradeLogin}. */
interface TradeLoginOptions {
  /** The plain trade password. */
  password: string;
  /** Decrypts a password; returns `undefined` if that fails. */
  decrypt: (encrypted: string) => string | undefined;
  /** How long a login is valid without a trade call, in milliseconds. */
  lifeMs: number;
  clock: Clock;
}

/** State of a trade login. */
export type TradeLoginState = "out" | "in" | "expired";

/** A trade login. */
export class TradeLogin {
  readonly #options: TradeLoginOptions;
  #until: number | undefined;

  constructor(options: TradeLoginOptions) {
    this.#options = options;
  }

  /** State of the login: logged in, not logged in, or expired. */
  get state(): TradeLoginState {
    if (this.#until === undefined) return "out";
    return this.#options.clock.now() < this.#until ? "in" : "expired";
  }

  /**
   * Logs in with the encrypted password. Returns `false` for a wrong password, for which the API document defines no
   * error text.
   *
   * @throws {Refusal} If the password cannot be decrypted.
   */
  login(encrypted: string): boolean {
    const given = this.#options.decrypt(encrypted);
    if (given === undefined) throw new Refusal("1003", "data encryption error");
    if (given !== this.#options.password) return false;
    this.#extend();
    return true;
  }

  /** Ends the login. */
  logout(): void {
    this.#until = undefined;
  }

  /** Makes the login expire now; has no effect without a login. */
  expire(): void {
    if (this.#until !== undefined) this.#until = -Infinity;
  }

  /**
   * Throws if the login is not valid; otherwise extends it, because calls keep it alive.
   *
   * @throws {Refusal} 1012 before a login, 112 after it has expired.
   */
  demand(): void {
    if (this.state === "out") throw new Refusal("1012", "not logged in");
    if (this.state === "expired") throw new Refusal("112", "trade login timeout");
    this.#extend();
  }

  /** Returns whether the login is valid, and extends it. */
  keep(): boolean {
    if (this.state !== "in") return false;
    this.#extend();
    return true;
  }

  #extend(): void {
    this.#until = this.#options.clock.now() + this.#options.lifeMs;
  }
}
