/**
 * The trade login of the gateway: one for the whole program, as only one account stands behind it.
 *
 * @module
 */
import { createDecipheriv } from "node:crypto";
import type { Clock } from "../clock.ts";
import { Refusal } from "../contract.ts";

/** What the trade login is checked against. */
export interface TradeLoginOptions {
  /** The plain trade password. */
  password: string;
  /** Key that it travels under: Base64 of 16, 24 or 32 bytes. */
  key: string;
  /** How long a login holds without a trade call, in milliseconds. */
  lifeMs: number;
  clock: Clock;
}

/** Where a trade login stands. */
export type TradeLoginState = "out" | "in" | "expired";

/** The state of the trade login. */
export class TradeLogin {
  readonly #options: TradeLoginOptions;
  readonly #key: Uint8Array;
  #until: number | undefined;

  /** @throws {TypeError} When the key is not Base64 of 16, 24 or 32 bytes. */
  constructor(options: TradeLoginOptions) {
    const key = fromBase64(options.key);
    if (key === undefined || ![16, 24, 32].includes(key.length)) {
      throw new TypeError(
        "Cannot start the gateway: the trade password key must be Base64 of 16, 24 or 32 bytes",
      );
    }
    this.#options = options;
    this.#key = key;
  }

  /** Logged in, never logged in, or run out. */
  get state(): TradeLoginState {
    if (this.#until === undefined) return "out";
    return this.#options.clock.now() < this.#until ? "in" : "expired";
  }

  /**
   * Logs in with Base64 of the password under AES-ECB with PKCS#7. A wrong password is answered with `false`, as
   * the document gives the answer `success: true` for a right one and no text for a wrong one.
   *
   * @throws {Refusal} When it cannot be decrypted.
   */
  login(encrypted: string): boolean {
    const given = this.#decrypt(encrypted);
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

  #extend(): void {
    this.#until = this.#options.clock.now() + this.#options.lifeMs;
  }

  #decrypt(encrypted: string): string | undefined {
    const bytes = fromBase64(encrypted);
    if (bytes === undefined || bytes.length === 0) return undefined;
    try {
      const decipher = createDecipheriv(`aes-${this.#key.length * 8}-ecb`, this.#key, null);
      const parts = [decipher.update(bytes), decipher.final()];
      return new TextDecoder("utf-8", { fatal: true }).decode(
        Uint8Array.from(parts.flatMap((part) => [...part])),
      );
    } catch {
      return undefined; // another key, a cut text, wrong padding: all the same to whoever logs in
    }
  }
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
