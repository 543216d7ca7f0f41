/**
 * A trade login: one for the whole gateway, as only one account stands behind it; one for each connection of the
 * platform.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { Refusal } from "../contract.ts";

/** What the trade login is checked against. */
export interface TradeLoginOptions {
  /** The plain trade password. */
  password: string;
  /** Decrypts what it travels under; nothing when that does not fit. */
  decrypt: (encrypted: string) => string | undefined;
  /** How long a login holds without a trade call, in milliseconds. */
  lifeMs: number;
  clock: Clock;
}

/** Where a trade login stands. */
export type TradeLoginState = "out" | "in" | "expired";

/** The state of the trade login. */
export class TradeLogin {
  readonly #options: TradeLoginOptions;
  #until: number | undefined;

  constructor(options: TradeLoginOptions) {
    this.#options = options;
  }

  /** Logged in, never logged in, or run out. */
  get state(): TradeLoginState {
    if (this.#until === undefined) return "out";
    return this.#options.clock.now() < this.#until ? "in" : "expired";
  }

  /**
   * Logs in with the encrypted password. A wrong password is answered with `false`, as
   * the document gives the answer `success: true` for a right one and no text for a wrong one.
   *
   * @throws {Refusal} When it cannot be decrypted.
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

  /** Lets the login run out now, as if its time had come; no effect without one. */
  expire(): void {
    if (this.#until !== undefined) this.#until = -Infinity;
  }

  /**
   * Says no unless the login holds, and lets it hold on: calls keep it alive.
   *
   * @throws {Refusal} 1012 before a login, 112 when it has run out.
   */
  demand(): void {
    if (this.state === "out") throw new Refusal("1012", "not logged in");
    if (this.state === "expired") throw new Refusal("112", "trade login timeout");
    this.#extend();
  }

  /** Tells whether the login holds, and lets it hold on. */
  keep(): boolean {
    if (this.state !== "in") return false;
    this.#extend();
    return true;
  }

  #extend(): void {
    this.#until = this.#options.clock.now() + this.#options.lifeMs;
  }
}
